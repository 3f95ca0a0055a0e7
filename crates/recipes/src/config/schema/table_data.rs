//! `[data]` of the recipes that learn from tables.

use std::{collections::BTreeMap, fmt, fs::File, iter, path::PathBuf};

use data::{
    CategoryEncoding, Fractions, HoldOut, Order, TargetScale, Task, TextColumns, TextFeatures,
    csv_table::{ColumnOverride, CsvOptions, OnMissingTarget, TargetColumn},
    npy::NpyOptions,
    synthetic::{Labels, SyntheticOptions},
    text_folder::{self, TextFolderOptions},
};
use serde::{
    Deserialize, Deserializer, Serialize,
    de::{self, Visitor},
};
use store::StoreError;

use crate::{
    Failure,
    config::{
        check::{Check, Checker},
        or_empty,
        schema::fractions::{check_fractions, refuse_fraction_of_drawn},
    },
    inputs::class_weights::ClassWeighting,
};

/// The table `[data]`: generated samples or files, and how they are split.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TableData {
    /// Where the samples come from.
    pub source: Source,
    /// The rule behind synthetic labels.
    pub labels: Labels,
    /// How many synthetic samples.
    pub samples: usize,
    /// How many features a synthetic sample has.
    pub features: usize,
    /// The CSV file to train on, packed by gzip or not, the folder of `.npy` files, or that of class folders of texts.
    #[serde(default, with = "or_empty")]
    pub path: Option<PathBuf>,
    /// The column to predict: its name, or its index from 0, negative from the end.
    #[serde(default, with = "or_empty")]
    pub target: Option<TargetColumn>,
    /// The kind of target, instead of inferring it.
    #[serde(default, with = "or_empty")]
    pub task: Option<Task>,
    /// Whether a value or its logarithm is learnt.
    pub target_scale: TargetScale,
    /// Whether the first row holds names, instead of inferring it.
    #[serde(default, with = "or_empty")]
    pub header: Option<bool>,
    /// What marks a missing value in a CSV file, besides what always does.
    #[serde(deserialize_with = "marks")]
    pub missing: Vec<String>,
    /// The most words that are told apart in texts, including that of unknown words.
    pub text_vocabulary: usize,
    /// The most tokens that are read of a text, its last ones.
    pub text_length: usize,
    /// What becomes of a row of a CSV file without a value to predict.
    pub on_missing_target: OnMissingTarget,
    /// The order of the samples in an epoch, instead of the default.
    #[serde(default, with = "or_empty")]
    pub order: Option<Order>,
    /// The fraction of non-held-out rows to train on.
    pub fraction: f64,
    /// The fraction of the samples to hold out for validation.
    #[serde(default, with = "or_empty")]
    pub validation: Option<f64>,
    /// The fraction of the samples to hold out to test on at the end.
    pub test: f64,
    /// How a file's rows are held out.
    pub hold_out: HoldOut,
    /// The column of a CSV file whose values name the rows that stay together.
    #[serde(default, with = "or_empty")]
    pub group: Option<String>,
    /// A CSV file to validate on instead.
    #[serde(default, with = "or_empty")]
    pub validation_path: Option<PathBuf>,
    /// A CSV file to test on at the end instead.
    #[serde(default, with = "or_empty")]
    pub test_path: Option<PathBuf>,
    /// How much each class counts in the loss to train on.
    pub class_weights: ClassWeighting,
    /// How to interpret single columns, by name, instead of inferring it.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    #[serde(deserialize_with = "overrides")]
    pub columns: BTreeMap<String, ColumnOverride>,
}

/// The value of `data.source`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Source {
    /// Generated from the seed.
    Synthetic,
    /// Read from a CSV file.
    Csv,
    /// Read from a folder of `.npy` files.
    Npy,
    /// Read from a folder with a folder of texts for each class.
    TextFolder,
}

