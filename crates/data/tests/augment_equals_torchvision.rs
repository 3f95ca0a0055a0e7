//! Every step of augmentation, held against torchvision's definition of it.

#![allow(clippy::unwrap_used)]

use std::{collections::BTreeMap, path::Path};

use backend::{Part, Selected, device::Device};
use burn::tensor::{Int, Tensor, TensorData, Tolerance};
use data::{
    ImageBatch, ImagePreprocessing, ImageShape, Resize,
    augment::{
        AugmentOptions, Augmentation,
        affine::{AffineMap, affine},
        colour,
        mix::{self, Rectangle},
        window::{Span, crop},
    },
};
use store::{StoredTensor, TensorFile};

type Images = Tensor<Selected, 4>;

struct Fixture(BTreeMap<String, StoredTensor>);

impl Fixture {
    fn read() -> Self {
        let path = "tests/golden/augment/fixture.safetensors";
        Self(TensorFile::read(Path::new(env!("CARGO_MANIFEST_DIR")).join(path)).unwrap().tensors)
    }

    /// `[batch, channels, height, width]`
    fn images(&self, name: &str) -> Images {
        let stored = &self.0[name];
        let data = TensorData::new(stored.values().to_vec(), stored.shape().to_vec());
        Tensor::from_data(data, &Device::default())
    }

    fn values(&self, name: &str) -> &[f32] {
        self.0[name].values()
    }

    /// What stands in each row of a table.
    fn rows<const N: usize>(&self, name: &str) -> Vec<[f32; N]> {
        self.values(name).as_chunks().0.to_vec()
    }

    /// To a twentieth of a level of 256.
    fn check(&self, name: &str, found: Images) {
        self.check_within(2e-4, name, found);
    }

    fn check_within(&self, absolute: f32, name: &str, found: Images) {
        let expected = self.images(name).into_data();
        found.into_data().assert_approx_eq::<f32>(&expected, Tolerance::absolute(absolute));
    }

    fn check_exactly(&self, name: &str, found: Images) {
        found.into_data().assert_eq(&self.images(name).into_data(), true);
    }

    fn rectangles(&self) -> Vec<Rectangle> {
        let rectangle = |[top, bottom, left, right]: [f32; 4]| Rectangle {
            rows: top as usize..bottom as usize,
            columns: left as usize..right as usize,
        };
        self.rows("rectangles").into_iter().map(rectangle).collect()
    }
}

/// How far colours between 0 and 1 may be off that come from products of matrices:
/// CUDA's tensor cores round what they multiply to 11 bits.
fn of_products(absolute: f32) -> f32 {
    if backend::NAME == "cuda" { absolute.max(2e-3) } else { absolute }
}

#[test]
fn affine_maps() {
    let fixture = Fixture::read();
    let map = |[angle, x, y, scale, shear_x, shear_y]: [f32; 6]| AffineMap {
        angle: angle.into(),
        translation: [x.into(), y.into()],
        scale: scale.into(),
        shear: [shear_x.into(), shear_y.into()],
    };
    let maps: Vec<_> = fixture.rows("affine_maps").into_iter().map(map).collect();
    fixture.check("affine", affine(fixture.images("images"), &maps));
}

#[test]
fn crops_and_flips() {
    let fixture = Fixture::read();
    let images = || fixture.images("images");
    let all = |length, reversed| [Span { reversed, ..Span::all(length) }; 4];
    let [rows, columns] = [all(9, false), all(7, false)];
    fixture.check_exactly("images", crop(images(), &rows, &columns));
    fixture.check_exactly("horizontal_flip", crop(images(), &rows, &all(7, true)));
    fixture.check_exactly("vertical_flip", crop(images(), &all(9, true), &columns));

    let span = |start: f32, length| Span { start: start as isize, length, reversed: false };
    let offsets = fixture.rows("crop_offsets").into_iter();
    let (rows, columns): (Vec<_>, Vec<_>) =
        offsets.map(|[top, left]| (span(top, 9), span(left, 7))).unzip();
    fixture.check_exactly("crop", crop(images(), &rows, &columns));

    let windows = fixture.rows("windows").into_iter();
    let (rows, columns): (Vec<_>, Vec<_>) = windows
        .map(|[top, left, height, width]| (span(top, height as usize), span(left, width as usize)))
        .unzip();
    fixture.check("resized_crop", crop(images(), &rows, &columns));
}

