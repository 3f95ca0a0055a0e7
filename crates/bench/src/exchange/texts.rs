//! The first batches of recipes on texts.

use backend::{Selected, device::Device};
use data::{
    Batching, Order, TokenBatch, TokenLoader,
    text::{Windows, read_text},
};
use models::Architecture;
use recipes::{
    config::{Config, SettingsLayer, TextData},
    lstm,
};

use super::{Exchange, Loss, stored};

/// A window of words, and the one that follows it.
pub(super) fn lstm(settings: &[String], batches: usize) -> anyhow::Result<Exchange> {
    let config: Config<TextData, lstm::Model> =
        lstm::RECIPE.resolve(SettingsLayer::sets(settings))?;
    let device = Device::default();
    let sequence_length = config.data.sequence_length;
    let corpus = read_text(&config.data.options())?;
    let windows = Windows::new(corpus.train, sequence_length)?;
    let (seed, batch_size) = (config.training.seed, config.training.batch_size);
    let batching = Batching::new(Order::Shuffled, seed, batch_size);
    let loader = TokenLoader::<Selected>::windows(windows, batching, &device)?;
    let batch = |batch: TokenBatch<Selected>| {
        let targets = batch.targets.flatten::<1>(0, 1);
        Ok::<_, anyhow::Error>((stored(batch.inputs.float())?, stored(targets.float())?))
    };
    let network = lstm::network(&config.model, &corpus.vocabulary);
    let architecture = Architecture::TextLstm(network);
    let first = loader.batches(0, 0).take(batches).map(batch).collect::<Result<_, _>>()?;
    Ok(Exchange::new(architecture, seed, Loss::CrossEntropy, config.optimizer, first))
}
