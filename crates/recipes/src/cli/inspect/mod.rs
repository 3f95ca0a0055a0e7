//! `recipes data inspect`: what a recipe would learn from.

mod description;

use std::path::PathBuf;

use clap::ValueEnum;
use data::{
    DataError, TableSplits, TokenKind,
    augment::AugmentOptions,
    contact_sheet, count_labels,
    csv_table::TargetColumn,
    drawn::Drawing,
    image_folder::OnBadImage,
    text::{Streams, TextOptions, read_text},
};
use serde::Serialize;

use self::description::{Inspection, describe};
use super::{
    augmented, given_data,
    new_file::{NewFile, PNG},
    output::Output,
};
use crate::{
    ExitCode, Failure, cnn,
    config::{Config, ImageConfig, ImageData, ImageOrigin, SettingsLayer, TableData, TextData},
    console::{Console, ProgressMode},
    inputs::{
        image_set::{Found, IN_MEMORY_BYTES, problem_with},
        initial_weights::OnlyWeights,
    },
    lstm, lstm_char, mlp,
};

/// Samples that are drawn to be looked at.
const DRAWN: usize = 1000;
/// Images in a row of the contact sheet.
const COLUMNS: usize = 12;

#[derive(Debug, clap::Args)]
pub(super) struct InspectArguments {
    /// Where the samples come from
    #[arg(value_enum)]
    source: Source,
    /// The file or folder; `digits` and `shapes` are drawn, and `text` has one to begin with
    path: Option<PathBuf>,
    /// The column to predict, for `csv`: its name, or its index from 0; -1 is the last [default: -1].
    /// Put quotation marks around a name that is a number, as in '"2021"'
    #[arg(long, allow_hyphen_values = true, value_name = "COLUMN")]
    target: Option<String>,
    /// Whether the first line of a `csv` names the columns [default: as its cells suggest]
    #[arg(long, value_name = "BOOL")]
    header: Option<bool>,
    /// Change a setting of `[data]` for a `csv`, `npy` or `text-folder`, such as
    /// `data.columns.zip=categorical`, or `model.embedding`; may be repeated
    #[arg(long = "set", value_name = "KEY=VALUE", allow_hyphen_values = true)]
    settings: Vec<String>,
    /// What a `text` is cut into: words, as for `lstm`, or characters or bytes, as for `lstm-char`
    /// [default: words]
    #[arg(long, value_enum)]
    tokens: Option<Tokens>,
    /// The height and width to which the pictures of an `image-folder` are resized [default: 64]
    #[arg(long, value_name = "PIXELS")]
    size: Option<usize>,
    /// Write a picture of samples of images, a row for each class
    #[arg(long, value_name = "FILE.png")]
    sheet: Option<PathBuf>,
    /// Replace the picture if it exists
    #[arg(long)]
    force: bool,
    /// Show samples before and after augmentation on the picture: settings of the table
    /// `[augment]`, such as `rotate=15`
    #[arg(long, num_args = 1.., requires = "sheet", value_name = "KEY=VALUE")]
    augment: Vec<String>,
}

/// A source of samples.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, ValueEnum)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Source {
    /// A table as a CSV file
    Csv,
    /// A folder of NumPy's features.npy and targets.npy
    Npy,
    /// A folder of MNIST's or Fashion-MNIST's four files
    Idx,
    /// A folder of CIFAR-10's binary files
    Cifar10,
    /// A folder with a folder of pictures for each class
    ImageFolder,
    /// A text file, or a folder of them
    Text,
    /// A folder with a folder of texts for each class
    TextFolder,
    /// Drawn digits
    Digits,
    /// Drawn shapes
    Shapes,
}

/// What a text is cut into.
#[derive(Clone, Copy, Debug, ValueEnum)]
enum Tokens {
    Words,
    Characters,
    Bytes,
}

