//! Results and the machine that they hold for, as a file; and several files as one.

use std::{path::Path, process::Command, time::SystemTime};

use anyhow::{Context as _, ensure};
use backend::{Peaks, device};
use humantime::format_rfc3339_seconds;
use serde::{Deserialize, Serialize};

use crate::{Entry, ON_GPU};

/// What this program measured on one device.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Results {
    /// Where.
    pub machine: Machine,
    /// What speeds are given as percentages of.
    pub peaks: Peaks,
    /// The names of the benchmarks that were run.
    pub benchmarks: Vec<String>,
    /// The arguments of this program that measure the same again; one, more where files are joined, none
    /// in a file of an earlier version.
    #[serde(default)]
    pub commands: Vec<String>,
    /// Whether they were measured with `--quick`: the times mean nothing.
    #[serde(default)]
    pub quick: bool,
    /// What was measured, in order.
    pub entries: Vec<Entry>,
}

/// What results hold for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Machine {
    /// The backend of the program that measured.
    pub backend: String,
    /// The device's own name.
    pub device: String,
    /// The version of NVIDIA's driver.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub driver: Option<String>,
    /// The processor's name.
    pub processor: String,
    /// Cores that the program might use.
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

    /// Whether the backend is a GPU's.
    pub(crate) fn on_gpu(&self) -> bool {
        ["cuda", "wgpu"].contains(&self.backend.as_str())
    }

    /// The device, by which README tells results apart.
    pub(crate) fn title(&self) -> String {
        let Self { backend, device, processor, cores, .. } = self;
        match backend.as_str() {
            "cpu" => format!("{processor}, {cores} cores"),
            _ if self.on_gpu() => format!("{device}, {backend}"),
            _ => format!("{processor}, {cores} cores, {backend}"),
        }
    }

    /// The first digits of the commit, and whether what was built differs from it.
    pub(crate) fn short_commit(&self) -> String {
        let (hash, rest) = self.commit.split_at(self.commit.find('-').unwrap_or(self.commit.len()));
        format!("{hash:.7}{rest}")
    }

    /// Such as `intel-r-xeon-r-gold-6248-2-cores`.
    pub(crate) fn short_name(&self) -> String {
        let name = if self.on_gpu() { self.device.clone() } else { self.title() };
        let name = name.to_lowercase();
        let words = name.split(|c: char| !c.is_ascii_alphanumeric());
        words.filter(|word| !word.is_empty()).collect::<Vec<_>>().join("-")
    }
}

impl Results {
    /// Reads a file that `bench` wrote, or one in which the results of several devices were kept.
    pub(crate) fn read(path: &Path) -> anyhow::Result<Vec<Self>> {
        let text = std::fs::read(path)
            .with_context(|| format!("cannot read results from `{}`", path.display()))?;
        let read = match text.starts_with(b"[") {
            true => serde_json::from_slice(&text),
            false => serde_json::from_slice(&text).map(|one| vec![one]),
        };
        read.with_context(|| format!("`{}` was not written by `bench run --json`", path.display()))
    }

