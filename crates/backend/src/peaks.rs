//! Measures the peak speeds of a device, of which other speeds are reported as percentages.

use std::time::{Duration, Instant};

use burn::tensor::{DType, Tensor, TensorData};
use serde::{Deserialize, Serialize};

use crate::{Arithmetic, Backend, NAME, Precision, functional::product};

/// The best speeds measured on a device.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Peaks {
    /// Multiply-adds in a product of large square matrices of f32, as the backend multiplies them,
    /// on CUDA by TF32. Each is two operations.
    pub multiply_adds_per_second: f64,
    /// The same in bf16, on GPUs that have it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bf16_multiply_adds_per_second: Option<f64>,
    /// Bytes read and bytes written, together, while a large tensor is copied by adding to it.
    pub copy_bytes_per_second: f64,
    /// Bytes that reach the device from the host.
    pub upload_bytes_per_second: f64,
    /// Bytes that reach the host from the device.
    pub download_bytes_per_second: f64,
}

/// How a device is measured.
#[derive(Clone, Copy, Debug)]
struct Method {
    /// Rows and columns of the matrices that are multiplied; which is best depends on the device.
    sides: &'static [usize],
    /// Values of the smallest and of the largest tensor that is copied.
    values: [usize; 2],
    /// The least time between two waits, so that launching and waiting do not count.
    wait: Duration,
    /// How long each measurement is repeated; the fastest repetition counts.
    long_enough: Duration,
}

/// 128 MiB are more than caches hold. A processor computes each operation at once.
const PROCESSOR: Method = Method {
    sides: &[512, 1024, 2048],
    values: [32 << 20; 2],
    wait: Duration::ZERO,
    long_enough: Duration::from_millis(400),
};
/// A large GPU copies 128 MiB in less time than a launch takes.
const GPU: Method = Method {
    sides: &[1024, 2048, 4096, 8192],
    values: [32 << 20, 256 << 20],
    wait: Duration::from_millis(10),
    ..PROCESSOR
};
/// The most products per wait.
const MOST_PRODUCTS: usize = 1 << 12;

impl Peaks {
    /// Multiply-adds in a second in this precision and arithmetic, the most that training can reach; none
    /// where they were not measured.
    pub fn multiply_adds_in(&self, precision: Precision, arithmetic: Arithmetic) -> Option<f64> {
        self.reached(precision, arithmetic, NAME)
    }

    /// - `backend`: the one that was measured
    fn reached(&self, precision: Precision, arithmetic: Arithmetic, backend: &str) -> Option<f64> {
        match (precision, arithmetic) {
            // What was measured there is the speed of TF32.
            (Precision::F32, Arithmetic::Exact) if backend == "cuda" => None,
            (Precision::F32, _) => Some(self.multiply_adds_per_second),
            (Precision::Bf16, _) => self.bf16_multiply_adds_per_second,
            (Precision::F16, _) => None,
        }
    }

    /// The faster of each speed here and there: a device that is busy while it is measured is slower.
    pub fn or_faster(self, other: Self) -> Self {
        let [bf16, other_bf16] = [self, other].map(|peaks| peaks.bf16_multiply_adds_per_second);
        Self {
            multiply_adds_per_second: self
                .multiply_adds_per_second
                .max(other.multiply_adds_per_second),
            bf16_multiply_adds_per_second: bf16.into_iter().chain(other_bf16).reduce(f64::max),
            copy_bytes_per_second: self.copy_bytes_per_second.max(other.copy_bytes_per_second),
            upload_bytes_per_second: self
                .upload_bytes_per_second
                .max(other.upload_bytes_per_second),
            download_bytes_per_second: self
                .download_bytes_per_second
                .max(other.download_bytes_per_second),
        }
    }

    /// Measures a device, which takes some seconds.
    pub fn measure<B: Backend>(device: &B::Device) -> Self {
        Self::by::<B>(if B::IS_SYNCHRONOUS { PROCESSOR } else { GPU }, device)
    }

