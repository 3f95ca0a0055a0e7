//! Runs the benchmarks in release and keeps their results with the machine they came from.

use std::{fmt::Write as _, thread};

use anyhow::Context as _;
use serde::Deserialize;
use xshell::{Shell, cmd};

#[derive(clap::Args)]
pub(crate) struct Options {
    /// The machine's name in the results' folder [default: its processor and cores]
    #[arg(long)]
    machine: Option<String>,
    /// Features of `bench`, such as the backend `cuda`
    #[arg(long, default_value = "")]
    features: String,
    /// What `bench run` is given, such as the names of benchmarks
    #[arg(last = true)]
    arguments: Vec<String>,
}

/// One benchmark, as `bench run --json` writes it; keys that the table does not show are passed
/// over.
#[derive(Deserialize)]
struct Entry {
    name: String,
    backend: String,
    threads: Option<u64>,
    batch: Option<u64>,
    median_seconds: f64,
    /// In seconds too.
    spread: f64,
    samples_per_second: Option<f64>,
    percent_of_peak: Option<f64>,
    peer: Option<Peer>,
}

#[derive(Deserialize)]
struct Peer {
    name: String,
    /// The peer's time divided by ours.
    ratio: f64,
}

/// What the results hold for.
struct Machine {
    cpu: String,
    cores: usize,
    rustc: String,
    commit: String,
}

/// Writes `crates/bench/results/<date>-<machine>/`, and nothing where a benchmark fails.
pub(crate) fn run(shell: &Shell, options: &Options) -> anyhow::Result<()> {
    let Options { machine: name, features, arguments } = options;
    let machine = Machine::read(shell)?;
    let scratch = shell.create_temp_dir()?;
    let json = scratch.path().join("results.json");
    cmd!(
        shell,
        "cargo run --release --package bench --features {features} --
            run {arguments...} --json {json}"
    )
    .run()?;
    let results = shell.read_file(&json)?;
    let entries: Vec<Entry> =
        serde_json::from_str(&results).context("`bench` wrote results that xtask cannot read")?;

    let date = cmd!(shell, "date -u +%F").quiet().read()?;
    let name = name.clone().unwrap_or_else(|| machine.short_name());
    let folder = shell.current_dir().join(format!("crates/bench/results/{date}-{name}"));
    shell.write_file(folder.join("results.json"), results)?;
    let page = page(&date, &machine, &entries, options);
    shell.write_file(folder.join("README.md"), page)?;
    println!("wrote {}", folder.display());
    Ok(())
}

impl Machine {
    fn read(shell: &Shell) -> anyhow::Result<Self> {
        let cpu = shell
            .read_file("/proc/cpuinfo")?
            .lines()
            .find_map(|line| line.strip_prefix("model name")?.split_once(": "))
            .map_or_else(|| "unknown processor".to_owned(), |(_, cpu)| cpu.to_owned());
        Ok(Self {
            cpu,
            cores: thread::available_parallelism()?.get(),
            rustc: cmd!(shell, "rustc --version").quiet().read()?,
            commit: cmd!(shell, "git describe --always --dirty").quiet().read()?,
        })
    }

    /// Such as `intel-r-xeon-r-gold-6248-2-cores`.
    fn short_name(&self) -> String {
        let words = format!("{} {} cores", self.cpu.to_lowercase(), self.cores);
        words
            .split(|c: char| !c.is_ascii_alphanumeric())
            .filter(|word| !word.is_empty())
            .collect::<Vec<_>>()
            .join("-")
    }
}

/// The page that explains the results: their limits first, the command last.
fn page(date: &str, machine: &Machine, entries: &[Entry], options: &Options) -> String {
    let Machine { cpu, cores, rustc, commit } = machine;
    let table = table(entries);
    let command = command(options);
    format!(
        "# Results of {date}\n\
         \n\
         Measured on one machine, at one commit; another machine gives other numbers and other\n\
         ratios. `results.json` beside this page holds every number.\n\
         \n\
         - processor: {cpu}, {cores} cores\n\
         - compiler: {rustc}\n\
         - commit: {commit}\n\
         \n\
         A time is the median with its spread; a ratio is the peer's time divided by ours, so above\n\
         1 ours is the faster.\n\
         \n\
         {table}\n\
         ```\n\
         {command}\n\
         ```\n"
    )
}

