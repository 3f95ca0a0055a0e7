//! The worst mispredicted samples.

use backend::Backend;
use burn::tensor::{Int, Tensor, activation::softmax};
use data::{ColumnKind, TablePreprocessing};

use crate::numbers::told_apart;

/// How many are kept.
pub(super) const MOST: usize = 12;
/// Columns of a row that are shown.
const COLUMNS: usize = 8;

/// A sample with its true and its predicted class or value.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Mistake {
    pub(crate) truth: String,
    pub(crate) prediction: String,
    /// Of the predicted class; none if a value is predicted.
    pub(crate) probability: Option<f32>,
    pub(crate) sample: Sample,
}

/// A sample for display.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Sample {
    /// A picture.
    Image {
        /// A PNG file.
        png: Vec<u8>,
        /// Its name for the user, such as a path.
        name: Option<String>,
    },
    /// Columns with their values.
    Row(Vec<(String, String)>),
}

/// Misclassified samples so far, the most confident first.
#[derive(Debug, Default)]
pub(super) struct Mistakes {
    seen: usize,
    worst: Vec<Mistaken>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
struct Mistaken {
    index: usize,
    truth: usize,
    prediction: usize,
    probability: f32,
}

impl Mistakes {
    /// Looks through the next batch of the split.
    ///
    /// - `logits`: `[batch, classes]`
    /// - `labels`: `[batch]`
    pub(super) fn add<B: Backend>(&mut self, logits: Tensor<B, 2>, labels: Tensor<B, 1, Int>) {
        let [_, classes] = logits.dims();
        let probabilities: Vec<f32> = softmax(logits, 1).into_data().iter().collect();
        let rows = probabilities.chunks_exact(classes.max(1));
        for (row, truth) in rows.zip(labels.into_data().iter::<i64>()) {
            let (index, truth) = (self.seen, truth as usize);
            self.seen += 1;
            let likeliest = row.iter().copied().enumerate().max_by(|a, b| a.1.total_cmp(&b.1));
            if let Some((prediction, probability)) = likeliest
                && prediction != truth
            {
                self.worst.push(Mistaken { index, truth, prediction, probability });
            }
        }
        self.worst.sort_by(|a, b| b.probability.total_cmp(&a.probability));
        self.worst.truncate(MOST);
    }

    /// The worst, each with its sample, which `read` finds by its index in the split.
    ///
    /// # Errors
    ///
    /// That of `read`.
    pub(super) fn with_samples<E>(
        self,
        classes: &[String],
        read: impl Fn(usize) -> Result<Sample, E>,
    ) -> Result<Vec<Mistake>, E> {
        let mistake = |found: Mistaken| {
            Ok(Mistake {
                truth: classes[found.truth].clone(),
                prediction: classes[found.prediction].clone(),
                probability: Some(found.probability),
                sample: read(found.index)?,
            })
        };
        self.worst.into_iter().map(mistake).collect()
    }
}

/// The first columns of an encoded row, decoded up to rounding; a missing number is the mean of its
/// column.
///
/// - `features`: `[width]`
pub(super) fn decoded_row(preprocessing: &TablePreprocessing, features: &[f32]) -> Sample {
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
            _ => continue,
        };
        columns.push((column.name.clone(), value));
    }
    columns.truncate(COLUMNS);
    Sample::Row(columns)
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
    use backend::{Selected, device::Device};
    use data::{CategoryEncoding, Column, Target, TargetKind};

    use super::*;

    #[test]
    fn the_most_confident_mistakes_are_kept_with_their_places() {
        let device = Device::default();
        let mut mistakes = Mistakes::default();
        // Right, wrong by a little, wrong by much; then more than are kept.
        let logits =
            Tensor::<Selected, 2>::from_floats([[1.0, 0.0], [0.5, 0.0], [3.0, 0.0]], &device);
        mistakes.add(logits, Tensor::from_ints([0, 1, 1], &device));
        for step in 0..MOST as i32 {
            let logits =
                Tensor::<Selected, 2>::from_floats([[0.0, 1.0 + step as f32 / 10.0]], &device);
            mistakes.add(logits, Tensor::from_ints([0], &device));
        }
        let classes = ["cat", "dog"].map(str::to_owned);
        let image = |index: usize| Sample::Image { png: vec![index as u8], name: None };
        let worst = mistakes.with_samples(&classes, |index| Ok::<_, ()>(image(index))).unwrap();
        assert_eq!(worst.len(), MOST);
        assert_eq!((worst[0].truth.as_str(), worst[0].prediction.as_str()), ("dog", "cat"));
        assert_eq!(worst[0].sample, image(2));
        assert!((worst[0].probability.unwrap() - 0.952_574).abs() < 1e-5);
        assert_eq!(worst[1].sample, image(2 + MOST));
        assert!(worst.is_sorted_by(|a, b| a.probability >= b.probability));
        assert!(!worst.iter().any(|mistake| mistake.sample == image(1)));
    }

    #[test]
    fn small_numbers_are_told_from_0() {
        assert_eq!(short(2.345_678e-7, 1e-7, 1e-7), "2.3457e-7");
        assert_eq!(short(1.1e-6, 30.0, 7.0), "0");
        assert_eq!(short(1234.56, 1e3, 200.0), "1234.6");
        assert_eq!(short(100.000_012, 100.0, 1e-5), "100.000012");
    }

    #[test]
    fn a_row_reads_as_the_table_had_it() {
        let preprocessing = |encoding| TablePreprocessing {
            header: true,
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
            .map(|(name, kind)| Column { name: name.into(), kind })
            .into(),
            target: Target {
                name: "paid".into(),
                index: 3,
                kind: TargetKind::Regression { mean: 0.0, deviation: 1.0 },
            },
        };
        let row = |encoding, cells: [&str; 3]| {
            let preprocessing = preprocessing(encoding);
            let mut features = Vec::new();
            preprocessing.encode(&cells, &mut features).unwrap();
            let Sample::Row(row) = decoded_row(&preprocessing, &features) else {
                panic!("a row is a row")
            };
            let cell = |(name, value): (String, String)| format!("{name} {value}");
            row.into_iter().map(cell).collect::<Vec<_>>()
        };
        for encoding in [CategoryEncoding::OneHot, CategoryEncoding::Index] {
            assert_eq!(row(encoding, ["41.3", "a", "kyoto"]), ["age 41.3", "city kyoto"]);
            assert_eq!(row(encoding, ["-0.02", "a", "rome"]), ["age -0.02", "city (new)"]);
            assert_eq!(row(encoding, ["0", "a", ""]), ["age 0", "city oslo"]);
        }
    }
}
