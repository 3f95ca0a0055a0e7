//! Every check that a change must pass, in an order that finds cheap mistakes first and lets the
//! steps share what they build.

use std::{
    env, fmt,
    path::Path,
    time::{Duration, Instant},
};

use anyhow::ensure;
use clap::ValueEnum;
use xshell::{Shell, cmd};

use crate::{
    emulated_cuda::Device, golden, gpu_check, kill_test, program::run_tests, tidy, web_page,
};

/// The steps of `ci`, in the order they run.
///
/// `Clippy`, `Docs` and the `Features` need only the checked metadata of the dependencies, so they
/// follow one another; the others need machine code of their own.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub(crate) enum Step {
    /// `cargo fmt`
    Format,
    /// `cargo xtask tidy`
    Tidy,
    /// Clippy on every target, with the default backend
    Clippy,
    /// The documentation builds without a warning
    Docs,
    /// Clippy with each backend for a GPU
    Features,
    /// `cargo test`
    Tests,
    /// Twenty kills of a training, which must end as if it had not been killed
    Kills,
    /// A picture classified by `examples/web_page` in a browser, compared with `recipes predict`
    WebPage,
    /// Jobs of several processes under MPI, and twenty kills of one of two processes
    Ranks,
    /// Operations, networks and augmentation compared with PyTorch's values, on ndarray
    Ndarray,
    /// Kernels and a short training on a Vulkan adapter, compared with the CPU's
    Wgpu,
    /// Kernels on an emulated CUDA device, compared with the CPU's
    Cuda,
}