/// Keys for a CSV file only, or for its categories.
const CSV_KEYS: [&str; 10] = [
    "data.target",
    "data.target_scale",
    "data.header",
    "data.missing",
    "data.on_missing_target",
    "data.columns",
    "data.group",
    "data.validation_path",
    "data.test_path",
    "model.embedding",
];
/// Keys for texts only.
const TEXT_KEYS: [&str; 4] =
    ["data.text_vocabulary", "data.text_length", "model.text_embedding", "model.text_hidden"];
/// Keys for synthetic samples only.
pub(crate) const SYNTHETIC_KEYS: [&str; 3] = ["data.labels", "data.samples", "data.features"];

impl Check for TableData {
    fn check(&self, checker: &mut Checker<'_>) {
        checker.require("data.samples", self.samples >= 1, "at least 1");
        checker.require("data.features", self.features >= 1, "at least 1");
        let is_vocabulary = (2..=TextColumns::MOST_WORDS).contains(&self.text_vocabulary);
        checker.require("data.text_vocabulary", is_vocabulary, "2 to 1,000,000 words");
        let is_length = (1..=TextFeatures::LONGEST).contains(&self.text_length);
        checker.require("data.text_length", is_length, "1 to 16,777,216 words");
        let validation = self.validation_share();
        check_fractions(Fractions { validation, ..self.fractions() }, checker);
        let marks = self.missing.iter().all(|text| !text.trim().is_empty());
        checker.require(
            "data.missing",
            marks,
            "texts, such as [\"-999\"], since empty cells are missing",
        );

        match self.source {
            Source::Synthetic => {
                checker.only_with(
                    "data.source",
                    "csv",
                    &["data.path", "data.task", "data.hold_out"],
                );
                refuse_fraction_of_drawn(checker);
                refuse_of_csv(checker);
                refuse_of_texts(checker, "synthetic");
            }
            Source::Csv => self.check_csv(checker),
            Source::Npy => {
                checker.only_with("data.source", "synthetic", &SYNTHETIC_KEYS);
                refuse_of_csv(checker);
                refuse_of_texts(checker, "npy");
                let help = "name the folder of `features.npy` and `targets.npy`: \
                            `--set data.path=FOLDER`";
                checker.needs("data.source", "data.path", help);
            }
            Source::TextFolder => {
                checker.only_with("data.source", "synthetic", &SYNTHETIC_KEYS);
                checker.only_with("data.source", "csv", &["data.task", "data.hold_out"]);
                refuse_of_csv(checker);
                let help = "name the folder that has a folder of texts for each class: \
                            `--set data.path=FOLDER`";
                checker.needs("data.source", "data.path", help);
            }
        }
        if self.source != Source::Synthetic {
            self.check_held_out(checker);
        }
    }
}

/// Refuses keys for a CSV file.
fn refuse_of_csv(checker: &mut Checker<'_>) {
    checker.only_with("data.source", "csv", &CSV_KEYS);
}

/// Refuses keys for texts where the source has none.
fn refuse_of_texts(checker: &mut Checker<'_>, source: &str) {
    for key in TEXT_KEYS.iter().filter(|key| checker.is_changed(key)).collect::<Vec<_>>() {
        checker.conflict(
            key,
            format!("`{key}` has no effect with `data.source = \"{source}\"`"),
            "leave it out, or name texts: a folder by `data.source=text-folder`, or a column of a CSV file by \
             `data.columns.NAME=text`",
        );
    }
}

