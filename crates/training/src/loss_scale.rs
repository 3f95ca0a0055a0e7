//! Loss scaling, without which small gradients are lost in f16 (Micikevicius et al., 2018).
//!
//! The loss is multiplied before the backward pass and the gradients are divided after it. As in PyTorch's
//! `GradScaler`, whose constants these are, the scale is halved if a gradient is not finite, and that update
//! is skipped; it is doubled after many applied updates. All of it is computed on the device, without waiting
//! for it, so the host counts skipped updates too: at the start of a run, Adam's first updates after them are
//! smaller, down to half.

use backend::Backend;
use burn::tensor::{ElementConversion, Tensor};

const FIRST: f64 = 65536.0;
/// Below 1, since an unscaled gradient may exceed f16's largest number, 65504; at this scale gradients up to
/// 2^32 fit. If one still overflows, training has diverged: PyTorch, which has no such limit, would skip
/// updates without end.
const SMALLEST: f64 = 1.0 / 65536.0;
/// Far below f32's largest number; reached only where gradients stay zero for long.
const LARGEST: f64 = (1_u128 << 100) as f64;
const UPDATES_BEFORE_GROWTH: f64 = 2000.0;

/// The factor of the losses, and the number of updates since it changed: `[1]` each.
pub(crate) struct LossScale<B: Backend> {
    pub(crate) factor: Tensor<B, 1>,
    updates: Tensor<B, 1>,
}

impl<B: Backend> LossScale<B> {
    pub(crate) fn new(device: &B::Device) -> Self {
        Self::restored([FIRST, 0.0], device)
    }

    /// The current values, for [`restored`](Self::restored); waits for the device.
    pub(crate) fn values(&self) -> [f64; 2] {
        [self.read_factor(), self.updates.clone().into_scalar().elem()]
    }

    /// The current factor; waits for the device.
    pub(crate) fn read_factor(&self) -> f64 {
        self.factor.clone().into_scalar().elem()
    }

    pub(crate) fn restored(values: [f64; 2], device: &B::Device) -> Self {
        let [factor, updates] = values.map(|value| Tensor::from_floats([value as f32], device));
        Self { factor, updates }
    }

    /// What scaled gradients are multiplied by.
    pub(crate) fn inverse(&self) -> Tensor<B, 1> {
        self.factor.ones_like() / self.factor.clone()
    }

    /// Notes whether the gradients of an update overflowed, `[1]`, zero if not; returns whether
    /// training has diverged, in the same form.
    pub(crate) fn note(&mut self, overflowed: Tensor<B, 1>) -> Tensor<B, 1> {
        let lost = overflowed.clone() * self.factor.clone().lower_equal_elem(SMALLEST).float();
        let updates = (self.updates.clone() + 1.0) * (overflowed.ones_like() - overflowed.clone());
        let grows = updates.clone().greater_equal_elem(UPDATES_BEFORE_GROWTH).float();
        self.updates = updates * (grows.ones_like() - grows.clone());
        // One of 1/2, 1 and 2.
        let change = overflowed * -0.5 + grows + 1.0;
        self.factor = (self.factor.clone() * change).clamp(SMALLEST, LARGEST);
        lost
    }
}

#[cfg(test)]
mod tests {
    use backend::{Selected, device::Device};

    use super::*;

    #[test]
    fn it_halves_at_once_and_doubles_after_many_updates() {
        let device = Device::default();
        let scalar = |value: f32| Tensor::<Selected, 1>::from_floats([value], &device);
        let mut scale = LossScale::new(&device);
        let mut note = |overflowed: f32| {
            let lost: f32 = scale.note(scalar(overflowed)).into_scalar();
            (scale.values(), lost != 0.0)
        };
        assert_eq!(note(0.0), ([65536.0, 1.0], false));
        assert_eq!(note(1.0), ([32768.0, 0.0], false));
        for update in 1..2000 {
            assert_eq!(note(0.0), ([32768.0, f64::from(update)], false));
        }
        assert_eq!(note(0.0), ([65536.0, 0.0], false));
        for power in (-16..16).rev() {
            assert_eq!(note(1.0), ([f64::from(power).exp2(), 0.0], false));
        }
        assert_eq!(note(1.0), ([SMALLEST, 0.0], true));
    }

    #[test]
    fn it_goes_on_from_its_values_and_stays_finite() {
        let device = Device::default();
        let fine = Tensor::<Selected, 1>::zeros([1], &device);
        for (factor, doubled) in [(8.0, 16.0), (LARGEST, LARGEST)] {
            let before = LossScale::<Selected>::restored([factor, 1999.0], &device);
            assert_eq!(before.values(), [factor, 1999.0]);
            let mut scale = LossScale::restored(before.values(), &device);
            scale.note(fine.clone());
            assert_eq!(scale.values(), [doubled, 0.0]);
        }
    }
}
