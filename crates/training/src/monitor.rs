//! The metric of validation that tells a better epoch from a worse one.

/// The metric by which epochs are compared: to keep the best one, to stop without a better one, and to
/// lower the learning rate on a plateau.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Monitor {
    /// Its name among those that validation measures.
    pub metric: String,
    /// Whether a higher value is a better one.
    pub higher_is_better: bool,
}

impl Monitor {
    /// The mean loss; lower is better.
    pub fn loss() -> Self {
        Self::lower("loss")
    }

    /// An error; lower is better.
    pub fn lower(metric: impl Into<String>) -> Self {
        Self { metric: metric.into(), higher_is_better: false }
    }

    /// A score, such as `accuracy`; higher is better.
    pub fn higher(metric: impl Into<String>) -> Self {
        Self { metric: metric.into(), higher_is_better: true }
    }

    /// A value as an error; lower is better.
    pub(crate) fn error(&self, value: f64) -> f64 {
        if self.higher_is_better { -value } else { value }
    }
}
