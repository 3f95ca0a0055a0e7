//! How much each class counts in the loss that is trained on.

use backend::Backend;
use burn::tensor::{Int, Tensor};
use data::{TableTargets, count_labels};
use serde::{Deserialize, Serialize};

use crate::{config::Monitored, numbers::grouped};

/// A class with so many times the samples of another is noted: without class weights, and
/// with them.
const UNEQUAL: usize = 10;
const WEIGHTED: usize = 2;

/// The value of `data.class_weights`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ClassWeighting {
    /// Each sample counts as much as any other.
    Equal,
    /// Each class counts as much as any other, however few samples it has. The mean is over the samples, as
    /// in Keras; PyTorch's `CrossEntropyLoss` divides by the sum of their weights.
    Balanced,
}

impl ClassWeighting {
    /// Whether nothing was asked for.
    pub(crate) fn is_equal(&self) -> bool {
        *self == Self::Equal
    }

    /// A note where some classes are rare and not weighted, or where they are and what chooses the epoch to
    /// keep does not weight them.
    ///
    /// - `labels`: of the training split; none of a regression
    /// - `monitored`: what chooses that epoch, if anything does
    pub(crate) fn note(
        self,
        labels: &[u32],
        classes: &[String],
        monitored: Option<Monitored>,
    ) -> Option<String> {
        let counts = count_labels(labels, classes.len());
        let seen = || counts.iter().zip(classes).filter(|(count, _)| **count > 0);
        let (most, frequent) = seen().max_by_key(|(count, _)| **count)?;
        let (least, rare) = seen().min_by_key(|(count, _)| **count)?;
        let times = most / least;
        if self.is_equal() {
            return (times >= UNEQUAL).then(|| {
                format!(
                    "class `{frequent}` has {} times as many samples as class `{rare}`, whose mistakes \
                     thus weigh little: `data.class_weights=balanced` finds more of `{rare}`, with more \
                     false alarms",
                    grouped(times)
                )
            });
        }
        let chooses = monitored.is_some_and(|monitored| monitored != Monitored::MacroF1);
        (times >= WEIGHTED && chooses).then(|| {
            "classes count alike in the loss that is trained on, but not in what chooses the epoch to \
             keep: with `training.monitor=macro_f1` they do there too"
                .to_owned()
        })
    }
}

/// A factor for each class, `[classes]`, where samples do not count alike.
#[derive(Clone, Debug)]
pub(crate) struct ClassWeights<B: Backend>(Option<Tensor<B, 1>>);

impl<B: Backend> ClassWeights<B> {
    /// Balanced weights are those of scikit-learn's `class_weight="balanced"`, samples / (classes *
    /// samples of the class), so that the mean over the samples is 1; classes without any do not count.
    ///
    /// - `labels`: of the training split
    pub(crate) fn new(
        weighting: ClassWeighting,
        labels: &[u32],
        classes: usize,
        device: &B::Device,
    ) -> Self {
        if weighting.is_equal() {
            return Self(None);
        }
        let counts = count_labels(labels, classes);
        let present = counts.iter().filter(|&&count| count > 0).count();
        let share = labels.len() as f64 / present as f64;
        let weight = |count| if count == 0 { 0.0 } else { (share / count as f64) as f32 };
        let weights: Vec<f32> = counts.into_iter().map(weight).collect();
        Self(Some(Tensor::from_floats(weights.as_slice(), device)))
    }

    /// The factors, `[classes]`.
    pub(crate) fn of_classes(&self) -> Option<Tensor<B, 1>> {
        self.0.clone()
    }

    /// The losses of samples with these labels, weighted.
    ///
    /// - `losses`, `labels`, and what is returned: `[batch]`
    pub(crate) fn weigh(&self, losses: Tensor<B, 1>, labels: Tensor<B, 1, Int>) -> Tensor<B, 1> {
        match &self.0 {
            None => losses,
            Some(weights) => losses * weights.clone().select(0, labels),
        }
    }

