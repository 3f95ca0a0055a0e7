//! Benchmarks of what the recipes run, not of a copy of it.
//!
//! A [`Case`] trains a recipe the way that `recipes train` does, several times over, and divides
//! the run's own `seconds_training` by its steps. The first run warms up and does not count.

mod case;
mod entry;

pub use crate::{
    case::{CASES, Case},
    entry::Entry,
};
