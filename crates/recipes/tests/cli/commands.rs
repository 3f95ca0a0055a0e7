//! The commands around training: `list`, `copy`, `devices`, `completions`, help.

use std::path::Path;

use crate::folder::Folder;

#[test]
fn list_names_every_recipe() {
    let folder = Folder::new();
    let listed = folder.run("list --json").succeeded().json();
    let names: Vec<&str> =
        listed.as_array().unwrap().iter().map(|recipe| recipe["name"].as_str().unwrap()).collect();
    let recipes = ["mlp", "cnn", "simplenet", "resnet", "vgg", "vgg-pretrain", "lstm", "lstm-char"];
    assert_eq!(names, recipes);
    assert!(folder.run("list").succeeded().stdout.starts_with("mlp "));
}

#[test]
fn a_copy_can_be_edited_and_trained_and_is_never_overwritten() {
    let folder = Folder::new();
    folder.run("copy mlp my.toml").succeeded();
    let edited = folder.read("my.toml").replace("epochs = 500", "epochs = 8");
    folder.write("my.toml", &edited);
    let summary = folder.run("train my.toml --json --progress quiet").succeeded();
    assert_eq!(summary.json()["steps"], 200);
    assert_eq!(summary.stderr, "");

    assert_eq!(folder.run("copy mlp my.toml").code, Some(3));
    assert_eq!(folder.read("my.toml"), edited);

    let copied = folder.run("copy cnn other.toml --json").succeeded().json();
    assert_eq!(copied, serde_json::json!({"recipe": "cnn", "file": "other.toml"}));
}

#[test]
fn commands_that_are_told_can_be_pasted_into_a_shell() {
    let folder = Folder::new();
    let copied = folder.run_words(&["copy", "mlp", "my file.toml"]).succeeded().stdout;
    let quote = if cfg!(windows) { '"' } else { '\'' };
    let command = format!("then: recipes train {quote}my file.toml{quote}\n");
    assert!(copied.ends_with(&command), "{copied}");

    let train = ["train", "mlp", "--max-steps", "2", "--run-dir", "it's a run"];
    folder.run_words(&train).succeeded();
    folder.run_words(&train).refused(3, r#"recipes resume "it's a run";"#);
}

#[test]
fn the_device_of_this_build_is_usable() {
    let devices = Folder::new().run("devices --json").succeeded().json();
    let usable: Vec<&str> = devices
        .as_array()
        .unwrap()
        .iter()
        .filter(|device| device["usable"] == true)
        .map(|device| device["backend"].as_str().unwrap())
        .collect();
    assert_eq!(usable, [backend::NAME]);
}

#[test]
fn the_peaks_of_the_usable_device_are_measured() {
    let devices = Folder::new().run("devices --bench --json").succeeded().json();
    for device in devices.as_array().unwrap() {
        let measured = device.get("peaks");
        assert_eq!(measured.is_some(), device["usable"] == true);
        for (name, speed) in measured.into_iter().flat_map(|peaks| peaks.as_object().unwrap()) {
            // A million a second is slow for anything.
            assert!(speed.as_f64().unwrap() > 1e6, "{name}: {speed}");
        }
    }
}

#[test]
fn help_and_completions_go_to_stdout() {
    let folder = Folder::new();
    for arguments in ["--help", "help train", "train --help", "completions bash", "--version"] {
        let ran = folder.run(arguments).succeeded();
        assert!(ran.stdout.contains("recipes") && ran.stderr.is_empty(), "{arguments}: {ran:#?}");
        assert!(!ran.stdout.contains('\u{1b}'), "{arguments} colours a pipe");
    }
    let help = folder.run("help train").stdout;
    assert!(help.contains("Examples:") && !help.contains("possible values"), "{help}");
}

#[test]
fn a_shell_completes_recipes_and_run_directories() {
    let folder = Folder::new();
    let zsh = folder.run("completions zsh").succeeded().stdout;
    let listed = folder.run("list --json").succeeded().json();
    let name = |recipe: &serde_json::Value| recipe["name"].as_str().unwrap().to_owned();
    let names: Vec<String> = listed.as_array().unwrap().iter().map(name).collect();
    // Of train, plan, lr-find, verify-resume and copy.
    let recipes = format!(":({})'", names.join(" "));
    assert_eq!(zsh.matches(&recipes).count(), 5, "{recipes}");
    for argument in [":run -- The run directory:_files -/", "*::runs -- The run directories"] {
        assert!(zsh.contains(argument), "{argument}");
    }
}

/// What is written nowhere must not count as done.
#[cfg(target_os = "linux")]
#[test]
fn a_result_that_cannot_be_written_is_a_failure() {
    let folder = Folder::new();
    folder.write("table.csv", "x,kind\n1,a\n2,b\n3,a\n4,b\n5,a\n6,b\n");
    let data = "--set data.source=csv --set data.path=table.csv --set data.target=kind";
    folder.run(&format!("train mlp {data} --max-steps 2 --run-dir run")).succeeded();
    for arguments in [
        "list",
        "--help",
        "completions bash",
        "predict run table.csv",
        "predict run table.csv --csv",
        "eval run --data table.csv --json",
    ] {
        let full = std::fs::File::options().write(true).open("/dev/full").unwrap();
        let ran = folder.run_into(arguments, full);
        assert_eq!(ran.code, Some(1), "{arguments}: {ran:#?}");
        assert!(ran.stderr.contains("cannot be written to standard output"), "{ran:#?}");

        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader); // as `head` does once it has enough
        let ran = folder.run_into(arguments, writer);
        assert_eq!((ran.code, ran.stderr.as_str()), (Some(0), ""), "{arguments}");
    }
}

