//! A run's settings as values, and which of them may change when it resumes.

use std::{collections::BTreeMap, path::Path};

use data::toml_key;
use serde::Serialize;
use serde_json::Value;
use toml::de::DeValue;
use training::EndStatus;

use crate::{
    ExitCode, Failure, Summary,
    config::to_toml,
    paths::PATHS,
    run::directory::{CONFIG, newest_step},
    shell::{command, set},
};

/// Settings on which no past update depends: when checkpoints are written, where the data are, where
/// they are kept and how many threads read them, what is reported, and when the run ends. From the
/// checkpoint the trainer knows whether the data are the same, and whether the run has already passed
/// its new end.
const FREE: [&str; 10] = [
    "data.path",
    "data.validation_path",
    "data.test_path",
    "data.cache",
    "data.residency",
    "data.workers",
    "output.tensorboard",
    EPOCHS,
    MAX_STEPS,
    PATIENCE,
];
const FREE_TABLE: &str = "checkpoint.";

/// Free where it names a file before and after: frozen weights are compared by their hash, and the run
/// keeps those that it began with.
pub(crate) const WEIGHTS: &str = "model.weights";
/// What [`WEIGHTS`] may be besides a path.
pub(crate) const NO_FILE: [&str; 3] = ["shipped", "imagenet", "none"];

/// Whether the value of a setting that takes a path is one.
pub(crate) fn names_a_file(key: &str, value: &str) -> bool {
    !value.is_empty() && (key != WEIGHTS || !NO_FILE.contains(&value))
}

const EPOCHS: &str = "training.epochs";
const MAX_STEPS: &str = "training.max_steps";
const PATIENCE: &str = "training.patience";

/// A configuration in the two forms that a run stores: as it was given, and with what the recipe chose where
/// that left it open.
#[derive(Clone, Debug)]
pub(crate) struct Resolved {
    pub(crate) toml: String,
    pub(crate) settings: Value,
}

impl Resolved {
    pub(crate) fn of(config: &impl Serialize) -> Result<Self, Failure> {
        let unwritable = |error: String| {
            let message = format!("the configuration cannot be written: {error}");
            Failure::new(ExitCode::Usage, message, "use paths that are valid Unicode")
        };
        Ok(Self {
            toml: to_toml(config).map_err(|error| unwritable(error.to_string()))?,
            settings: serde_json::to_value(config)
                .map_err(|error| unwritable(error.to_string()))?,
        })
    }
}

/// Refuses to resume a run under settings that would change its result.
///
/// - `recipe`: the recipe's own settings, for what either leaves out: a run may have begun before there was
///   such a setting
///
/// # Errors
///
/// Names each such setting, its value at the start, and now.
pub(crate) fn refuse_changes(
    run: &Path,
    recipe: &BTreeMap<String, Value>,
    began_with: &Value,
    now: &Value,
) -> Result<(), Failure> {
    refuse_changed(run, &over(recipe, leaves(began_with)), &over(recipe, leaves(now)))
}

/// All settings: these, and the recipe's own where they are left out.
fn over(
    recipe: &BTreeMap<String, Value>,
    settings: BTreeMap<String, Value>,
) -> BTreeMap<String, Value> {
    let mut all = recipe.clone();
    all.extend(settings);
    all
}

/// As [`refuse_changes`], by the settings as a run has them on file and as they are to be now. What is
/// left open now is no change: the recipe chooses it once it knows the data.
pub(crate) fn refuse_changes_of_file(
    run: &Path,
    recipe: &BTreeMap<String, Value>,
    began_with: BTreeMap<String, Value>,
    now: BTreeMap<String, Value>,
) -> Result<(), Failure> {
    let (mut began_with, mut now) = (over(recipe, began_with), over(recipe, now));
    now.retain(|_, value| value != "");
    began_with.retain(|key, _| now.contains_key(key));
    refuse_changed(run, &began_with, &now)
}

