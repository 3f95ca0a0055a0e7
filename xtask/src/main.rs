//! The project's own chores, as `cargo xtask <chore>`: everything a contributor or CI runs that
//! plain cargo does not.

#![expect(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a chore reports to the person who ran it"
)]

// What CI runs.
mod ci;
mod tidy;

// What a person runs now and then.
mod bench;
mod golden;
mod gpu_check;
mod kill_test;

// What the chores share.
mod metadata;
mod program;

use std::{path::Path, process::ExitCode};

use anyhow::Context as _;
use clap::{Parser, Subcommand};
use xshell::Shell;

#[derive(Parser)]
#[command(bin_name = "cargo xtask", about)]
struct Arguments {
    #[command(subcommand)]
    chore: Chore,
}

#[derive(Subcommand)]
enum Chore {
    /// Run every check, stopping at the first that fails
    Ci {
        /// Leave a step out; may be repeated
        #[arg(long, value_name = "STEP")]
        skip: Vec<ci::Step>,
    },
    /// Check the project's conventions; each finding names file, line and remedy
    Tidy,
    /// Run the benchmarks in release and keep their results
    Bench(bench::Options),
    /// Make the golden values again and say whether they differ from the committed ones
    Golden,
    /// Hold a GPU backend against the CPU, recipe by recipe
    GpuCheck(gpu_check::Options),
    /// Kill training at random moments, resume it, and compare its end with a run left alone
    KillTest(kill_test::Options),
}

fn main() -> ExitCode {
    match run(&Arguments::parse().chore) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run(chore: &Chore) -> anyhow::Result<()> {
    let shell = Shell::new()?;
    let xtask = Path::new(env!("CARGO_MANIFEST_DIR"));
    shell.change_dir(xtask.parent().context("`xtask` lies in no repository")?);
    match chore {
        Chore::Ci { skip } => ci::run(&shell, skip),
        Chore::Tidy => tidy::run(&shell),
        Chore::Bench(options) => bench::run(&shell, options),
        Chore::Golden => golden::run(&shell),
        Chore::GpuCheck(options) => gpu_check::run(&shell, options),
        Chore::KillTest(options) => kill_test::run(&shell, options),
    }
}
