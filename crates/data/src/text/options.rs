//! What the user says about a text.

use std::path::PathBuf;

use crate::TokenKind;

/// What the user says about a text; what is left out is as in the tutorial.
#[derive(Debug, Clone, PartialEq)]
pub struct TextOptions {
    /// A UTF-8 file, or a folder whose `.txt` files are read in the order of their names; the
    /// built-in primer where there is none.
    pub path: Option<PathBuf>,
    /// What the text is cut into.
    pub tokens: TokenKind,
    /// Of words, how many tokens there are at most, that of unknown words included.
    pub vocabulary: usize,
    /// Tokens of a window.
    pub sequence_length: usize,
    /// The fraction of tokens at the end that is held out.
    pub validation: f64,
    /// A file or folder to validate on, instead of the end of the text.
    pub validation_path: Option<PathBuf>,
    /// A file or folder that is only reported on.
    pub test_path: Option<PathBuf>,
}

impl Default for TextOptions {
    fn default() -> Self {
        Self {
            path: None,
            tokens: TokenKind::Words,
            vocabulary: 1000,
            sequence_length: 20,
            validation: 0.1,
            validation_path: None,
            test_path: None,
        }
    }
}
