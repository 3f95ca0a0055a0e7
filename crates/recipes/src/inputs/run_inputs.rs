//! What a run rests on besides its settings, as the recipe has read it.

use backend::Backend;
use burn::module::Module;
use inference::Description;
use serde::Serialize;

use crate::{
    Failure,
    config::Config,
    inputs::initial_weights::TrainedWeights,
    run::{Run, environment::DataHashes, start::Begun},
};

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

    /// Creates the run directory, or reopens it.
    pub(crate) fn open_run<'a, Data: Serialize, Model: Serialize, Augment: Serialize>(
        &self,
        begun: Begun<'a>,
        config: &Config<Data, Model, Augment>,
    ) -> Result<Run<'a>, Failure> {
        let mut run = begun.open(config, &self.hashes, &self.notes)?;
        run.skipped(self.skipped);
        run.begins_with(self.weights.as_ref());
        Ok(run)
    }
}
