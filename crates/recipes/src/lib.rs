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

// What similar recipes share.
mod backbone;
mod features;
mod image_evaluation;
pub mod image_set;
pub mod initial_weights;
mod pretrained;
mod run_inputs;
mod table_evaluation;
mod text_evaluation;
mod training_images;
mod training_text;
mod weights_file;

// What a run needs and what it leaves.
mod cache_folder;
mod class_weights;
pub mod config;
mod data_notes;
#[cfg(feature = "download")]
mod download;
mod environment;
mod event_lines;
mod failure;
mod metrics_csv;
mod odd_settings;
mod out_of_memory;
mod paths;
mod peaks;
mod record;
mod run;
mod run_directory;
mod settings;
mod shell;
mod start;
mod summary;
mod temporary;
mod tensorboard;
mod time;

// After a run.
mod comparison;
mod evaluation;
mod report;
mod spread;

// Before a run.
mod memory;
mod plan;
mod range_test;

// The promise that runs resume exactly, verified.
mod resume_check;

// What users see.
mod chart;
pub mod cli;
mod console;
mod names;
mod numbers;
mod text_chart;

pub use crate::{
    cache_folder::cache_folder,
    environment::COMMIT,
    failure::{ExitCode, Failure},
    start::Start,
    summary::Summary,
};
