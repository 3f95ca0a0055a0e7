//! From a record to the numbers that a network reads, as it was learnt from the training split; saved with the
//! model and used again to predict.
//!
//! A [`TablePreprocessing`] encodes the cells of a row, an [`ImagePreprocessing`] says what becomes of pixels, and
//! a [`Vocabulary`] has a number for each word, character or byte. The crate `data` learns them from files, and
//! reads cells and texts by the modules here, so that both are read in one way.
//!
//! ```
//! use preprocess::{ImagePreprocessing, ImageShape, Resize};
//!
//! let shape = ImageShape { channels: 1, height: 28, width: 28 };
//! let [mean, deviation] = [0.1307, 0.3081].map(|of_channel| vec![of_channel]); // MNIST's
//! let learnt = ImagePreprocessing::new(shape, Resize::Pad, mean, deviation);
//! assert_eq!(learnt.size, [28, 28]);
//! ```

// How cells and texts are read.
pub mod cell;
pub mod number_format;
pub mod text_cell;
pub mod words;

// What is saved.
mod image;
mod table;
mod target_scores;
mod vocabulary;

// From one to the other, and back.
mod decoder;
mod encoding;

#[doc(hidden)] // for the programs of this workspace
pub mod count;

pub use crate::{
    cell::{ALWAYS_MISSING, CellError},
    decoder::Decoder,
    encoding::{FAR, LARGEST_SCORE, Odd, standardise},
    image::{IMAGENET_DEVIATION, IMAGENET_MEAN, ImagePreprocessing, ImageShape, Resize},
    number_format::NumberFormat,
    table::{
        CategoryEncoding, Column, ColumnKind, TablePreprocessing, Target, TargetKind, Task,
        TextFeatures,
    },
    target_scores::{TargetScale, TargetScores},
    vocabulary::{TokenKind, Vocabulary, VocabularyError},
};
