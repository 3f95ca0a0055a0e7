//! A run that was stopped, killed, or failed to write continues as if nothing had happened.

use std::{
    fs,
    path::{Path, PathBuf},
    thread,
    time::Duration,
};

use backend::{
    Part, Selected,
    device::Device,
    random::{Purpose, Random},
};
use burn::{
    module::{Module, ModuleMapper, Param},
    tensor::{ElementConversion, Tensor, TensorData, backend::Backend},
};
use serde_json::{Value, json};
use store::{TensorFile, fault};
use tempfile::TempDir;
use training::{
    CheckpointConfig, CheckpointStore, EndStatus, EpochReport, Event, Metrics, Observer,
    ObserverError, OptimizerKind, ScheduleConfig, ScheduleKind, StepReport, Stop, TrainError,
    Trained, Trainer, TrainerConfig, newest_step,
};

use crate::common::{BATCH, LinearModel, Problem, Recorded, SAMPLES, ones, optimizer, settings};

/// A run directory, and the events of a run: all that remains of a process that ended.
pub(crate) struct Kept {
    folder: TempDir,
    pub(crate) events: Vec<Event>,
}

impl Kept {
    pub(crate) fn new() -> Self {
        Self { folder: tempfile::tempdir().unwrap(), events: Vec::new() }
    }

    pub(crate) fn directory(&self) -> PathBuf {
        self.folder.path().join("checkpoints")
    }

    pub(crate) fn names(&self) -> Vec<String> {
        let entries = fs::read_dir(self.directory()).unwrap();
        let mut names: Vec<String> =
            entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.retain(|name| name != ".lock");
        names.sort();
        names
    }

    pub(crate) fn warnings(&self) -> Vec<&str> {
        fn message(event: &Event) -> Option<&str> {
            match event {
                Event::Warning { message } => Some(message),
                _ => None,
            }
        }
        self.events.iter().filter_map(message).collect()
    }

    /// The numbers of all steps and epochs, without times, and what was shown of the epochs.
    pub(crate) fn rows(&self) -> Vec<String> {
        let row = |event: &Event| match event {
            Event::Step(StepReport {
                epoch,
                step,
                loss,
                accuracy,
                learning_rate,
                gradient_norm,
                loss_scale,
                ..
            }) => Some(format!(
                "{epoch} {step} {loss} {accuracy:?} {learning_rate} {gradient_norm} {loss_scale:?}"
            )),
            Event::Epoch(report) => {
                let EpochReport { epoch, step, train_loss, train_accuracy, last_loss, .. } = report;
                let validation = &report.validation;
                Some(format!(
                    "{epoch} {step} {train_loss} {train_accuracy:?} {last_loss} {validation:?}"
                ))
            }
            Event::Sample { epoch, step, text, .. } => Some(format!("{epoch} {step} {text}")),
            _ => None,
        };
        self.events.iter().filter_map(row).collect()
    }
}

impl Observer for Kept {
    fn observe(&mut self, event: &Event) -> Result<(), ObserverError> {
        self.events.push(event.clone());
        Ok(())
    }

    fn checkpoint_store(&mut self) -> Option<&mut dyn CheckpointStore> {
        Some(self)
    }
}

impl CheckpointStore for Kept {
    fn checkpoints(&self) -> PathBuf {
        self.directory()
    }

    fn mark(&mut self) -> Result<Value, ObserverError> {
        Ok(json!(self.events.len()))
    }

    fn rewind_to(&mut self, mark: Option<&Value>) -> Result<(), ObserverError> {
        self.events.truncate(mark.and_then(Value::as_u64).unwrap_or(0) as usize);
        Ok(())
    }
}

pub(crate) type Outcome = Result<Trained<LinearModel<Selected>>, TrainError>;

/// Moves the weights a little, as running statistics move.
struct Drift;

impl<B: Backend> ModuleMapper<B> for Drift {
    fn map_float<const D: usize>(&mut self, parameter: Param<Tensor<B, D>>) -> Param<Tensor<B, D>> {
        let (id, tensor, mapper) = parameter.consume();
        let drifted = (tensor * 0.99).detach().require_grad();
        Param::from_mapped_value(id, drifted, mapper)
    }
}

