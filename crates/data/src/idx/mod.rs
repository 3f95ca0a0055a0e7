//! The IDX source: the files of MNIST, Fashion-MNIST and their like.
//!
//! An IDX file begins with two zeros, the type of its values (8: unsigned bytes) and its number of
//! dimensions; each dimension follows as a big-endian u32, then the values, the last dimension
//! fastest. Images are `[images, height, width]`, labels `[images]`.

mod error;

use std::path::Path;

use crate::{
    DataError, ImageShape, ImageSplits, ImagesInMemory,
    files::{BinaryFile, Folder},
};

pub use self::error::IdxError;

/// The classes of MNIST and most of its like.
const USUAL_CLASSES: usize = 10;

/// Reads the images and labels of a folder by their usual names.
///
/// These are `train-images-idx3-ubyte`, `train-labels-idx1-ubyte`, and for the test `t10k-` in the
/// place of `train-`; a dot before `idx` and a `.gz` at the end are usual too. The classes are
/// called by their labels.
///
/// # Errors
///
/// Where a file is missing, damaged, or does not fit the others; names it, and the record.
pub fn read_idx(folder: &Path) -> Result<ImageSplits, DataError> {
    let folder = Folder::open(folder)?;
    let images = names("train-images", 3);
    let train = read_split(&folder, [&images, &names("train-labels", 1)], None)?
        .ok_or_else(|| folder.missing(&images))?;
    if let Some((&label, others)) = train.labels.split_first()
        && others.iter().all(|&other| other == label)
    {
        let path = folder.find(&names("train-labels", 1))?.unwrap_or_default();
        return Err(IdxError::SingleClass { path, label: label as u8 }.into());
    }
    let test = read_test(&folder, Some(&train))?;
    Ok(ImageSplits { train, test })
}

/// Reads the images and labels of the test split only; `None` if there is no test split.
///
/// # Errors
///
/// As [`read_idx`].
pub fn read_idx_test(folder: &Path) -> Result<Option<ImagesInMemory>, DataError> {
    read_test(&Folder::open(folder)?, None)
}

fn read_test(
    folder: &Folder,
    train: Option<&ImagesInMemory>,
) -> Result<Option<ImagesInMemory>, DataError> {
    let names = [&names("t10k-images", 3)[..], &names("t10k-labels", 1)];
    read_split(folder, names, train)
}

/// The usual names of a file, in the order in which they are looked for.
fn names(stem: &str, dimensions: usize) -> [String; 4] {
    [("-", ""), ("-", ".gz"), (".", ""), (".", ".gz")]
        .map(|(separator, end)| format!("{stem}{separator}idx{dimensions}-ubyte{end}"))
}

/// Reads images and their labels; `train` is what a test split has to fit.
fn read_split(
    folder: &Folder,
    names: [&[String]; 2],
    train: Option<&ImagesInMemory>,
) -> Result<Option<ImagesInMemory>, DataError> {
    let Some([images_path, labels_path]) = folder.find_pair(names)? else { return Ok(None) };
    let ([count, height, width], pixels) = read_bytes(&images_path)?;
    if pixels.is_empty() {
        return Err(IdxError::Empty { path: images_path, count, height, width }.into());
    }
    let ([labelled], labels) = read_bytes(&labels_path)?;
    if labelled != count {
        let (images, labels) = (count, labelled);
        return Err(IdxError::Disagree { images_path, images, labels_path, labels }.into());
    }

    let shape = ImageShape { channels: 1, height: height as usize, width: width as usize };
    if let Some(train) = train.filter(|train| train.shape != shape) {
        return Err(IdxError::Shape {
            path: images_path,
            found: (shape.height, shape.width),
            expected: (train.shape.height, train.shape.width),
        }
        .into());
    }
    let classes = match train {
        Some(train) => train.classes.clone(),
        None => (0..class_count(&labels)).map(|label| label.to_string()).collect(),
    };
    check_labels(&labels_path, &labels, classes.len())?;
    let labels = labels.into_iter().map(u32::from).collect();
    Ok(Some(ImagesInMemory { shape, pixels, labels, classes }))
}

/// Reads a file of unsigned bytes: its dimensions and its values.
fn read_bytes<const DIMENSIONS: usize>(
    path: &Path,
) -> Result<([u32; DIMENSIONS], Vec<u8>), DataError> {
    let mut file = BinaryFile::open(path)?;
    let found = file.take_array()?;
    let expected = [0, 0, 8, DIMENSIONS as u8];
    if found != expected {
        return Err(IdxError::Magic { path: path.to_owned(), found, expected }.into());
    }
    let mut dimensions = [0; DIMENSIONS];
    for size in &mut dimensions {
        *size = u32::from_be_bytes(file.take_array()?);
    }
    let length = dimensions.iter().map(|&size| u64::from(size)).fold(1, u64::saturating_mul);
    let values = file.take(length)?;
    file.end()?;
    Ok((dimensions, values))
}

/// The number of classes among the labels to train on.
///
/// A set of images may lack some of the usual ten. Beyond them a label that leaves a gap is not
/// taken for a class but for damage.
fn class_count(labels: &[u8]) -> usize {
    let mut seen = [false; 256];
    labels.iter().for_each(|&label| seen[usize::from(label)] = true);
    let gap = (USUAL_CLASSES..seen.len()).find(|&label| !seen[label]).unwrap_or(seen.len());
    seen[..gap].iter().rposition(|&seen| seen).map_or(USUAL_CLASSES, |last| last + 1)
}

fn check_labels(path: &Path, labels: &[u8], classes: usize) -> Result<(), DataError> {
    match labels.iter().position(|&label| usize::from(label) >= classes) {
        Some(record) => {
            let (label, most) = (labels[record], classes.saturating_sub(1) as u8);
            Err(IdxError::Label { path: path.to_owned(), record, label, most }.into())
        }
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_the_usual_ones() {
        let expected = [
            "train-images-idx3-ubyte",
            "train-images-idx3-ubyte.gz",
            "train-images.idx3-ubyte",
            "train-images.idx3-ubyte.gz",
        ];
        assert_eq!(names("train-images", 3), expected);
    }

    #[test]
    fn classes_follow_one_another_beyond_the_usual_ten() {
        let check = |labels: &[u8], expected| assert_eq!(class_count(labels), expected);
        check(&[1, 0, 1], 2);
        check(&[5, 0, 9], 10);
        check(&[3, 200], 4);
        check(&(1..=26).collect::<Vec<_>>(), 27); // EMNIST's letters
        check(&(0..=255).collect::<Vec<_>>(), 256);
        check(&[99], 10);
    }
}
