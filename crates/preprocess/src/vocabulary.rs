//! The tokens of a text and their ids, learnt from the training part and saved with the model.

use std::{
    borrow::Cow,
    collections::{BTreeSet, HashMap, HashSet},
};

use serde::{Deserialize, Serialize};

use super::{decoder::Decoder, words::Words};

/// The text of the token for unknown words. No word is spelt so, since it would be cut in three.
const UNKNOWN: &str = "<unknown>";

/// The id of the token for unknown words.
const UNKNOWN_ID: u32 = 0;

/// What a text is cut into.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TokenKind {
    /// Characters (Unicode scalar values).
    Characters,
    /// The bytes of its UTF-8.
    Bytes,
    /// Words in lower case and punctuation marks.
    #[default]
    Words,
}

/// What is wrong with a text to encode, or with a vocabulary.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
#[expect(missing_docs, reason = "the messages say what the fields are")]
pub enum VocabularyError {
    /// A character that the training text does not have.
    #[error("character {}, {character:?}, is not in the vocabulary", index + 1)]
    UnknownCharacter {
        character: char,
        /// Its place in the text, from 0.
        index: usize,
    },
    /// No word to learn.
    #[error("the text has no word")]
    NoWord,
    /// No room for a word besides the unknown one.
    #[error("a vocabulary of {size} has no room for a word")]
    TooSmall { size: usize },
    /// A saved vocabulary that is damaged.
    #[error("the saved vocabulary has {what}")]
    Damaged { what: &'static str },
}

impl VocabularyError {
    /// What the user can do about it.
    pub fn help(&self) -> String {
        match self {
            Self::UnknownCharacter { .. } => {
                "leave the character out; a model of bytes (`data.tokens = \"bytes\"`) reads all"
                    .into()
            }
            Self::NoWord => "use a text that has words".into(),
            Self::TooSmall { .. } => "set `data.vocabulary` to 1000, for example".into(),
            Self::Damaged { .. } => "take the file from the run again, or train again".into(),
        }
    }
}

/// The tokens of a text, and for each its id: the numbers from 0 to [`len`](Self::len).
///
/// ```
/// use preprocess::Vocabulary;
///
/// let vocabulary = Vocabulary::words("The card waits, and the host waits.", 4)?;
/// let ids = vocabulary.encode("The host waits")?;
/// assert_eq!(ids, [1, 0, 2]);
/// assert_eq!(vocabulary.decode(&ids), "The <unknown> waits");
/// # Ok::<(), preprocess::VocabularyError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "Saved", into = "Saved")]
pub struct Vocabulary {
    tokens: Tokens,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Tokens {
    /// In the order of their code points.
    Characters(Vec<char>),
    Bytes,
    /// All but the unknown one, whose id comes before theirs.
    Words {
        words: Vec<String>,
        ids: HashMap<String, u32>,
    },
}

/// A vocabulary as it is saved.
#[derive(Serialize, Deserialize)]
#[serde(tag = "tokens", rename_all = "snake_case", deny_unknown_fields)]
enum Saved {
    Characters { characters: String },
    Bytes,
    Words { words: Vec<String> },
}

impl Vocabulary {
    /// The characters of a text, in the order of their code points.
    pub fn characters(text: &str) -> Self {
        let characters: BTreeSet<char> = text.chars().collect();
        Self { tokens: Tokens::Characters(characters.into_iter().collect()) }
    }

    /// The 256 bytes.
    pub fn bytes() -> Self {
        Self { tokens: Tokens::Bytes }
    }

    /// A token for all unknown words, with id 0, and the `size - 1` most frequent words of a text, or
    /// all that it has; the most frequent first, ties in the order of the text.
    ///
    /// Words are in lower case, an apostrophe before a letter belongs to the word, and each other
    /// punctuation mark and each blank line is a word of its own. [`decode`](Self::decode) puts
    /// spaces and capitals where they are usual.
    ///
    /// # Errors
    ///
    /// If the text has no word, or `size` is below 2.
    pub fn words(text: &str, size: usize) -> Result<Self, VocabularyError> {
        if size < 2 {
            return Err(VocabularyError::TooSmall { size });
        }
        let mut counts = HashMap::new();
        for (place, word) in Words::of(text).enumerate() {
            counts.entry(word).or_insert((0, place)).0 += 1;
        }
        if counts.is_empty() {
            return Err(VocabularyError::NoWord);
        }
        let mut words: Vec<_> = counts.into_iter().collect();
        words.sort_unstable_by_key(|&(_, (count, place))| (std::cmp::Reverse(count), place));
        words.truncate(size - 1);
        Self::of_words(words.into_iter().map(|(word, _)| word.into_owned()).collect())
    }

