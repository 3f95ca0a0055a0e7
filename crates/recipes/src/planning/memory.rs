//! How much memory a run takes on the device, and what makes it less.

use backend::{Backend, Selected};
use data::Residency;
use models::Layer;
use serde::Serialize;
use training::TrainerConfig;

use crate::{config::Training, numbers::size, planning::plan::FrozenLayers};

/// Bytes of the program where it computes on the CPU.
const PROGRAM_BYTES: usize = if Selected::IS_SYNCHRONOUS { 15_000_000 } else { 0 };
/// Bytes of an f32.
const VALUE_BYTES: usize = size_of::<f32>();

/// Bytes on the device while training.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub(crate) struct MemoryBytes {
    /// All parameters.
    pub(crate) weights: usize,
    /// A gradient for each that is trained.
    pub(crate) gradients: usize,
    /// The optimizer's state.
    pub(crate) optimizer: usize,
    /// The weights' moving average, if there is one.
    pub(crate) average: usize,
    /// The best epoch's weights, if they are kept.
    pub(crate) best: usize,
    /// What the layers keep of the samples computed at a time, or of the pictures whose frozen features
    /// are computed at a time, whichever is more. A backend may keep more, or less.
    pub(crate) activations: usize,
    /// The samples on the device.
    pub(crate) data: usize,
    /// The program itself, where the device is the CPU.
    pub(crate) program: usize,
    /// The sum of these.
    pub(crate) total: usize,
}

impl MemoryBytes {
    /// The copies of the network.
    fn network(&self) -> usize {
        self.weights + self.gradients + self.optimizer + self.average + self.best
    }

    /// What makes the largest part smaller, where a device with so many bytes lacks memory: the copies
    /// of the network, what it keeps of the samples, or the data.
    ///
    /// - `fewer_at_a_time`: as [`Footprint::fewer_at_a_time`] says
    pub(crate) fn advice(&self, available: Option<u64>, fewer_at_a_time: &str) -> Option<String> {
        let available = available.filter(|&available| self.total as u64 > available)?;
        let Self { activations, data, .. } = *self;
        let (name, help) = if self.network() >= activations.max(data) {
            (
                "the network, of which there are several copies",
                "choose a smaller one, or for images a smaller `data.size`; `optimizer.kind = \"sgd\"` \
                 and `output.model = \"final\"` need fewer copies",
            )
        } else if activations >= data {
            ("what its layers keep of the samples at a time", fewer_at_a_time)
        } else {
            (
                "the data",
                "`data.residency = \"host\"` keeps images off the device, else use fewer samples, such \
                 as by `data.fraction`",
            )
        };
        Some(format!(
            "the run needs at least {} of memory, but only {} are available; most of it is for {name}: \
             {help}",
            size(self.total as f64),
            size(available as f64)
        ))
    }
}

/// What the memory of a run follows from, besides its data.
pub(crate) struct Footprint<'a> {
    /// The shape of a sample.
    pub(crate) sample: &'a [usize],
    pub(crate) layers: &'a [Layer],
    pub(crate) frozen: FrozenLayers,
    /// Samples in all.
    pub(crate) samples: usize,
    pub(crate) divides: Divides,
    pub(crate) training: &'a Training,
    /// How many train together.
    pub(crate) processes: usize,
    pub(crate) trainer: &'a TrainerConfig,
}