fn table(entries: &[Entry]) -> String {
    let mut table = "| name | backend | threads | batch | median | spread | samples/s | of peak | peer | ratio |\n\
                     |---|---|--:|--:|--:|--:|--:|--:|---|--:|\n"
        .to_owned();
    for entry in entries {
        let peer = entry.peer.as_ref();
        let cells = [
            entry.name.clone(),
            entry.backend.clone(),
            cell(entry.threads, |threads| threads.to_string()),
            cell(entry.batch, |batch| batch.to_string()),
            time(entry.median_seconds),
            time(entry.spread),
            cell(entry.samples_per_second, |rate| format!("{rate:.0}")),
            cell(entry.percent_of_peak, |percent| format!("{percent:.1} %")),
            cell(peer, |peer| peer.name.clone()),
            cell(peer, |peer| format!("{:.2}", peer.ratio)),
        ];
        // Writing to a `String` cannot fail.
        let _ = writeln!(table, "| {} |", cells.join(" | "));
    }
    table
}

/// A value that an entry may be without.
fn cell<T>(value: Option<T>, show: impl FnOnce(T) -> String) -> String {
    value.map_or_else(String::new, show)
}

/// Seconds in the unit in which they read well.
fn time(seconds: f64) -> String {
    match seconds {
        s if s < 1e-3 => format!("{:.1} µs", s * 1e6),
        s if s < 1.0 => format!("{:.2} ms", s * 1e3),
        s => format!("{s:.2} s"),
    }
}

/// What to type to measure again.
fn command(options: &Options) -> String {
    let mut command = "cargo xtask bench".to_owned();
    for (flag, value) in [
        ("--machine", options.machine.as_deref().unwrap_or_default()),
        ("--features", &options.features),
    ] {
        if !value.is_empty() {
            command.extend([" ", flag, " ", value]);
        }
    }
    if !options.arguments.is_empty() {
        command.extend([" -- ", &options.arguments.join(" ")]);
    }
    command
}

#[cfg(test)]
mod tests {
    use super::*;

    const RESULTS: &str = r#"[
        {"name": "mlp step", "backend": "cpu", "threads": 2, "batch": 40,
         "median_seconds": 5.61e-5, "spread": 2e-6, "samples_per_second": 713012.5, "flops": 20000,
         "percent_of_peak": 3.25, "peer": {"name": "torch", "median_seconds": 1e-4, "ratio": 1.783}},
        {"name": "start", "backend": "cpu", "median_seconds": 1.5, "spread": 0.04}
    ]"#;

    #[test]
    fn an_entry_is_a_row_and_what_it_lacks_stays_empty() {
        let entries: Vec<Entry> = serde_json::from_str(RESULTS).unwrap();
        let table = table(&entries);
        let rows: Vec<_> = table.lines().skip(2).collect();
        assert_eq!(
            rows,
            [
                "| mlp step | cpu | 2 | 40 | 56.1 µs | 2.0 µs | 713012 | 3.2 % | torch | 1.78 |",
                "| start | cpu |  |  | 1.50 s | 40.00 ms |  |  |  |  |",
            ]
        );
    }

    #[test]
    fn the_page_ends_with_the_command_that_was_given() {
        let machine = Machine {
            cpu: "AMD EPYC 7B13".to_owned(),
            cores: 2,
            rustc: "rustc 1.95.0".to_owned(),
            commit: "0123abc".to_owned(),
        };
        let options = Options {
            machine: None,
            features: "cuda".to_owned(),
            arguments: vec!["mlp".to_owned(), "cnn".to_owned()],
        };
        let page = page("2026-11-21", &machine, &[], &options);
        assert!(page.starts_with("# Results of 2026-11-21\n"));
        assert!(page.contains("- processor: AMD EPYC 7B13, 2 cores\n"));
        assert!(page.ends_with("```\ncargo xtask bench --features cuda -- mlp cnn\n```\n"));
        assert_eq!(machine.short_name(), "amd-epyc-7b13-2-cores");
    }
}
