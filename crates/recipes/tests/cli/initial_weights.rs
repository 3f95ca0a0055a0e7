//! Training that begins with trained weights, from the outside.

use std::fs;

use store::TensorFile;

use crate::{
    folder::{Folder, Ran},
    pictures::bmp,
};

/// A short run of `cnn` on drawn pictures.
fn train(folder: &Folder, settings: &str, run: &str) -> Ran {
    folder.run(&format!(
        "train cnn --set data.samples=60 --set training.batch_size=16 --set training.max_steps=3 \
         --set schedule.kind=constant --set output.model=final --progress plain {settings} \
         --run-dir {run}"
    ))
}

/// As [`train`], at a learning rate that changes no weight but by rounding.
fn begin(folder: &Folder, settings: &str, run: &str) -> Ran {
    train(folder, &format!("--set optimizer.learning_rate=1e-20 {settings}"), run)
}

fn model(folder: &Folder, run: &str) -> TensorFile {
    TensorFile::read(folder.path(run).join("model.safetensors")).unwrap()
}

/// Checks that those tensors of two models are equal whose names are `wanted`.
#[track_caller]
fn check_equal(ours: &TensorFile, theirs: &TensorFile, wanted: impl Fn(&str) -> bool) {
    for (name, ours) in ours.tensors.iter().filter(|(name, _)| wanted(name)) {
        let pairs = ours.values().iter().zip(theirs.tensors[name].values());
        assert!(pairs.fold(0.0_f32, |most, (a, b)| most.max((a - b).abs())) < 1e-15, "{name}");
    }
}

#[test]
fn a_run_begins_with_the_weights_of_another() {
    let folder = Folder::new();
    train(&folder, "", "first").succeeded();
    let told = begin(&folder, "--seed 1 --set model.weights=first", "second").succeeded().stderr;
    let kept = "begins with the weights in `first`; its classes have the same names, so the last layer is \
                kept; pictures are brought to 28x28 and 1 channel, as those of the weights were\n";
    assert!(told.contains(kept), "{told}");
    check_equal(&model(&folder, "first"), &model(&folder, "second"), |_| true);

    // As of a run that was killed, or goes on.
    let note = "note: the run `first` is not finished: this is its model from when it last stopped";
    assert!(!told.contains(note), "{told}");
    fs::remove_file(folder.path("first/summary.json")).unwrap();
    let told = begin(&folder, "--set model.weights=first", "third").succeeded().stderr;
    assert_eq!(told.matches(note).count(), 1, "{told}");
    let plan = "plan cnn --set data.samples=60 --set model.weights=first/model.safetensors";
    let told = folder.run(plan).succeeded().stdout;
    assert_eq!(told.matches(note).count(), 1, "{told}");
}

#[test]
fn the_weights_that_a_run_began_with_stay_though_their_source_changes() {
    let folder = Folder::new();
    train(&folder, "", "base").succeeded();
    let begun = "--seed 1 --set model.weights=base";
    train(&folder, begun, "before").succeeded();
    folder.run("resume base --set training.max_steps=6").succeeded();
    train(&folder, begun, "after").succeeded();
    let compared = folder.run("compare before after").succeeded().stdout;
    assert!(compared.contains("initial weights") && !compared.contains("repeats"), "{compared}");

    // The command that repeats a run begins with the weights that it has kept.
    folder.run("train before/config.toml --run-dir again --progress quiet").succeeded();
    check_equal(&model(&folder, "before"), &model(&folder, "again"), |_| true);
    fs::remove_dir_all(folder.path("base")).unwrap();
    folder.run("train before/config.toml --run-dir later --progress quiet").succeeded();
    check_equal(&model(&folder, "before"), &model(&folder, "later"), |_| true);

    // Unless the command names others.
    let plan = |more: &str| folder.run(&format!("plan before/config.toml{more}")).succeeded();
    let note = "this run begins with those that `before` has kept";
    assert!(plan("").stderr.contains(note));
    assert!(!plan(" --set model.weights=after").stderr.contains(note));

    folder.write("before/initial.safetensors", "");
    let resume = "resume before --set training.max_steps=6";
    folder.run(resume).refused(3, "`before/initial.safetensors`");
}

