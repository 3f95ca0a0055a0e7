//! The CIFAR-10 source: the binary version, one file a batch.
//!
//! A batch is a sequence of records without a header: a label of one byte, then 1024 red, 1024
//! green and 1024 blue bytes, each row by row.

mod error;

use std::{
    fs,
    path::{Path, PathBuf},
};

use crate::{
    DataError, ImageShape, ImageSplits, ImagesInMemory,
    files::{BinaryFile, Folder},
};

pub use self::error::Cifar10Error;

const SHAPE: ImageShape = ImageShape { channels: 3, height: 32, width: 32 };

/// A label and the pixels of an image.
const RECORD_BYTES: usize = 1 + SHAPE.channels * SHAPE.height * SHAPE.width;

/// The records of a whole batch. A file may have fewer, as a part of the data set does, not more.
const BATCH_RECORDS: usize = 10_000;

const TRAINING_BATCHES: usize = 5;

const TEST: &str = "test_batch";

/// The folder that the archive unpacks to.
const ARCHIVE_FOLDER: &str = "cifar-10-batches-bin";

/// What a batch of the Python version, a pickle of protocol 2, begins with. No label does.
const PICKLE: [u8; 2] = [0x80, 2];

/// The classes of the data set, in the order of its `batches.meta.txt`.
const CLASSES: [&str; 10] =
    ["airplane", "automobile", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck"];

/// Reads the batches of a folder or of `cifar-10-batches-bin` in it.
///
/// These are `data_batch_1.bin`, its successors up to `data_batch_5.bin` as far as they exist, and
/// for the test split `test_batch.bin`; the names may lack the `.bin` and may end in `.gz`. The
/// classes are named by `batches.meta.txt`, if it exists.
///
/// # Errors
///
/// Where no batch is found, one is missing between two others, or one is damaged; names the file,
/// and the record.
pub fn read_cifar10(folder: &Path) -> Result<ImageSplits, DataError> {
    let path = place(folder, &batch_names(1))?;
    let folder = Folder::open(&path)?;
    let classes = read_classes(&folder)?;
    let train = read_images(&training_batches(&folder)?, &classes)?;
    Ok(ImageSplits { train, test: read_test(&folder, &classes)? })
}

/// Reads the images and labels of the test split only; `None` if there is no test split.
///
/// # Errors
///
/// As [`read_cifar10`].
pub fn read_cifar10_test(folder: &Path) -> Result<Option<ImagesInMemory>, DataError> {
    let path = place(folder, &names(TEST))?;
    let folder = Folder::open(&path)?;
    read_test(&folder, &read_classes(&folder)?)
}

/// The folder that has a file of one of these names, or else the one that an archive unpacks to.
fn place(folder: &Path, names: &[String]) -> Result<PathBuf, DataError> {
    let below = folder.join(ARCHIVE_FOLDER);
    let is_below = below.is_dir() && Folder::open(folder)?.find(names)?.is_none();
    Ok(if is_below { below } else { folder.to_owned() })
}

fn read_test(folder: &Folder, classes: &[String]) -> Result<Option<ImagesInMemory>, DataError> {
    let found = folder.find(&names(TEST))?;
    found.map(|path| read_images(&[path], classes)).transpose()
}

/// The usual names of a batch, in the order in which they are looked for.
fn names(stem: &str) -> [String; 4] {
    [".bin", ".bin.gz", "", ".gz"].map(|end| format!("{stem}{end}"))
}

fn batch_names(batch: usize) -> [String; 4] {
    names(&format!("data_batch_{batch}"))
}

/// The first batch and, as far as they are there, its followers. A gap between two is a mistake.
fn training_batches(folder: &Folder) -> Result<Vec<PathBuf>, DataError> {
    let names: Vec<_> = (1..=TRAINING_BATCHES).map(batch_names).collect();
    let found = names.iter().map(|names| folder.find(names)).collect::<Result<Vec<_>, _>>()?;
    let count = found.iter().rposition(Option::is_some).map_or(1, |last| last + 1);
    let expected = found.into_iter().zip(&names).take(count);
    expected.map(|(path, names)| path.ok_or_else(|| folder.missing(names))).collect()
}

fn read_images(batches: &[PathBuf], classes: &[String]) -> Result<ImagesInMemory, DataError> {
    let (mut pixels, mut labels) = (Vec::new(), Vec::new());
    for path in batches {
        read_batch(path, &mut pixels, &mut labels)?;
    }
    Ok(ImagesInMemory { shape: SHAPE, pixels, labels, classes: classes.to_vec() })
}

/// Appends the records of a batch.
fn read_batch(path: &Path, pixels: &mut Vec<u8>, labels: &mut Vec<u32>) -> Result<(), DataError> {
    let mut file = BinaryFile::open(path)?;
    let bytes = file.take_up_to((BATCH_RECORDS * RECORD_BYTES) as u64)?;
    // Before `end()`, which would call a pickle too long.
    if bytes.starts_with(&PICKLE) {
        return Err(Cifar10Error::Pickle { path: path.to_owned() }.into());
    }
    file.end()?;
    let (records, rest) = bytes.as_chunks::<RECORD_BYTES>();
    if records.is_empty() || !rest.is_empty() {
        let (path, bytes) = (path.to_owned(), bytes.len());
        return Err(Cifar10Error::Length { path, bytes, record_bytes: RECORD_BYTES }.into());
    }
    for (record, &[label, ref image @ ..]) in records.iter().enumerate() {
        if usize::from(label) >= CLASSES.len() {
            let (path, most) = (path.to_owned(), CLASSES.len() as u8 - 1);
            return Err(Cifar10Error::Label { path, record, label, most }.into());
        }
        labels.push(u32::from(label));
        pixels.extend_from_slice(image);
    }
    Ok(())
}

fn read_classes(folder: &Folder) -> Result<Vec<String>, DataError> {
    let Some(path) = folder.find(&["batches.meta.txt".to_owned()])? else {
        return Ok(CLASSES.map(str::to_owned).to_vec());
    };
    let bytes = fs::read(&path).map_err(|reason| DataError::io(&path, reason))?;
    let text = String::from_utf8(bytes).map_err(|error| {
        let before = &error.as_bytes()[..error.utf8_error().valid_up_to()];
        let line = 1 + before.iter().filter(|&&byte| byte == b'\n').count() as u64;
        DataError::NotUtf8 { path: path.clone(), line, utf16: false }
    })?;
    let lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
    let classes: Vec<String> = lines.map(str::to_owned).collect();
    if classes.len() == CLASSES.len() {
        Ok(classes)
    } else {
        let (found, expected) = (classes.len(), CLASSES.len());
        Err(Cifar10Error::Names { path, found, expected }.into())
    }
}
