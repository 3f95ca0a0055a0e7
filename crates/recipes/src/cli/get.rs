//! `recipes data get`: downloads a well-known data set.

use std::path::Path;

use clap::builder::PossibleValuesParser;
use serde::Serialize;

use super::output::Output;
use crate::{
    Failure,
    console::{Console, ProgressMode},
    download::{self, DownloadError},
    shell::set,
};

#[derive(Debug, clap::Args)]
pub(super) struct GetArguments {
    /// The data set
    #[arg(value_parser = PossibleValuesParser::new(download::names()))]
    name: String,
}

/// Where the data set is, and how to train on it.
#[derive(Serialize)]
struct Got {
    name: &'static str,
    folder: String,
    settings: Vec<String>,
    recipe: &'static str,
}

pub(super) fn run(
    arguments: &GetArguments,
    progress: ProgressMode,
    output: &Output,
) -> Result<(), Failure> {
    let set = download::find(&arguments.name).expect("clap accepts only these names");
    let failure = |error: DownloadError, folder: &Path| {
        error.failure(set.files, set.base, &folder.join(set.name))
    };
    let folder = download::folder().map_err(|error| failure(error, Path::new("")))?;
    let (mut console, task) = (Console::new(progress), format!("downloading {}", set.name));
    let mut show = console.progress();
    let mut show = |have, of| show(&task, have as usize, of as usize);
    let folder = download::get(set, set.base, &folder, &download::agent(), &mut show)
        .map_err(|error| failure(error, &folder))?;
    let path = folder.join(set.path);
    let settings =
        vec![format!("data.source={}", set.source), format!("data.path={}", path.display())];
    let folder = folder.display().to_string();
    let got = Got { name: set.name, folder, settings, recipe: set.recipe };
    output.result(&got, describe)
}

fn describe(got: &Got) -> String {
    let settings = got.settings.iter().map(|setting| set(setting));
    format!("{}\nrecipes train {}{}\n", got.folder, got.recipe, settings.collect::<String>())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_that_comes_next_can_be_copied() {
        let got = Got {
            name: "mnist",
            folder: "my data/mnist".into(),
            settings: vec!["data.source=idx".into(), "data.path=my data/mnist".into()],
            recipe: "cnn",
        };
        let path = set("data.path=my data/mnist");
        let command = format!("recipes train cnn --set data.source=idx{path}");
        assert_eq!(describe(&got), format!("my data/mnist\n{command}\n"));
    }
}
