//! A table on the device, and its batches.

use std::ops::Range;

use backend::{Backend, Part};
use burn::tensor::{Int, Tensor, TensorData};

use super::Batching;
use crate::{DataError, Order, Table, Targets, Task, labels::check_labels, order::EpochOrder};

/// A table on the device, and its batches.
#[derive(Clone, Debug)]
pub struct TableLoader<B: Backend> {
    features: Tensor<B, 2>,
    targets: TableTargets<B>,
    batching: Batching,
}

/// What to predict for a batch.
#[derive(Clone, Debug)]
pub enum TableTargets<B: Backend> {
    /// The labels 0 and 1 of two classes, as numbers: `[batch]`.
    Binary(Tensor<B, 1>),
    /// The labels of several classes: `[batch]`.
    Classes(Tensor<B, 1, Int>),
    /// Standardised values: `[batch]`.
    Values(Tensor<B, 1>),
}

impl<B: Backend> TableTargets<B> {
    /// The labels of classes: `[batch]`; none of values.
    pub fn labels(&self) -> Option<Tensor<B, 1, Int>> {
        match self {
            Self::Binary(labels) => Some(labels.clone().int()),
            Self::Classes(labels) => Some(labels.clone()),
            Self::Values(_) => None,
        }
    }
}

/// A part of an update, on the device.
#[derive(Clone, Debug)]
pub struct TableBatch<B: Backend> {
    /// `[batch, features]`
    pub features: Tensor<B, 2>,
    /// `[batch]`
    pub targets: TableTargets<B>,
    /// Its share of the update.
    pub part: Part,
}

impl<B: Backend> TableLoader<B> {
    /// Uploads a table.
    ///
    /// # Errors
    ///
    /// Where the targets do not suit the task: values for a regression, else labels, which are 0 or
    /// 1 for a binary task; where a size of `batching` is 0.
    pub fn new(
        table: Table,
        task: Task,
        batching: Batching,
        device: &B::Device,
    ) -> Result<Self, DataError> {
        batching.check()?;
        let rows = table.rows();
        let width = table.features.len() / rows.max(1);
        let numbers = |values| Tensor::from_data(TensorData::new(values, [rows]), device);
        let targets = match (task, table.targets) {
            (Task::Binary, Targets::Classes(labels)) => {
                check_labels(&labels, 2)?; // with others the loss would be wrong
                TableTargets::Binary(numbers(labels.iter().map(|&label| label as f32).collect()))
            }
            (Task::Multiclass, Targets::Classes(labels)) => {
                let labels: Vec<i32> = labels.iter().map(|&label| label as i32).collect();
                TableTargets::Classes(Tensor::from_data(TensorData::new(labels, [rows]), device))
            }
            (Task::Regression, Targets::Values(values)) => TableTargets::Values(numbers(values)),
            (task, _) => return Err(DataError::TargetsOfTask { task }),
        };
        let features = TensorData::new(table.features, [rows, width]);
        Ok(Self { features: Tensor::from_data(features, device), targets, batching })
    }

    /// Samples.
    pub fn samples(&self) -> usize {
        self.features.dims()[0]
    }

    /// Updates in an epoch.
    pub fn steps_per_epoch(&self) -> usize {
        self.batching.steps_per_epoch(self.samples())
    }

    /// The batches of an epoch, from its update number `first_step` on.
    pub fn batches(
        &self,
        epoch: usize,
        first_step: usize,
    ) -> impl Iterator<Item = TableBatch<B>> + '_ {
        let Batching { order, seed, .. } = self.batching;
        let samples = self.samples();
        let epoch_order = EpochOrder::new(order, samples, seed, epoch as u64);
        self.batching.parts(samples, first_step).map(move |(positions, part)| match order {
            Order::File => self.slice(positions, part),
            Order::Shuffled => self.gather(&epoch_order, positions, part),
        })
    }

    fn slice(&self, positions: Range<usize>, part: Part) -> TableBatch<B> {
        let (start, length) = (positions.start, positions.len());
        TableBatch {
            features: self.features.clone().narrow(0, start, length),
            targets: self.targets.map(
                |numbers| numbers.narrow(0, start, length),
                |labels| labels.narrow(0, start, length),
            ),
            part,
        }
    }

    fn gather(&self, order: &EpochOrder, positions: Range<usize>, part: Part) -> TableBatch<B> {
        let indices: Vec<i32> = positions.map(|position| order.index(position) as i32).collect();
        let length = indices.len();
        let indices = TensorData::new(indices, [length]);
        let indices = Tensor::<B, 1, Int>::from_data(indices, &self.features.device());
        TableBatch {
            features: self.features.clone().select(0, indices.clone()),
            targets: self.targets.map(
                |numbers| numbers.select(0, indices.clone()),
                |labels| labels.select(0, indices.clone()),
            ),
            part,
        }
    }
}

impl<B: Backend> TableTargets<B> {
    /// The labels 0 and 1 of two classes, as numbers: `[batch]`.
    ///
    /// # Panics
    ///
    /// If the task is not [`Task::Binary`].
    pub fn binary(self) -> Tensor<B, 1> {
        match self {
            Self::Binary(labels) => labels,
            Self::Classes(_) | Self::Values(_) => panic!("these are not targets of a binary task"),
        }
    }

