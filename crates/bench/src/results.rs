//! Results and the machine that they hold for, as a file.

use std::{path::Path, process::Command, time::SystemTime};

use backend::{Peaks, device};
use humantime::format_rfc3339_seconds;
use serde::{Deserialize, Serialize};

use crate::{Entry, ON_GPU};

/// What one run of this program measured on one device.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Results {
    /// Where.
    pub machine: Machine,
    /// What speeds are given as percentages of.
    pub peaks: Peaks,
    /// The names of the benchmarks that were run.
    pub benchmarks: Vec<String>,
    /// The arguments of this program that measure the same again; one, more where files are joined.
    pub commands: Vec<String>,
    /// Whether they were measured with `--quick`: the times mean nothing.
    pub quick: bool,
    /// What was measured, in order.
    pub entries: Vec<Entry>,
}

/// What results hold for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Machine {
    /// The backend of this build.
    pub backend: String,
    /// The device's own name.
    pub device: String,
    /// The version of NVIDIA's driver.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub driver: Option<String>,
    /// The processor's name.
    pub processor: String,
    /// Cores that this process may use.
    pub cores: usize,
    /// The commit that was built.
    pub commit: String,
    /// The compiler's version.
    pub compiler: String,
    /// The day, in UTC.
    pub date: String,
}

impl Machine {
    /// This machine.
    ///
    /// - `device`: the device's own name
    pub fn read(device: &str) -> Self {
        Self {
            backend: backend::NAME.to_owned(),
            device: device.to_owned(),
            driver: if ON_GPU { nvidia_driver() } else { None },
            processor: processor(),
            cores: device::cores(),
            commit: recipes::COMMIT.to_owned(),
            compiler: env!("BUILD_COMPILER").to_owned(),
            date: format_rfc3339_seconds(SystemTime::now()).to_string().chars().take(10).collect(),
        }
    }
}

impl Results {
    /// Writes them to a file atomically.
    ///
    /// # Errors
    ///
    /// Where the file cannot be written.
    pub fn write(&self, path: &Path) -> anyhow::Result<()> {
        let text = serde_json::to_string_pretty(self)?;
        Ok(store::write_whole(path, format!("{text}\n").as_bytes())?)
    }
}

/// The processor's name, where the system reports it.
fn processor() -> String {
    let described = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    described
        .lines()
        .find_map(|line| line.strip_prefix("model name")?.split_once(": "))
        .map_or_else(|| "unknown processor".to_owned(), |(_, name)| name.to_owned())
}

/// None without `nvidia-smi`.
fn nvidia_driver() -> Option<String> {
    let query = ["--query-gpu=driver_version", "--format=csv,noheader"];
    let output = Command::new("nvidia-smi").args(query).output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    let first = text.lines().next().filter(|_| output.status.success())?;
    Some(first.trim().to_owned())
}