    /// A token for all unknown words, with id 0, and the `size - 1` most frequent of the words that are in more
    /// than one text, or all of these; ties in the order of their letters.
    ///
    /// A word of a single text teaches nothing about other texts; counted as unknown, it teaches what unknown words
    /// mean. Ties are not in the order of the texts: where these are sorted by class, unknown words would then tell
    /// the class.
    ///
    /// # Errors
    ///
    /// If no word is in more than one text, or `size` is below 2.
    pub fn words_of_texts<'a>(
        texts: impl IntoIterator<Item = &'a str>,
        size: usize,
    ) -> Result<Self, VocabularyError> {
        if size < 2 {
            return Err(VocabularyError::TooSmall { size });
        }
        // How often a word comes, the text that it came in first, and whether it was in another.
        let mut counts = HashMap::new();
        for (text, words) in texts.into_iter().map(Words::of).enumerate() {
            for word in words {
                let (count, first, recurs) = counts.entry(word).or_insert((0, text, false));
                (*count, *recurs) = (*count + 1, *recurs || *first != text);
            }
        }
        let recurring = counts.into_iter().filter(|&(_, (.., recurs))| recurs);
        let mut words: Vec<_> = recurring.map(|(word, (count, ..))| (word, count)).collect();
        if words.is_empty() {
            return Err(VocabularyError::NoWord);
        }
        words.sort_unstable_by(|(a, one), (b, other)| other.cmp(one).then_with(|| a.cmp(b)));
        words.truncate(size - 1);
        Self::of_words(words.into_iter().map(|(word, _)| word.into_owned()).collect())
    }

    /// A vocabulary of these words and the unknown one.
    fn of_words(words: Vec<String>) -> Result<Self, VocabularyError> {
        let mut ids = HashMap::with_capacity(words.len());
        for (word, id) in words.iter().zip(UNKNOWN_ID + 1..) {
            if ids.insert(word.clone(), id).is_some() {
                return Err(VocabularyError::Damaged { what: "a word twice" });
            }
        }
        Ok(Self { tokens: Tokens::Words { words, ids } })
    }

    /// What the tokens are.
    pub fn kind(&self) -> TokenKind {
        match self.tokens {
            Tokens::Characters(_) => TokenKind::Characters,
            Tokens::Bytes => TokenKind::Bytes,
            Tokens::Words { .. } => TokenKind::Words,
        }
    }

    /// The number of tokens, that of unknown words included.
    pub fn len(&self) -> usize {
        match &self.tokens {
            Tokens::Characters(characters) => characters.len(),
            Tokens::Bytes => 256,
            Tokens::Words { words, .. } => words.len() + 1,
        }
    }

    /// Whether there is no token, as in the characters of no text.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The id that every unknown word has; characters and bytes have none.
    pub fn unknown(&self) -> Option<u32> {
        matches!(self.tokens, Tokens::Words { .. }).then_some(UNKNOWN_ID)
    }

    /// The text of a token; `\xff` for a byte that is not a character by itself.
    pub fn token(&self, id: u32) -> Option<String> {
        let index = usize::try_from(id).ok()?;
        match &self.tokens {
            Tokens::Characters(characters) => characters.get(index).map(char::to_string),
            Tokens::Bytes => match u8::try_from(id).ok()? {
                byte if byte.is_ascii() => Some(char::from(byte).to_string()),
                byte => Some(format!("\\x{byte:02x}")),
            },
            Tokens::Words { .. } if id == UNKNOWN_ID => Some(UNKNOWN.to_owned()),
            Tokens::Words { words, .. } => words.get(index - 1).cloned(),
        }
    }

    /// The ids of a text.
    ///
    /// # Errors
    ///
    /// If the vocabulary is one of characters and lacks one of the text's.
    pub fn encode(&self, text: &str) -> Result<Vec<u32>, VocabularyError> {
        let mut ids = Vec::new();
        let mut unknown = None;
        self.each_id(text, |id| match id {
            Ok(id) => ids.push(id),
            Err(character) => unknown = unknown.or(Some((ids.len(), character))),
        });
        match unknown {
            Some((index, character)) => Err(VocabularyError::UnknownCharacter { character, index }),
            None => Ok(ids),
        }
    }