/// Without those that the empty string unsets.
fn overrides<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<BTreeMap<String, ColumnOverride>, D::Error> {
    #[derive(Deserialize)]
    #[serde(transparent)]
    struct Override(#[serde(with = "or_empty")] Option<ColumnOverride>);

    let columns = BTreeMap::<String, Override>::deserialize(deserializer)?;
    let columns = columns.into_iter();
    Ok(columns.filter_map(|(name, Override(kind))| Some((name, kind?))).collect())
}

/// Texts, of which numbers may be written as such.
fn marks<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<String>, D::Error> {
    struct Mark(String);

    impl<'de> Deserialize<'de> for Mark {
        fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
            deserializer.deserialize_any(MarkVisitor)
        }
    }

    struct MarkVisitor;

    impl Visitor<'_> for MarkVisitor {
        type Value = Mark;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("a text or a number")
        }

        fn visit_str<E: de::Error>(self, text: &str) -> Result<Mark, E> {
            Ok(Mark(text.to_owned()))
        }

        fn visit_i64<E: de::Error>(self, number: i64) -> Result<Mark, E> {
            Ok(Mark(number.to_string()))
        }

        fn visit_u64<E: de::Error>(self, number: u64) -> Result<Mark, E> {
            Ok(Mark(number.to_string()))
        }

        fn visit_f64<E: de::Error>(self, number: f64) -> Result<Mark, E> {
            Ok(Mark(number.to_string()))
        }
    }

    let marks = Vec::<Mark>::deserialize(deserializer)?;
    Ok(marks.into_iter().map(|Mark(text)| text).collect())
}

impl TableData {
    /// The share of files that is held out to validate on, unless told otherwise.
    pub(crate) const USUAL_VALIDATION: f64 = 0.2;

    /// The share of the rows that is held out to validate on: unless told otherwise a fifth, but nothing of random
    /// labels, which can only be memorised, or beside a file of its own.
    pub(crate) fn validation_share(&self) -> f64 {
        let memorises = self.source == Source::Synthetic && self.labels == Labels::Random;
        let usual =
            if memorises || self.validation_path.is_some() { 0.0 } else { Self::USUAL_VALIDATION };
        self.validation.unwrap_or(usual)
    }

    /// The CSV source's options, once the configuration was checked.
    pub(crate) fn csv_options(&self, categories: CategoryEncoding) -> CsvOptions {
        CsvOptions {
            path: self.path.clone().unwrap_or_default(),
            target: self.target.clone().unwrap_or(TargetColumn::Index(-1)),
            // Only values have logarithms.
            task: self.task.or((!self.target_scale.is_linear()).then_some(Task::Regression)),
            target_scale: self.target_scale,
            columns: self.columns.clone(),
            categories,
            texts: self.texts(),
            header: self.header,
            missing: self.missing.iter().map(|text| text.trim().to_owned()).collect(),
            on_missing_target: self.on_missing_target,
            fractions: self.fractions(),
            hold_out: self.hold_out,
            group: self.group.clone(),
            validation_path: self.validation_path.clone(),
            test_path: self.test_path.clone(),
        }
    }

    /// The NPY source's options, once the configuration was checked.
    pub(crate) fn npy_options(&self) -> NpyOptions {
        NpyOptions {
            path: self.path.clone().unwrap_or_default(),
            task: self.task,
            fractions: self.fractions(),
            hold_out: self.hold_out,
        }
    }

    /// The options of a folder of texts, once the configuration was checked.
    pub(crate) fn text_folder_options(&self) -> TextFolderOptions {
        TextFolderOptions {
            path: self.path.clone().unwrap_or_default(),
            texts: self.texts(),
            fractions: self.fractions(),
        }
    }

    /// Nothing is held out to validate on where that was left open.
    fn fractions(&self) -> Fractions {
        let validation = self.validation.unwrap_or(0.0);
        Fractions { train: self.fraction, validation, test: self.test }
    }

    fn texts(&self) -> TextColumns {
        TextColumns { vocabulary: self.text_vocabulary, length: self.text_length }
    }

    /// The synthetic source's options, once the configuration was checked.
    pub(crate) fn synthetic_options(&self) -> SyntheticOptions {
        SyntheticOptions {
            samples: self.samples,
            features: self.features,
            labels: self.labels,
            fractions: self.fractions(),
        }
    }

