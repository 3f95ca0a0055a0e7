//! How a row of a table becomes the features of a network, and its target a class or a value.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::{number_format::NumberFormat, target_scores::TargetScores, vocabulary::Vocabulary};

/// What the network predicts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Task {
    /// One of two classes: one logit.
    Binary,
    /// One of several classes: a logit for each.
    Multiclass,
    /// A number: one output.
    Regression,
}

impl fmt::Display for Task {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Binary => "binary",
            Self::Multiclass => "multiclass",
            Self::Regression => "regression",
        })
    }
}

/// How the rows of a table are encoded: its columns in the training file's order, and its target.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TablePreprocessing {
    /// Whether the names come from a header of the file; if not, columns are matched by position.
    pub header: bool,
    /// Whether most of the file's numbers have a decimal comma, and points between thousands.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub decimal_comma: bool,
    /// What marks a missing value, besides what always does.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub missing: Vec<String>,
    /// Whether each row is a file, the text of the only column.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub rows_are_files: bool,
    /// The columns in the file's order, the target left out and the dropped ones included.
    pub columns: Vec<Column>,
    /// The column to predict.
    pub target: Target,
}

/// A column of features.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Column {
    /// Its name in the header, or `column_<index>`.
    pub name: String,
    /// How its cells are encoded.
    #[serde(flatten)]
    pub kind: ColumnKind,
    /// What its numbers may have besides digits, if anything.
    // Models of format 1 call it `dress`.
    #[serde(
        default,
        rename = "number_format",
        alias = "dress",
        skip_serializing_if = "Option::is_none"
    )]
    pub format: Option<NumberFormat>,
}

impl Column {
    /// What the user should know of a column that is not used.
    pub fn note_if_dropped(&self) -> Option<String> {
        match &self.kind {
            ColumnKind::Dropped { reason } => {
                Some(format!("column `{}` is dropped: {reason}", self.name))
            }
            _ => None,
        }
    }
}

/// How the cells of a column are encoded; the statistics are those of the training split.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum ColumnKind {
    /// One feature, (number - mean) / deviation; a missing number counts as the mean, and a
    /// deviation of 0 makes every number 0.
    Numeric {
        /// Mean of the numbers that are there.
        mean: f64,
        /// Their standard deviation (of the population).
        deviation: f64,
    },
    /// One of a few texts.
    Categorical {
        /// The categories of the training split.
        categories: Vec<String>,
        /// The most frequent category, which stands in for a missing cell.
        fill: String,
        /// How a category is encoded.
        #[serde(default)]
        encoding: CategoryEncoding,
    },
    /// A feature for each token that is read of a text: the id that the vocabulary gives it, plus 1. Before
    /// the tokens of a shorter text are zeros.
    Text {
        /// The words of the training split.
        vocabulary: Vocabulary,
        /// How many tokens are read of a text: its last ones, as Keras's `pad_sequences` has it.
        length: usize,
    },
    /// No feature.
    Dropped {
        /// The reason.
        reason: String,
    },
}

/// The features of a row that are the tokens of a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TextFeatures {
    /// The first of them.
    pub feature: usize,
    /// How many there are.
    pub length: usize,
    /// How many different tokens there are, from 0, which stands for none.
    pub tokens: usize,
}

impl TextFeatures {
    /// The most tokens of a text: more would fill the memory.
    pub const LONGEST: usize = 1 << 24;
}

/// How a category is encoded.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CategoryEncoding {
    /// A feature for each category, 1 for the cell's own and else 0; all are 0 for a category that
    /// the training split does not have.
    #[default]
    OneHot,
    /// One feature, an index for an embedding: the category's place, counted from 1; 0 for a
    /// category that the training split does not have.
    Index,
}

/// The column to predict.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Target {
    /// Its name in the header, or `column_<index>`.
    pub name: String,
    /// Its place among all columns of the training file, from 0.
    pub index: usize,
    /// What its cells mean.
    #[serde(flatten)]
    pub kind: TargetKind,
    /// What its numbers may have besides digits, if anything; they are predicted without.
    // Models of format 1 call it `dress`.
    #[serde(
        default,
        rename = "number_format",
        alias = "dress",
        skip_serializing_if = "Option::is_none"
    )]
    pub format: Option<NumberFormat>,
}

/// What the cells of the target mean.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "task", rename_all = "snake_case")]
pub enum TargetKind {
    /// One of two classes.
    Binary {
        /// The class of label 0 and that of label 1.
        classes: [String; 2],
    },
    /// One of several classes.
    Multiclass {
        /// The classes in the order of their labels.
        classes: Vec<String>,
    },
    /// A number, which the network gives standardised.
    Regression(TargetScores),
}

