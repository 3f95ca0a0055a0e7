//! Which classes are taken for which.

use backend::Backend;
use burn::tensor::{Int, Tensor};
use models::metrics::macro_f1;
use serde::{Deserialize, Serialize};

use super::mistakes::{MOST, Mistake, Sample};
use crate::numbers::{grouped, percent};

/// A true class among so many with the largest logits counts for the top-5 accuracy.
const TOP: usize = 5;
/// Of fewer classes nearly all are among those.
const FEWEST_WITH_TOP: usize = 11;

/// The predicted classes of a split so far.
#[derive(Debug)]
pub(super) struct Tally {
    /// Samples by the true class and the predicted one: `[true class][predicted class]`.
    pub(super) counts: Vec<Vec<u64>>,
    seen: usize,
    /// Samples whose true class has one of the [`TOP`] largest logits.
    in_top: usize,
    /// Misclassified samples, the most confident first.
    worst: Vec<Mistaken>,
    /// By how much the logit of the second of two classes exceeds that of the first, and whether the
    /// second is the true one, for each sample.
    margins: Vec<(f32, bool)>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
struct Mistaken {
    index: usize,
    truth: usize,
    prediction: usize,
    probability: f32,
}

/// How well a class is recognised.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct ClassScores {
    /// Its name.
    pub(crate) class: String,
    /// Samples of it.
    pub(crate) samples: u64,
    /// The share of predictions of it that are right; none if it was never predicted.
    pub(crate) precision: Option<f64>,
    /// The share of its samples that are predicted as it; none if it has none.
    pub(crate) recall: Option<f64>,
    /// The harmonic mean of both, F1; 0 if one of them is 0 or none, and none if both are none.
    pub(crate) f1: Option<f64>,
}

impl ClassScores {
    /// Samples, precision, recall and F1 as tables show them.
    pub(crate) fn cells(&self) -> [String; 4] {
        let Self { samples, precision, recall, f1, .. } = *self;
        let share = |share: Option<f64>| share.map_or_else(|| "-".to_owned(), percent);
        [grouped(samples), share(precision), share(recall), share(f1)]
    }
}

impl Tally {
    pub(super) fn new(classes: usize) -> Self {
        let counts = vec![vec![0; classes]; classes];
        Self { counts, seen: 0, in_top: 0, worst: Vec::new(), margins: Vec::new() }
    }

    /// Counts the next batch of the split.
    ///
    /// - `logits`: `[batch, classes]`
    /// - `labels`: `[batch]`
    pub(super) fn add<B: Backend>(&mut self, logits: Tensor<B, 2>, labels: Tensor<B, 1, Int>) {
        let [_, classes] = logits.dims();
        let logits: Vec<f32> = logits.into_data().iter().collect();
        for (logits, truth) in logits.chunks_exact(classes).zip(labels.into_data().iter::<i64>()) {
            let (index, truth) = (self.seen, truth as usize);
            let prediction = first_largest(logits);
            self.seen += 1;
            self.counts[truth][prediction] += 1;
            self.in_top += usize::from(rank(logits, truth) < TOP);
            if let &[first, second] = logits {
                self.margins.push((second - first, truth == 1));
            }
            if prediction != truth {
                let probability = probability(logits, prediction);
                self.worst.push(Mistaken { index, truth, prediction, probability });
            }
        }
        self.worst.sort_by(|a, b| b.probability.total_cmp(&a.probability));
        self.worst.truncate(MOST);
    }

    pub(super) fn scores(&self, classes: &[String]) -> Vec<ClassScores> {
        let share = |part: u64, of: u64| (of > 0).then(|| part as f64 / of as f64);
        let scores = |(index, class): (usize, &String)| {
            let hits = self.counts[index][index];
            let (samples, predicted) = (self.samples(index), self.predictions(index));
            ClassScores {
                class: class.clone(),
                samples,
                precision: share(hits, predicted),
                recall: share(hits, samples),
                f1: share(2 * hits, samples + predicted),
            }
        };
        classes.iter().enumerate().map(scores).collect()
    }

