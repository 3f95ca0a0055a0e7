//! The image loader: one order for every residency and number of workers, and what goes wrong.

#![allow(clippy::unwrap_used)]

use std::{
    sync::{
        Arc,
        mpsc::{self, Receiver, Sender},
    },
    thread,
    time::Duration,
};

use backend::{Part, Selected, device::Device};
use data::{
    Batching, DataError, ImageBatch, ImageLoader, ImageShape, ImageSource, ImagesInMemory, Order,
    Residency,
    image_folder::{ImageFolderOptions, open_image_folder},
    silent,
};

const SHAPE: ImageShape = ImageShape { channels: 3, height: 2, width: 3 };

/// Images whose bytes tell one from another.
fn numbered(count: usize) -> ImagesInMemory {
    let pixels = (0..count * SHAPE.bytes()).map(|i| (i * 131 / 7) as u8).collect();
    let labels = (0..count as u32).map(|i| i % 5).collect();
    let classes = ["a", "b", "c", "d", "e"].map(str::to_owned).to_vec();
    ImagesInMemory::new(SHAPE, pixels, labels, classes).unwrap()
}

fn batching(micro_batch: usize) -> Batching {
    Batching { micro_batch, ..Batching::new(Order::Shuffled, 11, 8) }
}

fn open(
    source: impl ImageSource + 'static,
    micro_batch: usize,
    residency: Residency,
    workers: usize,
) -> Result<ImageLoader<Selected>, DataError> {
    let (source, batching) = (Arc::new(source), batching(micro_batch));
    ImageLoader::new(source, batching, residency, workers, &Device::default())
}

/// The samples and the part of each batch; pixels and labels are checked against the source.
fn seen(loader: &ImageLoader<Selected>, first_step: usize) -> Vec<(Vec<usize>, Part)> {
    let source = numbered(loader.samples());
    let read = |batch: Result<ImageBatch<Selected>, DataError>| {
        let ImageBatch { images, labels, samples, part } = batch.unwrap();
        assert_eq!(images.dims(), [samples.len(), 3, 2, 3]);
        let pixels: Vec<f32> = images.into_data().iter().collect();
        let labels: Vec<u32> = labels.into_data().iter().collect();
        for (at, &sample) in samples.iter().enumerate() {
            let expected = &source.pixels[sample * SHAPE.bytes()..][..SHAPE.bytes()];
            let expected: Vec<f32> =
                expected.iter().map(|&pixel| f32::from(pixel) / 255.0).collect();
            assert_eq!(pixels[at * SHAPE.bytes()..][..SHAPE.bytes()], expected);
            assert_eq!(labels[at], source.labels[sample]);
        }
        (samples, part)
    };
    loader.batches(2, first_step).map(read).collect()
}

#[test]
fn an_epoch_has_one_order() {
    let ways = [
        (Residency::Device, 0),
        (Residency::Device, 4),
        (Residency::Host, 0),
        (Residency::Host, 1),
        (Residency::Host, 4),
        (Residency::Host, 30),
    ];
    let mut first = None;
    for (residency, workers) in ways {
        let loader = open(numbered(101), 3, residency, workers).unwrap();
        assert_eq!(loader.steps_per_epoch(), 13);
        let all = seen(&loader, 0);
        let mut samples: Vec<usize> = all.iter().flat_map(|(samples, _)| samples.clone()).collect();
        assert_ne!(samples, (0..101).collect::<Vec<_>>());
        samples.sort_unstable();
        assert_eq!(samples, (0..101).collect::<Vec<_>>(), "each sample once");

        // From update 7 on: 3 micro-batches an update lie before it.
        let middle = seen(&loader, 7);
        assert_eq!(middle, all[7 * 3..]);
        assert_eq!(&all, first.get_or_insert(all.clone()), "{residency:?}, {workers} workers");
    }
}

#[test]
fn labels_are_checked_before_they_are_uploaded() {
    let mut images = numbered(6);
    images.labels[4] = 5;
    let error = open(images, 8, Residency::Device, 0).err().unwrap();
    assert_eq!(error.to_string(), "sample 4 has label 5, there are 5 classes");
    assert_eq!(error.help().unwrap(), "labels run from 0 to 4");
}

/// Tells of each image that it is asked for, and breaks at one of them.
struct Breaking {
    images: ImagesInMemory,
    reads: Sender<()>,
    at: usize,
    how: fn() -> Result<(), DataError>,
}

impl ImageSource for Breaking {
    fn shape(&self) -> ImageShape {
        self.images.shape()
    }

    fn classes(&self) -> &[String] {
        self.images.classes()
    }

    fn labels(&self) -> &[u32] {
        self.images.labels()
    }

    fn read(&self, index: usize, pixels: &mut [u8]) -> Result<(), DataError> {
        let _ = self.reads.send(()); // not every test listens
        if index == self.at {
            (self.how)()?;
        }
        self.images.read(index, pixels)
    }
}

fn breaking(
    at: usize,
    how: fn() -> Result<(), DataError>,
    workers: usize,
) -> (ImageLoader<Selected>, Receiver<()>) {
    let (told, reads) = mpsc::channel();
    let source = Breaking { images: numbered(80), reads: told, at, how };
    (open(source, 8, Residency::Host, workers).unwrap(), reads)
}

