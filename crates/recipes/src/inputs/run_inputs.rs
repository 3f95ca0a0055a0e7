//! What a run rests on besides its settings, as the recipe has read it.

use backend::Backend;
use burn::module::Module;
use inference::Description;

use crate::{Failure, inputs::initial_weights::TrainedWeights, run::environment::DataHashes};

/// What a run records of its data, and the weights that it begins with.
pub(crate) struct RunInputs {
    /// The weights that the network begins with; none if they are drawn.
    pub(crate) weights: Option<TrainedWeights>,
    /// Hashes of all samples.
    pub(crate) hashes: DataHashes,
    /// What the user should know, a sentence each.
    pub(crate) notes: Vec<String>,
    /// Records that could not be used.
    pub(crate) skipped: usize,
}

impl RunInputs {
    /// The network with the weights that training begins with: those of the inputs, or its own. Its last layer
    /// keeps its own if the classes of the weights are others.
    pub(crate) fn begin<B: Backend, M: Module<B>>(
        &self,
        network: M,
        description: &Description,
    ) -> Result<M, Failure> {
        let Description { architecture, classes, .. } = description;
        match &self.weights {
            Some(weights) => weights.load(network, architecture, classes),
            None => Ok(network),
        }
    }
}
