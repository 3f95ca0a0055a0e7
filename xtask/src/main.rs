//! The project's developer commands, as `cargo xtask <command>`: everything that a contributor or CI
//! runs and plain cargo does not.

#![expect(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a command reports to the person who ran it"
)]

// What CI runs.
mod ci;
mod tidy;

// What a person runs now and then.
mod bench;
mod golden;
mod gpu_check;
mod kill_test;
mod web_page;

// What the commands share.
mod emulated_cuda;
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
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Run every check, stopping at the first that fails
    Ci {
        /// Leave a step out; may be repeated
        #[arg(long, value_name = "STEP")]
        skip: Vec<ci::Step>,
    },
    /// Check the project's conventions; each finding names a file, a line and a remedy
    Tidy,
    /// Run the benchmarks in release and keep their results
    Bench(bench::Options),
    /// Regenerate the golden values and report whether they differ from the committed ones
    Golden,
    /// Compare a GPU backend with the CPU, recipe by recipe
    GpuCheck(gpu_check::Options),
    /// Kill training at random moments, resume it, and compare the result with an undisturbed run
    KillTest(kill_test::Options),
    /// Build the web page that classifies pictures with a trained run
    WebPage,
}

fn main() -> ExitCode {
    match run(&Arguments::parse().command) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run(command: &Command) -> anyhow::Result<()> {
    let shell = Shell::new()?;
    let xtask = Path::new(env!("CARGO_MANIFEST_DIR"));
    shell.change_dir(xtask.parent().context("`xtask` is not in a repository")?);
    match command {
        Command::Ci { skip } => ci::run(&shell, skip),
        Command::Tidy => tidy::run(&shell),
        Command::Bench(options) => bench::run(&shell, options),
        Command::Golden => golden::run(&shell),
        Command::GpuCheck(options) => gpu_check::run(&shell, options),
        Command::KillTest(options) => kill_test::run(&shell, options),
        Command::WebPage => web_page::run(&shell),
    }
}
