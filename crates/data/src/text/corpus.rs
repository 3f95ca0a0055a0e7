//! A text in parts, each as ids of one vocabulary.

use std::{borrow::Cow, collections::BTreeMap, path::Path};

use preprocess::words::Words;
use store::sha256_hex;

use super::{
    error::TextError,
    files,
    options::TextOptions,
    tokens::{Ids, Tokens, check_length},
};
use crate::{
    DataError, Shared, TokenKind, Vocabulary, VocabularyError,
    count::{counted, grouped},
};

/// Bytes of a word, on average, from which on there are hardly blanks between words.
const LONG_WORDS: usize = 15;
/// The different characters that a note names before it says "and others".
const NAMED: usize = 10;

/// The parts of a text as ids, with what was learnt from the first.
#[derive(Debug, Clone, PartialEq)]
pub struct Corpus {
    /// What to learn from.
    pub train: Tokens,
    /// The end of the text, which steers the training.
    pub validation: Option<Tokens>,
    /// What is only measured.
    pub test: Option<Tokens>,
    /// The tokens, learnt from the training part unless they were known.
    pub vocabulary: Vocabulary,
    /// What the user should know, a line each: sizes, unknown words, characters left out.
    pub notes: Vec<String>,
    /// Files that are in two parts; a new run refuses many ([`crate::refuse_shared`]).
    pub shared: Vec<Shared>,
    /// A hash of the texts as read, whatever of them is held out or not used.
    pub source: String,
    /// A hash of all parts, which changes if any of them does.
    pub fingerprint: String,
}

impl Corpus {
    /// Bytes of all tokens to train on or to measure on.
    pub fn bytes(&self) -> usize {
        let parts = [Some(&self.train), self.validation.as_ref(), self.test.as_ref()];
        parts.into_iter().flatten().map(|part| part.ids.bytes()).sum()
    }
}

/// A text, and its name in errors and notes.
pub(super) struct Text {
    /// UTF-8, unless its tokens are bytes.
    pub(super) content: Cow<'static, [u8]>,
    pub(super) name: String,
    /// What the user should know.
    pub(super) note: Option<String>,
}

/// The texts that the options name, their own checks done.
pub(super) struct Texts {
    pub(super) text: Text,
    pub(super) validation: Option<Text>,
    pub(super) test: Option<Text>,
}

impl Texts {
    fn hash(&self) -> String {
        let parts = [Some(&self.text), self.validation.as_ref(), self.test.as_ref()];
        let hashes = parts.map(|part| part.map(|part| sha256_hex(&part.content)));
        sha256_hex(format!("{hashes:?}").as_bytes())
    }
}

impl Text {
    pub(super) fn read(path: &Path, kind: TokenKind) -> Result<Self, DataError> {
        let (content, note) = files::read(path, kind)?;
        Ok(Self { content: content.into(), name: format!("`{}`", path.display()), note })
    }

    pub(super) fn encode(
        &self,
        vocabulary: &Vocabulary,
        sequence_length: usize,
    ) -> Result<(Tokens, Vec<String>), TextError> {
        let mut notes: Vec<String> = self.note.iter().cloned().collect();
        let tokens = Part::from(self).encode(vocabulary, sequence_length, &mut notes)?;
        Ok((tokens, notes))
    }
}

impl<'a> From<&'a Text> for Part<'a> {
    fn from(text: &'a Text) -> Self {
        Self { text: &text.content, name: text.name.clone() }
    }
}

