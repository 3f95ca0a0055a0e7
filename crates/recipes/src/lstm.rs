//! The word-level text generator of the Keras tutorial.

use backend::{AutodiffBackend, Selected};
use burn::backend::Autodiff;
use data::{Order, TokenLoader, Vocabulary, text::Windows};
use inference::InputKind;
use models::{Architecture, Initialization, Pass, Positions, TextLstmConfig};
use serde::{Deserialize, Serialize};
use training::Trainer;

use crate::{
    Failure, Summary,
    config::{Check, Checker, Config, TextData, check_widths},
    inputs::{
        initial_weights::{InitialWeights, Initialised},
        training_text::TrainingText,
    },
    measure::texts::{measure, token_losses, written},
    planning::{memory::Divides, plan::Plan},
    registry::Recipe,
    run::start::Begun,
};

/// The recipe, as listed in [`crate::registry`].
pub static RECIPE: Recipe = Recipe {
    name: "lstm",
    summary: "a recurrent network that learns to write, word by word, from a text",
    input: InputKind::Text,
    divides: Divides::Batches,
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
    begun: Begun<'_>,
    device: &B::Device,
) -> Result<Summary, Failure> {
    let (seed, length) = (config.training.seed, config.data.sequence_length);

    // The data: a window of words, and the one that follows it.
    let windows = |tokens| Windows::new(tokens, length);
    let batching = begun.shared(config.training.batching(Order::Shuffled));
    let others = begun.shared(config.training.evaluation_batching());
    let text = TrainingText::<B>::open(
        &config,
        &begun,
        |tokens| TokenLoader::windows(windows(tokens)?, batching, device),
        |tokens| TokenLoader::windows(windows(tokens)?, others, device),
    )?;
    let TrainingText { train, validation, test, vocabulary, prompt, inputs } = &text;

    // The network.
    let network = network(&config.model, vocabulary);
    let description = text.describe(RECIPE.name, Architecture::TextLstm(network.clone()));
    let model = inputs.begin(network.init::<B>(seed, device), &description)?;

    // The loop.
    let mut run = begun.open(&config, inputs)?;
    let (interrupt, group) = (run.interrupt(), run.group());
    let settings = config.trainer(train.steps_per_epoch()).keep_best_if(validation.is_some());
    let settings = run.complete(settings, &description, &[length]);
    let mut trainer = Trainer::new(model, settings, device, &mut run, interrupt)?;
    while let Some(epoch) = trainer.next_epoch() {
        for batch in epoch.batches(train.batches(epoch.index, epoch.position)) {
            let mut pass = Pass::training(seed, trainer.step_number(), 0);
            let (logits, _) = trainer.model().forward(batch.inputs, None, &mut pass);
            trainer.step(token_losses(logits, batch.targets), batch.part)?;
        }
        trainer.show(prompt, |model| written(model, vocabulary, prompt, device));
        trainer.try_end_epoch(|model| {
            validation.as_ref().map(|split| measure(model, split, &group, device)).transpose()
        })?;
    }
    let trained = trainer.finish()?;
    let measure = |split| measure(&trained.model, split, &group, device);
    let test = test.as_ref().map(measure).transpose()?;
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
    config.plan(&RECIPE, network, |tokens| {
        let windows = Windows::new(tokens, data.sequence_length)?;
        Ok([windows.len(), windows.len().div_ceil(training.batch_size)])
    })
}
