//! How much memory a run takes on the device, and what makes it less.

use backend::{Backend, Selected};
use models::Layer;
use serde::Serialize;
use training::TrainerConfig;

use crate::{config::Training, numbers::size, plan::FrozenLayers};

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
                "`data.residency = \"host\"` keeps images off the device, else use fewer samples",
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
    pub(crate) recipe: &'a str,
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
        match self.training.fewer_features().filter(|_| of_features > of_batch) {
            Some(fewer) => fewer,
            None => self.training.fewer_at_a_time(self.recipe),
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

#[cfg(test)]
mod tests {
    use super::*;

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
