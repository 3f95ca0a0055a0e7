//! Runs the benchmarks in release; `bench page` keeps their results with the machine they came from.

use std::{
    env,
    path::{self, Path, PathBuf},
};

use anyhow::ensure;
use xshell::{Shell, cmd};

use crate::{metadata::BACKEND_FEATURES, program};

#[derive(clap::Args)]
pub(crate) struct Options {
    /// The machine's name in the name of the results' folder [default: that of its first device]
    #[arg(long)]
    machine: Option<String>,
    /// Backends to measure, each compared with the peers that run on its device
    #[arg(long, value_parser = BACKEND_FEATURES, value_delimiter = ',', default_value = "cpu")]
    backends: Vec<String>,
    /// The Python that runs the peers, or `none` [default: python3]
    #[arg(long, value_name = "PYTHON")]
    peer: Option<String>,
    /// Rounds to measure of each benchmark
    #[arg(long)]
    rounds: Option<usize>,
    /// Threads that compute on the CPU, ours and the peers' [default: all]
    #[arg(long, value_name = "N")]
    threads: Option<usize>,
    /// Use files that `bench run --json` wrote, here or on another machine, instead of measuring
    #[arg(long, value_name = "FILE", num_args = 1.., conflicts_with_all = [
        "backends", "peer", "rounds", "threads", "arguments",
    ])]
    results: Vec<PathBuf>,
    /// Arguments for `bench run`, such as the names of benchmarks
    #[arg(last = true)]
    arguments: Vec<String>,
}

/// Writes a new folder `crates/bench/results/<date>-<machine>/` and the tables in README; nothing where no
/// benchmark succeeds.
pub(crate) fn run(shell: &Shell, options: &Options) -> anyhow::Result<()> {
    if !options.results.is_empty() {
        let files: Vec<PathBuf> =
            options.results.iter().map(path::absolute).collect::<Result<_, _>>()?;
        let bench = program::build(shell, "bench", "dev", Some("cpu"))?;
        return write_page(shell, options, &bench, &[], &files);
    }
    ensure!(
        !options.arguments.iter().any(|argument| argument == "--quick"),
        "results of `--quick` are not kept, since their times mean nothing; for them: \
         `cargo run --release --package bench -- run --quick`"
    );
    let folder = program::Folder::empty(shell, "bench-results")?;
    let folder = folder.path();
    let machine = options.machine.as_ref().map(|machine| format!(" --machine {machine}"));
    println!(
        "results are kept in `{0}` until the next run; if this one is interrupted: \
         `cargo xtask bench{1} --results {0}/*.json`",
        folder.display(),
        machine.unwrap_or_default()
    );
    let (mut measured, mut files, mut failed) = (None, Vec::new(), Vec::new());
    for backend in &options.backends {
        let json = folder.join(format!("{backend}.json"));
        // A benchmark that failed has said why; the others and the other backends still count.
        if let Err(error) = measure(shell, options, backend, &json) {
            eprintln!("error: {backend}: {error:#}");
            failed.push(backend.as_str());
        }
        if json.exists() {
            measured = Some(backend);
            files.push(json);
        }
    }
    if let Some(backend) = measured {
        let bench = program::build(shell, "bench", "release", Some(backend))?;
        write_page(shell, options, &bench, &["--command", &command(options)], &files)?;
    }
    ensure!(
        failed.is_empty(),
        "some benchmarks failed, see above ({}); the results are of the others",
        failed.join(", ")
    );
    Ok(())
}

fn measure(shell: &Shell, options: &Options, backend: &str, json: &Path) -> anyhow::Result<()> {
    let bench = program::build(shell, "bench", "release", Some(backend))?;
    let commit = commit(shell)?;
    let (arguments, flags) = (&options.arguments, flags(options));
    // There, since the arguments may hold paths.
    let _there = shell.push_dir(env::current_dir()?);
    Ok(cmd!(shell, "{bench} run {arguments...} {flags...} --commit {commit} --json {json}")
        .run()?)
}

/// - `told`: further arguments of `bench page`
fn write_page(
    shell: &Shell,
    options: &Options,
    bench: &Path,
    told: &[&str],
    files: &[PathBuf],
) -> anyhow::Result<()> {
    let machine = options.machine.iter().flat_map(|machine| ["--machine", machine]);
    // A selection of benchmarks is no summary of the project.
    let summary = options.arguments.is_empty().then_some("--summary");
    Ok(cmd!(shell, "{bench} page {machine...} {summary...} {told...} {files...}").quiet().run()?)
}

/// The commit, and whether anything that is built differs from it; results and pages may.
fn commit(shell: &Shell) -> anyhow::Result<String> {
    let commit = cmd!(shell, "git rev-parse HEAD").quiet().read()?;
    let built = ["crates", "xtask", "examples", "Cargo.toml", "Cargo.lock"];
    let results = ":(exclude)crates/bench/results";
    let changed = cmd!(shell, "git status --porcelain -- {built...} {results}").quiet().read()?;
    Ok(if changed.is_empty() { commit } else { format!("{commit}-dirty") })
}

/// The arguments of `bench run` that are options here, too.
fn flags(options: &Options) -> Vec<String> {
    let Options { peer, rounds, threads, .. } = options;
    let given = [
        ("--peer", peer.clone()),
        ("--rounds", rounds.map(|rounds| rounds.to_string())),
        ("--threads", threads.map(|threads| threads.to_string())),
    ];
    let given = given.into_iter().filter_map(|(name, value)| Some([name.to_owned(), value?]));
    given.flatten().collect()
}

/// The command that measures again here.
fn command(options: &Options) -> String {
    let mut command = "cargo xtask bench".to_owned();
    if let Some(machine) = &options.machine {
        command.extend([" --machine ", machine]);
    }
    if options.backends != ["cpu"] {
        command.extend([" --backends ", &options.backends.join(",")]);
    }
    let flags = flags(options).join(" ");
    if !flags.is_empty() {
        command.extend([" ", &flags]);
    }
    if !options.arguments.is_empty() {
        command.extend([" -- ", &options.arguments.join(" ")]);
    }
    command
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plain() -> Options {
        Options {
            machine: None,
            backends: vec!["cpu".to_owned()],
            peer: None,
            rounds: None,
            threads: None,
            results: Vec::new(),
            arguments: Vec::new(),
        }
    }

    #[test]
    fn the_command_is_what_was_given() {
        assert_eq!(command(&plain()), "cargo xtask bench");
        let options = Options {
            backends: vec!["cpu".to_owned(), "wgpu".to_owned()],
            peer: Some("python3".to_owned()),
            rounds: Some(3),
            arguments: vec!["mlp-step".to_owned(), "cnn-step".to_owned()],
            ..plain()
        };
        let given = "--backends cpu,wgpu --peer python3 --rounds 3 -- mlp-step cnn-step";
        assert_eq!(command(&options), format!("cargo xtask bench {given}"));
        assert_eq!(flags(&options), ["--peer", "python3", "--rounds", "3"]);
    }
}
