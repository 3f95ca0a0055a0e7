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
    /// How much is held out at the end to validate on, and after that, at the very end, to test on; what is
    /// trained on lies at the beginning of the rest.
    pub fractions: Fractions,
    /// A file or folder to validate on, instead of the end of the text.
    pub validation_path: Option<PathBuf>,
    /// A file or folder that is only measured, instead of the end of the text.
    pub test_path: Option<PathBuf>,
}

impl Default for TextOptions {
    fn default() -> Self {
        Self {
            path: None,
            tokens: TokenKind::Words,
            vocabulary: 1000,
            known: None,
            sequence_length: 20,
            fractions: Fractions { validation: 0.1, ..Fractions::default() },
            validation_path: None,
            test_path: None,
        }
    }
}
