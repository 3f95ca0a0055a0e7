//! The IDX source: MNIST itself, small files, and what is no IDX file.

use data::{
    ImageShape, ImageSplits, ImagesInMemory,
    idx::{read_idx, read_idx_test},
};
use proptest::prelude::*;
use serde::Deserialize;
use store::sha256_hex;

use crate::{
    common::shared_data,
    support::{
        Files, arbitrary_or_mutated, assert_error_or_images, check, class_counts, folder, gzip,
    },
};

/// What `golden/mnist.py` found in the files.
#[derive(Deserialize)]
struct Mnist {
    train_labels: Vec<usize>,
    test_labels: Vec<usize>,
    first_images_sha256: Vec<String>,
}

#[test]
fn mnist_is_what_python_reads() {
    let Some(folder) = shared_data("mnist") else { return };
    let golden: Mnist = serde_json::from_str(include_str!("../golden/mnist.json")).unwrap();
    let splits = read_idx(&folder).unwrap();
    let (train, test) = (splits.train, splits.test.unwrap());
    assert_eq!((train.labels.len(), test.labels.len()), (60_000, 10_000));
    assert_eq!(class_counts(&train), golden.train_labels);
    assert_eq!(class_counts(&test), golden.test_labels);

    assert_eq!(train.shape, ImageShape { channels: 1, height: 28, width: 28 });
    assert_eq!((train.classes.len(), &*train.classes[9]), (10, "9"));
    let images = train.pixels.chunks_exact(train.shape.bytes());
    let first: Vec<String> = images.take(10).map(sha256_hex).collect();
    assert_eq!(first, golden.first_images_sha256);
}

/// An IDX file of bytes.
fn idx(dimensions: &[u32], values: &[u8]) -> Vec<u8> {
    let sizes: Vec<u8> = dimensions.iter().flat_map(|size| size.to_be_bytes()).collect();
    [&[0, 0, 8, dimensions.len() as u8], &sizes[..], values].concat()
}

const PIXELS: [u8; 12] = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12];

