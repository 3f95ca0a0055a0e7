//! The first batches of recipes on tables.

use anyhow::bail;
use backend::{Selected, device::Device};
use data::{
    Batching, TableLoader, TableTargets,
    synthetic::{SyntheticOptions, read_synthetic},
};
use models::{Architecture, MlpConfig};
use recipes::{
    config::{Config, TableData},
    mlp,
};

use super::{Described, Exchange, Loss, Task, initial, resolved, stored};

/// On the tutorial's data; `model.hidden` and `data.order` must be among the settings.
pub(super) fn mlp(settings: &[String], batches: usize) -> anyhow::Result<Exchange> {
    let config: Config<TableData, mlp::Model> = resolved(&mlp::RECIPE, settings)?;
    let device = Device::default();
    let (Some(hidden), Some(order)) = (config.model.hidden, config.data.order) else {
        bail!("a compared run of `mlp` states `model.hidden` and `data.order`");
    };
    let TableData { samples, features, labels, .. } = config.data;
    let options = SyntheticOptions { samples, features, labels, validation: 0.0 };
    let seed = config.training.seed;
    let splits = read_synthetic(&options, seed)?;
    let batch_size = config.training.batch_size;
    let batching = Batching::new(order, seed, batch_size);
    let task = splits.preprocessing.task();
    let loader = TableLoader::<Selected>::new(splits.train, task, batching, &device)?;
    let batch = |batch: data::TableBatch<Selected>| {
        let TableTargets::Binary(labels) = batch.targets else { bail!("labels are 0 or 1") };
        Ok((stored(batch.features)?, stored(labels)?))
    };
    let architecture = Architecture::Mlp(MlpConfig {
        inputs: features,
        hidden,
        outputs: 1,
        ..MlpConfig::default()
    });
    Ok(Exchange {
        task: Task::Train,
        loss: Loss::BinaryCrossEntropy,
        optimizer: config.optimizer,
        weights: initial(&architecture, seed, &device),
        architecture: Described::Whole(architecture),
        batches: loader.batches(0, 0).take(batches).map(batch).collect::<Result<_, _>>()?,
        goal: None,
    })
}
