//! The exact words for every mistake that a configuration can hold.

use std::fs;

use super::*;
use crate::cnn;

#[track_caller]
fn refuses(layers: Vec<SettingsLayer>, expected: &[&str]) {
    let problems = resolve::<Demo>(recipe(), layers).expect_err("mistakes went through");
    assert_eq!(lines(&problems), expected);
}

#[test]
fn unknown_keys_name_the_key_that_was_meant() {
    let check = |text: &str, expected: &[&str]| refuses(vec![file(text)], expected);
    check(
        "[data]\nsorce = \"csv\"",
        &["unknown key `data.sorce`, in my.toml:2", "help: did you mean `data.source`?"],
    );
    check(
        "[trainig]\nepochs = 5",
        &["unknown key `trainig`, in my.toml:1", "help: did you mean `training`?"],
    );
    check(
        "\nbatch_size = 5",
        &["unknown key `batch_size`, in my.toml:2", "help: did you mean `training.batch_size`?"],
    );
    check(
        "training.\"a b\" = 5",
        &[
            "unknown key `training.\"a b\"`, in my.toml:1",
            "help: `[training]` has the keys `epochs`, `max_steps`, `batch_size`, `micro_batch`, `clip_norm`, `ema`, \
             `monitor`, `patience`, `minimum_improvement`, `sync_batch_norm`, `arithmetic`, `precision` \
             and `seed`",
        ],
    );
    refuses(
        sets(&["lr=1", "training.batch=5"]),
        &[
            "unknown key `lr`, in --set lr=1",
            "help: did you mean `optimizer.learning_rate`?",
            "unknown key `training.batch`, in --set training.batch=5",
            "help: did you mean `training.batch_size`?",
        ],
    );
    refuses(
        sets(&["training.device=cuda"]),
        &[
            "unknown key `training.device`, in --set training.device=cuda",
            "help: the device is chosen when the program is built, as with `--features cuda`, and one of \
             several GPUs by `CUDA_VISIBLE_DEVICES` or `CUBECL_WGPU_DEFAULT_DEVICE`; see `recipes devices`",
        ],
    );
    refuses(
        sets(&["rate=1"]),
        &[
            "unknown key `rate`, in --set rate=1",
            "help: the keys are `recipe`, `data`, `augment`, `model`, `optimizer`, `schedule`, `training`, `checkpoint` and `output`",
        ],
    );
}

#[test]
fn the_file_of_a_run_of_another_version_is_told_to_be_of_one() {
    let run = tempfile::tempdir().unwrap();
    let path = run.path().join("config.toml");
    fs::write(&path, "[data]\nsorce = \"csv\"").unwrap();
    let environment = r#"{"commit": "0123456789abcdef", "started": "2026-11-23T10:00:00.000Z"}"#;
    fs::write(run.path().join("environment.json"), environment).unwrap();
    refuses(
        vec![SettingsLayer::file(&path)],
        &[
            &format!("unknown key `data.sorce`, in {}:2", path.display()),
            "help: the file is of another version of this program (commit 0123456789, used on 2026-11-23); \
             did you mean `data.source`?",
        ],
    );
}

