//! What the user says about a text.

use std::path::PathBuf;

use crate::{Fractions, TokenKind, Vocabulary};

/// What the user says about a text; what is left out is as in the tutorial.
#[derive(Debug, Clone, PartialEq)]
pub struct TextOptions {
    /// A UTF-8 file, or a folder whose `.txt` files are read in the order of their names; by
    /// default the built-in primer.
    pub path: Option<PathBuf>,
    /// What the text is cut into.
    pub tokens: TokenKind,
    /// The most tokens of a vocabulary of words, the one for unknown words included.
    pub vocabulary: usize,
    /// A vocabulary that was learnt before, of the same kind of tokens; by default it is learnt from
    /// what is trained on.
    pub known: Option<Vocabulary>,
    /// Tokens in a window.
    pub sequence_length: usize,
    /// The fraction to train on, at the beginning of what is not held out.
    pub fraction: f64,
    /// The fraction of tokens at the end that is held out to validate on.
    pub validation: f64,
    /// The fraction of tokens after these, at the very end, that is held out to test on.
    pub test: f64,
    /// A file or folder to validate on, instead of the end of the text.
    pub validation_path: Option<PathBuf>,
    /// A file or folder that is only measured, instead of the end of the text.
    pub test_path: Option<PathBuf>,
}

impl TextOptions {
    /// What is held out of the text itself, for splits that have no text of their own.
    pub(super) fn fractions(&self, has_validation: bool, has_test: bool) -> Fractions {
        let Self { fraction, validation, test, .. } = *self;
        Fractions { train: fraction, validation, test }.unless_there(has_validation, has_test)
    }
}

impl Default for TextOptions {
    fn default() -> Self {
        Self {
            path: None,
            tokens: TokenKind::Words,
            vocabulary: 1000,
            known: None,
            sequence_length: 20,
            fraction: 1.0,
            validation: 0.1,
            test: 0.0,
            validation_path: None,
            test_path: None,
        }
    }
}