    /// The arguments of `bench` that measure the same again.
    pub(crate) fn commands(&self) -> Vec<String> {
        match self.commands.is_empty() {
            true => vec![format!("run {}", self.benchmarks.join(" "))],
            false => self.commands.clone(),
        }
    }

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

/// Joins the results of each device, which must be of one commit. Of entries with the same name the
/// last counts, in the place of the first; the peaks are the last ones measured.
pub(crate) fn merge(all: Vec<Results>) -> anyhow::Result<Vec<Results>> {
    let mut merged: Vec<Results> = Vec::new();
    for results in all {
        let title = results.machine.title();
        let Some(known) = merged.iter_mut().find(|known| known.machine.title() == title) else {
            merged.push(results);
            continue;
        };
        let [first, second] = [&known.machine, &results.machine].map(Machine::short_commit);
        ensure!(
            first == second,
            "results on {title} are of the commits {first} and {second}, which cannot share a page; \
             give the files of one commit at a time"
        );
        let mut commands = known.commands();
        add_new(&mut commands, results.commands());
        known.commands = commands;
        for entry in results.entries {
            match known.entries.iter_mut().find(|other| other.name == entry.name) {
                Some(other) => *other = entry,
                None => known.entries.push(entry),
            }
        }
        add_new(&mut known.benchmarks, results.benchmarks);
        known.quick |= results.quick;
        known.machine = results.machine;
        known.peaks = results.peaks;
    }
    Ok(merged)
}

/// Adds those that are not there yet.
fn add_new(known: &mut Vec<String>, more: Vec<String>) {
    for one in more {
        if !known.contains(&one) {
            known.push(one);
        }
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

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    pub(crate) fn machine() -> Machine {
        Machine {
            backend: "cpu".to_owned(),
            device: "AMD EPYC(TM) 7B13 (2 threads)".to_owned(),
            driver: None,
            processor: "AMD EPYC(TM) 7B13".to_owned(),
            cores: 2,
            commit: "0123abc".to_owned(),
            compiler: "rustc 1.95.0".to_owned(),
            date: "2026-11-21".to_owned(),
        }
    }

    pub(crate) fn gpu() -> Machine {
        Machine {
            backend: "cuda".to_owned(),
            device: "NVIDIA H200".to_owned(),
            driver: Some("580.65".to_owned()),
            ..machine()
        }
    }

    pub(crate) fn results(machine: Machine, entries: &str) -> Results {
        let peaks = Peaks {
            multiply_adds_per_second: 2e11,
            bf16_multiply_adds_per_second: machine.on_gpu().then_some(4e11),
            copy_bytes_per_second: 1e10,
            upload_bytes_per_second: 1e9,
            download_bytes_per_second: 1e9,
        };
        let benchmarks = vec!["mlp-step".to_owned(), "scaling-batch".to_owned()];
        let entries = serde_json::from_str(entries).unwrap();
        Results { machine, peaks, benchmarks, commands: Vec::new(), quick: false, entries }
    }

    #[test]
    fn a_folder_is_named_in_plain_letters() {
        assert_eq!(machine().short_name(), "amd-epyc-tm-7b13-2-cores");
        assert_eq!(gpu().short_name(), "nvidia-h200");
    }

    #[test]
    fn a_commit_is_shortened_and_said_to_be_changed() {
        let short = |commit: &str| Machine { commit: commit.to_owned(), ..gpu() }.short_commit();
        assert_eq!(short("0123abcdef"), "0123abc");
        assert_eq!(short("0123abcdef-dirty"), "0123abc-dirty");
        assert_eq!(short("unknown"), "unknown");
    }

    /// So that their pages can be written again.
    #[test]
    fn kept_results_are_readable() {
        let kept = Path::new(env!("CARGO_MANIFEST_DIR")).join("results");
        let folders = std::fs::read_dir(kept).unwrap().map(|folder| folder.unwrap());
        for folder in folders {
            let name = folder.file_name().into_string().unwrap();
            if name == "2026-11-22-amd-epyc-2-cores-accuracy" {
                continue; // in the format of an earlier version, as its page says
            }
            let all = Results::read(&folder.path().join("results.json")).unwrap();
            let date = all.iter().map(|results| &results.machine.date).max().unwrap();
            assert!(name.starts_with(date) && !all[0].benchmarks.is_empty());
            assert!(all.iter().all(|results| !results.entries.is_empty()));
        }
    }

    #[test]
    fn of_two_files_of_a_device_the_last_entry_counts() {
        let of = |machine, entries: &[(&str, f64)]| {
            let entry = |&(name, median_seconds): &(&str, f64)| Entry {
                name: name.to_owned(),
                median_seconds,
                ..Entry::default()
            };
            Results { entries: entries.iter().map(entry).collect(), ..results(machine, "[]") }
        };
        let merged = merge(vec![
            of(gpu(), &[("a", 1.0), ("b", 1.0)]),
            of(machine(), &[("a", 2.0)]),
            of(gpu(), &[("c", 3.0), ("a", 3.0)]),
        ])
        .unwrap();
        assert_eq!(merged.len(), 2);
        let found: Vec<_> = merged[0].entries.iter().map(|entry| entry.median_seconds).collect();
        assert_eq!(found, [3.0, 1.0, 3.0]);
        assert_eq!(merged[1].entries[0].median_seconds, 2.0);
        assert_eq!(merged[0].benchmarks, ["mlp-step", "scaling-batch"]);
    }

    #[test]
    fn joined_results_know_how_each_was_measured() {
        let of = |command: &str| {
            let commands = vec![command.to_owned()];
            Results { commands, ..results(gpu(), "[]") }
        };
        let few = "run mlp-step --rounds 3 --peer none";
        let merged = merge(vec![of(few), results(gpu(), "[]"), of(few)]).unwrap();
        assert_eq!(merged[0].commands(), [few, "run mlp-step scaling-batch"]);
        let quick = Results { quick: true, ..of(few) };
        assert!(merge(vec![of(few), quick]).unwrap()[0].quick);
    }

    #[test]
    fn results_of_two_commits_are_not_joined() {
        let other = Machine { commit: "4567def".to_owned(), ..gpu() };
        let error = merge(vec![results(gpu(), "[]"), results(other.clone(), "[]")]).unwrap_err();
        assert!(error.to_string().contains("the commits 0123abc and 4567def"), "{error}");
        assert_eq!(merge(vec![results(machine(), "[]"), results(other, "[]")]).unwrap().len(), 2);
        let longer = Machine { commit: "0123abcdef".to_owned(), ..gpu() };
        assert_eq!(merge(vec![results(gpu(), "[]"), results(longer, "[]")]).unwrap().len(), 1);
    }
}
