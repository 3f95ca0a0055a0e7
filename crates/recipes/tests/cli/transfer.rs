//! Transfer learning from the outside: a backbone is trained, frozen and reused.

use std::{collections::BTreeMap, fs};

use store::{StoredTensor, TensorFile};

use crate::folder::{Folder, Ran};

type Tensors = BTreeMap<String, StoredTensor>;

/// A folder with the run `backbone`, a few steps of `vgg-pretrain`.
fn pretrained() -> Folder {
    let folder = Folder::new();
    pretrain(&folder, "backbone", 0);
    folder
}

fn pretrain(folder: &Folder, run: &str, seed: u64) {
    let train = format!(
        "train vgg-pretrain --set data.samples=100 --set training.batch_size=32 --max-steps 3 \
         --progress quiet --seed {seed} --run-dir {run}"
    );
    folder.run(&train).succeeded();
}

/// A short run of `vgg` on few drawn shapes.
fn transfer(folder: &Folder, settings: &str, run: &str) -> Ran {
    folder.run(&format!(
        "train vgg --set model.weights=backbone/model.safetensors --set data.samples=60 \
         --set training.epochs=2 --set training.batch_size=16 --progress plain {settings} \
         --run-dir {run}"
    ))
}

fn tensors(folder: &Folder, run: &str) -> Tensors {
    TensorFile::read(folder.path(run).join("model.safetensors")).unwrap().tensors
}

/// The names of the features whose values differ.
fn changed(before: &Tensors, after: &Tensors) -> Vec<String> {
    let features = before.iter().filter(|(name, _)| name.starts_with("features."));
    let differ = features.filter(|(name, tensor)| after[*name] != **tensor);
    differ.map(|(name, _)| name.clone()).collect()
}

#[test]
fn the_frozen_part_stays_what_it_was_and_its_features_are_kept() {
    let folder = pretrained();
    let first = transfer(&folder, "", "first").succeeded();
    assert!(first.stderr.contains("the features of 50 images took"), "{}", first.stderr);
    let second = transfer(&folder, "", "second").succeeded();
    assert!(second.stderr.contains("the features of 50 images come from"), "{}", second.stderr);

    let (backbone, first) = (tensors(&folder, "backbone"), tensors(&folder, "first"));
    assert_eq!(changed(&backbone, &first), Vec::<String>::new());
    assert_eq!(first, tensors(&folder, "second"));
    let summary = folder.json("first/summary.json");
    // The head: 128 x 4 x 4 features to 256 units, and those to ten classes.
    assert_eq!(summary["trainable_parameters"], 2048 * 256 + 256 + 256 * 10 + 10);
    assert!(summary["parameters"].as_u64() > summary["trainable_parameters"].as_u64());
}

/// What was computed is not lost because it cannot be kept.
#[test]
fn a_cache_that_cannot_be_written_is_a_note() {
    let folder = Folder::new();
    folder.write("file", "");
    let run = |arguments: &str| {
        let mut command = folder.command();
        command.args(arguments.split_whitespace()).env("BURN_RECIPES_DATA", "file/cache");
        let output = command.output().unwrap();
        let stderr = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(0), "{stderr}");
        stderr
    };
    let told = run("train vgg --set data.samples=60 --max-steps 2 --run-dir run");
    let note = "note: the features of 50 images took ";
    assert!(told.contains(note) && told.contains(", and could not be kept: "), "{told}");
    let told = run("devices --bench --json");
    assert!(told.contains("note: the measured peaks could not be stored: "), "{told}");
}

#[test]
fn a_run_is_named_by_its_directory_and_another_network_by_its_recipe() {
    let folder = pretrained();
    let transfer = |settings: &str| {
        let short = "--set data.samples=60 --max-steps 2 --progress quiet --run-dir run";
        folder.run(&format!("train vgg {settings} {short}"))
    };
    let refused = |settings: &str, code: i32, message: &str| {
        transfer(settings).refused(code, message);
    };
    fs::create_dir(folder.path("empty")).unwrap();
    refused("--set model.weights=empty", 3, "the folder `empty`, which has no `model.safetensors`");
    let cnn = "train cnn --set data.samples=60 --max-steps 1 --progress quiet --run-dir cnn";
    folder.run(cnn).succeeded();
    refused("--set model.weights=cnn", 3, "is a model of the recipe `cnn`, not a VGG network");
    refused("--set model.weights=cnn/checkpoints/step-1", 3, "is part of a checkpoint");
    refused(
        "--set data.channels=1",
        2,
        "`data.channels` is 1, and the backbone `vgg-small` takes 3",
    );

    let starts_untrained = |weights: &str| {
        transfer(&format!("--set model.weights={weights}")).succeeded();
        let told = format!("only the backbone of `{weights}` is used; the head starts untrained");
        folder.read("run/events.jsonl").contains(&told)
    };
    assert!(!starts_untrained("backbone"));
    fs::rename(folder.path("run"), folder.path("earlier")).unwrap();
    assert!(starts_untrained("earlier"));
    let (backbone, run) = (tensors(&folder, "backbone"), tensors(&folder, "run"));
    assert_eq!(changed(&backbone, &run), Vec::<String>::new());
}

