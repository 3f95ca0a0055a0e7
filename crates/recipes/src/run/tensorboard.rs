//! The curves of a run for TensorBoard: `tb/` in its directory.
//!
//! The file is a series of records, each framed as TensorFlow's `tfrecord`: length, checksum of the
//! length, content, checksum of the content. A record is an `Event` of TensorFlow's `event.proto`;
//! the first one names the version of the format, every other one holds scalars of one step.

use std::{fs, path::Path};

use prost::Message;
use store::{AppendLog, StoreError, create_directory, remove};
use training::Event;

use crate::run::time::now_in_seconds;

/// TensorBoard looks for `tfevents` in the name; the rest is the same for every run, so that runs can
/// be compared file by file.
const FILE: &str = "events.out.tfevents.0";
const VERSION: &str = "brain.Event:2";

/// The growing file of curves.
#[derive(Debug)]
pub(crate) struct Scalars {
    log: AppendLog,
}

impl Scalars {
    /// The file of the run in `directory`, truncated to its first `length` bytes, or a new one for none
    /// or where it has lost its end; what is lost then goes to `lost`, as a sentence.
    pub(crate) fn open(
        directory: &Path,
        length: u64,
        lost: &mut Vec<String>,
    ) -> Result<Self, StoreError> {
        let folder = directory.join("tb");
        let path = folder.join(FILE);
        let found = fs::metadata(&path).map_or(0, |file| file.len());
        if length > 0 && found >= length {
            return Ok(Self { log: AppendLog::reopen(&path, length)? });
        }
        if length > 0 {
            let path = path.display();
            lost.push(format!("`{path}` lacks curves from before, and begins anew"));
        }
        create_directory(&folder)?;
        remove(&path)?;
        let mut log = AppendLog::create(&path)?;
        let version = Record { file_version: Some(VERSION.to_owned()), ..Record::now() };
        log.append_record(&framed(&version.encode_to_vec()))?;
        Ok(Self { log })
    }

    /// Appends what an event measured.
    pub(crate) fn append(&mut self, event: &Event) -> Result<(), StoreError> {
        let Some((step, scalars)) = scalars(event) else { return Ok(()) };
        let value = |(tag, value)| Scalar { tag, simple_value: Some(value as f32) };
        let summary = Summary { value: scalars.into_iter().map(value).collect() };
        let record = Record { step: step as i64, summary: Some(summary), ..Record::now() };
        self.log.append_record(&framed(&record.encode_to_vec()))
    }

    /// As [`AppendLog::sync`].
    pub(crate) fn sync(&mut self) -> Result<u64, StoreError> {
        self.log.sync()
    }
}

/// What an event measured, by TensorBoard's tags, and after how many steps.
fn scalars(event: &Event) -> Option<(u64, Vec<(String, f64)>)> {
    match event {
        Event::Step(report) => {
            let throughput = report.throughput;
            let values = [
                ("loss", Some(report.loss)),
                ("accuracy", report.accuracy),
                ("learning_rate", Some(report.learning_rate)),
                ("gradient_norm", Some(report.gradient_norm)),
                ("loss_scale", report.loss_scale),
                ("samples_per_second", Some(throughput.samples_per_second)),
                ("data_wait", Some(throughput.data_wait)),
                ("communication_wait", throughput.communication_wait),
                ("memory_bytes", throughput.memory_bytes.map(|bytes| bytes as f64)),
                ("percent_of_peak", throughput.percent_of_peak),
            ];
            Some((report.step, training_tags(values).collect()))
        }
        Event::Epoch(report) => {
            let training = [
                ("epoch_loss", Some(report.train_loss)),
                ("epoch_accuracy", report.train_accuracy),
            ];
            let validation = report.validation.iter().flatten();
            let validation = validation.map(|(name, &value)| (format!("validation/{name}"), value));
            Some((report.step, training_tags(training).chain(validation).collect()))
        }
        _ => None,
    }
}

/// Those values that there are.
fn training_tags<const N: usize>(
    values: [(&str, Option<f64>); N],
) -> impl Iterator<Item = (String, f64)> {
    values.into_iter().filter_map(|(name, value)| Some((format!("train/{name}"), value?)))
}

/// `Event` of `event.proto`, as far as it is used here.
#[derive(Clone, PartialEq, Message)]
struct Record {
    /// Seconds since 1970.
    #[prost(double, tag = "1")]
    wall_time: f64,
    #[prost(int64, tag = "2")]
    step: i64,
    #[prost(string, optional, tag = "3")]
    file_version: Option<String>,
    #[prost(message, optional, tag = "5")]
    summary: Option<Summary>,
}

