//! A text as parallel streams, each read from its beginning to its end, window after window.

use super::{TextError, Tokens, tokens::check_length};

/// A text cut into as many equal streams as a batch has rows.
///
/// Row `r` of each batch continues row `r` of the batch before, so that the state of a recurrent
/// network can be carried from batch to batch; at the first batch it starts anew.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Streams {
    tokens: Tokens,
    streams: usize,
    sequence_length: usize,
}

impl Streams {
    /// Cuts a text into streams.
    ///
    /// All batches have the same shape: an incomplete window at the end of each stream is not used.
    ///
    /// # Errors
    ///
    /// If the text is too short for a window in each stream, or there is no stream or no token in
    /// a window.
    pub fn new(tokens: Tokens, streams: usize, sequence_length: usize) -> Result<Self, TextError> {
        check_length(tokens.name(), tokens.len(), sequence_length)?;
        if streams == 0 {
            return Err(TextError::NoStream);
        }
        let cut = Self { tokens, streams, sequence_length };
        if cut.len() == 0 {
            let (text, tokens) = (cut.tokens.name().to_owned(), cut.tokens.len());
            return Err(TextError::TooShortForStreams { text, tokens, streams, sequence_length });
        }
        Ok(cut)
    }

    /// The number of batches, which is at least one.
    #[expect(clippy::len_without_is_empty, reason = "there is always a batch")]
    pub fn len(&self) -> usize {
        self.stream_length() / self.sequence_length
    }

    /// Rows of a batch.
    pub fn streams(&self) -> usize {
        self.streams
    }

    /// Tokens of a row of a batch.
    pub fn sequence_length(&self) -> usize {
        self.sequence_length
    }

    /// The text.
    pub fn tokens(&self) -> &Tokens {
        &self.tokens
    }

    /// Writes a batch and, for each of its tokens, the one that follows; both
    /// `[streams, sequence_length]`, row by row.
    ///
    /// # Panics
    ///
    /// If `index` is not below [`len`](Self::len), or a slice has another size.
    pub fn read(&self, index: usize, inputs: &mut [u32], targets: &mut [u32]) {
        assert!(index < self.len(), "batch {index} of {}", self.len());
        assert_eq!(inputs.len(), self.streams * self.sequence_length, "inputs");
        assert_eq!(targets.len(), inputs.len(), "targets");
        let rows = inputs
            .chunks_exact_mut(self.sequence_length)
            .zip(targets.chunks_exact_mut(self.sequence_length));
        for (stream, (inputs, targets)) in rows.enumerate() {
            let start = stream * self.stream_length() + index * self.sequence_length;
            self.tokens.read(start, inputs);
            self.tokens.read(start + 1, targets);
        }
    }

    /// Tokens of a stream. The last token of the text is only ever a target.
    fn stream_length(&self) -> usize {
        (self.tokens.len() - 1) / self.streams
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::text::tokens::Ids;

    fn streams(tokens: u32, streams: usize, sequence_length: usize) -> Result<Streams, TextError> {
        let tokens = Tokens { name: "the text".into(), ids: Ids::U32((0..tokens).collect()) };
        Streams::new(tokens, streams, sequence_length)
    }

    fn read(streams: &Streams, index: usize) -> (Vec<u32>, Vec<u32>) {
        let size = streams.streams() * streams.sequence_length();
        let (mut inputs, mut targets) = (vec![0; size], vec![0; size]);
        streams.read(index, &mut inputs, &mut targets);
        (inputs, targets)
    }

    #[test]
    fn each_row_goes_on_where_it_ended() {
        let streams = streams(12, 2, 2).unwrap();
        assert_eq!(streams.len(), 2);
        assert_eq!(read(&streams, 0), (vec![0, 1, 5, 6], vec![1, 2, 6, 7]));
        assert_eq!(read(&streams, 1), (vec![2, 3, 7, 8], vec![3, 4, 8, 9]));
    }

    #[test]
    fn what_has_no_window_in_each_stream_is_refused() {
        let check = |tokens, count, sequence_length, expected: &str| {
            let error = streams(tokens, count, sequence_length).unwrap_err();
            assert_eq!(error.to_string(), expected);
            assert!(!error.help().is_empty());
        };
        check(8, 2, 4, "the text has 8 tokens, too few for 2 streams of 4 or more");
        check(8, 0, 4, "0 streams have nothing to predict");
        check(8, 2, 0, "a sequence of 0 tokens has nothing to predict from");
        check(8, 2, 8, "the text has 8 tokens, a sequence of 8 and its target take 9");
        assert!(streams(9, 2, 4).is_ok());
    }

    proptest! {
        #[test]
        fn no_token_is_read_twice(tokens in 2u32..200, count in 1usize..9, length in 1usize..9) {
            let Ok(streams) = streams(tokens, count, length) else { return Ok(()) };
            let batches: Vec<_> = (0..streams.len()).map(|index| read(&streams, index)).collect();
            let mut inputs: Vec<u32> = batches.iter().flat_map(|batch| batch.0.clone()).collect();
            for (inputs, targets) in &batches {
                prop_assert!(inputs.iter().zip(targets).all(|(input, target)| input + 1 == *target));
            }
            let unused = tokens as usize - 1 - inputs.len();
            prop_assert!(unused < count * length, "{}", unused);
            inputs.sort_unstable();
            inputs.dedup();
            prop_assert_eq!(inputs.len(), streams.len() * count * length);
        }
    }
}
