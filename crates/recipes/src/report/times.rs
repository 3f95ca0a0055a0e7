//! Where the time of a run went.

use crate::{console::duration, record::Record};

/// A part of the time.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Spent {
    pub(super) name: &'static str,
    /// `2 min 5 s`
    pub(super) shown: String,
    /// In 0 to 100.
    pub(super) percent: f64,
}

impl Spent {
    /// `percent` for a style sheet.
    pub(super) fn width(&self) -> String {
        format!("{:.2}", self.percent)
    }
}

/// The parts of the time, as far as it is known: of a run that is not finished only the training of
/// whole epochs.
pub(super) fn times(record: &Record) -> Vec<Spent> {
    let of_epochs: f64 = record.epochs.iter().map(|epoch| epoch.seconds).sum();
    let waited: f64 = record.epochs.iter().map(|epoch| epoch.seconds * epoch.data_wait).sum();
    let (training, all) = match &record.summary {
        Some(summary) => (summary.seconds_training, summary.seconds.max(summary.seconds_training)),
        None => (of_epochs, of_epochs),
    };
    if all <= 0.0 {
        return Vec::new();
    }
    let parts = [
        ("training", (training - waited).max(0.0)),
        ("waiting for data", waited),
        ("preparation, validation, checkpoints", all - training),
    ];
    let spent = |(name, seconds): (&'static str, f64)| Spent {
        name,
        shown: duration(seconds),
        percent: 100.0 * seconds / all,
    };
    let known = if record.summary.is_some() { 3 } else { 2 };
    parts.into_iter().take(known).map(spent).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::EpochRecord;

    #[test]
    fn waiting_is_told_apart_from_training() {
        let epoch = EpochRecord { seconds: 50.0, data_wait: 0.1, ..EpochRecord::default() };
        let mut record = Record { epochs: vec![epoch; 2], ..Record::default() };
        let parts = |record: &Record| -> Vec<(String, f64)> {
            times(record).into_iter().map(|spent| (spent.shown, spent.percent)).collect()
        };
        assert_eq!(parts(&record), [("1 min 30 s".to_owned(), 90.0), ("10 s".to_owned(), 10.0)]);

        let summary = serde_json::json!({
            "recipe": "cnn", "status": "finished", "backend": "cpu", "device": "a CPU", "seed": 0,
            "epochs": 2, "steps": 40, "samples": 100, "parameters": 9, "trainable_parameters": 9,
            "seconds": 125.0, "seconds_training": 100.0, "train": {}, "skipped_records": 0,
        });
        record.summary = serde_json::from_value(summary).unwrap();
        let percents: Vec<f64> = parts(&record).into_iter().map(|part| part.1).collect();
        assert_eq!(percents, [72.0, 8.0, 20.0]);
        assert_eq!(times(&Record::default()), []);
    }
}
