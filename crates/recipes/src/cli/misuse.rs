//! What to do about a mistake on the command line.

use std::path::Path;

use clap::error::{ContextKind, ContextValue, ErrorKind};

use super::{
    given_data::{inspecting, training_on},
    other_programs,
};
use crate::{
    ExitCode, Failure,
    config::{usual_choice, usual_name},
    registry::{self, Recipe},
    settings::may_be_changed,
};

/// The commands that take a recipe and settings.
pub(super) const TAKE_RECIPES: [&str; 4] = ["train", "plan", "lr-find", "verify-resume"];

/// A mistake on the command line, as a failure of this program.
///
/// - `words`: the command line, without the program
pub(super) fn misuse(error: &clap::Error, words: &[String]) -> Failure {
    let rendered = error.render().to_string();
    let first = rendered.lines().next().unwrap_or_default();
    let mut message = first.strip_prefix("error: ").unwrap_or(first).to_owned();
    if message.ends_with("were not provided:") {
        let missing: Vec<&str> =
            rendered.lines().skip(1).take_while(|line| !line.is_empty()).map(str::trim).collect();
        message = format!("{message} {}", missing.join(" "));
    }
    let suggestion = error.context().find_map(|(kind, value)| {
        let suggests = matches!(
            kind,
            ContextKind::SuggestedArg
                | ContextKind::SuggestedSubcommand
                | ContextKind::SuggestedValue
        );
        match value {
            ContextValue::String(name) if suggests => Some(name.clone()),
            ContextValue::Strings(names) if suggests => names.first().cloned(),
            _ => None,
        }
    });
    let valid = error.get(ContextKind::ValidValue).map(ContextValue::to_string);
    let recipe = words.iter().find_map(|word| registry::find(word).ok());
    let as_setting = |setting: String| {
        let key = setting.split('=').next().unwrap_or_default();
        match is_of(&rendered, &["resume"]) && !may_be_changed(key) {
            true => format!("a resumed run keeps its `{key}`"),
            false => format!("settings are given with `--set`: `--set {setting}`"),
        }
    };
    let as_data = |command| format!("to train on it: {command}");
    let with_source = |command| format!("name the kind of data first: {command}");
    let by_clap = || match (suggestion, valid.filter(|values| !values.is_empty())) {
        (Some(name), None) => format!("did you mean `{name}`?"),
        (Some(name), Some(valid)) => format!("did you mean `{name}`? Possible values: {valid}"),
        (None, Some(valid)) => format!("possible values: {valid}"),
        (None, None) => usage(&rendered),
    };
    let help = setting_for(error, &rendered, recipe)
        .map(as_setting)
        .or_else(|| data_given(error, &rendered, recipe).map(as_data))
        .or_else(|| source_left_out(error).map(with_source))
        .or_else(|| of_other_programs(error, &rendered))
        .unwrap_or_else(by_clap);
    Failure::new(ExitCode::Usage, message, help)
}

/// What to do for those who know the word from another program.
fn of_other_programs(error: &clap::Error, rendered: &str) -> Option<String> {
    let of = |kind| error.get(kind).map(ContextValue::to_string);
    match error.kind() {
        ErrorKind::InvalidSubcommand if !is_of(rendered, &["data"]) => {
            let word = of(ContextKind::InvalidSubcommand)?;
            let here = other_programs::command(&word);
            let here = here.map(|command| format!("that is `recipes {command}` here"));
            here.or_else(|| other_programs::without(&word).map(str::to_owned))
        }
        ErrorKind::InvalidValue if of(ContextKind::InvalidArg)? == "<SOURCE>" => {
            let source = usual_choice(&of(ContextKind::InvalidValue)?)?;
            Some(format!("that is the source `{source}` here"))
        }
        ErrorKind::UnknownArgument => {
            let option = of(ContextKind::InvalidArg)?;
            let name = option.split_once('=').map_or(option.as_str(), |(name, _)| name);
            let (takes, instead) = other_programs::instead_of(name)?;
            (takes.is_empty() || is_of(rendered, takes)).then(|| instead.to_owned())
        }
        _ => None,
    }
}