#[cfg(target_os = "linux")] // others refuse such names
#[test]
fn paths_need_not_be_unicode() {
    use std::{ffi::OsStr, os::unix::ffi::OsStrExt};

    let folder = Folder::new();
    folder.run("train mlp --max-steps 2 --progress quiet --run-dir other").succeeded();
    let check = |before: &[&str], after: &[&str]| {
        let run = OsStr::from_bytes(b"caf\xe9");
        let output = folder.command().args(before).arg(run).args(after).output().unwrap();
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(0), "{before:?}: {stderr}");
        let stdout = String::from_utf8_lossy(&output.stdout);
        assert!(stdout.contains("caf\u{fffd}"), "{before:?}: {stdout}");
    };
    check(&["train", "mlp", "--max-steps", "2", "--progress", "quiet", "--run-dir"], &[]);
    check(&["resume"], &["--set", "training.max_steps=3"]);
    check(&["report"], &["--json"]);
    check(&["export"], &["--format", "onnx", "--json"]);
    check(&["compare", "other"], &["--json"]);
}

#[test]
fn pictures_are_inspected_and_pictured() {
    let folder = Folder::new();
    let found = folder.run("data inspect digits --json --sheet digits.png").succeeded().json();
    assert_eq!((&found["samples"], &found["skipped"]), (&1000.into(), &0.into()));
    assert_eq!(found["splits"], serde_json::json!({ "train": 1000 }));
    assert_eq!(found["shape"], serde_json::json!([1, 28, 28]));
    assert_eq!(found["classes"]["7"], 100);
    assert!(std::fs::read(folder.path("digits.png")).unwrap().starts_with(b"\x89PNG"));

    std::fs::create_dir_all(folder.path("photos/cat")).unwrap();
    std::fs::create_dir_all(folder.path("photos/dog")).unwrap();
    std::fs::copy(folder.path("digits.png"), folder.path("photos/cat/1.png")).unwrap();
    std::fs::copy(folder.path("digits.png"), folder.path("photos/dog/1.png")).unwrap();
    folder.write("photos/dog/2.jpg", "not a picture");
    let found = folder.run("data inspect image-folder photos --json").succeeded().json();
    assert_eq!((&found["samples"], &found["skipped"]), (&2.into(), &1.into()));
    assert!(found["problems"][0].as_str().unwrap().contains("2.jpg"), "{found}");

    // Of all splits, and a picture of the user's is not written over.
    std::fs::create_dir(folder.path("split")).unwrap();
    std::fs::rename(folder.path("photos"), folder.path("split/train")).unwrap();
    for name in ["val", "test"] {
        std::fs::create_dir_all(folder.path("split").join(name).join("cat")).unwrap();
        folder.write(&format!("split/{name}/cat/3.jpg"), "not a picture");
        let picture = folder.path("split").join(name).join("cat/4.png");
        std::fs::copy(folder.path("digits.png"), picture).unwrap();
    }
    let found = folder.run("data inspect image-folder split --json").succeeded().json();
    let splits = serde_json::json!({"train": 2, "validation": 1, "test": 1});
    assert_eq!((&found["splits"], &found["skipped"]), (&splits, &3.into()), "{found}");
    folder
        .run("data inspect image-folder split --sheet split/train/cat/1.png")
        .refused(3, "`split/train/cat/1.png` already exists");
    folder.run("data inspect digits --sheet digits.png --force").succeeded();

    let augmented = "data inspect shapes --sheet shapes.png --augment rotate=15 scale=[0.8,1.2]";
    folder.run(augmented).succeeded();
    assert!(std::fs::read(folder.path("shapes.png")).unwrap().starts_with(b"\x89PNG"));
}

