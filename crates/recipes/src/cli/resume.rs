//! `recipes resume`.

use std::{
    fs,
    path::{Path, PathBuf},
    time::Instant,
};

use super::{arguments::Common, output::Output, signals::stop_on_signals, train::describe};
use crate::{
    Console, ExitCode, Failure, Start, Summary,
    config::Layer,
    registry,
    run_directory::{CONFIG, SUMMARY},
};

#[derive(Debug, clap::Args)]
pub(super) struct ResumeArguments {
    /// The run directory
    #[arg(value_name = "RUN")]
    run: PathBuf,
    /// Make the run longer: `training.epochs=N` or `training.max_steps=N`; may be given many times
    #[arg(long = "set", value_name = "KEY=VALUE", allow_hyphen_values = true)]
    settings: Vec<String>,
}

pub(super) fn run(
    arguments: &ResumeArguments,
    common: &Common,
    output: &Output,
    began: Instant,
) -> Result<(), Failure> {
    let directory = &arguments.run;
    let shown = directory.display();
    let config = directory.join(CONFIG);
    if !config.is_file() {
        return Err(Failure::new(
            ExitCode::UserData,
            format!("`{shown}` is not a run: it has no `{CONFIG}`"),
            format!("name a run directory, or begin a run: recipes train mlp --run-dir {shown}"),
        ));
    }
    if arguments.settings.is_empty()
        && let Some(summary) = finished(directory)?
    {
        output.result(&summary, |summary| {
            let text = describe(summary, directory, false);
            let help = format!(
                "to make it longer: recipes resume {shown} --set training.epochs={}",
                2 * summary.epochs
            );
            format!("the run is finished already\n{text}{help}\n")
        });
        return Ok(());
    }

    let layer = Layer::file(&config);
    let recipe = registry::find(layer.recipe_name()?)?;
    let mut layers = vec![layer];
    layers.extend(arguments.settings.iter().map(|setting| Layer::set(setting)));
    let mut console = Console::new(common.progress);
    let start = Start {
        observer: &mut console,
        interrupt: stop_on_signals()?,
        directory: directory.clone(),
        resumes: true,
        command_line: std::env::args().collect(),
        began,
    };
    let summary = (recipe.train)(layers, start)?;
    output.result(&summary, |summary| describe(summary, directory, false));
    Ok(())
}

/// What the run came to, if it is finished.
fn finished(directory: &Path) -> Result<Option<Summary>, Failure> {
    let path = directory.join(SUMMARY);
    let damaged = |reason: String| {
        Failure::new(
            ExitCode::UserData,
            format!("`{}` cannot be read: {reason}", path.display()),
            "remove the file, and the run goes on from its last checkpoint",
        )
    };
    match fs::read(&path) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(damaged(error.to_string())),
        Ok(bytes) => serde_json::from_slice(&bytes).map_err(|error| damaged(error.to_string())),
    }
}
