//! The text of a recipe, what training begins with, and its plan.

use backend::{AutodiffBackend, Backend, Selected};
use data::{
    DataError, TokenLoader, Vocabulary, refuse_shared,
    text::{Corpus, Tokens, read_text},
};
use inference::{Description, Preprocessing};
use models::{Architecture, TextLstmConfig};

use crate::{
    Failure,
    config::{Config, TextData},
    inputs::{
        initial_weights::{Initialised, KeptWeights, TrainedWeights},
        run_inputs::RunInputs,
    },
    measure::texts::beginning,
    planning::plan::{FrozenLayers, Outline, Plan},
    registry::Recipe,
    run::{environment::DataHashes, start::Begun},
};

/// A text ready for a loop, and what training begins with.
pub(crate) struct TrainingText<B: AutodiffBackend> {
    pub(crate) train: TokenLoader<B>,
    pub(crate) validation: Option<TokenLoader<B::InnerBackend>>,
    pub(crate) test: Option<TokenLoader<B::InnerBackend>>,
    pub(crate) vocabulary: Vocabulary,
    /// What the network continues, to show what it has learnt.
    pub(crate) prompt: String,
    pub(crate) inputs: RunInputs,
}

impl<B: AutodiffBackend> TrainingText<B> {
    /// Reads what the configuration names, with the vocabulary of the weights that the network begins with, if
    /// there are any.
    ///
    /// - `train`, `held_out`: make batches of the tokens to train on, and of others
    pub(crate) fn open<Model: Initialised>(
        config: &Config<TextData, Model>,
        begun: &Begun<'_>,
        train: impl FnOnce(Tokens) -> Result<TokenLoader<B>, DataError>,
        held_out: impl Fn(Tokens) -> Result<TokenLoader<B::InnerBackend>, DataError>,
    ) -> Result<Self, Failure> {
        let (corpus, weights) = config.read(begun.kept_weights()?)?;
        begun.keep_apart(&corpus.shared)?;
        let Corpus { vocabulary, notes, source, fingerprint, .. } = corpus;
        let hashes = DataHashes { samples: fingerprint, source: Some(source) };
        Ok(Self {
            prompt: beginning(corpus.validation.as_ref().unwrap_or(&corpus.train), &vocabulary),
            train: train(corpus.train)?,
            validation: corpus.validation.map(&held_out).transpose()?,
            test: corpus.test.map(&held_out).transpose()?,
            vocabulary,
            inputs: RunInputs { weights, hashes, notes, skipped: 0 },
        })
    }

    /// The description of a network that is trained on this text.
    pub(crate) fn describe(&self, recipe: &str, architecture: Architecture) -> Description {
        Description {
            recipe: recipe.to_owned(),
            architecture,
            classes: Vec::new(),
            preprocessing: Preprocessing::Text(self.vocabulary.clone()),
        }
    }
}

impl<Model: Initialised> Config<TextData, Model> {
    /// Reads the text with the vocabulary of the weights that the network begins with, if there are any.
    ///
    /// - `kept`: those that the run has kept, if it has
    fn read(&self, kept: Option<KeptWeights>) -> Result<(Corpus, Option<TrainedWeights>), Failure> {
        let weights = TrainedWeights::open(self.model.weights(), kept)?;
        let mut options = self.data.options();
        options.known =
            weights.as_ref().map(|weights| weights.vocabulary(&self.data)).transpose()?;
        let mut corpus = read_text(&options)?;
        corpus.notes.extend(weights.iter().flat_map(|weights| weights.notes(&[])));
        Ok((corpus, weights))
    }

    /// The plan of training a network on this text.
    ///
    /// - `network`: the network for a vocabulary
    /// - `counted`: the samples and the updates of an epoch on such tokens
    pub(crate) fn plan(
        &self,
        recipe: &'static Recipe,
        network: impl FnOnce(&Model, &Vocabulary) -> TextLstmConfig,
        counted: impl FnOnce(Tokens) -> Result<[usize; 2], DataError>,
    ) -> Result<Plan, Failure> {
        let (corpus, weights) = self.read(None)?;
        refuse_shared(&corpus.shared)?;
        let architecture = Architecture::TextLstm(network(&self.model, &corpus.vocabulary));
        // It stays on the host, whose memory is told of if the host trains.
        let data_bytes = if Selected::IS_SYNCHRONOUS { corpus.bytes() } else { 0 };
        let [samples, steps_per_epoch] = counted(corpus.train)?;
        if let Some(weights) = &weights {
            weights.check(&architecture, &[])?;
        }
        let outline = Outline {
            recipe,
            architecture,
            sample: vec![self.data.sequence_length],
            frozen: FrozenLayers::default(),
            samples,
            training: &self.training,
            trainer: self.trainer(steps_per_epoch),
            validates: corpus.validation.is_some(),
            data_bytes,
            notes: corpus.notes,
        };
        outline.plan()
    }
}
