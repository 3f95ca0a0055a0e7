//! How fast a device is at best, measured: what speeds are given as percentages of.

use std::time::{Duration, Instant};

use burn::tensor::{Tensor, TensorData};
use serde::{Deserialize, Serialize};

use crate::Backend;

/// The best speeds that a device was seen to reach.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Peaks {
    /// Multiply-adds in a product of large square matrices of f32. Each is two operations.
    pub multiply_adds_per_second: f64,
    /// Bytes read and bytes written, together, while a large tensor is copied by adding to it.
    pub copy_bytes_per_second: f64,
    /// Bytes that reach the device from the host.
    pub upload_bytes_per_second: f64,
    /// Bytes that reach the host from the device.
    pub download_bytes_per_second: f64,
}

/// Rows and columns of the matrices that are multiplied; which is best depends on the device.
const MATRIX_SIDES: [usize; 3] = [512, 1024, 2048];
/// Values of the tensor that is copied: 128 MiB, more than caches hold.
const VALUES: usize = 32 << 20;
/// How long each measurement is repeated; the fastest repetition counts.
const LONG_ENOUGH: Duration = Duration::from_millis(400);

impl Peaks {
    /// Measures a device, in about four seconds.
    pub fn measure<B: Backend>(device: &B::Device) -> Self {
        Self::with_sizes::<B>(&MATRIX_SIDES, VALUES, LONG_ENOUGH, device)
    }

    fn with_sizes<B: Backend>(
        sides: &[usize],
        values: usize,
        long_enough: Duration,
        device: &B::Device,
    ) -> Self {
        let fastest = |work: &mut dyn FnMut()| fastest::<B>(long_enough, device, work);
        let multiply_adds = sides.iter().map(|&side| {
            let matrix = Tensor::<B, 2>::full([side, side], 0.5, device);
            let seconds = fastest(&mut || drop(matrix.clone().matmul(matrix.clone())));
            (side as f64).powi(3) / seconds
        });
        let multiply_adds_per_second = multiply_adds.fold(0.0, f64::max);

        let bytes = (values * size_of::<f32>()) as f64;
        let tensor = Tensor::<B, 1>::full([values], 0.5, device);
        let copy = fastest(&mut || drop(tensor.clone() + 1.0));
        let download = fastest(&mut || drop(tensor.clone().into_data()));
        // The host's copy is part of an upload, as it is of a batch that a loader fills.
        let host = vec![0.5f32; values];
        let upload = fastest(&mut || {
            drop(Tensor::<B, 1>::from_data(TensorData::new(host.clone(), [values]), device));
        });
        Self {
            multiply_adds_per_second,
            copy_bytes_per_second: 2.0 * bytes / copy,
            upload_bytes_per_second: bytes / upload,
            download_bytes_per_second: bytes / download,
        }
    }
}

/// Seconds of the fastest repetition, after two to warm up.
fn fastest<B: Backend>(long_enough: Duration, device: &B::Device, work: &mut dyn FnMut()) -> f64 {
    let mut timed = || {
        let start = Instant::now();
        work();
        // A device that fails here will fail where the error can be told, in training.
        let _ = B::sync(device);
        start.elapsed().as_secs_f64().max(1e-9)
    };
    timed();
    timed();
    let start = Instant::now();
    let mut fastest = timed();
    while start.elapsed() < long_enough {
        fastest = fastest.min(timed());
    }
    fastest
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Selected, device::Device};

    #[test]
    fn every_speed_is_positive_and_a_larger_product_takes_longer() {
        let device = Device::default();
        let tenth = Duration::from_millis(5);
        let peaks = Peaks::with_sizes::<Selected>(&[64], 1 << 12, tenth, &device);
        for speed in [
            peaks.multiply_adds_per_second,
            peaks.copy_bytes_per_second,
            peaks.upload_bytes_per_second,
            peaks.download_bytes_per_second,
        ] {
            assert!(speed.is_finite() && speed > 1e3, "{peaks:?}");
        }
        let time = |side: usize| {
            let matrix = Tensor::<Selected, 2>::full([side, side], 0.5, &device);
            fastest::<Selected>(tenth, &device, &mut || {
                drop(matrix.clone().matmul(matrix.clone()));
            })
        };
        assert!(time(256) > 4.0 * time(64), "64 times the work in less than 4 times the time");
    }
}
