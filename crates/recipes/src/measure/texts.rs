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

/// What a network writes after a prompt; nothing where it cannot read the prompt or has no finite outputs.
pub(crate) fn written<B: Backend>(
    network: &TextLstm<B>,
    vocabulary: &Vocabulary,
    prompt: &str,
    device: &B::Device,
) -> String {
    let generator = Generator::new(network, vocabulary, prompt, Sampling::default(), device);
    generator.and_then(|generator| generator.write(WRITTEN)).unwrap_or_default()
}

/// Tokens of a stream that are read at a time: the state is carried, so that the number decides nothing but
/// how many may be left over.
const WINDOW: usize = 16;
/// More would be no faster.
const MOST_STREAMS: usize = 64;
/// Windows in a stream, if the text is so long: at its beginning a network has read nothing.
const FEWEST_WINDOWS: usize = 32;

/// A text as streams to measure on, whatever batches are trained on, so that the losses of runs that differ
/// in these can be compared.
pub(crate) fn evaluation_streams(tokens: Tokens) -> Result<Streams, DataError> {
    let window = WINDOW.min(tokens.len().saturating_sub(1));
    let streams = count_of_streams(tokens.len());
    Ok(Streams::new(tokens, streams, window)?)
}

/// The number of streams, from half of what the text has room for to all of it, that leaves the least unused
/// at their ends.
fn count_of_streams(tokens: usize) -> usize {
    let targets = tokens.saturating_sub(1);
    let windows = |streams: usize| targets / streams / WINDOW;
    let most = (windows(1) / FEWEST_WINDOWS).clamp(1, MOST_STREAMS);
    // The last of those that use equally many windows, which needs the fewest batches.
    ((most / 2).max(1)..=most).max_by_key(|&streams| streams * windows(streams)).unwrap_or(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn little_of_a_text_is_left_out() {
        let used = |tokens: usize| {
            let streams = count_of_streams(tokens);
            (streams, streams * ((tokens - 1) / streams / WINDOW) * WINDOW)
        };
        assert_eq!(used(65), (1, 64));
        assert_eq!(used(1000), (1, 992)); // two streams would be of 31 windows
        assert_eq!(used(1025), (2, 1024));
        assert_eq!(used(64 * 512 + 1), (64, 32_768));
        for tokens in (2000..1_000_000).step_by(997) {
            let (streams, used) = used(tokens);
            assert!(streams <= 64 && used * 100 > tokens * 98, "{tokens}: {streams}, {used}");
        }
        assert_eq!((count_of_streams(10), count_of_streams(0)), (1, 1));
    }
}