/// Trains in micro-batches of four and two samples, with noise that follows from the step, and a
/// number that is carried from each update to the next. Where losses are scaled the gradients of the
/// second update overflow.
pub(crate) fn run(kept: &mut Kept, settings: TrainerConfig, stop: Stop) -> Outcome {
    run_validated(kept, settings, stop, || {})
}

/// As [`run`], with `validating` called during each validation.
fn run_validated(
    kept: &mut Kept,
    settings: TrainerConfig,
    stop: Stop,
    mut validating: impl FnMut(),
) -> Outcome {
    let device = Device::default();
    let Problem { features, targets, start } = Problem::drawn();
    let tensor = |values: Vec<f32>, shape: [usize; 2]| {
        Tensor::<Recorded, 2>::from_data(TensorData::new(values, shape), &device)
    };
    let (features, targets) = (tensor(features, [SAMPLES, 3]), tensor(targets, [SAMPLES, 1]));
    let model = LinearModel { weight: Param::from_tensor(tensor(start, [3, 1])) };

    let scales = settings.loss_scaling;
    let mut trainer = Trainer::new(model, settings, &device, kept, stop)?;
    while let Some(epoch) = trainer.next_epoch() {
        let parts = (epoch.position * BATCH..SAMPLES)
            .step_by(BATCH)
            .flat_map(|start| [(start, 4, false), (start + 4, BATCH - 4, true)]);
        for (start, samples, last) in epoch.batches(parts) {
            let noise =
                Random::new(1, Purpose::Dropout, trainer.step_number()).normal(start as u64);
            let carried = trainer.carried("sum").unwrap_or_else(|| Tensor::zeros([1, 1], &device));
            let outputs =
                features.clone().narrow(0, start, samples).matmul(trainer.model().weight.val())
                    + Tensor::from_inner(carried.clone() * 0.1)
                    + noise * 0.1;
            let targets = targets.clone().narrow(0, start, samples);
            let labels = targets.clone().greater_elem(0.0).int().flatten(0, 1);
            trainer.count_correct(&outputs, &labels);
            let errors = outputs - targets;
            let mean = errors.clone().inner().mean().reshape([1, 1]);
            let mut losses = errors.flatten::<1>(0, 1).square();
            if trainer.step_number() == 1 && scales {
                // Adds zeros whose gradients are NaN.
                losses = losses.clone() + (losses * 0.0).sqrt();
            }
            trainer.step(losses, Part { first: start % BATCH, samples, of: BATCH, last })?;
            trainer.carry("sum", carried + mean);
            trainer.map_model(|model| model.map(&mut Drift));
        }
        trainer.show("the weight", |model| {
            let values: Vec<f32> = model.weight.val().into_data().to_vec().unwrap();
            format!("{values:?}")
        });
        let (features, targets) = (features.clone().inner(), targets.clone().inner());
        trainer.end_epoch(|model| {
            let loss = (features.matmul(model.weight.val()) - targets).square().mean();
            let loss: f64 = loss.into_scalar().elem();
            validating();
            Some(Metrics::from([("loss".to_owned(), loss), ("none".to_owned(), f64::NAN)]))
        })?;
    }
    trainer.finish()
}

pub(crate) fn weight(outcome: Outcome) -> Vec<u32> {
    let values: Vec<f32> = outcome.unwrap().model.weight.val().into_data().to_vec().unwrap();
    values.into_iter().map(f32::to_bits).collect()
}

/// Everything that a checkpoint could leave out, for five epochs of two steps.
pub(crate) fn everything(kind: OptimizerKind) -> TrainerConfig {
    let mut settings = settings(optimizer(kind));
    settings.log_every_steps = 3;
    settings.clip_norm = Some(2.0);
    settings.loss_scaling = true;
    settings.ema = Some(0.7);
    settings.keep_best = true;
    settings.optimizer.momentum = 0.9;
    settings.schedule = ScheduleConfig {
        patience: 0,
        threshold: 0.5,
        ..ScheduleConfig::new(ScheduleKind::Plateau)
    };
    settings.checkpoint = CheckpointConfig { every_epochs: None, ..CheckpointConfig::default() };
    settings
}