#[test]
fn a_wrong_type_says_what_was_expected_and_found() {
    let check = |text: &str, expected: &[&str]| refuses(vec![file(text)], expected);
    check(
        "[training]\nseed = \"x\"\nepochs = 1.5\nbatch_size = -1\n\
         micro_batch = 18446744073709551616",
        &[
            "`training.seed` must be a whole number, found `\"x\"`, in my.toml:2",
            "help: the recipe has `training.seed = 0`",
            "`training.epochs` must be a whole number, found `1.5`, in my.toml:3",
            "help: the recipe has `training.epochs = 500`",
            "`training.batch_size` must be a whole number that is not negative, found `-1`, in my.toml:4",
            "help: the recipe has `training.batch_size = 40`",
            "`training.micro_batch` must be a whole number of at most 18446744073709551615, \
             found `18446744073709551616`, in my.toml:5",
        ],
    );
    check(
        "[data]\nheader = \"yes\"\npath = 5\ntarget = 1.5\nvalidation = true\norder = 2024-01-01",
        &[
            "`data.header` must be `true` or `false`, found `\"yes\"`, in my.toml:2",
            "`data.path` must be a string, found `5`, in my.toml:3",
            "`data.target` must be a column's name or its index from 0, negative from the end, \
             found `1.5`, in my.toml:4",
            "`data.validation` must be a number, found `true`, in my.toml:5",
            "`data.order` must be `\"file\"` or `\"shuffled\"`, found `2024-01-01`, in my.toml:6",
        ],
    );
    check(
        "[model]\nhidden = [\n  32,\n  \"16\",\n]\n",
        &["`model.hidden[1]` must be a whole number, found `\"16\"`, in my.toml:4"],
    );
    refuses(
        sets(&["model.hidden=64", "schedule.kind=fixed", "training.epochs=-1"]),
        &[
            "`model.hidden` must be a list, such as `[64]`, found `64`, in --set model.hidden=64",
            "help: the recipe has `model.hidden = [10]`",
            "`schedule.kind` must be `\"constant\"`, `\"cosine\"`, `\"linear\"`, `\"one_cycle\"`, `\"step\"`, \
             `\"exponential\"` or `\"plateau\"`, found `\"fixed\"`, in --set schedule.kind=fixed",
            "help: the recipe has `schedule.kind = \"constant\"`",
            "`training.epochs` must be a whole number that is not negative, found `-1`, in --set \
             training.epochs=-1",
            "help: the recipe has `training.epochs = 500`",
        ],
    );
    refuses(
        sets(&["model.hidden=64,32"]),
        &[
            "`model.hidden` must be a list, found `\"64,32\"`, in --set model.hidden=64,32",
            "help: put a list in brackets: `model.hidden=[64,32]`",
        ],
    );
    refuses(
        sets(&["model.hidden=[32,", "training.batch_size="]),
        &[
            "`model.hidden` must be a list, found `\"[32,\"`, in --set model.hidden=[32,",
            "help: the recipe has `model.hidden = [10]`",
            "`training.batch_size` must be a whole number, found `\"\"`, in --set training.batch_size=",
            "help: the recipe has `training.batch_size = 40`",
        ],
    );
}

#[test]
fn a_list_has_as_many_values_as_its_key_takes() {
    for list in ["[0.8, 1.2, 1.6]", "[0.8]"] {
        let layers = vec![file(&format!("augment.scale = {list}"))];
        let problems = crate::cnn::RECIPE.resolve::<ImageConfig<cnn::Model>>(layers).unwrap_err();
        let expected =
            format!("`augment.scale` must be a list of 2 values, found `{list}`, in my.toml:1");
        assert_eq!(lines(&problems)[0], expected);
    }
}

#[test]
fn a_table_is_no_value_and_a_value_no_table() {
    refuses(
        vec![file("data = 5\n[training.seed]\nx = 1\n[[output]]")],
        &[
            "`data` must be a table, found `5`, in my.toml:1",
            "`training.seed` must be a whole number, found a table, in my.toml:2",
            "help: the recipe has `training.seed = 0`",
            "`output` must be a table, found `[{ .. }]`, in my.toml:4",
        ],
    );
    refuses(
        sets(&["data=5", "training.seed.x=1"]),
        &[
            "`data` must be a table, found `5`, in --set data=5",
            "`training.seed` must be a whole number, found a table, in --set training.seed.x=1",
            "help: the recipe has `training.seed = 0`",
        ],
    );
}

#[test]
fn an_unknown_choice_names_the_nearest_and_all() {
    refuses(
        sets(&[
            "optimizer.kind=adm",
            "schedule.kind=cosin",
            "data.columns.\"zip code\"=dropp",
            "data.columns.petal.length.cm=numeric",
            "output.model=5",
        ]),
        &[
            "`optimizer.kind` must be `\"adam\"`, `\"adamw\"`, `\"nadam\"`, `\"sgd\"` or `\"rmsprop\"`, found `\"adm\"`, in --set optimizer.kind=adm",
            "help: did you mean `\"adam\"`?",
            "`schedule.kind` must be `\"constant\"`, `\"cosine\"`, `\"linear\"`, `\"one_cycle\"`, `\"step\"`, \
             `\"exponential\"` or `\"plateau\"`, found `\"cosin\"`, in --set \
             schedule.kind=cosin",
            "help: did you mean `\"cosine\"`?",
            "`data.columns.\"zip code\"` must be `\"numeric\"`, `\"categorical\"`, `\"text\"` or \
             `\"drop\"`, found `\"dropp\"`, in --set data.columns.\"zip code\"=dropp",
            "help: did you mean `\"drop\"`?",
            "`data.columns.petal` must be `\"numeric\"`, `\"categorical\"`, `\"text\"` or `\"drop\"`, found a \
             table, in --set data.columns.petal.length.cm=numeric",
            "help: put a name that contains a dot in quotes: --set \"data.columns.'petal.length.cm'=numeric\"",
            "`output.model` must be `\"final\"` or `\"best\"`, found `5`, in --set output.model=5",
            "help: the recipe has `output.model = \"final\"`",
        ],
    );
}

