//! Where the time of a run went.

use crate::{
    numbers::duration,
    run::{event_lines::EpochRecord, record::Record, summary::Summary},
};

/// Reported however small it is.
const WAITING: &str = "waiting for data";
/// Smaller parts are left out.
const LEAST_PERCENT: f64 = 0.1;

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

/// The parts of the time, as far as known: of an unfinished run only the training of whole epochs.
pub(super) fn times(record: &Record) -> Vec<Spent> {
    let of_epochs: f64 = record.epochs.iter().map(|epoch| epoch.seconds).sum();
    let (training, tuning, all) = match &record.summary {
        Some(Summary { seconds_training, tuning, seconds, .. }) => {
            (*seconds_training, tuning.seconds, seconds.max(*seconds_training))
        }
        None => (of_epochs, 0.0, of_epochs),
    };
    if all <= 0.0 {
        return Vec::new();
    }
    let sum = |share: fn(&EpochRecord) -> Option<f64>| -> Option<f64> {
        // An epoch in which kernels were tuned alone knows none.
        let known = record.epochs.iter().filter_map(|epoch| Some(epoch.seconds * share(epoch)?));
        known.reduce(|sum, seconds| sum + seconds)
    };
    let parts = [
        ("forward", sum(|epoch| epoch.forward)),
        ("backward", sum(|epoch| epoch.backward)),
        ("update", sum(|epoch| epoch.update)),
        ("summing gradients over ranks", sum(|epoch| epoch.communication_wait)),
        (WAITING, sum(|epoch| Some(epoch.data_wait)).or(Some(0.0))),
    ];
    let mut parts: Vec<(&'static str, f64)> =
        parts.into_iter().filter_map(|(name, seconds)| Some((name, seconds?))).collect();
    let told: f64 = parts.iter().map(|(_, seconds)| seconds).sum();
    // Where a device computes later than it was told to, training is one thing.
    let name = if parts.len() > 1 { "other training" } else { "training" };
    parts.insert(parts.len() - 1, (name, (training - tuning - told).max(0.0)));
    if record.summary.is_some() {
        parts.push(("tuning kernels", tuning));
        parts.push(("preparation, validation, checkpoints", all - training));
    }
    let spent = |(name, seconds): (&'static str, f64)| Spent {
        name,
        shown: duration(seconds),
        percent: 100.0 * seconds / all,
    };
    let parts = parts.into_iter().map(spent);
    parts.filter(|spent| spent.name == WAITING || spent.percent >= LEAST_PERCENT).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::summary::example;

    fn record(epoch: EpochRecord) -> Record {
        Record { epochs: vec![epoch; 2], ..Record::default() }
    }

    fn parts(record: &Record) -> Vec<(&'static str, String, f64)> {
        let of = |spent: Spent| (spent.name, spent.shown, spent.percent);
        times(record).into_iter().map(of).collect()
    }

    #[test]
    fn waiting_is_told_apart_from_training() {
        let epoch = EpochRecord { seconds: 50.0, data_wait: 0.1, ..EpochRecord::default() };
        let mut record = record(epoch);
        let training = ("training", "1 min 30 s".to_owned(), 90.0);
        let waiting = ("waiting for data", "10 s".to_owned(), 10.0);
        assert_eq!(parts(&record), [training, waiting]);

        let seconds = serde_json::json!({"seconds": 125.0, "seconds_training": 100.0});
        record.summary = Some(example(&seconds));
        let percents: Vec<f64> = parts(&record).into_iter().map(|part| part.2).collect();
        assert_eq!(percents, [72.0, 8.0, 20.0]);

        let tuning = serde_json::json!({"samples": 1, "seconds": 25.0});
        let seconds = serde_json::json!({
            "seconds": 125.0, "seconds_training": 100.0, "tuning": tuning,
        });
        record.summary = Some(example(&seconds));
        let parts: Vec<_> = parts(&record).into_iter().map(|part| (part.0, part.2)).collect();
        let beside = ("preparation, validation, checkpoints", 20.0);
        let tuning = ("tuning kernels", 20.0);
        assert_eq!(parts, [("training", 52.0), ("waiting for data", 8.0), tuning, beside]);
        assert_eq!(times(&Record::default()), []);
    }

    #[test]
    fn computing_is_told_by_its_parts_where_they_are_known() {
        let (forward, backward, update) = (Some(0.25), Some(0.5), Some(0.125));
        let epoch = EpochRecord { seconds: 8.0, data_wait: 0.0625, ..EpochRecord::default() };
        let record = record(EpochRecord { forward, backward, update, ..epoch });
        let parts: Vec<_> = parts(&record).into_iter().map(|part| (part.0, part.2)).collect();
        let expected = [
            ("forward", 25.0),
            ("backward", 50.0),
            ("update", 12.5),
            ("other training", 6.25),
            ("waiting for data", 6.25),
        ];
        assert_eq!(parts, expected);
    }
}
