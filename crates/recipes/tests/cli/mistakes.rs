//! Bad input: a clear line, a way out, the right exit code, and nothing left behind.

use crate::folder::Folder;

/// Runs the program where it must fail, with one error that begins as told.
fn check(folder: &Folder, arguments: &str, code: i32, message: &str) {
    let before = folder.entries();
    let ran = folder.run(arguments);
    assert_eq!(ran.code, Some(code), "{arguments}: {ran:#?}");
    let errors: Vec<&str> = ran.stderr.lines().filter(|line| line.starts_with("error: ")).collect();
    assert_eq!(errors.len(), 1, "{arguments}: {ran:#?}");
    assert!(errors[0].contains(message), "{arguments}: {ran:#?}");
    assert!(ran.stderr.lines().any(|line| line.starts_with("help: ")), "{arguments}: {ran:#?}");
    assert!(!ran.stderr.contains("panicked"), "{arguments}: {ran:#?}");
    assert_eq!(ran.stdout, "", "{arguments}");
    assert_eq!(folder.entries(), before, "{arguments} left something behind");
}

#[test]
fn the_command_line_is_checked() {
    let folder = Folder::new();
    let check = |arguments, message| check(&folder, arguments, 2, message);
    check("trian", "unrecognized subcommand 'trian'");
    check("train mpl", "there is no recipe `mpl`");
    check("train none.toml", "cannot read none.toml");
    check("train none.csv", "`none.csv` does not exist");
    check("train mnist", "`mnist` is a data set, not a recipe");
    check("train mlp --sed 1", "unexpected argument '--sed'");
    check(
        "train mlp --seed 3 --set training.seed=4",
        "`--seed` and `--set training.seed=` are one",
    );
    check(
        "train mlp --seed 3 --set training={seed=4,epochs=2}",
        "`--seed` and `--set training.seed=` are one",
    );
    check("train mlp --seed -1", "invalid value '-1' for '--seed <N>': it is not a whole number");
    check("predict", "required arguments were not provided: <RUN> <INPUT>...");
    check("copy mlp settings.txt", "`settings.txt` does not end in `.toml`");
}

#[test]
fn what_the_command_line_takes_is_named() {
    let folder = Folder::new();
    let help = |arguments: &str| {
        let ran = folder.run(arguments);
        assert_eq!((ran.code, ran.stdout.as_str()), (Some(2), ""), "{ran:#?}");
        let help = ran.stderr.lines().find_map(|line| line.strip_prefix("help: "));
        help.unwrap_or_else(|| panic!("{ran:#?}")).to_owned()
    };
    assert_eq!(help("export run --format pt"), "possible values: safetensors, onnx");
    let near = "did you mean `onnx`? Possible values: safetensors, onnx";
    assert_eq!(help("export run --format onx"), near);
    assert_eq!(help("export run --formt onnx"), "did you mean `--format`?");

    let ran = folder.run("data");
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(2), ""), "{ran:#?}");
    assert!(ran.stderr.contains("Usage: recipes data") && ran.stderr.contains("inspect"));
    assert!(!ran.stderr.contains("error: "), "{ran:#?}");
}

#[test]
fn splits_that_share_files_start_no_run() {
    let folder = Folder::new();
    let rows: String = (0..20).map(|row| format!("{row},{}\n", row % 2)).collect();
    folder.write("a.csv", &rows);
    folder.write("b.csv", &rows);
    let csv = "mlp --set data.source=csv --set data.path=a.csv --set data.target=-1 \
               --set data.test_path=b.csv";
    let error = "`b.csv`, read for `data.test_path`, is a copy of `a.csv`, read for `data.path`";
    for command in ["train", "plan", "lr-find"] {
        check(&folder, &format!("{command} {csv}"), 3, error);
    }
}

#[test]
fn data_in_place_of_a_recipe_are_told_how_to_train_on_them() {
    let folder = Folder::new();
    folder.write("table.csv", "a,b\n1,2\n");
    folder.write("my text.txt", "text");
    std::fs::create_dir(folder.path("photos")).unwrap();
    let help = |words: &[&str]| {
        let ran = folder.run_words(words).refused(2, "help: to train on it: recipes train ");
        let help = ran.stderr.lines().find_map(|line| line.strip_prefix("help: to train on it: "));
        help.unwrap().to_owned()
    };
    let table = "recipes train mlp --set data.source=csv --set data.target=-1 --set \
                 data.path=table.csv";
    assert_eq!(help(&["train", "table.csv"]), table);
    assert_eq!(help(&["train", "mlp", "table.csv"]), table);
    assert!(
        help(&["train", "resnet", "photos"]).contains(" resnet --set data.source=image-folder")
    );
    assert!(help(&["train", "lstm", "table.csv"]).contains(" mlp --set "));
    assert!(help(&["plan", "./photos"]).contains(" cnn --set data.source=image-folder --set "));
    assert!(help(&["train", "my text.txt"]).contains(" lstm-char --set "));
}

#[test]
fn settings_are_checked() {
    let folder = Folder::new();
    let check =
        |set: &str, message: &str| check(&folder, &format!("train mlp --set {set}"), 2, message);
    check("data.sorce=csv", "unknown key `data.sorce`");
    check("model.hidden=[8,0]", "`model.hidden` must be 1 to 1,000,000 units");
}