/// How the command is used, and where there is more on it.
fn usage(rendered: &str) -> String {
    let Some(usage) = rendered.lines().find_map(|line| line.strip_prefix("Usage: recipes ")) else {
        return "see `recipes help`".to_owned();
    };
    let is_name = |word: &&str| word.starts_with(|letter: char| letter.is_ascii_lowercase());
    let help: Vec<&str> =
        ["help"].into_iter().chain(usage.split(' ').take_while(is_name)).collect();
    format!("usage: `recipes {usage}`; see `recipes {}`", help.join(" "))
}

/// The command on the data that stand after the name of a recipe.
fn data_given(error: &clap::Error, rendered: &str, recipe: Option<&Recipe>) -> Option<String> {
    let given = error.get(ContextKind::InvalidArg).map(ContextValue::to_string)?;
    let command = TAKE_RECIPES.into_iter().find(|command| is_of(rendered, &[command]))?;
    let is_surplus = error.kind() == ErrorKind::UnknownArgument;
    let arguments = if is_surplus { training_on(Path::new(&given), recipe) } else { None };
    arguments.map(|arguments| format!("recipes {command} {arguments}"))
}

/// The command that inspects the file that stands in place of a source.
fn source_left_out(error: &clap::Error) -> Option<String> {
    let of = |kind| error.get(kind).map(ContextValue::to_string);
    let (argument, given) = (of(ContextKind::InvalidArg)?, of(ContextKind::InvalidValue)?);
    let arguments = inspecting(Path::new(&given)).filter(|_| argument == "<SOURCE>")?;
    Some(format!("recipes data inspect {arguments}"))
}

/// Whether an error is about one of these commands.
fn is_of(rendered: &str, commands: &[&str]) -> bool {
    commands.iter().any(|command| rendered.contains(&format!("recipes {command} ")))
}

/// The setting that was given without `--set`, as `--epochs` or `epochs=5`, to a command that takes
/// settings.
fn setting_for(error: &clap::Error, rendered: &str, recipe: Option<&Recipe>) -> Option<String> {
    let option = error.get(ContextKind::InvalidArg).map(ContextValue::to_string)?;
    let takes = is_of(rendered, &TAKE_RECIPES) || is_of(rendered, &["resume"]);
    if error.kind() != ErrorKind::UnknownArgument || !takes {
        return None;
    }
    let (name, value) = option.split_once('=').unwrap_or((&option, ".."));
    let bare = name.strip_prefix("--");
    if bare.is_none() && !option.contains('=') {
        return None;
    }
    let name = bare.unwrap_or(name).replace('-', "_");
    let name = usual_name(&name);
    let recipes = registry::RECIPES.into_iter();
    let recipes = recipes.filter(|other| recipe.is_none_or(|recipe| recipe.name == other.name));
    let keys: Vec<String> = recipes.flat_map(|recipe| recipe.settings().into_keys()).collect();
    let called = |name: &str| {
        let keys = keys.iter().filter(|key| *key == name || last_part(key) == name);
        keys.cloned().collect::<Vec<_>>()
    };
    let mut keys_meant = called(name);
    if keys_meant.is_empty() {
        // One for several, or several for one.
        keys_meant = called(&name.strip_suffix('s').map_or(format!("{name}s"), str::to_owned));
    }
    // Where several tables have such a key, `[training]`'s is meant most often.
    let key = keys_meant.into_iter().min_by_key(|key| !key.starts_with("training."))?;
    Some(format!("{key}={value}"))
}