pub(crate) const KINDS: [OptimizerKind; 5] = [
    OptimizerKind::Adam,
    OptimizerKind::AdamW,
    OptimizerKind::NAdam,
    OptimizerKind::Sgd,
    OptimizerKind::RmsProp,
];

#[test]
fn a_run_that_was_stopped_at_any_step_ends_bit_for_bit_as_if_it_had_not_been() {
    for kind in KINDS {
        let mut straight = Kept::new();
        let expected = weight(run(&mut straight, everything(kind), Stop::default()));
        for step in 1..10 {
            let mut kept = Kept::new();
            let stop = Stop::default();
            stop.request_after(step);
            let stopped = run(&mut kept, everything(kind), stop).unwrap();
            assert_eq!((stopped.status, stopped.steps), (EndStatus::Interrupted, step));
            let resumed = run(&mut kept, everything(kind), Stop::default());
            assert_eq!(resumed.as_ref().unwrap().samples, 60);
            assert!(resumed.as_ref().unwrap().seconds_training >= stopped.seconds_training);
            assert_eq!(weight(resumed), expected, "{kind:?}, step {step}");
            assert_eq!(kept.rows(), straight.rows(), "{kind:?}, step {step}");
        }
    }
}

#[test]
fn a_run_that_is_stopped_during_validation_measures_no_further_and_validates_again() {
    let mut straight = Kept::new();
    let settings = everything(OptimizerKind::Adam);
    let expected = weight(run(&mut straight, settings.clone(), Stop::default()));
    for stopped_epoch in 1..=5 {
        let (mut kept, stop, group) = (Kept::new(), Stop::default(), settings.group.clone());
        let (mut epoch, mut measured) = (0, 0);
        let stopped = run_validated(&mut kept, settings.clone(), stop.clone(), || {
            epoch += 1;
            for batch in group.until_interrupted(0..4) {
                measured += 1;
                if epoch == stopped_epoch && batch == 2 {
                    stop.request();
                }
            }
        });
        assert_eq!(measured, 4 * stopped_epoch - 1);
        let never_read = (0..4).inspect(|_| panic!("a test split has no use either"));
        assert_eq!(group.until_interrupted(never_read).count(), 0);
        let stopped = stopped.unwrap();
        assert_eq!(stopped.status, EndStatus::Interrupted);
        assert_eq!(stopped.steps, 2 * stopped_epoch);
        assert_eq!(weight(run(&mut kept, settings.clone(), Stop::default())), expected);
        assert_eq!(kept.rows(), straight.rows(), "epoch {stopped_epoch}");
        let validating = || panic!("the run has ended");
        let ended = run_validated(&mut kept, settings.clone(), Stop::default(), validating);
        assert_eq!(weight(ended), expected);
        assert_eq!(group.until_interrupted(0..4).count(), 4);
    }
}

#[test]
fn a_run_stops_at_every_step_and_still_ends_the_same() {
    let mut straight = Kept::new();
    let settings = everything(OptimizerKind::Adam);
    let expected = weight(run(&mut straight, settings.clone(), Stop::default()));
    let mut kept = Kept::new();
    for step in 1..10 {
        let stop = Stop::default();
        stop.request_after(step);
        assert_eq!(run(&mut kept, settings.clone(), stop).unwrap().steps, step);
    }
    assert_eq!(weight(run(&mut kept, settings, Stop::default())), expected);
    assert_eq!(kept.rows(), straight.rows());
}

