//! Runs the benchmarks in release and keeps their results with the machine they came from.

mod chart;
mod entry;
mod page;
mod readme;
mod results;

use std::{
    env,
    path::{Path, PathBuf},
};

use anyhow::ensure;
use xshell::{Shell, cmd};

use self::results::{Results, merge, shown};
use crate::metadata::BACKEND_FEATURES;

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

/// Writes a new folder `crates/bench/results/<date>-<machine>/` and the tables in README, again after
/// each backend; nothing where no benchmark succeeds.
pub(crate) fn run(shell: &Shell, options: &Options) -> anyhow::Result<()> {
    if !options.results.is_empty() {
        let read = options.results.iter().map(|path| Results::read(path));
        let all: Vec<Vec<Results>> = read.collect::<Result<_, _>>()?;
        return keep(shell, options, &merge(all.concat())?, &mut None);
    }
    let scratch = shell.create_temp_dir()?;
    let commit = commit(shell)?;
    let manifest = shell.current_dir().join("Cargo.toml");
    let mut all: Vec<Results> = Vec::new();
    let (mut failed, mut folder) = (Vec::new(), None);
    for backend in &options.backends {
        let json = scratch.path().join(format!("{backend}.json"));
        let (arguments, flags) = (&options.arguments, flags(options));
        // There, since the arguments may hold paths.
        let in_callers_folder = shell.push_dir(env::current_dir()?);
        let measured = cmd!(
            shell,
            "cargo run --manifest-path {manifest} --release --package bench --features {backend} --
                run {arguments...} {flags...} --json {json}"
        );
        // A benchmark that failed has said why; the others and the other backends still count.
        let ended = measured.run();
        drop(in_callers_folder);
        let read = Results::read(&json);
        if ended.is_err() || read.is_err() {
            failed.push(backend.as_str());
        }
        match read {
            Ok(mut results) => {
                results.iter_mut().for_each(|results| results.machine.commit.clone_from(&commit));
                all.append(&mut results);
                keep(shell, options, &all, &mut folder)?;
            }
            Err(error) => eprintln!("error: {backend}: no benchmark succeeded: {error:#}"),
        }
    }
    ensure!(
        failed.is_empty(),
        "some benchmarks failed, see above ({}); the results are of the others",
        failed.join(", ")
    );
    Ok(())
}

/// Writes results, each of another device.
///
/// - `folder`: where; chosen by the first call
fn keep(
    shell: &Shell,
    options: &Options,
    all: &[Results],
    folder: &mut Option<String>,
) -> anyhow::Result<()> {
    let Some(first) = all.first() else { return Ok(()) };
    ensure!(
        !all.iter().any(|results| results.quick),
        "results of `bench run --quick` are not kept, since their times mean nothing; measure again \
         without `--quick`"
    );
    let date = all.iter().map(|results| &results.machine.date).max().unwrap_or(&first.machine.date);
    let name = options.machine.clone().unwrap_or_else(|| first.machine.short_name());
    let wanted = format!("crates/bench/results/{date}-{name}");
    let folder = folder.get_or_insert_with(|| unused(shell, wanted));
    let at = shell.current_dir().join(&*folder);
    shell.write_file(at.join("results.json"), serde_json::to_string_pretty(all)? + "\n")?;
    let shown = shown(all)?;
    let mut charts = Vec::new();
    for (file, svg) in chart::all(&shown.concat())? {
        shell.write_file(at.join(&file), svg)?;
        charts.push(file);
    }
    let command = match options.results.is_empty() {
        true => command(options),
        false => all.iter().flat_map(commands_there).collect::<Vec<_>>().join("\n"),
    };
    let page = page::text(date, &command, &charts, all, &shown);
    shell.write_file(at.join("README.md"), page)?;
    // A selection of benchmarks is no summary of the project.
    if options.arguments.is_empty() {
        for (results, entries) in all.iter().zip(&shown) {
            if let Some(table) = page::summary(&results.machine, entries, folder) {
                update_readme(shell, Path::new("README.md"), &results.machine.title(), &table)?;
            }
        }
    }
    println!("wrote {folder}");
    Ok(())
}

