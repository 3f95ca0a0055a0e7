//! Compares a GPU backend with the CPU: each recipe trains on both from the same weights and
//! batches, must reach the same losses and weights, and must resume; each program evaluates the
//! other's model.

mod trained;

use std::{
    fs, io,
    path::{Path, PathBuf},
    process::Command,
    time::Instant,
};

use anyhow::{Context as _, bail, ensure};
use clap::Args;
use serde_json::Value;
use xshell::Shell;

use self::trained::{Trained, largest, relative};
use crate::{
    emulated_cuda::Device,
    golden,
    program::{self, run_tests},
};

#[derive(Args)]
pub(crate) struct Options {
    /// The backend to check
    #[arg(long, value_parser = ["wgpu", "cuda"], default_value = "wgpu")]
    pub(crate) backend: String,
    /// The recipes to run, in exact arithmetic; with `-fast`, a few steps in fast arithmetic
    #[arg(long, value_parser = CASES.map(|case| case.0), value_delimiter = ',',
        default_values = CASES.map(|case| case.0))]
    pub(crate) recipes: Vec<String>,
    /// First compare kernels with the CPU's; this takes minutes to build, and on a GPU in software to run
    #[arg(long)]
    pub(crate) kernels: bool,
    /// As `--kernels`, and operations, networks and augmentation with PyTorch's values
    #[arg(long)]
    pub(crate) tests: bool,
    /// Steps of each run
    #[arg(long, default_value_t = 50)]
    pub(crate) steps: u64,
    /// The largest relative difference [default: 1e-4; with `-fast` on cuda, which multiplies in TF32
    /// then, 1e-3]
    #[arg(long)]
    pub(crate) tolerance: Option<f64>,
    /// The program `recipes` with that backend [default: one is built]
    #[arg(long, value_name = "FILE")]
    pub(crate) program: Option<PathBuf>,
    /// The program `recipes` for the CPU [default: one is built]
    #[arg(long, value_name = "FILE")]
    pub(crate) cpu_program: Option<PathBuf>,
    /// Emulate the device of `cuda` on the CPU; needs g++, and Linux
    #[arg(long)]
    pub(crate) emulated: bool,
    /// The Cargo profile to build them with
    #[arg(long, value_name = "PROFILE", default_value = "release")]
    pub(crate) profile: String,
}

/// How the names of those cases end that are in fast arithmetic, as by default.
const FAST: &str = "-fast";
/// Each recipe, at a size that a GPU in software can train, in exact arithmetic; and some in fast
/// arithmetic, in batches of more than Mesa would train for long.
///
/// Two effects make runs diverge that compute the same, and both are kept small here. Adam's epsilon is
/// large: with the usual one a gradient that should be zero, and is rounded differently on each device,
/// moves a weight by a whole learning rate. Learning rates of networks with ReLU are small: some of its
/// inputs are always so close to zero that their rounding decides on which side of the kink they lie,
/// which changes gradients by a thousandth, and with operands in TF32 by more: at the recipe's own rate
/// the weights of `simplenet` part by 0.07 in 50 steps. From the GPU's weights before such a step, the
/// CPU reaches the GPU's after it.
const CASES: [(&str, &str); 12] = [
    // Large enough for autotune to have something to choose.
    (
        "mlp",
        "data.labels=linear model.hidden=[64,64] training.batch_size=100 optimizer.epsilon=1e-3",
    ),
    (
        "cnn",
        "data.samples=200 training.batch_size=16 \
         optimizer.epsilon=0.1 optimizer.learning_rate=5e-5 schedule.kind=constant",
    ),
    (
        "simplenet",
        "data.samples=200 training.batch_size=16 \
         optimizer.learning_rate=1e-4 schedule.kind=constant",
    ),
    (
        "resnet",
        "data.samples=200 training.batch_size=16 \
         optimizer.learning_rate=1e-5 schedule.kind=constant",
    ),
    (
        "vgg",
        "data.samples=200 training.batch_size=16 \
         optimizer.epsilon=1e-3 optimizer.learning_rate=1e-4 schedule.kind=constant",
    ),
    (
        "vgg-pretrain",
        "data.samples=200 training.batch_size=16 \
         optimizer.learning_rate=1e-5 schedule.kind=constant",
    ),
    ("lstm", "model.hidden=32 training.batch_size=16 optimizer.epsilon=1e-3"),
    (
        "lstm-char",
        "model.hidden=32 data.sequence_length=16 training.batch_size=16 optimizer.epsilon=1e-3",
    ),
    (
        "cnn-fast",
        "data.samples=400 training.batch_size=64 optimizer.epsilon=0.1 \
         optimizer.learning_rate=1e-4 schedule.kind=constant",
    ),
    (
        "resnet-fast",
        "data.samples=400 training.batch_size=64 optimizer.learning_rate=1e-5 \
         schedule.kind=constant",
    ),
    (
        "mlp-fast",
        "data.labels=linear model.hidden=[64,64] training.batch_size=100 optimizer.epsilon=0.1",
    ),
    ("lstm-fast", "model.hidden=64 training.batch_size=64 optimizer.epsilon=1e-3"),
];
/// The tests that compare kernels with the CPU's, and hold what they do with NaN, threads and fewer bits.
const KERNEL_TESTS: [&str; 3] = ["kernels_equal_flex", "convolution", "precision"];
/// Settings of all of them.
const SHARED: &str = "output.log_every_steps=1 output.model=final output.tensorboard=false";