impl From<Tokens> for TokenKind {
    fn from(tokens: Tokens) -> Self {
        match tokens {
            Tokens::Words => Self::Words,
            Tokens::Characters => Self::Characters,
            Tokens::Bytes => Self::Bytes,
        }
    }
}

pub(super) fn run(
    arguments: &InspectArguments,
    progress: ProgressMode,
    output: &Output,
) -> Result<(), Failure> {
    arguments.refuse_of_other_sources()?;
    let augment = arguments.augment.iter().map(|setting| SettingsLayer::augment(setting));
    let config: ImageConfig<cnn::Model> = cnn::RECIPE.resolve(augment.collect())?;
    let sheet = arguments.sheet.as_deref();
    let sheet = NewFile::check_if_named(sheet, "--sheet", PNG, arguments.force)?;
    let (mut inspection, images) = match arguments.source {
        Source::Csv | Source::Npy | Source::TextFolder => (inspect_table(arguments)?, None),
        Source::Text => (inspect_text(arguments)?, None),
        source => {
            let found = read_images(arguments, config.data, &mut Console::new(progress))?;
            (images(source, &found)?, Some(found.train))
        }
    };
    if let (Some(sheet), Some(images)) = (sheet, images) {
        let rows = images.classes().join(", ");
        let (columns, png) = match arguments.augment.is_empty() {
            true => ("", contact_sheet(&*images, COLUMNS)?),
            false => (
                told_of_augmented(&config.augment),
                augmented::sheet(images, &config.augment, COLUMNS)?,
            ),
        };
        let told = format!("the rows of `{sheet}` from the top: {rows}{columns}");
        inspection.notes.push(told);
        sheet.write(&png)?;
    }
    output.result(&inspection, describe)
}

impl InspectArguments {
    fn path(&self) -> Result<PathBuf, Failure> {
        self.path.clone().ok_or_else(|| {
            let message = "this source needs a path";
            Failure::new(ExitCode::Usage, message, "name the file or folder after the source")
        })
    }

    fn sets(&self, key: &str) -> bool {
        self.settings.iter().any(|set| SettingsLayer::set(set).has(key))
    }

    /// Refuses what would have no effect.
    fn refuse_of_other_sources(&self) -> Result<(), Failure> {
        let (is_csv, is_text) = (self.source == Source::Csv, self.source == Source::Text);
        let is_drawn = matches!(self.source, Source::Digits | Source::Shapes);
        let is_table = matches!(self.source, Source::Csv | Source::Npy | Source::TextFolder);
        let has_images = !is_table && !is_text;
        let options = [
            ("PATH", self.path.is_some(), !is_drawn),
            ("--target", self.target.is_some(), is_csv),
            ("--header", self.header.is_some(), is_csv),
            ("--set", !self.settings.is_empty(), is_table),
            ("--tokens", self.tokens.is_some(), is_text),
            ("--size", self.size.is_some(), self.source == Source::ImageFolder),
            ("--sheet", self.sheet.is_some(), has_images),
        ];
        let is_read = |setting: &String| {
            let mut keys = SettingsLayer::set(setting).keys().into_iter();
            keys.all(|key| key.starts_with("data.") || key == "model.embedding")
        };
        let twice = [
            ("data.source", true),
            ("data.path", true),
            ("data.target", self.target.is_some()),
            ("data.header", self.header.is_some()),
        ];
        let twice = twice.into_iter().find(|&(key, is_given)| is_given && self.sets(key));
        let unread = self.settings.iter().find(|setting| !is_read(setting));
        let unread =
            unread.map(|setting| format!("`--set {setting}` has no effect on what is read"));
        let problem = twice.map(|(key, _)| format!("`{key}` is given without `--set` already"));
        if let Some(problem) = problem.or(unread).filter(|_| is_table) {
            return Err(Failure::new(ExitCode::Usage, problem, "leave it out"));
        }
        match options.into_iter().find(|&(_, is_given, has_effect)| is_given && !has_effect) {
            Some((option, ..)) => Err(Failure::new(
                ExitCode::Usage,
                format!("`{option}` has no effect on this source"),
                "leave it out; `recipes data inspect --help` says which option is for which source",
            )),
            None => Ok(()),
        }
    }
}

