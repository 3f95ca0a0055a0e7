//! What can be wrong with a text.

use std::path::PathBuf;

use crate::{
    VocabularyError,
    count::{counted, grouped},
};

/// What is wrong with a text, or with how it is to be cut.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
#[expect(missing_docs, reason = "the messages say what the fields are")]
pub enum TextError {
    /// Neither a file nor a folder, such as a pipe.
    #[error("`{}` is neither a file nor a folder", path.display())]
    NotAFile { path: PathBuf },
    /// A folder without a text.
    #[error("`{}` has no file whose name ends in `.txt`", path.display())]
    NoTextFiles { path: PathBuf },
    /// A folder whose texts lie in folders within it.
    #[error(
        "`{}` has no file whose name ends in `.txt`, and folders within it, such as `{}`, are not read",
        path.display(),
        within.display()
    )]
    TextsWithin { path: PathBuf, within: PathBuf },
    /// Without a single character.
    #[error("`{}` is empty", path.display())]
    Empty { path: PathBuf },
    /// A file of another format.
    #[error("`{}` is {format}, plain text is expected", path.display())]
    NotPlain { path: PathBuf, format: &'static str, conversion: &'static str },
    /// Bytes that are not UTF-8.
    #[error("`{}`: the text is not UTF-8 at byte {offset}", path.display())]
    NotUtf8 {
        path: PathBuf,
        /// The place of the first such byte in the file, from 0.
        offset: usize,
        utf16: bool,
    },
    /// A byte that no text has.
    #[error("`{}`: the text has a zero byte at byte {offset}", path.display())]
    ZeroByte {
        path: PathBuf,
        /// The place of the first such byte in the file, from 0.
        offset: usize,
    },
    /// Windows without tokens.
    #[error("a sequence of 0 tokens has nothing to predict from")]
    NoSequence,
    /// No streams.
    #[error("0 streams have nothing to predict")]
    NoStream,
    /// An id that is not in the vocabulary.
    #[error(
        "{text}: token {index} has the id {id}, the vocabulary has {}",
        counted(tokens, "token")
    )]
    UnknownId {
        text: String,
        /// The token's place, from 0.
        index: usize,
        id: u32,
        tokens: usize,
    },
    /// A part too short for a single window.
    #[error("{text} has {}, a sequence of {} and its target take {}", counted(tokens, "token"), grouped(sequence_length), grouped(sequence_length.saturating_add(1)))]
    TooShort { text: String, tokens: usize, sequence_length: usize },
    /// A part too short because much of it is left out.
    #[error("{text}, without {left_out}, has {}, but a sequence of {} and its target take {}", counted(tokens, "token"), grouped(sequence_length), grouped(sequence_length.saturating_add(1)))]
    TooForeign { text: String, left_out: String, tokens: usize, sequence_length: usize },
    /// A part too short for a window in each stream.
    #[error(
        "{text} has {}, too few for {} of {} or more",
        counted(tokens, "token"),
        counted(streams, "stream"),
        grouped(sequence_length)
    )]
    TooShortForStreams { text: String, tokens: usize, streams: usize, sequence_length: usize },
    /// So few words that none of them comes before the part to validate on.
    #[error(
        "{text} has {}, too few to divide into a part to train on and one to validate on",
        counted(words, "word")
    )]
    TooShortToDivide { text: String, words: usize },
    /// The words of the text do not make such a vocabulary.
    #[error("{text}: {reason}")]
    Vocabulary { text: String, reason: VocabularyError },
}

impl TextError {
    /// What the user can do about it.
    pub fn help(&self) -> String {
        match self {
            Self::NotAFile { .. } => {
                "a run may be resumed and read its text again; write it to a file".into()
            }
            Self::NoTextFiles { .. } => "add a text file to the folder, or name one file".into(),
            Self::TextsWithin { .. } => {
                "name one of the folders, or put the files into one: the network learns to continue a text; \
                 to classify texts in folders of their classes, use `recipes train mlp` with \
                 `data.source=text-folder`"
                    .into()
            }
            Self::Empty { .. } => "use a text that is longer than `data.sequence_length`".into(),
            Self::NotPlain { conversion, .. } => (*conversion).into(),
            Self::NotUtf8 { utf16: true, .. } => {
                "it is UTF-16; save it as UTF-8, for example `iconv -f utf-16 -t utf-8 IN > OUT`"
                    .into()
            }
            Self::NotUtf8 { .. } => {
                "save the file as UTF-8, for example `iconv -f windows-1252 -t utf-8 IN > OUT`, or train \
                 with `data.tokens=bytes`"
                    .into()
            }
            Self::ZeroByte { .. } => {
                "remove such bytes, for example `tr -d '\\000' < IN > OUT`, or train with \
                 `data.tokens=bytes`"
                    .into()
            }
            Self::NoSequence => "set `data.sequence_length` to 20, for example".into(),
            Self::UnknownId { .. } => "encode the text with the same vocabulary".into(),
            Self::NoStream => "set `training.batch_size` to at least 1".into(),
            Self::TooShort { .. } => {
                "use a longer text, or train with a smaller `data.sequence_length` or other \
                 shares in `data.fraction`, `data.validation` and `data.test`"
                    .into()
            }
            Self::TooForeign { .. } => {
                "use a text in the characters that the network has learnt, or train one anew on such a \
                 text, without `model.weights` or with `data.tokens=bytes`"
                    .into()
            }
            Self::TooShortForStreams { .. } => {
                "use a longer text, or train with a smaller `training.batch_size` or \
                 `data.sequence_length`, or, if it is below 1, a larger `data.fraction`"
                    .into()
            }
            Self::TooShortToDivide { .. } => {
                "use a longer text; one that has no spaces is cut into characters by \
                 `data.tokens=characters`"
                    .into()
            }
            Self::Vocabulary { reason, .. } => reason.help(),
        }
    }
}
