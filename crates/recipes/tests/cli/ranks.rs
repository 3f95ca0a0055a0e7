//! Several processes under MPI, from the outside: `mpirun -n 3 recipes train cnn`.

use std::{
    fs,
    path::{Path, PathBuf},
    process::{Command, Stdio},
    time::{Duration, Instant},
};

use serde_json::Value;

use crate::folder::{Folder, Ran, told};

/// All of a job has to end so soon after one rank failed.
const SOON: Duration = Duration::from_secs(10);

/// `mpirun` with what stands after its name; `recipes` is the program under test.
fn command(folder: &Folder, arguments: &str) -> Command {
    let mut command = folder.in_folder("mpirun");
    let program = |word| if word == "recipes" { env!("CARGO_BIN_EXE_recipes") } else { word };
    command.arg("--oversubscribe").args(arguments.split_whitespace().map(program));
    for allowed in ["OMPI_ALLOW_RUN_AS_ROOT", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM"] {
        command.env(allowed, "1");
    }
    command
}

fn mpirun(folder: &Folder, arguments: &str) -> Ran {
    told(command(folder, arguments).output().expect("Open MPI is installed"))
}

/// Runs a job that must fail at once with this code, and one rank of which must say why.
fn fails(folder: &Folder, arguments: &str, code: i32, message: &str) {
    let began = Instant::now();
    let ran = mpirun(folder, arguments).refused(code, message);
    assert_eq!(ran.stderr.matches("error: ").count(), 1, "{ran:#?}");
    assert!(began.elapsed() < SOON, "{ran:#?}");
}

/// Trains with so many ranks, and tells every loss.
fn train(folder: &Folder, ranks: usize, run: &str, arguments: &str) -> Run {
    let options = "--progress quiet --set output.log_every_steps=1";
    let job = format!("-n {ranks} recipes train {arguments} --run-dir {run} {options}");
    mpirun(folder, &job).succeeded();
    Run::read(&folder.path(run))
}

/// What a run left.
#[derive(Debug, PartialEq)]
struct Run {
    losses: Vec<f64>,
    model: Vec<u8>,
    summary: Value,
}

impl Run {
    fn read(directory: &Path) -> Self {
        let events = fs::read_to_string(directory.join("events.jsonl")).unwrap();
        let events = events.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
        let losses = events
            .filter(|event| event["kind"] == "step")
            .map(|event| event["loss"].as_f64().unwrap())
            .collect();
        let summary = fs::read(directory.join("summary.json")).unwrap();
        Self {
            losses,
            model: fs::read(directory.join("model.safetensors")).unwrap(),
            summary: serde_json::from_slice(&summary).unwrap(),
        }
    }

    /// The largest relative difference of losses and of all that was measured.
    fn difference(&self, other: &Self) -> f64 {
        assert_eq!(self.losses.len(), other.losses.len());
        for key in ["epochs", "steps", "samples", "parameters", "trainable_parameters"] {
            assert_eq!(self.summary[key], other.summary[key], "{key}");
        }
        let measured = |run: &Self| -> Vec<f64> {
            let of = |split| run.summary[split].as_object().cloned().unwrap_or_default();
            let metrics = ["train", "validation", "test"].into_iter().flat_map(of);
            let metrics = metrics.map(|(_, value)| value.as_f64().unwrap());
            run.losses.iter().copied().chain(metrics).collect()
        };
        let pairs = measured(self).into_iter().zip(measured(other));
        pairs.map(|(a, b)| (a - b).abs() / a.abs().max(1e-3)).fold(0.0, f64::max)
    }
}

/// Trains with one rank and with others, and checks that losses and metrics are the same.
fn same_with_any_number_of_ranks(arguments: &str, ranks: &[usize]) {
    let folder = Folder::new();
    let one = train(&folder, 1, "one", arguments);
    for &ranks in ranks {
        let several = train(&folder, ranks, &format!("ranks-{ranks}"), arguments);
        let difference = one.difference(&several);
        assert!(difference < 1e-5, "{arguments}, {ranks} ranks: {difference:e}");
        assert_eq!(several.summary["ranks"], ranks);
    }
}

#[test]
fn an_mlp_learns_the_same() {
    same_with_any_number_of_ranks("mlp --max-steps 50 --set data.validation=0.2", &[2, 3, 4]);
}