/// Splits the text unless there are others to validate and to test on, learns the vocabulary, and
/// encodes all parts.
pub(super) fn encode(texts: &Texts, options: &TextOptions) -> Result<Corpus, TextError> {
    let Text { content, name, .. } = &texts.text;
    let fractions =
        options.fractions.unless_there(texts.validation.is_some(), texts.test.is_some());
    let (front, test) = cut(content, options.tokens, fractions.test);
    let (front, validation) = cut(front, options.tokens, fractions.validation_of_rest());
    let (kept, _) = cut(front, options.tokens, 1.0 - fractions.train);
    let part = |text, part: &str| Part { text, name: format!("the {part} part of {name}") };
    let train = match kept.len() == content.len() {
        true => Part::from(&texts.text),
        false => part(kept, "training"),
    };
    let (validation, test) =
        (validation.map(|end| part(end, "validation")), test.map(|end| part(end, "test")));
    let validation = texts.validation.as_ref().map(Part::from).or(validation);
    let test = texts.test.as_ref().map(Part::from).or(test);

    let vocabulary = match (&options.known, options.tokens) {
        (Some(known), _) => known.clone(),
        (None, TokenKind::Characters) => Vocabulary::characters(&text_of(front)),
        (None, TokenKind::Bytes) => Vocabulary::bytes(),
        (None, TokenKind::Words) => Vocabulary::words(&text_of(front), options.vocabulary)
            .map_err(|reason| match Words::of(&text_of(content)).count() {
                words @ 1.. if reason == VocabularyError::NoWord => {
                    TextError::TooShortToDivide { text: name.clone(), words }
                }
                _ => TextError::Vocabulary { text: train.name.clone(), reason },
            })?,
    };
    let read = [Some(&texts.text), texts.validation.as_ref(), texts.test.as_ref()];
    let mut notes: Vec<String> =
        read.into_iter().flatten().filter_map(|text| text.note.clone()).collect();
    let learns_words = options.known.is_none() && options.tokens == TokenKind::Words;
    if learns_words && vocabulary.len() < options.vocabulary {
        notes.push(format!(
            "the vocabulary has {}, not {}: {} has no more different words",
            counted(vocabulary.len(), "token"),
            grouped(options.vocabulary),
            train.name
        ));
    }
    let words = || Words::of(&text_of(front)).count().max(1);
    if learns_words && front.len() / words() >= LONG_WORDS {
        notes.push(format!(
            "{} has few blanks: where words are not divided by blanks, `data.tokens=characters` is of more \
             use",
            train.name
        ));
    }
    let mut encode = |part: Part| part.encode(&vocabulary, options.sequence_length, &mut notes);
    let train = encode(train)?;
    let validation = validation.map(&mut encode).transpose()?;
    let test = test.map(encode).transpose()?;
    let source = texts.hash();
    // As saved: the order of a map in memory varies.
    let saved = serde_json::to_string(&vocabulary).expect("it serialises to JSON");
    let fingerprint = sha256_hex(format!("{saved}\n{source}\n{fractions:?}").as_bytes());
    let shared = Vec::new();
    Ok(Corpus { train, validation, test, vocabulary, notes, shared, source, fingerprint })
}

/// The front of a text, and the end that is held out, none for a fraction of 0.
fn cut(content: &[u8], kind: TokenKind, fraction: f64) -> (&[u8], Option<&[u8]>) {
    if fraction == 0.0 {
        return (content, None);
    }
    let (front, end) = divide(content, kind, fraction);
    (front, Some(end))
}

/// Cuts a text so that this fraction of its tokens is in the second part.
fn divide(content: &[u8], kind: TokenKind, fraction: f64) -> (&[u8], &[u8]) {
    // Not one too few where a fraction's rounding leaves the product just below a whole number.
    let before = |tokens: usize| (tokens as f64 * (1.0 - fraction) + 1e-6) as usize;
    let end = match kind {
        TokenKind::Characters => {
            let text = text_of(content);
            let characters = before(text.chars().count());
            text.char_indices().nth(characters).map_or(text.len(), |(start, _)| start)
        }
        TokenKind::Bytes => {
            // Not within a character, so that each part is text.
            let within = |at: &usize| content.get(*at).is_some_and(|byte| byte & 0xc0 == 0x80);
            let end = before(content.len());
            (end.saturating_sub(3)..=end).rev().find(|at| !within(at)).unwrap_or(end)
        }
        TokenKind::Words => {
            let text = text_of(content);
            let mut words = Words::of(&text);
            words.by_ref().take(before(Words::of(&text).count())).for_each(drop);
            text.len() - words.rest().len()
        }
    };
    content.split_at(end)
}

/// The text of bytes that were checked to be UTF-8 when they were read.
fn text_of(content: &[u8]) -> Cow<'_, str> {
    String::from_utf8_lossy(content)
}

/// A part of a text, or another text.
struct Part<'a> {
    text: &'a [u8],
    name: String,
}

