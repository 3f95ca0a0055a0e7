//! What the command line understands.

use std::{ffi::OsStr, num::IntErrorKind};

use clap::{
    Arg, Args, Parser, Subcommand,
    builder::{PossibleValue, StringValueParser, TypedValueParser},
};
use clap_complete::Shell;

use super::{
    compare::CompareArguments, copy::CopyArguments, devices::DevicesArguments, eval::EvalArguments,
    export::ExportArguments, generate::GenerateArguments, inspect::InspectArguments,
    lr_find::LrFindArguments, plan::PlanArguments, predict::PredictArguments,
    report::ReportArguments, resume::ResumeArguments, train::TrainArguments,
    verify_resume::VerifyArguments,
};
use crate::{console::ProgressMode, registry};

/// Train neural networks on your own data, on the CPU or a GPU.
///
/// Without a command, the default recipe is trained.
#[derive(Debug, Parser)]
#[command(name = "recipes", bin_name = "recipes", version, arg_required_else_help = false)]
pub(super) struct Arguments {
    #[command(subcommand)]
    pub(super) command: Option<Command>,
    #[command(flatten)]
    pub(super) common: Common,
}

/// Options that every command takes.
#[derive(Debug, Args)]
pub(super) struct Common {
    /// Progress: `auto` (a bar on a terminal, else lines), `plain` (lines) or `quiet`
    #[arg(
        long,
        global = true,
        value_enum,
        default_value_t,
        value_name = "HOW",
        hide_possible_values = true
    )]
    pub(super) progress: ProgressMode,
    /// Print the result as JSON; for `predict`, one line for each input
    #[arg(long, global = true)]
    pub(super) json: bool,
    /// Show the libraries' log messages
    #[arg(short, long, global = true)]
    pub(super) verbose: bool,
}

#[derive(Debug, Subcommand)]
pub(super) enum Command {
    /// List the recipes
    List,
    /// Train a model from a recipe or a configuration file
    #[command(after_help = "\
Examples:
  recipes train mlp
  recipes train mlp --set training.epochs=50 --seed 1
  recipes train mlp --set data.source=csv --set data.path=table.csv --set data.target=price
  recipes train cnn --set data.source=image-folder --set data.path=photos --set data.size=64
  recipes train my.toml --run-dir runs/first")]
    Train(TrainArguments),
    /// Describe a run without training: layers, memory, steps, learning rate
    #[command(after_help = "\
Examples:
  recipes plan cnn
  recipes plan my.toml --set training.batch_size=256 --bench
  recipes plan mlp --set schedule.kind=one_cycle --svg schedule.svg")]
    Plan(PlanArguments),
    /// Find a good learning rate: train briefly while it rises, until the loss diverges
    #[command(after_help = "\
Examples:
  recipes lr-find cnn
  recipes lr-find my.toml --set optimizer.kind=sgd --to 10 --output range.svg")]
    LrFind(LrFindArguments),
    /// Resume an interrupted run, finish it early, or extend a finished one
    #[command(after_help = "\
Examples:
  recipes resume runs/first
  recipes resume runs/first --set training.epochs=100
  recipes resume runs/first --set training.max_steps=1500")]
    Resume(ResumeArguments),
    /// Verify that a resumed run gives the same result as an uninterrupted one
    #[command(after_help = "\
Examples:
  recipes verify-resume mlp
  recipes verify-resume my.toml --steps 100")]
    VerifyResume(VerifyArguments),
    /// Evaluate a trained model on its held-out data or on other data
    #[command(after_help = "\
Examples:
  recipes eval runs/first
  recipes eval runs/first --data more-rows.csv --json
  recipes eval runs/first --csv > held-out.csv")]
    Eval(EvalArguments),
    /// Predict with a trained model
    #[command(after_help = "\
Examples:
  recipes predict runs/first rows.csv
  tail -n 3 rows.csv | recipes predict runs/first - --json
  recipes predict runs/second picture.jpg more-pictures/ --top 3
  recipes predict runs/second more-pictures/ --csv > predicted.csv")]
    Predict(PredictArguments),
    /// Generate text with a trained text model
    #[command(after_help = "\
Examples:
  recipes generate runs/text --prompt \"The GPU\"
  recipes generate runs/text --prompt \"The GPU\" --temperature 0.5 --length 500 --seed 1")]
    Generate(GenerateArguments),
    /// Export a trained model for other programs: ONNX or safetensors
    #[command(after_help = "\
Examples:
  recipes export runs/first --format onnx
  recipes export runs/first --format onnx --precision i8 --output small.onnx
  recipes export runs/first --format safetensors --precision f16 --output first.safetensors")]
    Export(ExportArguments),
    /// Write an HTML report of a run: results, curves, mistakes
    #[command(after_help = "\
Examples:
  recipes report runs/first
  recipes report runs/first --output first.html")]
    Report(ReportArguments),
    /// Compare finished runs; those that differ only in their seed become one row
    #[command(after_help = "\
Examples:
  recipes compare runs/first runs/second
  recipes compare runs/* --sort validation_accuracy
  recipes compare runs/seed-* --output seeds.html")]
    Compare(CompareArguments),
    /// Copy a recipe's settings, with comments, to a file for editing
    #[command(after_help = "\
Example:
  recipes copy mlp my.toml
  recipes train my.toml")]
    Copy(CopyArguments),
    /// Download and inspect data sets
    Data {
        #[command(subcommand)]
        command: DataCommand,
    },
    /// List the devices that this build can train on
    Devices(DevicesArguments),
    /// Print a shell completion script
    #[command(after_help = "\
Example:
  recipes completions bash > ~/.local/share/bash-completion/completions/recipes")]
    Completions {
        /// The shell
        shell: Shell,
    },
}

#[derive(Debug, Subcommand)]
pub(super) enum DataCommand {
    /// Download a well-known data set
    ///
    /// It is kept in the folder named by BURN_RECIPES_DATA, or else in the platform's cache
    /// folder, and not downloaded again.
    #[cfg(feature = "download")]
    #[command(after_help = "\
Example:
  recipes data get mnist")]
    Get(super::get::GetArguments),
    /// Count and check the samples of a data source, and draw a contact sheet
    #[command(after_help = "\
Examples:
  recipes data inspect csv table.csv --target price
  recipes data inspect image-folder photos --sheet sheet.png
  recipes data inspect digits --sheet digits.png
  recipes data inspect shapes --sheet shapes.png --augment rotate=15 horizontal_flip=0.5")]
    Inspect(InspectArguments),
}

/// Parses a recipe's name, which shells complete, or whatever else stands in its place.
#[derive(Clone)]
pub(super) struct RecipeParser;

impl TypedValueParser for RecipeParser {
    type Value = String;

    fn parse_ref(
        &self,
        command: &clap::Command,
        argument: Option<&Arg>,
        value: &OsStr,
    ) -> Result<String, clap::Error> {
        StringValueParser::new().parse_ref(command, argument, value)
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue> + '_>> {
        let recipes = registry::RECIPES.iter();
        Some(Box::new(recipes.map(|recipe| PossibleValue::new(recipe.name))))
    }
}

/// Parses a whole number.
pub(super) fn at_least<const LEAST: u64>(text: &str) -> Result<u64, String> {
    match text.parse::<u64>() {
        Ok(number) if number >= LEAST => Ok(number),
        Err(error) if *error.kind() == IntErrorKind::PosOverflow => {
            Err("it is too large".to_owned())
        }
        _ => Err(format!("it is not a whole number of at least {LEAST}")),
    }
}
