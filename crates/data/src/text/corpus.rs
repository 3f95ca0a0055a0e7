//! A text in two parts, each as ids of a vocabulary learnt from the first.

use std::collections::BTreeMap;

use super::{
    error::TextError,
    options::TextOptions,
    tokens::{Ids, Tokens, check_length},
};
use crate::{TokenKind, Vocabulary, preprocess::words::Words};

/// The different characters that a note names before it says "and others".
const NAMED: usize = 10;

/// The two parts of a text as ids, with what was learnt from the first.
#[derive(Debug, Clone, PartialEq)]
pub struct Corpus {
    /// What to learn from.
    pub train: Tokens,
    /// The end of the text, which steers the training.
    pub validation: Option<Tokens>,
    /// The tokens, learnt from the training part.
    pub vocabulary: Vocabulary,
    /// What the user should know, a line each: sizes, unknown words, characters left out.
    pub notes: Vec<String>,
}

/// Divides a text, learns the vocabulary and encodes both parts. `name` is what errors and notes
/// call the text; the options' own checks are done.
pub(super) fn encode(text: &str, name: &str, options: &TextOptions) -> Result<Corpus, TextError> {
    let (front, end) = divide(text, options.tokens, options.validation);
    let train = Part { text: front, name: format!("the training part of {name}") };
    let validation = (options.validation > 0.0)
        .then(|| Part { text: end, name: format!("the validation part of {name}") });

    let vocabulary = match options.tokens {
        TokenKind::Characters => Vocabulary::characters(train.text),
        TokenKind::Bytes => Vocabulary::bytes(),
        TokenKind::Words => Vocabulary::words(train.text, options.vocabulary)
            .map_err(|source| TextError::Vocabulary { text: train.name.clone(), source })?,
    };
    let mut notes = Vec::new();
    let mut encode = |part: Part| part.encode(&vocabulary, options.sequence_length, &mut notes);
    let train = encode(train)?;
    let validation = validation.map(encode).transpose()?;
    Ok(Corpus { train, validation, vocabulary, notes })
}

/// The text before and behind a token, with that fraction of its tokens behind.
fn divide(text: &str, kind: TokenKind, validation: f64) -> (&str, &str) {
    let before = |tokens: usize| (tokens as f64 * (1.0 - validation)) as usize;
    let end = match kind {
        TokenKind::Characters => {
            let characters = before(text.chars().count());
            text.char_indices().nth(characters).map_or(text.len(), |(start, _)| start)
        }
        // Not within a character, so that each part is text.
        TokenKind::Bytes => text.floor_char_boundary(before(text.len())),
        TokenKind::Words => {
            let mut words = Words::of(text);
            words.by_ref().take(before(Words::of(text).count())).for_each(drop);
            text.len() - words.rest().len()
        }
    };
    text.split_at(end)
}

/// One of the two parts of a text.
struct Part<'a> {
    text: &'a str,
    name: String,
}

impl Part<'_> {
    /// The ids of the part. Characters that the training part lacks are left out: a network that
    /// has no output for them can neither read nor predict them.
    fn encode(
        self,
        vocabulary: &Vocabulary,
        sequence_length: usize,
        notes: &mut Vec<String>,
    ) -> Result<Tokens, TextError> {
        let mut tokens = Tokens { name: self.name, ids: Ids::of_vocabulary(vocabulary.len()) };
        let mut unknown_words = 0usize;
        let mut left_out = BTreeMap::<char, usize>::new();
        vocabulary.each_id(self.text, |id| match id {
            Ok(id) => {
                unknown_words += usize::from(vocabulary.unknown() == Some(id));
                tokens.ids.push(id);
            }
            Err(character) => *left_out.entry(character).or_default() += 1,
        });

        let name = &tokens.name;
        notes.push(format!("{name} has {} tokens", tokens.len()));
        if unknown_words > 0 {
            let percent = 100.0 * unknown_words as f64 / tokens.len() as f64;
            notes.push(format!("{percent:.1} % of {name} are unknown words"));
        }
        if left_out.is_empty() {
            check_length(name, tokens.len(), sequence_length)?;
        } else {
            let left_out = describe(&left_out);
            let rest = format!("{name}, without {left_out},");
            check_length(&rest, tokens.len(), sequence_length)?;
            notes.push(format!("{name} is read without {left_out}"));
        }
        Ok(tokens)
    }
}

/// Characters that the training part lacks, with how often they occur elsewhere.
fn describe(left_out: &BTreeMap<char, usize>) -> String {
    let count: usize = left_out.values().sum();
    let mut named: Vec<String> =
        left_out.keys().take(NAMED).map(|character| format!("{character:?}")).collect();
    if left_out.len() > NAMED {
        named.push("and others".into());
    }
    let named = named.join(", ");
    format!("{count} of its characters, which the training part lacks ({named})")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn options(tokens: TokenKind, vocabulary: usize, sequence_length: usize) -> TextOptions {
        TextOptions { tokens, vocabulary, sequence_length, ..TextOptions::default() }
    }

    #[test]
    fn the_end_of_a_text_is_held_out() {
        let check = |text: &str, kind, validation, expected: (&str, &str)| {
            assert_eq!(divide(text, kind, validation), expected, "{kind:?}");
        };
        check("abcdefghij", TokenKind::Characters, 0.1, ("abcdefghi", "j"));
        check("äbcdefghij", TokenKind::Characters, 0.25, ("äbcdefg", "hij"));
        check("abcdefghij", TokenKind::Bytes, 0.0, ("abcdefghij", ""));
        check("äöü", TokenKind::Bytes, 0.5, ("ä", "öü"));
        check("One, two\n\nthree.", TokenKind::Words, 0.5, ("One, two", "\n\nthree."));
        check("", TokenKind::Words, 0.5, ("", ""));
    }

    #[test]
    fn the_vocabulary_is_that_of_the_training_part() {
        let text = format!("{}c c d d", "a b ".repeat(8));
        let corpus = encode(&text, "x", &options(TokenKind::Words, 4, 1)).unwrap();
        assert_eq!((corpus.train.name(), corpus.train.len()), ("the training part of x", 18));
        assert_eq!(corpus.notes[2], "100.0 % of the validation part of x are unknown words");
        assert!(encode(&text, "x", &options(TokenKind::Words, 5, 1)).is_err());
    }

    #[test]
    fn characters_that_the_training_part_lacks_are_left_out() {
        let text = format!("{}abed{}", "ab".repeat(14), ('A'..='K').collect::<String>());
        let options = TextOptions { validation: 1.0 / 3.0, ..options(TokenKind::Characters, 0, 1) };
        let corpus = encode(&text, "x", &options).unwrap();
        assert_eq!(
            corpus.notes,
            [
                "the training part of x has 28 tokens",
                "the validation part of x has 2 tokens",
                "the validation part of x is read without 13 of its characters, which the training part \
                 lacks ('A', 'B', 'C', 'D', 'E', 'F', 'G', 'H', 'I', 'J', and others)",
            ]
        );
    }
}
