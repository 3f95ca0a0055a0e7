//! Folders of small files, and what a source may make of them.

use std::{fmt::Debug, io::Write, path::Path};

use data::{DataError, ImageSplits, ImagesInMemory, count_labels};
use flate2::{Compression, write::GzEncoder};
use proptest::prelude::*;

pub(crate) use crate::folders::folder;
use crate::folders::refused;

pub(crate) type Files<'a> = &'a [(&'a str, Vec<u8>)];

pub(crate) fn gzip(content: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(content).unwrap();
    encoder.finish().unwrap()
}

/// Expects an error, given without the folder of its paths, and a part of its help.
pub(crate) fn check<T: Debug>(
    read: impl Fn(&Path) -> Result<T, DataError>,
    files: Files,
    error: &str,
    help: &str,
) {
    let folder = folder(files);
    refused(folder.path(), read(folder.path()), error, help);
}

/// Bytes with some of them changed, and cut somewhere or not.
pub(crate) fn mutated(bytes: Vec<u8>) -> impl Strategy<Value = Vec<u8>> {
    let changes = prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..4);
    (changes, any::<prop::sample::Index>(), any::<bool>()).prop_map(move |(changes, end, cut)| {
        let mut bytes = bytes.clone();
        for (index, value) in changes {
            let index = index.index(bytes.len());
            bytes[index] = value;
        }
        bytes.truncate(if cut { end.index(bytes.len()) } else { bytes.len() });
        bytes
    })
}

pub(crate) fn arbitrary_or_mutated(valid: Vec<u8>) -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![
        1 => prop::collection::vec(any::<u8>(), 0..200),
        2 => mutated(gzip(&valid)),
        3 => mutated(valid),
    ]
}

/// The value, or `None` after a look at the error.
pub(crate) fn value_or_helpful_error<T>(result: Result<T, DataError>) -> Option<T> {
    result
        .inspect_err(|error| {
            assert!(error.help().is_some() && !error.to_string().contains('\n'), "{error}");
        })
        .ok()
}

/// Whatever the files, there is an error that helps, or images that hold together.
pub(crate) fn assert_error_or_images(result: Result<ImageSplits, DataError>) {
    let Some(splits) = value_or_helpful_error(result) else { return };
    for images in [Some(&splits.train), splits.test.as_ref()].into_iter().flatten() {
        assert!(!images.labels.is_empty());
        assert_eq!(images.pixels.len(), images.labels.len() * images.shape.bytes());
        assert!(images.labels.iter().all(|&label| (label as usize) < images.classes.len()));
        assert_eq!((images.shape, &images.classes), (splits.train.shape, &splits.train.classes));
    }
}

/// The number of images of each class.
pub(crate) fn class_counts(images: &ImagesInMemory) -> Vec<usize> {
    count_labels(&images.labels, images.classes.len())
}