enum Outcome {
    Passed,
    Skipped(&'static str),
    Failed,
}

struct Row {
    step: Step,
    outcome: Outcome,
    elapsed: Duration,
}

/// Runs all steps but those in `skip` up to the first failure, then prints what each one took.
pub(crate) fn run(shell: &Shell, skip: &[Step]) -> anyhow::Result<()> {
    let mut rows = Vec::new();
    let mut failure = None;
    for &step in Step::value_variants() {
        let start = Instant::now();
        let result = if skip.contains(&step) {
            Ok(Outcome::Skipped("by --skip"))
        } else {
            println!("\n== {step}");
            step.run(shell)
        };
        let outcome = result.unwrap_or_else(|error| {
            failure = Some(error.context(format!("ci stopped at step `{step}`")));
            Outcome::Failed
        });
        rows.push(Row { step, outcome, elapsed: start.elapsed() });
        if failure.is_some() {
            break;
        }
    }
    println!("\n{:<10} {:>8}", "step", "seconds");
    for row in &rows {
        println!("{row}");
    }
    failure.map_or(Ok(()), Err)
}

impl Step {
    fn run(self, shell: &Shell) -> anyhow::Result<Outcome> {
        match self {
            Self::Format => cmd!(shell, "cargo fmt --all --check").run()?,
            Self::Tidy => tidy::run(shell)?,
            Self::Clippy => {
                cmd!(shell, "cargo clippy --workspace --all-targets -- -D warnings").run()?
            }
            Self::Docs => cmd!(shell, "cargo doc --workspace --no-deps")
                .env("RUSTDOCFLAGS", "-D warnings")
                .run()?,
            Self::Features => check_features(shell)?,
            Self::Tests => cmd!(shell, "cargo test --workspace").run()?,
            Self::Kills => kill(shell, None)?,
            Self::WebPage => return check_web_page(shell),
            Self::Ranks => return check_ranks(shell),
            Self::Ndarray => run_tests(shell, "ndarray", &Device::default(), &golden::TESTS)?,
            Self::Wgpu => return check_wgpu(shell),
            Self::Cuda => return check_cuda(shell),
        }
        Ok(Outcome::Passed)
    }
}

/// Checks the code behind the `cfg` of each backend for a GPU. That of ndarray is a few lines, which the
/// step `ndarray` compiles.
fn check_features(shell: &Shell) -> anyhow::Result<()> {
    for backend in ["wgpu", "cuda"] {
        // What a GPU has in place of the default features.
        let features = ["--no-default-features", "--features", &format!("{backend},xtask/gpus")];
        cmd!(shell, "cargo clippy --workspace {features...} -- -D warnings").run()?;
    }
    Ok(())
}

/// Kills trainings twenty times.
fn kill(shell: &Shell, ranks: Option<usize>) -> anyhow::Result<()> {
    let profile = "dev".to_owned();
    kill_test::run(
        shell,
        &kill_test::Options { times: 20, program: None, profile, seed: None, ranks },
    )
}

/// Checks `inference` for a browser and classifies a picture there. It is skipped without Rust's
/// library for that target, even with `REQUIRE_ALL=1`: rustup installs it, but not every machine that
/// runs CI can download it.
fn check_web_page(shell: &Shell) -> anyhow::Result<Outcome> {
    if !web_page::target_is_installed(shell)? {
        println!("SKIPPED: `{0}` is not installed\nhelp: rustup target add {0}", web_page::TARGET);
        return Ok(Outcome::Skipped("no wasm32-unknown-unknown"));
    }
    web_page::check_inference(shell)?;
    if cmd!(shell, "chromedriver --version").quiet().ignore_stderr().read().is_err() {
        return skipped("no ChromeDriver", "chromium-driver");
    }
    if cmd!(shell, "python3 -c").arg("import selenium").quiet().ignore_stderr().run().is_err() {
        return skipped("no Selenium", "python3-selenium");
    }
    web_page::check(shell)?;
    Ok(Outcome::Passed)
}

/// Tests jobs of several processes, where an MPI library is installed.
fn check_ranks(shell: &Shell) -> anyhow::Result<Outcome> {
    if cmd!(shell, "mpirun --version").quiet().ignore_stderr().read().is_err() {
        return skipped("no MPI library", "libopenmpi-dev openmpi-bin libclang-dev");
    }
    let features = ["--features", "recipes/mpi,bench/mpi"];
    cmd!(shell, "cargo clippy --workspace --all-targets {features...} -- -D warnings").run()?;
    cmd!(shell, "cargo test --workspace --features recipes/mpi --test cli ranks::").run()?;
    kill(shell, Some(2))?;
    Ok(Outcome::Passed)
}

/// Compares wgpu with the CPU: each kernel, and the recipe that Vulkan in software trains within a
/// minute.
fn check_wgpu(shell: &Shell) -> anyhow::Result<Outcome> {
    if !has_vulkan_driver() {
        return skipped("no Vulkan driver", "mesa-vulkan-drivers");
    }
    check_gpu(shell, "wgpu", &["mlp"])
}

/// Compares each kernel of CUDA with the CPU's, on a device that the CPU emulates.
fn check_cuda(shell: &Shell) -> anyhow::Result<Outcome> {
    if cmd!(shell, "g++ --version").quiet().ignore_stderr().read().is_err() {
        return skipped("no C++ compiler", "g++");
    }
    check_gpu(shell, "cuda", &[])
}

fn check_gpu(shell: &Shell, backend: &str, recipes: &[&str]) -> anyhow::Result<Outcome> {
    gpu_check::run(
        shell,
        &gpu_check::Options {
            backend: backend.to_owned(),
            emulated: backend == "cuda",
            recipes: recipes.iter().copied().map(str::to_owned).collect(),
            kernels: true,
            tests: false,
            steps: 10,
            tolerance: None,
            program: None,
            cpu_program: None,
            profile: "dev".to_owned(),
        },
    )?;
    Ok(Outcome::Passed)
}

/// Skips a step for what is not installed; an error where `REQUIRE_ALL` asks for every step.
///
/// - `lacking`: such as `no compiler`
/// - `packages`: those of Debian that have it
fn skipped(lacking: &'static str, packages: &str) -> anyhow::Result<Outcome> {
    ensure!(
        !requires_all(),
        "{lacking} is installed and REQUIRE_ALL=1 (on Debian: apt-get install {packages})"
    );
    println!("SKIPPED: {lacking} is installed\nhelp: on Debian, apt-get install {packages}");
    Ok(Outcome::Skipped(lacking))
}

/// Whether nothing may be skipped.
pub(crate) fn requires_all() -> bool {
    env::var_os("REQUIRE_ALL").is_some_and(|value| value == "1")
}

/// Whether the Vulkan loader would find a driver: one named in the environment, or a manifest in
/// one of the folders it searches on Linux.
fn has_vulkan_driver() -> bool {
    let named = ["VK_DRIVER_FILES", "VK_ICD_FILENAMES"]
        .into_iter()
        .any(|variable| env::var_os(variable).is_some_and(|value| !value.is_empty()));
    let installed = ["/etc", "/usr/local/share", "/usr/share"]
        .into_iter()
        .map(|folder| Path::new(folder).join("vulkan/icd.d"))
        .any(|folder| folder.read_dir().is_ok_and(|mut entries| entries.next().is_some()));
    named || installed
}

impl fmt::Display for Step {
    /// The name that `--skip` takes.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let value = self.to_possible_value();
        formatter.pad(value.as_ref().map_or("", |value| value.get_name()))
    }
}

impl fmt::Display for Row {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let seconds = self.elapsed.as_secs_f64();
        write!(formatter, "{:<10} {seconds:>8.1}", self.step)?;
        match self.outcome {
            Outcome::Passed => Ok(()),
            Outcome::Skipped(reason) => write!(formatter, "  skipped, {reason}"),
            Outcome::Failed => write!(formatter, "  FAILED"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_names_the_step_its_seconds_and_why_it_did_not_run() {
        let row = |step, outcome| Row { step, outcome, elapsed: Duration::from_millis(1_240) };
        assert_eq!(row(Step::Clippy, Outcome::Passed).to_string(), "clippy          1.2");
        assert_eq!(
            row(Step::Wgpu, Outcome::Skipped("no Vulkan driver")).to_string(),
            "wgpu            1.2  skipped, no Vulkan driver"
        );
        assert_eq!(row(Step::Tests, Outcome::Failed).to_string(), "tests           1.2  FAILED");
    }
}