#[test]
fn accumulation_clipping_averages_and_early_stopping_agree() {
    let settings = "mlp --set data.labels=linear --set data.order=shuffled --set data.samples=150 \
        --set training.batch_size=31 --set training.micro_batch=7 --set training.clip_norm=0.1 \
        --set training.ema=0.9 --set training.epochs=12 --set training.patience=2 \
        --set training.minimum_improvement=0.02 --set checkpoint.every_minutes=1e-5";
    same_with_any_number_of_ranks(settings, &[2, 3]);
}

#[test]
fn a_rank_without_samples_takes_part() {
    let settings = "--max-steps 20 --set training.batch_size=2";
    same_with_any_number_of_ranks(&format!("mlp {settings}"), &[3, 4]);
    same_with_any_number_of_ranks(&format!("lstm-char {settings}"), &[3]);
    let norms = "resnet --max-steps 1 --set model.depth=8 --set data.samples=60 \
        --set training.batch_size=4 --set training.sync_batch_norm=true --set schedule.kind=constant \
        --set training.arithmetic=exact";
    same_with_any_number_of_ranks(norms, &[6]);
}

// At the recipes' own learning rates rounding grows from step to step, whatever it comes from: one
// rank that adds up a batch in two parts leaves the losses of one that does not as far behind.

#[test]
fn a_cnn_learns_the_same() {
    let settings = "cnn --max-steps 30 --set data.samples=2000 --set optimizer.kind=sgd \
        --set optimizer.learning_rate=1e-3 --set schedule.kind=constant --set augment.rotate=10 \
        --set augment.translate=0.1";
    same_with_any_number_of_ranks(settings, &[2, 3]);
}

#[test]
fn a_cnn_at_its_own_learning_rate_learns_as_in_micro_batches() {
    let folder = Folder::new();
    // Each batch falls into the same two parts, the last of the epoch too, so not even rounding differs.
    let settings = "cnn --max-steps 30 --set data.samples=2000 --set data.residency=host \
        --set training.batch_size=100";
    let parts = train(&folder, 1, "parts", &format!("{settings} --set training.micro_batch=50"));
    let ranks = train(&folder, 2, "ranks", settings);
    assert_eq!(parts.losses, ranks.losses);
}

#[test]
fn a_residual_network_learns_the_same_with_norms_by_the_whole_batch() {
    for shortcut in ["zeros", "convolution"] {
        let settings = format!(
            "resnet --max-steps 20 --set model.depth=8 --set model.shortcut={shortcut} \
             --set data.samples=300 --set training.batch_size=16 \
             --set training.sync_batch_norm=true --set optimizer.learning_rate=1e-4 \
             --set schedule.kind=constant"
        );
        same_with_any_number_of_ranks(&settings, &[2, 3]);
    }
}

#[test]
fn text_generators_learn_the_same() {
    same_with_any_number_of_ranks("lstm --max-steps 20 --set training.batch_size=32", &[2, 3]);
    let carried = "lstm-char --max-steps 20 --set training.batch_size=7 --set model.layers=2 \
        --set model.dropout=0.2 --set model.hidden=64";
    same_with_any_number_of_ranks(carried, &[2, 3]);
}

#[test]
fn a_new_head_learns_the_same_and_features_are_kept_as_by_one_rank() {
    let features = |ranks: usize| {
        let folder = Folder::new();
        let run = train(&folder, ranks, "run", "vgg --max-steps 50");
        let kept = folder.path("cache").join("features");
        let mut files: Vec<PathBuf> =
            fs::read_dir(kept).unwrap().map(|entry| entry.unwrap().path()).collect();
        files.sort();
        let read = |path: &PathBuf| (path.file_name().unwrap().to_owned(), fs::read(path).unwrap());
        (run, files.iter().map(read).collect::<Vec<_>>())
    };
    let (one, kept) = features(1);
    assert!(!kept.is_empty());
    for ranks in [2, 3] {
        let (several, kept_by_several) = features(ranks);
        assert!(one.difference(&several) < 1e-5, "{ranks} ranks");
        assert!(kept == kept_by_several, "{ranks} ranks keep other features");
    }
}

