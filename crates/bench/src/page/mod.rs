//! The page of results, and README's tables.

mod chart;
mod readme;
mod row;
mod text;

use std::{
    fs,
    path::{Path, PathBuf},
};

use anyhow::{Context as _, ensure};
use clap::Args;

use self::row::rows;
use crate::{Results, results::merge};

/// Where results are kept, in the repository.
const KEPT: &str = "crates/bench/results";

/// Whose page, and what stands on it.
#[derive(Args, Clone, Debug)]
pub struct PageOptions {
    /// Files that `bench run --json` wrote
    #[arg(required = true)]
    pub files: Vec<PathBuf>,
    /// The machine's name in the name of the folder [default: that of its first device]
    #[arg(long)]
    pub machine: Option<String>,
    /// The command that measures again [default: those that measured, on their machine]
    #[arg(long)]
    pub command: Option<String>,
    /// Put the tables into README, too
    #[arg(long)]
    pub summary: bool,
}

/// Writes a new folder `crates/bench/results/<date>-<machine>/` and, if asked to, the tables in README.
///
/// - `root`: of the repository
///
/// # Errors
///
/// Where a file has no results that may be kept, `root` is no repository, or a file cannot be written.
#[allow(clippy::print_stdout)] // What was written.
pub fn write_page(root: &Path, options: &PageOptions) -> anyhow::Result<()> {
    let read = options.files.iter().map(|path| Results::read(path));
    let all = merge(read.collect::<Result<Vec<_>, _>>()?.concat())?;
    ensure!(
        !all.iter().any(|results| results.quick),
        "results of `bench run --quick` are not kept, since their times mean nothing; measure again \
         without `--quick`"
    );
    let first = &all.first().context("the files hold no results; measure again")?.machine;
    let date = all.iter().map(|results| &results.machine.date).max().unwrap_or(&first.date);
    let name = options.machine.clone().unwrap_or_else(|| first.short_name());
    ensure!(
        root.join(KEPT).is_dir(),
        "there is no folder `{KEPT}`; run it in the repository's root"
    );
    let folder = &unused(root, format!("{KEPT}/{date}-{name}"));
    let at = root.join(folder);
    store::create_directory(&at)?;
    let write = |file: &str, text: &str| store::write_whole(&at.join(file), text.as_bytes());
    write("results.json", &(serde_json::to_string_pretty(&all)? + "\n"))?;
    let rows = rows(&all);
    let mut charts = Vec::new();
    for (file, svg) in chart::all(&rows.concat())? {
        write(&file, &svg)?;
        charts.push(file);
    }
    let there = || all.iter().flat_map(commands_there).collect::<Vec<_>>().join("\n");
    let command = options.command.clone().unwrap_or_else(there);
    write("README.md", &text::page(date, &command, &charts, &all, &rows))?;
    if options.summary {
        for (results, rows) in all.iter().zip(&rows) {
            if let Some(table) = text::summary(&results.machine, rows, folder) {
                update_readme(&root.join("README.md"), &results.machine.title(), &table)?;
            }
        }
    }
    println!("wrote {folder}");
    Ok(())
}

/// A folder that does not exist, with a number behind the wanted name where that is taken: results are
/// never overwritten.
fn unused(root: &Path, wanted: String) -> String {
    let (mut folder, mut number) = (wanted.clone(), 1);
    while root.join(&folder).exists() {
        number += 1;
        folder = format!("{wanted}-{number}");
    }
    folder
}

/// The commands that measure again on the machine from which results were brought.
fn commands_there(results: &Results) -> Vec<String> {
    let feature = &results.machine.backend;
    let cargo = format!("cargo run --release --package bench --features {feature} --");
    results.commands().iter().map(|arguments| format!("{cargo} {arguments}")).collect()
}

/// Puts the newest table of a device where its old one was, unless measurements would be lost.
#[allow(clippy::print_stdout)] // Why it stays.
fn update_readme(path: &Path, device: &str, table: &str) -> anyhow::Result<()> {
    let text = fs::read_to_string(path).context("cannot read README.md")?;
    let lost = readme::lost(&text, device, table);
    if !lost.is_empty() {
        let lost = lost.join(", ");
        println!(
            "README keeps its table of {device}: these results lack {lost}\n\
             help: measure those too, or remove them from README"
        );
        return Ok(());
    }
    Ok(store::write_whole(path, readme::with_table(&text, device, table)?.as_bytes())?)
}

#[cfg(test)]
mod tests {
    use tempfile::TempDir;

    use super::{
        readme::{BEGINS, ENDS},
        text::tests::RESULTS,
        *,
    };
    use crate::results::tests::{gpu, machine, results};

    /// A repository with a file of results, and how their page is written.
    fn measured(results: &Results) -> (TempDir, PageOptions) {
        let root = tempfile::tempdir().unwrap();
        fs::create_dir_all(root.path().join(KEPT)).unwrap();
        let file = root.path().join("measured.json");
        results.write(&file).unwrap();
        let (files, summary) = (vec![file], false);
        (root, PageOptions { files, machine: None, command: None, summary })
    }