impl Part<'_> {
    /// The ids of the part. Characters that the vocabulary lacks are left out, since the network has
    /// neither an input nor an output for them.
    fn encode(
        self,
        vocabulary: &Vocabulary,
        sequence_length: usize,
        notes: &mut Vec<String>,
    ) -> Result<Tokens, TextError> {
        let (mut ids, mut unknown_words) = (Ids::of_vocabulary(vocabulary.len()), 0);
        let mut left_out = BTreeMap::<char, usize>::new(); // and how often each occurs
        match vocabulary.kind() {
            TokenKind::Bytes => self.text.iter().for_each(|&byte| ids.push(byte.into())),
            _ => vocabulary.each_id(&text_of(self.text), |id| match id {
                Ok(id) => {
                    unknown_words += usize::from(vocabulary.unknown() == Some(id));
                    ids.push(id);
                }
                Err(character) => *left_out.entry(character).or_default() += 1,
            }),
        }
        let tokens = Tokens { name: self.name, ids };
        let name = &tokens.name;
        notes.push(format!("{name} has {}", counted(tokens.len(), "token")));
        if unknown_words > 0 {
            let percent = 100.0 * unknown_words as f64 / tokens.len() as f64;
            notes.push(format!("{percent:.1} % of {name} are unknown words"));
        }
        let all = tokens.len() + left_out.values().sum::<usize>();
        let left_out = (!left_out.is_empty()).then(|| describe(&left_out));
        match &left_out {
            Some(left_out) if all > sequence_length && tokens.len() <= sequence_length => {
                return Err(TextError::TooForeign {
                    text: name.clone(),
                    left_out: left_out.clone(),
                    tokens: tokens.len(),
                    sequence_length,
                });
            }
            Some(left_out) => {
                check_length(
                    &format!("{name}, without {left_out},"),
                    tokens.len(),
                    sequence_length,
                )?;
            }
            None => check_length(name, tokens.len(), sequence_length)?,
        }
        notes.extend(left_out.map(|left_out| format!("{name} is read without {left_out}")));
        Ok(tokens)
    }
}

