//! `recipes data get`: downloads a well-known data set.

use std::{
    io::{IsTerminal, Write, stderr},
    path::Path,
};

use clap::builder::PossibleValuesParser;
use indicatif::{ProgressBar, ProgressStyle};
use serde::Serialize;

use super::output::Output;
use crate::{
    ExitCode, Failure, Progress,
    download::{self, DataSet, DownloadError},
    shell::quoted,
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
    progress: Progress,
    output: &Output,
) -> Result<(), Failure> {
    let set = download::find(&arguments.name).expect("clap accepts only these names");
    let folder = download::folder().map_err(|error| failure(&error, set, Path::new("")))?;
    let bar = bar(progress, set);
    let mut show = |have, of| {
        bar.set_length(of);
        bar.set_position(have);
    };
    let got = download::get(set, set.base, &folder, &download::agent(), &mut show);
    bar.finish_and_clear();
    let folder = got.map_err(|error| failure(&error, set, &folder))?;
    let path = folder.join(set.path);
    let settings =
        vec![format!("data.source={}", set.source), format!("data.path={}", path.display())];
    let folder = folder.display().to_string();
    let got = Got { name: set.name, folder, settings, recipe: set.recipe };
    output.result(&got, describe)
}

fn describe(got: &Got) -> String {
    let settings = got.settings.iter().map(|setting| format!(" --set {}", quoted(setting)));
    format!("{}\nrecipes train {}{}\n", got.folder, got.recipe, settings.collect::<String>())
}

/// A bar on a terminal; elsewhere a line at the start, if anything.
fn bar(progress: Progress, set: &DataSet) -> ProgressBar {
    let is_terminal = stderr().is_terminal();
    if progress == Progress::Auto && is_terminal {
        let template = "{msg} {bar:30} {bytes}/{total_bytes}, {bytes_per_sec}, {eta} left";
        let style = ProgressStyle::with_template(template).expect("the template is a constant");
        return ProgressBar::new(0).with_style(style).with_message(set.name);
    }
    if progress != Progress::Quiet {
        let megabytes = set.bytes() as f64 / 1e6;
        // Nobody is left to tell when stderr is closed.
        let _ = writeln!(stderr(), "{}: {megabytes:.1} MB from {}", set.name, set.base);
    }
    ProgressBar::hidden()
}

/// What went wrong, and how to do without the network.
fn failure(error: &DownloadError, set: &DataSet, folder: &Path) -> Failure {
    let by_hand = || {
        let names: Vec<String> = set.files.iter().map(|file| format!("`{}`", file.name)).collect();
        format!(
            "download {} from `{}` into `{}` by hand, then run the command again",
            names.join(", "),
            set.base,
            folder.join(set.name).display()
        )
    };
    Failure::new(ExitCode::Unexpected, error.to_string(), error.help().unwrap_or_else(by_hand))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_a_network_all_is_said_that_a_person_needs() {
        let set = download::find("mnist").unwrap();
        let (url, reason) = (format!("{}x", set.base), "no route".to_owned());
        let error = DownloadError::Unreachable { url, reason };
        let failure = failure(&error, set, Path::new("cache"));
        assert_eq!(failure.exit_code, ExitCode::Unexpected);
        let problem = &failure.problems[0];
        assert!(problem.message.ends_with("mnist/x` cannot be reached: no route"));
        let help = problem.help.as_deref().unwrap();
        for needed in ["`t10k-labels-idx1-ubyte.gz`", set.base, "cache"] {
            assert!(help.contains(needed), "{help}");
        }
    }

    #[test]
    fn the_command_that_comes_next_can_be_copied() {
        let got = Got {
            name: "mnist",
            folder: "my data/mnist".into(),
            settings: vec!["data.source=idx".into(), "data.path=my data/mnist".into()],
            recipe: "cnn",
        };
        let expected = "my data/mnist\n\
            recipes train cnn --set data.source=idx --set 'data.path=my data/mnist'\n";
        assert_eq!(describe(&got), expected);
    }
}
