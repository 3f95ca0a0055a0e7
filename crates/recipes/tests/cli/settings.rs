//! What becomes of settings: those that are left open, and those that other settings or the data decide.

use std::fs;

use serde_json::json;

use crate::{arrays::npy, folder::Folder, pictures::bmp};

/// The settings of a run with what the recipe chose written into them, as earlier versions left them.
fn write_choices(folder: &Folder, run: &str) {
    let (config, environment) = (format!("{run}/config.toml"), format!("{run}/environment.json"));
    let mut about = folder.json(&environment);
    let chosen = about.as_object_mut().unwrap().remove("chosen").unwrap();
    let mut text = folder.read(&config);
    for (key, value) in chosen.as_object().unwrap() {
        let open = format!("{} = \"\"", key.split_once('.').unwrap().1);
        assert!(text.contains(&open), "{text}");
        text = text.replacen(&open, &open.replace("\"\"", &value.to_string()), 1);
    }
    folder.write(&config, text);
    folder.write(&environment, about.to_string());
}

#[test]
fn what_a_recipe_chooses_is_chosen_anew_for_another_source() {
    let folder = Folder::new();
    let rows: String = (0..40).map(|row| format!("{row}.5,{}\n", ["a", "b"][row % 2])).collect();
    folder.write("table.csv", format!("x,y\n{rows}"));
    let short = "--max-steps 2 --progress quiet";
    folder.run(&format!("train mlp {short} --run-dir drawn")).succeeded();
    let chosen = json!({"data.order": "file", "data.validation": 0.0, "model.hidden": [10]});
    assert_eq!(folder.json("drawn/environment.json")["chosen"], chosen);

    let table = "--set data.source=csv --set data.path=table.csv --set data.target=y";
    let train = format!("train drawn/config.toml {table} --progress quiet --run-dir table");
    folder.run(&train).succeeded();
    let chosen = json!({"data.order": "shuffled", "data.validation": 0.2, "model.hidden": [64]});
    assert_eq!(folder.json("table/environment.json")["chosen"], chosen);
    assert!(folder.json("table/summary.json")["validation"]["loss"].is_number());

    let transfer = "train vgg --set data.samples=60 --set training.batch_size=16";
    folder.run(&format!("{transfer} {short} --run-dir transfer")).succeeded();
    let chosen = json!({"data.size": 32, "data.channels": 3});
    assert_eq!(folder.json("transfer/environment.json")["chosen"], chosen);
    assert!(folder.read("transfer/config.toml").contains("\nsize = \"\"\nchannels = \"\"\n"));
}

/// Whether the settings have what the recipe chose, as earlier versions wrote it, or leave it open.
#[test]
fn a_run_is_the_same_with_its_choices_among_its_settings() {
    let folder = Folder::new();
    let train =
        "train mlp --set data.labels=linear --set data.samples=50 --max-steps 2 --progress quiet";
    for run in ["open", "written"] {
        folder.run(&format!("{train} --run-dir {run}")).succeeded();
    }
    write_choices(&folder, "written");
    let compared = folder.run("compare open written").succeeded().stdout;
    assert!(compared.contains("repeats"), "{compared}");
    for run in ["open", "written"] {
        folder.run(&format!("eval {run}")).succeeded();
        folder.run(&format!("report {run} --force")).succeeded();
        let page = folder.read(&format!("{run}/report.html"));
        // Written there, it is not known to be the recipe's choice.
        assert_eq!(page.contains("<td>model.hidden</td>"), run == "written", "{page}");
        assert_eq!(page.contains("model.hidden: [10]</td>"), run == "open", "{page}");
        let resume = format!("resume {run} --set training.max_steps=4 --progress quiet");
        let changed = "`model.hidden` was [10] and is [20]";
        folder.run(&format!("{resume} --set model.hidden=[20]")).refused(2, changed);
        folder.run(&format!("{resume} --set model.hidden=[10]")).succeeded();
        assert_eq!(folder.json(&format!("{run}/summary.json"))["steps"], 4);
    }
    let weights = |run: &str| fs::read(folder.path(run).join("model.safetensors")).unwrap();
    assert_eq!(weights("open"), weights("written"));
    assert!(folder.read("open/config.toml").contains("hidden = \"\""));
}

