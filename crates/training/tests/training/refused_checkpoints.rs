//! A checkpoint that does not fit the run, or may be whole and cannot be read, is an error that says
//! why, and stays.

use std::{collections::BTreeMap, fs, path::Path};

use backend::{Part, device::Device};
use burn::{
    module::{AutodiffModule, Module, Param},
    tensor::{Tensor, backend::Backend},
};
use serde_json::{Value, json};
use store::{StoredTensor, TensorFile, sha256_hex};
use training::{
    CheckpointConfig, Monitor, OptimizerKind, ParameterGroup, ScheduleKind, Stop, TrainError,
    Trainer, TrainerConfig,
};

use crate::{
    checkpoints::{Kept, everything, run, stopped},
    common::{LinearModel, Recorded, ones},
};

/// Changes the tensors of a file of the newest checkpoint, which is whole afterwards.
fn rewrite(kept: &Kept, file: &str, change: impl FnOnce(&mut BTreeMap<String, StoredTensor>)) {
    let path = kept.directory().join("step-7").join(file);
    let mut tensors = TensorFile::read(&path).unwrap();
    change(&mut tensors.tensors);
    replace(kept, file, &tensors.to_bytes(&path).unwrap());
}

/// Writes another file into the newest checkpoint, which is whole afterwards.
fn replace(kept: &Kept, file: &str, bytes: &[u8]) {
    let checkpoint = kept.directory().join("step-7");
    fs::write(checkpoint.join(file), bytes).unwrap();
    edit(&checkpoint.join("manifest.json"), |manifest| {
        manifest["files"][file] = json!({ "bytes": bytes.len(), "sha256": sha256_hex(bytes) });
    });
}

fn edit(file: &Path, change: impl FnOnce(&mut Value)) {
    let mut content: Value = serde_json::from_slice(&fs::read(file).unwrap()).unwrap();
    change(&mut content);
    fs::write(file, content.to_string()).unwrap();
}

#[test]
fn a_checkpoint_that_may_be_whole_is_an_error_and_stays() {
    let check = |(mut kept, settings): (Kept, TrainerConfig), expected: &str| {
        let error = run(&mut kept, settings, Stop::default()).unwrap_err();
        assert!(error.to_string().contains(expected), "{error}");
        assert!(error.to_string().contains("step-7"), "{error}");
        assert!(error.help().is_some());
        assert_eq!(kept.names(), ["step-6", "step-7"], "{error}");
        assert_eq!(kept.warnings(), [""; 0], "{error}");
        error
    };
    // A file that nobody can read: it is a directory.
    for file in ["manifest.json", "model.safetensors", "state.json"] {
        let stopped = stopped();
        let path = stopped.0.directory().join("step-7").join(file);
        fs::remove_file(&path).unwrap();
        fs::create_dir(&path).unwrap();
        let error = check(stopped, &format!("`{file}`"));
        assert!(matches!(error, TrainError::Unreadable { .. }), "{error}");
    }
    let of_later_version = stopped();
    let manifest = of_later_version.0.directory().join("step-7/manifest.json");
    edit(&manifest, |manifest| *manifest = json!({ "format": 99, "parts": [] }));
    let error = check(of_later_version, "its format is 99");
    assert!(matches!(error, TrainError::OtherVersion { .. }), "{error}");

    let without_a_field = stopped();
    let state = without_a_field.0.directory().join("step-7/state.json");
    edit(&state, |state| drop(state["record"].as_object_mut().unwrap().remove("step")));
    replace(&without_a_field.0, "state.json", &fs::read(&state).unwrap());
    let error = check(without_a_field, "missing field `step`");
    assert!(matches!(error, TrainError::OtherVersion { .. }), "{error}");
}

#[test]
fn a_checkpoint_with_a_setting_that_is_unknown_is_refused() {
    let (mut kept, settings) = stopped();
    let state = kept.directory().join("step-7/state.json");
    edit(&state, |state| state["settings"]["optimizer.amsgrad"] = json!(true));
    replace(&kept, "state.json", &fs::read(&state).unwrap());
    let error = run(&mut kept, settings, Stop::default()).unwrap_err();
    let told = "its `optimizer.amsgrad` was true, which this program does not know";
    assert!(error.to_string().ends_with(told), "{error}");
}

#[test]
fn a_checkpoint_of_other_data_is_refused() {
    let (mut kept, settings) = stopped();
    let other = TrainerConfig { steps_per_epoch: 3, ..settings };
    let error = run(&mut kept, other, Stop::default()).unwrap_err();
    assert!(matches!(error, TrainError::OtherRun { .. }), "{error}");
    assert!(error.to_string().contains("2 updates instead of 3"), "{error}");
    assert!(error.help().is_some());
}

#[derive(Module, Debug)]
struct Biased<B: Backend> {
    weight: Param<Tensor<B, 2>>,
    bias: Param<Tensor<B, 1>>,
}