/// As [`refuse_changes`], by the settings as a run has them on file and as they are once the recipe has
/// made its choices. What the file leaves open is no change.
pub(crate) fn refuse_changed_choices(
    run: &Path,
    mut began_with: BTreeMap<String, Value>,
    mut now: BTreeMap<String, Value>,
) -> Result<(), Failure> {
    began_with.retain(|_, value| value != "");
    now.retain(|key, _| began_with.contains_key(key));
    refuse_changed(run, &began_with, &now)
}

fn refuse_changed(
    run: &Path,
    began_with: &BTreeMap<String, Value>,
    now: &BTreeMap<String, Value>,
) -> Result<(), Failure> {
    let keys = began_with.keys().chain(now.keys().filter(|key| !began_with.contains_key(*key)));
    let none = Value::Null;
    let values = keys.map(|key| {
        (key.as_str(), began_with.get(key).unwrap_or(&none), now.get(key).unwrap_or(&none))
    });
    let refused = values.filter(|&(key, then, now)| {
        let is_file = |value: &Value| value.as_str().is_some_and(|path| names_a_file(key, path));
        let free = may_be_changed(key) && (key != WEIGHTS || (is_file(then) && is_file(now)));
        !same(then, now) && !free
    });
    let refused: Vec<(&str, &Value, &Value)> = refused.collect();
    if refused.is_empty() {
        return Ok(());
    }
    let told = |(key, then, now): &(&str, &Value, &Value)| {
        let [then, now] = [then, now].map(|value| match value {
            Value::Null => "not set".to_owned(),
            Value::String(text) if text.is_empty() => "not set".to_owned(),
            value => value.to_string(),
        });
        format!("`{key}` was {then} and is {now}")
    };
    Err(Failure::new(
        ExitCode::Usage,
        format!(
            "a resumed run cannot change its settings: {}",
            refused.iter().map(told).collect::<Vec<_>>().join(", ")
        ),
        format!(
            "leave them as they were (only {}, and `{WEIGHTS}` to where its file is now, may change), or \
             begin another run: {}",
            may_change().join(", "),
            another_run(run, refused.iter().map(|&(key, _, now)| (key, now)))
        ),
    ))
}

/// The command for a run with this one's settings, but these.
pub(crate) fn another_run<'a>(
    run: &Path,
    changed: impl IntoIterator<Item = (&'a str, &'a Value)>,
) -> String {
    let setting = |(key, value)| set(&format!("{}={}", in_single_quotes(key), given(value)));
    let changed = changed.into_iter().map(setting);
    command("train", &run.join(CONFIG)) + &changed.collect::<String>()
}

/// The command for a run with this one's settings, but the paths of data that it is given now.
pub(crate) fn on_other_data(
    run: &Path,
    began_with: &BTreeMap<String, Value>,
    now: &BTreeMap<String, Value>,
) -> String {
    let paths = PATHS.into_iter().filter(|key| key.starts_with("data."));
    let unset = Value::from("");
    let of = |settings: &BTreeMap<String, Value>, key| settings.get(key).unwrap_or(&unset).clone();
    let given = paths.map(|key| (key, of(began_with, key), of(now, key)));
    let given: Vec<_> = given.filter(|(_, then, now)| !same(then, now)).collect();
    another_run(run, given.iter().map(|(key, _, now)| (*key, now)))
}

/// Whether a resumed run may change this setting; that of its weights only to where they are now.
pub(crate) fn may_be_changed(key: &str) -> bool {
    FREE.contains(&key) || key.starts_with(FREE_TABLE) || key == WEIGHTS
}

/// What a resumed run may change besides the file of the weights, in backticks: settings and a table.
fn may_change() -> Vec<String> {
    let table = format!("[{}]", FREE_TABLE.trim_end_matches('.'));
    FREE.into_iter().chain([table.as_str()]).map(|name| format!("`{name}`")).collect()
}

