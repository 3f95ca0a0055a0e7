//! The command line: its arguments, and what it answers on stdout and by its exit code.

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
mod given_data;
mod inspect;
mod list;
mod logger;
mod lr_find;
mod misuse;
mod model;
mod new_file;
mod other_programs;
mod output;
mod panics;
mod plan;
mod predict;
mod printer;
mod processes;
mod report;
mod resume;
mod signals;
mod train;
mod verify_resume;
mod wildcards;

use std::{env, process, time::Instant};

use backend::Share;
use clap::{CommandFactory, Parser, error::ErrorKind};
use training::Group;

use self::{
    arguments::{Arguments, Command, DataCommand},
    misuse::misuse,
    output::Output,
    wildcards::looked_up,
};
use crate::{ExitCode, Failure, cache_folder::cache_folder, run::out_of_memory};

/// Runs the program on the arguments of the process.
pub fn main() -> process::ExitCode {
    let began = Instant::now();
    out_of_memory::install();
    let group = match Group::from_launcher() {
        Ok(group) => group,
        Err(error) => return fail(&Failure::from(error), &Group::alone()),
    };
    let words: Vec<_> = env::args_os().collect();
    let words = if cfg!(windows) { looked_up(words) } else { words };
    let arguments = match Arguments::try_parse_from(words) {
        Ok(arguments) => arguments,
        Err(error) if !error.use_stderr() => {
            // Help and version, which clap colours on a terminal only.
            let printed =
                if group.is_rank_zero() { output::written(error.print()) } else { Ok(()) };
            return match printed {
                Ok(()) => process::ExitCode::SUCCESS,
                Err(failure) => fail(&failure, &group),
            };
        }
        Err(error) if error.kind() == ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => {
            let exit_code = ExitCode::Usage as u8;
            // Nobody is left to tell when stderr is closed.
            group.fail(exit_code, || drop(error.print()));
            return process::ExitCode::from(exit_code);
        }
        Err(error) => {
            let words: Vec<String> =
                env::args_os().skip(1).map(|word| word.to_string_lossy().into_owned()).collect();
            let failure = misuse(&error, &words);
            let json = words.iter().any(|word| word == "--json");
            Output::new(json, !group.is_rank_zero()).failure(&failure);
            return fail(&failure, &group);
        }
    };
    logger::install(arguments.common.verbose);
    #[cfg(unix)]
    signals::survive_limits_on_files();
    backend::device::prepare_process(group.share_of_cores());
    if let Some(folder) = cache_folder() {
        backend::device::keep_kernels_in(folder.join("kernels"));
    }
    let output = Output::new(arguments.common.json, !group.is_rank_zero());
    let ended = panics::run_without_panics(|| {
        let ended = run(arguments, &output, began, &group);
        signals::run_has_ended();
        ended.or_else(|failure| match failure.exit_code {
            ExitCode::Done => Ok(()),
            _ => {
                output.failure(&failure);
                Err(failure)
            }
        })?;
        // So that no rank succeeds where another fails on its last file.
        Ok(group.barrier()?)
    });
    // The last handle of the group is dropped with this function, which ends MPI.
    backend::set_sum_over_processes(None);
    match ended {
        Ok(()) => process::ExitCode::SUCCESS,
        Err(failure) => fail(&failure, &group),
    }
}

fn run(
    arguments: Arguments,
    output: &Output,
    began: Instant,
    group: &Group,
) -> Result<(), Failure> {
    let trains = matches!(
        arguments.command,
        None | Some(Command::Train(_) | Command::Resume(_) | Command::VerifyResume(_))
    );
    if !trains {
        processes::refuse_group(group)?;
    }
    let progress = arguments.common.progress;
    match arguments.command {
        None => {
            let options = train::TrainArguments::default();
            train::run(&options, progress, output, began, group)
        }
        Some(Command::Train(options)) => train::run(&options, progress, output, began, group),
        Some(Command::Plan(options)) => plan::run(&options, progress, output),
        Some(Command::LrFind(options)) => lr_find::run(&options, progress, output),
        Some(Command::List) => list::run(output),
        Some(Command::Resume(options)) => resume::run(&options, progress, output, began, group),
        Some(Command::VerifyResume(options)) => {
            verify_resume::run(&options, progress, output, group)
        }
        Some(Command::Predict(options)) => predict::run(&options, output),
        Some(Command::Generate(options)) => generate::run(&options, output),
        Some(Command::Eval(options)) => eval::run(&options, progress, output),
        Some(Command::Export(options)) => export::run(&options, output),
        Some(Command::Report(options)) => report::run(&options, progress, output),
        Some(Command::Compare(options)) => compare::run(&options, output),
        Some(Command::Copy(options)) => copy::run(&options, output),
        #[cfg(feature = "download")]
        Some(Command::Data { command: DataCommand::Get(options) }) => {
            get::run(&options, progress, output)
        }
        Some(Command::Data { command: DataCommand::Inspect(options) }) => {
            inspect::run(&options, progress, output)
        }
        Some(Command::Devices(options)) => devices::run(&options, progress, output),
        Some(Command::Completions { shell }) => {
            let mut script = Vec::new();
            clap_complete::generate(shell, &mut Arguments::command(), "recipes", &mut script);
            output::print(&String::from_utf8_lossy(&script))
        }
    }
}

/// Prints a failure, unless another process does, and returns the exit code.
fn fail(failure: &Failure, group: &Group) -> process::ExitCode {
    let exit_code = failure.exit_code as u8;
    group.fail(exit_code, || {
        output::print_failure(failure);
        if !group.is_rank_zero() {
            let Share { rank, of } = group.share();
            output::print_note(&format!("this is the error of rank {rank} of {of}"));
        }
    });
    process::ExitCode::from(exit_code)
}
