//! The first batches of recipes on tables.

use anyhow::bail;
use backend::{Selected, device::Device};
use data::{Batching, TableBatch, TableLoader, TableTargets};
use models::Architecture;
use recipes::{config::SettingsLayer, mlp};

use super::{Exchange, Loss, stored};

pub(super) fn mlp(settings: &[String], batches: usize) -> anyhow::Result<Exchange> {
    let config = mlp::with_choices_made(mlp::RECIPE.resolve(SettingsLayer::sets(settings))?);
    let device = Device::default();
    let (seed, batch_size) = (config.training.seed, config.training.batch_size);
    let splits = mlp::read(&config)?;
    let batching = Batching::new(config.data.order.unwrap_or_default(), seed, batch_size);
    let task = splits.preprocessing.task();
    let loader = TableLoader::<Selected>::new(splits.train, task, batching, &device)?;
    let batch = |batch: TableBatch<Selected>| {
        let TableTargets::Binary(labels) = batch.targets else {
            bail!("a run of `mlp` is compared only where it has two classes");
        };
        Ok((stored(batch.features)?, stored(labels)?))
    };
    let architecture = Architecture::Mlp(mlp::network(&config.model, &splits.preprocessing));
    let first = loader.batches(0, 0).take(batches).map(batch).collect::<Result<_, _>>()?;
    Ok(Exchange::new(architecture, seed, Loss::BinaryCrossEntropy, config.optimizer, first))
}
