//! The image-folder source on real images, and held against Pillow.

#![expect(clippy::unwrap_used, reason = "helpers of tests are tests too")]

mod common;

use std::path::Path;

use common::shared_data;
use data::{
    ImageShape, ImageSource, Resize,
    image_folder::{ImageFolderOptions, open_image_folder, read_image},
    silent,
};
use serde::Deserialize;

#[derive(Deserialize)]
struct Golden {
    cases: Vec<Case>,
}

#[derive(Debug, Deserialize)]
struct Case {
    file: String,
    size: [usize; 2],
    channels: usize,
    resize: Resize,
    tolerance: u8,
    /// Hexadecimal, `[height, width, channels]`.
    pixels: String,
}

#[test]
fn images_become_what_pillow_makes_of_them() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/images");
    let golden = std::fs::read(folder.join("pillow.json")).unwrap();
    let golden: Golden = serde_json::from_slice(&golden).unwrap();
    let wrong: Vec<String> = golden
        .cases
        .iter()
        .filter_map(|case| {
            let worst = worst_difference(case, &folder.join(&case.file));
            let Case { file, size, channels, resize, tolerance, .. } = case;
            (worst > *tolerance)
                .then(|| format!("{file} to {size:?}x{channels} {resize:?}: {worst} > {tolerance}"))
        })
        .collect();
    assert!(wrong.is_empty(), "{wrong:#?}");
}

/// The largest difference from Pillow of any value, in levels of 256.
fn worst_difference(case: &Case, path: &Path) -> u8 {
    let [height, width] = case.size;
    let shape = ImageShape { channels: case.channels, height, width };
    let mut pixels = vec![0; shape.bytes()];
    read_image(path, shape, case.resize, &mut pixels).unwrap();
    let planes = height * width;
    let expected = |index: usize| {
        let at = (index % planes) * case.channels + index / planes;
        u8::from_str_radix(&case.pixels[2 * at..2 * at + 2], 16).unwrap()
    };
    assert_eq!(case.pixels.len(), 2 * pixels.len());
    let differences = pixels.iter().enumerate().map(|(at, value)| value.abs_diff(expected(at)));
    differences.max().unwrap()
}

#[test]
fn sign_digits_have_ten_classes() {
    let Some(folder) = shared_data("sign_digits") else { return };
    let cache = tempfile::tempdir().unwrap();
    let mut options = ImageFolderOptions::new(&folder, [64, 64]);
    let splits = open_image_folder(&options).unwrap();
    assert!(splits.validation.is_none() && splits.test.is_none());
    assert_eq!(splits.train.classes(), ["0", "1", "2", "3", "4", "5", "6", "7", "8", "9"]);

    let (images, skipped) = splits.train.load(&mut silent).unwrap();
    assert_eq!((images.labels().len(), skipped), (2062, vec![]));
    let count = |class| images.labels().iter().filter(|&&label| label == class).count();
    let counts: Vec<usize> = (0..10).map(count).collect();
    assert_eq!(counts, [205, 206, 206, 206, 207, 207, 207, 206, 208, 204]);
    let pixels = |images: &dyn ImageSource| -> Vec<u8> {
        let mut pixels = vec![0; 2062 * images.shape().bytes()];
        let each = pixels.chunks_exact_mut(images.shape().bytes()).enumerate();
        each.for_each(|(index, pixels)| images.read(index, pixels).unwrap());
        pixels
    };
    let expected = pixels(&images);

    // The same pixels through a cache that is built, and through one that is there.
    options.cache = Some(cache.path().to_owned());
    for _ in 0..2 {
        let folder = open_image_folder(&options).unwrap().train;
        let (cached, _) = folder.prepare(&mut silent).unwrap();
        assert!(pixels(&cached) == expected, "pixels differ");
        assert_eq!((cached.labels(), cached.classes()), (images.labels(), images.classes()));
        assert_eq!(cached.fingerprint().unwrap(), images.fingerprint().unwrap());
    }
}

#[test]
fn sign_digits_include_three_large_photographs() {
    let Some(folder) = shared_data("sign_digits/7") else { return };
    let is_large = |path: &Path| path.metadata().unwrap().len() > 100_000;
    let files = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let large: Vec<_> = files.filter(|path| is_large(path)).collect();
    assert_eq!(large.len(), 3);
    let shape = ImageShape { channels: 1, height: 100, width: 100 };
    for path in large {
        let mut pixels = vec![0; shape.bytes()];
        read_image(&path, shape, Resize::Crop, &mut pixels).unwrap();
        let (least, most) = (pixels.iter().min().unwrap(), pixels.iter().max().unwrap());
        assert!(most - least > 100, "a hand before a wall, not {least} to {most}");
    }
}
