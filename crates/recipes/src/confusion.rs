//! The confusion matrix, and the scores of each class.

use backend::Backend;
use burn::tensor::{Int, Tensor};
use serde::Serialize;

/// Counts by the true class and the predicted one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Confusion {
    /// `[true class][predicted class]`
    counts: Vec<Vec<u64>>,
}

/// How well a class is recognised.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ClassScores {
    /// Its name.
    pub class: String,
    /// Samples of it.
    pub samples: u64,
    /// The share of predictions of it that are right; none if it was never predicted.
    pub precision: Option<f64>,
    /// The share of its samples that are predicted as it; none if it has none.
    pub recall: Option<f64>,
}

impl Confusion {
    pub(crate) fn new(classes: usize) -> Self {
        Self { counts: vec![vec![0; classes]; classes] }
    }

    /// Counts a batch.
    ///
    /// - `logits`: `[batch, classes]`
    /// - `labels`: `[batch]`
    pub(crate) fn add<B: Backend>(&mut self, logits: Tensor<B, 2>, labels: Tensor<B, 1, Int>) {
        let predicted = logits.argmax(1).into_data();
        let labels = labels.into_data();
        for (label, predicted) in labels.iter::<i64>().zip(predicted.iter::<i64>()) {
            self.counts[label as usize][predicted as usize] += 1;
        }
    }

    pub(crate) fn scores(&self, classes: &[String]) -> Vec<ClassScores> {
        let share = |part: u64, of: u64| (of > 0).then(|| part as f64 / of as f64);
        let scores = |(index, class): (usize, &String)| {
            let hits = self.counts[index][index];
            let samples = self.counts[index].iter().sum();
            let predicted = self.counts.iter().map(|row| row[index]).sum();
            let (precision, recall) = (share(hits, predicted), share(hits, samples));
            ClassScores { class: class.clone(), samples, precision, recall }
        };
        classes.iter().enumerate().map(scores).collect()
    }

    pub(crate) fn into_counts(self) -> Vec<Vec<u64>> {
        self.counts
    }
}

#[cfg(test)]
mod tests {
    use backend::{Selected, device::Device};

    use super::*;

    #[test]
    fn counts_become_precision_and_recall() {
        let device = Device::default();
        let mut confusion = Confusion::new(3);
        let logits = [[2.0, 1.0, 0.0], [0.0, 1.0, 0.0], [3.0, 1.0, 0.0], [0.0, 5.0, 1.0]];
        let logits = Tensor::<Selected, 2>::from_floats(logits, &device);
        confusion.add(logits, Tensor::from_ints([0, 0, 1, 1], &device));

        let scores = confusion.scores(&["a", "b", "c"].map(str::to_owned));
        let expected = [(2, Some(0.5), Some(0.5)), (2, Some(0.5), Some(0.5)), (0, None, None)];
        for (scores, expected) in scores.iter().zip(expected) {
            assert_eq!((scores.samples, scores.precision, scores.recall), expected, "{scores:?}");
        }
        assert_eq!(confusion.into_counts(), [[1, 1, 0], [1, 1, 0], [0, 0, 0]]);
    }
}
