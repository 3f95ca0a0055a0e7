//! The sources of binary files, each on its real data set where there is one, on small files, and
//! on damaged ones: an error that says what, where and what to do.

#![expect(clippy::unwrap_used, reason = "helpers of tests are tests too")]

#[path = "../common/mod.rs"]
mod common;
#[path = "../common/folders.rs"]
mod folders;

mod files;
mod support;

mod cifar10;
mod idx;
mod npy;
mod npy_notes;