/// Two training images of 2x3 pixels, and one to test.
fn idx_files() -> [(&'static str, Vec<u8>); 4] {
    [
        ("train-images-idx3-ubyte", idx(&[2, 2, 3], &PIXELS)),
        ("train-labels-idx1-ubyte", idx(&[2], &[2, 0])),
        ("t10k-images-idx3-ubyte", idx(&[1, 2, 3], &PIXELS[..6])),
        ("t10k-labels-idx1-ubyte", idx(&[1], &[1])),
    ]
}

/// The files with one of them replaced.
fn idx_with(index: usize, content: Vec<u8>) -> [(&'static str, Vec<u8>); 4] {
    let mut files = idx_files();
    files[index].1 = content;
    files
}

#[test]
fn files_are_found_plain_or_packed() {
    let shape = ImageShape { channels: 1, height: 2, width: 3 };
    let classes = ["0", "1", "2"].map(str::to_owned).to_vec();
    let images = |pixels: &[u8], labels: &[u32]| {
        ImagesInMemory::new(shape, pixels.to_vec(), labels.to_vec(), classes.clone()).unwrap()
    };
    let train = images(&PIXELS, &[2, 0]);
    let whole = ImageSplits { train: train.clone(), test: Some(images(&PIXELS[..6], &[1])) };

    assert_eq!(read_idx(folder(&idx_files()).path()).unwrap(), whole);
    let packed = idx_files().map(|(name, content)| (format!("{name}.gz"), gzip(&content)));
    let packed = packed.each_ref().map(|(name, content)| (name.as_str(), content.clone()));
    assert_eq!(read_idx(folder(&packed).path()).unwrap(), whole);
    // What a browser unpacked and left its name, and another spelling.
    let mut mixed = idx_files();
    mixed[0].0 = "train-images.idx3-ubyte.gz";
    mixed[3] = ("t10k-labels.idx1-ubyte", gzip(&mixed[3].1));
    assert_eq!(read_idx(folder(&mixed).path()).unwrap(), whole);
    let alone = ImageSplits { train, test: None };
    assert_eq!(read_idx(folder(&idx_files()[..2]).path()).unwrap(), alone);

    // To measure on, the test split does alone, with the classes that it has.
    let tested = read_idx_test(folder(&idx_files()[2..]).path()).unwrap().unwrap();
    assert_eq!((&tested.labels[..], &tested.classes[..]), (&[1][..], &classes[..2]));
    assert_eq!(read_idx_test(folder(&idx_files()[..2]).path()).unwrap(), None);
}

#[test]
fn files_that_are_missing() {
    let check = |files: Files, error: &str| check(read_idx, files, error, "name the folder");
    check(
        &[],
        "`FOLDER` has no file `train-images-idx3-ubyte` or `train-images-idx3-ubyte.gz` or \
         `train-images.idx3-ubyte` or `train-images.idx3-ubyte.gz`",
    );
    let [images, labels, test_images, _] = idx_files();
    check(
        std::slice::from_ref(&images),
        "`FOLDER` has no file `train-labels-idx1-ubyte` or `train-labels-idx1-ubyte.gz` or \
         `train-labels.idx1-ubyte` or `train-labels.idx1-ubyte.gz`",
    );
    check(
        &[images, labels, test_images],
        "`FOLDER` has no file `t10k-labels-idx1-ubyte` or `t10k-labels-idx1-ubyte.gz` or \
         `t10k-labels.idx1-ubyte` or `t10k-labels.idx1-ubyte.gz`",
    );
}

#[test]
fn headers_that_are_wrong() {
    let check = |index, content: Vec<u8>, error: &str, help: &str| {
        check(read_idx, &idx_with(index, content), error, help);
    };
    let name = "`train-images-idx3-ubyte`";
    let expected = "expected 00 00 08 03";
    check(0, vec![], &format!("{name} has 0 bytes, 4 are expected"), "download");
    check(
        0,
        b"\0\0\x08\x03\0\0\0\x02".to_vec(),
        &format!("{name} has 8 bytes, 12 are expected"),
        "download",
    );
    check(
        0,
        b"<html>".to_vec(),
        &format!("{name} begins with 3c 68 74 6d, {expected}"),
        "web page",
    );
    check(0, idx(&[2], &[0, 1]), &format!("{name} begins with 00 00 08 01, {expected}"), "swapped");
    let mut floats = idx(&[2, 2, 3], &PIXELS);
    floats[2] = 0x0d;
    check(0, floats, &format!("{name} begins with 00 00 0d 03, {expected}"), "unsigned bytes");
    let empty = format!("{name} declares 2 images of 0x3 pixels");
    check(0, idx(&[2, 0, 3], &[]), &empty, "hold images");
    let empty = format!("{name} declares 0 images of 28x28 pixels");
    check(0, idx(&[0, 28, 28], &[]), &empty, "hold images");
}

#[test]
fn counts_that_do_not_fit() {
    let check = |index, content: Vec<u8>, error: &str, help: &str| {
        check(read_idx, &idx_with(index, content), error, help);
    };
    let name = "`train-images-idx3-ubyte`";
    let short = idx(&[2, 2, 3], &PIXELS[..11]);
    check(0, short, &format!("{name} has 27 bytes, 28 are expected"), "copied");
    let long = idx(&[1, 2, 3], &PIXELS);
    check(0, long, &format!("{name} goes on after the 22 bytes that are expected"), "copied");
    let (huge, largest) = (idx(&[u32::MAX; 3], &PIXELS), u64::MAX);
    check(0, huge, &format!("{name} has 28 bytes, {largest} are expected"), "copied");

    check(
        1,
        idx(&[3], &[0, 1, 2]),
        "`train-images-idx3-ubyte` has 2 images, `train-labels-idx1-ubyte` has 3 labels",
        "same download",
    );
    check(
        2,
        idx(&[1, 3, 2], &PIXELS[..6]),
        "`t10k-images-idx3-ubyte` has images of 3x2 pixels, those to train on have 2x3",
        "same data set",
    );
}

#[test]
fn labels_out_of_range() {
    let check = |index, labels: &[u8], error: &str| {
        let labels = idx(&[labels.len() as u32], labels);
        check(read_idx, &idx_with(index, labels), error, "start at 0");
    };
    check(
        1,
        &[0, 255],
        "`train-labels-idx1-ubyte`: the label of record 1 is 255, expected at most 0",
    );
    check(3, &[3], "`t10k-labels-idx1-ubyte`: the label of record 0 is 3, expected at most 2");
}

#[test]
fn one_class_is_nothing_to_learn() {
    let labels = idx(&[2], &[4, 4]);
    let error = "`train-labels-idx1-ubyte`: all labels are 4";
    check(read_idx, &idx_with(1, labels), error, "two classes");
}

/// One of the files and what takes its place.
fn replacement() -> impl Strategy<Value = (usize, Vec<u8>)> {
    (0..4usize).prop_flat_map(|index| {
        let valid = idx_files()[index].1.clone();
        (Just(index), arbitrary_or_mutated(valid))
    })
}

proptest! {
    #[test]
    fn any_bytes_are_files_or_an_error((index, content) in replacement()) {
        assert_error_or_images(read_idx(folder(&idx_with(index, content)).path()));
    }
}