/// Characters that the vocabulary lacks, with how often they occur.
fn describe(left_out: &BTreeMap<char, usize>) -> String {
    let count: usize = left_out.values().sum();
    let mut named: Vec<String> =
        left_out.keys().take(NAMED).map(|character| format!("{character:?}")).collect();
    if left_out.len() > NAMED {
        named.push("and others".into());
    }
    let named = named.join(", ");
    format!("{} of its characters, which the vocabulary lacks ({named})", grouped(count))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Fractions;

    fn options(tokens: TokenKind, vocabulary: usize, sequence_length: usize) -> TextOptions {
        TextOptions { tokens, vocabulary, sequence_length, ..TextOptions::default() }
    }

    #[test]
    fn the_end_of_a_text_is_held_out() {
        let check = |text: &str, kind, validation, expected: (&str, &str)| {
            let expected = (expected.0.as_bytes(), expected.1.as_bytes());
            assert_eq!(divide(text.as_bytes(), kind, validation), expected, "{kind:?}");
        };
        check("abcdefghij", TokenKind::Characters, 0.1, ("abcdefghi", "j"));
        check("äbcdefghij", TokenKind::Characters, 0.25, ("äbcdefg", "hij"));
        check("abcdefghij", TokenKind::Bytes, 0.0, ("abcdefghij", ""));
        check("äöü", TokenKind::Bytes, 0.5, ("ä", "öü"));
        check("One, two\n\nthree.", TokenKind::Words, 0.5, ("One, two", "\n\nthree."));
        check("", TokenKind::Words, 0.5, ("", ""));
        check("abcdefghij", TokenKind::Characters, 0.9, ("a", "bcdefghij")); // 10 * (1.0 - 0.9) < 1
        check("𝄞𝄞", TokenKind::Bytes, 0.1, ("𝄞", "𝄞"));
        assert_eq!(divide(&[0x80; 8], TokenKind::Bytes, 0.25), (&[0x80; 6][..], &[0x80; 2][..]));
    }

    fn encode(text: &str, options: &TextOptions) -> Result<Corpus, TextError> {
        let text =
            Text { content: text.to_owned().into_bytes().into(), name: "x".into(), note: None };
        super::encode(&Texts { text, validation: None, test: None }, options)
    }

    #[test]
    fn the_very_end_is_to_test_on() {
        let fractions = Fractions { train: 1.0, validation: 0.25, test: 0.5 };
        let shares = TextOptions { fractions, ..options(TokenKind::Characters, 0, 1) };
        let corpus = encode("ababbbaaaa", &shares).unwrap();
        let [validation, test] = [corpus.validation, corpus.test].map(Option::unwrap);
        let text = |tokens: &Tokens| {
            let mut ids = vec![0; tokens.len()];
            tokens.read(0, &mut ids);
            corpus.vocabulary.decode(&ids)
        };
        assert_eq!([&corpus.train, &validation, &test].map(text), ["ab", "abb", "baaaa"]);
        assert_eq!(corpus.notes[2], "the test part of x has 5 tokens");
    }

    #[test]
    fn a_fraction_to_train_on_is_the_beginning() {
        let corpus = |train| {
            let fractions = Fractions { train, validation: 0.25, test: 0.25 };
            let shares = TextOptions { fractions, ..options(TokenKind::Characters, 0, 1) };
            encode("abaccabbbaaa", &shares).unwrap()
        };
        let [all, half] = [1.0, 0.5].map(corpus);
        assert_eq!((all.train.len(), half.train.len()), (6, 3));
        assert_eq!(half.notes[0], "the training part of x has 3 tokens");
        assert_eq!((&half.validation, &half.test), (&all.validation, &all.test));
        assert_eq!(half.vocabulary, all.vocabulary, "so that losses can be compared");
        assert_eq!(half.source, all.source);
        assert_ne!(half.fingerprint, all.fingerprint);
        let words = |train| {
            let fractions = Fractions { train, ..Fractions::default() };
            let shares = TextOptions { fractions, ..options(TokenKind::Words, 9, 1) };
            encode("one two three four", &shares).unwrap().vocabulary
        };
        assert_eq!(words(0.5), words(1.0));
    }

    #[test]
    fn other_texts_are_read_with_the_same_vocabulary() {
        let text = |content: &'static str, name: &str| Text {
            content: content.as_bytes().into(),
            name: name.into(),
            note: None,
        };
        let texts = Texts {
            text: text("abcabc", "`a`"),
            validation: Some(text("cba", "`b`")),
            test: Some(text("bad", "`c`")),
        };
        let corpus = super::encode(&texts, &options(TokenKind::Characters, 0, 1)).unwrap();
        let lengths =
            [&corpus.train, corpus.validation.as_ref().unwrap(), corpus.test.as_ref().unwrap()];
        assert_eq!(lengths.map(Tokens::len), [6, 3, 2]);
        assert!(
            corpus.notes[3].starts_with("`c` is read without 1 of its characters"),
            "{:?}",
            corpus.notes
        );
    }

    #[test]
    fn a_known_vocabulary_is_not_learnt_anew() {
        let known = Vocabulary::characters("cab");
        let (learnt, fractions) = (Some(known.clone()), Fractions::default());
        let options = options(TokenKind::Characters, 0, 1);
        let options = TextOptions { known: learnt, fractions, ..options };
        let corpus = encode("abcdabc", &options).unwrap();
        assert_eq!(corpus.vocabulary, known);
        assert_eq!(corpus.train.len(), 6);
        let learnt = encode("abcdabc", &TextOptions { known: None, ..options.clone() }).unwrap();
        assert_eq!(corpus.source, learnt.source, "it is the same text");
        assert_ne!(corpus.fingerprint, learnt.fingerprint);
        let left_out = "x is read without 1 of its characters, which the vocabulary lacks ('d')";
        assert_eq!(corpus.notes, ["x has 6 tokens", left_out]);
    }

    #[test]
    fn a_text_without_blanks_is_told_how_to_be_read() {
        let is_told = |text: &str| {
            let notes = encode(text, &options(TokenKind::Words, 1000, 1)).unwrap().notes;
            notes.iter().any(|note| note.ends_with("`data.tokens=characters` is of more use"))
        };
        assert!(is_told(&"天地玄黄宇宙洪荒\n日月盈昃辰宿列张\n".repeat(10)));
        assert!(!is_told(&"the quick brown fox\n".repeat(10)));
    }

    #[test]
    fn a_text_of_too_few_words_to_divide_is_told_from_one_without_any() {
        let check = |text: &str, validation: f64, expected: &str, help: &str| {
            let fractions = Fractions { validation, ..Fractions::default() };
            let options = TextOptions { fractions, ..options(TokenKind::Words, 9, 1) };
            let error = encode(text, &options).unwrap_err();
            assert!(error.to_string().starts_with(expected), "{error}");
            assert!(error.help().contains(help), "{}", error.help());
        };
        let longer = "use a longer text; ";
        check("hi", 0.1, "x has 1 word, too few to divide", longer);
        check(&"a".repeat(5000), 0.1, "x has 1 word, too few to divide", "data.tokens=characters");
        check("oh, hi", 0.9, "x has 3 words, too few to divide", longer);
        check("hi", 0.0, "x has 1 token, a sequence of 1", "use a longer text");
        let none = "the training part of x: the text has no word";
        check(" \t ", 0.1, none, "use a text that has words");
    }

    #[test]
    fn characters_that_the_training_part_lacks_are_left_out() {
        let text = format!("{}abed{}", "ab".repeat(14), ('A'..='K').collect::<String>());
        let fractions = Fractions { validation: 1.0 / 3.0, ..Fractions::default() };
        let options = TextOptions { fractions, ..options(TokenKind::Characters, 0, 1) };
        let corpus = encode(&text, &options).unwrap();
        assert_eq!(
            corpus.notes,
            [
                "the training part of x has 28 tokens",
                "the validation part of x has 2 tokens",
                "the validation part of x is read without 13 of its characters, which the vocabulary lacks \
                 ('A', 'B', 'C', 'D', 'E', 'F', 'G', 'H', 'I', 'J', and others)",
            ]
        );
    }
}
