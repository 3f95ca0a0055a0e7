//! How fast a source fills batches on the device, with no training between them.

use std::{ops::ControlFlow, path::PathBuf, sync::Arc, time::Instant};

use anyhow::Context;
use backend::{Selected, device, device::Device};
use data::{
    Batching, ImageLoader, ImagePreprocessing, ImageSource, Order, Residency, Resize, TableLoader,
    TokenLoader,
    augment::{AugmentOptions, Augmentation},
    cifar10::read_cifar10,
    csv_table::{CsvOptions, TargetColumn, read_csv},
    drawn::digits,
    idx::read_idx,
    image_folder::{ImageFolderOptions, open_image_folder},
    npy::{NpyOptions, read_npy},
    text::{TextOptions, Windows, read_text},
};
use serde::{Deserialize, Serialize};

use super::{Work, peak_memory, source_files, sync};
use crate::job::{Measured, Ready};

/// Samples in a batch.
const BATCH: usize = 128;
/// The least length of a round, which ends with an epoch.
const ROUND_SECONDS: f64 = 0.2;

/// Keeps pictures on the host: those that lie on the device would not be read again.
const FROM_HOST: &str = "data.residency=host";

/// Batches out of a source.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SourceJob {
    /// The source.
    pub kind: SourceKind,
    /// Where its files are written, and then read.
    pub folder: PathBuf,
}

/// A source.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SourceKind {
    /// Drawn digits.
    Synthetic,
    /// A table of text.
    Csv,
    /// NumPy's arrays.
    Npy,
    /// MNIST's files.
    Idx,
    /// CIFAR-10's files.
    Cifar10,
    /// PNG files, decoded each time.
    ImageFolder,
    /// PNG files, decoded once and cached.
    ImageFolderCached,
    /// A text as windows of words.
    Text,
}

impl SourceKind {
    pub(crate) const ALL: [(&'static str, Self); 8] = [
        ("synthetic", Self::Synthetic),
        ("csv", Self::Csv),
        ("npy", Self::Npy),
        ("idx", Self::Idx),
        ("cifar10", Self::Cifar10),
        ("image-folder", Self::ImageFolder),
        ("image-folder-cached", Self::ImageFolderCached),
        ("text", Self::Text),
    ];

    /// Writes what the source reads.
    pub(crate) fn write(self, folder: &std::path::Path) -> anyhow::Result<()> {
        match self {
            Self::Synthetic => Ok(()),
            Self::Csv => source_files::csv(folder),
            Self::Npy => source_files::npy(folder),
            Self::Idx => source_files::idx(folder),
            Self::Cifar10 => source_files::cifar10(folder),
            Self::ImageFolder | Self::ImageFolderCached => {
                source_files::image_folder(&folder.join("images"))
            }
            Self::Text => source_files::text(folder),
        }
    }

    /// Whether training reads it in a way of its own: a recipe decodes a folder once, with a cache or
    /// without.
    pub(crate) fn differs_in_training(self) -> bool {
        self != Self::ImageFolder
    }

    /// A recipe that trains on it, and its settings.
    pub(crate) fn training(self, folder: &std::path::Path) -> (&'static str, Vec<String>) {
        let path = |rest: &str| format!("data.path={}", folder.join(rest).display());
        let (recipe, mut settings) = match self {
            Self::Synthetic => ("cnn", vec!["data.samples=2000".to_owned()]),
            Self::Csv => {
                let target = "data.target=-1".to_owned();
                ("mlp", vec!["data.source=csv".to_owned(), path("table.csv"), target])
            }
            Self::Npy => ("mlp", vec!["data.source=npy".to_owned(), path("")]),
            Self::Idx => ("cnn", vec!["data.source=idx".to_owned(), path("")]),
            Self::Cifar10 => ("cnn", vec!["data.source=cifar10".to_owned(), path("")]),
            Self::ImageFolder | Self::ImageFolderCached => {
                let cache = format!("data.cache={}", folder.join("cache").display());
                let source = "data.source=image-folder".to_owned();
                ("cnn", vec![source, path("images"), "data.size=32".to_owned(), cache])
            }
            Self::Text => ("lstm", vec![path("text.txt")]),
        };
        settings.push("training.epochs=1000".to_owned());
        if recipe == "cnn" {
            settings.push(FROM_HOST.to_owned());
        }
        (recipe, settings)
    }
}

/// Runs through an epoch, and returns the number of its samples.
type Epoch = Box<dyn FnMut(usize) -> anyhow::Result<usize>>;

pub(super) struct Source {
    epoch: Epoch,
    epochs: usize,
}

impl Source {
    pub(super) fn open(job: SourceJob) -> anyhow::Result<Self> {
        let (device, _) = device::open()?;
        job.kind.write(&job.folder)?;
        let epoch = epoch(&job, &device)?;
        Ok(Self { epoch, epochs: 0 })
    }
}

impl Work for Source {
    fn prepare(&mut self) -> anyhow::Result<Ready> {
        (self.epoch)(0)?;
        Ok(Ready::default())
    }