    /// The labels of several classes: `[batch]`.
    ///
    /// # Panics
    ///
    /// If the task is not [`Task::Multiclass`].
    pub fn classes(self) -> Tensor<B, 1, Int> {
        match self {
            Self::Classes(labels) => labels,
            Self::Binary(_) | Self::Values(_) => {
                panic!("these are not targets of a multiclass task")
            }
        }
    }

    /// The values of a regression: `[batch]`.
    ///
    /// # Panics
    ///
    /// If the task is not [`Task::Regression`].
    pub fn values(self) -> Tensor<B, 1> {
        match self {
            Self::Values(values) => values,
            Self::Binary(_) | Self::Classes(_) => panic!("these are not targets of a regression"),
        }
    }

    fn map(
        &self,
        numbers: impl FnOnce(Tensor<B, 1>) -> Tensor<B, 1>,
        labels: impl FnOnce(Tensor<B, 1, Int>) -> Tensor<B, 1, Int>,
    ) -> Self {
        match self.clone() {
            Self::Binary(targets) => Self::Binary(numbers(targets)),
            Self::Classes(targets) => Self::Classes(labels(targets)),
            Self::Values(targets) => Self::Values(numbers(targets)),
        }
    }
}

#[cfg(test)]
mod tests {
    use backend::{Selected, device::Device};

    use super::*;
    use crate::Origins;

    fn loader(order: Order, micro_batch: usize) -> TableLoader<Selected> {
        let table = Table {
            features: (0..22).map(|i| i as f32).collect(),
            targets: Targets::Classes((0..11).collect()),
            origins: Origins::Places,
        };
        let batching = Batching { micro_batch, ..Batching::new(order, 3, 4) };
        TableLoader::new(table, Task::Multiclass, batching, &Device::default()).unwrap()
    }

    #[test]
    fn targets_that_are_not_those_of_the_task_are_refused() {
        let check = |targets, task, expected: &str| {
            let table = Table { features: vec![0.0; 3], targets, origins: Origins::Places };
            let (batching, device) = (Batching::evaluation(2), Device::default());
            let error = TableLoader::<Selected>::new(table, task, batching, &device).unwrap_err();
            assert_eq!(error.to_string(), expected);
            assert!(error.help().is_some());
        };
        let labels = || Targets::Classes(vec![1, 2, 1]);
        let values = || Targets::Values(vec![0.5; 3]);
        check(labels(), Task::Binary, "sample 1 has label 2, there are 2 classes");
        check(labels(), Task::Regression, "the targets do not suit the task regression");
        check(values(), Task::Binary, "the targets do not suit the task binary");
        check(values(), Task::Multiclass, "the targets do not suit the task multiclass");
    }

    /// The labels and the part of each batch; the features are checked against the labels.
    fn seen(order: Order, micro_batch: usize, first_step: usize) -> Vec<(Vec<i64>, Part)> {
        let loader = loader(order, micro_batch);
        let read = |batch: TableBatch<Selected>| {
            let labels: Vec<i64> = batch.targets.classes().into_data().iter().collect();
            let features: Vec<f32> = batch.features.into_data().iter().collect();
            let expected =
                labels.iter().flat_map(|&label| [2.0 * label as f32, 2.0 * label as f32 + 1.0]);
            assert_eq!(features, expected.collect::<Vec<f32>>());
            (labels, batch.part)
        };
        loader.batches(1, first_step).map(read).collect()
    }

    fn labels(batches: &[(Vec<i64>, Part)]) -> Vec<i64> {
        batches.iter().flat_map(|(labels, _)| labels.clone()).collect()
    }

    #[test]
    fn an_epoch_holds_every_sample_once_and_ends_with_what_is_left() {
        let batches = seen(Order::File, 4, 0);
        assert_eq!(labels(&batches), (0..11).collect::<Vec<_>>());
        assert_eq!(batches[2].1, Part::whole(3));

        let mut shuffled = labels(&seen(Order::Shuffled, 4, 0));
        assert_ne!(shuffled, (0..11).collect::<Vec<_>>());
        shuffled.sort_unstable();
        assert_eq!(shuffled, (0..11).collect::<Vec<_>>());
    }

    #[test]
    fn each_epoch_has_an_order_of_its_own() {
        let loader = loader(Order::Shuffled, 4);
        let labels = |epoch| -> Vec<i64> {
            let classes = loader.batches(epoch, 0).map(|batch| batch.targets.classes().into_data());
            classes.flat_map(|labels| labels.iter().collect::<Vec<i64>>()).collect()
        };
        assert_ne!(labels(0), labels(1));
    }

    #[test]
    fn neither_the_start_nor_the_micro_batch_changes_the_order() {
        let all = labels(&seen(Order::Shuffled, 4, 0));
        assert_eq!(labels(&seen(Order::Shuffled, 1, 0)), all);
        assert_eq!(labels(&seen(Order::Shuffled, 4, 2)), all[8..]);
    }
}