/// - `fast`: whether operands may be rounded
fn tolerance(backend: &str, fast: bool) -> f64 {
    if backend == "cuda" && fast { 1e-3 } else { 1e-4 }
}

/// Trains every recipe on both backends; an error where one differs by more than the tolerance.
pub(crate) fn run(shell: &Shell, options: &Options) -> anyhow::Result<()> {
    let Options { backend, profile, .. } = options;
    ensure!(
        backend == "cuda" || !options.emulated,
        "`--emulated` is for `--backend cuda`; for wgpu there are drivers in software, such as Mesa's"
    );
    let device = Device::new(shell, options.emulated)?;
    if options.tests {
        run_tests(shell, backend, &device, &golden::TESTS)?;
    }
    if options.tests || options.kernels {
        run_tests(shell, backend, &device, &KERNEL_TESTS)?;
    }
    if options.recipes.is_empty() {
        return Ok(());
    }
    let found = |program: &Option<PathBuf>, feature: Option<&str>| match program {
        Some(program) => program.canonicalize().context("cannot find the program"),
        None => program::build(shell, "recipes", profile, feature),
    };
    let folder = program::Folder::empty(shell, &format!("gpu-check-{backend}"))?;
    let folder = folder.path();
    let cpu = folder.join("recipes-cpu");
    // The second build would replace the first.
    fs::copy(found(&options.cpu_program, None)?, &cpu)?;
    let gpu = found(&options.program, Some(backend))?;
    let check = Check {
        cpu: Side { program: &cpu, name: "cpu" },
        gpu: Side { program: &gpu, name: "gpu" },
        folder,
        device: &device,
    };
    println!("{backend} against the CPU: the largest relative differences");
    println!(
        "{:<13} {:>5} {:>9} {:>9} {:>9} {:>9} {:>9}  seconds",
        "recipe", "steps", "losses", "weights", "eval", "resume", "tolerance"
    );
    let mut failed = Vec::new();
    let chosen = |name: &str| options.recipes.iter().any(|recipe| recipe == name);
    for (name, settings) in CASES.into_iter().filter(|case| chosen(case.0)) {
        let fast = name.ends_with(FAST);
        let arithmetic = if fast { "fast" } else { "exact" };
        let settings = format!("{settings} {SHARED} training.arithmetic={arithmetic}");
        // Rounding makes runs part soon.
        let steps = if fast { options.steps.min(5) } else { options.steps };
        let tolerance = options.tolerance.unwrap_or(tolerance(backend, fast));
        let began = Instant::now();
        let differences = check.differences(name, &settings, steps).context(name)?;
        let seconds = began.elapsed().as_secs_f64();
        println!("{name:<13} {steps:>5} {differences} {tolerance:>9.0e}  {seconds:.0}");
        if !differences.within(tolerance) {
            failed.push(name);
        }
    }
    ensure!(failed.is_empty(), "`{backend}` differs from the CPU in: {}", failed.join(", "));
    Ok(())
}

/// One of the two programs. Each has a cache of its own: features that one computed would hide what the
/// other computes.
struct Side<'a> {
    program: &'a Path,
    name: &'static str,
}

/// Two programs, and how they are compared.
struct Check<'a> {
    cpu: Side<'a>,
    gpu: Side<'a>,
    folder: &'a Path,
    device: &'a Device,
}

/// The largest relative differences between two backends.
#[derive(Debug)]
struct Differences {
    losses: f64,
    weights: f64,
    /// Between the losses that the two programs measure of the same model.
    evaluation: f64,
    /// Between a run that was stopped and one that was not, both on the GPU; this one is absolute.
    resume: f64,
}

impl Differences {
    /// A resumed run is promised to end bit for bit as one that was never stopped.
    fn within(&self, tolerance: f64) -> bool {
        let small = |difference: f64| difference <= tolerance; // false for NaN
        [self.losses, self.weights, self.evaluation].into_iter().all(small) && self.resume == 0.0
    }
}

impl std::fmt::Display for Differences {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { losses, weights, evaluation, resume } = self;
        write!(formatter, "{losses:>9.1e} {weights:>9.1e} {evaluation:>9.1e} {resume:>9.1e}")
    }
}

