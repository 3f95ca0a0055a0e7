//! Programs of this workspace, built for a command that runs them; tests, run on a backend; and what makes
//! both build quickly.

use std::{
    env,
    fs::{File, TryLockError},
    path::{Path, PathBuf},
};

use anyhow::{Context as _, bail};
use xshell::{Shell, cmd};

use crate::emulated_cuda::Device;

/// Options of cargo for checks that compute little: settings of the profiles `dev` and `test` with which
/// most is compiled without optimisation.
const UNOPTIMISED: [&str; 2] = ["--config", "xtask/unoptimised.toml"];

/// Options of cargo with which whatever is built for a backend shares the dependencies: with the tests, and
/// with what is built for the other GPUs.
fn of_backend(backend: &str) -> [String; 3] {
    let gpus = if ["wgpu", "cuda"].contains(&backend) { ",xtask/gpus" } else { "" };
    ["--workspace".into(), "--features".into(), format!("recipes/{backend}{gpus}")]
}

/// Runs tests on a backend.
///
/// - `tests`: the names of those that are run, of any crate
pub(crate) fn run_tests(
    shell: &Shell,
    backend: &str,
    device: &Device,
    tests: &[&str],
) -> anyhow::Result<()> {
    let options = of_backend(backend).into_iter().chain(device.for_tests()?);
    let tests = tests.iter().flat_map(|test| ["--test", test]);
    Ok(cmd!(shell, "cargo test {UNOPTIMISED...} {options...} {tests...}").run()?)
}

/// Builds `recipes` or `bench` and returns its path; in the profile `dev` one for a named backend is hardly
/// optimised.
///
/// - `feature`: the backend, if not the default, or `mpi`
pub(crate) fn build(
    shell: &Shell,
    name: &str,
    profile: &str,
    feature: Option<&str>,
) -> anyhow::Result<PathBuf> {
    match feature {
        // Built as by the tests of several ranks.
        Some("mpi") => {
            let workspace = ["--workspace", "--bin", name, "--features", "recipes/mpi"];
            cmd!(shell, "cargo build {workspace...} --profile {profile}").run()?
        }
        Some(backend) if profile == "dev" => {
            let options = of_backend(backend);
            cmd!(shell, "cargo build {UNOPTIMISED...} {options...} --bin {name}").run()?
        }
        // By README's command for a GPU, so that its build is used.
        Some(feature) => {
            let package = ["--package", name, "--features", feature, "--profile", profile];
            cmd!(shell, "cargo build {package...}").run()?
        }
        // Built as by the tests.
        None => cmd!(shell, "cargo build --workspace --bin {name} --profile {profile}").run()?,
    }
    let folder = match profile {
        "dev" | "test" => "debug",
        "bench" => "release",
        other => other,
    };
    let program = format!("{name}{}", env::consts::EXE_SUFFIX);
    let program = target_directory(shell)?.join(folder).join(program);
    program.canonicalize().context("cargo did not build the program")
}

/// A folder where cargo builds, for one command at a time. It is not removed at its end but by the next, so what
/// is interrupted leaves nothing that stays.
pub(crate) struct Folder {
    path: PathBuf,
    _lock: File, // held as long as it is open
}

impl Folder {
    /// Without what the last command left in it.
    pub(crate) fn empty(shell: &Shell, name: &str) -> anyhow::Result<Self> {
        let target = shell.create_dir(target_directory(shell)?)?;
        let (path, lock) = (target.join(name), target.join(format!("{name}.lock")));
        let lock = File::create(&lock)
            .with_context(|| format!("cannot create the lock `{}`", lock.display()))?;
        if matches!(lock.try_lock(), Err(TryLockError::WouldBlock)) {
            bail!("`{}` is in use by another command; wait until it has ended", path.display());
        }
        shell.remove_path(&path)?;
        Ok(Self { path: shell.create_dir(path)?, _lock: lock })
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }
}

/// Where cargo builds, by whichever of its settings.
pub(crate) fn target_directory(shell: &Shell) -> anyhow::Result<PathBuf> {
    let metadata = cmd!(shell, "cargo metadata --no-deps --format-version 1").quiet().read()?;
    let metadata: serde_json::Value = serde_json::from_str(&metadata)?;
    let folder = metadata["target_directory"].as_str();
    Ok(folder.context("cargo does not say where it builds")?.into())
}
