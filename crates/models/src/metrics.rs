//! Metrics over a whole split, from sums that are read from the device now and then.

use std::{collections::BTreeMap, convert::Infallible, iter};

use backend::{Backend, functional};
use burn::tensor::{ElementConversion, Int, Tensor};

/// How a metric follows from the mean of its scores.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Reduction {
    /// The mean itself.
    Mean,
    /// The mean, times `unit`: an absolute error in the user's own units.
    Scaled {
        /// The user's unit, relative to that of the score.
        unit: f64,
    },
    /// e to the power of the mean: the perplexity, for cross-entropies in nats.
    Exponential,
    /// The root of the mean, times `unit`: of squared errors, the RMSE in user units.
    Root {
        /// The user's unit, relative to that of the score's root.
        unit: f64,
    },
    /// One minus the mean over `variance`: the explained share of the variance.
    Explained {
        /// The variance of the targets, in the units of the score.
        variance: f64,
    },
}

/// Batches whose sums stay on the device: few enough that rounding to f32 does not add up, and many
/// enough that waiting for the device costs nothing.
const BATCHES_ON_DEVICE: usize = 256;

/// Sums over the samples of a split: the loss, and any other scores.
#[derive(Debug)]
pub struct Evaluation<B: Backend> {
    metrics: Vec<(&'static str, Reduction)>,
    /// Over the batches since the last time that they were read.
    sums: Vec<Tensor<B, 1>>,
    batches: usize,
    /// Over the batches before.
    read: Vec<f64>,
    samples: usize,
    /// Where the macro F1 is asked for.
    classes: Option<ClassSums<B>>,
}

/// Each class's samples, predictions, and correct predictions.
#[derive(Debug)]
struct ClassSums<B: Backend> {
    /// The classes, `[1, classes]`.
    classes: Tensor<B, 2, Int>,
    /// `[3, classes]`, over the batches since the last time that they were read.
    sums: Tensor<B, 2>,
    /// Over the batches before.
    read: Vec<f64>,
    /// Samples that were counted.
    samples: usize,
}

impl<B: Backend> ClassSums<B> {
    fn add(&mut self, logits: Tensor<B, 2>, targets: Tensor<B, 1, Int>) {
        let [batch, classes] = logits.dims();
        let shape = [batch, classes];
        let among = |labels: Tensor<B, 2, Int>| {
            labels.expand(shape).equal(self.classes.clone().expand(shape)).float()
        };
        let (truth, prediction) = (among(targets.unsqueeze_dim(1)), among(logits.argmax(1)));
        let hits = truth.clone() * prediction.clone();
        let sums = [truth, prediction, hits].map(|among| among.sum_dim(0));
        self.sums = self.sums.clone() + Tensor::cat(sums.to_vec(), 0);
        self.samples += batch;
    }

