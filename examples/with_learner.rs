//! The networks and data of these crates under burn-train's `Learner`, with its metrics and view.
//!
//! ```text
//! cargo run -p examples --features learner --example with_learner
//! ```
//!
//! On a terminal the learner draws curves, elsewhere it prints a line for each batch; at its end it
//! prints a table. It can go on after whole epochs only, and not bit for bit, which is why the
//! recipes have a trainer of their own.

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
};
use data::drawn::digits;
use models::{Cnn, CnnConfig, losses::cross_entropy};

/// A picture of 28x28 pixels, and its label.
type Digit = (Vec<u8>, u32);

#[derive(Clone, Debug)]
struct Batch<B: Backend> {
    images: Tensor<B, 4>,
    labels: Tensor<B, 1, Int>,
}

#[derive(Clone)]
struct Stack;

impl<B: Backend> Batcher<B, Digit, Batch<B>> for Stack {
    fn batch(&self, digits: Vec<Digit>, device: &B::Device) -> Batch<B> {
        let labels: Vec<i32> = digits.iter().map(|(_, label)| *label as i32).collect();
        let pixels = digits.into_iter().flat_map(|(pixels, _)| pixels);
        let pixels: Vec<f32> = pixels.map(|pixel| f32::from(pixel) / 255.0).collect();
        let count = labels.len();
        Batch {
            images: Tensor::from_data(TensorData::new(pixels, [count, 1, 28, 28]), device),
            labels: Tensor::from_data(TensorData::new(labels, [count]), device),
        }
    }
}

/// A network of these crates, in a type of this program, which may implement the learner's traits.
#[derive(Module, Debug)]
struct Classifier<B: Backend> {
    network: Cnn<B>,
}

impl<B: Backend> Classifier<B> {
    fn classify(&self, Batch { images, labels }: Batch<B>) -> ClassificationOutput<B> {
        let logits = self.network.forward(images);
        let loss = cross_entropy(logits.clone(), labels.clone()).mean();
        ClassificationOutput::new(loss, logits, labels)
    }
}

impl<B: AutodiffBackend> TrainStep for Classifier<B> {
    type Input = Batch<B>;
    type Output = ClassificationOutput<B>;

    fn step(&self, batch: Batch<B>) -> TrainOutput<ClassificationOutput<B>> {
        let output = self.classify(batch);
        TrainOutput::new(self, output.loss.backward(), output)
    }
}

impl<B: Backend> InferenceStep for Classifier<B> {
    type Input = Batch<B>;
    type Output = ClassificationOutput<B>;

    fn step(&self, batch: Batch<B>) -> ClassificationOutput<B> {
        self.classify(batch)
    }
}

fn main() -> anyhow::Result<()> {
    let folder = std::env::args().nth(1).unwrap_or_else(|| "runs/with-learner".to_owned());
    let network = train(Path::new(&folder), 5)?;
    println!("{network}");
    Ok(())
}

fn train(folder: &Path, epochs: usize) -> anyhow::Result<Classifier<Selected>> {
    let (device, _) = device::open()?;
    let train = DataLoaderBuilder::<Autodiff<Selected>, _, _>::new(Stack);
    let train = train.batch_size(32).shuffle(1).build(InMemDataset::new(pictures(0..1000)?));
    let held_out = DataLoaderBuilder::<Selected, _, _>::new(Stack);
    let held_out = held_out.batch_size(100).build(InMemDataset::new(pictures(1000..1200)?));
    let network = CnnConfig::default().init(0, &device);
    let learner = Learner::new(Classifier { network }, AdamConfig::new().init(), 1e-3);
    let training = SupervisedTraining::new(folder, train, held_out)
        .metrics((AccuracyMetric::new(), LossMetric::new()))
        .num_epochs(epochs)
        .summary();
    Ok(training.launch(learner).model)
}

fn pictures(range: std::ops::Range<usize>) -> anyhow::Result<Vec<Digit>> {
    let images = digits(range, 0)?;
    let pixels = images.pixels.chunks_exact(images.shape.bytes()).map(<[u8]>::to_vec);
    Ok(pixels.zip(images.labels).collect())
}