#[derive(Module, Debug)]
struct Renamed<B: Backend> {
    bias: Option<Param<Tensor<B, 1>>>,
}

#[test]
fn a_checkpoint_of_another_model_names_the_first_parameter_that_differs() {
    fn check<M: AutodiffModule<Recorded>>(model: M, expected: &str) {
        let (mut kept, settings) = stopped();
        let new = Trainer::new(model, settings, &Device::default(), &mut kept, Stop::default());
        let error = new.err().unwrap();
        assert!(matches!(error, TrainError::OtherRun { .. }), "{error}");
        assert!(error.to_string().ends_with(expected), "{error}");
    }

    fn ones<const D: usize>(shape: [usize; D]) -> Param<Tensor<Recorded, D>> {
        Param::from_tensor(Tensor::ones(shape, &Device::default()))
    }

    check(
        LinearModel { weight: ones([2, 1]) },
        "its parameter `weight` is [3, 1] instead of [2, 1]",
    );
    check(Biased { weight: ones([3, 1]), bias: ones([1]) }, "it has no parameter `bias` [1]");
    check(Renamed::<Recorded> { bias: None }, "its parameter `weight` is no part of this model");
    check(LinearModel { weight: ones([3, 1]) }.no_grad(), "or different ones are trained");
}

#[test]
fn a_checkpoint_of_other_tensors_is_refused() {
    let of = |shape: &[usize]| {
        StoredTensor::new(shape.to_vec(), vec![0.5; shape.iter().product()]).unwrap()
    };
    let (moment, row) = ("weight.second_moment", [1, 3]);
    let cases: [(&str, &str, Option<&[usize]>, &str); 11] = [
        ("model", "weight", None, "`weight` [3, 1] is missing"),
        ("model", "weight", Some(&[2, 1]), "`weight` has the shape [2, 1] instead of [3, 1]"),
        ("best", "weight", Some(&row), "`weight` has the shape [1, 3] instead of [3, 1]"),
        ("average", "weight", None, "`weight` [3, 1] is missing"),
        ("average", "weight", Some(&[2, 1]), "`weight` has the shape [2, 1] instead"),
        ("average", "other", Some(&[3, 1]), "`other` of `average.safetensors` is not part"),
        ("optimizer", moment, None, "`weight.second_moment` [3, 1] is missing"),
        ("optimizer", moment, Some(&[2, 1]), "`weight.second_moment` has the shape [2, 1] instead"),
        ("optimizer", "weight.velocity", Some(&[3, 1]), "is not part of this network"),
        ("carried", "sum", Some(&[1]), "`sum` has the shape [1], which has no rows"),
        ("carried", "sum", Some(&[0, 1]), "`sum` has the shape [0, 1], which has no rows"),
    ];
    for (file, name, shape, expected) in cases {
        let (mut kept, settings) = stopped();
        rewrite(&kept, &format!("{file}.safetensors"), |tensors| match shape {
            None => assert!(tensors.remove(name).is_some()),
            Some(shape) => drop(tensors.insert(name.to_owned(), of(shape))),
        });
        let error = run(&mut kept, settings, Stop::default()).unwrap_err();
        assert!(matches!(error, TrainError::OtherRun { .. }), "{file} {name}: {error}");
        assert!(error.to_string().contains(expected), "{file} {name}: {error}");
    }
}

#[test]
fn a_checkpoint_of_other_settings_is_refused() {
    type Change = fn(&mut TrainerConfig);
    let cases: [(Change, &str); 12] = [
        (
            |c| c.optimizer.kind = OptimizerKind::Adam,
            "its `optimizer.kind` was \"nadam\" and is \"adam\"",
        ),
        (|c| c.ema = None, "its `ema` was 0.7 and is unset"),
        (|c| c.loss_scaling = false, "it began with loss scaling and would continue without"),
        (
            |c| c.monitor = Monitor::higher("accuracy"),
            "its epochs were compared by `loss` and would be by `accuracy`",
        ),
        (|c| c.keep_best = false, "it began with keeping the best model and would continue"),
        (|c| c.optimizer.learning_rate = 5.0, "its `optimizer.learning_rate` was 0.05 and is 5.0"),
        (|c| c.schedule.kind = ScheduleKind::Cosine, "its `schedule.kind` was \"plateau\""),
        (|c| c.clip_norm = None, "its `clip_norm` was 2.0 and is unset"),
        (|c| c.ema = Some(0.125), "and is 0.125"),
        (|c| c.minimum_improvement = 0.25, "its `minimum_improvement` was 0.0 and is 0.25"),
        (
            |c| {
                let prefix = "weight".to_owned();
                c.parameter_groups = vec![ParameterGroup { prefix, learning_rate_factor: 0.5 }];
            },
            "its `groups` was [] and is [{\"weight\":0.5}]",
        ),
        (|c| c.monitor.higher_is_better = true, "its `monitor.higher_is_better` was false and is"),
    ];
    for (change, expected) in cases {
        let (mut kept, mut settings) = stopped();
        change(&mut settings);
        let error = run(&mut kept, settings, Stop::default()).unwrap_err();
        assert!(matches!(error, TrainError::OtherRun { .. }), "{error}");
        assert!(error.to_string().contains(expected), "{error}");
    }
}