impl Footprint<'_> {
    /// - `data`: bytes of the samples on the device
    pub(crate) fn bytes(&self, data: usize) -> MemoryBytes {
        let Self { trainer, layers, .. } = self;
        let parameters =
            |layers: &[Layer]| layers.iter().map(|layer| layer.parameters).sum::<usize>();
        let trainable = parameters(&layers[self.frozen.count..]) * VALUE_BYTES;
        let mut memory = MemoryBytes {
            weights: parameters(layers) * VALUE_BYTES,
            gradients: trainable,
            optimizer: trainer.optimizer.slot_names().len() * trainable,
            average: usize::from(trainer.ema.is_some()) * trainable,
            best: usize::from(trainer.keep_best) * trainable,
            activations: self.activations().into_iter().fold(0, usize::max) * VALUE_BYTES,
            data,
            program: PROGRAM_BYTES,
            total: 0,
        };
        memory.total = memory.network() + memory.activations + memory.data + memory.program;
        memory
    }

    /// How to lower the [`activations`](MemoryBytes::activations).
    pub(crate) fn fewer_at_a_time(&self) -> String {
        let [of_batch, of_features] = self.activations();
        let less = LessMemory { training: self.training, divides: self.divides, pictures: None };
        match less.fewer_features().filter(|_| of_features > of_batch) {
            Some(fewer) => fewer,
            None => less.fewer_at_a_time(),
        }
    }

    /// Values kept until the backward pass of a batch, and those of pictures whose features are computed
    /// once. Those of a frozen layer are freed once the next layer has run.
    fn activations(&self) -> [usize; 2] {
        let mut values = vec![self.sample.iter().product::<usize>()];
        values.extend(self.layers.iter().map(|layer| layer.kept));
        let (frozen, trained) = values.split_at(self.frozen.count);
        let passing = frozen.windows(2).map(|pair| pair[0] + pair[1]).max().unwrap_or(0);
        let trained = trained.iter().sum::<usize>();
        let batch = self.training.at_a_time(self.processes).min(self.samples);
        let pictures = self.training.features_at_a_time().min(self.samples);
        match self.frozen.kept {
            true => [batch * trained, pictures * passing],
            false => [batch * (passing + trained), 0],
        }
    }
}

/// What can be divided so that a recipe computes fewer samples at a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Divides {
    /// A batch, into micro-batches.
    Batches,
    /// A batch, and the pictures whose frozen features are computed at a time.
    Features,
    /// Nothing: the rows of a batch are streams.
    Nothing,
}

/// What makes a run need less memory.
pub(crate) struct LessMemory<'a> {
    pub(crate) training: &'a Training,
    pub(crate) divides: Divides,
    /// Where the pictures lie, if there are any.
    pub(crate) pictures: Option<Residency>,
}

