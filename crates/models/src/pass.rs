//! What a forward pass needs besides its input, and produces besides its output.

use std::collections::{BTreeMap, HashMap};

use backend::{
    Backend, Counts,
    functional::Normalization,
    primitive::{primitive, tensor},
    random::{Purpose, Random},
};
use burn::{
    module::{Module, ModuleMapper, ModuleVisitor, Param, ParamId},
    tensor::{Tensor, ops::FloatTensor},
};

/// The share of a batch in the running statistics; PyTorch's `momentum`.
const MOMENTUM: f64 = 0.1;

/// One pass through a network: whether it trains, and if so what dropout draws from and which
/// statistics the batch has. Each batch has its own.
///
/// ```
/// use backend::{Selected, device::Device};
/// use burn::tensor::Tensor;
/// use models::{Initializer, Pass, layers::BatchNorm2d};
///
/// let layer = BatchNorm2d::<Selected>::new(&Initializer::seeded(0, &Device::default()), 3);
/// let mut pass = Pass::training(7, 0, 0);
/// let normalized = layer.forward(Tensor::ones([2, 3, 4, 4], &Device::default()), &mut pass);
/// let layer = pass.update_statistics(layer);
/// # let _ = (layer, normalized);
/// ```
#[derive(Debug)]
pub struct Pass<B: Backend> {
    training: Option<Training>,
    dropouts: u64,
    statistics: HashMap<ParamId, Statistic<B>>,
}

/// A batch's statistic, `[channels]`, and a factor for it.
type Statistic<B> = (Tensor<B, 1>, f64);

#[derive(Debug)]
struct Training {
    seed: u64,
    step: u64,
    first_sample: usize,
    over_processes: Option<Counts>,
}

impl<B: Backend> Pass<B> {
    /// Batch normalisation by the running statistics, without dropout.
    pub fn evaluation() -> Self {
        Self { training: None, dropouts: 0, statistics: HashMap::new() }
    }

    /// Batch normalisation by the batch, and dropout by (`seed`, `step`, sample).
    ///
    /// - `step`: updates made so far, a trainer's `step_number()`
    /// - `first_sample`: the place of the batch's first row in the whole update: `part.first`, or of a
    ///   batch of tokens, where a part counts targets, `first_row`
    pub fn training(seed: u64, step: u64, first_sample: usize) -> Self {
        let training = Some(Training { seed, step, first_sample, over_processes: None });
        Self { training, ..Self::evaluation() }
    }

    /// The same with batch normalisation over the batches of all processes that train together, all of which
    /// must make equally many passes; this excludes micro-batches, of which one process may have more.
    ///
    /// - `counts`: whether this process's batch counts
    pub fn over_processes(mut self, counts: Counts) -> Self {
        if let Some(training) = &mut self.training {
            training.over_processes = Some(counts);
        }
        self
    }

    /// What batch normalisation uses in training; none in evaluation.
    pub(crate) fn normalization(&self) -> Option<Normalization<B>> {
        let training = self.training.as_ref()?;
        let over_all = training.over_processes.map(Normalization::BatchesOfAll);
        Some(over_all.unwrap_or(Normalization::Batch))
    }

    /// Moves the running statistics of `model` towards those of its batch. After the trainer's `step`:
    /// `trainer.map_model(|model| pass.update_statistics(model))`.
    pub fn update_statistics<M: Module<B>>(self, model: M) -> M {
        if self.statistics.is_empty() {
            return model;
        }
        let mut find = Find { statistics: self.statistics, alike: BTreeMap::new() };
        model.visit(&mut find);
        let mut replace = Replace::<B>(HashMap::new());
        for (factor, pairs) in find.alike {
            let (running, pairs): (Vec<_>, Vec<_>) = pairs.into_iter().unzip();
            let moved = B::fused_moving_averages(pairs, MOMENTUM, f64::from_bits(factor));
            replace.0.extend(running.into_iter().zip(moved));
        }
        model.map(&mut replace)
    }

    /// Records a batch's statistic, `[channels]`, for the running one with the id `running`.
    ///
    /// It is multiplied by `factor` at the end of the pass, with those of all layers at once.
    pub(crate) fn record(&mut self, running: ParamId, statistic: Tensor<B, 1>, factor: f64) {
        self.statistics.insert(running, (statistic, factor));
    }

    /// What the next dropout layer of the pass draws from, and its first sample; none in
    /// evaluation.
    pub(crate) fn next_dropout(&mut self) -> Option<(Random, usize)> {
        let Training { seed, step, first_sample, .. } = *self.training.as_ref()?;
        let stream = (step << 16) | self.dropouts;
        self.dropouts += 1;
        Some((Random::new(seed, Purpose::Dropout, stream), first_sample))
    }
}

/// A running statistic, with its values and those of the batch.
type Pair<B> = (ParamId, [FloatTensor<B>; 2]);

/// Pairs the running statistics with those of the batch, by the bits of the factor of the latter.
struct Find<B: Backend> {
    statistics: HashMap<ParamId, Statistic<B>>,
    alike: BTreeMap<u64, Vec<Pair<B>>>,
}

impl<B: Backend> ModuleVisitor<B> for Find<B> {
    fn visit_float<const D: usize>(&mut self, parameter: &Param<Tensor<B, D>>) {
        let Some((batch, factor)) = self.statistics.remove(&parameter.id) else { return };
        let running = parameter.val();
        let batch = batch.reshape(running.dims());
        let pair = [running, batch].map(primitive);
        self.alike.entry(factor.to_bits()).or_default().push((parameter.id, pair));
    }
}

struct Replace<B: Backend>(HashMap<ParamId, FloatTensor<B>>);

impl<B: Backend> ModuleMapper<B> for Replace<B> {
    fn map_float<const D: usize>(&mut self, parameter: Param<Tensor<B, D>>) -> Param<Tensor<B, D>> {
        let Some(moved) = self.0.remove(&parameter.id) else { return parameter };
        parameter.map(|_| tensor(moved))
    }
}
