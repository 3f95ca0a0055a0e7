//! The CIFAR-10 source: the data set itself, small batches, and what is no batch.

use std::{fs, path::Path};

use data::{
    ImageShape, ImagesInMemory,
    cifar10::{read_cifar10, read_cifar10_test},
};
use proptest::prelude::*;

use crate::{
    common::shared_data,
    support::{
        Files, arbitrary_or_mutated, assert_error_or_images, check, class_counts, folder, gzip,
        mutated,
    },
};

/// Writes the shared sheets of these batches, of 100 x 100 images each, as records.
fn unpack_sheets(sheets: &Path, folder: &Path, batches: [&str; 2]) {
    for batch in batches {
        let sheet = image::open(sheets.join(format!("{batch}.webp"))).unwrap().into_rgb8();
        let labels = fs::read(sheets.join(format!("{batch}.labels.bin"))).unwrap();
        let mut records = Vec::with_capacity(labels.len() * 3073);
        for (index, &label) in labels.iter().enumerate() {
            let (top, left) = (index / 100 * 32, index % 100 * 32);
            records.push(label);
            for channel in 0..3 {
                for row in sheet.as_raw().chunks_exact(3 * 3200).skip(top).take(32) {
                    records.extend(row[3 * left..][..3 * 32].iter().skip(channel).step_by(3));
                }
            }
        }
        fs::write(folder.join(format!("{batch}.bin")), records).unwrap();
    }
    fs::copy(sheets.join("batches.meta.txt"), folder.join("batches.meta.txt")).unwrap();
}

/// The sums of a channel's values and of their squares.
fn sums(images: &ImagesInMemory, channel: usize) -> (u64, u64) {
    let pixels =
        images.pixels.chunks_exact(3072).flat_map(|image| &image[channel * 1024..][..1024]);
    pixels.fold((0, 0), |(sum, squares), &pixel| {
        (sum + u64::from(pixel), squares + u64::from(pixel).pow(2))
    })
}

/// The sums are numpy's, of the sheet of `data_batch_1`.
#[test]
fn batches_of_the_data_set_have_their_classes_and_colours() {
    let Some(sheets) = shared_data("cifar10") else { return };
    let folder = tempfile::tempdir().unwrap();
    let inner = folder.path().join("cifar-10-batches-bin");
    fs::create_dir(&inner).unwrap();
    unpack_sheets(&sheets, &inner, ["data_batch_1", "test_batch"]);
    let splits = read_cifar10(folder.path()).unwrap();
    let (train, test) = (splits.train, splits.test.unwrap());
    assert_eq!(class_counts(&train), [1005, 974, 1032, 1016, 999, 937, 1030, 1001, 1025, 981]);
    assert_eq!(class_counts(&test), [1000; 10]);
    assert_eq!((&*train.classes[0], &*train.classes[9]), ("airplane", "truck"));

    let red = (1_288_516_373, 202_962_992_517);
    let green = (1_262_187_775, 195_410_440_505);
    let blue = (1_167_673_722, 179_071_056_618);
    assert_eq!([0, 1, 2].map(|channel| sums(&train, channel)), [red, green, blue]);
}

/// A record of CIFAR-10 in one colour a channel.
fn record(label: u8, colour: [u8; 3]) -> Vec<u8> {
    let planes = colour.iter().flat_map(|&value| [value; 1024]);
    [label].into_iter().chain(planes).collect()
}

#[test]
fn batches_are_found_plain_or_packed() {
    let one = record(3, [1, 2, 3]);
    let two = [record(0, [4, 5, 6]), record(9, [7, 8, 9])].concat();
    let check = |files: Files, labels: &[u32], test: Option<u32>| {
        let splits = read_cifar10(folder(files).path()).unwrap();
        assert_eq!(splits.train.labels, labels);
        assert_eq!(splits.train.shape, ImageShape { channels: 3, height: 32, width: 32 });
        assert_eq!(splits.train.pixels.len(), labels.len() * 3072);
        assert_eq!(splits.train.pixels[..2049], one[1..2050]);
        assert_eq!(splits.train.classes[3], "cat");
        assert_eq!(splits.test.map(|test| test.labels[0]), test);
    };
    check(&[("data_batch_1.bin", one.clone())], &[3], None);
    // To measure on, the test split does alone.
    for name in ["test_batch.bin", "cifar-10-batches-bin/test_batch"] {
        let tested = read_cifar10_test(folder(&[(name, two.clone())]).path()).unwrap().unwrap();
        assert_eq!((tested.labels, tested.classes.len()), (vec![0, 9], 10));
    }
    assert_eq!(read_cifar10_test(folder(&[("data_batch_1", one.clone())]).path()).unwrap(), None);
    check(
        &[
            ("cifar-10-batches-bin/data_batch_2", two.clone()),
            ("cifar-10-batches-bin/data_batch_1.bin.gz", gzip(&one)),
            ("cifar-10-batches-bin/test_batch.gz", gzip(&two)),
        ],
        &[3, 0, 9],
        Some(0),
    );
    // The outer folder goes first.
    check(
        &[("data_batch_1", one.clone()), ("cifar-10-batches-bin/data_batch_1.bin", two)],
        &[3],
        None,
    );
}

