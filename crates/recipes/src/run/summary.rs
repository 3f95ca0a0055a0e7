//! The result of a run: `summary.json`.

use std::{iter, path::Path};

use serde::{Deserialize, Deserializer, Serialize};
use training::{Best, EndStatus, Measured, Metrics, Tuning};

use crate::{
    Failure,
    run::{directory::SUMMARY, record::json_of},
};

/// The result of a run; written last, so that a run directory with one is finished.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Summary {
    /// The recipe's name.
    pub recipe: String,
    /// `finished` or `stopped_early`.
    pub status: EndStatus,
    /// The backend that trained.
    pub backend: String,
    /// The device that trained.
    pub device: String,
    /// The processes that trained together, each on a device of its own.
    pub ranks: usize,
    /// The random seed.
    pub seed: u64,
    /// Epochs begun.
    pub epochs: usize,
    /// Updates made.
    pub steps: u64,
    /// Samples seen, repetitions counted.
    pub samples: u64,
    /// Numbers in the network.
    pub parameters: usize,
    /// Those that were trained.
    pub trainable_parameters: usize,
    /// Seconds from the start to this summary.
    pub seconds: f64,
    /// Seconds of training steps, waiting for data and logging included.
    pub seconds_training: f64,
    /// The part spent tuning on a GPU.
    #[serde(default, skip_serializing_if = "Tuning::is_none")]
    pub tuning: Tuning,
    /// Seconds for reading the data and validating once, if known: the cost of evaluating the model
    /// again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seconds_measuring: Option<f64>,
    /// Measured on the training split, while it was trained on.
    #[serde(deserialize_with = "measured")]
    pub train: Metrics,
    /// Measured on the validation split.
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        deserialize_with = "measured_if_held_out"
    )]
    pub validation: Option<Metrics>,
    /// Measured on the test split.
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        deserialize_with = "measured_if_held_out"
    )]
    pub test: Option<Metrics>,
    /// The best epoch.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub best: Option<Best>,
    /// The epoch whose weights were kept and measured, if it is not the last one, to which the training
    /// loss belongs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kept_epoch: Option<usize>,
    /// Records that could not be used.
    pub skipped_records: usize,
}

impl Summary {
    /// The most meaningful metrics, on what was held out, and their split.
    pub(crate) fn held_out(&self) -> Option<(&'static str, &Metrics)> {
        let test = self.test.as_ref().map(|metrics| ("test", metrics));
        test.or(self.validation.as_ref().map(|metrics| ("validation", metrics)))
    }

    /// The metrics of each split that was measured, in display order.
    pub(crate) fn splits(&self) -> impl Iterator<Item = (&'static str, &Metrics)> {
        let held_out = [("validation", &self.validation), ("test", &self.test)];
        let held_out = held_out.into_iter();
        let held_out = held_out.filter_map(|(split, metrics)| Some((split, metrics.as_ref()?)));
        iter::once(("train", &self.train)).chain(held_out)
    }

    /// While it trained, and did not tune.
    pub(crate) fn samples_per_second(&self) -> f64 {
        let (samples, seconds) = self.tuning.left_out_of(self.samples, self.seconds_training);
        samples as f64 / seconds.max(1e-9)
    }
}

/// The summary of a finished run of `cnn` for tests, with these values in place of its own.
#[cfg(test)]
pub(crate) fn example(values: &serde_json::Value) -> Summary {
    let mut summary = serde_json::json!({
        "recipe": "cnn", "status": "finished", "backend": "cpu", "device": "a CPU", "ranks": 1,
        "seed": 0, "epochs": 2, "steps": 40, "samples": 1000, "parameters": 9,
        "trainable_parameters": 9, "seconds": 12.0, "seconds_training": 10.0,
        "train": {"loss": 0.25}, "skipped_records": 0,
    });
    for (key, value) in values.as_object().unwrap() {
        summary[key] = value.clone();
    }
    serde_json::from_value(summary).unwrap()
}

/// Metrics, of which those that are not finite were written as null.
pub(crate) fn measured<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Metrics, D::Error> {
    Measured::deserialize(deserializer).map(Metrics::from)
}

fn measured_if_held_out<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<Metrics>, D::Error> {
    Ok(Option::<Measured>::deserialize(deserializer)?.map(Metrics::from))
}

/// What the run came to, if it is finished.
///
/// # Errors
///
/// Where the file is there but cannot be read.
pub(crate) fn of_finished(directory: &Path) -> Result<Option<Summary>, Failure> {
    let help = "remove the file, and the run resumes from its last checkpoint";
    json_of(&directory.join(SUMMARY), help)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn a_run_that_tuned_is_as_fast_as_its_other_updates() {
        let tuning = serde_json::json!({"samples": 100, "seconds": 9.0});
        assert_eq!(example(&serde_json::json!({})).samples_per_second(), 100.0);
        let tuned = example(&serde_json::json!({"tuning": tuning}));
        assert_eq!(tuned.samples_per_second(), 900.0);
    }

    #[test]
    fn what_is_not_finite_is_written_and_read_again() {
        let metrics = |loss| Metrics::from([("loss".to_owned(), loss), ("rmse".to_owned(), 2.0)]);
        let summary = Summary {
            train: metrics(f64::NAN),
            validation: Some(metrics(f64::NEG_INFINITY)),
            ..example(&serde_json::json!({}))
        };
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join(SUMMARY), serde_json::to_vec(&summary).unwrap()).unwrap();
        let read = of_finished(folder.path()).unwrap().unwrap();
        let validation = read.validation.unwrap();
        assert!(read.train["loss"].is_nan() && validation["loss"].is_nan());
        assert_eq!((validation["rmse"], read.test), (2.0, None));
    }
}