/// `Summary` of `summary.proto`.
#[derive(Clone, PartialEq, Message)]
struct Summary {
    #[prost(message, repeated, tag = "1")]
    value: Vec<Scalar>,
}

/// `Summary.Value`
#[derive(Clone, PartialEq, Message)]
struct Scalar {
    #[prost(string, tag = "1")]
    tag: String,
    #[prost(float, optional, tag = "2")]
    simple_value: Option<f32>,
}

impl Record {
    fn now() -> Self {
        Self { wall_time: now_in_seconds(), ..Self::default() }
    }
}

/// A record with its length and checksums around it.
fn framed(content: &[u8]) -> Vec<u8> {
    let length = (content.len() as u64).to_le_bytes();
    let mut record = Vec::with_capacity(content.len() + 16);
    record.extend(length);
    record.extend(checksum(&length).to_le_bytes());
    record.extend(content);
    record.extend(checksum(content).to_le_bytes());
    record
}

/// The masked CRC32C: a checksum over data that contains checksums would be weak.
fn checksum(bytes: &[u8]) -> u32 {
    crc32c(bytes).rotate_right(15).wrapping_add(0xa282_ead8)
}

/// The cyclic redundancy check by Castagnoli's polynomial (RFC 3720, appendix B.4), bit by bit: a
/// record is about a hundred bytes.
fn crc32c(bytes: &[u8]) -> u32 {
    !bytes.iter().fold(u32::MAX, |crc, &byte| {
        (0..8).fold(crc ^ u32::from(byte), |crc, _| {
            (crc >> 1) ^ if crc & 1 == 1 { 0x82f6_3b78 } else { 0 }
        })
    })
}

#[cfg(test)]
mod tests {
    use std::fs;

    use training::{EpochReport, Metrics};

    use super::*;

    /// The vectors of RFC 3720, appendix B.4, and the check value of the polynomial's catalogue.
    #[test]
    fn checksums_are_those_of_the_standard() {
        let counting: Vec<u8> = (0..32).collect();
        assert_eq!(crc32c(&[0; 32]), 0x8a91_36aa);
        assert_eq!(crc32c(&[0xff; 32]), 0x62a8_ab43);
        assert_eq!(crc32c(&counting), 0x46dd_794e);
        assert_eq!(crc32c(b"123456789"), 0xe306_9283);
    }

    fn epoch(step: u64, loss: f64) -> Event {
        Event::Epoch(EpochReport {
            step,
            train_loss: 0.5,
            train_accuracy: Some(0.75),
            validation: Some(Metrics::from([("loss".to_owned(), loss)])),
            ..EpochReport::default()
        })
    }

    /// The steps of a file, each with its tags and values.
    fn read(path: &Path) -> Vec<(i64, Vec<(String, f32)>)> {
        let bytes = fs::read(path).unwrap();
        let mut records = Vec::new();
        let mut rest = bytes.as_slice();
        while let Some((length, content)) = rest.split_first_chunk::<8>() {
            let length = u64::from_le_bytes(*length) as usize;
            let record = Record::decode(&content[4..4 + length]).unwrap();
            rest = &content[4 + length + 4..];
            let values = record.summary.unwrap_or_default().value.into_iter();
            let values = values.map(|scalar| (scalar.tag, scalar.simple_value.unwrap()));
            records.push((record.step, values.collect()));
        }
        records
    }

    #[test]
    fn curves_go_on_where_they_were_synced() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("tb").join(FILE);
        let mut lost = Vec::new();
        let mut scalars = Scalars::open(folder.path(), 0, &mut lost).unwrap();
        scalars.append(&epoch(3, 0.0)).unwrap();
        let length = scalars.sync().unwrap();
        scalars.append(&epoch(4, 2.0)).unwrap();
        drop(scalars);
        let mut scalars = Scalars::open(folder.path(), length, &mut lost).unwrap();
        scalars.append(&epoch(5, 3.0)).unwrap();
        let values = |loss| {
            [("train/epoch_loss", 0.5), ("train/epoch_accuracy", 0.75), ("validation/loss", loss)]
                .map(|(tag, value)| (tag.to_owned(), value))
                .to_vec()
        };
        assert_eq!(read(&path), [(0, vec![]), (3, values(0.0)), (5, values(3.0))]);
        drop(scalars);

        // A run without curves gets some when it resumes, and one whose curves were removed.
        for length in [0, 100] {
            fs::remove_dir_all(folder.path().join("tb")).unwrap();
            Scalars::open(folder.path(), length, &mut lost).unwrap();
            assert_eq!(read(&path), [(0, vec![])]);
            assert_eq!(lost.len(), usize::from(length > 0));
        }
    }
}