impl TablePreprocessing {
    /// Of columns of plain numbers, called `x0`, `x1` and so on, before the target.
    ///
    /// - `moments`: the mean and deviation of each
    pub fn of_numbers(
        moments: impl Iterator<Item = (f64, f64)>,
        target: &str,
        kind: TargetKind,
    ) -> Self {
        let column = |(index, (mean, deviation)): (usize, (f64, f64))| Column {
            name: format!("x{index}"),
            kind: ColumnKind::Numeric { mean, deviation },
            format: None,
        };
        let columns: Vec<Column> = moments.enumerate().map(column).collect();
        let target = Target { name: target.to_owned(), index: columns.len(), kind, format: None };
        Self {
            header: true,
            decimal_comma: false,
            missing: Vec::new(),
            rows_are_files: false,
            columns,
            target,
        }
    }

    /// Features of an encoded row.
    pub fn width(&self) -> usize {
        self.columns.iter().map(|column| column.kind.width()).sum()
    }

    /// What the network predicts.
    pub fn task(&self) -> Task {
        match self.target.kind {
            TargetKind::Binary { .. } => Task::Binary,
            TargetKind::Multiclass { .. } => Task::Multiclass,
            TargetKind::Regression(_) => Task::Regression,
        }
    }

    /// The features that are indices of categories, each with the number of its indices.
    pub fn indexed(&self) -> Vec<(usize, usize)> {
        let mut feature = 0;
        let mut indexed = Vec::new();
        for Column { kind, .. } in &self.columns {
            if let ColumnKind::Categorical { categories, encoding, .. } = kind
                && *encoding == CategoryEncoding::Index
            {
                indexed.push((feature, categories.len() + 1));
            }
            feature += kind.width();
        }
        indexed
    }

    /// The features that are tokens of texts.
    pub fn texts(&self) -> Vec<TextFeatures> {
        let mut feature = 0;
        let mut texts = Vec::new();
        for Column { kind, .. } in &self.columns {
            if let &ColumnKind::Text { ref vocabulary, length } = kind {
                texts.push(TextFeatures { feature, length, tokens: vocabulary.len() + 1 });
            }
            feature += kind.width();
        }
        texts
    }

    /// For each feature that is the id of a category or token, how many ids there are; 0 for a number.
    pub fn id_counts(&self) -> Vec<usize> {
        let mut ids = vec![0; self.width()];
        self.indexed().into_iter().for_each(|(feature, entries)| ids[feature] = entries);
        for TextFeatures { feature, length, tokens } in self.texts() {
            ids[feature..][..length].fill(tokens);
        }
        ids
    }

    /// How many rows to predict at a time, at most `most`; fewer where they have texts, since much memory is kept
    /// for each token.
    pub fn rows_at_a_time(&self, most: usize) -> usize {
        const TOKENS: usize = 1 << 14;
        let tokens: usize = self.texts().iter().map(|text| text.length).sum();
        (TOKENS / tokens.max(1)).min(most).max(1)
    }

    /// A name for each feature: the column's, `column=category`, or `column[place]` for a token.
    pub fn feature_names(&self) -> Vec<String> {
        let mut names = Vec::with_capacity(self.width());
        for Column { name, kind, .. } in &self.columns {
            match kind {
                ColumnKind::Numeric { .. }
                | ColumnKind::Categorical { encoding: CategoryEncoding::Index, .. } => {
                    names.push(name.clone());
                }
                ColumnKind::Categorical { categories, .. } => {
                    names.extend(categories.iter().map(|category| format!("{name}={category}")));
                }
                ColumnKind::Text { length, .. } => {
                    names.extend((0..*length).map(|place| format!("{name}[{place}]")));
                }
                ColumnKind::Dropped { .. } => {}
            }
        }
        names
    }

    /// The name of each dropped column, and the reason.
    pub fn dropped(&self) -> Vec<(String, String)> {
        let reason = |column: &Column| match &column.kind {
            ColumnKind::Dropped { reason } => Some((column.name.clone(), reason.clone())),
            _ => None,
        };
        self.columns.iter().filter_map(reason).collect()
    }
}

impl Column {
    /// The categories, if it has any.
    pub fn categories(&self) -> &[String] {
        match &self.kind {
            ColumnKind::Categorical { categories, .. } => categories,
            _ => &[],
        }
    }
}

