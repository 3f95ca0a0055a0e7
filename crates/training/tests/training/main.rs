//! The trainer from outside: its arithmetic against PyTorch's, and its own promises.

#![allow(clippy::unwrap_used)] // A failure here is a failed test.

mod common;
mod optimizers_equal_pytorch;
mod parameters;
mod schedules_equal_pytorch;
mod trainer;
