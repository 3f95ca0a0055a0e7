//! The multi-layer perceptron on a table: the first tutorial's network, or your own CSV file, texts included.

use backend::{AutodiffBackend, Selected};
use burn::backend::Autodiff;
use data::{
    CategoryEncoding, HoldOut, Order, Table, TableLoader, TablePreprocessing, TableSplits, Task,
    TextFeatures, csv_table::read_csv, npy::read_npy, refuse_shared, synthetic::read_synthetic,
    text_folder::read_text_folder,
};
use inference::{Description, InputKind, Preprocessing};
use models::{Architecture, FeatureEmbedding, MlpConfig, TextReaderConfig};
use serde::{Deserialize, Serialize};
use training::Trainer;

use crate::{
    ExitCode, Failure, Summary,
    config::{self, Check, Checker, Config, Monitored, Source, TableData, check_dropout},
    inputs::{
        class_weights::ClassWeights,
        data_notes::{note_on_sizes, notes_on_own_splits, shorten_notes_on_columns},
        run_inputs::RunInputs,
    },
    measure::tables::{TableEvaluation, table_losses},
    planning::{
        memory::Divides,
        plan::{FrozenLayers, Outline, Plan},
    },
    registry::Recipe,
    run::{environment::DataHashes, start::Begun},
};

/// The recipe, as listed in [`crate::registry`].
pub static RECIPE: Recipe = Recipe {
    name: "mlp",
    summary: "a multi-layer perceptron on a table of numbers, categories and texts: random samples, CSV or NPY files, folders of texts",
    input: InputKind::Rows,
    divides: Divides::Batches,
    toml: include_str!("mlp.toml"),
    train: |layers, start| RECIPE.train_here(layers, start, train::<Autodiff<Selected>>),
    plan: |layers, _| plan(RECIPE.resolve(layers)?),
};

/// Most texts are learnt in fewer epochs.
const MANY_EPOCHS: usize = 50;
/// So many rows, repetitions included, take ten seconds or more, and tables of so many are mostly learnt in
/// fewer epochs: census incomes (20,838 rows) in 7 of 500.
const MANY_ROWS: usize = 10_000_000;

/// The table `[model]`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Model {
    /// Units of each hidden layer.
    #[serde(default, with = "config::or_empty")]
    pub hidden: Option<Vec<usize>>,
    /// Numbers that represent a category; without it, a 0 or 1 for each category.
    #[serde(default, with = "config::or_empty")]
    pub embedding: Option<usize>,
    /// Numbers that represent a word in a column of texts.
    pub text_embedding: usize,
    /// Units of an LSTM layer that reads a column of texts; without it, the mean of its words is taken.
    #[serde(default, with = "config::or_empty")]
    pub text_hidden: Option<usize>,
    /// The share of each hidden layer's output, and of what is read of texts, that is dropped while training.
    pub dropout: f64,
}

impl Check for Model {
    fn check(&self, checker: &mut Checker<'_>) {
        let widths = self.hidden.as_deref().unwrap_or_default();
        config::check_widths("model.hidden", widths, checker);
        config::check_widths("model.embedding", self.embedding.as_slice(), checker);
        config::check_widths("model.text_embedding", &[self.text_embedding], checker);
        let units = self.text_hidden.as_slice();
        config::check_widths("model.text_hidden", units, checker);
        check_dropout(self.dropout, None, checker); // texts may be read too
    }
}