#[test]
fn a_choice_as_other_programs_call_it_names_the_one_here() {
    let told = |set: &str| {
        let problems = resolve::<Demo>(recipe(), sets(&[set])).expect_err("it went through");
        lines(&problems)[1].clone()
    };
    assert_eq!(told("schedule.kind=reduce_on_plateau"), "help: did you mean `\"plateau\"`?");
    assert_eq!(told("training.monitor=perplexity"), "help: did you mean `\"loss\"`?");
    assert_eq!(told("data.source=pandas"), "help: did you mean `\"csv\"`?");
    // None of this source's choices.
    assert_eq!(told("data.source=mnist"), "help: the recipe has `data.source = \"synthetic\"`");
}

#[test]
fn broken_toml_is_reported_by_line_and_column() {
    let check = |text: &str, expected: &[&str]| refuses(vec![file(text)], expected);
    check(
        "# mine\n[optimizer]\n  kind = adam\nx = [1\ny = 2",
        &[
            "not valid TOML: string values must be quoted, expected literal string, in my.toml:3:10",
            "help: the line is `kind = adam`",
        ],
    );
    check(
        "[training]\nseed = 1\nseed = 2\n[training]\n",
        &["not valid TOML: duplicate key, in my.toml:3:1", "help: the line is `seed = 2`"],
    );
    let slip = |line: &str, expected: &str| {
        let problems = resolve::<Demo>(recipe(), vec![file(line)]).expect_err("it went through");
        let told = lines(&problems);
        assert!(told[1].ends_with(expected), "{told:?}");
    };
    slip("data.target = fraud", "; a text is written in quotes, as in \"fraud\"");
    slip("a.b = true,", "the line is `a.b = true,`");
    slip(
        r#"path = "C:\Users\x.csv""#,
        r"in single quotes a `\` stands for itself, as in 'C:\table.csv'",
    );
    slip("rate = 0,001 # mine", "numbers have a decimal point, not a comma");
    check(
        &format!("{}x = 1", "a.".repeat(100_000)),
        &[
            "not valid TOML: recursion limit, in my.toml:1:1",
            "help: the line is `a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.…a.a.a.a.a.a.a.a.a.a.a.a.x = 1`",
        ],
    );
    check(
        "x = \"\"\"\n",
        &["not valid TOML: invalid multi-line basic string, expected `\"`, in my.toml:2:1"],
    );
}

#[test]
fn set_needs_a_key_and_a_value() {
    let write = "help: write `--set key=value`, such as `--set training.epochs=5`";
    let key = "help: a key consists of the letters A to Z, digits, `_` and `-`, with dots between tables; \
               quote other names: `data.columns.\"my column\"`";
    let check =
        |argument: &str, message: &str, help: &str| refuses(sets(&[argument]), &[message, help]);
    check("training.seed", "`=` is missing, in --set training.seed", write);
    check("", "`=` is missing, in --set ", write);
    check("=5", "a key is missing, in --set =5", write);
    check("a..b=5", "`a..b` is not a key, in --set a..b=5", key);
    check("#=5", "`#` is not a key, in --set #=5", key);
    check(
        "data.columns.zip code=drop",
        "`data.columns.zip code` is not a key, in --set data.columns.zip code=drop",
        key,
    );
    check(
        "recipe=cnn",
        "`recipe` cannot be set, in --set recipe=cnn",
        "help: name the recipe instead: `recipes train cnn`",
    );
}

