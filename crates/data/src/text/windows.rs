//! Independent windows of a text, to be read in any order.

use serde::{Deserialize, Serialize};

use super::{TextError, Tokens, tokens::check_length};

/// At which positions of a window the next token is predicted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Predict {
    /// At its last position, as in the tutorial: a window begins at each token.
    #[default]
    Last,
    /// At all of its positions: a window begins where the one before ends.
    All,
}

/// Windows of a text and the tokens that follow.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Windows {
    tokens: Tokens,
    sequence_length: usize,
    predict: Predict,
}

impl Windows {
    /// Cuts a text into windows of `sequence_length` tokens.
    ///
    /// If all positions are predicted, an incomplete window at the end is not used.
    ///
    /// # Errors
    ///
    /// If the text is shorter than a window and its target, or a window has no token.
    pub fn new(
        tokens: Tokens,
        sequence_length: usize,
        predict: Predict,
    ) -> Result<Self, TextError> {
        check_length(tokens.name(), tokens.len(), sequence_length)?;
        Ok(Self { tokens, sequence_length, predict })
    }

    /// The number of windows, which is at least one.
    #[expect(clippy::len_without_is_empty, reason = "there is always a window")]
    pub fn len(&self) -> usize {
        // The last token is only ever a target. Windows begin as far apart as one has targets.
        (self.tokens.len() - 1 - self.sequence_length) / self.targets() + 1
    }

    /// Tokens of a window.
    pub fn sequence_length(&self) -> usize {
        self.sequence_length
    }

    /// Targets of a window.
    pub fn targets(&self) -> usize {
        match self.predict {
            Predict::Last => 1,
            Predict::All => self.sequence_length,
        }
    }

    /// The text.
    pub fn tokens(&self) -> &Tokens {
        &self.tokens
    }

    /// Writes a window, and the token that follows its last one or each of its own.
    ///
    /// # Panics
    ///
    /// If `index` is not below [`len`](Self::len), or the slices are not
    /// [`sequence_length`](Self::sequence_length) and [`targets`](Self::targets) long.
    pub fn read(&self, index: usize, inputs: &mut [u32], targets: &mut [u32]) {
        assert!(index < self.len(), "window {index} of {}", self.len());
        assert_eq!(inputs.len(), self.sequence_length, "inputs");
        assert_eq!(targets.len(), self.targets(), "targets");
        let start = index * self.targets();
        self.tokens.read(start, inputs);
        self.tokens.read(start + self.sequence_length + 1 - targets.len(), targets);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{count::grouped, text::tokens::Ids};

    fn read(tokens: u16, sequence_length: usize, predict: Predict) -> Vec<(Vec<u32>, Vec<u32>)> {
        let tokens = Tokens { name: "x".into(), ids: Ids::U16((0..tokens).collect()) };
        let windows = Windows::new(tokens, sequence_length, predict).unwrap();
        let read = |index| {
            let mut window = (vec![0; sequence_length], vec![0; windows.targets()]);
            windows.read(index, &mut window.0, &mut window.1);
            window
        };
        (0..windows.len()).map(read).collect()
    }

    #[test]
    fn a_window_begins_at_each_token() {
        let windows = read(6, 3, Predict::Last);
        let expected = [([0, 1, 2], [3]), ([1, 2, 3], [4]), ([2, 3, 4], [5])];
        assert_eq!(windows, expected.map(|(inputs, target)| (inputs.to_vec(), target.to_vec())));
        assert_eq!(read(4, 3, Predict::Last).len(), 1);
    }

    #[test]
    fn windows_with_all_targets_do_not_overlap() {
        let expected = [([0, 1, 2], [1, 2, 3]), ([3, 4, 5], [4, 5, 6])];
        let expected = expected.map(|(inputs, targets)| (inputs.to_vec(), targets.to_vec()));
        for tokens in 7..=9 {
            assert_eq!(read(tokens, 3, Predict::All), expected);
        }
        assert_eq!(read(10, 3, Predict::All).len(), 3);
    }

    #[test]
    fn what_has_no_window_is_refused() {
        let check = |tokens, sequence_length, expected: &str| {
            let tokens = Tokens { name: "the text".into(), ids: Ids::U16(vec![0; tokens]) };
            let error = Windows::new(tokens, sequence_length, Predict::All).unwrap_err();
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
