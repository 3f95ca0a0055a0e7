//! From the user's files to a batch on the device.
//!
//! An [`ImageSource`] (yours, or [`image_folder`], [`idx`], [`cifar10`], [`drawn`]), a [`Table`]
//! ([`csv_table`], [`npy`], [`text_folder`], [`synthetic`]) or a [`text`] is read and checked on the host. The reader or
//! [`Subset::divide`] holds a part out, by seed. What was learnt from the training split (means, standard
//! deviations, categories, words, classes) is the preprocessing: an [`ImagePreprocessing`], a
//! [`TablePreprocessing`] or a [`Vocabulary`]. It is saved with the model, so that prediction encodes a
//! record exactly as training did.
//!
//! An [`ImageLoader`], a [`TableLoader`] or a [`TokenLoader`] makes batches on the device, as [`Batching`]
//! says; [`augment`] changes and normalises images there.
//!
//! Without the feature `sources` only the preprocessing remains, which prediction needs.
//!
//! ```
//! # #[cfg(feature = "sources")] {
//! use backend::{Selected, device};
//! use data::synthetic::{Labels, SyntheticOptions, read_synthetic};
//! use data::{Batching, Fractions, Order, TableLoader, Task};
//!
//! let fractions = Fractions { validation: 0.2, ..Fractions::default() };
//! let labels = Labels::Linear;
//! let options = SyntheticOptions { samples: 100, features: 20, labels, fractions };
//! let splits = read_synthetic(&options, 7)?;
//!
//! let (device, _) = device::open()?;
//! let batching = Batching::new(Order::Shuffled, 7, 32);
//! let train = TableLoader::<Selected>::new(splits.train, Task::Binary, batching, &device)?;
//! let sizes: Vec<usize> = train.batches(0, 0).map(|batch| batch.features.dims()[0]).collect();
//! assert_eq!(sizes, [32, 32, 16]); // of 80 samples; a fifth is held out
//! # }
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

// What is saved with the model.
mod preprocess;

#[doc(hidden)] // for the programs of this workspace
pub mod count;

// What the user brings: one module for each source.
#[cfg(feature = "sources")]
pub mod cifar10;
#[cfg(feature = "sources")]
pub mod class_folders;
#[cfg(feature = "sources")]
pub mod csv_table;
#[cfg(feature = "sources")]
pub mod drawn;
#[cfg(feature = "sources")]
pub mod idx;
#[cfg(feature = "sources")]
pub mod image_folder;
#[cfg(feature = "sources")]
pub mod npy;
#[cfg(feature = "sources")]
pub mod synthetic;
#[cfg(feature = "sources")]
pub mod text;
#[cfg(feature = "sources")]
pub mod text_folder;

#[cfg(feature = "sources")]
mod contained;
#[cfg(feature = "sources")]
mod files;
#[cfg(feature = "sources")]
mod fitted;
#[cfg(feature = "sources")]
mod formats;
#[cfg(feature = "sources")]
mod images;

// From the records to batches.
#[cfg(feature = "sources")]
pub mod augment;
#[cfg(feature = "sources")]
mod contact_sheet;
#[cfg(feature = "sources")]
mod error;
#[cfg(feature = "sources")]
mod loader;
#[cfg(feature = "sources")]
mod names;
#[cfg(feature = "sources")]
mod order;
#[cfg(feature = "sources")]
mod progress;
#[cfg(feature = "sources")]
mod shared;
#[cfg(feature = "sources")]
mod split;
#[cfg(feature = "sources")]
mod statistics;
#[cfg(feature = "sources")]
mod table;

pub use crate::preprocess::{
    ALWAYS_MISSING, CategoryEncoding, CellError, Column, ColumnKind, Decoder, Dress,
    IMAGENET_DEVIATION, IMAGENET_MEAN, ImagePreprocessing, ImageShape, LARGEST_SCORE, Odd, Resize,
    TablePreprocessing, Target, TargetKind, Task, TextFeatures, TokenKind, Vocabulary,
    VocabularyError,
};
#[cfg(feature = "sources")]
pub use crate::{
    contact_sheet::{contact_sheet, picture},
    error::DataError,
    files::FileError,
    fitted::Fitted,
    images::{ImageSource, ImageSplits, ImagesInMemory, Subset, note_on_known_pixels},
    loader::{
        Batching, ImageBatch, ImageLoader, Pixels, Residency, TableBatch, TableLoader,
        TableTargets, TokenBatch, TokenLoader,
    },
    order::Order,
    progress::{Progress, silent},
    shared::{Shared, refuse_shared},
    split::{Fractions, HoldOut, Parts, classes_without_validation, hold_out},
    table::{
        Moments, Origins, Table, TableSplits, Targets, note_on_rows_in_both,
        text_columns::TextColumns,
    },
};
#[cfg(feature = "sources")]
#[doc(hidden)] // for the programs of this workspace
pub use crate::{
    contained::{contain, panic_is_contained},
    names::{nearest, toml_key},
};
