//! What is asked of the logits of tokens: the losses to train on, and the measures of a split.

use backend::Backend;
use burn::tensor::{Int, Tensor};
use data::{
    DataError, TokenKind, TokenLoader, Vocabulary,
    text::{Streams, Tokens},
};
use inference::{Generator, Sampling};
use models::{
    Pass, TextLstm,
    losses::cross_entropy,
    metrics::{Evaluation, Summary as MetricSummary, hits},
};
use training::{Group, Metrics};

use crate::Failure;

/// Windows that are evaluated at a time.
pub(crate) const EVALUATION_BATCH: usize = 256;

/// Tokens that a network writes in each epoch.
const WRITTEN: usize = 80;

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
///
/// # Errors
///
/// Where another process failed.
pub(crate) fn measure<B: Backend>(
    model: &TextLstm<B>,
    split: &TokenLoader<B>,
    group: &Group,
    device: &B::Device,
) -> Result<Metrics, Failure> {
    let metrics = [("accuracy", MetricSummary::Mean), ("perplexity", MetricSummary::Exponential)];
    let mut evaluation = Evaluation::new(&metrics, device);
    let mut state = None;
    for batch in split.batches(0, 0).filter(|batch| batch.part.samples > 0) {
        let carried = state.take().filter(|_| !batch.starts);
        let (logits, next) = model.forward(batch.inputs, carried, &mut Pass::evaluation());
        let losses = token_losses(logits.clone(), batch.targets.clone());
        let scores = hits(logits.flatten(0, 1), batch.targets.flatten(0, 1));
        evaluation.add(losses.clone(), [scores, losses]);
        state = Some(next);
    }
    Ok(evaluation.finish_together(|sums| group.sum_f64(sums))?)
}

/// The first words of a text, or some of its first characters.
pub(crate) fn beginning(tokens: &Tokens, vocabulary: &Vocabulary) -> String {
    let length = if vocabulary.kind() == TokenKind::Words { 8 } else { 40 };
    let mut ids = vec![0; tokens.len().min(length)];
    tokens.read(0, &mut ids);
    ids.retain(|&id| vocabulary.unknown() != Some(id)); // there is no text for it
    vocabulary.decode(&ids)
}

/// What a network writes after a prompt; nothing where it cannot read the prompt.
pub(crate) fn written<B: Backend>(
    network: &TextLstm<B>,
    vocabulary: &Vocabulary,
    prompt: &str,
    device: &B::Device,
) -> String {
    let generator = Generator::new(network, vocabulary, prompt, Sampling::default(), device);
    generator.map_or_else(|_| String::new(), |generator| generator.take(WRITTEN).collect())
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