/// `epochs` of `training.epochs`.
fn last_part(key: &str) -> &str {
    key.rsplit('.').next().unwrap_or(key)
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::{super::arguments::Arguments, *};

    #[test]
    fn a_number_that_is_too_small_is_told_the_least() {
        let told = |arguments: &str| {
            let error = Arguments::try_parse_from(arguments.split_whitespace()).unwrap_err();
            misuse(&error, &[]).problems.remove(0).message
        };
        let expected =
            "invalid value '10' for '--steps <N>': it is not a whole number of at least 20";
        assert_eq!(told("recipes lr-find cnn --steps 10"), expected);
        let expected = "invalid value '18446744073709551616' for '--seed <N>': it is too large";
        assert_eq!(told("recipes train cnn --seed 18446744073709551616"), expected);
        let expected = "invalid value '0' for '--top <N>': it is not a whole number of at least 1";
        assert_eq!(told("recipes predict run a.csv --top 0"), expected);
    }

    #[test]
    fn a_setting_that_is_given_as_an_option_is_known() {
        let help = |arguments: &str| {
            let words: Vec<String> = arguments.split_whitespace().map(str::to_owned).collect();
            let all = std::iter::once("recipes").chain(words.iter().map(String::as_str));
            let error = Arguments::try_parse_from(all).unwrap_err();
            misuse(&error, &words).problems.remove(0).help.unwrap()
        };
        assert!(help("train cnn --epochs 5").contains("`--set training.epochs=..`"));
        assert!(help("plan --batch-size=5").contains("`--set training.batch_size=..`"));
        let kept = help("resume runs/a --learning-rate 5");
        assert_eq!(kept, "a resumed run keeps its `optimizer.learning_rate`");
        assert!(help("resume runs/a --epochs 5").contains("`--set training.epochs=..`"));
        assert!(help("train mlp epochs=5").contains("`--set training.epochs=5`"));
        assert!(help("train mlp data.target=-1").contains("`--set data.target=-1`"));
        assert!(help("train mlp --lr 5").contains("`--set optimizer.learning_rate=..`"));
        assert!(help("plan cnn --epoch 5").contains("`--set training.epochs=..`"));
        assert!(help("train mlp --class-weight 5").contains("`--set data.class_weights=..`"));
        assert!(help("train cnn --data photos").contains("`--set data.path=..`"));
        assert!(help("train resnet --depth 8").contains("`--set model.depth=..`"));
        assert!(!help("train mlp --depth 8").contains("--set"));
        assert!(!help("predict runs/a --epochs 5").contains("--set"));
        let usage = help("generate runs/a The");
        assert!(usage.starts_with("usage: `recipes generate "), "{usage}");
        assert!(usage.ends_with("; see `recipes help generate`"), "{usage}");
        let nested = help("data inspect csv a.csv --nothing");
        assert!(nested.ends_with("; see `recipes help data inspect`"), "{nested}");
        let inspect = help("data inspect titanic.csv");
        assert!(inspect.ends_with(": recipes data inspect csv titanic.csv"), "{inspect}");
        assert!(help("data inspect words").starts_with("possible values: "));
        assert_eq!(help("data inspect mnist files"), "that is the source `idx` here");
        assert_eq!(help("data inspect pictures"), "that is the source `image-folder` here");
        assert!(!help("train cnn --nothing 5").contains("--set"));
        assert!(help("train cnn --imgsz 64").contains("`--set data.size=..`"));
        assert!(help("train cnn --optimizer sgd").contains("`--set optimizer.kind=..`"));
        assert!(help("train cnn --early-stopping 5").contains("`--set training.patience=..`"));
        assert!(help("train cnn --device=0").contains("`recipes devices`"));
        assert!(help("train cnn --project a").contains("`--run-dir DIR`"));
        assert_eq!(help("export runs/a --output-dir b"), "did you mean `--output`?");
        assert!(help("predict runs/a b.csv --config c").starts_with("usage: "));
        assert_eq!(help("validate runs/a"), "that is `recipes eval` here");
        assert_eq!(help("inspect csv a.csv"), "that is `recipes data inspect` here");
        assert!(help("tune mlp").contains("`recipes lr-find RECIPE`"));
        assert!(help("serve runs/a").contains("--format onnx"));
        assert!(help("train mlp -o a").contains("`--run-dir DIR`"));
        assert_eq!(help("trian"), "did you mean `train`?");
        let program = help("version");
        assert!(program.ends_with("; see `recipes help`"), "{program}");
    }
}