#[test]
fn classes_may_have_other_names() {
    let names: String = (0..10).map(|class| format!("class {class}\r\n")).collect();
    let batch = ("data_batch_1.bin", record(0, [0; 3]));
    let meta = |text: &str| [batch.clone(), ("batches.meta.txt", text.as_bytes().to_vec())];
    let splits = read_cifar10(folder(&meta(&format!("{names}\r\n"))).path()).unwrap();
    assert_eq!((splits.train.classes.len(), &*splits.train.classes[9]), (10, "class 9"));

    let error = "`batches.meta.txt` names 2 classes, 10 are expected";
    check(read_cifar10, &meta("cat\ndog\n"), error, "one name a line");
    let latin1 = ("batches.meta.txt", b"cat\nd\xf6g\n".to_vec());
    check(read_cifar10, &[batch, latin1], "batches.meta.txt:2: the text is not UTF-8", "UTF-8");
}

#[test]
fn batches_that_are_wrong() {
    let missing = |batch| {
        let names = ["bin", "bin.gz"].map(|end| format!("`data_batch_{batch}.{end}`")).join(" or ");
        format!("`FOLDER` has no file {names} or `data_batch_{batch}` or `data_batch_{batch}.gz`")
    };
    let one = record(0, [0; 3]);
    check(read_cifar10, &[], &missing(1), "name the folder");
    check(read_cifar10, &[("test_batch.bin", one.clone())], &missing(1), "name the folder");
    let gap = [("data_batch_1.bin", one.clone()), ("data_batch_3.bin", one.clone())];
    check(read_cifar10, &gap, &missing(2), "name the folder");

    let check_batch = |content: Vec<u8>, error: &str, help: &str| {
        check(read_cifar10, &[("data_batch_1.bin", content)], error, help);
    };
    let length =
        |bytes| format!("`data_batch_1.bin` has {bytes} bytes, whole records of 3073 are expected");
    check_batch(vec![], &length(0), "binary version");
    check_batch(one[1..].to_vec(), &length(3072), "binary version");
    check_batch(gzip(&[&one[..], b"x"].concat()), &length(3074), "binary version");
    let label = [&one[..], &record(10, [0; 3])].concat();
    let error = "`data_batch_1.bin`: the label of record 1 is 10, expected at most 9";
    check_batch(label, error, "binary version");
    let error = "`data_batch_1.bin` goes on after the 30730000 bytes that are expected";
    check_batch(gzip(&one.repeat(10_001)), error, "download");
}

/// The Python version has the binary one's names without their ends, and longer files.
#[test]
fn batches_for_python_are_named() {
    let pickle = [b"\x80\x02}q\x01(".to_vec(), vec![0; 31_000_000]].concat();
    let error = "`data_batch_1` is a batch of the Python version";
    for length in [100, pickle.len()] {
        let files = [("data_batch_1", pickle[..length].to_vec())];
        check(read_cifar10, &files, error, "`cifar-10-binary.tar.gz`");
    }
}

proptest! {
    #[test]
    fn any_bytes_are_batches_or_an_error(
        batch in arbitrary_or_mutated([record(3, [1, 2, 3]), record(9, [4, 5, 6])].concat()),
        meta in prop::option::of(mutated(b"a\nb\nc\nd\ne\nf\ng\nh\ni\nj\n".to_vec())),
    ) {
        let mut files = vec![("data_batch_1.bin", batch.clone()), ("test_batch.bin.gz", batch)];
        files.extend(meta.map(|meta| ("batches.meta.txt", meta)));
        assert_error_or_images(read_cifar10(folder(&files).path()));
    }
}
