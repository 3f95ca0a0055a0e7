//! What a user asks for, the table `[augment]`.

use serde::{Deserialize, Serialize};

/// What is done to images while training, the table `[augment]`. By default, nothing is.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct AugmentOptions {
    /// Pixels of black around an image before a part of its size is cut out.
    pub crop_padding: usize,
    /// The least fraction of an image's area to crop and resize, with an aspect ratio between
    /// 3:4 and 4:3; 0 for none.
    pub random_resized_crop: f64,
    /// The probability of a left-right flip.
    pub horizontal_flip: f64,
    /// The probability of a top-bottom flip.
    pub vertical_flip: f64,
    /// The most degrees to rotate by, either way.
    pub rotate: f64,
    /// The least and the greatest factor to enlarge by.
    pub scale: [f64; 2],
    /// The most degrees to shear by, either way.
    pub shear: f64,
    /// The greatest fraction of its width and height to move an image by, either way.
    pub translate: f64,
    /// How far the factor of brightness may be from 1.
    pub brightness: f64,
    /// How far the factor of contrast may be from 1.
    pub contrast: f64,
    /// How far the factor of saturation may be from 1. Grey images have none.
    pub saturation: f64,
    /// How far to turn the colour wheel, either way, as a fraction of a turn.
    pub hue: f64,
    /// The probability of removing the colours.
    pub grey: f64,
    /// The side, in pixels, of a square to blot out; 0 for none.
    pub cutout: usize,
    /// How much to mix an image with another of the same micro-batch, the parameter of a
    /// symmetric beta distribution; 0 for none.
    pub mixup: f64,
    /// How much of an image to replace by another's, the parameter of a symmetric beta
    /// distribution; 0 for none. With `mixup`, each image has one of the two.
    pub cutmix: f64,
    /// The share of the label that is spread evenly over all classes. The program's loss does
    /// this, as with `models::losses::label_smoothed`.
    pub label_smoothing: f64,
}

impl Default for AugmentOptions {
    fn default() -> Self {
        Self {
            crop_padding: 0,
            random_resized_crop: 0.0,
            horizontal_flip: 0.0,
            vertical_flip: 0.0,
            rotate: 0.0,
            scale: [1.0, 1.0],
            shear: 0.0,
            translate: 0.0,
            brightness: 0.0,
            contrast: 0.0,
            saturation: 0.0,
            hue: 0.0,
            grey: 0.0,
            cutout: 0,
            mixup: 0.0,
            cutmix: 0.0,
            label_smoothing: 0.0,
        }
    }
}

/// Above the sides of any picture, and far below what could overflow.
const MOST_PIXELS: usize = 1 << 16;

impl AugmentOptions {
    /// Every key whose value cannot be, with what it must be.
    pub fn mistakes(&self) -> Vec<(&'static str, &'static str)> {
        let within = |value: f64, most: f64| (0.0..=most).contains(&value);
        let [least, greatest] = self.scale;
        let fraction = "between 0 and 1";
        let factor = "between 0 and 100";
        // Of less, the logarithms of gamma variates overflow.
        let concentration = |value: f64| value == 0.0 || (1e-300..=f64::MAX).contains(&value);
        let concentrated = "0, or a number of at least 1e-300";
        let conditions = [
            ("random_resized_crop", within(self.random_resized_crop, 1.0), fraction),
            ("horizontal_flip", within(self.horizontal_flip, 1.0), fraction),
            ("vertical_flip", within(self.vertical_flip, 1.0), fraction),
            ("rotate", within(self.rotate, 180.0), "between 0 and 180 degrees"),
            (
                "scale",
                0.0 < least && least <= greatest && greatest.is_finite(),
                "two factors above 0, the lesser first",
            ),
            ("shear", within(self.shear, 80.0), "between 0 and 80 degrees"),
            ("translate", within(self.translate, 1.0), fraction),
            ("brightness", within(self.brightness, 100.0), factor),
            ("contrast", within(self.contrast, 100.0), factor),
            ("saturation", within(self.saturation, 100.0), factor),
            ("hue", within(self.hue, 0.5), "between 0 and 0.5"),
            ("grey", within(self.grey, 1.0), fraction),
            ("mixup", concentration(self.mixup), concentrated),
            ("cutmix", concentration(self.cutmix), concentrated),
            ("cutout", self.cutout <= MOST_PIXELS, "at most 65536 pixels"),
            (
                "label_smoothing",
                (0.0..1.0).contains(&self.label_smoothing),
                "at least 0 and below 1",
            ),
            (
                "crop_padding",
                self.crop_padding == 0 || self.random_resized_crop == 0.0,
                "0 beside `random_resized_crop`",
            ),
            ("crop_padding", self.crop_padding <= MOST_PIXELS, "at most 65536 pixels"),
        ];
        let wrong = conditions.into_iter().filter(|&(_, holds, _)| !holds);
        wrong.map(|(key, _, expected)| (key, expected)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_the_default_and_a_slip_is_noticed() {
        let options: AugmentOptions = serde_json::from_str("{}").unwrap();
        assert_eq!((options.clone(), options.mistakes()), (AugmentOptions::default(), vec![]));
        assert!(serde_json::from_str::<AugmentOptions>(r#"{"flip": 0.5}"#).is_err());
    }

    #[test]
    fn every_mistake_is_named() {
        let options = AugmentOptions {
            horizontal_flip: f64::NAN,
            scale: [1.2, 0.8],
            hue: 0.6,
            crop_padding: 4,
            random_resized_crop: 0.1,
            ..Default::default()
        };
        let keys: Vec<_> = options.mistakes().into_iter().map(|(key, _)| key).collect();
        assert_eq!(keys, ["horizontal_flip", "scale", "hue", "crop_padding"]);

        let mistakes = |options: AugmentOptions| options.mistakes();
        let pixels = "at most 65536 pixels";
        let padded = AugmentOptions { crop_padding: usize::MAX / 2, ..Default::default() };
        assert_eq!(mistakes(padded), [("crop_padding", pixels)]);
        let cut = AugmentOptions { cutout: usize::MAX, ..Default::default() };
        assert_eq!(mistakes(cut), [("cutout", pixels)]);
        let mixed = AugmentOptions { mixup: 1e-310, cutmix: 1e-4, ..Default::default() };
        assert_eq!(mistakes(mixed), [("mixup", "0, or a number of at least 1e-300")]);
    }
}
