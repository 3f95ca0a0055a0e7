//! `recipes copy`.

use std::path::PathBuf;

use super::output::print;
use crate::{ExitCode, Failure, registry};

#[derive(Debug, clap::Args)]
pub(super) struct CopyArguments {
    /// The recipe to copy
    recipe: String,
    /// The file to write; it must not exist
    #[arg(value_name = "FILE.toml")]
    file: PathBuf,
}

pub(super) fn run(arguments: &CopyArguments) -> Result<(), Failure> {
    let recipe = registry::find(&arguments.recipe)?;
    let shown = arguments.file.display();
    if arguments.file.extension().is_none_or(|extension| extension != "toml") {
        return Err(Failure::new(
            ExitCode::Usage,
            format!("`{shown}` does not end in `.toml`"),
            "`recipes train` takes a name that does for a file, and any other for a recipe",
        ));
    }
    if arguments.file.exists() {
        return Err(Failure::new(
            ExitCode::UserData,
            format!("`{shown}` exists"),
            "name another file, or remove that one first",
        ));
    }
    store::write_whole(&arguments.file, recipe.toml.as_bytes()).map_err(Failure::user_data)?;
    print(&format!("wrote {shown}; edit it, then: recipes train {shown}\n"))
}
