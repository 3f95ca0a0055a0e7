//! Batches on the device, in the order of an epoch.
//!
//! The order and its division into updates and micro-batches ([`Batching`]) are the same for every
//! kind of sample, and functions of the seed: neither the number of workers, nor where the samples
//! are stored, nor a start in the middle of an epoch changes the samples of a batch.

mod batching;
mod images;
mod pipeline;
mod pixels;
mod table;
mod tokens;

pub use self::{
    batching::Batching,
    images::{ImageBatch, ImageLoader, Residency},
    pixels::Pixels,
    table::{TableBatch, TableLoader, TableTargets},
    tokens::{TokenBatch, TokenLoader},
};
