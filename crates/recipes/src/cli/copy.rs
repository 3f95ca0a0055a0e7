//! `recipes copy`.

use std::path::PathBuf;

use serde::Serialize;

use super::{arguments::RecipeParser, output::Output};
use crate::{ExitCode, Failure, registry, shell::command};

#[derive(Debug, clap::Args)]
pub(super) struct CopyArguments {
    /// The recipe to copy
    #[arg(value_parser = RecipeParser, hide_possible_values = true)]
    recipe: String,
    /// The file to write; it must not exist
    #[arg(value_name = "FILE.toml")]
    file: PathBuf,
}

/// What was written.
#[derive(Serialize)]
struct Copied {
    recipe: &'static str,
    file: String,
}

pub(super) fn run(arguments: &CopyArguments, output: &Output) -> Result<(), Failure> {
    let recipe = registry::find(&arguments.recipe)?;
    let shown = arguments.file.display();
    if arguments.file.extension().is_none_or(|extension| extension != "toml") {
        return Err(Failure::new(
            ExitCode::Usage,
            format!("`{shown}` does not end in `.toml`"),
            "`recipes train` recognises a file by that ending; any other name is a recipe's",
        ));
    }
    if arguments.file.exists() {
        return Err(Failure::new(
            ExitCode::UserData,
            format!("`{shown}` already exists"),
            "name another file, or remove this one first",
        ));
    }
    store::write_whole(&arguments.file, recipe.toml.as_bytes()).map_err(Failure::user_data)?;
    let copied = Copied { recipe: recipe.name, file: shown.to_string() };
    output.result(&copied, |Copied { file, .. }| {
        format!("wrote {file}; edit it, then: {}\n", command("train", &arguments.file))
    })
}
