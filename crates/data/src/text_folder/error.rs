//! What can be wrong with a folder of texts, where, and what to do about it.

use std::path::PathBuf;

use crate::text::TextError;

/// What is wrong with a folder of texts, its class folders and its files aside.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
#[expect(missing_docs, reason = "the messages say what the fields are")]
pub enum TextFolderError {
    /// Texts that have nothing in common.
    #[error("`{}`: no word is in two of the texts to train on", path.display())]
    NoWords { path: PathBuf },
    /// A file that is no text.
    #[error(transparent)]
    NoText(TextError),
    /// Texts for a model of other rows.
    #[error("`{}` is a folder, and each row of the model is not one text", path.display())]
    OtherRows { path: PathBuf },
}

impl TextFolderError {
    /// What the user can do about it.
    pub fn help(&self) -> String {
        match self {
            Self::NoWords { .. } => {
                "add texts: what a single one has teaches nothing about others".into()
            }
            Self::NoText(TextError::NotUtf8 { utf16: false, .. } | TextError::ZeroByte { .. }) => {
                "move it away, if it is no text".into()
            }
            Self::NoText(reason) => reason.help(),
            Self::OtherRows { .. } => "name a file of rows as the model was trained on".into(),
        }
    }
}