    /// As [`ClassWeights::weigh`]; the losses of values stay as they are.
    pub(crate) fn weigh_rows(
        &self,
        losses: Tensor<B, 1>,
        targets: TableTargets<B>,
    ) -> Tensor<B, 1> {
        match targets {
            TableTargets::Binary(labels) if self.0.is_some() => self.weigh(losses, labels.int()),
            TableTargets::Classes(labels) => self.weigh(losses, labels),
            TableTargets::Binary(_) | TableTargets::Values(_) => losses,
        }
    }
}

#[cfg(test)]
mod tests {
    use backend::{Selected, device::Device};

    use super::*;

    const LABELS: [u32; 6] = [0, 0, 0, 3, 1, 1];

    /// `sklearn.utils.class_weight.compute_class_weight("balanced", ...)` of the classes that are there.
    #[test]
    fn each_class_has_the_same_sum_of_weights() {
        let device = Device::default();
        let weights = ClassWeights::<Selected>::new(ClassWeighting::Balanced, &LABELS, 4, &device);
        let labels = Tensor::<_, 1, Int>::from_ints(LABELS.map(|label| label as i32), &device);
        let ones = Tensor::ones([6], &device);
        let weighed: Vec<f32> =
            weights.weigh(ones.clone(), labels.clone()).into_data().to_vec().unwrap();
        let [three, one, two] = [6.0 / 9.0, 6.0 / 3.0, 6.0 / 6.0];
        assert_eq!(weighed, [three, three, three, one, two, two]);

        let equal = ClassWeights::<Selected>::new(ClassWeighting::Equal, &LABELS, 4, &device);
        assert_eq!(equal.weigh(ones, labels).into_data().to_vec::<f32>().unwrap(), [1.0; 6]);
    }

    #[test]
    fn rows_are_weighed_by_their_labels_and_values_not_at_all() {
        let device = Device::default();
        let weights =
            ClassWeights::<Selected>::new(ClassWeighting::Balanced, &[0, 0, 0, 1], 2, &device);
        let weighed = |targets| -> Vec<f32> {
            let losses = Tensor::from_floats([3.0, 5.0], &device);
            weights.weigh_rows(losses, targets).into_data().to_vec().unwrap()
        };
        let numbers = || Tensor::from_floats([0.0, 1.0], &device);
        let expected = [3.0 * (2.0 / 3.0), 5.0 * 2.0];
        assert_eq!(weighed(TableTargets::Binary(numbers())), expected);
        assert_eq!(weighed(TableTargets::Classes(numbers().int())), expected);
        assert_eq!(weighed(TableTargets::Values(numbers())), [3.0, 5.0]);
    }

    #[test]
    fn rare_classes_are_noted_unless_they_are_weighted() {
        let classes = ["a", "b", "c"].map(str::to_owned);
        let note = |weighting: ClassWeighting, frequent, monitored| {
            weighting.note(&[vec![1; frequent], vec![0; 2]].concat(), &classes, monitored)
        };
        let told = note(ClassWeighting::Equal, 20, Some(Monitored::Loss)).unwrap();
        assert!(told.starts_with("class `b` has 10 times as many samples as class `a`"), "{told}");
        assert_eq!(note(ClassWeighting::Equal, 19, Some(Monitored::Loss)), None);
        assert_eq!(ClassWeighting::Equal.note(&[], &[], Some(Monitored::Loss)), None);

        let told = note(ClassWeighting::Balanced, 20, Some(Monitored::Loss)).unwrap();
        assert!(told.ends_with("with `training.monitor=macro_f1` they do there too"), "{told}");
        assert_eq!(note(ClassWeighting::Balanced, 20, Some(Monitored::MacroF1)), None);
        assert_eq!(note(ClassWeighting::Balanced, 20, None), None);
        assert_eq!(note(ClassWeighting::Balanced, 3, Some(Monitored::Loss)), None);
    }
}
