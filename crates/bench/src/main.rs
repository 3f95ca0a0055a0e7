//! The program `bench`.

use std::path::PathBuf;

use anyhow::Context;
use bench::{CASES, Case, Entry};
use clap::{Parser, Subcommand};

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc; // as in `recipes`

/// Measures what the recipes run.
#[derive(Parser)]
#[command(name = "bench")]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Name the benchmarks
    List,
    /// Run benchmarks: all of them, or those named
    Run {
        /// The benchmarks to run
        names: Vec<String>,
        /// Measured runs of each
        #[arg(long, default_value_t = 5)]
        runs: usize,
        /// Write the results into a file
        #[arg(long, value_name = "FILE")]
        json: Option<PathBuf>,
    },
}

#[allow(clippy::print_stdout)] // The program's results.
fn main() -> anyhow::Result<()> {
    match Arguments::parse().command {
        Command::List => {
            for case in CASES {
                println!("{:<16} {}", case.name, case.summary);
            }
        }
        Command::Run { names, runs, json } => {
            let mut entries = Vec::new();
            for case in chosen(&names)? {
                let entry = case.run(runs)?;
                println!("{}", describe(&entry));
                entries.push(entry);
            }
            if let Some(path) = json {
                let text = serde_json::to_string_pretty(&entries)?;
                store::write_whole(&path, format!("{text}\n").as_bytes())?;
            }
        }
    }
    Ok(())
}

fn chosen(names: &[String]) -> anyhow::Result<Vec<&'static Case>> {
    if names.is_empty() {
        return Ok(CASES.iter().collect());
    }
    let find = |name: &String| {
        CASES
            .iter()
            .find(|case| case.name == name)
            .with_context(|| format!("there is no benchmark `{name}`; `bench list` names them"))
    };
    names.iter().map(find).collect()
}

fn describe(entry: &Entry) -> String {
    format!(
        "{:<16} {:>10.1} us a step, spread {:.1} us, {:.0} samples/s ({}, {} threads)",
        entry.name,
        entry.median_seconds * 1e6,
        entry.spread * 1e6,
        entry.samples_per_second,
        entry.backend,
        entry.threads,
    )
}