#[test]
fn a_write_that_fails_ends_the_run_and_loses_nothing() {
    let mut settings = everything(OptimizerKind::Adam);
    settings.epochs = 2;
    settings.checkpoint.every_steps = Some(1);
    settings.checkpoint.keep = 1;
    let mut straight = Kept::new();
    let expected = weight(run(&mut straight, settings.clone(), Stop::default()));
    for failing_write in 0.. {
        let mut kept = Kept::new();
        fault::arm(failing_write);
        let outcome = run(&mut kept, settings.clone(), Stop::default());
        if fault::disarm() {
            assert!(failing_write > 70, "only {failing_write} writes");
            break;
        }
        let folder = kept.folder.path().to_str().unwrap();
        let told = match outcome {
            // What is superfluous may stay.
            Ok(_) => kept.warnings().concat(),
            Err(error) => {
                assert_eq!(kept.warnings(), [""; 0], "write {failing_write}");
                error.to_string()
            }
        };
        assert!(told.contains("injected") && told.contains(folder), "{told}");
        assert_eq!(told.matches("injected").count(), 1, "{told}");
        let resumed = weight(run(&mut kept, settings.clone(), Stop::default()));
        assert_eq!(resumed, expected, "write {failing_write}");
        assert_eq!(kept.rows(), straight.rows(), "write {failing_write}");
        assert!(kept.names().contains(&"step-4".to_owned()), "write {failing_write}");
    }
}

/// A run that was stopped after step 7 and has the checkpoints of steps 6 and 7.
pub(crate) fn stopped() -> (Kept, TrainerConfig) {
    let mut settings = everything(OptimizerKind::NAdam);
    settings.checkpoint.every_steps = Some(1);
    let mut kept = Kept::new();
    let stop = Stop::default();
    stop.request_after(7);
    run(&mut kept, settings.clone(), stop).unwrap();
    assert_eq!(kept.names(), ["step-6", "step-7"]);
    (kept, settings)
}

#[test]
fn a_damaged_checkpoint_is_named_and_the_one_before_is_used() {
    let (_, settings) = stopped();
    let expected = weight(run(&mut Kept::new(), settings, Stop::default()));
    let damages: [fn(&Path); 3] = [
        |file| fs::remove_file(file).unwrap(),
        |file| {
            let bytes = fs::read(file).unwrap();
            fs::write(file, &bytes[..bytes.len() - 1]).unwrap();
        },
        |file| {
            let mut bytes = fs::read(file).unwrap();
            let middle = bytes.len() / 2;
            bytes[middle] ^= 1;
            fs::write(file, &bytes).unwrap();
        },
    ];
    let files = [
        "average.safetensors",
        "best.safetensors",
        "carried.safetensors",
        "manifest.json",
        "model.safetensors",
        "optimizer.safetensors",
        "state.json",
    ];
    for file in files {
        for damage in damages {
            let (mut kept, settings) = stopped();
            damage(&kept.directory().join("step-7").join(file));
            assert_eq!(weight(run(&mut kept, settings, Stop::default())), expected, "{file}");
            let warnings = kept.warnings();
            assert_eq!(warnings.len(), 1, "{file}: {warnings:?}");
            assert!(warnings[0].contains("step-7"), "{warnings:?}");
            assert!(file == "manifest.json" || warnings[0].contains(file), "{warnings:?}");
        }
    }
}

#[test]
fn old_checkpoints_go_and_those_that_were_asked_for_stay() {
    let names = |checkpoint: CheckpointConfig| {
        let mut kept = Kept::new();
        let settings = TrainerConfig { checkpoint, ..everything(OptimizerKind::Sgd) };
        run(&mut kept, settings, Stop::default()).unwrap();
        kept.names()
    };
    let every_epoch = CheckpointConfig::default();
    let config = CheckpointConfig { every_epochs: None, ..every_epoch.clone() };
    assert_eq!(names(config.clone()), ["step-10"], "there is always one at the end");
    assert_eq!(names(every_epoch.clone()), ["step-10", "step-8"]);
    let for_good = CheckpointConfig { keep_every_epochs: Some(2), keep: 1, ..config.clone() };
    assert_eq!(names(for_good), ["step-10", "step-4", "step-8"]);
    let some_for_good = CheckpointConfig { keep_every_epochs: Some(2), keep: 1, ..every_epoch };
    assert_eq!(names(some_for_good), ["step-10", "step-4", "step-8"]);
    let every_third_step = CheckpointConfig { every_steps: Some(3), ..config.clone() };
    assert_eq!(names(every_third_step), ["step-10", "step-9"]);
    let at_once = CheckpointConfig { every_minutes: Some(1e-9), keep: 3, ..config };
    assert_eq!(names(at_once), ["step-10", "step-8", "step-9"]);
}