#[test]
fn sizes_that_no_network_takes_are_refused_before_pictures_are_looked_for() {
    let folder = Folder::new();
    for (recipe, settings, message) in [
        ("cnn", "data.size=8", "images of 8x8 are too small for the network `cnn`"),
        ("simplenet", "data.size=8", "images of 8x8 are too small for the network `simplenet`"),
        ("vgg-pretrain", "data.size=4", "images of 4x4 are too small for the network `vgg`"),
    ] {
        let nowhere = "--set data.source=image-folder --set data.path=nowhere";
        folder.run(&format!("train {recipe} {nowhere} --set {settings}")).refused(2, message);
    }
}

#[test]
fn tables_are_inspected() {
    let folder = Folder::new();
    let rows: String =
        (0..40).map(|i| format!("{i}.5,{},7,{},({i}.5)\n", ["u", "v"][i % 2], 2 * i)).collect();
    folder.write("table.csv", format!("size,word,same,2021,share\n{rows}"));
    let long = "a name that is longer than the columns of names usually are";
    folder.write(
        "long.csv",
        format!("{long},b,y\n{}", "0.1234567890123456,2,0\n0.5,3,1\n".repeat(9)),
    );
    let text = folder.run("data inspect csv long.csv --target y").succeeded().stdout;
    let columns: Vec<&str> = text.lines().filter(|line| line.starts_with("column ")).collect();
    let place = |line: &&str| line.split(" number, ").next().unwrap().chars().count();
    let places: Vec<usize> = columns.iter().map(place).collect();
    assert!(places.len() == 2 && places[0] == places[1], "{text}");
    assert!(!text.contains("0.1234567890123456"), "{text}");

    let text = folder.run("data inspect csv long.csv").succeeded().stdout;
    let note = "note: `y`, the last column, is taken for the one to predict; `--target` names";
    assert!(text.contains(note) && text.contains("class 0 "), "{text}");
    let inspect = "data inspect csv table.csv --target";
    let text = folder.run(&format!("{inspect} size")).succeeded().stdout;
    for line in [
        "column word              category, 2 values, a feature each",
        "column same              number, 7 in every row",
        "column 2021              number, standardised",
        "column share             dropped: its numbers are written as `(0.5)` in line 2",
        "note: the first line, `size,word,same,2021,share`, is the header",
    ] {
        assert!(text.contains(line), "{text}");
    }
    assert_eq!(text.matches("its numbers are written as").count(), 1, "{text}");
    let text = folder.run(&format!("{inspect} size --set data.columns.same=drop")).succeeded();
    assert!(text.stdout.contains("column same              dropped: "), "{text:#?}");
    folder.write("twice.csv", format!("size,word,same,2021,share\n{rows}{rows}"));
    let twice = folder.run("data inspect csv twice.csv --target word").succeeded().stdout;
    assert!(twice.contains("note: 80 of 80 rows are the same as another one"), "{twice}");
    let other = format!("{inspect} size --set training.epochs=2");
    folder.run(&other).refused(2, "`--set training.epochs=2` has no effect on what is read");
    for (twice, key) in [("data.path=a.csv", "data.path"), ("data.target=word", "data.target")] {
        let told = format!("`{key}` is given without `--set` already");
        folder.run(&format!("{inspect} size --set {twice}")).refused(2, &told);
    }
    folder.run(&format!("{inspect} size --set model.embedding=4")).succeeded();
    let several = format!("{inspect} size --set data={{test=0.2,validation=0.1}}");
    folder.run(&several).succeeded();
    let found = folder.run(&format!("{inspect} 1 --json")).succeeded().json();
    assert_eq!(found["columns"][0]["kind"], "numeric", "{found}");
    let refused = folder.run(&format!("{inspect} 2021"));
    assert!(refused.stderr.contains("--target \"'2021'\""), "{refused:#?}");
    for quoted in ["'2021'", "\"2021\""] {
        let found = folder.run(&format!("{inspect} {quoted} --json")).succeeded().json();
        assert_eq!(found["columns"].as_array().unwrap().len(), 4, "{found}");
    }
    let refused = folder.run(&format!("{inspect} 0 --header false"));
    assert!(refused.stderr.contains("`size` is not a number"), "{refused:#?}");
}

