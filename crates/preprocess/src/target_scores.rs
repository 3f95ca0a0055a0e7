//! What a network learns of a value: its standard score, or that of its logarithm.

use serde::{Deserialize, Serialize};

/// Whether the network learns a value or its logarithm.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TargetScale {
    /// The value.
    #[default]
    Linear,
    /// Its natural logarithm, so that errors count in proportion to the value; scikit-learn's
    /// `TransformedTargetRegressor(func=np.log, inverse_func=np.exp)`.
    Log,
}

impl TargetScale {
    /// Whether it is the value itself.
    pub fn is_linear(&self) -> bool {
        *self == Self::Linear
    }

    /// What of a value is standardised; not a finite number where it has no logarithm.
    pub fn of(self, value: f64) -> f64 {
        match self {
            Self::Linear => value,
            Self::Log => value.ln(),
        }
    }
}

/// The standard scores of a regression's target, `(x - mean) / deviation`, where `x` is the value on its
/// scale.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct TargetScores {
    /// Mean of the training split.
    pub mean: f64,
    /// Its standard deviation (of the population), or 1 where all values are equal.
    pub deviation: f64,
    /// What has this mean: the values or their logarithms.
    #[serde(default, skip_serializing_if = "TargetScale::is_linear")]
    pub scale: TargetScale,
}

impl TargetScores {
    /// The score of a value; `None` if an f32 cannot hold it.
    ///
    /// It is not clamped: metrics against it would be wrong.
    pub fn score(&self, value: f64) -> Option<f32> {
        let score = ((self.scale.of(value) - self.mean) / self.deviation) as f32;
        score.is_finite().then_some(score)
    }

    /// The value with a score: finite if the score is.
    ///
    /// An f32 has too few digits for values that lie close together and far from 0.
    pub fn value(&self, score: f32) -> f64 {
        let scaled = f64::from(score) * self.deviation + self.mean;
        match self.scale {
            TargetScale::Linear => scaled,
            // NaN stays.
            TargetScale::Log if scaled > f64::MAX.ln() => f64::MAX,
            TargetScale::Log => scaled.exp(),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::f64::consts::LN_10;

    use super::*;

    fn scores(mean: f64, deviation: f64, scale: TargetScale) -> TargetScores {
        TargetScores { mean, deviation, scale }
    }

    #[test]
    fn a_score_is_undone() {
        let linear = scores(200_000.0, 50_000.0, TargetScale::Linear);
        assert_eq!(linear.score(275_000.0), Some(1.5));
        assert_eq!(linear.value(1.5), 275_000.0);
        let close = scores(1_700_000_000.0, 100.0, TargetScale::Linear);
        assert_eq!(close.value(0.25), 1_700_000_025.0);
    }

    #[test]
    fn a_score_that_no_f32_holds_is_none() {
        assert_eq!(scores(0.0, 0.1, TargetScale::Linear).score(1e30), Some(1e31));
        assert_eq!(scores(0.0, 1e-10, TargetScale::Linear).score(1e30), None);
    }

    #[test]
    fn the_logarithm_is_standardised() {
        let scores = scores(LN_10, LN_10, TargetScale::Log);
        assert_eq!(
            [1.0, 10.0, 1000.0].map(|value| scores.score(value)),
            [-1.0, 0.0, 2.0].map(Some)
        );
        assert!((scores.value(2.0) - 1000.0).abs() < 1e-9);
        assert!(scores.value(-1e9) == 0.0 && scores.value(1e9) == f64::MAX);
        assert!(scores.value(f32::NAN).is_nan());
        assert_eq!([0.0, -1.0].map(|value| scores.score(value)), [None; 2]);
    }

    #[test]
    fn a_linear_scale_is_not_written() {
        let json = |scale| serde_json::to_string(&scores(0.5, 2.0, scale)).unwrap();
        assert_eq!(json(TargetScale::Linear), r#"{"mean":0.5,"deviation":2.0}"#);
        assert_eq!(json(TargetScale::Log), r#"{"mean":0.5,"deviation":2.0,"scale":"log"}"#);
        let read: TargetScores = serde_json::from_str(r#"{"mean":0.5,"deviation":2.0}"#).unwrap();
        assert_eq!(read, scores(0.5, 2.0, TargetScale::Linear));
    }
}
