//! The recipes and all that users touch: settings, runs, the command line.
//!
//! A recipe is one file that reads from top to bottom, with its settings in a TOML file beside it;
//! [`registry`] lists them. Only this crate knows configurations, the files of a run, and the
//! terminal.

// The recipes, one file each.
pub mod cnn;
pub mod lstm;
pub mod lstm_char;
pub mod mlp;
pub mod registry;
pub mod resnet;
pub mod simplenet;
pub mod vgg;
pub mod vgg_pretrain;

// What recipes share.
mod inputs;
mod measure;
mod run;

// Before a run, and after it.
mod comparison;
mod evaluation;
mod planning;
mod report;
mod spread;

// The promise that runs resume exactly, verified.
mod resume_check;

// Settings, files and folders.
mod cache_folder;
pub mod config;
#[cfg(feature = "download")]
mod download;
mod paths;
mod settings;
mod shell;

// What users see.
mod chart;
pub mod cli;
mod console;
mod failure;
mod names;
mod numbers;
mod text_chart;

pub use crate::{
    cache_folder::cache_folder,
    failure::{ExitCode, Failure},
    inputs::{image_set, initial_weights},
    run::{environment::COMMIT, start::Start, summary::Summary},
};