#[test]
fn texts_are_inspected() {
    let folder = Folder::new();
    let text = folder.run("data inspect text").succeeded();
    assert!(text.stdout.contains("1000 different tokens"), "{}", text.stdout);
    folder.write("text.txt", "Abc é! ".repeat(700));
    for (tokens, different, samples) in [("characters", 6, 4410), ("bytes", 256, 5040)] {
        let inspect = format!("data inspect text text.txt --tokens {tokens}");
        let text = folder.run(&inspect).succeeded().stdout;
        assert!(text.contains(&format!("{different} different tokens")), "{text}");
        assert!(!text.contains("refuses it"), "{text}");
        let found = folder.run(&format!("{inspect} --json")).succeeded().json();
        assert_eq!(found["samples"], samples, "{found}");
    }
}

#[test]
fn a_text_is_inspected_with_the_sequence_length_of_the_recipe_that_reads_it() {
    let folder = Folder::new();
    let text = |characters: usize| folder.write("text.txt", "Abc, de! ".repeat(characters / 9));
    let inspect = |tokens: &str| format!("data inspect text text.txt --tokens {tokens}");
    let train = "train lstm-char --set data.path=text.txt --set data.tokens=";
    text(340);
    for tokens in ["characters", "bytes"] {
        let short = "the validation part of `text.txt` has 34 tokens, a sequence of 64 and its";
        folder.run(&inspect(tokens)).refused(3, short);
        folder.run(&format!("{train}{tokens}")).refused(3, short);
    }
    text(3600);
    for (tokens, length) in [("words", 20), ("characters", 64)] {
        let found = folder.run(&format!("{} --json", inspect(tokens))).succeeded().json();
        assert_eq!(found["shape"], serde_json::json!([length]), "{found}");
    }
    // Long enough for one stream, but not for as many as a batch has rows.
    let few = "the training part of `text.txt` has 3,240 tokens, too few for 64 streams of 64";
    folder.run(&format!("{train}characters")).refused(3, few);
    let told = folder.run(&inspect("characters")).succeeded().stdout;
    let note = format!("note: `lstm-char` refuses it with its own settings: {few}");
    assert!(told.contains(&note), "{told}");
    let told = folder.run(&inspect("words")).succeeded().stdout;
    assert!(!told.contains("refuses it"), "{told}");
}

#[test]
fn of_many_columns_the_first_are_described() {
    let folder = Folder::new();
    let header: String = (0..100).map(|column| format!("c{column},")).collect();
    let row = |row: usize| {
        let cell = |column: usize| match column {
            0..90 => format!("{}.5,", row * column + row),
            _ => format!("text {row},"),
        };
        (0..100).map(cell).collect::<String>() + &format!("{}\n", row % 2)
    };
    folder.write("wide.csv", format!("{header}y\n{}", (0..20).map(row).collect::<String>()));
    let text = folder.run("data inspect csv wide.csv --target y").succeeded().stdout;
    let columns = text.lines().filter(|line| line.starts_with("column c")).count();
    let told = "and 70 columns more: 60 of numbers, 0 of categories, 10 dropped; `--json` has";
    assert!(columns == 30 && text.contains(told), "{text}");
    assert!(text.contains("note: column `c99` is dropped: its text hardly recurs"), "{text}");

    // So many that are dropped are not all told of.
    let row =
        |row: usize| format!("text {row},").repeat(100) + &format!("{}.5,{}\n", 3 * row, row % 2);
    folder.write("texts.csv", format!("{header}x,y\n{}", (0..20).map(row).collect::<String>()));
    let text = folder.run("data inspect csv texts.csv --target y").succeeded().stdout;
    assert!(text.contains("note: and 40 notes more on columns; `--json` has them all"), "{text}");
    assert_eq!(text.matches("hardly recurs, so it tells").count(), 60, "{text}");
    assert!(text.contains("note: target `y`: binary"), "{text}");
}

