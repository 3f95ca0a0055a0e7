//! The command line: what it understands, and the one place that prints and picks the exit code.

mod arguments;
mod augmented;
mod compare;
mod copy;
mod devices;
mod eval;
mod export;
mod generate;
#[cfg(feature = "download")]
mod get;
mod inspect;
mod list;
mod logger;
mod lr_find;
mod output;
mod panics;
mod plan;
mod predict;
mod report;
mod resume;
mod signals;
mod train;
mod verify_resume;

use std::{process, time::Instant};

use clap::{CommandFactory, Parser};

use self::{
    arguments::{Arguments, Command, DataCommand},
    output::Output,
};
use crate::{ExitCode, Failure};

/// Runs the program on the arguments of the process.
pub fn main() -> process::ExitCode {
    let began = Instant::now();
    let arguments = match Arguments::try_parse() {
        Ok(arguments) => arguments,
        Err(error) if !error.use_stderr() => {
            // Help and version, which clap colours on a terminal only. A reader that left is no failure.
            let _ = error.print();
            return process::ExitCode::SUCCESS;
        }
        Err(error) => return fail(&arguments::misuse(&error)),
    };
    logger::install(arguments.common.verbose);
    backend::device::prepare_process();
    let output = Output { json: arguments.common.json };
    match panics::told(|| run(arguments, &output, began)) {
        Ok(()) => process::ExitCode::SUCCESS,
        Err(failure) => fail(&failure),
    }
}

fn run(arguments: Arguments, output: &Output, began: Instant) -> Result<(), Failure> {
    match arguments.command {
        None => train::run(&train::TrainArguments::default(), &arguments.common, output, began),
        Some(Command::Train(options)) => train::run(&options, &arguments.common, output, began),
        Some(Command::Plan(options)) => plan::run(&options, &arguments.common, output),
        Some(Command::LrFind(options)) => lr_find::run(&options, &arguments.common, output),
        Some(Command::List) => list::run(output),
        Some(Command::Resume(options)) => resume::run(&options, &arguments.common, output, began),
        Some(Command::VerifyResume(options)) => verify_resume::run(&options, output),
        Some(Command::Predict(options)) => predict::run(&options, output),
        Some(Command::Generate(options)) => generate::run(&options, output),
        Some(Command::Eval(options)) => eval::run(&options, arguments.common.progress, output),
        Some(Command::Export(options)) => export::run(&options, output),
        Some(Command::Report(options)) => report::run(&options, arguments.common.progress, output),
        Some(Command::Compare(options)) => compare::run(&options, output),
        Some(Command::Copy(options)) => copy::run(&options),
        #[cfg(feature = "download")]
        Some(Command::Data { command: DataCommand::Get(options) }) => {
            get::run(&options, arguments.common.progress, output)
        }
        Some(Command::Data { command: DataCommand::Inspect(options) }) => {
            inspect::run(&options, output)
        }
        Some(Command::Devices(options)) => devices::run(&options, output),
        Some(Command::Completions { shell }) => {
            let mut script = Vec::new();
            clap_complete::generate(shell, &mut Arguments::command(), "recipes", &mut script);
            output::print(&String::from_utf8_lossy(&script));
            Ok(())
        }
    }
}

fn fail(failure: &Failure) -> process::ExitCode {
    output::print_failure(failure);
    process::ExitCode::from(match failure.exit_code {
        ExitCode::Unexpected => 1,
        ExitCode::Usage => 2,
        ExitCode::UserData => 3,
        ExitCode::Device => 4,
        ExitCode::Diverged => 5,
        ExitCode::Interrupted => 130,
    })
}