/// How to end an unfinished run where it is, to be appended to the help on how to go on; empty where
/// it has no checkpoint.
pub(crate) fn or_end_it(directory: &Path, steps: Option<u64>) -> String {
    let Some(steps) = steps.filter(|&steps| steps > 0) else { return String::new() };
    let ended = command("resume", directory) + &set(&format!("{MAX_STEPS}={steps}"));
    format!("; to end it where it is: {ended}")
}

/// How a finished run gets its model again: from its newest checkpoint, if it has one.
pub(crate) fn rewrite(directory: &Path, has_checkpoint: bool) -> String {
    match has_checkpoint {
        true => format!("to write it again: {}", command("resume", directory)),
        false => {
            let again = command("train", &directory.join(CONFIG));
            format!("restore the file, or train again: {again}")
        }
    }
}

/// The command that makes a finished run longer: it changes whatever ended it. One without checkpoints is
/// to be trained anew.
///
/// - `settings`: of the run, by dotted key
pub(crate) fn longer(
    directory: &Path,
    settings: &BTreeMap<String, Value>,
    summary: &Summary,
) -> String {
    let twice = |key: &str, reached: u64| {
        let limit = settings.get(key).and_then(Value::as_u64).filter(|&limit| reached >= limit)?;
        Some(set(&format!("{key}={}", limit.saturating_mul(2))))
    };
    let patience =
        (summary.status == EndStatus::StoppedEarly).then(|| set(&format!("{PATIENCE}=")));
    let ended_by =
        [twice(EPOCHS, summary.epochs as u64), twice(MAX_STEPS, summary.steps), patience];
    let changes: String = ended_by.into_iter().flatten().collect();
    let again = match newest_step(directory) {
        Some(_) => command("resume", directory),
        None => command("train", &directory.join(CONFIG)),
    };
    again + &changes
}

/// The values that are not tables, by dotted key, as `--set` takes it.
pub(crate) fn leaves(value: &Value) -> BTreeMap<String, Value> {
    let mut found = BTreeMap::new();
    let mut open = vec![(String::new(), value)];
    while let Some((key, value)) = open.pop() {
        match value {
            Value::Object(table) => {
                let inner = table.iter().map(|(name, value)| {
                    let name = toml_key(name);
                    match key.as_str() {
                        "" => (name.into_owned(), value),
                        key => (format!("{key}.{name}"), value),
                    }
                });
                open.extend(inner);
            }
            value => {
                found.insert(key, value.clone());
            }
        }
    }
    found
}

/// What a recipe chose where a configuration left it open, by dotted key.
///
/// - `given`: the settings before that, `now`: after it
pub(crate) fn chosen(given: &Value, now: &Value) -> BTreeMap<String, Value> {
    let (given, mut chosen) = (leaves(given), leaves(now));
    let is_open = |key: &String| given.get(key).is_none_or(|value| value == "");
    chosen.retain(|key, value| is_open(key) && value != "");
    chosen
}

/// Whether two values are equal, however a number is written.
pub(crate) fn same(a: &Value, b: &Value) -> bool {
    a == b || (a.is_f64() != b.is_f64() && a.as_f64() == b.as_f64() && a.is_number())
}

/// A value as `--set` takes it: nothing where it is not there, and text in quotes where it would be read as
/// another value, such as a number.
fn given(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) if DeValue::parse(text).is_err() => text.clone(),
        value => in_single_quotes(&value.to_string()),
    }
}

/// A key or a value with TOML's other quotes, if they can hold it: between double quotes every shell leaves
/// these alone.
fn in_single_quotes(toml: &str) -> String {
    if toml.contains(['\'', '\\']) { toml.to_owned() } else { toml.replace('"', "'") }
}

