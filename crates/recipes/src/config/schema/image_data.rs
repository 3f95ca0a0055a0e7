//! `[data]` of the recipes that learn from images.

use std::path::PathBuf;

use data::{
    Fractions, ImageShape, Order, Residency, Resize,
    drawn::Drawing,
    image_folder::{ImageFolderOptions, OnBadImage},
};
use serde::{Deserialize, Serialize};

use crate::{
    config::{
        check::{Check, Checker},
        or_empty,
        schema::fractions::{check_fractions, refuse_fraction_of_drawn},
    },
    inputs::class_weights::ClassWeighting,
};

/// The table `[data]`: generated images or the user's own, and how they are split.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ImageData {
    /// Where the images come from.
    pub source: ImageOrigin,
    /// What is drawn, for synthetic images.
    pub drawing: Drawing,
    /// How many synthetic images to train on; a fifth as many are generated to test on.
    pub samples: usize,
    /// The folder of the files.
    #[serde(default, with = "or_empty")]
    pub path: Option<PathBuf>,
    /// The height and width to resize images to; by default, their own or the backbone's.
    #[serde(default, with = "or_empty")]
    pub size: Option<usize>,
    /// 1 for grey, 3 for colour; by default, the source's.
    #[serde(default, with = "or_empty")]
    pub channels: Option<usize>,
    /// How images are resized.
    pub resize: Resize,
    /// How pixels become the network's input.
    pub normalise: Normalise,
    /// What to do with a file that cannot be decoded.
    pub on_bad_image: OnBadImage,
    /// A folder to cache decoded images in.
    #[serde(default, with = "or_empty")]
    pub cache: Option<PathBuf>,
    /// The order of the samples in an epoch.
    pub order: Order,
    /// The fraction of non-held-out images to train on.
    pub fraction: f64,
    /// The fraction of the training split to hold out, if there is no validation split.
    #[serde(default, with = "or_empty")]
    pub validation: Option<f64>,
    /// The fraction of the training split to hold out to test on at the end, if there is no test split.
    pub test: f64,
    /// How much each class counts in the loss to train on.
    pub class_weights: ClassWeighting,
    /// Threads that prepare batches, for images that are not on the device.
    pub workers: usize,
    /// Where the images are kept while training.
    pub residency: Residency,
}

/// The value of `data.source`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ImageOrigin {
    /// Drawn from the seed.
    Synthetic,
    /// Read from files in MNIST's format.
    Idx,
    /// Read from CIFAR-10's binary files.
    Cifar10,
    /// Read from a folder with a folder of images for each class.
    ImageFolder,
}

/// The value of `data.normalise`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Normalise {
    /// To mean 0 and standard deviation 1 in each channel of the training split.
    Measured,
    /// To 0 for black and 1 for white.
    Unit,
}

/// Keys for synthetic images only.
pub(crate) const SYNTHETIC_KEYS: [&str; 2] = ["data.drawing", "data.samples"];
/// Keys for a folder of pictures only.
const FOLDER_KEYS: [&str; 2] = ["data.on_bad_image", "data.cache"];
/// The longest side, in pixels, and the most threads; a higher value is a slip.
const MAX_SIDE: usize = 4096;
const MAX_WORKERS: usize = 256;

/// The side that a folder's pictures are resized to, in pixels, unless told otherwise.
pub(crate) const FOLDER_SIDE: usize = 64;

/// The share held out to validate on, unless told otherwise.
const HELD_OUT: f64 = 0.1;

impl Check for ImageData {
    fn check(&self, checker: &mut Checker<'_>) {
        let side = self.size.is_none_or(|side| (1..=MAX_SIDE).contains(&side));
        checker.require("data.samples", self.samples >= 10, "at least 10, one for each class");
        checker.require("data.size", side, "1 to 4096 pixels");
        checker.require("data.channels", matches!(self.channels, None | Some(1 | 3)), "1 or 3");
        check_fractions(self.fractions(false, false), checker);
        checker.require("data.workers", self.workers <= MAX_WORKERS, "at most 256");

        if self.source != ImageOrigin::ImageFolder {
            checker.only_with("data.source", "image-folder", &FOLDER_KEYS);
        }
        if self.source == ImageOrigin::Synthetic {
            if checker.is_changed("data.path") {
                checker.conflict(
                    "data.path",
                    "`data.path` has no effect with `data.source = \"synthetic\"`",
                    "leave it out, or set `data.source` to what it holds: \"image-folder\", \"idx\" (MNIST's \
                     files) or \"cifar10\"",
                );
            }
            refuse_fraction_of_drawn(checker);
            return;
        }
        checker.only_with("data.source", "synthetic", &SYNTHETIC_KEYS);
        checker.needs("data.source", "data.path", "name the folder: `--set data.path=FOLDER`");
    }
}

impl ImageData {
    /// The image-folder source's options, once the configuration was checked.
    pub(crate) fn folder_options(&self) -> ImageFolderOptions {
        ImageFolderOptions {
            path: self.path.clone().unwrap_or_default(),
            size: [self.size.unwrap_or(FOLDER_SIDE); 2],
            channels: self.channels.unwrap_or(3),
            resize: self.resize,
            on_bad_image: self.on_bad_image,
            cache: self.cache.clone(),
        }
    }

    /// Sets the size of a folder's pictures where it was left open.
    pub(crate) fn choose_size(&mut self) {
        if self.source == ImageOrigin::ImageFolder {
            self.size.get_or_insert(FOLDER_SIDE);
        }
    }

    /// What the user should know if the size of a folder's pictures was left open, and this is chosen.
    pub(crate) fn note_on_size(&self, side: usize) -> Option<String> {
        let is_open = self.source == ImageOrigin::ImageFolder && self.size.is_none();
        is_open.then(|| {
            format!(
                "pictures are resized to {side}x{side}; `--set data.size=N` chooses another side"
            )
        })
    }

    /// What is held out of the training split for splits that the data do not have.
    pub(crate) fn fractions(&self, has_validation: bool, has_test: bool) -> Fractions {
        let validation = self.validation.unwrap_or(HELD_OUT);
        Fractions { train: self.fraction, validation, test: self.test }
            .unless_there(has_validation, has_test)
    }

    /// The shape to resize images of `shape` to; networks take square ones.
    pub(crate) fn fitted(&self, shape: ImageShape) -> ImageShape {
        let side = self.size.unwrap_or_else(|| shape.height.max(shape.width));
        let channels = self.channels.unwrap_or(shape.channels);
        ImageShape { channels, height: side, width: side }
    }
}
