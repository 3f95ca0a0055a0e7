//! Independent windows of a text, to be read in any order.

use super::{TextError, Tokens, tokens::check_length};

/// Windows of a text, of which one begins at each token, and the token that follows each.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Windows {
    tokens: Tokens,
    sequence_length: usize,
}

impl Windows {
    /// The windows of `sequence_length` tokens in a text.
    ///
    /// # Errors
    ///
    /// If the text is shorter than a window and its target, or a window has no token.
    pub fn new(tokens: Tokens, sequence_length: usize) -> Result<Self, TextError> {
        check_length(tokens.name(), tokens.len(), sequence_length)?;
        Ok(Self { tokens, sequence_length })
    }

    /// The number of windows, which is at least one.
    #[expect(clippy::len_without_is_empty, reason = "there is always a window")]
    pub fn len(&self) -> usize {
        // The last token is only ever a target.
        self.tokens.len() - self.sequence_length
    }

    /// Tokens of a window.
    pub fn sequence_length(&self) -> usize {
        self.sequence_length
    }

    /// The text.
    pub fn tokens(&self) -> &Tokens {
        &self.tokens
    }

    /// Writes a window, and returns the token that follows it.
    ///
    /// # Panics
    ///
    /// If `index` is not below [`len`](Self::len), or `inputs` is not
    /// [`sequence_length`](Self::sequence_length) long.
    pub fn read(&self, index: usize, inputs: &mut [u32]) -> u32 {
        assert!(index < self.len(), "window {index} of {}", self.len());
        assert_eq!(inputs.len(), self.sequence_length, "inputs");
        self.tokens.read(index, inputs);
        let mut target = [0];
        self.tokens.read(index + self.sequence_length, &mut target);
        target[0]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{count::grouped, text::tokens::Ids};

    fn read(tokens: u16) -> Vec<([u32; 3], u32)> {
        let tokens = Tokens { name: "x".into(), ids: Ids::U16((0..tokens).collect()) };
        let windows = Windows::new(tokens, 3).unwrap();
        let read = |index| {
            let mut inputs = [0; 3];
            let target = windows.read(index, &mut inputs);
            (inputs, target)
        };
        (0..windows.len()).map(read).collect()
    }

    #[test]
    fn a_window_begins_at_each_token() {
        assert_eq!(read(6), [([0, 1, 2], 3), ([1, 2, 3], 4), ([2, 3, 4], 5)]);
        assert_eq!(read(4).len(), 1);
    }

    #[test]
    fn what_has_no_window_is_refused() {
        let check = |tokens, sequence_length, expected: &str| {
            let tokens = Tokens { name: "the text".into(), ids: Ids::U16(vec![0; tokens]) };
            let error = Windows::new(tokens, sequence_length).unwrap_err();
            assert_eq!(error.to_string(), expected);
        };
        check(3, 3, "the text has 3 tokens, a sequence of 3 and its target take 4");
        check(9, 0, "a sequence of 0 tokens has nothing to predict from");
        check(
            9,
            usize::MAX,
            &format!(
                "the text has 9 tokens, a sequence of {0} and its target take {0}",
                grouped(usize::MAX)
            ),
        );
    }
}
