//! The worst mispredicted samples.

use data::{ColumnKind, TablePreprocessing, Vocabulary};
use serde::{Deserialize, Serialize};

use crate::numbers::told_apart;

/// How many are kept.
pub(super) const MOST: usize = 12;
/// Columns of a row that are shown.
const COLUMNS: usize = 8;
/// Tokens of a text that are shown.
const TOKENS: usize = 60;

/// A sample with its true and its predicted class or value.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Mistake {
    pub(crate) truth: String,
    pub(crate) prediction: String,
    /// Of the predicted class; none if a value is predicted.
    pub(crate) probability: Option<f32>,
    pub(crate) sample: Sample,
}

/// A sample for display.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Sample {
    /// A picture.
    Image {
        /// A PNG file, in base64.
        png: String,
        /// Its name for the user, such as a path.
        name: Option<String>,
    },
    /// Columns with their values.
    Row(Vec<(String, String)>),
}

/// The origin of an encoded row, its first columns, decoded up to rounding, and how many there are more; a
/// missing number is the mean of its column.
///
/// - `features`: `[width]`
pub(super) fn decoded_row(
    preprocessing: &TablePreprocessing,
    features: &[f32],
    origin: Option<(&str, String)>,
) -> Sample {
    let mut left = features;
    let mut columns = Vec::new();
    for column in &preprocessing.columns {
        let width = column.kind.width().min(left.len());
        let (cell, rest) = left.split_at(width);
        left = rest;
        let value = match (&column.kind, cell) {
            (ColumnKind::Numeric { mean, deviation }, [score]) => {
                short(f64::from(*score) * deviation + mean, *mean, *deviation)
            }
            (ColumnKind::Categorical { categories, .. }, [index]) if categories.len() != 1 => {
                category(categories, (*index as usize).checked_sub(1))
            }
            (ColumnKind::Categorical { categories, .. }, cell) => {
                category(categories, cell.iter().position(|&share| share == 1.0))
            }
            (ColumnKind::Text { vocabulary, .. }, tokens) => text(vocabulary, tokens),
            _ => continue,
        };
        columns.push((column.name.clone(), value));
    }
    if let more @ 1.. = columns.len().saturating_sub(COLUMNS) {
        columns.truncate(COLUMNS);
        columns.push(("…".to_owned(), format!("{more} more")));
    }
    let origin = origin.map(|(kind, name)| (kind.to_owned(), name));
    Sample::Row(origin.into_iter().chain(columns).collect())
}

/// The end of a text as it was read.
///
/// - `tokens`: the features, `[length]`
fn text(vocabulary: &Vocabulary, tokens: &[f32]) -> String {
    let ids = tokens.iter().filter(|&&token| token >= 1.0).map(|&token| token as u32 - 1);
    let ids: Vec<u32> = ids.collect();
    let last = &ids[ids.len().saturating_sub(TOKENS)..];
    let before = if last.len() < ids.len() { "… " } else { "" };
    format!("{before}{}", vocabulary.decode(last))
}

fn category(categories: &[String], place: Option<usize>) -> String {
    place.and_then(|place| categories.get(place)).cloned().unwrap_or_else(|| "(new)".to_owned())
}

/// In five significant digits, which f32 keeps of a standardised value, or as many as tell the values
/// of its column apart.
///
/// - `mean`, `deviation`: those of the column
pub(super) fn short(value: f64, mean: f64, deviation: f64) -> String {
    // What is left of 0.
    if value.abs() < 1e-6 * mean.abs() { "0".to_owned() } else { told_apart(value, 5, deviation) }
}

#[cfg(test)]
mod tests {
    use data::{CategoryEncoding, Column, Target, TargetKind, TargetScale, TargetScores};

    use super::*;

    const UNIT: TargetScores =
        TargetScores { mean: 0.0, deviation: 1.0, scale: TargetScale::Linear };

    #[test]
    fn small_numbers_are_told_from_0() {
        assert_eq!(short(2.345_678e-7, 1e-7, 1e-7), "2.3457e-7");
        assert_eq!(short(1.1e-6, 30.0, 7.0), "0");
        assert_eq!(short(1234.56, 1e3, 200.0), "1234.6");
        assert_eq!(short(100.000_012, 100.0, 1e-5), "100.000012");
    }

