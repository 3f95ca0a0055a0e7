//! The tables that recipes share, with the ranges of their keys.
//!
//! There are no defaults here: each recipe's TOML gives a value to every key that is not optional.

mod dense_layers;
mod fractions;
mod image_data;
mod optimizer;
mod schedule;
mod table_data;
mod text_data;
mod training;

use std::collections::BTreeMap;

use ::data::{ImageShape, ImageSource, augment::AugmentOptions};
use ::training::{
    CheckpointConfig, Group, InvalidSetting, OptimizerConfig, ScheduleConfig, TrainerConfig,
};
use backend::Precision;
use serde::{Deserialize, Serialize};

pub(crate) use self::{
    dense_layers::{check_dropout, check_widths},
    image_data::{FOLDER_SIDE, SYNTHETIC_KEYS as SYNTHETIC_IMAGE_KEYS},
    table_data::SYNTHETIC_KEYS as SYNTHETIC_TABLE_KEYS,
    training::refuse_unsupported,
};
pub use self::{
    image_data::{ImageData, ImageOrigin, Normalise},
    table_data::{Source, TableData},
    text_data::{TextData, TextOrigin},
    training::{ModelChoice, Monitored, Output, Training},
};
use super::check::{Check, Checker};
use crate::inputs::data_notes::note_on_sizes;

/// The configuration of a recipe, which defines the tables `Data` and `Model`, and `Augment` if it
/// has one.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Config<Data, Model, Augment = NoSettings> {
    /// The recipe's name, by which a file says what it configures.
    pub recipe: String,
    /// What to train on.
    pub data: Data,
    /// How samples are augmented while training.
    #[serde(default, skip_serializing_if = "has_no_settings")]
    pub augment: Augment,
    /// The network.
    pub model: Model,
    /// How a gradient becomes an update.
    pub optimizer: OptimizerConfig,
    /// How the learning rate changes over the steps.
    pub schedule: ScheduleConfig,
    /// How long and in what batches to train.
    pub training: Training,
    /// When to write checkpoints.
    pub checkpoint: CheckpointConfig,
    /// What to report and keep.
    pub output: Output,
}

/// The configuration of a recipe that learns from images.
pub type ImageConfig<Model> = Config<ImageData, Model, AugmentOptions>;

/// A table of a recipe that has no settings for it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NoSettings {}

/// Whether a table is [`NoSettings`], the only one without any value.
fn has_no_settings<Table>(_: &Table) -> bool {
    size_of::<Table>() == 0
}

impl Check for NoSettings {
    fn check(&self, _: &mut Checker<'_>) {}
}

impl Check for AugmentOptions {
    fn check(&self, checker: &mut Checker<'_>) {
        for (key, rule) in self.mistakes() {
            checker.require(&format!("augment.{key}"), false, rule);
        }
    }
}

impl<Data: Check, Model: Check, Augment: Check> Check for Config<Data, Model, Augment> {
    fn check(&self, checker: &mut Checker<'_>) {
        self.data.check(checker);
        self.augment.check(checker);
        self.model.check(checker);
        // The trainer defines the ranges of its settings itself.
        for InvalidSetting { key, expected, .. } in self.trainer(1).invalid_settings() {
            checker.require(&key, false, expected);
        }
        self.optimizer.check(checker);
        schedule::check(&self.schedule, self.training.epochs, checker);
        self.training.check(checker);
    }
}

impl<Data, Model, Augment> Config<Data, Model, Augment> {
    /// The trainer's settings, for epochs of `steps_per_epoch` updates.
    pub(crate) fn trainer(&self, steps_per_epoch: usize) -> TrainerConfig {
        let Self { optimizer, schedule, training, checkpoint, output, .. } = self;
        TrainerConfig {
            optimizer: optimizer.clone(),
            schedule: schedule.clone(),
            parameter_groups: Vec::new(),
            epochs: training.epochs,
            steps_per_epoch,
            max_steps: training.max_steps,
            clip_norm: training.clip_norm,
            loss_scaling: training.precision == Precision::F16,
            ema: training.ema,
            monitor: training.monitor.into(),
            patience: training.patience,
            minimum_improvement: training.minimum_improvement,
            log_every_steps: output.log_every_steps as u64,
            keep_best: output.model == ModelChoice::Best,
            checkpoint: checkpoint.clone(),
            fingerprints: BTreeMap::new(),
            work: None,
            group: Group::alone(),
        }
    }