#[test]
fn the_same_number_of_ranks_gives_the_same_bits() {
    let folder = Folder::new();
    let settings = "cnn --max-steps 10 --set data.samples=500";
    let first = train(&folder, 3, "first", settings);
    let second = train(&folder, 3, "second", settings);
    assert!(first.model == second.model && first.losses == second.losses);
}

#[test]
fn predictions_that_one_process_counted_are_counted_once_by_several() {
    let folder = Folder::new();
    let settings = "--progress quiet --set data.labels=linear --set training.epochs=2 \
        --set output.log_every_steps=100";
    for (run, steps) in [("whole", ""), ("cut", "--max-steps 7")] {
        let job = format!("-n 1 recipes train mlp {settings} {steps} --run-dir {run}");
        mpirun(&folder, &job).succeeded();
    }
    mpirun(&folder, "-n 3 recipes resume cut --progress quiet --set training.max_steps=")
        .succeeded();
    let [whole, cut] = ["whole", "cut"].map(|run| Run::read(&folder.path(run)));
    assert!(whole.summary["train"]["accuracy"].is_number(), "{whole:?}");
    let difference = whole.difference(&cut);
    assert!(difference < 1e-5, "{difference:e}: {whole:?} {cut:?}");
}

#[test]
fn resuming_is_verified_by_all_ranks_together() {
    let folder = Folder::new();
    let job = "-n 2 recipes verify-resume lstm-char --set training.batch_size=5";
    let ran = mpirun(&folder, job).succeeded();
    assert_eq!(ran.stdout.matches("identical").count(), 1, "{ran:?}");
}

#[test]
fn a_failure_of_one_rank_ends_all_and_is_told_once() {
    let folder = Folder::new();
    let csv = |rows: &str| format!("a,b,label\n{}{rows}", "1,2,x\n3,4,y\n".repeat(50));
    for (name, rows) in [("good", ""), ("bad", "5,six,x\n")] {
        fs::create_dir(folder.path(name)).unwrap();
        folder.write(&format!("{name}/rows.csv"), csv(rows));
    }
    let train = "recipes train mlp --progress quiet --set data.source=csv --set data.path=rows.csv \
        --set data.target=label --run-dir ../run";
    // The second of three ranks has a bad record.
    let job = format!("-n 1 -wdir good {train} : -n 1 -wdir bad {train} : -n 1 -wdir good {train}");
    fails(&folder, &job, 3, "six");
    // What only the first rank meets: there is a run already.
    fs::create_dir(folder.path("run")).unwrap();
    folder.write("run/config.toml", "");
    fails(&folder, &format!("-n 3 -wdir good {train}"), 3, "already has a run");
}

#[test]
fn ranks_that_share_no_files_resume_with_the_weights_that_the_first_has_kept() {
    let folder = Folder::new();
    let train = "recipes train simplenet --progress quiet --set data.samples=80 --max-steps 1";
    mpirun(&folder, &format!("-n 1 {train} --run-dir first")).succeeded();
    let apart = |command: &str| {
        mpirun(&folder, &format!("-n 1 -wdir here {command} : -n 1 -wdir there {command}"))
    };
    let given = ["here/given.safetensors", "there/given.safetensors"];
    for path in given {
        fs::create_dir(folder.path(path).parent().unwrap()).unwrap();
        fs::copy(folder.path("first/model.safetensors"), folder.path(path)).unwrap();
    }
    apart(&format!("{train} --set model.weights=given.safetensors --run-dir run")).succeeded();
    given.iter().for_each(|path| fs::remove_file(folder.path(path)).unwrap());
    apart("recipes resume run --progress quiet --set training.max_steps=2").succeeded();
}

/// A shell limits what one rank may take; its files, since no disk can be filled here.
#[test]
fn a_rank_without_room_ends_all() {
    let folder = Folder::new();
    let limited = |name: &str, limit: &str| {
        folder.write(name, format!("trap '' XFSZ\n{limit}\nexec \"$@\"\n"));
    };
    // Above what Open MPI takes for itself, below what the model and its checkpoint need.
    limited("memory", "ulimit -v 550000");
    limited("files", "ulimit -f 16384");
    let train = "recipes train mlp --progress quiet --set training.epochs=1";
    let wide = format!("{train} --run-dir wide --set model.hidden=[4000,4000]");
    fails(
        &folder,
        &format!("-n 1 {wide} : -n 1 sh memory {wide}"),
        4,
        "error: out of memory: the program holds ",
    );
    let wide = format!("{train} --run-dir long --set model.hidden=[1600,1600]");
    fails(&folder, &format!("-n 1 sh files {wide} : -n 1 {wide}"), 1, "File too large");
}