#[test]
fn a_share_to_hold_out_beside_samples_of_their_own_is_noted() {
    let folder = Folder::new();
    let features: Vec<u8> = (0..40).flat_map(|i| (i as f32).sin().to_le_bytes()).collect();
    let classes: Vec<u8> = (0..20).map(|i| i % 2).collect();
    for (split, shift) in [("", 0), ("validation_", 1)] {
        let features: Vec<u8> = features.iter().map(|byte| byte ^ shift).collect();
        folder.write(&format!("arrays/{split}features.npy"), npy("<f4", "(20, 2)", &features));
        folder.write(&format!("arrays/{split}targets.npy"), npy("|u1", "(20,)", &classes));
    }
    for (split, count) in [("train", 20), ("val", 6), ("test", 6)] {
        for index in 0..count {
            let (class, verdict) = [("pos", "fine"), ("neg", "dull")][index % 2];
            let text = format!("{index}: {split} was {verdict}");
            folder.write(&format!("texts/{split}/{class}/{index}.txt"), text);
        }
    }
    let told = |settings: &str| {
        let plan = format!("plan mlp --set training.epochs=2 {settings}");
        let told = folder.run(&plan).succeeded().stdout;
        ["validation", "test"].map(|split| {
            let own = format!("the data have their own {split} split");
            told.matches(&format!("note: `data.{split}` has no effect: {own}\n")).count()
        })
    };
    let arrays = "--set data.source=npy --set data.path=arrays";
    assert_eq!(told(arrays), [0, 0]);
    assert_eq!(told(&format!("{arrays} --set data.validation=0.3")), [1, 0]);
    let texts = "--set data.source=text-folder --set data.path=texts";
    assert_eq!(told(texts), [0, 0]);
    let both = "--set data.validation=0.3 --set data.test=0.3";
    assert_eq!(told(&format!("{texts} {both}")), [1, 1]);
    let last =
        folder.run(&format!("plan mlp {arrays} --set data.hold_out=last")).succeeded().stdout;
    assert!(last.contains("`data.hold_out` has no effect: the data have their own "), "{last}");
}

#[test]
fn patience_without_validation_is_told_where_a_run_resumes() {
    let folder = Folder::new();
    let train = "train mlp --set data.samples=50 --set training.epochs=2 --progress quiet";
    folder.run(&format!("{train} --run-dir run")).succeeded();
    let resume = "resume run --set training.epochs=5 --set training.patience=3 --progress plain";
    let told = folder.run(resume).succeeded().stderr;
    let note = "note: `training.patience` has no effect: there is no validation split\n";
    assert_eq!(told.matches(note).count(), 1, "{told}");
}

#[test]
fn a_model_predicts_in_the_arithmetic_of_its_run() {
    let folder = Folder::new();
    let train = "train cnn --set data.samples=100 --max-steps 4 --set training.arithmetic=exact \
                 --progress quiet --run-dir run";
    folder.run(train).succeeded();
    for (number, class) in ["a", "b", "c"].iter().enumerate() {
        let colour = [90, 200, 40 * number as u8];
        folder.write(&format!("pictures/{class}/{number}.bmp"), bmp(28, colour));
    }
    let predicted = |run: &str| folder.run(&format!("predict {run} pictures --json")).succeeded();
    let exact = predicted("run").stdout;
    // The model alone says nothing of it.
    fs::create_dir(folder.path("alone")).unwrap();
    let model = |run: &str| folder.path(run).join("model.safetensors");
    fs::copy(model("run"), model("alone")).unwrap();
    assert_ne!(predicted("alone").stdout, exact);
    let config = folder.read("run/config.toml").replace("\"exact\"", "\"fast\"");
    folder.write("run/config.toml", config);
    assert_eq!(predicted("run").stdout, predicted("alone").stdout);
}
