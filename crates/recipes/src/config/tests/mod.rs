//! What comes out of layers, and, in [`mistakes`], what a user gets to read where nothing does.

mod mistakes;

use std::fs;

use ::training::OptimizerKind;
use data::csv_table::{ColumnOverride, TargetColumn};
use serde::{Deserialize, Serialize};

use super::*;

const RECIPE: &str = r#"
recipe = "demo"

[data]
source = "synthetic"
labels = "random"
samples = 1000
features = 20
path = ""
target = ""
fraction = 1.0
validation = ""
test = 0.0
class_weights = "equal"
target_scale = "linear"
missing = []
text_vocabulary = 10000
text_length = 100
on_missing_target = "error"
hold_out = "random"
group = ""

[model]
hidden = [10]
dropout = 0.5

[optimizer]
kind = "adam"
learning_rate = 1e-3
beta_1 = 0.9
beta_2 = 0.999
alpha = 0.99
epsilon = 1e-8
momentum = 0.0
nesterov = false
weight_decay = 0.0
decay_biases = true

[schedule]
kind = "constant"
warmup_steps = 0
minimum = 0.0
pct_start = 0.3
div_factor = 25.0
final_div_factor = 1e4
milestones = []
gamma = ""
patience = 10
threshold = 1e-4

[training]
epochs = 500
max_steps = ""
batch_size = 40
clip_norm = ""
minimum_improvement = 0.0
seed = 0

[checkpoint]
every_steps = ""
every_epochs = 100
every_minutes = 5.0
keep = 2
keep_every_epochs = ""

[output]
log_every_steps = 25
tensorboard = true
model = "final"
"#;

type Demo = Config<TableData, Network>;

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Network {
    #[serde(default, with = "or_empty")]
    hidden: Option<Vec<usize>>,
    dropout: f64,
}

impl Check for Network {
    fn check(&self, checker: &mut Checker<'_>) {
        checker.require(
            "model.dropout",
            (0.0..1.0).contains(&self.dropout),
            "at least 0 and below 1",
        );
    }
}

fn recipe() -> SettingsLayer {
    SettingsLayer::recipe("demo", RECIPE)
}

fn file(text: &str) -> SettingsLayer {
    SettingsLayer::document("my.toml", text)
}

fn sets(arguments: &[&str]) -> Vec<SettingsLayer> {
    SettingsLayer::sets(arguments)
}

fn resolved(layers: Vec<SettingsLayer>) -> Demo {
    resolve(recipe(), layers).unwrap_or_else(|problems| panic!("{problems}"))
}

/// Every message, followed by its help as a line that begins with `help:`, if it has one.
fn lines(problems: &Problems) -> Vec<String> {
    let lines = problems.iter().flat_map(|problem| {
        let help = problem.help.as_ref().map(|help| format!("help: {help}"));
        [Some(problem.message.clone()), help]
    });
    lines.flatten().collect()
}

#[test]
fn layers_cover_one_another_in_order() {
    let plain = resolved(vec![]);
    assert_eq!((plain.training.seed, plain.optimizer.learning_rate), (0, 1e-3));
    assert_eq!((plain.data.path, plain.training.max_steps), (None, None));

    let user = file(
        "recipe = \"demo\"\ntraining.seed = 1\n[optimizer]\nlearning_rate = 1\nkind = \"sgd\"",
    );
    let mut layers = vec![user];
    layers.extend(sets(&["training.seed=2", "training.epochs = 7", "training.seed=3"]));
    let demo = resolved(layers.clone());
    assert_eq!((demo.training.seed, demo.training.epochs, demo.training.batch_size), (3, 7, 40));
    assert_eq!((demo.optimizer.kind, demo.optimizer.learning_rate), (OptimizerKind::Sgd, 1.0));

    layers.extend([SettingsLayer::seed(u64::MAX), SettingsLayer::max_steps(9)]);
    let demo = resolved(layers);
    assert_eq!((demo.training.seed, demo.training.max_steps), (u64::MAX, Some(9)));
}

#[test]
fn no_more_is_measured_at_a_time_than_is_trained_on() {
    let measured =
        |settings: &[&str]| resolved(sets(settings)).training.evaluation_batching().batch_size;
    assert_eq!(measured(&[]), 40);
    assert_eq!(measured(&["training.micro_batch=8"]), 8);
    assert_eq!(measured(&["training.batch_size=1000"]), 256);
}

#[test]
fn set_takes_toml_and_plain_strings() {
    let csv = |path: &str, target: &str| {
        let arguments =
            ["data.source=csv", &format!("data.path={path}"), &format!("data.target={target}")];
        let data = resolved(sets(&arguments)).data;
        (data.path.unwrap().into_os_string().into_string().unwrap(), data.target.unwrap())
    };
    let name = |name: &str| TargetColumn::Name(name.to_owned());
    assert_eq!(csv("../a=b, c.csv", "class"), ("../a=b, c.csv".into(), name("class")));
    assert_eq!(csv("2024", "2024"), ("2024".into(), TargetColumn::Index(2024)));
    assert_eq!(csv("true", "\"2024\""), ("true".into(), name("2024")));
    assert_eq!(csv("'a b'", "2024-01-01"), ("a b".into(), name("2024-01-01")));

    let training = resolved(sets(&["training.epochs=1_000", "training.seed=0xff"])).training;
    assert_eq!((training.epochs, training.seed), (1000, 255));
    let model = resolved(sets(&["model = { hidden = [32, 16] }"])).model;
    assert_eq!((model.hidden, model.dropout), (Some(vec![32, 16]), 0.5));
    let columns = resolved(sets(&[
        "data.source=csv",
        "data.path=a.csv",
        "data.target=0",
        "data.columns.id=drop",
        "data.columns.\"zip code\"=categorical",
        "data.columns.\"a = b\" = numeric",
    ]))
    .data
    .columns;
    assert_eq!(columns["id"], ColumnOverride::Drop);
    assert_eq!(columns["a = b"], ColumnOverride::Numeric);
    assert_eq!(columns["zip code"], ColumnOverride::Categorical);
}