#[test]
fn colours() {
    let fixture = Fixture::read();
    let (images, grey) = (|| fixture.images("images"), || fixture.images("grey_images"));
    let factors = fixture.values("factors");
    fixture.check("brightness", colour::brightness(images(), factors));
    fixture.check_within(of_products(2e-4), "contrast", colour::contrast(images(), factors));
    fixture.check("contrast_of_grey", colour::contrast(grey(), factors));
    fixture.check_within(of_products(2e-4), "saturation", colour::saturation(images(), factors));
    fixture.check_exactly("grey_images", colour::saturation(grey(), factors));
    fixture.check("hue", colour::hue(images(), fixture.values("shifts")));
    fixture.check_exactly("grey_images", colour::hue(grey(), factors));
}

#[test]
fn normalisation() {
    let fixture = Fixture::read();
    let shape = ImageShape { channels: 3, height: 9, width: 7 };
    let (mean, deviation) = (vec![0.4914, 0.4822, 0.4465], vec![0.2470, 0.2435, 0.2616]);
    let preprocessing = ImagePreprocessing::new(shape, Resize::Crop, mean, deviation);
    let options = AugmentOptions::default();
    let augmentation = Augmentation::new(&options, &preprocessing, 0, &Device::default());
    fixture.check("normalised", augmentation.normalise(fixture.images("images")));

    // Bytes go the same way on the host as on the device.
    let bytes: Vec<u8> = (0..shape.bytes()).map(|i| (i * 7 % 256) as u8).collect();
    let pixels: Vec<f32> = bytes.iter().map(|&byte| f32::from(byte) / 255.0).collect();
    let pixels = Tensor::from_data(TensorData::new(pixels, [1, 3, 9, 7]), &Device::default());
    let expected = TensorData::new(preprocessing.normalise(&bytes), [1, 3, 9, 7]);
    let found = augmentation.normalise(pixels).into_data();
    found.assert_approx_eq::<f32>(&expected, Tolerance::absolute(1e-6));
}

#[test]
fn mixtures() {
    let fixture = Fixture::read();
    let (images, rectangles) = (|| fixture.images("images"), fixture.rectangles());
    fixture.check_exactly("cutout", mix::cutout(images(), &rectangles));
    let others: Vec<f32> = fixture.values("mix_shares").iter().map(|own| 1.0 - own).collect();
    let others = Tensor::from_data(TensorData::new(others, [4, 1, 1, 1]), &Device::default());
    fixture.check("mixup", mix::replace(images(), others));
    fixture.check("cutmix", mix::replace(images(), mix::inside(&rectangles, &images())));
}

/// Everything at once, so that all steps draw.
fn all_options() -> AugmentOptions {
    AugmentOptions {
        random_resized_crop: 0.3,
        horizontal_flip: 0.5,
        vertical_flip: 0.5,
        rotate: 20.0,
        scale: [0.8, 1.2],
        shear: 10.0,
        translate: 0.1,
        brightness: 0.4,
        contrast: 0.4,
        saturation: 0.4,
        hue: 0.1,
        grey: 0.2,
        cutout: 3,
        ..Default::default()
    }
}

fn augmentation(options: &AugmentOptions) -> Augmentation<Selected> {
    let shape = ImageShape { channels: 3, height: 9, width: 7 };
    let preprocessing = ImagePreprocessing::identity(shape, Resize::Crop);
    Augmentation::new(options, &preprocessing, 5, &Device::default())
}

