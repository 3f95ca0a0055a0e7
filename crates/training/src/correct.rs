//! The count of correct predictions, from which the training accuracy is computed.

use backend::{Backend, functional::correct_count};
use burn::tensor::{ElementConversion, Int, Tensor};
use serde::{Deserialize, Serialize};

/// How many predictions were correct, of those that were counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Correct {
    pub(crate) count: f64,
    pub(crate) of: u64,
}

impl std::ops::AddAssign for Correct {
    fn add_assign(&mut self, other: Self) {
        self.count += other.count;
        self.of += other.of;
    }
}

/// The same, counted on the device.
pub(crate) struct CorrectOnDevice<B: Backend> {
    count: Tensor<B, 1>,
    of: u64,
}

impl<B: Backend> CorrectOnDevice<B> {
    pub(crate) fn new(Correct { count, of }: Correct, device: &B::Device) -> Self {
        Self { count: Tensor::from_floats([count as f32], device), of }
    }

    /// Counts the predictions of a batch.
    ///
    /// - `logits`: `[batch, classes]`
    /// - `targets`: `[batch]`
    pub(crate) fn add(&mut self, logits: Tensor<B, 2>, targets: Tensor<B, 1, Int>) {
        let [batch] = targets.dims();
        self.count = correct_count(logits, targets, self.count.clone());
        self.of += batch as u64;
    }

    /// Whether the count of so many more might not be exact: beyond 2^24 an f32 skips whole numbers.
    pub(crate) fn may_be_inexact(&self, more: usize) -> bool {
        self.of + more as u64 > 1 << 24
    }

    /// The count, `[1]`, and of how many predictions.
    pub(crate) fn into_parts(self) -> (Tensor<B, 1>, u64) {
        (self.count, self.of)
    }

    /// What was counted so far; waits for the device.
    pub(crate) fn read(&self) -> Correct {
        match self.of {
            0 => Correct::default(),
            of => Correct { count: self.count.clone().into_scalar().elem(), of },
        }
    }

    /// What was counted so far; begins anew.
    pub(crate) fn take(&mut self) -> Self {
        let none = Self { count: self.count.zeros_like(), of: 0 };
        std::mem::replace(self, none)
    }
}

#[cfg(test)]
mod tests {
    use backend::{Selected, device::Device};

    use super::*;

    #[test]
    fn a_count_is_read_before_it_is_beyond_f32() {
        let device = Device::default();
        let most = (1 << 24) - 2;
        let before = Correct { count: most as f64, of: most };
        let mut correct = CorrectOnDevice::<Selected>::new(before, &device);
        assert!(!correct.may_be_inexact(2) && correct.may_be_inexact(3));
        let (logits, labels) =
            (Tensor::from_floats([[1.0], [1.0]], &device), Tensor::ones([2], &device));
        correct.add(logits, labels);
        assert_eq!(correct.read(), Correct { count: f64::from(1 << 24), of: 1 << 24 });
    }
}
