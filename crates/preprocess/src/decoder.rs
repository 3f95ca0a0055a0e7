//! From ids back to text, one token at a time.

use super::{
    vocabulary::{TokenKind, Vocabulary},
    words::Joiner,
};

/// Turns ids into text while they are written, so that each token can be shown at once.
///
/// To space a continuation correctly, push the ids of the text before it first.
#[derive(Debug, Clone)]
pub struct Decoder<'a> {
    vocabulary: &'a Vocabulary,
    /// For words: the state of the text so far.
    joiner: Joiner,
    /// For bytes: the start of an incomplete character.
    open: Vec<u8>,
}

impl<'a> Decoder<'a> {
    /// A decoder at the beginning of a text.
    pub fn new(vocabulary: &'a Vocabulary) -> Self {
        Self { vocabulary, joiner: Joiner::new(), open: Vec::new() }
    }

    /// The text that a token adds: none for a byte within a character.
    ///
    /// Bytes that are not UTF-8, and ids outside of the vocabulary, become U+FFFD.
    pub fn push(&mut self, id: u32) -> String {
        if self.vocabulary.kind() == TokenKind::Bytes
            && let Ok(byte) = u8::try_from(id)
        {
            self.open.push(byte);
            return self.take_whole();
        }
        let mut text = self.finish();
        match (self.vocabulary.token(id), self.vocabulary.kind()) {
            (Some(word), TokenKind::Words) => self.joiner.push(&word, &mut text),
            (Some(token), _) => text.push_str(&token),
            (None, _) => text.push(char::REPLACEMENT_CHARACTER),
        }
        text
    }

    /// What is left at the end: U+FFFD for a character that was not finished, else nothing.
    pub fn finish(&mut self) -> String {
        let text = String::from_utf8_lossy(&self.open).into_owned();
        self.open.clear();
        text
    }

    /// Takes everything but the beginning of a character that can still be completed.
    ///
    /// Without its last byte `open` was such a start, so nothing valid precedes an error.
    fn take_whole(&mut self) -> String {
        let mut text = String::new();
        loop {
            match str::from_utf8(&self.open).map_err(|error| error.error_len()) {
                Ok(whole) => {
                    text.push_str(whole);
                    self.open.clear();
                    return text;
                }
                Err(None) => return text,
                Err(Some(length)) => {
                    text.push(char::REPLACEMENT_CHARACTER);
                    self.open.drain(..length);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn pushed(vocabulary: &Vocabulary, ids: &[u32]) -> Vec<String> {
        let mut decoder = Decoder::new(vocabulary);
        let mut texts: Vec<String> = ids.iter().map(|&id| decoder.push(id)).collect();
        texts.push(decoder.finish());
        texts
    }

    #[test]
    fn a_character_appears_with_its_last_byte() {
        let vocabulary = Vocabulary::bytes();
        let ids = |bytes: &[u8]| bytes.iter().map(|&byte| u32::from(byte)).collect::<Vec<_>>();
        assert_eq!(pushed(&vocabulary, &ids("aé€".as_bytes())), ["a", "", "é", "", "", "€", ""]);
        assert_eq!(pushed(&vocabulary, &ids(b"\xc3a\xff")), ["", "\u{fffd}a", "\u{fffd}", ""]);
        assert_eq!(pushed(&vocabulary, &ids(b"\xe2\x82")), ["", "", "\u{fffd}"]);
        assert_eq!(pushed(&vocabulary, &[0xc3, 256, 65]), ["", "\u{fffd}\u{fffd}", "A", ""]);
    }

    #[test]
    fn what_continues_a_text_is_spaced_as_within_it() {
        let vocabulary = Vocabulary::words("the card waits . it waits", 6).unwrap();
        let mut decoder = Decoder::new(&vocabulary);
        let mut push = |text: &str| -> String {
            vocabulary.encode(text).unwrap().into_iter().map(|id| decoder.push(id)).collect()
        };
        assert_eq!(push("The card"), "The card");
        assert_eq!(push("waits. it"), " waits. It");
        assert_eq!(push("sleeps"), " <unknown>");
    }

    proptest! {
        #[test]
        fn bytes_are_shown_as_a_whole_text_of_them_is(bytes: Vec<u8>) {
            let ids: Vec<u32> = bytes.iter().map(|&byte| u32::from(byte)).collect();
            prop_assert_eq!(pushed(&Vocabulary::bytes(), &ids).concat(), String::from_utf8_lossy(&bytes));
        }
    }
}
