//! The kernels of CUDA and WGPU against those of the CPU, which are held against the default bodies.
//! On a GPU the default bodies are no reference: some of Burn's operations are wrong there, such as sums of
//! many numbers on a GPU in software.
//!
//! For a build with a GPU's feature and the CPU's; `cargo xtask gpu-check --tests` makes it.

#![cfg(all(feature = "cpu", feature = "cube"))]
#![allow(clippy::print_stderr, clippy::unwrap_used)]

mod convolutions;
mod losses;
mod lstm;
mod maps;
mod products;
mod updates;

use std::sync::{Mutex, Once, PoisonError};

use backend::{
    Arithmetic, Backend, NAME, Selected,
    device::{Device, open},
    overrides,
    random::{Purpose, Random},
    set_arithmetic,
};
use burn::{
    backend::Flex,
    tensor::{Int, Tensor, TensorData, TensorMetadata, TensorPrimitive, ops::FloatTensor},
};

/// The device of the backend that is tested.
fn device() -> Device {
    device_of::<Selected>()
}

/// The default device, set up as for a program: with one stream for all threads.
fn device_of<B: Backend>() -> B::Device {
    static OPENED: Once = Once::new();
    OPENED.call_once(|| drop(open().unwrap()));
    Default::default()
}

/// Says what the device lacks for a test. The emulated CUDA device, on which all tests run under
/// `REQUIRE_ALL=1`, lacks nothing.
fn skip(lacking: &str) {
    let required = std::env::var_os("REQUIRE_ALL").is_some_and(|value| value == "1");
    assert!(!(required && NAME == "cuda"), "the device has no {lacking}");
    eprintln!("skipped: the device has no {lacking}");
}

fn primitive<B: Backend, const D: usize>(tensor: Tensor<B, D>) -> FloatTensor<B> {
    tensor.into_primitive().tensor()
}

/// The numbers in the order of the shape.
fn numbers<B: Backend>(primitive: FloatTensor<B>) -> Vec<f32> {
    let count = primitive.shape().num_elements();
    let flat = B::float_reshape(primitive, [count].into());
    let flat = Tensor::<B, 1>::from_primitive(TensorPrimitive::Float(flat));
    flat.into_data().to_vec().unwrap()
}

/// Normal values that depend on `stream` alone.
fn normal<B: Backend, const D: usize>(shape: [usize; D], stream: u64) -> Tensor<B, D> {
    let random = Random::new(5, Purpose::Synthetic, stream);
    let count = shape.iter().product::<usize>() as u64;
    let values: Vec<f32> = (0..count).map(|index| random.normal(index)).collect();
    Tensor::from_data(TensorData::new(values, shape), &device_of::<B>())
}

/// Indices below `end`, with repetitions.
fn indices<B: Backend, const D: usize>(shape: [usize; D], end: usize) -> Tensor<B, D, Int> {
    let random = Random::new(5, Purpose::Synthetic, 0);
    let count = shape.iter().product::<usize>() as u64;
    // Squared, so that small ones are frequent.
    let index = |at| (f64::from(random.uniform(at)).powi(2) * end as f64) as i32;
    let values: Vec<i32> = (0..count).map(index).collect();
    Tensor::from_data(TensorData::new(values, shape), &device_of::<B>())
}

/// Fails unless both agree to `relative` of each value, or of one where values are smaller.
#[track_caller]
fn assert_close(
    what: &str,
    ours: FloatTensor<Selected>,
    reference: FloatTensor<Flex>,
    relative: f32,
) {
    assert_eq!(ours.shape(), reference.shape(), "{what}");
    let (ours, reference) = (numbers::<Selected>(ours), numbers::<Flex>(reference));
    for (index, (ours, reference)) in ours.iter().zip(&reference).enumerate() {
        let difference = (ours - reference).abs();
        assert!(
            difference <= relative * reference.abs().max(1.0),
            "{what}, element {index}: {ours} instead of {reference}"
        );
    }
}

/// How far what products of matrices are part of may be off: CUDA's tensor cores round their operands
/// to TF32, which has 11 bits, and up to 800 products are added here.
fn of_products(relative: f32) -> f32 {
    if NAME == "cuda" { relative.max(1e-2) } else { relative }
}

/// Tests in exact arithmetic and then in the usual one, with how far products may be off in it.
fn in_either_arithmetic(test: impl Fn(Arithmetic, f32)) {
    static HELD: Mutex<()> = Mutex::new(());
    let _held = HELD.lock().unwrap_or_else(PoisonError::into_inner);
    for (arithmetic, relative) in [(Arithmetic::Exact, 1e-4), (Arithmetic::Fast, of_products(1e-4))]
    {
        set_arithmetic(arithmetic);
        test(arithmetic, relative);
    }
}

/// Fails unless `work` is done by kernels alone.
#[track_caller]
fn by_kernels<T>(work: impl FnOnce() -> T) -> T {
    let before = overrides::counts();
    let result = work();
    let after = overrides::counts();
    assert_eq!(after.composed, before.composed, "a default body was taken");
    assert!(after.taken > before.taken);
    result
}
