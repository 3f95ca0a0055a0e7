//! The word-level text generator of the Keras tutorial.

use backend::{AutodiffBackend, Selected};
use burn::backend::Autodiff;
use data::{
    DataError, Order, TokenLoader, Vocabulary,
    text::{Predict, Windows},
};
use inference::{Description, Preprocessing};
use models::{Architecture, Initialization, Pass, Positions, TextLstmConfig};
use serde::{Deserialize, Serialize};
use training::Trainer;

use crate::{
    Failure, Start, Summary,
    config::{Check, Checker, Config, TextData, check_widths},
    environment::DataHashes,
    initial_weights::{InitialWeights, Initialised, begin},
    plan::Plan,
    registry::{Recipe, Task},
    text_evaluation::{beginning, measure, token_losses, written},
};

/// The recipe, as listed in [`crate::registry`].
pub static RECIPE: Recipe = Recipe {
    name: "lstm",
    summary: "a recurrent network that learns to write, word by word, from a text",
    task: Task::Text,
    toml: include_str!("lstm.toml"),
    train: |layers, start| RECIPE.train_here(layers, start, train::<Autodiff<Selected>>),
    plan: |layers, _| plan(&RECIPE.resolve(layers)?),
};

/// The table `[model]`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Model {
    /// Numbers that represent a word.
    pub embedding: usize,
    /// Units of the recurrent layer.
    pub hidden: usize,
    /// The weights that training begins with.
    pub weights: InitialWeights,
}

impl Initialised for Model {
    fn weights(&self) -> &InitialWeights {
        &self.weights
    }
}

impl Check for Model {
    fn check(&self, checker: &mut Checker<'_>) {
        self.weights.check(checker);
        if !self.weights.are_drawn() {
            checker.only_with("model.weights", "none", &["data.vocabulary"]);
        }
        check_widths("model.embedding", &[self.embedding], checker);
        check_widths("model.hidden", &[self.hidden], checker);
    }
}

/// Trains on the configured data, and leaves a run directory.
fn train<B: AutodiffBackend>(
    config: Config<TextData, Model>,
    start: Start<'_>,
    device: &B::Device,
) -> Result<Summary, Failure> {
    let seed = config.training.seed;

    // The data: a window of words, and the one that follows it.
    let (corpus, weights) = config.read(start.kept_weights()?)?;
    start.keep_apart(&corpus.shared)?;
    let source = Some(corpus.source_fingerprint());
    let data = DataHashes { samples: corpus.fingerprint(), source };
    let prompt = beginning(corpus.validation.as_ref().unwrap_or(&corpus.train), &corpus.vocabulary);
    let length = config.data.sequence_length;
    let windows = |tokens| Windows::new(tokens, length, Predict::Last).map_err(DataError::from);
    let batching = start.shared(config.training.batching(Order::Shuffled));
    let train = TokenLoader::<B>::windows(windows(corpus.train)?, batching, device)?;
    let held_out = |tokens| {
        let batching = start.shared(config.training.evaluation_batching());
        TokenLoader::windows(windows(tokens)?, batching, device)
    };
    let validation = corpus.validation.map(held_out).transpose()?;
    let test = corpus.test.map(held_out).transpose()?;

    // The network.
    let network = network(&config.model, &corpus.vocabulary);
    let description = Description {
        recipe: RECIPE.name.to_owned(),
        architecture: Architecture::TextLstm(network.clone()),
        classes: Vec::new(),
        preprocessing: Preprocessing::Text(corpus.vocabulary.clone()),
    };
    let model = begin(network.init::<B>(seed, device), weights.as_ref(), &description)?;

    // The loop.
    let mut run = start.open(&config, &data, &corpus.notes)?;
    run.begins_with(weights.as_ref());
    let (interrupt, group) = (run.interrupt(), run.group());
    let settings = config.trainer(train.steps_per_epoch()).validated(validation.is_some());
    let settings = run.complete(settings, &description, &[length]);
    let mut trainer = Trainer::new(model, settings, device, &mut run, interrupt)?;
    while let Some(epoch) = trainer.next_epoch() {
        for batch in epoch.batches(train.batches(epoch.index, epoch.position)) {
            let mut pass = Pass::training(seed, trainer.step_number(), 0);
            let (logits, _) = trainer.model().forward(batch.inputs, None, &mut pass);
            trainer.step(token_losses(logits, batch.targets), batch.part)?;
        }
        trainer.show(&prompt, |model| written(model, &corpus.vocabulary, &prompt, device));
        trainer.try_end_epoch(|model| {
            validation.as_ref().map(|split| measure(model, split, &group, device)).transpose()
        })?;
    }
    let trained = trainer.finish()?;
    let test = test.map(|split| measure(&trained.model, &split, &group, device)).transpose()?;
    run.finish(trained, &description, test)
}

/// The network for this vocabulary.
pub fn network(settings: &Model, vocabulary: &Vocabulary) -> TextLstmConfig {
    TextLstmConfig {
        vocabulary: vocabulary.len(),
        embedding: settings.embedding,
        hidden: settings.hidden,
        layers: 1,
        dropout: 0.0,
        predict: Positions::Last,
        initialization: Initialization::Keras,
    }
}

/// Describes a run without training.
fn plan(config: &Config<TextData, Model>) -> Result<Plan, Failure> {
    let Config { data, training, .. } = config;
    config.plan(network, |tokens| {
        let windows = Windows::new(tokens, data.sequence_length, Predict::Last)?;
        Ok([windows.len(), windows.len().div_ceil(training.batch_size)])
    })
}
