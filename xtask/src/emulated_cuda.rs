//! A CUDA device for machines without one: `xtask/emulated_cuda` is a driver and a run-time compiler that
//! run CubeCL's kernels on the CPU.
//!
//! All that a program does with a GPU happens: kernels are written, compiled and started with the
//! arguments that they would get there, rows of tensors are padded, threads wait for each other. What it
//! can't show is speed, and how a GPU orders what the kernels leave open.
//!
//! How long the host takes to start kernels shows all the same, on a device that does nothing. `cargo xtask
//! gpu-check --backend cuda --emulated` leaves one in `target/emulated-cuda`, and two runs of different
//! lengths differ by the time and the launches of their updates:
//!
//! ```sh
//! LD_LIBRARY_PATH=target/emulated-cuda CUDA_PATH=target/emulated-cuda EMULATED_CUDA_IDLE=1 \
//! EMULATED_CUDA_COUNTS=1 cargo run --release -p recipes --features cuda -- \
//! train mlp --set training.epochs=100000 --set output.log_every_steps=100000 --max-steps 3300
//! ```
//!
//! Which kernels there are is in CubeCL's log, which a `cubecl.toml` turns on:
//!
//! ```toml
//! [profiling]
//! logger = { level = "minimal", file = "kernels.log" }
//! ```

use std::{
    env,
    ffi::{OsStr, OsString},
    fs,
    path::Path,
};

use anyhow::{Context as _, ensure};
use xshell::{Shell, cmd};

use crate::{ci, program};

const SOURCES: &str = "xtask/emulated_cuda";
/// Their folders of headers.
const HEADERS: [&str; 3] = ["include", "include/cuda", "include/cooperative_groups"];
/// The names under which driver and compiler are looked for; both are one library.
const LIBRARIES: [&str; 2] = ["libcuda.so", "libnvrtc.so"];
/// Prints the folder of NVIDIA's own compiler and headers, where Python has them.
const NVIDIA: &str = "
import glob, nvidia
found = [path for base in nvidia.__path__ for path in glob.glob(base + '/*/lib/libnvrtc.so.*')]
print(found[0].rsplit('/lib/', 1)[0])
";
const UNSEEN: &str = "NVIDIA's compiler, which would compile the kernels too, is not installed";
const NVIDIA_PACKAGES: &str =
    "pip install nvidia-cuda-nvrtc nvidia-cuda-runtime nvidia-cuda-crt nvidia-cuda-cccl";

/// The emulated device, or the machine's own.
#[derive(Default)]
pub(crate) struct Device {
    environment: Vec<(&'static str, OsString)>,
}

impl Device {
    /// Builds the emulated device's libraries with g++, or takes the machine's own device.
    pub(crate) fn new(shell: &Shell, emulated: bool) -> anyhow::Result<Self> {
        if !emulated {
            return Ok(Self::default());
        }
        let folder = program::target_directory(shell)?.join("emulated-cuda");
        build(shell, &folder)
            .context("cannot build the emulated device, which takes g++ and Linux")?;
        let mut libraries = folder.clone().into_os_string();
        if let Some(others) = env::var_os("LD_LIBRARY_PATH") {
            libraries.push(":");
            libraries.push(others);
        }
        let mut environment =
            vec![("LD_LIBRARY_PATH", libraries), ("CUDA_PATH", folder.clone().into())];
        match cmd!(shell, "python3 -c {NVIDIA}").quiet().ignore_stderr().read() {
            Ok(compiler) => environment.push(("EMULATED_CUDA_NVIDIA", compiler.into())),
            Err(_) => {
                ensure!(!ci::requires_all(), "{UNSEEN} and REQUIRE_ALL=1 ({NVIDIA_PACKAGES})");
                println!("SKIPPED: {UNSEEN}\nhelp: {NVIDIA_PACKAGES}");
            }
        }
        let device = Self { environment };
        check(shell, &folder, &device).context("the emulated device computes wrong values")?;
        Ok(device)
    }

    /// The variables by which a program finds the device.
    pub(crate) fn environment(&self) -> impl Iterator<Item = (&OsStr, &OsStr)> {
        self.environment.iter().map(|(name, value)| (OsStr::new(name), value.as_os_str()))
    }

    /// Options of cargo that set them for the tests that it runs. Of what it builds, cudarc would change
    /// with them, and most of Burn with that.
    pub(crate) fn for_tests(&self) -> anyhow::Result<Vec<String>> {
        if self.environment.is_empty() {
            return Ok(Vec::new());
        }
        let mut runner = vec!["env".to_owned()];
        for (name, value) in &self.environment {
            let value = value.to_str().context("a path that is not in UTF-8")?;
            runner.push(format!("{name}={value}"));
        }
        // Written in TOML as in JSON.
        let runner = serde_json::to_string(&runner)?;
        Ok(vec!["--config".into(), format!("target.'cfg(all())'.runner = {runner}")])
    }
}

fn build(shell: &Shell, folder: &Path) -> anyhow::Result<()> {
    // Kernels that an earlier driver compiled may not fit this one.
    shell.remove_path(folder.join("kernels"))?;
    for headers in HEADERS {
        let to = folder.join(headers);
        fs::create_dir_all(&to)?;
        for header in shell.read_dir(Path::new(SOURCES).join(headers))? {
            if header.is_file() {
                fs::copy(&header, to.join(header.file_name().context("a header without a name")?))?;
            }
        }
    }
    let [library, other] = LIBRARIES.map(|name| folder.join(name));
    let sources =
        ["driver.cpp", "threads.cpp", "compiler.cpp"].map(|name| Path::new(SOURCES).join(name));
    cmd!(shell, "g++ -std=c++17 -O2 -fPIC -shared -Wall -Wextra -Werror -Wl,-soname,libcuda.so")
        .arg("-o")
        .arg(&library)
        .args(sources)
        .arg("-ldl")
        .run()?;
    shell.remove_path(&other)?;
    fs::hard_link(library, other)?;
    Ok(())
}

/// Runs a kernel of its own on the device, with the PTX on which Burn's depend.
fn check(shell: &Shell, folder: &Path, device: &Device) -> anyhow::Result<()> {
    let source = Path::new(SOURCES).join("check.cpp");
    let program = folder.join("check");
    cmd!(shell, "g++ -std=c++17 -O1 -Wall -Wextra -Werror -o {program} {source} -L{folder} -lcuda")
        .run()?;
    Ok(cmd!(shell, "{program}").envs(device.environment()).run()?)
}