    /// The metrics that training does without: the macro F1, of two classes the area under the ROC
    /// curve, and of more than ten the top-5 accuracy.
    pub(super) fn metrics(&self) -> impl Iterator<Item = (String, f64)> {
        let macro_f1 = macro_f1((0..self.counts.len()).map(|class| {
            [self.samples(class), self.predictions(class), self.counts[class][class]]
                .map(|count| count as f64)
        }));
        let macro_f1 = (self.seen > 0).then_some(macro_f1);
        let has_top = self.seen > 0 && self.counts.len() >= FEWEST_WITH_TOP;
        let metrics = [
            ("macro_f1", macro_f1),
            ("roc_auc", roc_auc(&self.margins)),
            ("top5_accuracy", has_top.then(|| self.in_top as f64 / self.seen as f64)),
        ];
        metrics.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?)))
    }

    fn samples(&self, class: usize) -> u64 {
        self.counts[class].iter().sum()
    }

    fn predictions(&self, class: usize) -> u64 {
        self.counts.iter().map(|row| row[class]).sum()
    }

    /// The worst mistakes, each with its sample, which `read` finds by its index in the split.
    pub(super) fn mistakes<E>(
        &self,
        classes: &[String],
        read: impl Fn(usize) -> Result<Sample, E>,
    ) -> Result<Vec<Mistake>, E> {
        let mistake = |found: &Mistaken| {
            Ok(Mistake {
                truth: classes[found.truth].clone(),
                prediction: classes[found.prediction].clone(),
                probability: Some(found.probability),
                sample: read(found.index)?,
            })
        };
        self.worst.iter().map(mistake).collect()
    }
}

/// The area under the ROC curve: the probability that of one sample of each of two classes that of the
/// second has the greater margin, where equal ones count half (Fawcett, "An introduction to ROC
/// analysis", 2006, section 7). None where a class does not occur, or a margin is not a number.
fn roc_auc(margins: &[(f32, bool)]) -> Option<f64> {
    let mut margins = margins.to_vec();
    margins.sort_by(|(a, _), (b, _)| a.total_cmp(b));
    let (mut firsts, mut seconds, mut half_wins) = (0_u64, 0_u64, 0_u64);
    for equal in margins.chunk_by(|(a, _), (b, _)| a == b) {
        let of_second = equal.iter().filter(|(_, second)| *second).count() as u64;
        let of_first = equal.len() as u64 - of_second;
        half_wins += of_second * (2 * firsts + of_first);
        (firsts, seconds) = (firsts + of_first, seconds + of_second);
    }
    let is_defined = firsts * seconds > 0 && !margins.iter().any(|(margin, _)| margin.is_nan());
    is_defined.then(|| half_wins as f64 / (2 * firsts * seconds) as f64)
}

/// The predicted class; of equal logits the first counts, as for the accuracy.
fn first_largest(logits: &[f32]) -> usize {
    (1..logits.len()).fold(0, |best, class| if logits[class] > logits[best] { class } else { best })
}

/// How many classes are predicted before this one; of equal logits the first counts.
fn rank(logits: &[f32], class: usize) -> usize {
    let is_before = |&(other, logit): &(usize, &f32)| {
        *logit > logits[class] || *logit == logits[class] && other < class
    };
    logits.iter().enumerate().filter(is_before).count()
}

/// The softmax at the predicted class, whose logit is the largest.
fn probability(logits: &[f32], prediction: usize) -> f32 {
    let largest = logits[prediction];
    1.0 / logits.iter().map(|logit| (logit - largest).exp()).sum::<f32>()
}

#[cfg(test)]
mod tests {
    use backend::{Selected, device::Device};

    use super::*;

    fn tally<const CLASSES: usize, const SAMPLES: usize>(
        logits: [[f32; CLASSES]; SAMPLES],
        labels: [i32; SAMPLES],
    ) -> Tally {
        let device = Device::default();
        let mut tally = Tally::new(CLASSES);
        let logits = Tensor::<Selected, 2>::from_floats(logits, &device);
        tally.add(logits, Tensor::from_ints(labels, &device));
        tally
    }

    #[test]
    fn counts_become_precision_recall_and_f1() {
        let logits = [[2.0, 1.0, 0.0], [0.0, 1.0, 0.0], [3.0, 1.0, 0.0], [5.0, 1.0, 1.0]];
        let tally = tally(logits, [0, 0, 1, 1]);
        let scores = tally.scores(&["a", "b", "c"].map(str::to_owned));
        let expected = [
            (2, Some(1.0 / 3.0), Some(0.5), Some(0.4)),
            (2, Some(0.0), Some(0.0), Some(0.0)),
            (0, None, None, None),
        ];
        for (scores, expected) in scores.iter().zip(expected) {
            let ClassScores { samples, precision, recall, f1, .. } = *scores;
            assert_eq!((samples, precision, recall, f1), expected, "{scores:?}");
        }
        assert_eq!(tally.counts, [[1, 1, 0], [2, 0, 0], [0, 0, 0]]);
        assert_eq!(tally.metrics().collect::<Vec<_>>(), [("macro_f1".to_owned(), 0.2)]);
    }

