//! A description of a run and its costs, before it begins.

use backend::{Arithmetic, Precision};
use models::{Architecture, Layer, losses_of_a_sample, training_multiply_adds};
use serde::Serialize;
use training::{TrainError, TrainerConfig};

use crate::{
    Failure,
    config::Training,
    planning::{
        memory::{Footprint, MemoryBytes},
        odd_settings::odd,
    },
    registry::Recipe,
};

/// Points of the learning-rate schedule.
const POINTS: u64 = 200;

/// A run that has not begun.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct Plan {
    /// The recipe's name.
    pub(crate) recipe: String,
    /// The shape of a sample: `[features]`, `[channels, height, width]`, or `[time]` of a text.
    pub(crate) sample: Vec<usize>,
    /// The network, in the order in which its layers run.
    pub(crate) layers: Vec<PlannedLayer>,
    /// Numbers in the network.
    pub(crate) parameters: usize,
    /// Those that are trained.
    pub(crate) trainable_parameters: usize,
    /// Multiply-adds of the forward pass of one sample.
    pub(crate) multiply_adds: u64,
    /// Multiply-adds of all steps, backward passes included, without validation.
    pub(crate) training_multiply_adds: f64,
    /// Estimated.
    pub(crate) memory_bytes: MemoryBytes,
    /// How to have less in memory at a time.
    #[serde(skip)]
    pub(crate) fewer_at_a_time: String,
    /// The precision of its products.
    pub(crate) precision: Precision,
    /// How exactly they are computed.
    pub(crate) arithmetic: Arithmetic,
    /// Samples per update.
    pub(crate) batch_size: usize,
    /// Epochs begun.
    pub(crate) epochs: u64,
    /// Updates per epoch.
    pub(crate) steps_per_epoch: u64,
    /// Updates of the run.
    pub(crate) steps: u64,
    /// Samples seen, counting repetitions; where each position of a text has a loss, positions.
    pub(crate) samples: u64,
    /// 1, or the positions of a text, each of which has a loss.
    pub(crate) losses_of_a_sample: usize,
    /// Whether the run may end before all its steps.
    pub(crate) may_stop_early: bool,
    /// The learning rate of some steps, counted from 1; the first and the last are among them.
    pub(crate) learning_rates: Vec<(u64, f64)>,
    /// Notes to the user, a sentence each.
    pub(crate) notes: Vec<String>,
}

/// A layer, and whether it is trained.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct PlannedLayer {
    /// The layer.
    #[serde(flatten)]
    pub(crate) layer: Layer,
    /// Whether its parameters are trained.
    pub(crate) trained: bool,
}

/// What a recipe knows of a run before it begins.
pub(crate) struct Outline<'a> {
    pub(crate) recipe: &'static Recipe,
    /// The shape of a sample.
    pub(crate) sample: Vec<usize>,
    pub(crate) architecture: Architecture,
    pub(crate) frozen: FrozenLayers,
    /// Samples of the training split.
    pub(crate) samples: usize,
    pub(crate) training: &'a Training,
    pub(crate) trainer: TrainerConfig,
    /// Whether there is a split for validation.
    pub(crate) validates: bool,
    /// Bytes of the samples on the device.
    pub(crate) data_bytes: usize,
    pub(crate) notes: Vec<String>,
}

/// The first layers of a network, which are not trained.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct FrozenLayers {
    pub(crate) count: usize,
    /// Whether their outputs are computed once and kept.
    pub(crate) kept: bool,
}

impl FrozenLayers {
    /// Multiply-adds of a sample each time that it is trained on, the backward pass included.
    pub(crate) fn training_multiply_adds(self, layers: &[Layer]) -> f64 {
        let (frozen, trained) = layers.split_at(self.count);
        let frozen = if self.kept { 0 } else { multiply_adds(frozen) };
        (training_multiply_adds(trained) + frozen) as f64
    }
}

