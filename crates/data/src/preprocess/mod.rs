//! What was learnt from the training split, saved with the model and used again for prediction.

pub(crate) mod cell;
mod decoder;
pub(crate) mod dress;
mod encoding;
mod image;
mod table;
pub(crate) mod text_cell;
mod vocabulary;
pub(crate) mod words;

#[cfg(feature = "sources")]
pub(crate) use self::encoding::{FAR, standardise, standardise_target};
pub use self::{
    cell::{ALWAYS_MISSING, CellError},
    decoder::Decoder,
    dress::Dress,
    encoding::{LARGEST_SCORE, Odd},
    image::{IMAGENET_DEVIATION, IMAGENET_MEAN, ImagePreprocessing, ImageShape, Resize},
    table::{
        CategoryEncoding, Column, ColumnKind, TablePreprocessing, Target, TargetKind, Task,
        TextFeatures,
    },
    vocabulary::{TokenKind, Vocabulary, VocabularyError},
};
