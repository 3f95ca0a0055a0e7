//! A text generator that works character by character, and carries its state along the text.

use backend::{AutodiffBackend, Selected, functional::LstmState};
use burn::{backend::Autodiff, tensor::Tensor};
use data::{TokenLoader, Vocabulary, text::Streams};
use inference::InputKind;
use models::{Architecture, Initialization, Pass, Positions, TextLstm, TextLstmConfig};
use serde::{Deserialize, Serialize};
use training::Trainer;

use crate::{
    Failure, Summary,
    config::{Check, Checker, Config, TextData, check_widths},
    inputs::{
        initial_weights::{InitialWeights, Initialised},
        training_text::TrainingText,
    },
    measure::texts::{evaluation_streams, measure, token_losses, written},
    planning::{memory::Divides, plan::Plan},
    registry::Recipe,
    run::start::Begun,
};

/// The recipe, as listed in [`crate::registry`].
pub static RECIPE: Recipe = Recipe {
    name: "lstm-char",
    summary: "a recurrent network that learns to generate text, character by character",
    input: InputKind::Text,
    divides: Divides::Nothing,
    toml: include_str!("lstm_char.toml"),
    train: |layers, start| RECIPE.train_here(layers, start, train::<Autodiff<Selected>>),
    plan: |layers, _| plan(&RECIPE.resolve(layers)?),
};

/// The table `[model]`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Model {
    /// The length of the vector for each token.
    pub embedding: usize,
    /// Units of each recurrent layer.
    pub hidden: usize,
    /// Recurrent layers.
    pub layers: usize,
    /// The share that is dropped between layers while training.
    pub dropout: f64,
    /// Whether a batch continues from the state of the one before.
    pub carry_state: bool,
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
        checker.require("model.layers", (1..=1000).contains(&self.layers), "1 to 1000");
        let share = (0.0..1.0).contains(&self.dropout);
        checker.require("model.dropout", share, "at least 0 and below 1");
        if self.dropout > 0.0 && self.layers == 1 {
            checker.conflict(
                "model.dropout",
                "`model.dropout` has no effect with `model.layers = 1`: it acts between layers",
                "leave it out, or set `model.layers = 2`",
            );
        }
        if checker.is_changed("training.micro_batch") {
            checker.conflict(
                "training.micro_batch",
                "`training.micro_batch` has no effect on `lstm-char`, whose rows are streams",
                "leave it out, or lower `training.batch_size`",
            );
        }
    }
}

/// Trains on the configured data, and leaves a run directory.
fn train<B: AutodiffBackend>(
    config: Config<TextData, Model>,
    begun: Begun<'_>,
    device: &B::Device,
) -> Result<Summary, Failure> {
    let (seed, length) = (config.training.seed, config.data.sequence_length);
    let (rows, carry) = (config.training.batch_size, config.model.carry_state);

    // The data: one stream through the text per row of a batch.
    let share = begun.group().share();
    let text = TrainingText::<B>::open(
        &config,
        &begun,
        |tokens| Ok(TokenLoader::streams(Streams::new(tokens, rows, length)?, share, device)),
        |tokens| Ok(TokenLoader::streams(evaluation_streams(tokens)?, share, device)),
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
            let state = carry.then(|| carried(&trainer)).flatten();
            let mut pass = Pass::training(seed, trainer.step_number(), batch.first_row);
            let (logits, next) = trainer.model().forward(batch.inputs, state, &mut pass);
            trainer.step(token_losses(logits, batch.targets), batch.part)?;
            let next = carry.then_some(next).into_iter().flatten();
            for (layer, state) in next.enumerate() {
                trainer.carry(&format!("cell.{layer}"), state.cell.inner());
                trainer.carry(&format!("hidden.{layer}"), state.hidden.inner());
            }
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

/// The state left by the batch before, for each layer; none at the beginning of the text.
fn carried<B: AutodiffBackend>(trainer: &Trainer<'_, B, TextLstm<B>>) -> Option<Vec<LstmState<B>>> {
    let part = |name, layer| trainer.carried(&format!("{name}.{layer}")).map(Tensor::from_inner);
    let state =
        |layer| Some(LstmState { cell: part("cell", layer)?, hidden: part("hidden", layer)? });
    let states: Vec<LstmState<B>> = (0..).map_while(state).collect();
    (!states.is_empty()).then_some(states)
}

/// The network for this vocabulary.
fn network(settings: &Model, vocabulary: &Vocabulary) -> TextLstmConfig {
    TextLstmConfig {
        vocabulary: vocabulary.len(),
        embedding: settings.embedding,
        hidden: settings.hidden,
        layers: settings.layers,
        dropout: settings.dropout,
        predict: Positions::All,
        initialization: Initialization::Pytorch,
    }
}

/// Describes a run without training.
fn plan(config: &Config<TextData, Model>) -> Result<Plan, Failure> {
    let (rows, length) = (config.training.batch_size, config.data.sequence_length);
    config.plan(&RECIPE, network, |tokens| {
        let streams = Streams::new(tokens, rows, length)?;
        Ok([streams.len() * rows, streams.len()])
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::SettingsLayer;

    #[test]
    fn parts_of_a_batch_are_refused_beside_other_mistakes() {
        let settings = SettingsLayer::sets(&["training.micro_batch=4", "model.layers=0"]);
        let told = RECIPE.resolve::<Config<TextData, Model>>(settings).unwrap_err();
        let told = told.to_string();
        for mistake in
            ["`training.micro_batch` has no effect on `lstm-char`", "`model.layers` must be"]
        {
            assert!(told.contains(mistake), "{told}");
        }
    }
}