    /// The words of a text that are not in the vocabulary, each once, as it spells them: in lower case.
    /// Characters and bytes have none.
    pub fn unknown_words(&self, text: &str) -> Vec<String> {
        let Tokens::Words { ids, .. } = &self.tokens else { return Vec::new() };
        let mut seen = HashSet::new();
        let unknown = Words::of(text).filter(|word| !ids.contains_key(word.as_ref()));
        unknown.filter(|word| seen.insert(word.clone())).map(Cow::into_owned).collect()
    }

    /// The id of each token of a text in turn, or the character that has none.
    pub fn each_id(&self, text: &str, mut each: impl FnMut(Result<u32, char>)) {
        match &self.tokens {
            Tokens::Characters(characters) => text.chars().for_each(|character| {
                let index = characters.binary_search(&character);
                each(index.map(|index| index as u32).map_err(|_| character));
            }),
            Tokens::Bytes => text.bytes().for_each(|byte| each(Ok(u32::from(byte)))),
            Tokens::Words { ids, .. } => Words::of(text)
                .for_each(|word| each(Ok(ids.get(word.as_ref()).copied().unwrap_or(UNKNOWN_ID)))),
        }
    }

    /// The text of ids; see [`Decoder`], which gives it token by token.
    pub fn decode(&self, ids: &[u32]) -> String {
        let mut decoder = Decoder::new(self);
        let mut text: String = ids.iter().map(|&id| decoder.push(id)).collect();
        text.push_str(&decoder.finish());
        text
    }
}

impl From<Vocabulary> for Saved {
    fn from(vocabulary: Vocabulary) -> Self {
        match vocabulary.tokens {
            Tokens::Characters(characters) => {
                Self::Characters { characters: characters.into_iter().collect() }
            }
            Tokens::Bytes => Self::Bytes,
            Tokens::Words { words, .. } => Self::Words { words },
        }
    }
}

impl TryFrom<Saved> for Vocabulary {
    type Error = VocabularyError;

