//! The recipes, and all around them that a person touches: settings, runs, the command line.
//!
//! A recipe is a file of its own that reads from top to bottom, with its settings in a TOML beside
//! it; [`registry`] lists them. This is the only crate that knows configurations, the files of a
//! run, and the terminal.

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

// What recipes of a kind share.
mod backbone;
mod features;
mod image_evaluation;
pub mod image_set;
mod plan;
mod pretrained;
mod table_evaluation;
mod text_evaluation;

// What a run is given and what it leaves.
mod cache_folder;
pub mod config;
#[cfg(feature = "download")]
mod download;
mod environment;
mod failure;
mod peaks;
mod record;
mod run;
mod run_directory;
mod settings;
mod shell;
mod summary;
mod tensorboard;
mod time;

// What is asked of a run when it is over.
mod comparison;
mod confusion;
pub mod evaluation;
mod report;

// What is asked before a run.
pub mod range_test;

// What is promised of runs, proved.
pub mod resume_check;

// What a person sees.
mod chart;
pub mod cli;
mod console;
mod text_chart;

pub use crate::{
    cache_folder::cache_folder,
    console::{Console, Progress},
    environment::COMMIT,
    failure::{ExitCode, Failure},
    plan::{MemoryBytes, Plan, PlannedLayer},
    run::{Run, Start},
    summary::Summary,
};
