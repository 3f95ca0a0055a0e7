//! `[data]` of the recipes that learn from a text.

use std::path::PathBuf;

use data::{Fractions, TokenKind, text::TextOptions};
use serde::{Deserialize, Serialize};

use crate::config::{
    check::{Check, Checker},
    or_empty,
    schema::fractions::check_fractions,
};

/// The table `[data]`: a text, and how it is tokenised.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TextData {
    /// Where the samples come from.
    pub source: TextOrigin,
    /// A file or a folder; by default the primer on GPU training that comes with the program.
    #[serde(default, with = "or_empty")]
    pub path: Option<PathBuf>,
    /// The kind of tokens.
    pub tokens: TokenKind,
    /// For words, the most tokens, including that of unknown words.
    pub vocabulary: usize,
    /// Tokens that the network reads in a row.
    pub sequence_length: usize,
    /// The fraction to train on, at the beginning of what is not held out.
    pub fraction: f64,
    /// The fraction at the end of the text to validate on.
    pub validation: f64,
    /// The fraction after it, at the very end, to test on.
    pub test: f64,
    /// A file or a folder to validate on instead.
    #[serde(default, with = "or_empty")]
    pub validation_path: Option<PathBuf>,
    /// A file or a folder to test on at the end instead.
    #[serde(default, with = "or_empty")]
    pub test_path: Option<PathBuf>,
}

/// The value of `data.source`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum TextOrigin {
    /// A text.
    Text,
}

impl Check for TextData {
    fn check(&self, checker: &mut Checker<'_>) {
        let has_validation = self.validation_path.is_some();
        check_fractions(self.fractions().unless_there(has_validation, false), checker);
        checker.require("data.vocabulary", self.vocabulary >= 2, "at least 2");
        checker.require("data.sequence_length", self.sequence_length >= 1, "at least 1");
        if self.tokens != TokenKind::Words {
            checker.only_with("data.tokens", "words", &["data.vocabulary"]);
        }
        if checker.is("training.monitor", "macro_f1") {
            checker.conflict(
                "training.monitor",
                "`training.monitor = \"macro_f1\"` is for classes, and this recipe predicts tokens",
                "leave it out, or set `training.monitor=accuracy`",
            );
        }
        if self.validation_path.is_some() {
            checker.only_with("data.validation_path", "", &["data.validation"]);
        }
        if self.test_path.is_some() {
            checker.only_with("data.test_path", "", &["data.test"]);
        }
    }
}

impl TextData {
    fn fractions(&self) -> Fractions {
        Fractions { train: self.fraction, validation: self.validation, test: self.test }
    }

    /// The source's options.
    pub fn options(&self) -> TextOptions {
        TextOptions {
            path: self.path.clone(),
            tokens: self.tokens,
            vocabulary: self.vocabulary,
            known: None,
            sequence_length: self.sequence_length,
            fractions: self.fractions(),
            validation_path: self.validation_path.clone(),
            test_path: self.test_path.clone(),
        }
    }
}