impl Outline<'_> {
    pub(crate) fn plan(mut self) -> Result<Plan, Failure> {
        self.trainer = self.trainer.keep_best_if(self.validates);
        if let Some(invalid) = self.trainer.invalid_settings().into_iter().next() {
            return Err(TrainError::Config(invalid).into());
        }
        let mut notes = self.notes.clone();
        let Training { batch_size, arithmetic, precision, .. } = *self.training;
        notes.extend(odd(&self.trainer, batch_size, precision));
        notes.extend(
            self.trainer.notes_without_validation().into_iter().filter(|_| !self.validates),
        );
        let layers = self.architecture.layers(&self.sample);
        let losses_of_a_sample = losses_of_a_sample(&layers);
        let (frozen, trained) = layers.split_at(self.frozen.count);
        let parameters =
            |layers: &[Layer]| layers.iter().map(|layer| layer.parameters).sum::<usize>();
        let trainable_parameters = parameters(trained);

        let memory = Footprint {
            sample: &self.sample,
            layers: &layers,
            frozen: self.frozen,
            samples: self.samples,
            divides: self.recipe.divides,
            training: self.training,
            processes: 1,
            trainer: &self.trainer,
        };
        let fewer_at_a_time = memory.fewer_at_a_time();
        let memory = memory.bytes(self.data_bytes);

        let length = self.trainer.length();
        let epochs = length.steps / length.steps_per_epoch.max(1);
        let rest = length.steps % length.steps_per_epoch.max(1);
        let in_epoch = self.samples as u64;
        let in_rest = in_epoch.min(rest.saturating_mul(batch_size as u64));
        let passes = epochs.saturating_mul(in_epoch).saturating_add(in_rest);
        let once =
            if self.frozen.kept { multiply_adds(frozen) as f64 * in_epoch as f64 } else { 0.0 };
        let training_multiply_adds =
            self.frozen.training_multiply_adds(&layers) * passes as f64 + once;

        Ok(Plan {
            recipe: self.recipe.name.to_owned(),
            parameters: parameters(&layers),
            trainable_parameters,
            multiply_adds: multiply_adds(&layers),
            training_multiply_adds,
            memory_bytes: memory,
            fewer_at_a_time,
            precision,
            arithmetic,
            batch_size,
            epochs: epochs + u64::from(rest > 0),
            steps_per_epoch: length.steps_per_epoch,
            steps: length.steps,
            samples: passes.saturating_mul(losses_of_a_sample as u64),
            losses_of_a_sample,
            may_stop_early: self.validates && self.training.patience.is_some(),
            learning_rates: self.learning_rates(),
            layers: planned(layers, self.frozen.count),
            sample: self.sample,
            notes,
        })
    }

    fn learning_rates(&self) -> Vec<(u64, f64)> {
        let TrainerConfig { optimizer, schedule, .. } = &self.trainer;
        let length = self.trainer.length();
        let last = length.steps.saturating_sub(1);
        let points = length.steps.min(POINTS);
        // In 128 bits, since steps may fill 64.
        let step = |point: u64| {
            (u128::from(point) * u128::from(last) / u128::from(points.max(2) - 1)) as u64
        };
        let rate = |step| (step + 1, schedule.learning_rate(optimizer.learning_rate, step, length));
        (0..points).map(step).map(rate).collect()
    }
}

/// Multiply-adds of the forward pass of one sample.
fn multiply_adds(layers: &[Layer]) -> u64 {
    layers.iter().map(|layer| layer.multiply_adds).sum()
}

fn planned(layers: Vec<Layer>, frozen: usize) -> Vec<PlannedLayer> {
    let planned = |(index, layer): (usize, Layer)| PlannedLayer { layer, trained: index >= frozen };
    layers.into_iter().enumerate().map(planned).collect()
}

#[cfg(test)]
mod tests {
    use std::ops::ControlFlow;

    use super::*;
    use crate::{config::SettingsLayer, registry::find};

    fn plan(recipe: &str, settings: &[&str]) -> Result<Plan, Failure> {
        let layers = settings.iter().map(|setting| SettingsLayer::set(setting)).collect();
        (find(recipe).unwrap().plan)(layers, &mut |_, _, _| ControlFlow::Continue(()))
    }

    #[test]
    fn the_numbers_are_those_that_are_known() {
        let mlp = plan("mlp", &["data.labels=random"]).unwrap();
        assert_eq!((mlp.parameters, mlp.trainable_parameters), (221, 221));
        assert_eq!((mlp.steps, mlp.steps_per_epoch, mlp.samples), (12_500, 25, 500_000));
        // 20 x 10 and 10 x 1, three passes, less the gradient of the data.
        assert_eq!(mlp.training_multiply_adds, (3.0 * 210.0 - 200.0) * 500_000.0);
        // Adam has two numbers for a parameter; each sample has 20 features and a label; of a batch
        // of 40 there are 20, 10 and 1 values a sample. Without validation no epoch is the best.
        let memory = mlp.memory_bytes;
        let expected = [884, 884, 2 * 884, 0, 0, 40 * 31 * 4, 1000 * 21 * 4];
        let MemoryBytes { weights, gradients, optimizer, average, best, activations, data, .. } =
            memory;
        assert_eq!([weights, gradients, optimizer, average, best, activations, data], expected);
        assert_eq!(memory.total, expected.iter().sum::<usize>() + memory.program);

        let cnn = plan("cnn", &["data.samples=100"]).unwrap();
        assert_eq!((cnn.parameters, cnn.multiply_adds), (93_322, 2_794_240));
        assert_eq!(cnn.sample, [1, 28, 28]);
    }

