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
//! ```
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
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

// What the user brings: one module for each source.
pub mod cifar10;
pub mod class_folders;
pub mod csv_table;
pub mod drawn;
pub mod idx;
pub mod image_folder;
pub mod npy;
pub mod synthetic;
pub mod text;
pub mod text_folder;

mod contained;
mod files;
mod fitted;
mod formats;
mod images;

// From the records to batches.
pub mod augment;
mod contact_sheet;
mod error;
mod labels;
mod loader;
mod names;
mod order;
mod progress;
mod shared;
mod split;
mod statistics;
mod table;

pub use crate::{
    contact_sheet::{contact_sheet, picture},
    error::DataError,
    files::FileError,
    fitted::Fitted,
    images::{ImageSource, ImageSplits, ImagesInMemory, Relabelled, Subset, note_on_known_pixels},
    loader::{
        Batching, ImageBatch, ImageLoader, Pixels, Residency, TableBatch, TableLoader,
        TableTargets, TokenBatch, TokenLoader,
    },
    order::Order,
    progress::{Progress, silent},
    shared::{Shared, refuse_shared},
    split::{Fractions, HoldOut, Parts, classes_without_validation, hold_out},
    statistics::measure_images,
    table::{
        Moments, Origins, Table, TableSplits, Targets, note_on_rows_in_both,
        text_columns::TextColumns,
    },
};
#[doc(hidden)] // for the programs of this workspace
pub use crate::{
    contained::{contain, panic_is_contained},
    labels::count_labels,
    names::{nearest, toml_key},
};
#[doc(hidden)] // for the programs of this workspace
pub use preprocess::count;
pub use preprocess::{
    ALWAYS_MISSING, CategoryEncoding, CellError, Column, ColumnKind, Decoder, IMAGENET_DEVIATION,
    IMAGENET_MEAN, ImagePreprocessing, ImageShape, LARGEST_SCORE, NumberFormat, Odd, Resize,
    TablePreprocessing, Target, TargetKind, TargetScale, TargetScores, Task, TextFeatures,
    TokenKind, Vocabulary, VocabularyError,
};