#[test]
#[should_panic(expected = "`horizontal_flip` must be between 0 and 1")]
fn options_that_cannot_be_are_refused() {
    augmentation(&AugmentOptions { horizontal_flip: 50.0, ..Default::default() });
}

fn batch(
    images: Images,
    labels: Tensor<Selected, 1, Int>,
    samples: &[usize],
) -> ImageBatch<Selected> {
    ImageBatch { images, labels, samples: samples.to_vec(), part: Part::whole(samples.len()) }
}

fn apply(options: &AugmentOptions, images: Images, samples: &[usize], epoch: usize) -> Vec<f32> {
    let labels = Tensor::zeros([samples.len()], &Device::default());
    let augmented = augmentation(options).apply(batch(images, labels, samples), epoch);
    assert_eq!(augmented.images.dims(), [samples.len(), 3, 9, 7]);
    augmented.images.into_data().iter().collect()
}

#[test]
fn an_image_is_augmented_alike_in_every_batch_and_differently_in_every_epoch() {
    let images = Fixture::read().images("images");
    let size = 3 * 9 * 7;
    let options = all_options();
    let all = apply(&options, images.clone(), &[7, 3, 900, 4], 2);
    assert!(all.iter().all(|value| value.is_finite()));
    let alone = apply(&options, images.clone().narrow(0, 2, 1), &[900], 2);
    let close =
        |a: &[f32], b: &[f32]| a.iter().zip(b).all(|(a, b)| (a - b).abs() < of_products(1e-5));
    assert!(close(&alone, &all[2 * size..3 * size]));

    let first = |samples, epoch| apply(&options, images.clone().narrow(0, 0, 1), samples, epoch);
    assert!(close(&first(&[7], 2), &all[..size]));
    assert!(!close(&first(&[7], 3), &all[..size]));
    assert!(!close(&first(&[8], 2), &all[..size]));
}

#[test]
fn each_option_changes_images_and_none_leaves_them() {
    let images = Fixture::read().images("images");
    let before: Vec<f32> = images.clone().into_data().iter().collect();
    let samples = [0, 1, 2, 3];
    assert_eq!(apply(&AugmentOptions::default(), images.clone(), &samples, 0), before);

    let none = AugmentOptions::default;
    let single = [
        AugmentOptions { crop_padding: 3, ..none() },
        AugmentOptions { random_resized_crop: 0.2, ..none() },
        AugmentOptions { horizontal_flip: 1.0, ..none() },
        AugmentOptions { vertical_flip: 1.0, ..none() },
        AugmentOptions { rotate: 20.0, ..none() },
        AugmentOptions { scale: [0.7, 0.9], ..none() },
        AugmentOptions { shear: 30.0, ..none() },
        AugmentOptions { translate: 0.5, ..none() },
        AugmentOptions { brightness: 0.5, ..none() },
        AugmentOptions { contrast: 0.5, ..none() },
        AugmentOptions { saturation: 0.5, ..none() },
        AugmentOptions { hue: 0.3, ..none() },
        AugmentOptions { grey: 1.0, ..none() },
        AugmentOptions { cutout: 4, ..none() },
        AugmentOptions { mixup: 1.0, ..none() },
        AugmentOptions { cutmix: 1.0, ..none() },
    ];
    for options in single {
        assert_ne!(apply(&options, images.clone(), &samples, 0), before, "{options:?}");
    }
}