    #[test]
    fn a_run_that_ends_within_an_epoch_sees_fewer_samples() {
        // 90 samples are left of 100; an epoch has batches of 40, 40 and 10.
        let settings = |steps: &str| {
            let steps = format!("training.max_steps={steps}");
            let settings = ["data.samples=100", "training.batch_size=40", "training.epochs=5"];
            plan("cnn", &[&settings[..], &[steps.as_str()]].concat()).unwrap()
        };
        let samples = |steps| settings(steps).samples;
        assert_eq!([samples("2"), samples("3"), samples("4"), samples("")], [80, 90, 130, 450]);
        assert_eq!((settings("4").epochs, settings("4").steps), (2, 4));
    }

    #[test]
    fn only_a_run_that_is_validated_may_stop_early() {
        let may_stop = |recipe, patience: &str| {
            plan(recipe, &["data.samples=100", patience]).unwrap().may_stop_early
        };
        assert!(may_stop("cnn", "training.patience=3"));
        assert!(!may_stop("cnn", "training.patience="));
        assert!(!may_stop("mlp", "training.patience=3"), "all samples are trained on");
    }

    #[test]
    fn the_longest_run_that_can_be_trained_can_be_planned() {
        let plan = |epochs: &str| plan("mlp", &[&format!("training.epochs={epochs}")]);
        let longest = plan("500000000000000000").unwrap();
        assert_eq!((longest.steps, longest.samples), (12_500_000_000_000_000_000, u64::MAX));
        let (first, last) = (longest.learning_rates[0].0, longest.learning_rates[199].0);
        assert_eq!((first, last), (1, longest.steps));
        let refused = plan("1000000000000000000").unwrap_err().to_string();
        assert!(refused.starts_with("`training.epochs` is 1000"), "{refused}");
    }

    #[test]
    fn memory_follows_the_settings() {
        let memory = |settings: &[&str]| {
            let settings = [&["data.samples=100", "output.model=final"], settings].concat();
            plan("cnn", &settings).unwrap().memory_bytes
        };
        let usual = memory(&["training.batch_size=80"]);
        let (weights, images) = (93_322 * 4, 120 * 28 * 28);
        assert_eq!((usual.weights, usual.best, usual.data), (weights, 0, images));
        assert_eq!(memory(&["output.model=best"]).best, weights);
        assert_eq!(memory(&["optimizer.kind=sgd"]).optimizer, 0);
        let velocity = memory(&["optimizer.kind=sgd", "optimizer.momentum=0.9"]).optimizer;
        assert_eq!(velocity, weights);
        assert_eq!(memory(&["training.ema=0.9"]).average, weights);
        assert_eq!(memory(&["data.residency=host"]).data, 0);
        let parts = memory(&["training.batch_size=80", "training.micro_batch=20"]);
        assert_eq!(4 * parts.activations, usual.activations);
        // Three parts of 25, not two of 30 and one of 15.
        let uneven = memory(&["training.batch_size=75", "training.micro_batch=30"]).activations;
        assert_eq!(uneven, memory(&["training.batch_size=25"]).activations);
        // Of 100 pictures 90 are trained on.
        let all = memory(&["training.batch_size=90"]).activations;
        assert_eq!(memory(&["training.batch_size=1000"]).activations, all);
    }

    #[test]
    fn where_memory_lacks_what_is_told_to_be_lowered_makes_it_less() {
        let fewer = |recipe, settings: &[&str]| {
            plan(recipe, &[&["data.samples=100"], settings].concat()).unwrap().fewer_at_a_time
        };
        assert!(fewer("cnn", &[]).starts_with("lower `training.batch_size`, which is "));
        let parts = "training.micro_batch=20";
        assert_eq!(fewer("cnn", &[parts]), "lower `training.micro_batch`, which is 20");
        // The features of 64 pictures take more than a batch of the head.
        let features = fewer("vgg", &[]);
        assert!(features.starts_with("set `training.micro_batch` below 64, "), "{features}");
        assert!(
            fewer("vgg", &["augment.horizontal_flip=0.5"]).starts_with("lower `training.batch")
        );
    }