    #[test]
    fn results_are_not_overwritten() {
        let (root, options) = measured(&results(machine(), RESULTS));
        write_page(root.path(), &options).unwrap();
        let folder = root.path().join("crates/bench/results/2026-11-21-amd-epyc-tm-7b13-2-cores");
        let before = fs::read(folder.join("results.json")).unwrap();
        results(machine(), "[]").write(&options.files[0]).unwrap();
        write_page(root.path(), &options).unwrap();
        assert_eq!(fs::read(folder.join("results.json")).unwrap(), before);
        assert!(folder.with_file_name("2026-11-21-amd-epyc-tm-7b13-2-cores-2").exists());
    }

    #[test]
    fn what_was_given_stands_on_the_page() {
        let (root, options) = measured(&results(machine(), RESULTS));
        let (machine, command) = (Some("here".to_owned()), Some("cargo xtask bench".to_owned()));
        let options = PageOptions { machine, command, ..options };
        write_page(root.path(), &options).unwrap();
        let page = root.path().join("crates/bench/results/2026-11-21-here/README.md");
        let page = fs::read_to_string(page).unwrap();
        assert!(page.ends_with("```\ncargo xtask bench\n```\n"), "{page}");
    }

    #[test]
    fn results_of_another_machine_are_of_its_day_and_measured_again_there() {
        let (root, options) = measured(&results(gpu(), RESULTS));
        let folder = root.path().join("crates/bench/results/2026-11-21-nvidia-h200");
        write_page(root.path(), &options).unwrap();
        let page = fs::read_to_string(folder.join("README.md")).unwrap();
        let command = "--features cuda -- run mlp-step scaling-batch\n```\n";
        assert!(page.ends_with(command) && !page.contains("measured.json"), "{page}");

        let commands = ["run mlp-step --rounds 3", "run scaling-batch --threads 1"];
        let commands = commands.map(str::to_owned).to_vec();
        let told = Results { commands, ..results(gpu(), RESULTS) };
        told.write(&options.files[0]).unwrap();
        write_page(root.path(), &options).unwrap();
        let page = folder.with_file_name("2026-11-21-nvidia-h200-2").join("README.md");
        let page = fs::read_to_string(page).unwrap();
        let command = "cargo run --release --package bench --features cuda -- run";
        let ends = format!(
            "```\n{command} mlp-step --rounds 3\n{command} scaling-batch --threads 1\n```\n"
        );
        assert!(page.ends_with(&ends), "{page}");
    }

    #[test]
    fn results_of_a_quick_run_are_not_kept() {
        let (root, options) = measured(&Results { quick: true, ..results(machine(), RESULTS) });
        let error = write_page(root.path(), &options).unwrap_err().to_string();
        assert!(error.ends_with("measure again without `--quick`"), "{error}");
        assert!(fs::read_dir(root.path().join(KEPT)).unwrap().next().is_none());
    }

    #[test]
    fn a_page_is_written_in_a_repository_only() {
        let (root, options) = measured(&results(machine(), RESULTS));
        fs::remove_dir(root.path().join(KEPT)).unwrap();
        let error = write_page(root.path(), &options).unwrap_err().to_string();
        assert!(error.ends_with("run it in the repository's root"), "{error}");
    }

    #[test]
    fn a_summary_replaces_the_devices_table_in_readme_unless_it_has_less() {
        let (root, options) = measured(&results(machine(), RESULTS));
        let readme = root.path().join("README.md");
        fs::write(&readme, format!("before\n{BEGINS}{ENDS}after\n")).unwrap();
        write_page(root.path(), &options).unwrap();
        assert!(!fs::read_to_string(&readme).unwrap().contains("mlp-step"));
        let options = PageOptions { summary: true, ..options };
        write_page(root.path(), &options).unwrap();
        let with_table = fs::read_to_string(&readme).unwrap();
        assert!(with_table.contains("mlp-step") && with_table.contains("56.1 µs"), "{with_table}");

        let slower = RESULTS.replace("5.61e-5", "7.61e-5");
        results(machine(), &slower).write(&options.files[0]).unwrap();
        write_page(root.path(), &options).unwrap();
        let replaced = fs::read_to_string(&readme).unwrap();
        assert_eq!(replaced.matches("mlp-step").count(), with_table.matches("mlp-step").count());
        assert!(replaced.contains("76.1 µs") && !replaced.contains("56.1 µs"), "{replaced}");

        // Without one of the peers.
        let mut fewer = results(machine(), RESULTS);
        fewer.entries[0].peers.pop();
        fewer.write(&options.files[0]).unwrap();
        write_page(root.path(), &options).unwrap();
        assert_eq!(fs::read_to_string(&readme).unwrap(), replaced);
    }
}