#[test]
fn values_out_of_range_are_refused() {
    refuses(
        sets(&[
            "data.samples=0",
            "data.validation=1",
            "model.dropout=1.0",
            "optimizer.learning_rate=0",
            "optimizer.beta_1=1",
            "optimizer.epsilon=nan",
            "optimizer.weight_decay=inf",
            "schedule.gamma=0",
            "training.epochs=0",
            "training.batch_size=0",
            "training.micro_batch=0",
            "training.clip_norm=0",
            "training.ema=1",
            "training.patience=0",
            "output.log_every_steps=0",
        ]),
        &[
            "`data.samples` must be at least 1, found `0`, in --set data.samples=0",
            "help: the recipe has `data.samples = 1000`",
            "`data.validation` must be at least 0 and below 1, found `1`, in --set data.validation=1",
            "help: omit `data.validation` for the recipe's default",
            "`model.dropout` must be at least 0 and below 1, found `1.0`, in --set model.dropout=1.0",
            "help: the recipe has `model.dropout = 0.5`",
            "`optimizer.learning_rate` must be above 0, found `0`, in --set optimizer.learning_rate=0",
            "help: the recipe has `optimizer.learning_rate = 0.001`",
            "`optimizer.beta_1` must be at least 0 and below 1, found `1`, in --set optimizer.beta_1=1",
            "help: the recipe has `optimizer.beta_1 = 0.9`",
            "`optimizer.epsilon` must be above 0, found `nan`, in --set optimizer.epsilon=nan",
            "help: the recipe has `optimizer.epsilon = 1e-8`",
            "`optimizer.weight_decay` must be at most 3.4e38, the largest number of 32 bits, found `inf`, in --set optimizer.weight_decay=inf",
            "help: the recipe has `optimizer.weight_decay = 0.0`",
            "`schedule.gamma` must be above 0 and at most 1, found `0`, in --set schedule.gamma=0",
            "help: omit `schedule.gamma` for the recipe's default",
            "`training.epochs` must be at least 1, found `0`, in --set training.epochs=0",
            "help: the recipe has `training.epochs = 500`",
            "`training.clip_norm` must be above 0, found `0`, in --set training.clip_norm=0",
            "help: omit `training.clip_norm` for the recipe's default",
            "`training.ema` must be at least 0 and below 1, found `1`, in --set training.ema=1",
            "help: omit `training.ema` for the recipe's default",
            "`training.patience` must be at least 1, found `0`, in --set training.patience=0",
            "help: omit `training.patience` for the recipe's default",
            "`output.log_every_steps` must be at least 1, found `0`, in --set output.log_every_steps=0",
            "help: the recipe has `output.log_every_steps = 25`",
            "`schedule.gamma` has no effect with `schedule.kind = \"constant\"`, in --set schedule.gamma=0",
            "help: leave it out, or set `schedule.kind = \"step\"`",
            "`training.batch_size` must be at least 1, found `0`, in --set training.batch_size=0",
            "help: the recipe has `training.batch_size = 40`",
            "`training.micro_batch` must be at least 1, found `0`, in --set training.micro_batch=0",
            "help: omit `training.micro_batch` for the recipe's default",
        ],
    );
    refuses(
        vec![SettingsLayer::max_steps(0)],
        &[
            "`training.max_steps` must be at least 1, found `0`, in --max-steps 0",
            "help: omit `training.max_steps` for the recipe's default",
        ],
    );
}