    fn read_sums(&mut self) {
        let sums = self.sums.to_data();
        self.sums = self.sums.zeros_like();
        for (read, sum) in self.read.iter_mut().zip(sums.iter::<f64>()) {
            *read += sum;
        }
    }
}

impl<B: Backend> Evaluation<B> {
    /// An empty sum of the loss, which is called `loss`, and of `metrics`.
    ///
    /// # Panics
    ///
    /// If one of them is called `loss` too.
    pub fn new(metrics: &[(&'static str, Reduction)], device: &B::Device) -> Self {
        assert!(metrics.iter().all(|&(name, _)| name != "loss"), "the mean loss is called `loss`");
        let mut all = vec![("loss", Reduction::Mean)];
        all.extend_from_slice(metrics);
        let sums = vec![Tensor::zeros([1], device); all.len()];
        let read = vec![0.0; all.len()];
        Self { metrics: all, sums, batches: 0, read, samples: 0, classes: None }
    }

    /// Also measures the [macro F1](macro_f1), as `macro_f1`, of so many classes.
    pub fn with_macro_f1(mut self, classes: usize, device: &B::Device) -> Self {
        self.classes = Some(ClassSums {
            classes: Tensor::arange(0..classes as i64, device).unsqueeze(),
            sums: Tensor::zeros([3, classes], device),
            read: vec![0.0; 3 * classes],
            samples: 0,
        });
        self
    }

    /// Counts which classes the logits predict, where the macro F1 is asked for; to be called for each
    /// batch that is [added](Self::add).
    ///
    /// - `logits`: `[batch, classes]`
    /// - `targets`: `[batch]`, in `0..classes`
    ///
    /// # Panics
    ///
    /// If there is not a target for each sample.
    pub fn add_classes(&mut self, logits: &Tensor<B, 2>, targets: &Tensor<B, 1, Int>) {
        if let Some(classes) = &mut self.classes {
            assert_eq!(targets.dims(), [logits.dims()[0]], "a target for each sample");
            classes.add(logits.clone(), targets.clone());
        }
    }

    /// Adds a batch.
    ///
    /// - `losses`: `[batch]`
    /// - `scores`: `[batch]` for each metric, in the order given to [`Evaluation::new`]
    ///
    /// # Panics
    ///
    /// If there is not a score for each metric and sample.
    pub fn add(&mut self, losses: Tensor<B, 1>, scores: impl IntoIterator<Item = Tensor<B, 1>>) {
        let [samples] = losses.dims();
        let scores: Vec<_> = iter::once(losses).chain(scores).collect();
        assert_eq!(scores.len(), self.sums.len(), "the loss and a score for each metric");
        self.samples += samples;
        for (sum, scores) in self.sums.iter_mut().zip(scores) {
            assert_eq!(scores.dims(), [samples], "a score for each sample");
            *sum = sum.clone() + functional::sum(scores);
        }
        self.batches += 1;
        if self.batches == BATCHES_ON_DEVICE {
            self.read_sums();
        }
    }

    fn read_sums(&mut self) {
        for (read, sum) in self.read.iter_mut().zip(&mut self.sums) {
            *read += sum.clone().into_scalar().elem::<f64>();
            *sum = sum.zeros_like();
        }
        self.classes.iter_mut().for_each(ClassSums::read_sums);
        self.batches = 0;
    }

    /// The metrics by name, read from the device; NaN where there was no sample.
    ///
    /// # Panics
    ///
    /// If the macro F1 is asked for, and the classes of some samples were not counted.
    pub fn finish(self) -> BTreeMap<String, f64> {
        let Ok(metrics) = self.finish_together(|_| Ok::<_, Infallible>(()));
        metrics
    }

    /// As [`finish`](Self::finish), where other processes have the other samples of the split.
    ///
    /// - `add`: adds the others' sums to those of this process
    ///
    /// # Errors
    ///
    /// That of `add`.
    ///
    /// # Panics
    ///
    /// As [`finish`](Self::finish).
    pub fn finish_together<E>(
        mut self,
        add: impl FnOnce(&mut [f64]) -> Result<(), E>,
    ) -> Result<BTreeMap<String, f64>, E> {
        self.read_sums();
        let of_classes = self.classes.map(|classes| {
            assert_eq!(classes.samples, self.samples, "`add_classes` for each sample");
            classes.read
        });
        let samples = iter::once(self.samples as f64);
        let mut sums: Vec<f64> =
            samples.chain(self.read).chain(of_classes.iter().flatten().copied()).collect();
        add(&mut sums)?;
        let samples = sums[0];
        let (of_samples, class_sums) = sums[1..].split_at(self.metrics.len());
        let macro_f1 = of_classes.map(|_| ("macro_f1", of_class_sums(class_sums)));
        let named = self.metrics.into_iter().zip(of_samples);
        let metrics = named.map(|((name, reduction), sum)| {
            let mean = sum / samples;
            let value = match reduction {
                Reduction::Mean => mean,
                Reduction::Scaled { unit } => mean * unit,
                Reduction::Exponential => mean.exp(),
                Reduction::Root { unit } => mean.sqrt() * unit,
                Reduction::Explained { variance } => 1.0 - mean / variance,
            };
            (name, value)
        });
        Ok(metrics.chain(macro_f1).map(|(name, value)| (name.to_owned(), value)).collect())
    }
}

/// The mean F1 of the classes that occur or are predicted, as scikit-learn's `f1_score(average="macro")`; NaN
/// if there are none. F1 is the harmonic mean of precision and recall.
///
/// - `classes`: each class's samples, predictions, and correct predictions
pub fn macro_f1(classes: impl IntoIterator<Item = [f64; 3]>) -> f64 {
    let f1 = |[samples, predictions, hits]: [f64; 3]| {
        (samples + predictions > 0.0).then(|| 2.0 * hits / (samples + predictions))
    };
    let scores: Vec<f64> = classes.into_iter().filter_map(f1).collect();
    scores.iter().sum::<f64>() / scores.len() as f64
}

/// - `sums`: `[3, classes]`
fn of_class_sums(sums: &[f64]) -> f64 {
    let classes = sums.len() / 3;
    macro_f1((0..classes).map(|class| [0, 1, 2].map(|row| sums[row * classes + class])))
}

/// Whether the largest logit is the target's, as 0 or 1.
///
/// - `logits`: `[batch, classes]`
/// - `targets`: `[batch]`, in `0..classes`
/// - returns: `[batch]`
///
/// # Panics
///
/// If there is not a target for each sample.
pub fn hits<B: Backend>(logits: Tensor<B, 2>, targets: Tensor<B, 1, Int>) -> Tensor<B, 1> {
    let [batch, _] = logits.dims();
    assert_eq!(targets.dims(), [batch], "a target for each sample"); // one alone would go for all
    logits.argmax(1).reshape([batch]).equal(targets).float()
}

/// Whether a logit is positive exactly where its target is 1, as 0 or 1.
///
/// - `logits`: `[batch]`
/// - `targets`: `[batch]`, 0 or 1
/// - returns: `[batch]`
///
/// # Panics
///
/// If there is not a target for each sample.
pub fn binary_hits<B: Backend>(logits: Tensor<B, 1>, targets: Tensor<B, 1>) -> Tensor<B, 1> {
    assert_eq!(targets.dims(), logits.dims(), "a target for each sample");
    logits.greater_elem(0.0).float().equal(targets).float()
}

#[cfg(test)]
mod tests {
    use backend::{Selected, device::Device};

    use super::*;

    #[test]
    fn metrics_are_over_all_samples_of_all_batches() {
        let device = Device::default();
        let tensor = |values: &[f32]| Tensor::<Selected, 1>::from_floats(values, &device);
        let metrics = [
            ("accuracy", Reduction::Mean),
            ("perplexity", Reduction::Exponential),
            ("mae", Reduction::Scaled { unit: 3.0 }),
            ("rmse", Reduction::Root { unit: 10.0 }),
            ("r2", Reduction::Explained { variance: 16.0 }),
        ];
        let mut evaluation = Evaluation::new(&metrics, &device);
        for (losses, hits) in [(vec![1.0, 3.0, 5.0], vec![1.0, 0.0, 1.0]), (vec![7.0], vec![1.0])] {
            let losses = tensor(&losses);
            let hits = tensor(&hits);
            evaluation.add(losses.clone(), iter::once(hits).chain(iter::repeat_n(losses, 4)));
        }
        let perplexity = ("perplexity", 4.0f64.exp());
        let errors = [("mae", 12.0), ("r2", 0.75), ("rmse", 20.0)];
        let expected = [("accuracy", 0.75), ("loss", 4.0), perplexity].into_iter().chain(errors);
        assert_eq!(evaluation.finish(), expected.map(|(k, v)| (k.to_owned(), v)).collect());
    }

    #[test]
    fn small_losses_count_however_many_came_before() {
        let device = Device::default();
        let mut evaluation = Evaluation::<Selected>::new(&[], &device);
        let losses = [(2 * BATCHES_ON_DEVICE, 131_072.0), (100, 1.0)];
        for (batches, loss) in losses {
            for _ in 0..batches {
                evaluation.add(Tensor::from_floats([loss], &device), []);
            }
        }
        // In f32, 1 is lost beside 2^25.
        assert_eq!(evaluation.finish()["loss"], (67_108_864.0 + 100.0) / 612.0);
    }

    /// As scikit-learn's `f1_score` gives it, which leaves out the class that neither occurs nor is predicted.
    #[test]
    fn the_macro_f1_is_over_all_samples_of_all_processes() {
        let device = Device::default();
        let measured = |batches: &[(&[usize], &[i32])]| {
            let mut evaluation =
                Evaluation::<Selected>::new(&[], &device).with_macro_f1(4, &device);
            for (predictions, targets) in batches {
                let predictions = Tensor::<Selected, 1, Int>::from_ints(
                    predictions.iter().map(|&class| class as i32).collect::<Vec<_>>().as_slice(),
                    &device,
                );
                let logits = predictions.one_hot(4).float();
                evaluation.add_classes(&logits, &Tensor::from_ints(*targets, &device));
                evaluation.add(Tensor::zeros([targets.len()], &device), []);
            }
            evaluation
        };
        let [first, second]: [(&[usize], &[i32]); 2] =
            [(&[0, 1, 0], &[0, 0, 1]), (&[3, 0], &[1, 1])];
        // F1 of 2 * 1 / 5, 0 and 0 of three of four classes.
        let expected = 0.4 / 3.0;
        let alone = measured(&[first, second]).finish()["macro_f1"];
        assert!((alone - expected).abs() < 1e-12, "{alone}");

        let mut others = Vec::new();
        let seen = |sums: &mut [f64]| {
            others.extend_from_slice(sums);
            Ok::<_, Infallible>(())
        };
        let Ok(_) = measured(&[second]).finish_together(seen);
        let add = |sums: &mut [f64]| {
            sums.iter_mut().zip(&others).for_each(|(sum, other)| *sum += other);
            Ok::<_, Infallible>(())
        };
        let Ok(together) = measured(&[first]).finish_together(add);
        assert_eq!(together["macro_f1"], alone);

        let none = Evaluation::<Selected>::new(&[], &device).with_macro_f1(2, &device).finish();
        assert!(none["macro_f1"].is_nan(), "{none:?}");
    }

    /// A perfect loss of 0 would be the best one for good.
    #[test]
    fn without_samples_nothing_is_measured() {
        let metrics = [("accuracy", Reduction::Mean), ("rmse", Reduction::Root { unit: 1.0 })];
        let measured = Evaluation::<Selected>::new(&metrics, &Device::default()).finish();
        assert_eq!(measured.len(), 3);
        assert!(measured.values().all(|value| value.is_nan()), "{measured:?}");
    }

    fn add(scores: &[usize]) {
        let zeros = |samples: usize| Tensor::<Selected, 1>::zeros([samples], &Device::default());
        let metrics = [("accuracy", Reduction::Mean)];
        let mut evaluation = Evaluation::new(&metrics, &Device::default());
        evaluation.add(zeros(2), scores.iter().map(|&samples| zeros(samples)));
    }

    #[test]
    #[should_panic(expected = "the loss and a score for each metric")]
    fn a_metric_without_a_score_is_a_mistake() {
        add(&[]);
    }

    #[test]
    #[should_panic(expected = "the loss and a score for each metric")]
    fn a_score_without_a_metric_is_a_mistake() {
        add(&[2, 2]);
    }

    #[test]
    #[should_panic(expected = "a score for each sample")]
    fn a_score_of_other_samples_is_a_mistake() {
        add(&[3]);
    }

    #[test]
    fn hits_are_counted_for_classes_and_for_signs() {
        let device = Device::default();
        let logits = Tensor::<Selected, 2>::from_floats([[0.0, 1.0], [2.0, 1.0]], &device);
        let classes = Tensor::from_ints([1, 1], &device);
        assert_eq!(hits(logits, classes).into_data().to_vec::<f32>().unwrap(), [1.0, 0.0]);

        let logits = Tensor::<Selected, 1>::from_floats([-1.0, 1.0, 1.0, 0.0, 0.0], &device);
        let targets = Tensor::from_floats([0.0, 0.0, 1.0, 0.0, 1.0], &device);
        let hits = binary_hits(logits, targets).into_data().to_vec::<f32>().unwrap();
        assert_eq!(hits, [1.0, 0.0, 1.0, 1.0, 0.0]);
    }
}