/// Trains on the configured data, and leaves a run directory.
fn train<B: AutodiffBackend>(
    config: Config<TableData, Model>,
    begun: Begun<'_>,
    device: &B::Device,
) -> Result<Summary, Failure> {
    // The settings that were left open.
    let given = config.data.clone();
    let config = with_choices_made(config);
    let seed = config.training.seed;

    // The data.
    let splits = read(&config)?;
    begun.keep_apart(&splits.shared)?;
    let source = config.data.source_hash()?;
    let hashes = DataHashes { samples: splits.fingerprint(), source };
    let mut notes = notes_on_rows(&given, &splits);
    let TableSplits { train, validation, test, preprocessing, skipped, .. } = splits;
    let (labels, classes) = (train.targets.labels(), preprocessing.target.classes());
    refuse_settings_of_other_targets(&config, &preprocessing)?;
    notes.extend(notes_on_settings(&config, &preprocessing, &train, validation.is_some()));
    let class_weights = ClassWeights::new(config.data.class_weights, labels, classes.len(), device);
    let batching = begun.shared(config.training.batching(config.data.order.unwrap_or_default()));
    let train = TableLoader::<B>::new(train, preprocessing.task(), batching, device)?;
    let monitored = config.training.monitor;
    let held_out =
        |table| TableEvaluation::new(table, &preprocessing, monitored, begun.group(), device);
    let validation = validation.map(held_out).transpose()?;
    let test = test.map(held_out).transpose()?;

    // The network.
    let (network, features) = (network(&config.model, &preprocessing), preprocessing.width());
    let model = network.init::<B>(seed, device);
    let description = Description {
        recipe: RECIPE.name.to_owned(),
        architecture: Architecture::Mlp(network),
        classes: preprocessing.target.classes().to_vec(),
        preprocessing: Preprocessing::Table(preprocessing),
    };

    // The loop.
    let inputs = RunInputs { weights: None, hashes, notes, skipped };
    let mut run = begun.open(&config, &inputs)?;
    let interrupt = run.interrupt();
    let settings = config.trainer(train.steps_per_epoch()).keep_best_if(validation.is_some());
    let settings = run.complete(settings, &description, &[features]);
    let mut trainer = Trainer::new(model, settings, device, &mut run, interrupt)?;
    while let Some(epoch) = trainer.next_epoch() {
        for batch in epoch.batches(train.batches(epoch.index, epoch.position)) {
            let mut pass = config.training.pass(trainer.step_number(), batch.part);
            let outputs = trainer.model().forward(batch.features, &mut pass);
            if let Some(labels) = batch.targets.labels() {
                trainer.count_correct(&outputs, &labels);
            }
            let losses = table_losses(outputs, batch.targets.clone());
            trainer.step(class_weights.weigh_rows(losses, batch.targets), batch.part)?;
        }
        trainer.try_end_epoch(|model| {
            validation.as_ref().map(|split| split.measure(model)).transpose()
        })?;
    }
    let trained = trainer.finish()?;
    let test = test.map(|split| split.measure(&trained.model)).transpose()?;
    run.finish(trained, &description, test)
}

/// What the user should know of the rows, a sentence each.
///
/// - `data`: as the user gave it
fn notes_on_rows(data: &TableData, splits: &TableSplits) -> Vec<String> {
    let mut notes = splits.notes.clone();
    let [validates, tests] = splits.has_own;
    // Runs of earlier versions have the usual share among their settings.
    let is_chosen = data.validation.is_some_and(|share| share != TableData::USUAL_VALIDATION);
    let holds_none_out = validates && (tests || data.test == 0.0);
    notes.extend(notes_on_own_splits([
        (validates && is_chosen, "data.validation", "validation"),
        (tests && data.test != 0.0, "data.test", "test"),
        (holds_none_out && data.hold_out != HoldOut::default(), "data.hold_out", "validation"),
    ]));
    shorten_notes_on_columns(&mut notes, "recipes data inspect --json");
    if data.source != Source::Synthetic {
        let sizes = [&splits.validation, &splits.test].map(|split| split.as_ref().map(Table::rows));
        notes.push(note_on_sizes("row", splits.train.rows(), sizes));
    }
    notes
}

/// What the user should know of the settings for these rows, a sentence each.
///
/// - `validates`: whether there are rows to validate on
fn notes_on_settings(
    config: &Config<TableData, Model>,
    rows: &TablePreprocessing,
    train: &Table,
    validates: bool,
) -> impl Iterator<Item = String> {
    let without_effect = config.model.embedding.is_some() && rows.indexed().is_empty();
    let note = without_effect
        .then(|| "`model.embedding` has no effect: no column is categorical".to_owned());
    let drops_nothing = config.model.dropout > 0.0
        && rows.texts().is_empty()
        && config.model.hidden.as_ref().is_some_and(Vec::is_empty);
    let dropout = drops_nothing.then(|| {
        "`model.dropout` has no effect: there is neither a hidden layer nor a text".to_owned()
    });
    let config::Training { epochs, max_steps, patience, .. } = config.training;
    let runs_on = max_steps.is_none() && patience.is_none() && validates && epochs > MANY_EPOCHS;
    let long = match (rows.texts().is_empty(), train.rows().saturating_mul(epochs)) {
        _ if !runs_on => None,
        (false, _) => Some(("texts need far fewer than", 5)),
        (true, MANY_ROWS..) => Some(("so many rows may need far fewer than", 10)),
        (true, _) => None,
    };
    let long = long.map(|(what, patience)| {
        format!(
            "{what} {epochs} epochs: `--set training.patience={patience}` ends the run once the validation \
             loss no longer falls"
        )
    });
    let (labels, classes) = (train.targets.labels(), rows.target.classes());
    let chooses = config.chooses_by(validates);
    note.into_iter()
        .chain(dropout)
        .chain(long)
        .chain(config.data.class_weights.note(labels, classes, chooses))
}