#[test]
fn a_run_goes_on_without_what_it_began_without() {
    let settings =
        TrainerConfig { loss_scaling: false, keep_best: false, ..everything(OptimizerKind::Adam) };
    let (mut kept, stop) = (Kept::new(), Stop::default());
    stop.request_after(3);
    run(&mut kept, settings.clone(), stop).unwrap();
    let scaled = TrainerConfig { loss_scaling: true, ..settings.clone() };
    let keeping = TrainerConfig { keep_best: true, ..settings };
    for (other, what) in [(scaled, "loss scaling"), (keeping, "keeping the best model")] {
        let error = run(&mut kept, other, Stop::default()).unwrap_err().to_string();
        let expected = format!("it began without {what} and would continue with");
        assert!(error.contains(&expected), "{error}");
    }
}

#[test]
fn a_checkpoint_with_other_fingerprints_is_refused() {
    let on = |data: &str| BTreeMap::from([("the data".to_owned(), data.to_owned())]);
    let settings = TrainerConfig { fingerprints: on("a"), ..everything(OptimizerKind::Sgd) };
    let mut kept = Kept::new();
    let stop = Stop::default();
    stop.request_after(3);
    run(&mut kept, settings.clone(), stop).unwrap();
    let more = BTreeMap::from([("the layers".to_owned(), "c".to_owned())]);
    let more = more.into_iter().chain(on("a")).collect();
    for (other, what) in [(on("b"), "data"), (BTreeMap::new(), "data"), (more, "layers")] {
        let other = TrainerConfig { fingerprints: other, ..settings.clone() };
        let error = run(&mut kept, other, Stop::default()).unwrap_err();
        let expected = format!("the {what} have changed since it began");
        assert!(error.to_string().contains(&expected), "{error}");
    }
    assert_eq!(run(&mut kept, settings, Stop::default()).unwrap().steps, 10);
}

#[test]
fn a_damaged_checkpoint_takes_the_place_of_no_whole_one() {
    for (every_steps, expected) in [(None, ["step-6", "step-8"]), (Some(1), ["step-7", "step-8"])] {
        let (mut kept, mut settings) = stopped();
        fs::remove_file(kept.directory().join("step-7/state.json")).unwrap();
        (settings.checkpoint.every_steps, settings.checkpoint.every_epochs) = (every_steps, None);
        let stop = Stop::default();
        stop.request_after(8);
        run(&mut kept, settings, stop).unwrap();
        assert_eq!(kept.names(), expected, "what is written anew is whole");
    }
}

#[test]
fn a_run_whose_checkpoints_are_all_damaged_is_left_as_it_is() {
    let (mut kept, settings) = stopped();
    for name in kept.names() {
        fs::remove_file(kept.directory().join(name).join("state.json")).unwrap();
    }
    let told = kept.events.len();
    let error = run(&mut kept, settings, Stop::default()).unwrap_err();
    assert!(matches!(error, TrainError::NoneUsable { .. }), "{error}");
    let message = error.to_string();
    assert!(message.contains("step-6") && message.contains("step-7"), "{message}");
    assert!(error.help().is_some());
    assert_eq!((kept.names(), kept.events.len()), (vec!["step-6".into(), "step-7".into()], told));
}

#[test]
fn a_folder_that_is_moved_while_training_is_not_made_again_but_its_checkpoints_are() {
    let checkpoint = CheckpointConfig { every_steps: Some(1), ..CheckpointConfig::default() };
    let settings =
        TrainerConfig { steps_per_epoch: 6, checkpoint, ..everything(OptimizerKind::Sgd) };
    let (mut kept, device) = (Kept::new(), Device::default());
    let here = kept.directory();
    let folder = here.parent().unwrap().to_owned();
    let moved = folder.with_extension("moved");
    let mut trainer = Trainer::new(ones(), settings, &device, &mut kept, Stop::default()).unwrap();
    trainer.next_epoch().unwrap();
    let mut step = || {
        let outputs = trainer.model().weight.val().sum();
        trainer.step(outputs, Part::whole(1))
    };
    step().unwrap();
    step().unwrap(); // which leaves a checkpoint of the first
    fs::remove_dir_all(&here).unwrap();
    step().unwrap();
    assert!(here.join("step-2").is_dir());
    fs::rename(&folder, &moved).unwrap();
    let error = step().unwrap_err();
    assert!(matches!(error, TrainError::Gone { .. }) && error.help().is_some(), "{error}");
    assert!(!folder.exists());
    fs::rename(&moved, &folder).unwrap(); // to be removed
}
