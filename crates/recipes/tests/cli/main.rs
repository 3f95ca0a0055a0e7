//! The program from the outside.

#![allow(clippy::unwrap_used, clippy::print_stderr)] // A failure here is a failed test, and skips are told.

mod arrays;
mod browser;
mod commands;
mod eval;
mod folder;
mod fraction;
mod initial_weights;
mod logarithms;
mod mistakes;
mod mlp;
mod pictures;
mod plan;
#[cfg(feature = "mpi")]
mod ranks;
mod readme;
mod repair;
mod report;
mod resume;
mod settings;
mod tensorboard;
#[cfg(target_os = "linux")]
mod terminal;
mod text_columns;
mod text_folders;
mod texts;
mod transfer;