impl Check<'_> {
    fn differences(&self, name: &str, settings: &str, steps: u64) -> anyhow::Result<Differences> {
        let recipe = name.strip_suffix(FAST).unwrap_or(name);
        let steps = steps.to_string();
        let train = |side: &Side<'_>, run: &str| -> anyhow::Result<Trained> {
            let options = ["--progress", "quiet", "--run-dir", run];
            let mut arguments = vec!["train", recipe, "--max-steps", &steps];
            arguments.extend(options);
            self.call(side, &arguments, settings)?;
            Trained::read(&self.folder.join(run))
        };
        let [cpu_run, gpu_run] = [&self.cpu, &self.gpu].map(|side| format!("{name}-{}", side.name));
        let cpu = train(&self.cpu, &cpu_run)?;
        let gpu = train(&self.gpu, &gpu_run)?;
        let kept = self.cache(&self.gpu).join("kernels");
        ensure!(holds_something(&kept)?, "the results of autotune are not in `{}`", kept.display());

        let measure = |side: &Side<'_>, run: &str| -> anyhow::Result<f64> {
            let told = self.call(side, &["eval", run, "--json"], "")?;
            told["metrics"]["loss"].as_f64().context("no loss was measured")
        };
        let mut evaluation = 0.0_f64;
        for run in [&cpu_run, &gpu_run] {
            let (there, here) = (measure(&self.gpu, run)?, measure(&self.cpu, run)?);
            evaluation = largest(evaluation, relative(there, here));
        }

        let arguments = ["verify-resume", recipe, "--steps", &steps, "--json"];
        let resumed = self.call(&self.gpu, &arguments, settings)?;
        // Runs may differ in what has no such difference, as in their metrics.
        let difference = resumed["largest_difference"].as_f64().filter(|&found| found > 0.0);
        let identical = resumed["identical"] == true;
        let resume = if identical { 0.0 } else { difference.unwrap_or(f64::INFINITY) };
        Ok(Differences {
            losses: cpu.losses_differ(&gpu)?,
            weights: cpu.weights_differ(&gpu)?,
            evaluation,
            resume,
        })
    }

    /// Where a program keeps features and the results of autotune.
    fn cache(&self, side: &Side<'_>) -> PathBuf {
        self.folder.join(format!("cache-{}", side.name))
    }

    /// What a command prints, as JSON; null where it prints none.
    fn call(&self, side: &Side<'_>, arguments: &[&str], settings: &str) -> anyhow::Result<Value> {
        let mut command = Command::new(side.program);
        command.current_dir(self.folder).args(arguments);
        command.env("BURN_RECIPES_DATA", self.cache(side)).envs(self.device.environment());
        if !settings.is_empty() {
            command.args(settings.split(' ').flat_map(|setting| ["--set", setting]));
        }
        let output = command.output()?;
        let stderr = String::from_utf8_lossy(&output.stderr);
        let told: Value = serde_json::from_slice(&output.stdout).unwrap_or_default();
        // verify-resume fails where runs differ; by how much is shown in the table.
        if !output.status.success() && !told["identical"].is_boolean() {
            bail!("`{}` failed: {}\n{stderr}", arguments.join(" "), output.status);
        }
        Ok(told)
    }
}

/// Whether the folder is there and holds a file that is not empty.
fn holds_something(folder: &Path) -> io::Result<bool> {
    if !folder.exists() {
        return Ok(false);
    }
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let metadata = entry.metadata()?;
        if metadata.is_dir() && holds_something(&entry.path())?
            || metadata.is_file() && metadata.len() > 0
        {
            return Ok(true);
        }
    }
    Ok(false)
}

#[cfg(test)]
mod tests {
    use clap::Parser as _;

    use super::*;

    #[test]
    fn an_unknown_recipe_is_refused_before_anything_is_built() {
        #[derive(clap::Parser)]
        struct Program {
            #[command(flatten)]
            options: Options,
        }
        let parse = |recipes| Program::try_parse_from(["gpu-check", "--recipes", recipes]);
        assert_eq!(parse("mlp,cnn-fast").unwrap().options.recipes, ["mlp", "cnn-fast"]);
        assert!(parse("mlp,none").is_err());
    }

    #[cfg(unix)]
    #[test]
    fn each_program_has_a_cache_of_its_own() -> anyhow::Result<()> {
        let shell = Path::new("sh");
        let check = Check {
            cpu: Side { program: shell, name: "cpu" },
            gpu: Side { program: shell, name: "gpu" },
            folder: &std::env::temp_dir(),
            device: &Device::default(),
        };
        let cache = |side: &Side<'_>| {
            check.call(side, &["-c", r#"printf '"%s"' "$BURN_RECIPES_DATA""#], "")
        };
        let (cpu, gpu) = (cache(&check.cpu)?, cache(&check.gpu)?);
        assert!(cpu.is_string() && gpu.is_string() && cpu != gpu, "{cpu} and {gpu}");
        Ok(())
    }

    #[test]
    fn a_difference_that_is_not_a_number_is_beyond_any_tolerance() {
        let differences =
            |losses| Differences { losses, weights: 1e-5, evaluation: 0.0, resume: 0.0 };
        assert!(differences(1e-5).within(1e-4));
        assert!(!differences(1e-3).within(1e-4));
        assert!(!differences(f64::NAN).within(1e-4));
    }

    #[test]
    fn a_resumed_run_must_end_the_same_bit_for_bit() {
        let resumed = |resume| Differences { losses: 0.0, weights: 0.0, evaluation: 0.0, resume };
        assert!(resumed(0.0).within(1e-4));
        assert!(!resumed(1e-9).within(1e-4));
    }
}
