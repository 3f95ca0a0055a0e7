//! The trainer from outside: its arithmetic against PyTorch's, and its own promises.

#![allow(clippy::unwrap_used, clippy::print_stderr)] // A failure here is a failed test, and skips are told.

mod checkpoints;
mod common;
mod longer_runs;
mod mistakes;
mod optimizers_equal_pytorch;
mod parameters;
mod predictions;
mod refused_checkpoints;
mod schedules_equal_pytorch;
mod several_parameters;
mod trainer;