#[test]
fn keys_that_do_not_go_together_are_refused() {
    let check = |text: &str, expected: &[&str]| refuses(vec![file(text)], expected);
    check(
        "[data]\nsource = \"csv\"",
        &[
            "`data.source = \"csv\"` needs `data.path`, in my.toml:2",
            "help: name the file: `--set data.path=FILE.csv`",
            "`data.source = \"csv\"` needs `data.target`, in my.toml:2",
            "help: name the column to predict, or give its index: `--set data.target=-1` is the last one",
        ],
    );
    check(
        "[data]\nsource = \"csv\"\npath = \"a\"\ntarget = 0\nsamples = 5\n\
         validation = 0.1\nvalidation_path = \"b\"",
        &[
            "`data.samples` has no effect with `data.source = \"csv\"`, in my.toml:5",
            "help: leave it out, or set `data.source = \"synthetic\"`",
            "`data.validation` and `data.validation_path` exclude each other, in my.toml:7",
            "help: unset one of them: `--set data.validation=`",
        ],
    );
    check(
        "[data]\nsource = \"csv\"\npath = \"a\"\ntarget = 0\ngroup = \"patient\"\nhold_out = \"last\"",
        &[
            "`data.group` and `data.hold_out = \"last\"` exclude each other, in my.toml:5",
            "help: unset one of them: `--set data.group=`",
        ],
    );
    check(
        "[data]\nsource = \"csv\"\npath = \"a\"\ntarget = 0\ntest = 0.8",
        &[
            "`data.validation` and `data.test` leave nothing to train on, in my.toml:5",
            "help: lower one of them: each is a share of all samples",
        ],
    );
    let marks = |list: &str, expected: &str| {
        let csv = "[data]\nsource = \"csv\"\npath = \"a\"\ntarget = 0\nmissing = ";
        let problems = resolve::<Demo>(recipe(), vec![file(&format!("{csv}{list}"))]).unwrap_err();
        assert!(lines(&problems)[0].starts_with(expected), "{problems}");
    };
    marks("[true]", "`data.missing[0]` must be a text or a number, found `true`");
    marks("[\" \"]", "`data.missing` must be texts, such as [\"-999\"]");
    let nothing_held_out =
        "`data.group` has no effect, since no rows of `data.path` are held out, in my.toml:5";
    for (held_out, to_hold_out) in [
        ("validation = 0.0", "rows: `--set data.validation=0.2`"),
        ("validation_path = \"b\"", "rows to test on: `--set data.test=0.2`"),
    ] {
        let csv = "[data]\nsource = \"csv\"\npath = \"a\"\ntarget = 0\ngroup = \"patient\"\n";
        let help = format!("help: leave it out, or hold out {to_hold_out}");
        check(&format!("{csv}{held_out}"), &[nothing_held_out, &help]);
    }
    check(
        "[data]\npath = \"a.csv\"\n[optimizer]\nmomentum = 0.9",
        &[
            "`data.path` has no effect with `data.source = \"synthetic\"`, in my.toml:2",
            "help: leave it out, or set `data.source = \"csv\"`",
            "`optimizer.momentum` has no effect with `optimizer.kind = \"adam\"`, in my.toml:4",
            "help: leave it out, or set `optimizer.kind = \"sgd\"`",
        ],
    );
    check(
        "training.micro_batch = 50",
        &[
            "`training.micro_batch` is more than `training.batch_size`, which is `40`, in my.toml:1",
            "help: a micro-batch is a part of a batch: lower the one or raise the other",
        ],
    );
    check(
        "[training]\nmicro_batch = 5\nsync_batch_norm = true",
        &[
            "`training.sync_batch_norm` and `training.micro_batch` cannot be combined: norms over the \
             whole batch need all of it at once, in my.toml:3",
            "help: omit one of them; with more processes each has a smaller part of the batch",
        ],
    );
    check(
        "[schedule]\nkind = \"step\"\nwarmup_steps = 5\npatience = 3",
        &[
            "`schedule.warmup_steps` has no effect with `schedule.kind = \"step\"`, in my.toml:3",
            "help: leave it out, or set `schedule.kind = \"cosine\"`",
            "`schedule.patience` has no effect with `schedule.kind = \"step\"`, in my.toml:4",
            "help: leave it out, or set `schedule.kind = \"plateau\"`",
            "`schedule.kind = \"step\"` needs `schedule.milestones`, in my.toml:2",
            "help: name the epochs at whose start the learning rate drops: \
             `--set schedule.milestones=[250,375]`",
        ],
    );
    // The example suits the run.
    for (epochs, example) in
        [(1, "epochs=10 --set schedule.milestones=[5,7]"), (3, "milestones=[1]`")]
    {
        let short = format!("[schedule]\nkind = \"step\"\n[training]\nepochs = {epochs}");
        let problems =
            lines(&resolve::<Demo>(recipe(), vec![file(&short)]).unwrap_err()).join("\n");
        assert!(problems.contains(example), "{problems}");
    }
    // What has no effect but says what the recipe says is in every `config.toml` of a run.
    resolved(vec![file("[optimizer]\nmomentum = 0")]);
}

#[test]
fn mistakes_of_all_layers_come_together() {
    let mut layers = vec![
        SettingsLayer::document("broken.toml", "recipe = \"demo\"\n[data\nx = 1"),
        file(
            "[training]\nsed = 1\nepochs = \"many\"\n[model]\ndropout = 2\n[output]\nmodel = \"bets\"",
        ),
    ];
    // Without the slip in its name, `data.source` would say that `data.path` has an effect.
    layers.extend(sets(&[
        "training.epochs",
        "data.sorce=csv",
        "data.path=a.csv",
        "training.batch_size=0",
    ]));
    refuses(
        layers,
        &[
            "not valid TOML: unclosed table, expected `]`, in broken.toml:2:6",
            "help: the line is `[data`",
            "unknown key `training.sed`, in my.toml:2",
            "help: did you mean `training.seed`?",
            "`training.epochs` must be a whole number, found `\"many\"`, in my.toml:3",
            "help: the recipe has `training.epochs = 500`",
            "`output.model` must be `\"final\"` or `\"best\"`, found `\"bets\"`, in my.toml:7",
            "help: did you mean `\"best\"`?",
            "`=` is missing, in --set training.epochs",
            "help: write `--set key=value`, such as `--set training.epochs=5`",
            "unknown key `data.sorce`, in --set data.sorce=csv",
            "help: did you mean `data.source`?",
            "`model.dropout` must be at least 0 and below 1, found `2`, in my.toml:5",
            "help: the recipe has `model.dropout = 0.5`",
            "`training.batch_size` must be at least 1, found `0`, in --set training.batch_size=0",
            "help: the recipe has `training.batch_size = 40`",
        ],
    );
}