    #[test]
    fn a_class_that_is_only_predicted_or_only_occurs_counts_as_0() {
        let tally = tally([[0.0, 1.0, 0.0], [1.0, 0.0, 0.0]], [0, 0]);
        let scores = tally.scores(&["a", "b", "c"].map(str::to_owned));
        let found = scores.iter().map(|of| (of.precision, of.recall, of.f1)).collect::<Vec<_>>();
        let expected = [
            (Some(1.0), Some(0.5), Some(2.0 / 3.0)),
            (Some(0.0), None, Some(0.0)),
            (None, None, None),
        ];
        assert_eq!(found, expected);
        assert_eq!(Tally::new(2).metrics().count(), 0);
    }

    #[test]
    fn the_area_under_the_curve_is_the_share_of_pairs_in_order() {
        let logits = [
            [0.0, 2.0],
            [0.0, 1.0],
            [1.0, 2.0],
            [3.0, 0.0], // of the second class
            [-1.0, 0.0],
            [2.0, 2.0],
            [4.0, 0.0], // of the first
        ];
        let tally = tally(logits, [1, 1, 1, 1, 0, 0, 0]);
        // Of 12 pairs 8 are in order, and 2 are equal.
        assert_eq!(roc_auc(&tally.margins), Some(9.0 / 12.0));
        assert_eq!(roc_auc(&[(0.0, true), (-0.0, false)]), Some(0.5));
        assert_eq!(roc_auc(&[(1.0, true), (2.0, true)]), None);
        assert_eq!(roc_auc(&[(1.0, true), (2.0, false), (f32::NAN, true)]), None);
        assert_eq!(roc_auc(&[]), None);
    }

    #[test]
    fn the_five_largest_logits_count_for_the_top_5_accuracy() {
        let mut logits = [[0.0; FEWEST_WITH_TOP]; 4];
        logits[0][6] = 1.0; // before class 4, which is then the sixth
        for (class, logit) in logits[3].iter_mut().enumerate() {
            *logit = class as f32;
        }
        let tally = tally(logits, [4, 4, 5, 6]);
        assert_eq!((tally.in_top, tally.seen), (2, 4));
        let top = tally.metrics().find(|(name, _)| name == "top5_accuracy");
        assert_eq!(top, Some(("top5_accuracy".to_owned(), 0.5)));
    }

    #[test]
    fn what_counts_as_right_is_no_mistake() {
        // Equal logits, and different ones with equal probabilities.
        let tally = tally([[1.0, 1.0], [1e-9, 0.0], [0.0, 1e-9]], [0, 0, 0]);
        assert_eq!(tally.counts, [[2, 1], [0, 0]]);
        assert_eq!(tally.worst, [Mistaken { index: 2, truth: 0, prediction: 1, probability: 0.5 }]);
    }

    #[test]
    fn the_most_confident_mistakes_are_kept_with_their_places() {
        // Right, wrong by a little, wrong by much; then more than are kept.
        let mut tally = tally([[1.0, 0.0], [0.5, 0.0], [3.0, 0.0]], [0, 1, 1]);
        let device = Device::default();
        for step in 0..MOST as i32 {
            let logits =
                Tensor::<Selected, 2>::from_floats([[0.0, 1.0 + step as f32 / 10.0]], &device);
            tally.add(logits, Tensor::from_ints([0], &device));
        }
        let classes = ["cat", "dog"].map(str::to_owned);
        let image = |index: usize| Sample::Image { png: index.to_string(), name: None };
        let worst = tally.mistakes(&classes, |index| Ok::<_, ()>(image(index))).unwrap();
        assert_eq!(worst.len(), MOST);
        assert_eq!((worst[0].truth.as_str(), worst[0].prediction.as_str()), ("dog", "cat"));
        assert_eq!(worst[0].sample, image(2));
        assert!((worst[0].probability.unwrap() - 0.952_574).abs() < 1e-5);
        assert_eq!(worst[1].sample, image(2 + MOST));
        assert!(worst.is_sorted_by(|a, b| a.probability >= b.probability));
        assert!(!worst.iter().any(|mistake| mistake.sample == image(1)));
    }
}
