//! Your own network on your own text: it learns to predict the next character, and then writes.
//!
//! ```text
//! cargo run --release -p examples --example own_text
//! ```
//!
//! The text is the primer on GPU training that comes with `data`; `TextOptions::path` names another.

#![allow(clippy::print_stdout)] // A program's result.

use backend::{
    Backend, Selected, Share,
    device::{self, Allocator, Device},
};
use burn::{
    backend::Autodiff,
    module::Module,
    tensor::{ElementConversion, Int, Tensor, TensorData},
};
use data::{
    Batching, Order, TokenKind, TokenLoader, Vocabulary,
    text::{Corpus, TextOptions, Windows, read_text},
};
use mimalloc::MiMalloc;
use models::{
    Initialization, Initializer,
    layers::{Embedding, Linear, Lstm},
    losses::cross_entropy,
    metrics::{Evaluation, Reduction},
};
use training::{
    EpochReport, Event, Metrics, OptimizerConfig, OptimizerKind, Stop, Trained, Trainer,
    TrainerConfig,
};

// Reuses memory from step to step.
#[global_allocator]
static ALLOCATOR: Allocator<MiMalloc> = Allocator(MiMalloc);

const SEED: u64 = 0;

/// Characters that the network reads before it predicts the next.
const READS: usize = 40;

/// An LSTM whose prediction also sees the last character itself.
#[derive(Module, Debug)]
struct Writer<B: Backend> {
    embedding: Embedding<B>,
    lstm: Lstm<B>,
    output: Linear<B>,
}

impl<B: Backend> Writer<B> {
    /// Each layer has a name, from which and the seed its weights follow.
    fn new(initializer: &Initializer<B>, vocabulary: usize) -> Self {
        let at = |name| initializer.at(name);
        Self {
            embedding: Embedding::new(&at("embedding"), Initialization::Keras, vocabulary, 32),
            lstm: Lstm::new(&at("lstm"), Initialization::Keras, 32, 96),
            output: Linear::new(&at("output"), Initialization::Keras, 96 + 32, vocabulary),
        }
    }

    /// - `tokens`: `[batch, time]`
    /// - returns logits of the token that follows: `[batch, vocabulary]`
    fn forward(&self, tokens: Tensor<B, 2, Int>) -> Tensor<B, 2> {
        let [batch, time] = tokens.dims();
        let embedded = self.embedding.forward(tokens); // [batch, time, 32]
        let last = embedded.clone().narrow(1, time - 1, 1).reshape([batch, 32]);
        let (_, state) = self.lstm.forward(embedded, None); // zeros stand before the first token
        self.output.forward(Tensor::cat(vec![state.hidden, last], 1))
    }
}

fn main() -> anyhow::Result<()> {
    device::prepare_process(Share::WHOLE); // first, since this thread computes as well
    let corpus = read_text(&TextOptions {
        tokens: TokenKind::Characters,
        sequence_length: READS,
        ..TextOptions::default()
    })?;
    let vocabulary = corpus.vocabulary.clone();
    let trained = train(corpus, 3)?;
    let prompt = "While the GPU computes a step, the processor ";
    println!("{}", write(&trained.model, &vocabulary, prompt, 200)?);
    Ok(())
}

/// Trains on all of the text but its end, which is held out.
fn train(corpus: Corpus, epochs: usize) -> anyhow::Result<Trained<Writer<Selected>>> {
    let (device, _) = device::open()?;
    let windows = |tokens| Windows::new(tokens, READS);
    let batching = Batching::new(Order::Shuffled, SEED, 64);
    let train = TokenLoader::windows(windows(corpus.train)?, batching, &device)?;
    let held_out = corpus.validation.map(|tokens| {
        let windows = windows(tokens)?;
        anyhow::Ok(TokenLoader::windows(windows, Batching::evaluation(256), &device)?)
    });
    let held_out = held_out.transpose()?;

    let adam = OptimizerConfig::new(OptimizerKind::Adam, 2e-3);
    let mut config = TrainerConfig::new(adam, epochs, train.steps_per_epoch());
    config.clip_norm = Some(1.0); // the gradients of recurrent networks have peaks
    let mut print = |event: &Event| {
        match event {
            Event::Epoch(EpochReport { epoch, train_loss, validation, .. }) => {
                println!("epoch {epoch}: loss {train_loss:.4}, held out {validation:.4?}");
            }
            Event::Warning { message } => println!("warning: {message}"),
            _ => {}
        }
        Ok(())
    };
    let initializer = Initializer::<Autodiff<Selected>>::seeded(SEED, &device);
    let writer = Writer::new(&initializer, corpus.vocabulary.len());
    let mut trainer = Trainer::new(writer, config, &device, &mut print, Stop::default())?;
    while let Some(epoch) = trainer.next_epoch() {
        for batch in epoch.batches(train.batches(epoch.index, epoch.position)) {
            let logits = trainer.model().forward(batch.inputs);
            trainer.step(cross_entropy(logits, batch.targets.flatten(0, 1)), batch.part)?;
        }
        trainer.end_epoch(|writer| {
            held_out.as_ref().map(|held_out| measure(writer, held_out, &device))
        })?;
    }
    Ok(trainer.finish()?)
}

/// The mean loss and the perplexity on a split.
fn measure(writer: &Writer<Selected>, split: &TokenLoader<Selected>, device: &Device) -> Metrics {
    let mut evaluation = Evaluation::new(&[("perplexity", Reduction::Exponential)], device);
    for batch in split.batches(0, 0) {
        let logits = writer.forward(batch.inputs);
        let losses = cross_entropy(logits, batch.targets.flatten(0, 1));
        evaluation.add(losses.clone(), [losses]);
    }
    evaluation.finish()
}

/// A text that begins with a prompt and goes on for so many characters, each the most probable.
///
/// - `prompt`: at least [`READS`] characters, since the network has learned from so many
fn write(
    writer: &Writer<Selected>,
    vocabulary: &Vocabulary,
    prompt: &str,
    characters: usize,
) -> anyhow::Result<String> {
    let (device, _) = device::open()?;
    let mut tokens = vocabulary.encode(prompt)?;
    for _ in 0..characters {
        let read = &tokens[tokens.len().saturating_sub(READS)..];
        let read: Vec<i32> = read.iter().map(|&token| token as i32).collect();
        let read = TensorData::new(read.clone(), [1, read.len()]);
        let logits = writer.forward(Tensor::from_data(read, &device));
        tokens.push(logits.argmax(1).into_scalar().elem());
    }
    Ok(vocabulary.decode(&tokens))
}

#[test]
fn a_text_is_learned_by_heart() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("text.txt");
    std::fs::write(&path, "one two three four five six seven. ".repeat(60)).unwrap();
    let options = TextOptions {
        path: Some(path),
        tokens: TokenKind::Characters,
        sequence_length: READS,
        ..TextOptions::default()
    };
    let corpus = read_text(&options).unwrap();
    let vocabulary = corpus.vocabulary.clone();
    let trained = train(corpus, 8).unwrap();
    let prompt = "one two three four five six seven. one two ";
    let written = write(&trained.model, &vocabulary, prompt, 18).unwrap();
    assert_eq!(written, format!("{prompt}three four five si"));
}
