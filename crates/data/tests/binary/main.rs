//! The sources of binary files, each on its real data set where there is one, on small files, and
//! on damaged ones: an error that says what, where and what to do.
#![cfg(feature = "sources")]

#[path = "../common/mod.rs"]
mod common;
mod files;
mod support;

mod cifar10;
mod idx;
mod npy;