/// What there is to know of a picture of augmented samples.
fn told_of_augmented(augment: &AugmentOptions) -> &'static str {
    if augment.mixup > 0.0 || augment.cutmix > 0.0 {
        return "; only the first column is not augmented, and mixed pictures may show more of another class";
    }
    "; only the first column is not augmented"
}

/// Reads a table as `mlp` does.
fn inspect_table(arguments: &InspectArguments) -> Result<Inspection, Failure> {
    let is_csv = arguments.source == Source::Csv;
    let source = format!("data.source={}", given_data::name(arguments.source));
    let mut layers = SettingsLayer::sets(&[source.as_str(), "data.path=."]);
    layers.extend(is_csv.then(|| SettingsLayer::set("data.target=-1")));
    layers.extend(SettingsLayer::sets(&arguments.settings));
    let mut config: Config<TableData, mlp::Model> = mlp::RECIPE.resolve(layers)?;
    config.data.path = Some(arguments.path()?);
    config.data.header = arguments.header.or(config.data.header);
    config.data.target = arguments.target.as_deref().map(target_column).or(config.data.target);
    let splits = mlp::read(&config)?;

    let mut inspection = table(arguments.source, &splits);
    if is_csv {
        inspection.columns = splits.preprocessing.columns.clone();
    }
    if is_csv && arguments.target.is_none() && !arguments.sets("data.target") {
        inspection.notes.insert(
            0,
            format!(
                "`{}`, the last column, is taken for the one to predict; `--target` names another",
                splits.preprocessing.target.name
            ),
        );
    }
    Ok(inspection)
}

/// The value of `--target`.
fn target_column(given: &str) -> TargetColumn {
    given.parse().map(TargetColumn::Index).unwrap_or_else(|_| {
        let between = |quote| given.strip_prefix(quote)?.strip_suffix(quote);
        TargetColumn::Name(between('"').or_else(|| between('\'')).unwrap_or(given).to_owned())
    })
}

fn inspect_text(arguments: &InspectArguments) -> Result<Inspection, Failure> {
    let (path, tokens) = (arguments.path.clone(), arguments.tokens.unwrap_or(Tokens::Words).into());
    let (recipe, reads_streams) = match tokens {
        TokenKind::Words => (lstm::RECIPE, false),
        TokenKind::Characters | TokenKind::Bytes => (lstm_char::RECIPE, true),
    };
    let config: Config<TextData, OnlyWeights> = recipe.resolve(Vec::new())?;
    let options = TextOptions { path, tokens, ..config.data.options() };
    let sequence_length = options.sequence_length;
    let corpus = read_text(&options)?;
    let mut beginning = vec![0; corpus.train.len().min(40)];
    corpus.train.read(0, &mut beginning);
    let beginning = corpus.vocabulary.decode(&beginning);
    let mut notes = vec![
        format!("{} different tokens are told apart", corpus.vocabulary.len()),
        format!("it begins: {beginning}"),
    ];
    notes.extend(corpus.notes);
    let samples = corpus.train.len();
    // Told, not refused: what the text holds is known all the same.
    let streams = || Streams::new(corpus.train, config.training.batch_size, sequence_length);
    if let Some(error) = reads_streams.then(streams).and_then(Result::err) {
        let (recipe, help) = (recipe.name, error.help());
        notes.push(format!("`{recipe}` refuses it with its own settings: {error}; {help}"));
    }
    let validation = corpus.validation.map(|tokens| ("validation", tokens.len()));
    Ok(Inspection {
        source: Source::Text,
        samples,
        splits: [("train", samples)].into_iter().chain(validation).collect(),
        classes: Vec::new(),
        shape: vec![sequence_length],
        columns: Vec::new(),
        range: None,
        skipped: 0,
        problems: Vec::new(),
        notes,
    })
}

