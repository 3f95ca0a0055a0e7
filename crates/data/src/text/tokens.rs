//! The ids of one part of a text, in the smallest type that holds them.

use std::ops::Range;

use super::TextError;
use crate::Vocabulary;

/// The ids of one part of a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tokens {
    pub(crate) name: String,
    pub(crate) ids: Ids,
}

/// Ids, in the smallest type that holds those of the vocabulary.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Ids {
    /// Of at most 65,536 tokens.
    U16(Vec<u16>),
    /// Of more.
    U32(Vec<u32>),
}

impl Ids {
    pub(super) fn bytes(&self) -> usize {
        match self {
            Self::U16(ids) => size_of_val(ids.as_slice()),
            Self::U32(ids) => size_of_val(ids.as_slice()),
        }
    }
}

impl Tokens {
    /// A text that is in memory.
    ///
    /// - `name`: its name in messages
    /// - `ids`: each below the length of the vocabulary
    ///
    /// # Errors
    ///
    /// Where an id is not in the vocabulary.
    ///
    /// # Examples
    ///
    /// ```
    /// use data::{Vocabulary, text::{Tokens, Windows}};
    ///
    /// let vocabulary = Vocabulary::characters("hello");
    /// let ids = vocabulary.encode("hello")?;
    /// let windows = Windows::new(Tokens::new("a word", &ids, &vocabulary)?, 3)?;
    /// assert_eq!(windows.len(), 2);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn new(
        name: impl Into<String>,
        ids: &[u32],
        vocabulary: &Vocabulary,
    ) -> Result<Self, TextError> {
        let (name, tokens) = (name.into(), vocabulary.len());
        let mut kept = Ids::of_vocabulary(tokens);
        for (index, &id) in ids.iter().enumerate() {
            if id as usize >= tokens {
                return Err(TextError::UnknownId { text: name, index, id, tokens });
            }
            kept.push(id);
        }
        Ok(Self { name, ids: kept })
    }

    /// The name of the part in messages.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The number of tokens.
    pub fn len(&self) -> usize {
        match &self.ids {
            Ids::U16(ids) => ids.len(),
            Ids::U32(ids) => ids.len(),
        }
    }

    /// Whether there is no token.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Writes the ids from `start` on until `out` is full.
    ///
    /// # Panics
    ///
    /// If there are too few.
    pub fn read(&self, start: usize, out: &mut [u32]) {
        let range = start..start + out.len();
        match &self.ids {
            Ids::U16(ids) => copy(ids, range, out),
            Ids::U32(ids) => copy(ids, range, out),
        }
    }
}

/// Checks that a part of a text with `tokens` tokens holds a window and its target.
pub(super) fn check_length(
    text: &str,
    tokens: usize,
    sequence_length: usize,
) -> Result<(), TextError> {
    if sequence_length == 0 {
        return Err(TextError::NoSequence);
    }
    if tokens <= sequence_length {
        return Err(TextError::TooShort { text: text.to_owned(), tokens, sequence_length });
    }
    Ok(())
}

fn copy<Id: Copy + Into<u32>>(ids: &[Id], range: Range<usize>, out: &mut [u32]) {
    out.iter_mut().zip(&ids[range]).for_each(|(out, &id)| *out = id.into());
}

impl Ids {
    /// No ids yet; the type holds those of a vocabulary of this length.
    pub(super) fn of_vocabulary(vocabulary: usize) -> Self {
        if vocabulary <= 1 << 16 { Self::U16(Vec::new()) } else { Self::U32(Vec::new()) }
    }

    /// Appends an id of the vocabulary.
    pub(super) fn push(&mut self, id: u32) {
        match self {
            Self::U16(ids) => ids.push(id as u16),
            Self::U32(ids) => ids.push(id),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_those_of_the_vocabulary() {
        let vocabulary = Vocabulary::characters("abc");
        let tokens = Tokens::new("the text", &[2, 0, 2], &vocabulary).unwrap();
        assert_eq!((tokens.name(), &tokens.ids), ("the text", &Ids::U16(vec![2, 0, 2])));
        let error = Tokens::new("the text", &[2, 3], &vocabulary).unwrap_err();
        let expected = "the text: token 1 has the id 3, the vocabulary has 3 tokens";
        assert_eq!(error.to_string(), expected);
        assert!(!error.help().is_empty());
        assert!(Tokens::new("the text", &[u32::MAX], &Vocabulary::bytes()).is_err());
    }

    #[test]
    fn ids_take_the_smallest_type() {
        for (vocabulary, small) in [(0, true), (1 << 16, true), ((1 << 16) + 1, false)] {
            let mut ids = Ids::of_vocabulary(vocabulary);
            let last = vocabulary.saturating_sub(1) as u32;
            ids.push(last);
            ids.push(0);
            assert_eq!(matches!(ids, Ids::U16(_)), small);
            let tokens = Tokens { name: "x".into(), ids };
            let mut out = [9; 2];
            tokens.read(0, &mut out);
            assert_eq!((out, tokens.len()), ([last, 0], 2));
        }
    }
}