    fn round(&mut self, _: Option<u64>) -> anyhow::Result<Measured> {
        let start = Instant::now();
        let mut samples = 0;
        let seconds = loop {
            self.epochs += 1;
            samples += (self.epoch)(self.epochs)?;
            sync();
            let seconds = start.elapsed().as_secs_f64();
            if seconds >= ROUND_SECONDS {
                break seconds;
            }
        };
        Ok(Measured {
            seconds: seconds * BATCH as f64 / samples as f64,
            samples: BATCH as u64,
            peak_memory_bytes: peak_memory(),
            ..Measured::default()
        })
    }
}

fn epoch(job: &SourceJob, device: &Device) -> anyhow::Result<Epoch> {
    let folder = &job.folder;
    match job.kind {
        SourceKind::Synthetic => images(Arc::new(digits(0..2000, 0)?), device),
        SourceKind::Idx => images(Arc::new(read_idx(folder)?.train), device),
        SourceKind::Cifar10 => images(Arc::new(read_cifar10(folder)?.train), device),
        SourceKind::ImageFolder => {
            let options = ImageFolderOptions::new(folder.join("images"), [32, 32]);
            images(Arc::new(open_image_folder(&options)?.train), device)
        }
        SourceKind::ImageFolderCached => {
            let cache = Some(folder.join("cache"));
            let options = ImageFolderOptions {
                cache,
                ..ImageFolderOptions::new(folder.join("images"), [32, 32])
            };
            let mut silent = |_, _| ControlFlow::Continue(());
            let (prepared, _) = open_image_folder(&options)?.train.prepare(&mut silent)?;
            images(Arc::new(prepared), device)
        }
        SourceKind::Csv => {
            let options = CsvOptions::new(folder.join("table.csv"), TargetColumn::Index(-1));
            table(read_csv(&options, 0)?, device)
        }
        SourceKind::Npy => {
            let options = NpyOptions::new(folder.clone());
            table(read_npy(&options, 0)?, device)
        }
        SourceKind::Text => {
            let options =
                TextOptions { path: Some(folder.join("text.txt")), ..TextOptions::default() };
            let windows = Windows::new(read_text(&options)?.train, 20)?;
            let loader = TokenLoader::<Selected>::windows(windows, batching(), device)?;
            Ok(Box::new(move |epoch| {
                Ok(loader.batches(epoch, 0).map(|batch| batch.part.samples).sum())
            }))
        }
    }
}

fn batching() -> Batching {
    Batching::new(Order::Shuffled, 0, BATCH)
}

fn images(source: Arc<dyn ImageSource>, device: &Device) -> anyhow::Result<Epoch> {
    let preprocessing = ImagePreprocessing::identity(source.shape(), Resize::Crop);
    let nothing = AugmentOptions::default();
    let augmentation = Augmentation::<Selected>::new(&nothing, &preprocessing, 0, device);
    let residency = Residency::Host; // as by `FROM_HOST`
    let workers = backend::device::threads();
    let loader = ImageLoader::<Selected>::new(source, batching(), residency, workers, device)?;
    Ok(Box::new(move |epoch| {
        let mut samples = 0;
        for batch in loader.batches(epoch, 0) {
            let batch = batch.context("a batch of images")?;
            samples += augmentation.normalise(batch.images).dims()[0];
        }
        Ok(samples)
    }))
}

fn table(splits: data::TableSplits, device: &Device) -> anyhow::Result<Epoch> {
    let task = splits.preprocessing.task();
    let loader = TableLoader::<Selected>::new(splits.train, task, batching(), device)?;
    Ok(Box::new(move |epoch| Ok(loader.batches(epoch, 0).map(|batch| batch.part.samples).sum())))
}