#[test]
fn a_checkpoint_by_time_comes_after_so_many_minutes_since_the_last() {
    let names = |minutes| {
        let mut settings = settings(optimizer(OptimizerKind::Sgd));
        settings.steps_per_epoch = 6;
        settings.checkpoint = CheckpointConfig {
            every_epochs: None,
            every_minutes: Some(minutes),
            ..CheckpointConfig::default()
        };
        let (mut kept, device) = (Kept::new(), Device::default());
        let mut trainer =
            Trainer::new(ones(), settings, &device, &mut kept, Stop::default()).unwrap();
        trainer.next_epoch().unwrap();
        for step in 0..6 {
            if step == 3 {
                thread::sleep(Duration::from_millis(2050)); // without it, all is done in less
            }
            let outputs = trainer.model().weight.val().sum();
            trainer.step(outputs, Part::whole(1)).unwrap();
        }
        drop(trainer);
        kept.names()
    };
    assert_eq!(names(1.0), [""; 0]); // first, since a GPU compiles its kernels then
    assert_eq!(names(2.0 / 60.0), ["step-3"]);
}

#[test]
fn a_run_that_was_stopped_may_be_ended_there_but_not_before() {
    let kind = OptimizerKind::AdamW;
    let ends_at = |step| TrainerConfig { max_steps: Some(step), ..everything(kind) };
    for step in 1..10 {
        let mut straight = Kept::new();
        let expected = run(&mut straight, ends_at(step), Stop::default()).unwrap();
        let (mut kept, stop) = (Kept::new(), Stop::default());
        stop.request_after(step);
        let stopped = run(&mut kept, everything(kind), stop).unwrap();
        assert_eq!((stopped.status, stopped.steps), (EndStatus::Interrupted, step));
        assert_eq!(newest_step(&kept.directory()), Some(step));

        let begun = step.div_ceil(2);
        let fewer_steps = (step > 1).then(|| (ends_at(step - 1), step));
        let epochs = begun as usize - 1;
        let fewer_epochs =
            (epochs > 0).then(|| (TrainerConfig { epochs, ..everything(kind) }, begun));
        for (settings, done) in fewer_steps.into_iter().chain(fewer_epochs) {
            let error = run(&mut kept, settings, Stop::default()).unwrap_err();
            assert!(matches!(error, TrainError::Passed { .. }), "{error}");
            let told = error.to_string();
            assert!(told.ends_with(&format!("the run has reached {done} already")), "{told}");
        }

        let ended = run(&mut kept, ends_at(step), Stop::default()).unwrap();
        assert_eq!((ended.status, ended.steps), (EndStatus::Finished, step));
        assert_eq!(format!("{:?}", ended.validation), format!("{:?}", expected.validation));
        assert_eq!(kept.rows(), straight.rows(), "{step} steps");
        assert_eq!(weight(Ok(ended)), weight(Ok(expected)), "{step} steps");
    }
}

#[test]
fn no_poisoned_state_is_ever_written() {
    let mut settings = settings(optimizer(OptimizerKind::Sgd));
    settings.optimizer.learning_rate = 1e20;
    settings.log_every_steps = 100;
    settings.checkpoint =
        CheckpointConfig { every_steps: Some(1), keep: 100, ..settings.checkpoint };
    let mut kept = Kept::new();
    let error = run(&mut kept, settings, Stop::default()).unwrap_err();
    assert!(matches!(error, TrainError::Diverged { .. }), "{error}");
    let names = kept.names();
    assert!(!names.is_empty());
    for name in names {
        let path = kept.directory().join(name).join("model.safetensors");
        let file = TensorFile::read(&path).unwrap();
        assert!(file.tensors["weight"].values().iter().all(|value| value.is_finite()));
    }
}
