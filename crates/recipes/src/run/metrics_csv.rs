//! `metrics.csv`: a line for each epoch of a run.

use std::{fs, path::Path};

use store::{AppendLog, StoreError};
use training::{EpochReport, Event, Throughput};

use crate::numbers::ordered;

/// The file in the directory of a run.
pub(crate) const METRICS: &str = "metrics.csv";
/// Its last columns, which differ from run to run.
const TIME_COLUMNS: usize = 3;
/// The column of the training accuracy.
const ACCURACY: &str = "train_accuracy";
/// What the columns of validation metrics are called, before their names.
const VALIDATION: &str = "validation_";

/// The growing file.
#[derive(Debug)]
pub(crate) struct MetricsLog {
    log: AppendLog,
    /// Whether there is a column for the training accuracy.
    has_accuracy: bool,
    /// Of the validation metrics, in the order of their columns.
    names: Vec<String>,
}

impl MetricsLog {
    /// Creates the file, with columns for what was measured in the first epoch.
    fn create(path: &Path, first: &EpochReport) -> Result<Self, StoreError> {
        let mut log = AppendLog::create(path)?;
        let has_accuracy = first.train_accuracy.is_some();
        let accuracy = if has_accuracy { format!("{ACCURACY},") } else { String::new() };
        let names = first.validation.iter().flat_map(ordered).map(|(name, _)| name.to_owned());
        let names: Vec<String> = names.collect();
        let columns: String = names.iter().map(|name| format!("{VALIDATION}{name},")).collect();
        log.append(&format!(
            "epoch,step,train_loss,{accuracy}{columns}\
             learning_rate,seconds,samples_per_second,data_wait"
        ))?;
        Ok(Self { log, has_accuracy, names })
    }

    /// Opens the file and shortens it to `length`. It keeps its columns, whatever is measured now.
    pub(crate) fn reopen(path: &Path, length: u64) -> Result<Self, StoreError> {
        let log = AppendLog::reopen(path, length)?;
        let text = fs::read_to_string(path).map_err(|reason| StoreError::Io {
            action: "read",
            path: path.to_owned(),
            reason,
        })?;
        let header = text.lines().next().unwrap_or_default();
        let columns = || header.split(',');
        let names = columns().filter_map(|column| column.strip_prefix(VALIDATION));
        let names = names.map(str::to_owned).collect();
        Ok(Self { log, has_accuracy: columns().any(|column| column == ACCURACY), names })
    }

    /// Makes the file durable, and returns its length.
    pub(crate) fn sync(&mut self) -> Result<u64, StoreError> {
        self.log.sync()
    }

    /// Appends the line of an epoch that has ended; other events have none. Without a log, the first epoch
    /// creates one, as its columns are known then.
    pub(crate) fn append_to(
        log: &mut Option<Self>,
        path: &Path,
        event: &Event,
    ) -> Result<(), StoreError> {
        let Event::Epoch(report) = event else { return Ok(()) };
        match log {
            Some(log) => log.append(report),
            None => log.insert(Self::create(path, report)?).append(report),
        }
    }

    fn append(&mut self, report: &EpochReport) -> Result<(), StoreError> {
        let EpochReport { epoch, step, train_loss, learning_rate, seconds, .. } = report;
        let Throughput { samples_per_second, data_wait, .. } = report.throughput;
        let cell = |value: Option<f64>| value.map(|value| format!("{value:?}")).unwrap_or_default();
        let measured = |name: &String| report.validation.as_ref()?.get(name).copied();
        let accuracy = self.has_accuracy.then_some(report.train_accuracy);
        let validation = self.names.iter().map(measured);
        let values: String =
            accuracy.into_iter().chain(validation).map(|value| cell(value) + ",").collect();
        self.log.append(&format!(
            "{epoch},{step},{train_loss:?},{values}{learning_rate:?},{seconds:.6},\
             {samples_per_second:.1},{data_wait:.6}"
        ))
    }
}

/// The lines of a run's `metrics.csv` without their times; none where there is no such file.
pub(crate) fn untimed_metrics(directory: &Path) -> String {
    let metrics = fs::read_to_string(directory.join(METRICS)).unwrap_or_default();
    let untimed = |line: &str| {
        line.rsplitn(TIME_COLUMNS + 1, ',').last().unwrap_or_default().to_owned() + "\n"
    };
    metrics.lines().map(untimed).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_stay_below_their_names_when_others_are_measured() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(METRICS);
        let epoch = |epoch: usize, accuracy, validation: &[(&str, f64)]| {
            Event::Epoch(EpochReport {
                epoch,
                step: 10,
                train_loss: 0.5,
                train_accuracy: accuracy,
                validation: Some(validation.iter().map(|&(k, v)| (k.to_owned(), v)).collect()),
                learning_rate: 0.1,
                ..EpochReport::default()
            })
        };
        let append = |log: &mut Option<MetricsLog>, event| {
            MetricsLog::append_to(log, &path, &event).unwrap();
        };
        let mut log = None;
        append(&mut log, epoch(1, Some(0.75), &[("loss", 0.25), ("r2", 0.75)]));
        let length = log.as_mut().unwrap().sync().unwrap();
        append(&mut log, epoch(2, None, &[]));
        drop(log);

        let mut log = Some(MetricsLog::reopen(&path, length).unwrap());
        append(&mut log, epoch(2, Some(0.5), &[("loss", 0.125), ("mae", 3.0), ("r2", 0.875)]));
        append(&mut log, epoch(3, None, &[("loss", 0.0625), ("mae", 3.0)]));
        let expected = "epoch,step,train_loss,train_accuracy,validation_loss,validation_r2,learning_rate\n\
             1,10,0.5,0.75,0.25,0.75,0.1\n2,10,0.5,0.5,0.125,0.875,0.1\n3,10,0.5,,0.0625,,0.1\n";
        assert_eq!(untimed_metrics(folder.path()), expected);
    }
}
