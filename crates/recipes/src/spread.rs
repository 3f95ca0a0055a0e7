//! A value over several runs.

use serde::Serialize;

use crate::numbers::{grouped, rounded};

/// The mean of a value over runs.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub(crate) struct Spread {
    pub(crate) mean: f64,
    /// The sample standard deviation, n - 1 in its denominator; none of a single run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) deviation: Option<f64>,
}

impl Spread {
    /// - `values`: at least one
    pub(crate) fn of(values: &[f64]) -> Self {
        let count = values.len() as f64;
        let mean = values.iter().sum::<f64>() / count;
        let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
        let deviation = (values.len() > 1).then(|| (squares / (count - 1.0)).sqrt());
        Self { mean, deviation }
    }

    fn with(self, text: impl Fn(f64) -> String) -> String {
        match self.deviation {
            Some(deviation) if deviation > 0.0 => {
                format!("{} ± {}", text(self.mean), text(deviation))
            }
            _ => text(self.mean),
        }
    }

    /// As a metric.
    pub(crate) fn told(self) -> String {
        self.with(rounded)
    }

    /// With one decimal.
    pub(crate) fn short(self) -> String {
        self.with(|value| format!("{value:.1}"))
    }

    /// As a whole number.
    pub(crate) fn count(self) -> String {
        self.with(grouped)
    }
}