#[test]
fn tables_are_checked() {
    let folder = Folder::new();
    let check_table = |content: &str, target: &str, message: &str| {
        folder.write("table.csv", content);
        let options = format!("--set data.path=table.csv --set data.target={target}");
        check(&folder, &format!("train mlp --set data.source=csv {options}"), 3, message);
    };
    let many = |last: &str| format!("x,y\n{}{last}", "1,a\n2,b\n".repeat(30));
    check_table("", "y", "`table.csv` is empty");
    check_table("x,y\n", "y", "table.csv");
    check_table(&many(""), "z", "`table.csv` has no column `z`");
    check_table(&many(""), "7", "table.csv");
    check_table(&many("1\n"), "y", "table.csv:62");
    check_table(&many("oops,a\n"), "y", "table.csv:62");
    check_table(&many("1,NaN\n"), "y", "table.csv:62");
    check_table(&many("inf,a\n"), "y", "table.csv:62");
    check_table("x,y\n1,a\n2,a\n", "y", "table.csv");

    let rest = "--set data.source=csv --set data.target=0";
    check(&folder, &format!("train mlp {rest} --set data.path=none.csv"), 3, "`none.csv`");
    check(&folder, &format!("train mlp {rest} --set data.path=."), 3, "is a directory");
}

#[cfg(target_os = "linux")]
#[test]
fn memory_that_runs_out_is_told() {
    let folder = Folder::new();
    let train = "train mlp --set model.hidden=[40000,40000]";
    let ran = folder.run_limited("ulimit -v 3000000", train);
    let stderr = &ran.stderr;
    assert_eq!(ran.code, Some(4), "{stderr}");
    let mut lines = stderr.lines();
    let error = lines.next().unwrap();
    assert!(error.starts_with("error: out of memory: the program holds "), "{stderr}");
    assert!(error.contains(" 6.4 GB more are not available"), "{stderr}");
    assert!(lines.next().unwrap().contains("choose a smaller network"), "{stderr}");
    assert!(ran.stdout.is_empty() && folder.entries().is_empty(), "{:?}", folder.entries());
}

/// A limit on files, since no disk can be filled here: the first checkpoint does not fit.
#[cfg(target_os = "linux")]
#[test]
fn a_disk_without_room_is_told() {
    let folder = Folder::new();
    let train = "train mlp --set model.hidden=[200,200] --set training.epochs=8 --run-dir run \
                 --progress quiet";
    let ran = folder.run_limited("ulimit -f 64", train);
    let stderr = &ran.stderr;
    assert_eq!(ran.code, Some(1), "{stderr}");
    assert!(stderr.starts_with("error: "), "{stderr}");
    assert!(stderr.contains("File too large") && stderr.contains("`ulimit -f`"), "{stderr}");
    assert!(stderr.contains("checkpoints"), "{stderr}");
    assert_eq!(folder.checkpoints("run"), [""; 0]);
    assert!(!folder.path("run/model.safetensors").exists());
}

#[test]
fn runs_are_checked() {
    let folder = Folder::new();
    folder.write("file", "");
    check(&folder, "predict none rows.csv", 3, "there is no run directory `none`");
    check(&folder, "predict . rows.csv", 3, "`.` is not a run");
    check(&folder, "resume none", 3, "there is no run directory `none`");
    check(&folder, "train mlp --run-dir .", 3, "`.` exists and is not empty");
    check(&folder, "train mlp --run-dir file", 3, "`file` cannot be used as a run directory");
    let deep = "train mlp --run-dir a/b/c --set training.epochs=1000000000000000000";
    assert_eq!(folder.run(deep).code, Some(2));
    assert!(!folder.path("a").exists());

    folder.run("train mlp --max-steps 1 --run-dir run").succeeded();
    check(&folder, "train run", 2, "`run` is a run, not a recipe");
    check(&folder, "plan ./run", 2, "`./run` is a run, not a recipe");
    let resumes = "to resume it: recipes resume ./run; its settings are in ./run/config.toml";
    assert!(folder.run("train ./run").stderr.contains(resumes));
    check(&folder, "predict run none.csv", 3, "cannot read `none.csv`");
    // Found before the data are read, which may take long.
    let taken = "train mlp --set data.source=csv --set data.path=none.csv --set data.target=0 \
                 --run-dir run";
    check(&folder, taken, 3, "the run directory `run` already has a run");
    folder.write("rows.csv", "1,2,3\n");
    check(&folder, "predict run rows.csv", 3, "rows.csv");
    let model = std::fs::read(folder.path("run/model.safetensors")).unwrap();
    folder.write("run/model.safetensors", &model[..model.len() / 2]);
    check(&folder, "predict run rows.csv", 3, "not a usable safetensors file");
    folder.write("run/model.safetensors", &model);
    std::fs::remove_file(folder.path("run/config.toml")).unwrap();
    check(&folder, "eval run --data rows.csv", 3, "`run` is not a run: it has no `config.toml`");
}

/// Each of its processes would train by itself and write over what the others write.
#[cfg(not(feature = "mpi"))]
#[test]
fn a_launcher_of_mpi_is_refused_by_a_program_without_it() {
    let folder = Folder::new();
    let mut command = folder.command();
    let ran = command.args(["train", "mlp"]).env("OMPI_COMM_WORLD_SIZE", "4").output().unwrap();
    assert_eq!(ran.status.code(), Some(2));
    let stderr = String::from_utf8(ran.stderr).unwrap();
    assert!(stderr.starts_with("error: started as one of 4 processes"), "{stderr}");
    assert!(stderr.contains("help: build with `--features mpi`"), "{stderr}");
    assert!(folder.entries().is_empty());
}