#[test]
fn what_cannot_be_inspected_is_named() {
    let folder = Folder::new();
    let check = |arguments: &str, code, message: &str| {
        folder.run(&format!("data inspect {arguments}")).refused(code, message);
    };
    check("idx", 2, "error: this source needs a path");
    check("idx none", 3, "`none`");
    check("text --sheet text.png", 2, "error: `--sheet` has no effect on this source");
    check("digits folder", 2, "error: `PATH` has no effect on this source");
    check("csv table.csv --tokens bytes", 2, "error: `--tokens` has no effect on this source");
    check(
        "digits --sheet digits.jpg",
        2,
        "`--sheet` writes PNG, but `digits.jpg` does not end in `.png`",
    );
    let augment = |setting: &str| format!("shapes --sheet shapes.png --augment {setting}");
    check(&augment("flip=1"), 2, "error: unknown key `augment.flip`, in --augment flip=1\n");
    check(&augment("rotat=15"), 2, "help: did you mean `augment.rotate`?");
    let parts = "did you mean `training.micro_batch`, which is how many samples of the batch";
    folder.run("plan cnn --set accumulate=4").refused(2, parts);
    check(&augment("augment.rotate=many"), 2, "error: `augment.rotate` must be");
    check(&augment("=5"), 2, "in --augment =5");
    check(
        &augment("hue"),
        2,
        "error: `=` is missing, in --augment hue\nhelp: write `--augment key=",
    );
    check(&augment("hue=0.7"), 2, "error: `augment.hue` must be between 0 and 0.5, found `0.7`");
    check("shapes --augment hue=0.1", 2, "--sheet");
    assert!(folder.entries().is_empty());
}

#[test]
fn a_model_is_exported_as_onnx_and_never_written_over() {
    let folder = Folder::new();
    folder.run("train mlp --max-steps 2 --progress quiet --run-dir run").succeeded();
    let exported = folder.run("export run --format onnx --json").succeeded().json();
    let bytes = std::fs::read(folder.path("run/model.onnx")).unwrap();
    let file = Path::new("run").join("model.onnx");
    assert_eq!(exported["file"], file.display().to_string());
    assert_eq!(exported["sha256"], store::sha256_hex(&bytes));
    let text = String::from_utf8_lossy(&bytes);
    assert!(text.contains("burn-recipes") && text.contains("layers.1.weight"), "{text}");

    let check = |arguments: &str, code, message: &str| {
        folder.run(&format!("export run --format onnx {arguments}")).refused(code, message);
    };
    check("", 3, "`run/model.onnx` already exists");
    check("--precision f8 --force", 2, "invalid value 'f8'");
    for force in ["", " --force"] {
        let own = format!("export run --format safetensors --output run/model.safetensors{force}");
        folder.run(&own).refused(2, "`run/model.safetensors` is a run's own file");
    }
    assert_eq!(std::fs::read(folder.path("run/model.onnx")).unwrap(), bytes);
}

#[test]
fn a_model_of_fewer_bits_is_smaller_and_predicts_nearly_the_same() {
    let folder = Folder::new();
    let train = "train mlp --set data.labels=linear --set model.hidden=[256,256] --set training.epochs=5 \
         --set output.model=final";
    folder.run(&format!("{train} --progress quiet --run-dir run")).succeeded();
    let bytes = |format: &str, precision: &str| {
        let export = format!("export run --format {format} --precision {precision} --force --json");
        folder.run(&export).succeeded().json()["bytes"].as_f64().unwrap()
    };
    let eval = |precision: &str| {
        let eval = format!("eval run --precision {precision} --json");
        folder.run(&eval).succeeded().json()["metrics"]["loss"].as_f64().unwrap()
    };
    // Exports are outdated where the model has changed.
    for format in ["onnx", "safetensors"] {
        bytes(format, "f32");
    }
    let told = |setting: &str| {
        let resumed = folder.run(&format!("resume run --set {setting} --progress quiet"));
        resumed.succeeded().stderr.matches("has the model from before").count()
    };
    assert_eq!(told("checkpoint.keep=1"), 0, "the model is the same");
    assert_eq!(told("training.epochs=8"), 2);

    let whole = eval("f32");
    let mut rounded = whole;
    for (precision, size, error) in [("f16", 0.55, 1e-3), ("i8", 0.4, 1e-2)] {
        for format in ["onnx", "safetensors"] {
            let share = bytes(format, precision) / bytes(format, "f32");
            assert!(share < size, "{format} {precision}: {share}");
        }
        rounded = eval(precision);
        let near = (rounded / whole - 1.0).abs();
        assert!(near > 0.0 && near < error, "{precision}: {rounded} {whole}");
    }

    // An export of i8 is a model like any other.
    bytes("safetensors", "i8");
    std::fs::copy(folder.path("run/export.safetensors"), folder.path("run/model.safetensors"))
        .unwrap();
    assert_eq!(eval("f32"), rounded);
}