    fn by<B: Backend>(method: Method, device: &B::Device) -> Self {
        let Method { values: [fewest, most], wait, long_enough, .. } = method;
        let bytes = |values: usize| (values * size_of::<f32>()) as f64;
        let tensor = |values: usize| Tensor::<B, 1>::full([values], 0.5, device);

        let mut copy = 0.0f64;
        let mut values = fewest;
        loop {
            let from = tensor(values);
            let seconds = fastest::<B, _>(long_enough, device, &mut || from.clone() + 1.0);
            copy = copy.max(2.0 * bytes(values) / seconds);
            if values >= most || seconds >= wait.as_secs_f64() {
                break;
            }
            values *= 2;
        }
        let from = tensor(fewest);
        let download = fastest::<B, _>(long_enough, device, &mut || from.clone().into_data());
        drop(from);
        // The copy on the host is part of an upload, as with a batch that a loader fills.
        let host = vec![0.5f32; fewest];
        let upload = fastest::<B, _>(long_enough, device, &mut || {
            Tensor::<B, 1>::from_data(TensorData::new(host.clone(), [fewest]), device)
        });
        let has_bf16 = !B::IS_SYNCHRONOUS && Precision::Bf16.is_supported::<B>(device);
        Self {
            multiply_adds_per_second: products::<B>(method, DType::F32, device),
            bf16_multiply_adds_per_second: has_bf16
                .then(|| products::<B>(method, DType::BF16, device)),
            copy_bytes_per_second: copy,
            upload_bytes_per_second: bytes(fewest) / upload,
            download_bytes_per_second: bytes(fewest) / download,
        }
    }
}

/// The most multiply-adds a second among products of matrices of these sides, smallest first; sides
/// are left out once a single product takes as long as a measurement.
fn products<B: Backend>(method: Method, dtype: DType, device: &B::Device) -> f64 {
    let Method { sides, wait, long_enough, .. } = method;
    let mut best = 0.0f64;
    for &side in sides {
        // Each product is a factor of the next one, so that all are computed and only two are kept;
        // rows sum to 1, so that values do not grow.
        let full = |value: f32| Tensor::<B, 2>::full([side, side], value, device).cast(dtype);
        let (weights, values) = (full(1.0 / side as f32), full(0.5));
        let chain = |count: usize| {
            (0..count).fold(values.clone(), |values, _| product(weights.clone(), values))
        };
        let mut count = 1;
        let one = fastest::<B, _>(Duration::ZERO, device, &mut || chain(1));
        let mut seconds = one;
        while seconds < wait.as_secs_f64() && count < MOST_PRODUCTS {
            count *= 2;
            seconds = fastest::<B, _>(Duration::ZERO, device, &mut || chain(count));
        }
        let seconds = fastest::<B, _>(long_enough, device, &mut || chain(count));
        best = best.max((side as f64).powi(3) * count as f64 / seconds);
        if one > long_enough.as_secs_f64() {
            break;
        }
    }
    best
}

/// Seconds of the fastest repetition, after two to warm up.
///
/// - `work`: returns its result, which is kept until the device has finished: a lazy backend need not
///   compute what is dropped before
fn fastest<B: Backend, T>(
    long_enough: Duration,
    device: &B::Device,
    work: &mut dyn FnMut() -> T,
) -> f64 {
    let mut timed = || {
        let start = Instant::now();
        let result = work();
        // A device that fails here will fail again in training, where the error is reported.
        let _ = B::sync(device);
        let seconds = start.elapsed().as_secs_f64().max(1e-9);
        drop(result);
        seconds
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
    fn every_speed_is_measured() {
        let method = Method {
            sides: &[64, 128],
            values: [1 << 12, 1 << 14],
            wait: Duration::from_millis(1),
            long_enough: Duration::from_millis(5),
        };
        let peaks = Peaks::by::<Selected>(method, &Device::default());
        for speed in [
            peaks.multiply_adds_per_second,
            peaks.copy_bytes_per_second,
            peaks.upload_bytes_per_second,
            peaks.download_bytes_per_second,
        ] {
            assert!(speed.is_finite() && speed > 1e3, "{peaks:?}");
        }
        let (fast, exact) = (Arithmetic::Fast, Arithmetic::Exact);
        let in_f32 = Some(peaks.multiply_adds_per_second);
        assert_eq!(peaks.multiply_adds_in(Precision::F32, fast), in_f32);
        for arithmetic in [fast, exact] {
            let in_bf16 = peaks.multiply_adds_in(Precision::Bf16, arithmetic);
            assert_eq!(in_bf16, peaks.bf16_multiply_adds_per_second);
        }
        // Only CUDA's tensor cores multiply f32 otherwise where it is to be exact.
        assert_eq!(peaks.reached(Precision::F32, exact, "cuda"), None);
        assert_eq!(peaks.reached(Precision::F32, exact, "cpu"), in_f32);
    }
}
