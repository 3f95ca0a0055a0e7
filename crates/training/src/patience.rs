//! The lowest validation error so far, and how long ago it was: the criterion of plateaus and of early
//! stopping.

use serde::{Deserialize, Serialize};

use crate::lossless;

/// The best value so far and the epochs since.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Patience {
    /// Infinite before the first.
    #[serde(with = "lossless")]
    best: f64,
    epochs_since: usize,
}

impl Default for Patience {
    fn default() -> Self {
        Self { best: f64::INFINITY, epochs_since: 0 }
    }
}

impl Patience {
    /// Notes the value of an epoch; it is an improvement if it is below `bar` of the best.
    pub(crate) fn note(&mut self, value: f64, bar: impl FnOnce(f64) -> f64) {
        // NaN is below nothing.
        if value < bar(self.best) {
            self.best = value;
            self.epochs_since = 0;
        } else {
            self.epochs_since += 1;
        }
    }

    /// Epochs since the last improvement.
    pub(crate) fn epochs_since(&self) -> usize {
        self.epochs_since
    }

    /// Counts from 0 again, with the best value kept.
    pub(crate) fn begin_again(&mut self) {
        self.epochs_since = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn epochs_count_until_the_bar_is_passed() {
        let mut patience = Patience::default();
        let mut after = |value: f64| {
            patience.note(value, |best| best - 0.1);
            patience.epochs_since()
        };
        assert_eq!([1.0, 0.95, f64::NAN, 0.91, 0.8, 0.8].map(&mut after), [0, 1, 2, 3, 0, 1]);
    }

    #[test]
    fn a_first_value_that_is_not_a_number_is_not_the_best() {
        let mut patience = Patience::default();
        patience.note(f64::NAN, |best| best);
        patience.note(3.0, |best| best);
        assert_eq!((patience.best, patience.epochs_since), (3.0, 0));
    }
}