/// Refuses settings that are for classes where the target is a value, and the reverse.
fn refuse_settings_of_other_targets(
    config: &Config<TableData, Model>,
    rows: &TablePreprocessing,
) -> Result<(), Failure> {
    let monitors = |metric| config.training.monitor == metric;
    let for_classes = [
        (!config.data.class_weights.is_equal(), "data.class_weights = \"balanced\""),
        (monitors(Monitored::Accuracy), "training.monitor = \"accuracy\""),
        (monitors(Monitored::MacroF1), "training.monitor = \"macro_f1\""),
    ];
    let set = for_classes.into_iter().find(|&(is_set, _)| is_set);
    let name = &rows.target.name;
    if rows.target.classes().is_empty() {
        return set.map_or(Ok(()), |(_, setting)| {
            Err(Failure::new(
                ExitCode::Usage,
                format!("`{setting}` is for classes, and `{name}` is a value"),
                "leave it out, or set `data.task=multiclass` if the values are classes",
            ))
        });
    }
    if config.data.target_scale.is_linear() {
        return Ok(());
    }
    Err(Failure::new(
        ExitCode::Usage,
        format!("`data.target_scale = \"log\"` is for a value, and `{name}` has classes"),
        "leave it out, or set `data.task=regression` if these are quantities",
    ))
}

/// The network for rows of this form.
pub fn network(settings: &Model, rows: &TablePreprocessing) -> MlpConfig {
    let width = settings.embedding.unwrap_or_default();
    let embedding = |(feature, entries)| FeatureEmbedding { feature, entries, width };
    let text = |TextFeatures { feature, length, tokens }| TextReaderConfig {
        feature,
        length,
        tokens,
        embedding: settings.text_embedding,
        hidden: settings.text_hidden,
    };
    let multiclass = rows.task() == Task::Multiclass;
    MlpConfig {
        inputs: rows.width(),
        hidden: settings.hidden.clone().unwrap_or_default(),
        outputs: if multiclass { rows.target.classes().len() } else { 1 },
        embeddings: rows.indexed().into_iter().map(embedding).collect(),
        texts: rows.texts().into_iter().map(text).collect(),
        dropout: settings.dropout,
    }
}

/// Describes a run without training.
fn plan(config: Config<TableData, Model>) -> Result<Plan, Failure> {
    let given = config.data.clone();
    let config = with_choices_made(config);
    let splits = read(&config)?;
    refuse_shared(&splits.shared)?;
    refuse_settings_of_other_targets(&config, &splits.preprocessing)?;
    let mut notes = notes_on_rows(&given, &splits);
    let validates = splits.validation.is_some();
    notes.extend(notes_on_settings(&config, &splits.preprocessing, &splits.train, validates));
    let network = network(&config.model, &splits.preprocessing);
    let sample = vec![splits.preprocessing.width()];
    let samples = splits.train.rows();
    let tables = [&splits.train].into_iter().chain(&splits.validation).chain(&splits.test);
    let values = |table: &Table| table.features.len() + table.rows();
    let outline = Outline {
        recipe: &RECIPE,
        architecture: Architecture::Mlp(network),
        sample,
        frozen: FrozenLayers::default(),
        samples,
        training: &config.training,
        trainer: config.trainer(samples.div_ceil(config.training.batch_size)),
        validates: splits.validation.is_some(),
        data_bytes: tables.map(values).sum::<usize>() * size_of::<f32>(),
        notes,
    };
    outline.plan()
}

/// The settings that depend on others, filled in where the user left them open.
pub fn with_choices_made(mut config: Config<TableData, Model>) -> Config<TableData, Model> {
    let Config { data, model, .. } = &mut config;
    let (order, hidden) = match data.source {
        Source::Synthetic => (Order::File, 10),
        Source::Csv | Source::Npy | Source::TextFolder => (Order::Shuffled, 64),
    };
    data.order.get_or_insert(order);
    model.hidden.get_or_insert_with(|| vec![hidden]);
    if data.validation_path.is_none() {
        data.validation = Some(data.validation_share());
    }
    config
}

/// The splits that the configuration names.
///
/// # Errors
///
/// Any problem with the data.
pub fn read(config: &Config<TableData, Model>) -> Result<TableSplits, Failure> {
    let (data, seed) = (&config.data, config.training.seed);
    let categories = match config.model.embedding {
        Some(_) => CategoryEncoding::Index,
        None => CategoryEncoding::OneHot,
    };
    Ok(match data.source {
        Source::Csv => read_csv(&data.csv_options(categories), seed)?,
        Source::Npy => read_npy(&data.npy_options(), seed)?,
        Source::TextFolder => read_text_folder(&data.text_folder_options(), seed)?,
        Source::Synthetic => read_synthetic(&data.synthetic_options(), seed)?,
    })
}