    #[test]
    fn what_is_frozen_costs_no_gradients_and_what_is_kept_is_computed_once() {
        let vgg = |settings: &[&str]| {
            plan("vgg", &[&["data.samples=100", "training.epochs=4"], settings].concat()).unwrap()
        };
        let (kept, random) = (vgg(&[]), vgg(&["augment.horizontal_flip=0.5"]));
        let (tuned, all) = (vgg(&["model.fine_tune=true"]), vgg(&["model.weights=none"]));
        // 128 x 4 x 4 features to 256 units, and those to ten classes.
        assert_eq!(kept.trainable_parameters, 2048 * 256 + 256 + 256 * 10 + 10);
        assert_eq!(kept.memory_bytes.gradients, 4 * kept.trainable_parameters);
        assert!(kept.trainable_parameters < tuned.trainable_parameters);
        assert!(tuned.trainable_parameters < all.trainable_parameters);
        assert_eq!(all.trainable_parameters, all.parameters);
        assert!(all.layers.iter().all(|layer| layer.trained));
        let frozen = |plan: &Plan| plan.layers.iter().filter(|layer| !layer.trained).count();
        assert!(frozen(&tuned) > 0 && frozen(&tuned) < frozen(&kept));

        let head = 2048.0 * 256.0 + 256.0 * 10.0;
        let features = kept.multiply_adds as f64 - head;
        // The first layer that is trained has no use for the gradient of its inputs.
        let head_step = 3.0 * head - 2048.0 * 256.0;
        let all_step = 3.0 * (head + features) - all.layers[0].layer.multiply_adds as f64;
        assert_eq!(kept.training_multiply_adds, 90.0 * (4.0 * head_step + features));
        assert_eq!(random.training_multiply_adds, 4.0 * 90.0 * (head_step + features));
        assert_eq!(all.training_multiply_adds, 4.0 * 90.0 * all_step);
        // Two of the largest outputs, 32 maps of 32x32, of 64 pictures at a time.
        assert_eq!(kept.memory_bytes.activations, 64 * 2 * (32 * 32 * 32) * 4);
        assert!(kept.memory_bytes.activations < random.memory_bytes.activations);
        assert!(random.memory_bytes.activations < all.memory_bytes.activations);
    }

    #[test]
    fn the_learning_rate_is_followed_from_the_first_step_to_the_last() {
        let settings = ["schedule.kind=cosine", "schedule.warmup_steps=100"];
        let rates = plan("mlp", &settings).unwrap().learning_rates;
        assert_eq!((rates.len(), rates[0].0, rates[199].0), (200, 1, 12_500));
        assert!(rates[0].1 < 1e-4 && rates[199].1 < 1e-8);
        let one = plan("mlp", &["training.max_steps=1"]).unwrap();
        assert_eq!(one.learning_rates, [(1, 1e-3)]);
    }

    #[test]
    fn what_training_would_note_is_noted() {
        let notes = |recipe, settings: &[&str]| plan(recipe, settings).unwrap().notes.join("; ");
        let improvement = notes("mlp", &["training.minimum_improvement=0.1"]);
        assert!(improvement.contains("has no effect without `training.patience`"), "{improvement}");
        let milestones = |milestones: &str| {
            let milestones = format!("schedule.milestones={milestones}");
            notes("mlp", &["schedule.kind=step", &milestones, "training.max_steps=30"])
        };
        // An epoch has 25 steps, so the second begins.
        let unreached = milestones("[1,2,9]");
        let told = "the run has 2 epochs, counted from 0, so it never reaches [2, 9] of";
        assert!(unreached.contains(told), "{unreached}");
        assert!(!milestones("[1]").contains("milestones"));
        let undecayed = notes("mlp", &["optimizer.kind=adamw"]);
        assert!(undecayed.contains("`optimizer.weight_decay` is 0"), "{undecayed}");
        let decayed = notes("mlp", &["optimizer.kind=adamw", "optimizer.weight_decay=0.01"]);
        assert!(!decayed.contains("weight_decay"), "{decayed}");
        let patience = notes("mlp", &["training.patience=2"]);
        assert!(patience.contains("there is no validation split"), "{patience}");
        let cutout = notes("cnn", &["data.samples=100", "augment.cutout=28"]);
        assert!(cutout.contains("it may cover a whole one"), "{cutout}");
    }

    #[test]
    fn a_mistake_is_the_one_that_training_would_name() {
        let message = |recipe, setting| plan(recipe, &[setting]).unwrap_err().to_string();
        assert!(message("mlp", "training.epochs=0").contains("`training.epochs` must be"));
        assert!(message("cnn", "training.sync_batch_norm=true").contains("has no effect"));
        assert!(message("mlp", "training.sync_batch_norm=true").contains("has no effect"));
        assert!(message("cnn", "data.size=4").contains("images of 4x4 are too small"));
        // Before any picture is looked for.
        let nowhere = "data={source=\"image-folder\", path=\"nowhere\", size=4}";
        assert!(message("cnn", nowhere).contains("images of 4x4 are too small"));
        assert!(message("vgg", "model.weights=none.pth").contains("none.pth"));
        assert!(message("lstm-char", "model.dropout=0.2").contains("it acts between layers"));
        assert!(message("lstm", "data.path=none.txt").contains("none.txt"));
    }
}
