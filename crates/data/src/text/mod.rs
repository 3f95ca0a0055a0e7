//! The text source: a file, a folder of files or the built-in primer becomes token ids.
//!
//! A text is cut into characters, bytes or words. Unless other files are named to validate on, its end is held out
//! in one piece, since neighbouring sentences are too similar for a random split, and the [`Vocabulary`] is learnt
//! from what comes before. A network learns to predict the next token, either from [`Windows`], in any order, or
//! along [`Streams`], so that a recurrent state can be carried.
//!
//! ```
//! use data::text::{TextOptions, Windows, read_text};
//!
//! let corpus = read_text(&TextOptions::default())?;
//! assert_eq!(corpus.vocabulary.len(), 1000);
//!
//! let windows = Windows::new(corpus.train, 20)?;
//! let mut inputs = [0; 20];
//! let target = windows.read(windows.len() - 1, &mut inputs);
//! println!("{} ... {}", corpus.vocabulary.decode(&inputs), corpus.vocabulary.decode(&[target]));
//! # Ok::<(), data::DataError>(())
//! ```

// From the files to the ids.
mod corpus;
mod error;
mod files;
mod known;
mod options;
pub(crate) mod tokens;

// What a network reads.
mod streams;
mod windows;

use std::path::{Path, PathBuf};

use self::corpus::{Text, Texts};
pub(crate) use self::files::text_of;
use crate::{DataError, Shared, Vocabulary, shared};

pub use self::{
    corpus::Corpus, error::TextError, known::note_on_known_text, options::TextOptions,
    streams::Streams, tokens::Tokens, windows::Windows,
};

/// Our own primer on how GPUs train neural networks, the default text.
pub const PRIMER: &str = include_str!("../../assets/gpu-training-primer.txt");

/// Reads a text as ids of a vocabulary that was learnt before. Also returns what the user should
/// know about it, a line each: unknown words, and characters left out because the vocabulary lacks
/// them.
///
/// # Errors
///
/// Where the text cannot be read, or is shorter than a window of `sequence_length` and a target.
pub fn read_tokens(
    path: &Path,
    vocabulary: &Vocabulary,
    sequence_length: usize,
) -> Result<(Tokens, Vec<String>), DataError> {
    Ok(Text::read(path, vocabulary.kind())?.encode(vocabulary, sequence_length)?)
}

/// Reads the text that the options name, learns its vocabulary unless that is known, and replaces tokens
/// by ids.
///
/// Each part is at least a window and a target long.
///
/// # Errors
///
/// Where a text cannot be read or is too short.
pub fn read_text(options: &TextOptions) -> Result<Corpus, DataError> {
    if options.sequence_length == 0 {
        return Err(TextError::NoSequence.into());
    }
    let has = [&options.validation_path, &options.test_path].map(Option::is_some);
    options.fractions.unless_there(has[0], has[1]).check()?;
    let list = |path: &Option<PathBuf>| path.as_deref().map_or(Ok(Vec::new()), files::list);
    let files = [list(&options.path)?, list(&options.validation_path)?, list(&options.test_path)?];
    let shared = shared::find_files(shared::OPTIONS, files.each_ref().map(Vec::as_slice));
    let read = |path: &Option<PathBuf>| {
        path.as_deref().map(|path| Text::read(path, options.tokens)).transpose()
    };
    let primer =
        || Text { content: PRIMER.as_bytes().into(), name: "the built-in text".into(), note: None };
    let texts = Texts {
        text: read(&options.path)?.unwrap_or_else(primer),
        validation: read(&options.validation_path)?,
        test: read(&options.test_path)?,
    };
    let shared = if shared.is_empty() { same_texts(&texts, options) } else { shared };
    let mut corpus = corpus::encode(&texts, options)?;
    corpus.notes.extend(shared.iter().map(Shared::note));
    Ok(Corpus { shared, ..corpus })
}

/// Texts that are the same but for how their files end and break lines.
fn same_texts(texts: &Texts, options: &TextOptions) -> Vec<Shared> {
    let parts = [
        (&options.path, Some(&texts.text)),
        (&options.validation_path, texts.validation.as_ref()),
        (&options.test_path, texts.test.as_ref()),
    ];
    let known = parts.map(|(path, text)| {
        let content = text.and_then(|text| str::from_utf8(text.content.trim_ascii_end()).ok());
        path.as_deref().map(|path| (path, content))
    });
    shared::find(shared::OPTIONS, known.each_ref().map(Option::as_slice))
}