/// The last batch that is delivered, which is to be an error, and the number of batches before it.
fn first_error(loader: &ImageLoader<Selected>) -> (usize, String) {
    let mut batches: Vec<_> = loader.batches(0, 0).collect();
    let error = batches.pop().unwrap().unwrap_err();
    assert!(batches.iter().all(Result::is_ok));
    (batches.len(), error.to_string())
}

#[test]
fn an_error_reaches_the_loop_in_its_place_and_ends_it() {
    let vanished = || Err(DataError::NotFound { path: "photos/cat/3.jpg".into() });
    let mut errors = [0, 1, 4].map(|workers| first_error(&breaking(17, vanished, workers).0));
    assert_eq!(errors[0].1, "`photos/cat/3.jpg` does not exist");
    errors.sort();
    assert_eq!(errors[0], errors[2], "after the same batches, for every number of workers");
}

#[test]
fn a_panic_is_an_error_and_the_workers_live_on() {
    for workers in [0, 1, 4] {
        let (loader, _) = breaking(17, || panic!("a bug"), workers);
        let (before, error) = first_error(&loader);
        assert_eq!(error, "reading image 17 broke down: a bug");
        assert!(loader.batches(0, 0).take(before).all(|batch| batch.is_ok()));
    }
}

#[test]
fn a_panic_while_a_split_is_uploaded_is_an_error() {
    let (told, _reads) = mpsc::channel();
    let source = Breaking { images: numbered(80), reads: told, at: 17, how: || panic!("a bug") };
    let error = open(source, 8, Residency::Device, 0).unwrap_err();
    assert_eq!(error.to_string(), "reading image 17 broke down: a bug");
    assert!(error.help().unwrap().contains("where it is your own"));
}

#[test]
fn nothing_to_load_is_an_error_wherever_it_would_lie() {
    let mut flat = numbered(0);
    flat.shape.height = 0;
    flat.labels = vec![0; 3];
    for (source, expected) in [
        (numbered(0), "the source has no images"),
        (flat, "the source's images have the shape 3 x 0 x 3, which holds no pixel"),
    ] {
        for residency in [Residency::Auto, Residency::Device, Residency::Host] {
            let error = open(source.clone(), 8, residency, 0).unwrap_err();
            assert_eq!(error.to_string(), expected);
            assert!(error.help().is_some());
        }
    }
}

#[test]
fn a_batch_of_no_image_is_an_error() {
    let batching = Batching { batch_size: 0, ..batching(8) };
    let (source, device) = (Arc::new(numbered(8)), Device::default());
    let loader = ImageLoader::<Selected>::new(source, batching, Residency::Auto, 0, &device);
    assert_eq!(loader.unwrap_err().to_string(), "`batch_size` is 0, and must be at least 1");
}

#[test]
fn little_is_read_ahead_and_nothing_for_nobody() {
    for (workers, most) in [(0, 8), (1, 24), (4, 24)] {
        let (loader, reads) = breaking(usize::MAX, || Ok(()), workers);
        assert!(loader.batches(0, 0).next().unwrap().is_ok());
        drop(loader); // waits for its workers, and ends the reads
        assert!(reads.iter().count() <= most, "{workers} workers");
    }
}

#[test]
fn two_batches_are_read_ahead_by_workers() {
    for (workers, ahead) in [(0, 0), (1, 16), (4, 16)] {
        let (loader, reads) = breaking(usize::MAX, || Ok(()), workers);
        let mut batches = loader.batches(0, 0);
        assert!(batches.next().unwrap().is_ok());
        // They come though nobody asks for them; no worker needs a minute.
        for read in 0..8 + ahead {
            let told = reads.recv_timeout(Duration::from_secs(60));
            assert!(told.is_ok(), "{workers} workers stop after {read} images");
        }
        drop(batches);
        drop(loader);
        assert_eq!(reads.iter().count(), 0, "{workers} workers");
    }
}

#[test]
fn a_loader_that_is_dropped_lets_go_of_its_source() {
    let source = Arc::new(numbered(50));
    let shared: Arc<dyn ImageSource> = source.clone();
    let loader =
        ImageLoader::<Selected>::new(shared, batching(8), Residency::Host, 3, &Device::default());
    let loader = loader.unwrap();
    let mut batches = loader.batches(0, 0);
    assert!(batches.next().unwrap().is_ok());
    drop(batches);
    // Another thread may own it, as when a run is told to stop.
    thread::spawn(move || drop(loader)).join().unwrap();
    assert_eq!(Arc::strong_count(&source), 1);
}

#[test]
fn a_file_that_vanishes_is_named() {
    let folder = tempfile::tempdir().unwrap();
    for class in ["black", "white"] {
        std::fs::create_dir(folder.path().join(class)).unwrap();
        for number in 0..10 {
            let path = folder.path().join(class).join(format!("{number}.png"));
            image::GrayImage::new(4, 4).save(path).unwrap();
        }
    }
    let images = open_image_folder(&ImageFolderOptions::new(folder.path(), [4, 4])).unwrap().train;
    let (images, _) = images.prepare(&mut silent).unwrap();
    let loader = open(images, 8, Residency::Host, 2).unwrap();
    assert_eq!(loader.batches(0, 0).filter_map(Result::ok).count(), 3);

    let lost = folder.path().join("white").join("7.png");
    std::fs::remove_file(&lost).unwrap();
    let (_, error) = first_error(&loader);
    assert!(error.contains(&lost.display().to_string()), "{error}");
}
