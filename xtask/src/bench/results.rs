//! Files of results that `bench run --json` wrote, here or on another machine.

use std::path::Path;

use anyhow::{Context as _, ensure};
use serde::{Deserialize, Serialize};

use super::entry::Entry;

/// What was measured on one device.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub(super) struct Results {
    pub(super) machine: Machine,
    pub(super) peaks: Peaks,
    /// The names of those that were run, by which they are run again.
    pub(super) benchmarks: Vec<String>,
    /// The arguments of `bench` that measure the same again; none in a file of an earlier version.
    #[serde(default)]
    pub(super) commands: Vec<String>,
    /// Whether the times mean nothing.
    #[serde(default)]
    pub(super) quick: bool,
    /// With the keys that no page shows, too.
    pub(super) entries: Vec<serde_json::Value>,
}

/// What results hold for.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub(super) struct Machine {
    pub(super) backend: String,
    pub(super) device: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) driver: Option<String>,
    pub(super) processor: String,
    pub(super) cores: usize,
    pub(super) commit: String,
    pub(super) compiler: String,
    pub(super) date: String,
}

/// What the device can do at best.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub(super) struct Peaks {
    pub(super) multiply_adds_per_second: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) bf16_multiply_adds_per_second: Option<f64>,
    pub(super) copy_bytes_per_second: f64,
    pub(super) upload_bytes_per_second: f64,
    pub(super) download_bytes_per_second: f64,
}

impl Results {
    /// Reads a file that `bench` wrote, or one in which the results of several devices were kept.
    pub(super) fn read(path: &Path) -> anyhow::Result<Vec<Self>> {
        let text = std::fs::read(path)
            .with_context(|| format!("cannot read results from `{}`", path.display()))?;
        let read = match text.starts_with(b"[") {
            true => serde_json::from_slice(&text),
            false => serde_json::from_slice(&text).map(|one| vec![one]),
        };
        read.with_context(|| format!("`{}` was not written by `bench run --json`", path.display()))
    }

    /// The arguments of `bench` that measure the same again.
    pub(super) fn commands(&self) -> Vec<String> {
        match self.commands.is_empty() {
            true => vec![format!("run {}", self.benchmarks.join(" "))],
            false => self.commands.clone(),
        }
    }

    /// What a page shows of the entries.
    ///
    /// - `machine`: what tells theirs from others
    fn shown(&self, machine: &str) -> anyhow::Result<Vec<Entry>> {
        let read = |entry: &serde_json::Value| {
            let entry: Entry = serde_json::from_value(entry.clone())?;
            Ok(Entry { machine: machine.to_owned(), ..entry })
        };
        let entries = self.entries.iter().map(read).collect::<Result<_, serde_json::Error>>();
        entries.context("`bench` wrote results that xtask cannot read")
    }
}

/// What a page shows of the entries of each machine, which is called by its backend, or by its title
/// where another has the same backend.
pub(super) fn shown(all: &[Results]) -> anyhow::Result<Vec<Vec<Entry>>> {
    let shown = |results: &Results| {
        let Machine { backend, .. } = &results.machine;
        let sharing = all.iter().filter(|other| other.machine.backend == *backend).count();
        results.shown(&if sharing == 1 { backend.clone() } else { results.machine.title() })
    };
    all.iter().map(shown).collect()
}

impl Machine {
    pub(super) fn on_gpu(&self) -> bool {
        ["cuda", "wgpu"].contains(&self.backend.as_str())
    }

    /// The device, by which README tells results apart.
    pub(super) fn title(&self) -> String {
        let Self { backend, device, processor, cores, .. } = self;
        match backend.as_str() {
            "cpu" => format!("{processor}, {cores} cores"),
            _ if self.on_gpu() => format!("{device}, {backend}"),
            _ => format!("{processor}, {cores} cores, {backend}"),
        }
    }

    /// The first digits of the commit, and whether what was built differs from it.
    pub(super) fn short_commit(&self) -> String {
        let (hash, rest) = self.commit.split_at(self.commit.find('-').unwrap_or(self.commit.len()));
        format!("{hash:.7}{rest}")
    }

    /// Such as `intel-r-xeon-r-gold-6248-2-cores`.
    pub(super) fn short_name(&self) -> String {
        let name = if self.on_gpu() { self.device.clone() } else { self.title() };
        let name = name.to_lowercase();
        let words = name.split(|c: char| !c.is_ascii_alphanumeric());
        words.filter(|word| !word.is_empty()).collect::<Vec<_>>().join("-")
    }
}

/// Joins the results of each device, which must be of one commit. Of entries with the same name the
/// last counts, in the place of the first; the peaks are the last ones measured.
pub(super) fn merge(all: Vec<Results>) -> anyhow::Result<Vec<Results>> {
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
            match known.entries.iter_mut().find(|other| other["name"] == entry["name"]) {
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

#[cfg(test)]
pub(super) mod tests {
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
        let kept = Path::new(env!("CARGO_MANIFEST_DIR")).join("../crates/bench/results");
        let folders = std::fs::read_dir(kept).unwrap().map(|folder| folder.unwrap());
        for folder in folders {
            let name = folder.file_name().into_string().unwrap();
            if name == "2026-11-22-amd-epyc-2-cores-accuracy" {
                continue; // in the format of an earlier version, as its page says
            }
            let all = Results::read(&folder.path().join("results.json")).unwrap();
            let date = all.iter().map(|results| &results.machine.date).max().unwrap();
            assert!(name.starts_with(date) && !all[0].benchmarks.is_empty());
            assert!(!shown(&all).unwrap().concat().is_empty());
        }
    }

    #[test]
    fn of_two_files_of_a_device_the_last_entry_counts() {
        let of = |machine, text: &str| results(machine, text);
        let merged = merge(vec![
            of(gpu(), r#"[{"name": "a", "x": 1}, {"name": "b", "x": 1}]"#),
            of(machine(), r#"[{"name": "a", "x": 2}]"#),
            of(gpu(), r#"[{"name": "c", "x": 3}, {"name": "a", "x": 3}]"#),
        ])
        .unwrap();
        assert_eq!(merged.len(), 2);
        let found: Vec<_> = merged[0].entries.iter().map(|entry| entry["x"].as_u64()).collect();
        assert_eq!(found, [Some(3), Some(1), Some(3)]);
        assert_eq!(merged[1].entries[0]["x"], 2);
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
