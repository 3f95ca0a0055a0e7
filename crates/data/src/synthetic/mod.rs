//! Data made from a seed, so that a recipe runs without a file.

mod numpy;
mod tutorial;

pub use self::tutorial::{Labels, SyntheticOptions, linear_labels, random_labels, read_synthetic};