    /// A hash of the files, if there are any.
    pub(crate) fn source_hash(&self) -> Result<Option<String>, Failure> {
        let path = self.path.clone().unwrap_or_default();
        let files: Vec<PathBuf> = match self.source {
            Source::Synthetic => return Ok(None),
            Source::Csv => {
                let held_out = [&self.validation_path, &self.test_path];
                iter::once(path).chain(held_out.into_iter().flatten().cloned()).collect()
            }
            Source::TextFolder => return Ok(Some(text_folder::fingerprint(&path)?)),
            Source::Npy => {
                let of_split = |split: &str| {
                    ["features", "targets"].map(|array| path.join(format!("{split}{array}.npy")))
                };
                let held_out = ["validation_", "test_"].into_iter().flat_map(of_split);
                of_split("").into_iter().chain(held_out.filter(|file| file.is_file())).collect()
            }
        };
        let hash = |path: PathBuf| {
            let hash = File::open(&path).and_then(store::sha256_hex_of);
            let failed = |reason| StoreError::Io { action: "read", path, reason };
            hash.map_err(|reason| Failure::user_data(failed(reason)))
        };
        Ok(Some(files.into_iter().map(hash).collect::<Result<String, _>>()?))
    }

    fn check_csv(&self, checker: &mut Checker<'_>) {
        let has_texts = self.columns.values().any(|&kind| kind == ColumnOverride::Text);
        for key in TEXT_KEYS.iter().filter(|_| !has_texts) {
            if !checker.is_changed(key) {
                continue;
            }
            checker.conflict(
                key,
                format!("`{key}` has no effect: `data.columns` names no column of texts"),
                "leave it out, or name one: `--set data.columns.NAME=text`",
            );
        }
        checker.only_with("data.source", "synthetic", &SYNTHETIC_KEYS);
        let help = "name the file: `--set data.path=FILE.csv`";
        checker.needs("data.source", "data.path", help);
        let help = "name the column to predict, or give its index: `--set data.target=-1` is the \
                    last one";
        checker.needs("data.source", "data.target", help);
        if self.validation.is_some() && self.validation_path.is_some() {
            checker.conflict(
                "data.validation_path",
                "`data.validation` and `data.validation_path` exclude each other",
                "unset one of them: `--set data.validation=`",
            );
        }
        if self.test_path.is_some() {
            checker.only_with("data.test_path", "", &["data.test"]);
        }
    }

    /// Checks what is said of rows to hold out.
    fn check_held_out(&self, checker: &mut Checker<'_>) {
        let chosen = match (&self.group, self.hold_out) {
            (None, HoldOut::Random) => return,
            (None, HoldOut::Last) => "data.hold_out",
            (Some(_), HoldOut::Random) => "data.group",
            (Some(_), HoldOut::Last) => {
                return checker.conflict(
                    "data.group",
                    "`data.group` and `data.hold_out = \"last\"` exclude each other",
                    "unset one of them: `--set data.group=`",
                );
            }
        };
        let all = self.validation_path.is_some() || self.validation == Some(0.0);
        if all && self.test == 0.0 {
            checker.conflict(
                chosen,
                format!("`{chosen}` has no effect, since no rows of `data.path` are held out"),
                match self.validation_path {
                    Some(_) => "leave it out, or hold out rows to test on: `--set data.test=0.2`",
                    None => "leave it out, or hold out rows: `--set data.validation=0.2`",
                },
            );
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::{
        config::{Config, SettingsLayer},
        mlp,
    };

    #[test]
    fn arrays_of_every_split_are_hashed() {
        let folder = tempfile::tempdir().unwrap();
        let path = format!("data.path={:?}", folder.path());
        let layers = SettingsLayer::sets(&["data.source=npy", &path]);
        let config: Config<TableData, mlp::Model> = mlp::RECIPE.resolve(layers).unwrap();
        let written = |name: &str, content: &str| {
            fs::write(folder.path().join(name), content).unwrap();
            config.data.source_hash()
        };
        assert!(written("features.npy", "1").is_err());
        let mut before = written("targets.npy", "2").unwrap();
        for (name, content) in [
            ("validation_features.npy", "3"),
            ("validation_targets.npy", "4"),
            ("test_features.npy", "5"),
            ("test_targets.npy", "6"),
            ("test_targets.npy", "7"),
        ] {
            let now = written(name, content).unwrap();
            assert_ne!(now, before, "{name}");
            before = now;
        }
    }
}
