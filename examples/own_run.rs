//! Your own run that survives a stop: micro-batches, validation, checkpoints, and a saved model.
//!
//! ```text
//! cargo run --release -p examples --example own_run
//! ```
//!
//! It stops in the middle, as by Ctrl-C, and resumes.

#![allow(clippy::print_stdout, clippy::print_stderr)] // A program's result, and what to do.

use std::path::Path;

use anyhow::Context as _;
use backend::{
    Selected, Share,
    device::{self, Allocator, Device},
};
use burn::backend::Autodiff;
use data::{
    Batching, Fractions, Order, TableLoader, TableSplits, Task,
    synthetic::{Labels, SyntheticOptions, read_synthetic},
};
use inference::{Description, Preprocessing, model_file};
use mimalloc::MiMalloc;
use models::{
    Architecture, Mlp, MlpConfig, Pass,
    losses::binary_cross_entropy,
    metrics::{Evaluation, Reduction, binary_hits},
};
use training::{
    CheckpointDirectory, EndStatus, EpochReport, Event, Metrics, ObserverError, OptimizerConfig,
    OptimizerKind, Stop, TrainError, Trained, Trainer, TrainerConfig,
};

// Reuses memory from step to step.
#[global_allocator]
static ALLOCATOR: Allocator<MiMalloc> = Allocator(MiMalloc);

const EPOCHS: usize = 20;

/// Prints how the run goes.
fn tell(event: &Event) -> Result<(), ObserverError> {
    match event {
        Event::Resume { step, .. } => println!("goes on after update {step}"),
        Event::Epoch(EpochReport { epoch, train_loss, train_accuracy, validation, .. }) => {
            let accuracy = train_accuracy.unwrap_or(f64::NAN);
            let held_out = validation.as_ref().map_or(f64::NAN, |metrics| metrics["accuracy"]);
            println!(
                "epoch {epoch}: loss {train_loss:.4}, accuracy {accuracy:.3}, held out {held_out:.3}"
            );
        }
        Event::Warning { message } => println!("warning: {message}"),
        _ => {}
    }
    Ok(())
}

fn main() -> anyhow::Result<()> {
    device::prepare_process(Share::WHOLE); // first, since this thread computes as well
    let folder = tempfile::tempdir()?;
    stop_and_resume(folder.path()).inspect_err(|error| {
        // Errors of the trainer know what to do.
        if let Some(help) = error.downcast_ref::<TrainError>().and_then(TrainError::help) {
            eprintln!("help: {help}");
        }
    })
}

fn stop_and_resume(folder: &Path) -> anyhow::Result<()> {
    let stopped = train(folder, Some(70))?;
    println!("stopped after {} updates", stopped.steps);
    let trained = train(folder, None)?;
    let best = trained.best.context("it was validated")?;
    println!("kept epoch {}: {:?}", best.epoch, trained.validation);
    Ok(())
}

/// Trains from the newest checkpoint in the folder, if there is one, until `stop_after` updates.
fn train(folder: &Path, stop_after: Option<u64>) -> anyhow::Result<Trained<Mlp<Selected>>> {
    let (device, _) = device::open()?;
    let options = SyntheticOptions {
        samples: 500,
        features: 20,
        labels: Labels::Linear,
        fractions: Fractions { validation: 0.2, ..Fractions::default() },
    };
    let splits = read_synthetic(&options, 0)?;
    let fingerprint = splits.fingerprint();
    let TableSplits { train, validation, preprocessing, .. } = splits;
    let validation = validation.context("a fifth was held out")?;

    // Each update is computed from 50 samples, at most 20 at a time.
    let batching = Batching { micro_batch: 20, ..Batching::new(Order::Shuffled, 0, 50) };
    let train = TableLoader::<Autodiff<Selected>>::new(train, Task::Binary, batching, &device)?;
    let batching = Batching::evaluation(100);
    let validation = TableLoader::new(validation, Task::Binary, batching, &device)?;

    let network = MlpConfig { inputs: 20, hidden: vec![16], outputs: 1, ..Default::default() };
    let adam = OptimizerConfig::new(OptimizerKind::Adam, 1e-2);
    let mut config = TrainerConfig::new(adam, EPOCHS, train.steps_per_epoch());
    config.keep_best = true;
    // A checkpoint is written after each epoch and every five minutes, and no run resumes from it with other data.
    config.fingerprints.insert("data".to_owned(), fingerprint);

    let mut run = CheckpointDirectory::new(folder.join("checkpoints"), tell);
    let stop = Stop::default(); // a signal handler may set `stop.flag()`
    if let Some(step) = stop_after {
        stop.request_after(step);
    }
    let model = network.init(0, &device);
    let mut trainer = Trainer::new(model, config, &device, &mut run, stop)?;
    while let Some(epoch) = trainer.next_epoch() {
        for batch in epoch.batches(train.batches(epoch.index, epoch.position)) {
            let mut pass = Pass::training(0, trainer.step_number(), batch.part.first);
            let logits = trainer.model().forward(batch.features, &mut pass);
            let labels = batch.targets.binary();
            trainer.count_correct(&logits, &labels.clone().int()); // while it learns, as Keras shows it
            trainer.step(binary_cross_entropy(logits.flatten(0, 1), labels), batch.part)?;
        }
        trainer.end_epoch(|model| Some(measure(model, &validation, &device)))?;
    }
    let trained = trainer.finish()?;
    if trained.status != EndStatus::Interrupted {
        // With everything that `recipes predict` and `inference::Model` need.
        let description = Description {
            recipe: "mlp".to_owned(),
            architecture: Architecture::Mlp(network),
            classes: preprocessing.target.classes().to_vec(),
            preprocessing: Preprocessing::Table(preprocessing),
        };
        let file = model_file(&trained.model, &description);
        file.write(folder.join("model.safetensors"))?;
    }
    Ok(trained)
}

/// The mean loss and the accuracy on a split.
fn measure(model: &Mlp<Selected>, split: &TableLoader<Selected>, device: &Device) -> Metrics {
    let mut evaluation = Evaluation::new(&[("accuracy", Reduction::Mean)], device);
    for batch in split.batches(0, 0) {
        let labels = batch.targets.binary();
        let logits = model.forward(batch.features, &mut Pass::evaluation()).flatten(0, 1);
        let losses = binary_cross_entropy(logits.clone(), labels.clone());
        evaluation.add(losses, [binary_hits(logits, labels)]);
    }
    evaluation.finish()
}

#[test]
fn a_run_that_was_stopped_comes_to_the_same_weights() {
    let [straight, stopped] = [(); 2].map(|()| tempfile::tempdir().unwrap());
    train(straight.path(), None).unwrap();
    let first = train(stopped.path(), Some(70)).unwrap();
    assert_eq!((first.status, first.steps), (EndStatus::Interrupted, 70));
    let trained = train(stopped.path(), None).unwrap();
    assert!(trained.validation.unwrap()["accuracy"] > 0.8);
    let [straight, stopped] = [straight, stopped]
        .map(|folder| std::fs::read(folder.path().join("model.safetensors")).unwrap());
    assert!(straight == stopped);
}