impl LessMemory<'_> {
    /// What to do where memory runs out before the first step, and with a batch.
    pub(crate) fn advice(&self) -> [String; 2] {
        let smaller = "choose a smaller network, or use fewer samples";
        let before = match self.fewer_features() {
            Some(fewer) => format!("{smaller}, or {fewer}"),
            None => smaller.to_owned(),
        };
        [before, self.fewer_at_a_time()].map(|advice| {
            let advice = format!("{advice}; `recipes plan` estimates the memory of a run");
            match self.of_pictures() {
                Some(of_pictures) => format!("{advice}; {of_pictures}"),
                None => advice,
            }
        })
    }

    /// How to have fewer samples computed at a time, so that the layers keep less.
    fn fewer_at_a_time(&self) -> String {
        let Training { micro_batch, batch_size, sync_batch_norm, .. } = *self.training;
        let has_parts = !sync_batch_norm && self.divides != Divides::Nothing;
        match (micro_batch, batch_size) {
            (Some(1), _) | (None, 1) => "choose a smaller network".to_owned(),
            (Some(part), _) => format!("lower `training.micro_batch`, which is {part}"),
            (None, all) if !has_parts => format!("lower `training.batch_size`, which is {all}"),
            (None, all) => format!(
                "lower `training.batch_size`, which is {all}, or keep it and set `training.micro_batch`, \
                 which computes the update in parts"
            ),
        }
    }

    /// How to have the frozen features of fewer pictures computed at a time, if that can be.
    fn fewer_features(&self) -> Option<String> {
        let most = self.training.features_at_a_time();
        let divides = self.divides == Divides::Features && !self.training.sync_batch_norm;
        (most > 1 && divides).then(|| {
            format!(
                "set `training.micro_batch` below {most}, which is how many pictures' frozen features are \
                 computed at a time"
            )
        })
    }

    /// What makes pictures need less.
    fn of_pictures(&self) -> Option<String> {
        let smaller = "a smaller `data.size` takes less as well";
        Some(match self.pictures? {
            Residency::Host => smaller.to_owned(),
            Residency::Device | Residency::Auto => format!(
                "{smaller}; pictures may lie in the device's memory as well, and \
                 `data.residency = \"host\"` leaves them out of it"
            ),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        cnn,
        config::{ImageConfig, SettingsLayer},
    };

    /// The advice on a recipe of this kind with these settings.
    fn advice(divides: Divides, settings: &[&str]) -> [String; 2] {
        let settings = [&["training.batch_size=40"], settings].concat();
        let layers = SettingsLayer::sets(&settings);
        let config: ImageConfig<cnn::Model> = cnn::RECIPE.resolve(layers).unwrap();
        let pictures = Some(config.data.residency);
        LessMemory { training: &config.training, divides, pictures }.advice()
    }

    #[test]
    fn resident_images_are_named_where_memory_runs_out() {
        let advice = |setting: &str| advice(Divides::Batches, &[setting]);
        for residency in ["auto", "device"] {
            let advice = advice(&format!("data.residency={residency}"));
            assert!(advice[0].starts_with("choose a smaller network, or "), "{advice:?}");
            assert!(advice[1].starts_with("lower `training.batch_size`, which is "), "{advice:?}");
            for advice in advice {
                assert!(advice.contains("a smaller `data.size`"), "{advice}");
                assert!(advice.contains("`data.residency = \"host\"`"), "{advice}");
            }
        }
        assert!(!advice("data.residency=host").concat().contains("residency"));
    }

    #[test]
    fn advice_names_what_the_recipe_can_divide() {
        let check = |divides, settings: &[&str], expected: &str| {
            let [_, within] = advice(divides, settings);
            assert!(within.starts_with(expected), "{divides:?} with {settings:?}: {within}");
        };
        let or_parts =
            "lower `training.batch_size`, which is 40, or keep it and set `training.micro";
        check(Divides::Batches, &[], or_parts);
        let part = |size: usize| format!("training.micro_batch={size}");
        check(Divides::Batches, &[&part(8)], "lower `training.micro_batch`, which is 8; ");
        check(Divides::Batches, &[&part(1)], "choose a smaller network; ");
        check(Divides::Nothing, &[], "lower `training.batch_size`, which is 40; ");
        let before = |divides, settings: &[&str]| advice(divides, settings)[0].clone();
        let features = |settings: &[&str]| before(Divides::Features, settings);
        assert!(features(&[]).contains("set `training.micro_batch` below 64, which is how many"));
        assert!(features(&[&part(8)]).contains("`training.micro_batch` below 8, "));
        assert!(!before(Divides::Batches, &[]).contains("micro_batch"));
    }

    #[test]
    fn norms_over_the_whole_batch_leave_nothing_to_divide() {
        let config: ImageConfig<cnn::Model> = cnn::RECIPE.resolve(Vec::new()).unwrap();
        let training = Training { sync_batch_norm: true, batch_size: 40, ..config.training };
        let less = LessMemory { training: &training, divides: Divides::Features, pictures: None };
        let [before, within] = less.advice();
        assert!(!before.contains("micro_batch"), "{before}");
        assert!(within.starts_with("lower `training.batch_size`, which is 40; "), "{within}");
    }

    #[test]
    fn advice_is_on_what_takes_most() {
        let memory = |[weights, optimizer, activations, data]: [usize; 4]| MemoryBytes {
            weights,
            optimizer,
            activations,
            data,
            total: weights + optimizer + activations + data,
            ..MemoryBytes::default()
        };
        let check = |parts, expected: &str| {
            let memory = memory(parts);
            assert_eq!(memory.advice(Some(memory.total as u64), "fewer"), None);
            assert_eq!(memory.advice(None, "fewer"), None);
            let advice = memory.advice(Some(memory.total as u64 - 1), "fewer").unwrap();
            assert!(advice.contains(expected), "{advice}");
        };
        // Neither part of the network is the largest alone.
        check(
            [4, 8, 10, 1],
            "most of it is for the network, of which there are several copies: choose",
        );
        check(
            [4, 4, 10, 1],
            "most of it is for what its layers keep of the samples at a time: fewer",
        );
        check([1, 2, 3, 9], "most of it is for the data: `data.residency");
    }
}