    fn try_from(saved: Saved) -> Result<Self, VocabularyError> {
        match saved {
            Saved::Characters { characters } => {
                let characters: Vec<char> = characters.chars().collect();
                if !characters.is_sorted_by(|a, b| a < b) {
                    return Err(VocabularyError::Damaged { what: "characters out of order" });
                }
                Ok(Self { tokens: Tokens::Characters(characters) })
            }
            Saved::Bytes => Ok(Self::bytes()),
            Saved::Words { words } => {
                let whole = |word: &String| Words::of(word).eq([word.as_str()]);
                if !words.iter().all(whole) {
                    return Err(VocabularyError::Damaged { what: "a word that is none" });
                }
                Self::of_words(words)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{super::words::PARAGRAPH, *};

    const TEXT: &str = "To be, or not to be:\nthat is the question.\n\nBe it so.";

    #[test]
    fn frequent_words_come_first() {
        let vocabulary = Vocabulary::words(TEXT, 6).unwrap();
        let tokens: Vec<String> = (0..6).map(|id| vocabulary.token(id).unwrap()).collect();
        assert_eq!(tokens, [UNKNOWN, "be", "to", ".", ",", "or"]);
        assert_eq!(
            (vocabulary.len(), vocabulary.token(6), vocabulary.unknown()),
            (6, None, Some(0))
        );
        assert_eq!(vocabulary.encode("To BE or not").unwrap(), [2, 1, 5, 0]);
    }

    #[test]
    fn words_of_a_single_text_are_unknown() {
        let texts = ["b a once once", "a b", "c a", "twice c"];
        let of = |size| {
            Vocabulary::words_of_texts(texts, size).map(|known| {
                (0..known.len() as u32).filter_map(|id| known.token(id)).collect::<Vec<_>>()
            })
        };
        assert_eq!(of(10).unwrap(), [UNKNOWN, "a", "b", "c"]);
        assert_eq!(of(3).unwrap(), [UNKNOWN, "a", "b"]);
        assert_eq!(of(1).unwrap_err(), VocabularyError::TooSmall { size: 1 });
        let none = Vocabulary::words_of_texts(["a a", "b"], 9);
        assert_eq!(none.unwrap_err(), VocabularyError::NoWord);
    }

    #[test]
    fn all_words_of_a_text_bring_it_back() {
        let vocabulary = Vocabulary::words(TEXT, 15).unwrap();
        let ids = vocabulary.encode(TEXT).unwrap();
        assert_eq!(vocabulary.decode(&ids), TEXT.replace(":\n", ": "));
        assert_eq!(vocabulary.token(ids[13]).as_deref(), Some(PARAGRAPH));
    }

    #[test]
    fn characters_are_in_the_order_of_their_code_points() {
        let vocabulary = Vocabulary::characters("hello, é");
        let tokens: String = (0..8).filter_map(|id| vocabulary.token(id)).collect();
        assert_eq!((tokens.as_str(), vocabulary.len(), vocabulary.unknown()), (" ,ehloé", 7, None));
        assert_eq!(vocabulary.decode(&[3, 2, 4, 9]), "hel\u{fffd}");
        assert!(Vocabulary::characters("").is_empty());
    }

    #[test]
    fn bytes_are_their_own_ids() {
        let vocabulary = Vocabulary::bytes();
        assert_eq!(vocabulary.encode("aé").unwrap(), [97, 0xc3, 0xa9]);
        assert_eq!(vocabulary.token(0xc3).as_deref(), Some("\\xc3"));
        assert_eq!(
            (vocabulary.len(), vocabulary.token(97).as_deref(), vocabulary.token(256)),
            (256, Some("a"), None)
        );
    }

    #[test]
    fn what_is_not_in_the_vocabulary_is_named() {
        let error = Vocabulary::characters("abc").encode("cab\tbé").unwrap_err();
        assert_eq!(error.to_string(), "character 4, '\\t', is not in the vocabulary");
        let check = |size, expected: &str, help: &str| {
            let error = Vocabulary::words(TEXT, size).unwrap_err();
            assert_eq!(error.to_string(), expected);
            assert!(error.help().contains(help), "{}", error.help());
        };
        check(1, "a vocabulary of 1 has no room for a word", "1000");
        check(0, "a vocabulary of 0 has no room for a word", "1000");
        assert!(Vocabulary::words("", 2).unwrap_err().help().contains("has words"));
        // 14 different ones, however many are asked for.
        let all = Vocabulary::words(TEXT, 15).unwrap();
        assert_eq!((all.len(), Vocabulary::words(TEXT, 1000)), (15, Ok(all)));
    }

    #[test]
    fn json_brings_it_back() {
        let check = |vocabulary: Vocabulary, expected: &str| {
            let json = serde_json::to_string(&vocabulary).unwrap();
            assert_eq!(json, expected);
            assert_eq!(serde_json::from_str::<Vocabulary>(&json).unwrap(), vocabulary);
        };
        check(Vocabulary::characters("b\na"), r#"{"tokens":"characters","characters":"\nab"}"#);
        check(Vocabulary::bytes(), r#"{"tokens":"bytes"}"#);
        check(Vocabulary::words("a b b", 3).unwrap(), r#"{"tokens":"words","words":["b","a"]}"#);
    }

    #[test]
    fn a_damaged_file_is_no_vocabulary() {
        let check = |json: &str, expected: &str| {
            let error = serde_json::from_str::<Vocabulary>(json).unwrap_err().to_string();
            assert!(error.contains(expected), "{error}");
        };
        check(r#"{"tokens":"characters","characters":"aa"}"#, "characters out of order");
        check(r#"{"tokens":"words","words":["a","a"]}"#, "a word twice");
        check(r#"{"tokens":"words","words":["a b"]}"#, "a word that is none");
        check(r#"{"tokens":"words","words":[""]}"#, "a word that is none");
        check(r#"{"tokens":"letters"}"#, "unknown variant `letters`");
    }

    proptest! {
        #[test]
        fn characters_and_bytes_come_back(text: String) {
            for vocabulary in [Vocabulary::characters(&text), Vocabulary::bytes()] {
                let ids = vocabulary.encode(&text).unwrap();
                prop_assert!(ids.iter().all(|&id| (id as usize) < vocabulary.len()));
                prop_assert_eq!(vocabulary.decode(&ids), text.clone());
            }
        }

        #[test]
        fn words_come_back_as_words(text: String, other: String) {
            let words = Words::of(&text).collect::<std::collections::HashSet<_>>().len();
            prop_assume!(words > 0);
            let vocabulary = Vocabulary::words(&text, words + 1).unwrap();
            let ids = vocabulary.encode(&text).unwrap();
            prop_assert!(!ids.contains(&UNKNOWN_ID));
            prop_assert_eq!(vocabulary.encode(&vocabulary.decode(&ids)).unwrap(), ids);
            let ids = vocabulary.encode(&other).unwrap();
            prop_assert!(ids.iter().all(|&id| (id as usize) < vocabulary.len()));
        }

        #[test]
        fn any_ids_are_a_text(ids: Vec<u32>, text: String) {
            for vocabulary in [Vocabulary::characters(&text), Vocabulary::bytes()] {
                vocabulary.decode(&ids);
            }
            Vocabulary::words("a .", 3).unwrap().decode(&ids);
        }
    }
}