/// A folder that does not exist, with a number behind the wanted name where that is taken: results are
/// never overwritten.
fn unused(shell: &Shell, wanted: String) -> String {
    let (mut folder, mut number) = (wanted.clone(), 1);
    while shell.path_exists(&folder) {
        number += 1;
        folder = format!("{wanted}-{number}");
    }
    folder
}

/// Puts the newest table of a device where its old one was, unless measurements would be lost.
fn update_readme(shell: &Shell, path: &Path, device: &str, table: &str) -> anyhow::Result<()> {
    let text = shell.read_file(path)?;
    let lost = readme::lost(&text, device, table);
    if !lost.is_empty() {
        let lost = lost.join(", ");
        println!(
            "README keeps its table of {device}: these results lack {lost}\n\
             help: measure those too, or remove them from README"
        );
        return Ok(());
    }
    Ok(shell.write_file(path, readme::with_table(&text, device, table)?)?)
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

/// The commands that measure again on the machine from which results were brought.
fn commands_there(results: &Results) -> Vec<String> {
    let feature = &results.machine.backend;
    let cargo = format!("cargo run --release --package bench --features {feature} --");
    results.commands().iter().map(|arguments| format!("{cargo} {arguments}")).collect()
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
    use super::{
        page::tests::RESULTS,
        results::tests::{gpu, machine, results},
        *,
    };

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
    fn results_are_not_overwritten() {
        let shell = Shell::new().unwrap();
        let root = shell.create_temp_dir().unwrap();
        shell.change_dir(root.path());
        let options = Options { arguments: vec!["mlp-step".to_owned()], ..plain() };
        let (whole, part) = (results(machine(), RESULTS), results(machine(), "[]"));
        let (mut first, mut second) = (None, None);
        keep(&shell, &options, &[whole], &mut first).unwrap();
        let kept = format!("{}/results.json", first.clone().unwrap());
        let before = shell.read_file(&kept).unwrap();
        keep(&shell, &options, &[part], &mut second).unwrap();
        assert_eq!(shell.read_file(&kept).unwrap(), before);
        assert_eq!(second.unwrap(), format!("{}-2", first.unwrap()));
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

    #[test]
    fn results_of_another_machine_are_of_its_day_and_measured_again_there() {
        let shell = Shell::new().unwrap();
        let root = shell.create_temp_dir().unwrap();
        shell.change_dir(root.path());
        let options = Options { results: vec![PathBuf::from("steps.json")], ..plain() };
        let options = Options { arguments: vec!["mlp-step".to_owned()], ..options };
        let mut folder = None;
        keep(&shell, &options, &[results(gpu(), RESULTS)], &mut folder).unwrap();
        let folder = folder.unwrap();
        assert_eq!(folder, "crates/bench/results/2026-11-21-nvidia-h200");
        let page = shell.read_file(format!("{folder}/README.md")).unwrap();
        let command = "--features cuda -- run mlp-step scaling-batch\n```\n";
        assert!(page.ends_with(command) && !page.contains("steps.json"), "{page}");

        let commands = ["run mlp-step --rounds 3", "run scaling-batch --threads 1"];
        let commands = commands.map(str::to_owned).to_vec();
        let told = Results { commands, ..results(gpu(), RESULTS) };
        keep(&shell, &options, &[told], &mut None).unwrap();
        let page = shell.read_file(format!("{folder}-2/README.md")).unwrap();
        let command = "cargo run --release --package bench --features cuda -- run";
        let ends = format!(
            "```\n{command} mlp-step --rounds 3\n{command} scaling-batch --threads 1\n```\n"
        );
        assert!(page.ends_with(&ends), "{page}");
    }

    #[test]
    fn results_of_a_quick_run_are_not_kept() {
        let shell = Shell::new().unwrap();
        let root = shell.create_temp_dir().unwrap();
        shell.change_dir(root.path());
        let quick = Results { quick: true, ..results(machine(), RESULTS) };
        let error = keep(&shell, &plain(), &[quick], &mut None).unwrap_err().to_string();
        assert!(error.ends_with("measure again without `--quick`"), "{error}");
        assert!(shell.read_dir(".").unwrap().is_empty());
    }
}
