//! Batches on the device, in the order of an epoch and its division into updates and micro-batches
//! ([`Batching`]).

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
