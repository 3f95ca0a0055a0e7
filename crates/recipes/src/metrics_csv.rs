//! `metrics.csv`: a line for each epoch of a run.

use std::{fs, path::Path};

use store::{AppendLog, StoreError};
use training::{Event, Metrics, Throughput};

use crate::numbers::ordered;

/// The file in the directory of a run.
pub(crate) const METRICS: &str = "metrics.csv";
/// Its last columns, which differ from run to run.
const TIME_COLUMNS: usize = 3;
/// What the columns of validation metrics are called, before their names.
const VALIDATION: &str = "validation_";

/// The growing file.
#[derive(Debug)]
pub(crate) struct MetricsLog {
    log: AppendLog,
    /// Of the validation metrics, in the order of their columns.
    names: Vec<String>,
}

impl MetricsLog {
    /// Creates the file, with columns for these validation metrics.
    fn create(path: &Path, validation: &Metrics) -> Result<Self, StoreError> {
        let mut log = AppendLog::create(path)?;
        let names = ordered(validation).into_iter().map(|(name, _)| name.to_owned());
        let names: Vec<String> = names.collect();
        let columns: String = names.iter().map(|name| format!("{VALIDATION}{name},")).collect();
        log.append(&format!(
            "epoch,step,train_loss,{columns}learning_rate,seconds,samples_per_second,data_wait"
        ))?;
        Ok(Self { log, names })
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
        let names = header.split(',').filter_map(|column| column.strip_prefix(VALIDATION));
        Ok(Self { log, names: names.map(str::to_owned).collect() })
    }

    /// Makes the file durable, and returns its length.
    pub(crate) fn sync(&mut self) -> Result<u64, StoreError> {
        self.log.sync()
    }

    /// As [`append`](Self::append); without a log, the first epoch creates one, as its columns are known then.
    pub(crate) fn append_to(
        log: &mut Option<Self>,
        path: &Path,
        event: &Event,
    ) -> Result<(), StoreError> {
        let Event::Epoch { validation, .. } = event else { return Ok(()) };
        match log {
            Some(log) => log.append(event),
            None => {
                let measured = validation.clone().unwrap_or_default();
                log.insert(Self::create(path, &measured)?).append(event)
            }
        }
    }

    /// Appends the line of an epoch that has ended; other events have none.
    fn append(&mut self, event: &Event) -> Result<(), StoreError> {
        let Event::Epoch {
            epoch,
            step,
            train_loss,
            validation,
            learning_rate,
            seconds,
            throughput: Throughput { samples_per_second, data_wait, .. },
            ..
        } = event
        else {
            return Ok(());
        };
        let value = |name: &String| Some(format!("{:?}", validation.as_ref()?.get(name)?));
        let values: String =
            self.names.iter().map(|name| value(name).unwrap_or_default() + ",").collect();
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
        let epoch = |epoch: usize, validation: &[(&str, f64)]| Event::Epoch {
            epoch,
            step: 10,
            train_loss: 0.5,
            last_loss: 0.5,
            validation: Some(validation.iter().map(|&(name, v)| (name.to_owned(), v)).collect()),
            learning_rate: 0.1,
            seconds: 1.0,
            validation_seconds: None,
            throughput: Throughput::default(),
        };
        let before = Metrics::from([("loss".to_owned(), 0.25), ("r2".to_owned(), 0.75)]);
        let mut log = MetricsLog::create(&path, &before).unwrap();
        log.append(&epoch(1, &[("loss", 0.25), ("r2", 0.75)])).unwrap();
        let length = log.sync().unwrap();
        log.append(&epoch(2, &[])).unwrap();
        drop(log);

        let mut log = MetricsLog::reopen(&path, length).unwrap();
        log.append(&epoch(2, &[("loss", 0.125), ("mae", 3.0), ("r2", 0.875)])).unwrap();
        log.append(&epoch(3, &[("loss", 0.0625), ("mae", 3.0)])).unwrap();
        let expected = "epoch,step,train_loss,validation_loss,validation_r2,learning_rate\n\
                        1,10,0.5,0.25,0.75,0.1\n2,10,0.5,0.125,0.875,0.1\n3,10,0.5,0.0625,,0.1\n";
        assert_eq!(untimed_metrics(folder.path()), expected);
    }
}
