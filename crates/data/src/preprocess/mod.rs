//! What was learnt from the training split, saved with the model and used again for prediction.

pub(crate) mod cell;
mod table;

#[cfg(feature = "sources")]
pub(crate) use self::table::{one_hot, standardise};
pub use self::{
    cell::CellError,
    table::{Column, ColumnKind, TablePreprocessing, Target, TargetKind, Task},
};