#[test]
fn kept_features_are_those_that_are_computed() {
    let folder = pretrained();
    transfer(&folder, "", "kept").succeeded();
    transfer(&folder, "--set model.most_kept=0", "computed").succeeded();
    assert_eq!(tensors(&folder, "kept"), tensors(&folder, "computed"));
}

#[test]
fn features_are_never_those_of_other_weights_or_pictures() {
    let folder = pretrained();
    transfer(&folder, "", "run").succeeded();
    let other_pictures = transfer(&folder, "--seed 1", "pictures").succeeded();
    assert!(other_pictures.stderr.contains("images took"), "{}", other_pictures.stderr);

    pretrain(&folder, "another", 5);
    fs::copy(folder.path("another/model.safetensors"), folder.path("backbone/model.safetensors"))
        .unwrap();
    let other_weights = transfer(&folder, "", "weights").succeeded();
    assert!(other_weights.stderr.contains("images took"), "{}", other_weights.stderr);
}

#[test]
fn features_are_never_those_of_another_arithmetic_or_a_damaged_file() {
    let folder = pretrained();
    let computed = |settings: &str, run: &str| {
        let told = transfer(&folder, settings, run).succeeded().stderr;
        told.contains("the features of 50 images took")
    };
    assert!(computed("", "first"));
    assert!(computed("--set training.arithmetic=exact", "exact"));
    // Nor of those that other pictures went through beside.
    let parts = "--set training.micro_batch=5";
    assert!(computed(parts, "parts") && !computed(parts, "parts_again"));
    assert!(!computed("", "again"));
    for kept in fs::read_dir(folder.path("cache/features")).unwrap() {
        let path = kept.unwrap().path();
        let mut bytes = fs::read(&path).unwrap();
        let last = bytes.len() - 1;
        bytes[last] ^= 1;
        fs::write(&path, bytes).unwrap();
    }
    assert!(computed("", "damaged"));
    assert_eq!(tensors(&folder, "first"), tensors(&folder, "damaged"));
    assert!(!computed("", "mended"));
}

#[test]
fn fine_tuning_trains_the_last_block_alone() {
    let folder = pretrained();
    transfer(&folder, "--set model.fine_tune=true", "run").succeeded();
    let changed = changed(&tensors(&folder, "backbone"), &tensors(&folder, "run"));
    let first_of_last_block = 2 * (2 * 3 + 1); // two blocks of two convolutions, norms and ReLUs
    let index = |name: &String| name.split('.').nth(1).unwrap().parse::<usize>().unwrap();
    assert!(changed.iter().map(index).all(|stage| stage >= first_of_last_block), "{changed:?}");
    let kinds = |kind: &str| changed.iter().filter(|name| name.ends_with(kind)).count();
    assert_eq!((kinds("weight"), kinds("running_mean")), (6, 3), "{changed:?}");
}

#[test]
fn without_weights_everything_is_trained() {
    let folder = Folder::new();
    let train = "train vgg --set model.weights=none --set data.samples=60 --max-steps 2 --json \
                 --set training.batch_size=16 --progress quiet --run-dir run";
    let summary = folder.run(train).succeeded().json();
    assert_eq!(summary["parameters"], summary["trainable_parameters"]);
}

#[test]
fn weights_that_cannot_be_used_are_explained() {
    let folder = pretrained();
    let check = |weights: &str, message: &str| {
        let train = format!("train vgg --set model.weights={weights} --run-dir run");
        folder.run(&train).refused(3, message);
        assert!(!folder.path("run").exists());
    };
    check("nowhere.pth", "nowhere.pth");
    folder.write("text.pth", "no weights");
    check("text.pth", "text.pth");
    let bytes = fs::read(folder.path("backbone/model.safetensors")).unwrap();
    folder.write("cut.safetensors", &bytes[..bytes.len() / 2]);
    check("cut.safetensors", "cut.safetensors");
    let other = "backbone/model.safetensors --set model.backbone=vgg11";
    check(other, "does not fit the backbone");
}

#[test]
fn the_shipped_weights_transfer_to_few_pictures() {
    let folder = Folder::new();
    let accuracy = |weights: &str| {
        let train = format!(
            "train vgg --set data.samples=200 --set training.epochs=8 --set model.weights={weights} \
             --progress quiet --json --run-dir {weights}"
        );
        folder.run(&train).succeeded().json()["test"]["accuracy"].as_f64().unwrap()
    };
    let (transferred, from_scratch) = (accuracy("shipped"), accuracy("none"));
    assert!(transferred > from_scratch + 0.1, "{transferred} against {from_scratch}");
}

