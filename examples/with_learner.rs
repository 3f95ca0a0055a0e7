//! The networks and data of these crates under burn-train's `Learner`, with its metrics and view.
//!
//! ```text
//! cargo run --release -p examples --example with_learner
//! ```
//!
//! On a terminal the learner draws curves, elsewhere it prints a line for each batch; at the end it
//! prints a table. It can resume only after whole epochs, and not bit for bit, which is why the
//! recipes have their own trainer.

#![allow(clippy::print_stdout)] // A program's result.

use std::path::Path;

use backend::{AutodiffBackend, Backend, Selected, device};
use burn::{
    backend::Autodiff,
    data::{
        dataloader::{DataLoaderBuilder, batcher::Batcher},
        dataset::InMemDataset,
    },
    module::Module,
    optim::AdamConfig,
    tensor::{Int, Tensor, TensorData},
};
use burn_train::{
    ClassificationOutput, InferenceStep, Learner, SupervisedTraining, TrainOutput, TrainStep,
    metric::{AccuracyMetric, LossMetric},
    renderer::CliMetricsRenderer,
};
use data::drawn::digits;
use models::{Cnn, CnnConfig, Pass, losses::cross_entropy};

/// A picture of 28x28 pixels, and its label.
type Digit = (Vec<u8>, u32);

/// Images as `[batch, channels, height, width]`, and labels as `[batch]`.
type Batch<B> = (Tensor<B, 4>, Tensor<B, 1, Int>);

#[derive(Clone)]
struct Stack;

impl<B: Backend> Batcher<B, Digit, Batch<B>> for Stack {
    fn batch(&self, digits: Vec<Digit>, device: &B::Device) -> Batch<B> {
        let (pixels, labels): (Vec<_>, Vec<_>) = digits.into_iter().unzip();
        let pixels = TensorData::new(pixels.concat(), [labels.len(), 1, 28, 28]);
        let images = Tensor::from_data(pixels, device) / 255.0;
        (images, Tensor::from_data(&*labels, device))
    }
}

/// A network of these crates, in a type of this program, which may implement the learner's traits.
#[derive(Module, Debug)]
struct Classifier<B: Backend> {
    network: Cnn<B>,
}

impl<B: Backend> InferenceStep for Classifier<B> {
    type Input = Batch<B>;
    type Output = ClassificationOutput<B>;

    fn step(&self, (images, labels): Batch<B>) -> ClassificationOutput<B> {
        let logits = self.network.forward(images, &mut Pass::evaluation());
        let loss = cross_entropy(logits.clone(), labels.clone()).mean();
        ClassificationOutput::new(loss, logits, labels)
    }
}

impl<B: AutodiffBackend> TrainStep for Classifier<B> {
    type Input = Batch<B>;
    type Output = ClassificationOutput<B>;

    fn step(&self, batch: Batch<B>) -> TrainOutput<ClassificationOutput<B>> {
        let output = InferenceStep::step(self, batch);
        TrainOutput::new(self, output.loss.backward(), output)
    }
}

fn main() -> anyhow::Result<()> {
    let folder = std::env::args().nth(1).unwrap_or_else(|| "runs/with-learner".to_owned());
    println!("{:.1} % of other digits are recognised", 100.0 * learn(Path::new(&folder), 5)?);
    Ok(())
}

/// Returns the accuracy on digits that were not learned from.
fn learn(folder: &Path, epochs: usize) -> anyhow::Result<f32> {
    let (device, _) = device::open()?;
    let train = DataLoaderBuilder::<Autodiff<Selected>, _, _>::new(Stack);
    let train = train.batch_size(32).shuffle(1).build(InMemDataset::new(pictures(0..1000)?));
    let held_out = DataLoaderBuilder::<Selected, _, _>::new(Stack);
    let held_out = held_out.batch_size(100).build(InMemDataset::new(pictures(1000..1200)?));
    let network = CnnConfig::default().init(0, &device);
    let learner = Learner::new(Classifier { network }, AdamConfig::new().init(), 3e-3);
    let training = SupervisedTraining::new(folder, train, held_out)
        .metrics((AccuracyMetric::new(), LossMetric::new()))
        .num_epochs(epochs)
        .summary();
    // The view waits for a key at its end.
    let training = if cfg!(test) { training.renderer(CliMetricsRenderer::new()) } else { training };
    let learned = training.launch(learner).model;
    let answers = InferenceStep::step(&learned, Stack.batch(pictures(1200..1400)?, &device));
    let right = answers.output.argmax(1).flatten(0, 1).equal(answers.targets);
    Ok(right.float().mean().into_scalar())
}

fn pictures(range: std::ops::Range<usize>) -> anyhow::Result<Vec<Digit>> {
    let images = digits(range, 0)?;
    let pixels = images.pixels.chunks_exact(images.shape.bytes()).map(<[u8]>::to_vec);
    Ok(pixels.zip(images.labels).collect())
}

#[test]
fn digits_are_learned() {
    let folder = tempfile::tempdir().unwrap();
    let accuracy = learn(folder.path(), 5).unwrap();
    assert!(accuracy > 0.9, "{accuracy}");
}