#[test]
fn the_empty_value_unsets_an_optional_key() {
    assert_eq!(resolved(vec![]).model.hidden, Some(vec![10]));
    assert_eq!(resolved(sets(&["model.hidden="])).model.hidden, None);
    assert_eq!(resolved(vec![file("model.hidden = \"\"")]).model.hidden, None);
    let again = sets(&["model.hidden=", "model.hidden=[3]"]);
    assert_eq!(resolved(again).model.hidden, Some(vec![3]));
}

#[test]
fn a_written_configuration_resolves_to_itself() {
    let round_trip = |layers: Vec<SettingsLayer>| {
        let demo = resolved(layers);
        let text = to_toml(&demo).unwrap();
        assert_eq!(resolved(vec![file(&text)]), demo, "{text}");
        let json = serde_json::to_string(&demo).unwrap();
        assert_eq!(serde_json::from_str::<Demo>(&json).unwrap(), demo, "{json}");
    };
    round_trip(vec![]);
    round_trip(vec![SettingsLayer::seed(u64::MAX), SettingsLayer::max_steps(u64::MAX)]);
    round_trip(sets(&["model.hidden=", "optimizer.kind=sgd", "optimizer.momentum=0.9"]));
    round_trip(sets(&[
        "optimizer.learning_rate=0.1234567890123456789",
        "optimizer.epsilon=1.234567890123456e-30",
    ]));
    round_trip(sets(&[
        "data.source=csv",
        "data.path='a \"b\"\\c.csv'",
        "data.target=-1",
        "data.task=regression",
        "data.header=false",
        "data.order=file",
        "data.validation=0.25",
        "data.test_path=c.csv",
        "data.columns.\"zip code\"=categorical",
        "data.columns.id=drop",
    ]));
}

#[test]
fn a_file_names_its_recipe() {
    assert_eq!(file("recipe = \"mlp\"").recipe_name(), Ok("mlp"));
    // A slip further down does not hide it, so that the mistakes of other layers are found as well.
    assert_eq!(file("recipe = \"mlp\"\nx = ").recipe_name(), Ok("mlp"));

    let check = |layer: SettingsLayer, expected: &[&str]| {
        let problems = layer.recipe_name().expect_err("a recipe was named");
        assert_eq!(lines(&problems), expected);
    };
    check(file("recipe = 5"), &["`recipe` must be a string, found `5`, in my.toml:1"]);
    check(
        file("[data]"),
        &[
            "no recipe is named in my.toml",
            "help: begin the file with a line such as `recipe = \"mlp\"`",
        ],
    );
    check(
        file("[data"),
        &[
            "not valid TOML: unclosed table, expected `]`, in my.toml:1:6",
            "help: the line is `[data`",
        ],
    );
    check(
        SettingsLayer::file("absent.toml".as_ref()),
        &[
            &format!("cannot read absent.toml: {}", fs::read("absent.toml").unwrap_err()),
            "help: `recipes copy mlp absent.toml` writes a file to start from",
        ],
    );
    check(
        SettingsLayer::file("data/absent.csv".as_ref()),
        &[
            &format!("cannot read data/absent.csv: {}", fs::read("data/absent.csv").unwrap_err()),
            "help: name a recipe, or a file of settings; data to train on are named by `--set data.path=PATH`",
        ],
    );
}

#[test]
fn files_are_read_and_unreadable_ones_reported() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("mine.toml");
    fs::write(&path, "training.epochs = 3").unwrap();
    assert_eq!(resolved(vec![SettingsLayer::file(&path)]).training.epochs, 3);

    fs::write(&path, b"training.epochs = \xff").unwrap();
    let unreadable = [
        (path.as_path(), "settings are TOML: text in UTF-8"),
        (directory.path(), "name a file that may be read"),
    ];
    for (unreadable, help) in unreadable {
        let problems =
            resolve::<Demo>(recipe(), vec![SettingsLayer::file(unreadable)]).unwrap_err();
        let expected = format!("cannot read {}: ", unreadable.display());
        assert!(problems.to_string().starts_with(&expected), "{problems}");
        assert_eq!(lines(&problems)[1], format!("help: {help}"));
    }
}

#[test]
fn a_recipe_that_is_wrong_says_so() {
    let check = |from: &str, to: &str, expected: &str| {
        let recipe = SettingsLayer::recipe("demo", &RECIPE.replace(from, to));
        let problems = resolve::<Demo>(recipe, vec![]).unwrap_err();
        assert_eq!(problems.to_string(), expected);
    };
    check("seed = 0", "", "`training.seed` is missing");
    check(
        "seed = 0",
        "seed = 0.5",
        "`training.seed` must be a whole number, found `0.5`, in recipe demo:57",
    );
    check("seed = 0", "sed = 0", "unknown key `training.sed`, in recipe demo:57");
    check(
        "seed = 0",
        "seed",
        "not valid TOML: key with no value, expected `=`, in recipe demo:57:5",
    );
}