#[test]
fn weights_and_backbone_must_fit() {
    let folder = Folder::new();
    let check = |settings: &str, message: &str| {
        folder.run(&format!("train vgg {settings} --run-dir run")).refused(2, message);
    };
    check("--set model.backbone=vgg16", "no weights of `vgg16` are shipped");
    check(
        "--set model.weights=imagenet",
        "there are no weights of `vgg-small` that were trained on ImageNet",
    );
    // What would change nothing is refused.
    let normalise = "`data.normalise` has no effect with `model.weights = \"shipped\"`";
    check("--set data.normalise=unit", normalise);
    let tune = "`model.fine_tune` has no effect with `model.weights = \"none\"`";
    check("--set model.weights=none --set model.fine_tune=true", tune);
    let deep = "--set model.weights=none --set model.backbone=vgg16";
    let either = "or set `model.weights = \"imagenet\"`";
    check(&format!("{deep} --set model.fine_tune=true"), either);
    let dropout = "`model.dropout` has no effect with `model.hidden = []`";
    check("--set model.hidden=[] --set model.dropout=0.5", dropout);
    let norms = "--set training.sync_batch_norm=true";
    check(norms, "has no effect with `model.fine_tune = false`: all norms are frozen");
    check(&format!("{deep} {norms}"), "or set `model.backbone = \"vgg16-bn\"`");
    let factor = "`model.fine_tune_factor` has no effect with `model.fine_tune = false`";
    check("--set model.fine_tune_factor=0.5", factor);
    check("--set model.fine_tune_factor=0.5", "or set `model.fine_tune = true`");
}

#[test]
fn without_a_network_the_address_and_the_folder_are_named() {
    let folder = Folder::new();
    let train = "train vgg --set model.backbone=vgg16 --set model.weights=imagenet --run-dir run";
    let nowhere = "http://127.0.0.1:9"; // the port of the discard service, which nobody runs
    let mut command = folder.command();
    command.args(train.split(' ')).env("HTTPS_PROXY", nowhere).env("https_proxy", nowhere);
    let output = command.output().unwrap();
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(1), "{stderr}");
    let address = "https://download.pytorch.org/models/vgg16-397923af.pth";
    assert!(stderr.contains(&format!("`{address}` cannot be reached")), "{stderr}");
    assert!(stderr.contains("by hand into `") && stderr.contains("cache/weights"), "{stderr}");
    assert!(!folder.path("run").exists());
}

#[test]
fn an_exported_model_is_half_as_large_and_never_written_over() {
    let folder = pretrained();
    let export = "export backbone --format safetensors --precision f16 --output half.safetensors";
    let exported = folder.run(&format!("{export} --json")).succeeded().json();
    let bytes = fs::read(folder.path("half.safetensors")).unwrap();
    assert_eq!(exported["bytes"], bytes.len());
    assert_eq!(exported["sha256"], store::sha256_hex(&bytes));
    let whole = fs::metadata(folder.path("backbone/model.safetensors")).unwrap().len();
    assert!((bytes.len() as f64) < 0.55 * whole as f64, "{} of {whole} bytes", bytes.len());

    folder.run(export).refused(3, "`half.safetensors` already exists");
    let other = "`--output` writes ONNX, but `half.safetensors` does not end in `.onnx`";
    folder.run("export backbone --format onnx --output half.safetensors --force").refused(2, other);
    folder.run(&format!("{export} --force")).succeeded();

    // What was exported is a backbone like any other.
    folder
        .run(
            "train vgg --set model.weights=half.safetensors --set data.samples=60 --max-steps 2 \
         --progress quiet --run-dir run",
        )
        .succeeded();
}

#[test]
fn weights_for_other_pictures_are_refused_or_told() {
    let folder = Folder::new();
    let train = |settings: &str, run: &str| {
        let few =
            "--set data.samples=30 --set training.batch_size=10 --max-steps 1 --progress quiet";
        folder.run(&format!("train vgg-pretrain {few} {settings} --run-dir {run}")).succeeded();
    };
    train("--set data.channels=1", "grey");
    let refused = folder.run("plan vgg --set model.weights=grey");
    refused.refused(3, "are for pictures of 1 channel, and a backbone takes 3");
    train("--set data.size=48", "large");
    let plan = folder.run("plan vgg --set model.weights=large").succeeded().stdout;
    assert!(plan.contains("trained on pictures of 48x48, and these are 32x32"), "{plan}");
    let plan = folder.run("plan vgg --set model.weights=large --set data.size=48").succeeded();
    assert!(!plan.stdout.contains("trained on pictures of"), "{}", plan.stdout);
}

#[test]
fn micro_batches_drop_what_the_whole_batch_drops() {
    let folder = pretrained();
    let settings = "--set model.dropout=0.5 --set optimizer.kind=sgd";
    transfer(&folder, settings, "whole").succeeded();
    transfer(&folder, &format!("{settings} --set training.micro_batch=5"), "parts").succeeded();
    let (whole, parts) = (tensors(&folder, "whole"), tensors(&folder, "parts"));
    for (name, whole) in whole.iter().filter(|(name, _)| name.starts_with("classifier")) {
        let largest =
            whole.values().iter().fold(0.0_f32, |largest, value| largest.max(value.abs()));
        for (a, b) in whole.values().iter().zip(parts[name].values()) {
            assert!((a - b).abs() <= 1e-5 * largest, "{name}: {a} {b}");
        }
    }
}