    #[test]
    fn the_end_of_a_long_text_is_shown() {
        let vocabulary = Vocabulary::words("a b", 3).unwrap();
        let tokens = |count: usize| [vec![0.0; 3], vec![2.0], vec![3.0; count]].concat();
        let shown = |count| text(&vocabulary, &tokens(count));
        assert_eq!(shown(1), "A b");
        assert_eq!(shown(TOKENS), format!("… B{}", " b".repeat(TOKENS - 1)));
    }

    #[test]
    fn columns_that_are_not_shown_are_counted() {
        let row = |columns: usize| {
            let kind = ColumnKind::Numeric { mean: 0.0, deviation: 1.0 };
            let column =
                |index| Column { name: format!("x{index}"), kind: kind.clone(), format: None };
            let preprocessing = TablePreprocessing {
                header: true,
                decimal_comma: false,
                missing: Vec::new(),
                rows_are_files: false,
                columns: (0..columns).map(column).collect(),
                target: Target {
                    name: "y".into(),
                    index: columns,
                    kind: TargetKind::Regression(UNIT),
                    format: None,
                },
            };
            match decoded_row(&preprocessing, &vec![0.5; columns], None) {
                Sample::Row(row) => row,
                Sample::Image { .. } => panic!("a row is a row"),
            }
        };
        assert_eq!(row(COLUMNS).last().unwrap().0, format!("x{}", COLUMNS - 1));
        let [.., last, more] = &row(COLUMNS + 3)[..] else { panic!("no columns") };
        assert_eq!((last.0.as_str(), more.1.as_str()), ("x7", "3 more"));
    }

    #[test]
    fn a_picture_is_kept_as_it_is() {
        let picture = Sample::Image { png: "AIn/".to_owned(), name: Some("a.png".to_owned()) };
        let text = serde_json::to_string(&picture).unwrap();
        assert_eq!(text, r#"{"image":{"png":"AIn/","name":"a.png"}}"#);
        assert_eq!(serde_json::from_str::<Sample>(&text).unwrap(), picture);
    }

    #[test]
    fn a_row_reads_as_the_table_had_it() {
        let preprocessing = |encoding| TablePreprocessing {
            header: true,
            decimal_comma: false,
            missing: Vec::new(),
            rows_are_files: false,
            columns: [
                ("age", ColumnKind::Numeric { mean: 30.0, deviation: 7.0 }),
                ("name", ColumnKind::Dropped { reason: String::new() }),
                (
                    "city",
                    ColumnKind::Categorical {
                        categories: vec!["oslo".into(), "kyoto".into()],
                        fill: "oslo".into(),
                        encoding,
                    },
                ),
            ]
            .map(|(name, kind)| Column { name: name.into(), kind, format: None })
            .into(),
            target: Target {
                name: "paid".into(),
                index: 3,
                kind: TargetKind::Regression(UNIT),
                format: None,
            },
        };
        let row = |encoding, cells: [&str; 3]| {
            let preprocessing = preprocessing(encoding);
            let mut features = Vec::new();
            preprocessing.encode(&cells, &mut features).unwrap();
            let Sample::Row(row) =
                decoded_row(&preprocessing, &features, Some(("line", "7".to_owned())))
            else {
                panic!("a row is a row")
            };
            let cell = |(name, value): (String, String)| format!("{name} {value}");
            row.into_iter().map(cell).collect::<Vec<_>>()
        };
        for encoding in [CategoryEncoding::OneHot, CategoryEncoding::Index] {
            assert_eq!(row(encoding, ["41.3", "a", "kyoto"]), ["line 7", "age 41.3", "city kyoto"]);
            assert_eq!(
                row(encoding, ["-0.02", "a", "rome"]),
                ["line 7", "age -0.02", "city (new)"]
            );
            assert_eq!(row(encoding, ["0", "a", ""]), ["line 7", "age 0", "city oslo"]);
        }
    }
}