/// Or else what the weights learnt by heart would be told as new to them.
#[test]
fn weights_of_the_same_data_divided_otherwise_are_noted() {
    let folder = Folder::new();
    for class in ["dark", "light"] {
        fs::create_dir_all(folder.path("pictures").join(class)).unwrap();
        for picture in 0..10 {
            let brightness = if class == "dark" { picture } else { 200 + picture };
            let name = format!("pictures/{class}/{picture}.bmp");
            folder.write(&name, bmp(24, [brightness, 0, 50]));
        }
    }
    let settings = "--set data.source=image-folder --set data.path=pictures --set data.size=24";
    let short = "--set training.max_steps=2 --progress plain";
    folder
        .run(&format!("train cnn {settings} {short} --set data.validation=0 --run-dir all"))
        .succeeded();
    folder.run(&format!("train cnn {settings} {short} --run-dir divided")).succeeded();
    let told = |command: &str| {
        let told = folder.run(command).succeeded().stderr;
        told.contains("were trained on the same data, divided otherwise")
    };
    let begin = |from: &str, more: &str, run: &str| {
        told(&format!(
            "train cnn {settings} {short} --set model.weights={from} {more} --run-dir {run}"
        ))
    };
    assert!(begin("all", "", "of-all"));
    assert!(begin("divided", "--seed 5", "of-other-seed"));
    assert!(!begin("divided", "", "of-divided"), "what was held out there is held out here");
    assert!(!told("resume of-all --set training.max_steps=3"), "of its own copy");

    folder.write("text.txt", "abcdefgh ".repeat(600));
    let text = "train lstm-char --set data.path=text.txt --set model.hidden=16 --progress plain \
                --set data.sequence_length=16 --set training.batch_size=8 --max-steps 2";
    folder.run(&format!("{text} --set data.validation=0 --run-dir text")).succeeded();
    assert!(told(&format!("{text} --set model.weights=text --run-dir more")));
}

#[test]
fn the_last_layer_starts_untrained_where_classes_differ() {
    let folder = Folder::new();
    train(&folder, "", "digits").succeeded();
    let shapes = "--set data.drawing=shapes";
    let new = "--set data.size=28 --set data.channels=1";
    begin(&folder, &format!("{shapes} {new}"), "new").succeeded();
    // Size and colours are chosen by the weights.
    let told = begin(&folder, &format!("{shapes} --set model.weights=digits"), "begun").succeeded();
    assert!(told.stderr.contains("so the last layer starts untrained"), "{}", told.stderr);
    let [digits, fresh, begun] = ["digits", "new", "begun"].map(|run| model(&folder, run));
    let is_last = |name: &str| name.starts_with("dense2.");
    check_equal(&begun, &fresh, is_last);
    check_equal(&begun, &digits, |name| !is_last(name));

    // A file of weights alone does not tell its classes, so their number decides.
    folder.run("export digits --format safetensors --output alone.safetensors").succeeded();
    let mut alone = TensorFile::read(folder.path("alone.safetensors")).unwrap();
    alone.metadata = serde_json::Value::Null;
    alone.write(folder.path("alone.safetensors")).unwrap();
    let settings = format!("{shapes} {new} --set model.weights=alone.safetensors");
    begin(&folder, &settings, "alone").succeeded();
    check_equal(&model(&folder, "alone"), &digits, |_| true);
}

#[test]
fn pixels_are_brought_to_what_the_weights_were_trained_on() {
    let folder = Folder::new();
    let normalise = "--set data.normalise=measured";
    let preprocessing = |run: &str| model(&folder, run).metadata["preprocessing"].clone();
    train(&folder, normalise, "first").succeeded();
    train(&folder, &format!("{normalise} --seed 1"), "other").succeeded();
    let begun = format!("{normalise} --seed 1 --set model.weights=first");
    begin(&folder, &begun, "begun").succeeded();
    assert_ne!(preprocessing("first"), preprocessing("other"));
    assert_eq!(preprocessing("first"), preprocessing("begun"));
}