/// A value as written in a file; empty for the empty string, which unsets a key.
pub(crate) fn shown(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        value => value.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use serde_json::json;

    use super::*;

    fn refuse_changes(run: &Path, began_with: &Value, now: &Value) -> Result<(), Failure> {
        super::refuse_changes(run, &BTreeMap::new(), began_with, now)
    }

    #[test]
    fn a_setting_that_is_newer_than_a_run_has_the_recipes_value() {
        let recipe = BTreeMap::from([("data.test".to_owned(), json!(0.0))]);
        let (before, run) = (json!({"data": {"path": "a"}}), Path::new("run"));
        let now = |test: f64| json!({"data": {"path": "a", "test": test}});
        assert!(super::refuse_changes(run, &recipe, &before, &now(0.0)).is_ok());
        assert!(super::refuse_changes(run, &recipe, &before, &now(0.2)).is_err());
    }
    use crate::run::summary::example;

    fn settings(epochs: u64, max_steps: Value, rate: f64) -> Value {
        json!({
            "recipe": "mlp",
            "checkpoint": { "keep": epochs },
            "optimizer": { "learning_rate": rate },
            "training": { "epochs": epochs, "max_steps": max_steps },
        })
    }

    #[test]
    fn a_run_may_end_elsewhere_and_its_data_move_and_nothing_else_change() {
        let (run, began_with) = (Path::new("run"), settings(5, json!(10), 0.1));
        let check = |now: Value| {
            let refused = refuse_changes(run, &began_with, &now);
            refused.map_err(|failure| failure.problems[0].message.clone())
        };
        assert_eq!(check(settings(5, json!(10), 0.1)), Ok(()));
        assert_eq!(check(settings(6, json!(11), 0.1)), Ok(()));
        assert_eq!(check(settings(5, json!(""), 0.1)), Ok(()));
        assert_eq!(check(settings(4, json!(9), 0.1)), Ok(()));
        assert_eq!(
            check(settings(4, json!(9), 0.2)).unwrap_err(),
            "a resumed run cannot change its settings: `optimizer.learning_rate` was 0.1 and is 0.2"
        );
        for (then, now) in [(json!(3), json!("")), (json!(""), json!(2)), (json!(3), json!(2))] {
            let patience = |epochs| json!({ "training": { "patience": epochs } });
            assert!(refuse_changes(run, &patience(then), &patience(now)).is_ok());
        }
        let data = |key: &str, value: &str| json!({ "data": { key: value } });
        for key in ["path", "validation_path", "test_path", "cache", "residency"] {
            assert!(refuse_changes(run, &data(key, "here"), &data(key, "there")).is_ok(), "{key}");
        }
        assert!(refuse_changes(run, &data("target", "here"), &data("target", "there")).is_err());
        let weights = |from: &str| json!({ "model": { "weights": from } });
        assert!(refuse_changes(run, &weights("a.pth"), &weights("b.pth")).is_ok());
        for other in ["shipped", "imagenet", "none"] {
            assert!(refuse_changes(run, &weights("a.pth"), &weights(other)).is_err(), "{other}");
            assert!(refuse_changes(run, &weights(other), &weights("a.pth")).is_err(), "{other}");
        }
    }

    #[test]
    fn a_run_is_made_longer_by_what_ended_it() {
        let folder = tempfile::tempdir().unwrap();
        let run = folder.path().join("a");
        let shown = run.display();
        let told = |max_steps: Value, status: &str, epochs: u64, steps: u64| {
            let summary = example(&json!({"status": status, "epochs": epochs, "steps": steps}));
            longer(&run, &leaves(&settings(5, max_steps, 0.1)), &summary)
        };
        let anew = command("train", &run.join(CONFIG)) + " --set training.epochs=10";
        assert_eq!(told(json!(""), "finished", 5, 50), anew);
        fs::create_dir_all(run.join("checkpoints/step-50")).unwrap();
        let check = |max_steps: Value, status: &str, epochs: u64, steps: u64, expected: &str| {
            let told = told(max_steps, status, epochs, steps);
            assert_eq!(told, format!("recipes resume {shown} {expected}"));
        };
        check(json!(""), "finished", 5, 50, "--set training.epochs=10");
        check(json!(20), "finished", 2, 20, "--set training.max_steps=40");
        check(json!(60), "finished", 5, 50, "--set training.epochs=10");
        let both = "--set training.epochs=10 --set training.max_steps=90";
        check(json!(45), "finished", 5, 45, both);
        check(json!(""), "stopped_early", 3, 30, "--set training.patience=");
        let both = "--set training.epochs=10 --set training.patience=";
        check(json!(""), "stopped_early", 5, 50, both);
    }

    #[test]
    fn what_may_change_is_told_wherever_it_is_told() {
        let readme = include_str!("../../../README.md");
        let readme = readme.split_once("## Stop and resume").unwrap().1;
        let readme = readme.split_once("\n## ").unwrap().0;
        let resume = include_str!("cli/resume.rs");
        let doc = resume.split_once("/// Make the run longer").unwrap().1;
        let doc = doc.split_once("#[arg").unwrap().0;
        let failure =
            refuse_changes(Path::new("a run"), &json!({"a": 1}), &json!({"a": 2})).unwrap_err();
        let help = failure.problems[0].help.clone().unwrap();
        let anew = command("train", &Path::new("a run").join(CONFIG)) + " --set a=2";
        assert!(help.ends_with(&format!("another run: {anew}")), "{help}");
        let column = |kind: &str| json!({"data": {"columns": {"zip code": kind}}});
        let failure =
            refuse_changes(Path::new("a"), &column("drop"), &column("numeric")).unwrap_err();
        let told = "--set \"data.columns.'zip code'=numeric\"";
        assert!(failure.problems[0].help.as_ref().unwrap().ends_with(told), "{failure:?}");
        let target = |target: Value| json!({"data": {"target": target}});
        let failure =
            refuse_changes(Path::new("a"), &target(json!("")), &target(json!("2024"))).unwrap_err();
        let problem = &failure.problems[0];
        assert!(
            problem.message.ends_with("`data.target` was not set and is \"2024\""),
            "{failure:?}"
        );
        let told = "--set \"data.target='2024'\""; // without quotes a column's index
        assert!(problem.help.as_ref().unwrap().ends_with(told), "{failure:?}");
        for name in may_change().into_iter().chain([format!("`{WEIGHTS}`")]) {
            // With a value, where it stands in an example.
            let (quoted, set) = (name.clone(), name.trim_end_matches('`').to_owned() + "=");
            let command = set.replace('`', " ");
            for (place, text) in [("README", readme), ("`resume --help`", doc), ("help", &help)] {
                let is_told =
                    [&quoted, &set, &command].iter().any(|told| text.contains(told.as_str()));
                assert!(is_told, "{place} does not tell of {name}");
            }
        }
    }

    #[test]
    fn other_data_are_named_where_they_are_and_where_none_are_left() {
        let paths = |path: &str, test: &str| json!({"data": {"path": path, "test_path": test}});
        let began_with = leaves(&paths("x.csv", "y.csv"));
        let check = |now: Value, expected: &str| {
            let told = on_other_data(Path::new("a"), &began_with, &leaves(&now));
            assert_eq!(told, command("train", &Path::new("a").join(CONFIG)) + expected);
        };
        check(paths("x.csv", "y.csv"), "");
        check(paths("z.csv", "y.csv"), " --set data.path=z.csv");
        check(paths("x.csv", ""), " --set data.test_path=");
        check(json!({"data": {"path": "x.csv"}}), " --set data.test_path=");
    }

    #[test]
    fn what_is_new_or_gone_is_a_change() {
        let (with, without) = (json!({"data": {"seed": 1}}), json!({"data": {}}));
        assert!(refuse_changes(Path::new("run"), &with, &without).is_err());
        assert!(refuse_changes(Path::new("run"), &without, &with).is_err());
    }
}