#[test]
fn ranks_of_different_programs_are_refused() {
    let folder = Folder::new();
    let mut program = fs::read(env!("CARGO_BIN_EXE_recipes")).unwrap();
    program.push(0);
    folder.write("other", program);
    let executable = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    fs::set_permissions(folder.path("other"), executable).unwrap();
    let job = "-n 1 recipes train mlp --run-dir run : -n 1 ./other train mlp --run-dir run";
    fails(&folder, job, 2, "rank 1 has another program than rank 0");
}

#[test]
fn what_all_ranks_meet_is_told_once() {
    let folder = Folder::new();
    fails(&folder, "-n 3 recipes train mpl", 2, "there is no recipe `mpl`");
    fails(&folder, "-n 2 recipes train mlp --no-such-option", 2, "--no-such-option");
    let diverges = "train mlp --progress quiet --run-dir run --set optimizer.learning_rate=1e30 \
        --set optimizer.kind=sgd --set data.labels=linear --set training.epochs=5";
    fails(&folder, &format!("-n 2 recipes {diverges}"), 5, "diverged");
    fails(&folder, "-n 2 recipes predict run rows.csv", 2, "runs as one process");
    fails(&folder, "-n 2 recipes resume nothing", 3, "there is no run directory `nothing`");
}

#[test]
fn ranks_with_different_settings_are_refused() {
    let folder = Folder::new();
    let train = "recipes train mlp --run-dir run --seed";
    let job = format!("-n 1 {train} 1 : -n 1 {train} 2");
    fails(&folder, &job, 2, "rank 1 has another configuration than rank 0");
    let csv = |value: u32| format!("a,label\n{}", format!("{value},x\n3,y\n").repeat(30));
    for value in [1, 2] {
        fs::create_dir(folder.path(&value.to_string())).unwrap();
        folder.write(&format!("{value}/rows.csv"), csv(value));
    }
    let train = "recipes train mlp --run-dir ../run --set data.source=csv --set data.path=rows.csv \
        --set data.target=label";
    let job = format!("-n 1 -wdir 1 {train} : -n 1 -wdir 2 {train}");
    fails(&folder, &job, 2, "rank 1 has other data than rank 0");
    // What is no comparison names the rank as well.
    let train = format!("{train} --seed 3");
    fails(&folder, &format!("-n 1 -wdir 1 {train} : -n 1 {train}"), 3, "the error of rank 1 of 2");
}

/// `mpirun` passes the signal on as SIGTERM, and ends what has not ended by itself a second later.
#[test]
fn an_interrupted_job_leaves_a_checkpoint_and_goes_on_with_another_number_of_ranks() {
    let folder = Folder::new();
    let recipe = "lstm-char --set training.epochs=2 --set training.batch_size=7 \
        --set model.hidden=64 --set optimizer.learning_rate=1e-4 --set schedule.kind=constant \
        --set checkpoint.every_epochs=1000";
    let straight = train(&folder, 1, "straight", recipe);

    let job = format!(
        "-n 2 recipes train {recipe} --run-dir run --progress quiet --set output.log_every_steps=1"
    );
    let mut job = command(&folder, &job);
    let mut job = job.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let events = folder.path("run").join("events.jsonl");
    let began = Instant::now();
    while !fs::read_to_string(&events).is_ok_and(|text| text.contains("\"step\":5,")) {
        assert!(began.elapsed() < Duration::from_secs(60), "the job makes no steps");
        std::thread::yield_now();
    }
    let pid = job.id().to_string();
    assert!(Command::new("kill").args(["-INT", &pid]).status().unwrap().success());
    job.wait().unwrap();
    assert_eq!(folder.checkpoints("run").len(), 1);

    mpirun(&folder, "-n 3 recipes resume run --progress quiet").succeeded();
    let difference = straight.difference(&Run::read(&folder.path("run")));
    assert!(difference < 1e-5, "{difference:e}");
    let ran = mpirun(&folder, "-n 3 recipes resume run").succeeded();
    assert_eq!(ran.stdout.matches("the run is already finished").count(), 1, "{ran:?}");
}
