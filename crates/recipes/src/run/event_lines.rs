//! The lines of `events.jsonl`, as a run writes them and as they are read back.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use training::{EndStatus, Event};

use crate::run::time;

/// A line as a run writes it.
#[derive(Serialize)]
pub(crate) struct WrittenLine<'a> {
    time: String,
    #[serde(flatten)]
    event: &'a Event,
}

impl<'a> WrittenLine<'a> {
    /// Of what happens now.
    pub(crate) fn new(event: &'a Event) -> Self {
        Self { time: time::now(), event }
    }
}

/// What is read of a line.
#[derive(Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub(crate) enum Line {
    Start(Length),
    Resume {
        epochs: usize,
        steps: u64,
        step: u64,
    },
    Step(StepRecord),
    Epoch(EpochRecord),
    Sample(SampleRecord),
    Warning {
        message: String,
    },
    End(End),
    Checkpoint,
    #[serde(other)]
    Other,
}

/// How long a run is to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
pub(crate) struct Length {
    pub(crate) epochs: usize,
    pub(crate) steps: u64,
}

/// How training ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
pub(crate) struct End {
    pub(crate) status: EndStatus,
    pub(crate) step: u64,
}

/// An epoch that has ended. Numbers that are not finite are absent, as JSON has none.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
pub(crate) struct EpochRecord {
    pub(crate) epoch: usize,
    pub(crate) step: u64,
    pub(crate) train_loss: Option<f64>,
    pub(crate) train_accuracy: Option<f64>,
    #[serde(default)]
    pub(crate) validation: BTreeMap<String, Option<f64>>,
    /// Of training.
    pub(crate) seconds: f64,
    /// The share of `seconds` spent waiting for data.
    pub(crate) data_wait: f64,
    /// The share spent on the gradients of other processes, if there were any.
    pub(crate) communication_wait: Option<f64>,
    /// Shares of the rest, where they are known.
    pub(crate) forward: Option<f64>,
    pub(crate) backward: Option<f64>,
    pub(crate) update: Option<f64>,
    pub(crate) percent_of_peak: Option<f64>,
    pub(crate) memory_bytes: Option<f64>,
}

/// A log interval that has passed, or the rest of one at the end.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
pub(crate) struct StepRecord {
    pub(crate) step: u64,
    pub(crate) loss: Option<f64>,
    pub(crate) learning_rate: f64,
    pub(crate) gradient_norm: Option<f64>,
    pub(crate) samples_per_second: Option<f64>,
}

/// Text that a model generated at the end of an epoch.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
pub(crate) struct SampleRecord {
    pub(crate) epoch: usize,
    pub(crate) step: u64,
    pub(crate) prompt: String,
    pub(crate) text: String,
}

impl EpochRecord {
    /// A validation metric.
    pub(crate) fn validation(&self, name: &str) -> Option<f64> {
        self.validation.get(name).copied().flatten()
    }
}

#[cfg(test)]
mod tests {
    use training::{EpochReport, PhaseShares, StepReport, Throughput};

    use super::*;

    /// What is read of the line that a run writes.
    fn read_back(event: &Event) -> Line {
        let line = serde_json::to_string(&WrittenLine::new(event)).unwrap();
        serde_json::from_str(&line).unwrap()
    }

    const THROUGHPUT: Throughput = Throughput {
        samples_per_second: 90.0,
        data_wait: 0.1,
        communication_wait: Some(0.2),
        computing: Some(PhaseShares { forward: 0.3, backward: 0.4, update: 0.5 }),
        percent_of_peak: Some(60.0),
        memory_bytes: Some(1 << 30),
    };

    /// Scripts and runs that exist rely on the names.
    #[test]
    fn lines_keep_their_form() {
        let line = |text: &str| serde_json::from_str::<Line>(text).unwrap();
        let start =
            line(r#"{"time":"","kind":"start","epochs":2,"steps":4,"trainable_parameters":7}"#);
        assert!(matches!(start, Line::Start(Length { epochs: 2, steps: 4 })));
        let resume = line(r#"{"kind":"resume","epochs":3,"steps":6,"epoch":1,"step":2}"#);
        assert!(matches!(resume, Line::Resume { epochs: 3, steps: 6, step: 2 }));
        let step = r#"{"kind":"step","epoch":1,"step":2,"loss":0.5,"learning_rate":0.1,
            "samples_per_second":9,"data_wait":0}"#;
        let Line::Step(step) = line(step) else { panic!("a step") };
        assert_eq!((step.step, step.loss, step.gradient_norm), (2, Some(0.5), None));
        let epoch = r#"{"kind":"epoch","epoch":1,"step":2,"train_loss":null,"last_loss":0.4,
            "validation":{"loss":0.6},"learning_rate":0.1,"seconds":1.5,"samples_per_second":9,
            "data_wait":0.1}"#;
        let Line::Epoch(epoch) = line(epoch) else { panic!("an epoch") };
        assert_eq!((epoch.train_loss, epoch.validation("loss")), (None, Some(0.6)));
        assert_eq!((epoch.seconds, epoch.data_wait, epoch.forward), (1.5, 0.1, None));
        let sample = line(r#"{"kind":"sample","epoch":1,"step":2,"prompt":"The","text":" GPU"}"#);
        assert!(matches!(sample, Line::Sample(SampleRecord { epoch: 1, .. })));
        let end = line(r#"{"kind":"end","status":"interrupted","epoch":2,"step":4}"#);
        assert!(matches!(end, Line::End(End { status: EndStatus::Interrupted, step: 4 })));
        assert!(matches!(line(r#"{"kind":"checkpoint","epoch":1,"step":2}"#), Line::Checkpoint));
        assert!(matches!(line(r#"{"kind":"warning","message":"odd"}"#), Line::Warning { .. }));
    }

    #[test]
    fn all_that_is_read_of_a_step_was_written() {
        let step = StepReport {
            epoch: 1,
            step: 2,
            loss: 0.7,
            accuracy: Some(0.8),
            learning_rate: 1e-3,
            gradient_norm: 1.5,
            loss_scale: Some(1024.0),
            throughput: THROUGHPUT,
        };
        let Line::Step(read) = read_back(&Event::Step(step)) else { panic!("a step") };
        let expected = StepRecord {
            step: 2,
            loss: Some(0.7),
            learning_rate: 1e-3,
            gradient_norm: Some(1.5),
            samples_per_second: Some(90.0),
        };
        assert_eq!(read, expected);
    }

    #[test]
    fn all_that_is_read_of_an_epoch_was_written() {
        let epoch = EpochReport {
            epoch: 1,
            step: 2,
            train_loss: 0.7,
            train_accuracy: Some(0.8),
            last_loss: 0.6,
            validation: Some([("accuracy".to_owned(), 0.9)].into()),
            learning_rate: 1e-3,
            seconds: 4.5,
            validation_seconds: Some(0.5),
            throughput: THROUGHPUT,
        };
        let Line::Epoch(read) = read_back(&Event::Epoch(epoch)) else { panic!("an epoch") };
        let expected = EpochRecord {
            epoch: 1,
            step: 2,
            train_loss: Some(0.7),
            train_accuracy: Some(0.8),
            validation: [("accuracy".to_owned(), Some(0.9))].into(),
            seconds: 4.5,
            data_wait: 0.1,
            communication_wait: Some(0.2),
            forward: Some(0.3),
            backward: Some(0.4),
            update: Some(0.5),
            percent_of_peak: Some(60.0),
            memory_bytes: Some((1_u64 << 30) as f64),
        };
        assert_eq!(read, expected);
    }
}