impl ColumnKind {
    /// Features of an encoded cell.
    pub fn width(&self) -> usize {
        match self {
            Self::Numeric { .. } => 1,
            Self::Categorical { categories, encoding, .. } => match encoding {
                CategoryEncoding::OneHot => categories.len(),
                CategoryEncoding::Index => 1,
            },
            Self::Text { length, .. } => *length,
            Self::Dropped { .. } => 0,
        }
    }
}

impl TargetKind {
    /// One of these classes; of two, one of several if the user says so.
    ///
    /// # Errors
    ///
    /// How many there are, where the user says that there are two.
    pub fn of_classes(classes: Vec<String>, task: Option<Task>) -> Result<Self, usize> {
        match (task, <[String; 2]>::try_from(classes)) {
            (Some(Task::Multiclass), Ok(two)) => Ok(Self::Multiclass { classes: two.into() }),
            (_, Ok(classes)) => Ok(Self::Binary { classes }),
            (Some(Task::Binary), Err(classes)) => Err(classes.len()),
            (_, Err(classes)) => Ok(Self::Multiclass { classes }),
        }
    }

    /// The classes in the order of their labels; none for a regression.
    pub fn classes(&self) -> &[String] {
        match self {
            Self::Binary { classes } => classes,
            Self::Multiclass { classes } => classes,
            Self::Regression(_) => &[],
        }
    }
}

impl Target {
    /// As [`TargetKind::classes`].
    pub fn classes(&self) -> &[String] {
        self.kind.classes()
    }

    /// A regression's output in the user's unit; a class's logit as it is.
    pub fn restore(&self, output: f32) -> f64 {
        match &self.kind {
            TargetKind::Regression(scores) => scores.value(output),
            TargetKind::Binary { .. } | TargetKind::Multiclass { .. } => output.into(),
        }
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::TargetScale;

    pub(crate) fn example() -> TablePreprocessing {
        let column = |name: &str, kind| Column { name: name.into(), kind, format: None };
        TablePreprocessing {
            header: true,
            decimal_comma: false,
            missing: vec!["-999".into()],
            rows_are_files: false,
            columns: vec![
                column("age", ColumnKind::Numeric { mean: 30.0, deviation: 10.0 }),
                column("ticket", ColumnKind::Dropped { reason: "hardly recurs".into() }),
                column(
                    "sex",
                    ColumnKind::Categorical {
                        categories: vec!["female".into(), "male".into()],
                        fill: "male".into(),
                        encoding: CategoryEncoding::OneHot,
                    },
                ),
                column("constant", ColumnKind::Numeric { mean: 5.0, deviation: 0.0 }),
            ],
            target: Target {
                name: "survived".into(),
                index: 1,
                kind: TargetKind::Binary { classes: ["0".into(), "1".into()] },
                format: None,
            },
        }
    }

    #[test]
    fn width_and_names_agree() {
        let example = example();
        assert_eq!(example.feature_names(), ["age", "sex=female", "sex=male", "constant"]);
        assert_eq!(example.width(), 4);
        assert_eq!(example.task(), Task::Binary);
    }

    #[test]
    fn json_keeps_every_bit() {
        let mut example = example();
        let (mean, deviation, scale) = (0.1 + 0.2, 1.0 / 3.0, TargetScale::Log);
        example.target.kind = TargetKind::Regression(TargetScores { mean, deviation, scale });
        let json = serde_json::to_string(&example).unwrap();
        assert!(json.contains(r#"{"name":"age","kind":"numeric","mean":30.0"#), "{json}");
        assert!(json.contains(r#""task":"regression""#), "{json}");
        assert_eq!(serde_json::from_str::<TablePreprocessing>(&json).unwrap(), example);
    }

    #[test]
    fn a_number_format_is_kept_where_there_is_one() {
        let mut example = example();
        let plain = serde_json::to_string(&example).unwrap();
        assert!(!plain.contains("number_format"), "{plain}");
        example.columns[0].format = Some(NumberFormat { sign: Some('$'), point: None });
        example.target.format = Some(NumberFormat::default());
        let json = serde_json::to_string(&example).unwrap();
        assert!(json.contains(r#""deviation":10.0,"number_format":{"sign":"$"}}"#), "{json}");
        let read = |json: &str| serde_json::from_str::<TablePreprocessing>(json).unwrap();
        assert_eq!(read(&json), example);
        assert_eq!(read(&json.replace("number_format", "dress")), example, "of format 1");

        let mut out = vec![];
        example.encode(&["$40", "", "male", "5"], &mut out).unwrap();
        assert_eq!(out[0], 1.0);
        let error = example.encode(&["40", "", "male", "$5"], &mut out).unwrap_err();
        assert_eq!(error.to_string(), "column `constant`: `$5` is not a number");
    }
}
