//! What is asked of the logits of tokens: the losses to train on, and the measures of a split.

use backend::Backend;
use burn::tensor::{Int, Tensor};
use data::{
    DataError, TokenLoader,
    text::{Streams, Tokens},
};
use models::{
    Pass, TextLstm,
    losses::cross_entropy,
    metrics::{Evaluation, Summary as MetricSummary, hits},
};
use training::Metrics;

/// Windows that are evaluated at a time.
pub(crate) const EVALUATION_BATCH: usize = 256;

/// The cross-entropy of each token.
///
/// - `logits`: `[batch, positions, vocabulary]`
/// - `targets`: `[batch, positions]`
/// - returns: `[batch * positions]`
pub(crate) fn token_losses<B: Backend>(
    logits: Tensor<B, 3>,
    targets: Tensor<B, 2, Int>,
) -> Tensor<B, 1> {
    cross_entropy(logits.flatten(0, 1), targets.flatten(0, 1))
}

/// The mean loss, the accuracy and the perplexity of a network; the state is carried where the
/// batches carry on.
pub(crate) fn measure<B: Backend>(
    model: &TextLstm<B>,
    split: &TokenLoader<B>,
    device: &B::Device,
) -> Metrics {
    let metrics = [("accuracy", MetricSummary::Mean), ("perplexity", MetricSummary::Exponential)];
    let mut evaluation = Evaluation::new(&metrics, device);
    let mut state = None;
    for batch in split.batches(0, 0) {
        let carried = state.take().filter(|_| !batch.starts);
        let (logits, next) = model.forward(batch.inputs, carried, &mut Pass::evaluation());
        let losses = token_losses(logits.clone(), batch.targets.clone());
        let scores = hits(logits.flatten(0, 1), batch.targets.flatten(0, 1));
        evaluation.add(losses.clone(), [scores, losses]);
        state = Some(next);
    }
    evaluation.finish()
}

/// At most so many streams as training has, and no more than the text has windows.
pub(crate) fn evaluation_streams(
    tokens: Tokens,
    rows: usize,
    sequence_length: usize,
) -> Result<Streams, DataError> {
    let rows = (tokens.len() / (sequence_length + 1)).clamp(1, rows);
    Ok(Streams::new(tokens, rows, sequence_length)?)
}