    /// What chooses the epoch whose model is kept; none where it is the last.
    pub(crate) fn chooses_by(&self, validates: bool) -> Option<Monitored> {
        (validates && self.output.model == ModelChoice::Best).then_some(self.training.monitor)
    }
}

impl<Model> ImageConfig<Model> {
    /// What the user should know of these settings for such images to train on, a sentence each.
    ///
    /// - `held_out`: how many others there are to validate and to test on
    /// - `processes`: how many train together
    pub(crate) fn notes(
        &self,
        train: &dyn ImageSource,
        held_out: [Option<usize>; 2],
        processes: usize,
    ) -> impl Iterator<Item = String> {
        let (labels, chooses) = (train.labels(), self.chooses_by(held_out[0].is_some()));
        let sizes = (self.data.source != ImageOrigin::Synthetic)
            .then(|| note_on_sizes("image", labels.len(), held_out));
        let of_classes = self.data.class_weights.note(labels, train.classes(), chooses);
        let of_augmentation = self.notes_on_augmentation(train.shape(), processes);
        let of_augmentation = of_augmentation.into_iter().flatten();
        sizes.into_iter().chain(of_augmentation).chain(of_classes)
    }

    /// Notes on how images of this shape are augmented, and if that leaves little of them or has no effect.
    fn notes_on_augmentation(&self, images: ImageShape, processes: usize) -> [Option<String>; 5] {
        let AugmentOptions { cutout, crop_padding, mixup, cutmix, saturation, hue, grey, .. } =
            self.augment;
        let ImageShape { height, width, channels } = images;
        let of_colours = [("saturation", saturation), ("hue", hue), ("grey", grey)];
        let of_colours = of_colours.iter().filter(|(_, by)| channels == 1 && *by > 0.0);
        let in_vain: Vec<String> =
            of_colours.map(|(name, _)| format!("`augment.{name}`")).collect();
        let too_much = |name: &str, pixels: usize, what: &str| {
            (pixels >= height.min(width)).then(|| {
                format!("`augment.{name}` is {pixels}, and pictures are {height}x{width}: {what}")
            })
        };
        let at_a_time = self.training.at_a_time(processes);
        let [own, nothing] = [&self.augment, &AugmentOptions::default()]
            .map(|options| serde_json::to_value(options).expect("settings have a form in JSON"));
        let chosen =
            own.as_object().into_iter().flatten().filter(|(key, own)| nothing[*key] != **own);
        let chosen: Vec<String> = chosen.map(|(key, own)| format!("`{key}={own}`")).collect();
        let mixes = (mixup > 0.0 || cutmix > 0.0) && at_a_time == 1;
        [
            (!chosen.is_empty())
                .then(|| format!("while training, `[augment]` has {}", chosen.join(", "))),
            too_much("cutout", cutout, "it may cover a whole one"),
            too_much("crop_padding", crop_padding, "little of one may be left"),
            mixes.then(|| {
                "`augment.mixup` and `augment.cutmix` have no effect on one picture at a time: they mix \
                 those of a batch, or of a micro-batch, within a process"
                    .to_owned()
            }),
            (!in_vain.is_empty()).then(|| {
                format!("without effect, since pictures are grey: {}", in_vain.join(", "))
            }),
        ]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{cnn, config::SettingsLayer};

    #[test]
    fn pictures_that_may_be_mixed_are_those_of_a_process() {
        let mixes = |settings: &[&str], processes| {
            let settings = [&["augment.mixup=0.2", "training.batch_size=4"], settings].concat();
            let layers = SettingsLayer::sets(&settings);
            let config: ImageConfig<cnn::Model> = cnn::RECIPE.resolve(layers).unwrap();
            let images = ImageShape { channels: 1, height: 28, width: 28 };
            let notes = config.notes_on_augmentation(images, processes);
            !notes.into_iter().flatten().any(|note| note.contains("on one picture at a time"))
        };
        assert!(mixes(&[], 1) && mixes(&[], 3) && mixes(&["training.micro_batch=3"], 2));
        assert!(!mixes(&[], 4) && !mixes(&["training.micro_batch=1"], 1));
    }
}
