//! Runs the benchmarks in release and keeps their results with the machine they came from.

mod chart;
mod entry;
mod page;

use std::{path::Path, thread};

use anyhow::Context as _;
use clap::ValueEnum;
use xshell::{Shell, cmd};

use self::entry::Entry;

#[derive(clap::Args)]
pub(crate) struct Options {
    /// The machine's name in the results' folder [default: its processor and cores]
    #[arg(long)]
    machine: Option<String>,
    /// Backends to measure; peers run beside the first
    #[arg(long, value_enum, value_delimiter = ',', default_value = "cpu")]
    backends: Vec<Backend>,
    /// What `bench run` is given, such as the names of benchmarks
    #[arg(last = true)]
    arguments: Vec<String>,
}

/// A feature of `bench`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Backend {
    Cpu,
    Ndarray,
    Wgpu,
    Cuda,
}

impl Backend {
    fn name(self) -> &'static str {
        match self {
            Self::Cpu => "cpu",
            Self::Ndarray => "ndarray",
            Self::Wgpu => "wgpu",
            Self::Cuda => "cuda",
        }
    }
}

/// What the results hold for.
struct Machine {
    cpu: String,
    cores: usize,
    rustc: String,
    commit: String,
}

/// Where README has the newest table.
const TABLE_BEGINS: &str = "<!-- the newest results, written by `cargo xtask bench` -->\n";
const TABLE_ENDS: &str = "<!-- end of the results -->\n";

/// Writes `crates/bench/results/<date>-<machine>/` and the table in README, and nothing where no
/// benchmark succeeds.
pub(crate) fn run(shell: &Shell, options: &Options) -> anyhow::Result<()> {
    let machine = Machine::read(shell)?;
    let scratch = shell.create_temp_dir()?;
    let mut entries: Vec<serde_json::Value> = Vec::new();
    let mut failed = false;
    for (index, backend) in options.backends.iter().enumerate() {
        let json = scratch.path().join(format!("{}.json", backend.name()));
        let (feature, arguments) = (backend.name(), &options.arguments);
        let peers: &[&str] = if index == 0 { &[] } else { &["--peer", "none"] };
        let measured = cmd!(
            shell,
            "cargo run --release --package bench --features {feature} --
                run {arguments...} {peers...} --json {json}"
        );
        // A benchmark that failed has said why; the others count.
        failed |= measured.run().is_err();
        let text = shell.read_file(&json).context("no benchmark of a backend succeeded")?;
        entries.extend(serde_json::from_str::<Vec<serde_json::Value>>(&text)?);
    }
    let read = |entry: &serde_json::Value| serde_json::from_value(entry.clone());
    let shown: Vec<Entry> = entries
        .iter()
        .map(read)
        .collect::<Result<_, _>>()
        .context("`bench` wrote results that xtask cannot read")?;

    let date = cmd!(shell, "date -u +%F").quiet().read()?;
    let name = options.machine.clone().unwrap_or_else(|| machine.short_name());
    let folder = format!("crates/bench/results/{date}-{name}");
    let at = shell.current_dir().join(&folder);
    let results = serde_json::to_string_pretty(&entries)? + "\n";
    shell.write_file(at.join("results.json"), results)?;
    for (file, svg) in chart::all(&shown)? {
        shell.write_file(at.join(file), svg)?;
    }
    let charts = chart::names(&shown);
    let page = page::page(&date, &machine, &shown, &charts, &command(options));
    shell.write_file(at.join("README.md"), page)?;
    // A part of the benchmarks is no summary of the project.
    if options.arguments.is_empty() {
        update_readme(
            shell,
            Path::new("README.md"),
            &page::summary(&date, &machine, &shown, &folder),
        )?;
    }
    println!("wrote {folder}");
    anyhow::ensure!(!failed, "some benchmarks failed, see above; the results are of the others");
    Ok(())
}

/// Puts the newest table where the old one was.
fn update_readme(shell: &Shell, readme: &Path, table: &str) -> anyhow::Result<()> {
    let text = shell.read_file(readme)?;
    Ok(shell.write_file(readme, with_table(&text, table)?)?)
}

fn with_table(readme: &str, table: &str) -> anyhow::Result<String> {
    let begins = readme.find(TABLE_BEGINS).context("README has no place for the results")?;
    let begins = begins + TABLE_BEGINS.len();
    let ends = readme[begins..].find(TABLE_ENDS).context("the results in README have no end")?;
    Ok(format!("{}{table}{}", &readme[..begins], &readme[begins + ends..]))
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

/// What to type to measure again.
fn command(options: &Options) -> String {
    let mut command = "cargo xtask bench".to_owned();
    if let Some(machine) = &options.machine {
        command.extend([" --machine ", machine]);
    }
    if options.backends != [Backend::Cpu] {
        let names: Vec<&str> = options.backends.iter().map(|backend| backend.name()).collect();
        command.extend([" --backends ", &names.join(",")]);
    }
    if !options.arguments.is_empty() {
        command.extend([" -- ", &options.arguments.join(" ")]);
    }
    command
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_is_what_was_given() {
        let options = Options {
            machine: None,
            backends: vec![Backend::Cpu, Backend::Wgpu],
            arguments: vec!["mlp-step".to_owned(), "cnn-step".to_owned()],
        };
        assert_eq!(command(&options), "cargo xtask bench --backends cpu,wgpu -- mlp-step cnn-step");
        let plain = Options { machine: None, backends: vec![Backend::Cpu], arguments: Vec::new() };
        assert_eq!(command(&plain), "cargo xtask bench");
    }

    #[test]
    fn a_folder_is_named_in_plain_letters() {
        let machine = Machine {
            cpu: "AMD EPYC(TM) 7B13".to_owned(),
            cores: 2,
            rustc: String::new(),
            commit: String::new(),
        };
        assert_eq!(machine.short_name(), "amd-epyc-tm-7b13-2-cores");
    }

    #[test]
    fn the_table_in_readme_is_replaced_and_nothing_else() {
        let readme = format!("before\n{TABLE_BEGINS}old\n{TABLE_ENDS}after\n");
        let new = with_table(&readme, "new\n").unwrap();
        assert_eq!(new, format!("before\n{TABLE_BEGINS}new\n{TABLE_ENDS}after\n"));
        assert!(with_table("no table", "new").is_err());
    }

    #[test]
    fn readme_has_a_place_for_the_table() {
        assert!(with_table(include_str!("../../../README.md"), "table").is_ok());
    }
}