/// Black and white images show how much of each a mixture has, which is the share of its label.
#[test]
fn labels_are_mixed_as_pixels_are() {
    let device = Device::default();
    let count = 64;
    let shades: Vec<f32> = (0..count).map(|i| (i % 2) as f32).collect();
    let shades = Tensor::<Selected, 1>::from_data(TensorData::new(shades, [count]), &device);
    let images = shades.clone().reshape([count as i32, 1, 1, 1]).repeat(&[1, 3, 9, 7]);
    let samples: Vec<usize> = (0..count).collect();
    for (mixup, cutmix) in [(0.8, 0.0), (0.0, 1.0), (0.8, 1.0)] {
        let options = AugmentOptions { mixup, cutmix, ..Default::default() };
        let labels = shades.clone().int();
        let augmented = augmentation(&options).apply(batch(images.clone(), labels, &samples), 1);
        let shown = augmented.images.clone().reshape([count as i32, -1]).mean_dim(1);
        // As a loss, the label itself gives the expected shade.
        let expected = augmented.losses(|labels| labels.float());
        let (shown, expected) = (shown.into_data(), expected.reshape([-1, 1]).into_data());
        shown.assert_approx_eq::<f32>(&expected, Tolerance::absolute(1e-5));
        let main = augmented.main_labels().into_data();
        for (shade, main) in shown.iter::<f32>().zip(main.iter::<i32>()) {
            assert!(
                (shade - 0.5).abs() < 1e-3 || i32::from(shade > 0.5) == main,
                "{shade}: {main}"
            );
        }

        let shares: Vec<f32> = augmented.mixed.unwrap().share.into_data().iter().collect();
        assert!(shares.iter().all(|share| (0.0..=1.0).contains(share)), "{shares:?}");
        assert!(shares.iter().any(|&share| share > 0.1 && share < 0.9), "{shares:?}");
    }
}

/// Where the normalised image is 0, its mean.
#[test]
fn cutout_leaves_the_mean_in_a_square_of_its_side() {
    let shape = ImageShape { channels: 3, height: 9, width: 7 };
    let preprocessing = ImagePreprocessing::new(shape, Resize::Crop, vec![0.5; 3], vec![0.25; 3]);
    for side in [3, 4] {
        let options = AugmentOptions { cutout: side, ..Default::default() };
        let augmentation = Augmentation::new(&options, &preprocessing, 5, &Device::default());
        let count = 100;
        let (images, labels) = (
            Tensor::ones([count, 3, 9, 7], &Device::default()),
            Tensor::zeros([count], &Device::default()),
        );
        let samples: Vec<usize> = (0..count).collect();
        let augmented = augmentation.apply(batch(images, labels, &samples), 1);
        let values: Vec<f32> = augmented.images.into_data().iter().collect();
        assert!(values.iter().all(|&value| value == 0.0 || value == 2.0));
        let cut = |plane: &[f32]| plane.iter().filter(|&&value| value == 0.0).count();
        let cut: Vec<usize> = values.chunks_exact(9 * 7).map(cut).collect();
        assert!(cut.iter().all(|&pixels| pixels > 0), "{cut:?}");
        assert_eq!(cut.iter().max(), Some(&(side * side)));
    }
}

/// A blended image is grey; one with a part of another is black and white.
#[test]
fn of_images_to_mix_about_half_are_cut_where_both_ways_are_asked_for() {
    let device = Device::default();
    let count = 400;
    let shades: Vec<f32> = (0..count).map(|i| (i % 2) as f32).collect();
    let shades = Tensor::<Selected, 1>::from_data(TensorData::new(shades, [count]), &device);
    let images = shades.clone().reshape([count as i32, 1, 1, 1]).repeat(&[1, 3, 9, 7]);
    let samples: Vec<usize> = (0..count).collect();
    let cut = |mixup, cutmix| {
        let options = AugmentOptions { mixup, cutmix, ..Default::default() };
        let batch = batch(images.clone(), shades.clone().int(), &samples);
        let mixed: Vec<f32> =
            augmentation(&options).apply(batch, 1).images.into_data().iter().collect();
        let is_grey = |image: &&[f32]| image.iter().any(|value| value.fract() != 0.0);
        count - mixed.chunks_exact(3 * 9 * 7).filter(is_grey).count()
    };
    assert_eq!(cut(0.0, 1.0), count);
    assert!(cut(1.0, 0.0) < 10);
    let both = cut(1.0, 1.0);
    assert!((150..250).contains(&both), "{both} of {count}"); // five deviations
}