/// Every image of every split; none is held out.
///
/// - `settings`: those of a recipe
fn read_images(
    arguments: &InspectArguments,
    settings: ImageData,
    console: &mut Console,
) -> Result<Found, Failure> {
    let source = match arguments.source {
        Source::Idx => ImageOrigin::Idx,
        Source::Cifar10 => ImageOrigin::Cifar10,
        Source::ImageFolder => ImageOrigin::ImageFolder,
        _ => ImageOrigin::Synthetic,
    };
    let is_drawn = source == ImageOrigin::Synthetic;
    let data = ImageData {
        source,
        drawing: if arguments.source == Source::Shapes { Drawing::Shapes } else { Drawing::Digits },
        samples: DRAWN,
        path: if is_drawn { None } else { Some(arguments.path()?) },
        size: arguments.size,
        on_bad_image: OnBadImage::Skip, // so that every problem is found
        validation: Some(0.0),
        ..settings
    };
    // Those held out are only counted.
    let mut found = Found::read(&data, 0, [IN_MEMORY_BYTES, 0], &mut console.progress())?;
    if is_drawn {
        found.test = None; // a recipe draws as many as it is told to
    }
    Ok(found)
}

fn table(source: Source, splits: &TableSplits) -> Inspection {
    let train = &splits.train;
    let ids = splits.preprocessing.id_counts();
    let numbers = train.features.iter().zip(ids.iter().cycle());
    let numbers = numbers.filter(|&(_, &ids)| ids == 0).map(|(&number, _)| f64::from(number));
    let others = [("validation", &splits.validation), ("test", &splits.test)];
    let others = others.iter().filter_map(|(name, split)| Some((*name, split.as_ref()?.rows())));
    Inspection {
        source,
        samples: train.rows(),
        splits: [("train", train.rows())].into_iter().chain(others).collect(),
        classes: by_name(train.targets.labels(), splits.preprocessing.target.classes()),
        shape: vec![splits.preprocessing.width()],
        columns: Vec::new(),
        range: range(numbers),
        skipped: splits.skipped,
        problems: Vec::new(),
        notes: splits.notes.iter().cloned().chain(splits.note_on_copies()).collect(),
    }
}

fn images(source: Source, found: &Found) -> Result<Inspection, DataError> {
    let Found { train, validation, test, notes, skipped, .. } = found;
    let others = [("validation", validation), ("test", test)].into_iter();
    let others = others.filter_map(|(name, split)| Some((name, split.as_ref()?.labels().len())));
    let shape = train.shape();
    let (mut pixels, mut extremes) = (vec![0; shape.bytes()], Vec::new());
    for index in 0..train.labels().len() {
        train.read(index, &mut pixels)?;
        extremes
            .extend(pixels.iter().copied().min().into_iter().chain(pixels.iter().copied().max()));
    }
    Ok(Inspection {
        source,
        samples: train.labels().len(),
        splits: [("train", train.labels().len())].into_iter().chain(others).collect(),
        classes: by_name(train.labels(), train.classes()),
        shape: vec![shape.channels, shape.height, shape.width],
        columns: Vec::new(),
        range: range(extremes.into_iter().map(f64::from)),
        skipped: skipped.len(),
        problems: skipped.iter().map(problem_with).collect(),
        notes: notes.clone(),
    })
}

/// In the order of the classes, which numbers keep.
fn by_name(labels: &[u32], classes: &[String]) -> Vec<(String, usize)> {
    classes.iter().cloned().zip(count_labels(labels, classes.len())).collect()
}

fn range(values: impl Iterator<Item = f64>) -> Option<[f64; 2]> {
    values.fold(None, |range, value| match range {
        None => Some([value; 2]),
        Some([least, greatest]) => Some([least.min(value), greatest.max(value)]),
    })
}
