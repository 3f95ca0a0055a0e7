//! Losses and metrics for tokens, and what a network writes.

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
    metrics::{Evaluation, Reduction, hits},
};
use training::{Group, Metrics};

use crate::Failure;

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

/// The mean loss, the accuracy and the perplexity of a network; the state is carried while batches
/// continue.
pub(crate) fn measure<B: Backend>(
    model: &TextLstm<B>,
    split: &TokenLoader<B>,
    group: &Group,
    device: &B::Device,
) -> Result<Metrics, Failure> {
    let metrics = [("accuracy", Reduction::Mean), ("perplexity", Reduction::Exponential)];
    let mut evaluation = Evaluation::new(&metrics, device);
    let mut state = None;
    let batches = split.batches(0, 0).filter(|batch| batch.part.samples > 0);
    for batch in group.until_interrupted(batches) {
        let carried = state.take().filter(|_| !batch.starts);
        let (logits, next) = model.forward(batch.inputs, carried, &mut Pass::evaluation());
        let losses = token_losses(logits.clone(), batch.targets.clone());
        let scores = hits(logits.flatten(0, 1), batch.targets.flatten(0, 1));
        evaluation.add(losses.clone(), [scores, losses]);
        state = Some(next);
    }
    Ok(evaluation.finish_together(|sums| group.all_reduce_f64(sums))?)
}

/// The first words of a text, or some of its first characters.
pub(crate) fn beginning(tokens: &Tokens, vocabulary: &Vocabulary) -> String {
    let length = if vocabulary.kind() == TokenKind::Words { 8 } else { 40 };
    let mut ids = vec![0; tokens.len().min(length)];
    tokens.read(0, &mut ids);
    ids.retain(|&id| vocabulary.unknown() != Some(id)); // it has no text
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
    generator.map_or_else(|_| String::new(), |generator| generator.write(WRITTEN))
}

/// A text as streams to measure on, about as many as training has.
pub(crate) fn evaluation_streams(
    tokens: Tokens,
    rows: usize,
    sequence_length: usize,
) -> Result<Streams, DataError> {
    let rows = evaluation_rows(tokens.len(), rows, sequence_length);
    Ok(Streams::new(tokens, rows, sequence_length)?)
}

/// The number of streams, from half of `rows` to `rows`, that leaves the least unused at their
/// ends; no more than the text has windows. With `rows` itself up to half of the text might be
/// unused.
fn evaluation_rows(tokens: usize, rows: usize, sequence_length: usize) -> usize {
    let targets = tokens.saturating_sub(1);
    let windows = |rows: usize| (targets / rows).checked_div(sequence_length).unwrap_or(0);
    let most = rows.min(windows(1)).max(1);
    // The last of those that use equally many windows, which needs the fewest batches.
    ((most / 2).max(1)..=most).max_by_key(|&rows| rows * windows(rows)).unwrap_or(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn little_of_a_text_is_left_out() {
        let used = |tokens: usize, rows: usize, length: usize| {
            let rows = evaluation_rows(tokens, rows, length);
            (rows, rows * ((tokens - 1) / rows / length) * length)
        };
        assert_eq!(used(8100, 64, 64), (63, 8064)); // 64 rows would leave out 4003 targets
        assert_eq!(used(8193, 64, 64), (64, 8192));
        assert_eq!(used(450, 8, 16), (7, 448));
        assert_eq!(used(65, 64, 64), (1, 64));
        assert_eq!(used(200, 64, 64), (3, 192));
        for tokens in (5000..60_000).step_by(997) {
            let (rows, used) = used(tokens, 64, 16);
            assert!((32..=64).contains(&rows) && used * 50 > tokens * 48, "{tokens}: {used}");
        }
        assert_eq!(evaluation_rows(10, 64, 64), 1);
        assert_eq!(evaluation_rows(0, 64, 0), 1);
    }
}