#[test]
fn a_run_keeps_the_weights_that_it_began_with() {
    let folder = Folder::new();
    train(&folder, "", "first").succeeded();
    let begun = "--set data.normalise=measured --set model.weights=first";
    train(&folder, begun, "run").succeeded();
    train(&folder, &format!("{begun} --set training.max_steps=6"), "straight").succeeded();
    let longer = "resume run --set training.max_steps=6";
    let other = format!("{longer} --set model.weights=straight");
    folder.run(&other).refused(3, "the run did not begin with the weights in `straight`");
    folder.run(&format!("{longer} --set model.weights=nowhere")).refused(3, "`nowhere`");
    // They may well be elsewhere, or gone.
    fs::rename(folder.path("first"), folder.path("moved")).unwrap();
    let moved = "resume run --set training.max_steps=5 --set model.weights=moved";
    let told = folder.run(moved).succeeded().stderr;
    assert!(!told.contains("begins with the weights"), "told already: {told}");
    assert!(folder.read("run/config.toml").contains("weights = \"moved\""));
    fs::remove_dir_all(folder.path("moved")).unwrap();
    let told = folder.run(longer).succeeded().stderr;
    assert!(!told.contains("begins with the weights"), "told already: {told}");
    check_equal(&model(&folder, "run"), &model(&folder, "straight"), |_| true);
    folder.run("eval run").succeeded();
}

#[test]
fn weights_of_another_network_are_refused_before_anything_runs() {
    let folder = Folder::new();
    train(&folder, "", "digits").succeeded();
    let check = |command: &str, code: i32, message: &str| {
        folder.run(command).refused(code, message);
        assert!(!folder.path("run").exists());
    };
    let refused = |settings: &str, message: &str| {
        check(&format!("train {settings} --run-dir run"), 3, message);
        check(&format!("plan {settings}"), 3, message);
    };
    refused(
        "resnet --set model.weights=digits",
        "in `digits/model.safetensors` are another network's: `network` is \"cnn\" there and \
         \"resnet\" here\n",
    );
    refused(
        "cnn --set data.size=32 --set model.weights=digits",
        "are another network's: `size` is 28 there and 32 here\n",
    );
    refused("cnn --set model.weights=nowhere", "`nowhere` cannot be read");
    check("train cnn --set model.weights=", 2, "`none`, a run, or a file of weights");
    let imagenet = "train cnn --set model.weights=imagenet";
    check(imagenet, 2, "there are no `imagenet` weights of this network");
}

#[test]
fn a_text_generator_goes_on_with_the_vocabulary_of_its_weights() {
    let folder = Folder::new();
    let train = |text: &str, settings: &str, run: &str| {
        folder.write(&format!("{run}.txt"), text.repeat(20));
        folder.run(&format!(
            "train {settings} --set data.path={run}.txt --set data.sequence_length=4 \
             --set training.batch_size=4 --max-steps 2 --progress plain --run-dir {run}"
        ))
    };
    let small = "--set model.hidden=8 --set model.embedding=4";
    let characters = format!("lstm-char {small}");
    train("abcd dcba", &characters, "first").succeeded();
    let begin = "--set optimizer.learning_rate=1e-20 --set optimizer.weight_decay=0 \
                 --set model.weights=first";
    let told = train("abbey", &format!("{characters} {begin}"), "second").succeeded().stderr;
    let left_out = "which the vocabulary lacks ('e', 'y')";
    assert!(told.contains(left_out) && told.contains("begins with the weights in"), "{told}");
    check_equal(&model(&folder, "first"), &model(&folder, "second"), |_| true);
    // It is measured on what it held out, with the same vocabulary.
    folder.run("eval second").succeeded();
    let own = "train second/config.toml --set model.weights=none --run-dir own";
    folder.run(own).succeeded();
    let compared = folder.run("compare second own").succeeded().stdout;
    let reason = "no run is named the best: they read the text with other vocabularies";
    assert!(compared.contains(reason), "{compared}");

    let words = "lstm --set model.weights=first";
    let kind = "are for \"characters\", and `data.tokens` is \"words\"\n";
    train("abbey", &format!("{words} {small}"), "words").refused(3, kind);
    let vocabulary = "`data.vocabulary` has no effect with `model.weights = \"first\"`";
    train("abbey", &format!("{words} --set data.vocabulary=5"), "words").refused(2, vocabulary);
    let sizes = "`hidden` is 8 there and 256 here\n";
    let unfitting = "lstm-char --set model.embedding=4 --set model.weights=first";
    train("abbey", unfitting, "sizes").refused(3, sizes);
    TensorFile::default().write(folder.path("alone.safetensors")).unwrap();
    let alone = format!("{characters} --set model.weights=alone.safetensors");
    train("abbey", &alone, "alone").refused(3, "name no vocabulary\n");
}
