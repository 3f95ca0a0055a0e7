//! What the user says about a CSV file.

use std::{collections::BTreeMap, fmt, path::PathBuf};

use serde::{Deserialize, Deserializer, Serialize, de};

use crate::{CategoryEncoding, Fractions, HoldOut, TargetScale, Task, TextColumns};

/// What the user says about a CSV file; what is left out is inferred from the rows.
#[derive(Debug, Clone, PartialEq)]
pub struct CsvOptions {
    /// The training file.
    pub path: PathBuf,
    /// The column to predict.
    pub target: TargetColumn,
    /// The kind of prediction.
    pub task: Option<Task>,
    /// Whether the logarithm of a value is learnt.
    pub target_scale: TargetScale,
    /// Columns whose kind is not inferred, by name; those of a file without a header are
    /// called `column_0`, `column_1`, and so on.
    pub columns: BTreeMap<String, ColumnOverride>,
    /// How categories are encoded.
    pub categories: CategoryEncoding,
    /// How columns of texts are read.
    pub texts: TextColumns,
    /// Whether the first row of each file names the columns.
    pub header: Option<bool>,
    /// What marks a missing value, besides an empty cell, `?` and what pandas takes for missing: `-999`.
    pub missing: Vec<String>,
    /// What becomes of a row without a value to predict.
    pub on_missing_target: OnMissingTarget,
    /// How many rows are held out where there is no `validation_path` or `test_path`, and trained on.
    pub fractions: Fractions,
    /// How to hold out rows.
    pub hold_out: HoldOut,
    /// The column whose values name groups of rows, such as a patient's, which are held out or trained on
    /// together, whatever `hold_out` is; it is no feature unless `columns` says so. A row without a value
    /// is a group of its own.
    pub group: Option<String>,
    /// A file of rows for validation.
    pub validation_path: Option<PathBuf>,
    /// A file of rows for testing.
    pub test_path: Option<PathBuf>,
}

impl CsvOptions {
    /// A file and its target; everything else is inferred, and nothing is held out.
    pub fn new(path: impl Into<PathBuf>, target: TargetColumn) -> Self {
        Self {
            path: path.into(),
            target,
            task: None,
            target_scale: TargetScale::default(),
            columns: BTreeMap::new(),
            categories: CategoryEncoding::OneHot,
            texts: TextColumns::default(),
            header: None,
            missing: Vec::new(),
            on_missing_target: OnMissingTarget::default(),
            fractions: Fractions::default(),
            hold_out: HoldOut::default(),
            group: None,
            validation_path: None,
            test_path: None,
        }
    }
}

/// What becomes of a row of samples whose target is missing.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OnMissingTarget {
    /// An error, with its line.
    #[default]
    Error,
    /// It is left out, with a note.
    Skip,
}

/// How to treat a column.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ColumnOverride {
    /// Numbers, standardised.
    Numeric,
    /// Categories.
    Categorical,
    /// Texts, whose words are read.
    Text,
    /// Nothing.
    Drop,
}

/// The column to predict: in a config a string or an integer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(untagged)]
pub enum TargetColumn {
    /// By the name in the header.
    Name(String),
    /// By its place, counted from 0, or from -1 backwards from the last.
    Index(i64),
}

impl<'de> Deserialize<'de> for TargetColumn {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(TargetVisitor)
    }
}

/// By hand, because an untagged enum would answer a wrong type with "did not match any variant".
struct TargetVisitor;

impl de::Visitor<'_> for TargetVisitor {
    type Value = TargetColumn;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a column's name or its index from 0, negative from the end")
    }

    fn visit_str<E: de::Error>(self, name: &str) -> Result<TargetColumn, E> {
        Ok(TargetColumn::Name(name.to_owned()))
    }

    fn visit_i64<E: de::Error>(self, index: i64) -> Result<TargetColumn, E> {
        Ok(TargetColumn::Index(index))
    }

    fn visit_u64<E: de::Error>(self, index: u64) -> Result<TargetColumn, E> {
        i64::try_from(index)
            .map(TargetColumn::Index)
            .map_err(|_| E::invalid_value(de::Unexpected::Unsigned(index), &self))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_target_is_a_name_or_an_index() {
        let check = |json: &str, expected: TargetColumn| {
            let target: TargetColumn = serde_json::from_str(json).unwrap();
            assert_eq!(target, expected);
            assert_eq!(serde_json::to_string(&target).unwrap(), json);
        };
        check("\"class\"", TargetColumn::Name("class".into()));
        check("-1", TargetColumn::Index(-1));
        check("8", TargetColumn::Index(8));
        for wrong in ["1.5", "true", "18446744073709551615"] {
            let error = serde_json::from_str::<TargetColumn>(wrong).unwrap_err().to_string();
            assert!(error.contains("expected a column's name or its index"), "{error}");
        }
    }
}
