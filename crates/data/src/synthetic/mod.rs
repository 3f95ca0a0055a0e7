//! Data made from a seed, so that a recipe runs without a file.

mod numpy;
mod tutorial;

#[doc(hidden)] // for the benchmarks of this workspace
pub use self::tutorial::linear_labels;
pub use self::tutorial::{Labels, SyntheticOptions, read_synthetic};
