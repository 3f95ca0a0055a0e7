//! Before a run costs: `plan` and `lr-find`.

use crate::folder::Folder;

#[test]
fn every_recipe_has_a_plan_of_its_default() {
    let folder = Folder::new();
    let parameters = |recipe: &str| {
        let plan = folder.run(&format!("plan {recipe} --json")).succeeded().json();
        let sum = |key: &str| {
            let layers = plan["layers"].as_array().unwrap();
            layers.iter().map(|layer| layer[key].as_u64().unwrap()).sum::<u64>()
        };
        assert_eq!(plan["parameters"], sum("parameters"), "{recipe}");
        assert_eq!(plan["multiply_adds"], sum("multiply_adds"), "{recipe}");
        assert!(plan["trainable_parameters"].as_u64() <= plan["parameters"].as_u64());
        for key in ["steps", "samples"] {
            assert!(plan[key].as_u64().unwrap() > 0, "{recipe}: {key}");
        }
        for key in ["weights", "gradients", "optimizer", "activations", "total"] {
            assert!(plan["memory_bytes"][key].as_u64().unwrap() > 0, "{recipe}: {key}");
        }
        assert!(plan.get("seconds_at_peak").is_none());
        plan["parameters"].as_u64().unwrap()
    };
    assert_eq!(parameters("mlp"), 221);
    assert_eq!(parameters("cnn"), 93_322);
    for recipe in ["simplenet", "resnet", "vgg", "vgg-pretrain", "lstm", "lstm-char"] {
        parameters(recipe);
    }
    assert!(folder.entries().is_empty(), "{:?}", folder.entries());
}

/// The numbers that the plan foretells are those of the run.
#[test]
fn a_plan_is_kept() {
    let folder = Folder::new();
    let rows: String = (0..300).map(|x| format!("{x},{}\n", 1000 + 50 * x)).collect();
    folder.write("table.csv", format!("x,price\n{rows}"));
    let words = "the loss falls and the gradient is small . ".repeat(200);
    folder.write("text.txt", words);
    let runs = [
        "mlp --set data.source=csv --set data.path=table.csv --set data.target=price \
         --set training.epochs=3",
        "lstm-char --set data.path=text.txt --set training.batch_size=4 --set model.hidden=8 \
         --set data.sequence_length=16 --set training.max_steps=20",
    ];
    for (index, run) in runs.iter().enumerate() {
        let plan = folder.run(&format!("plan {run} --json")).succeeded().json();
        let train = format!("train {run} --json --progress quiet --run-dir {index}");
        let summary = folder.run(&train).succeeded().json();
        for key in ["epochs", "steps", "samples", "parameters", "trainable_parameters"] {
            assert_eq!(plan[key], summary[key], "{run}: {key}");
        }
    }
}

#[test]
fn a_plan_can_be_read_and_drawn() {
    let folder = Folder::new();
    let command = "plan cnn --set schedule.kind=one_cycle --set data.samples=100 --svg rate.svg";
    let text = folder.run(command).succeeded().stdout;
    for expected in ["conv1", "[32, 26, 26]", "93,322", "memory while training", "█", "--bench"] {
        assert!(text.contains(expected), "{expected} is not in:\n{text}");
    }
    assert!(folder.read("rate.svg").starts_with("<svg"));
    folder.run(command).refused(3, "`rate.svg` already exists");
    let nowhere = "plan mlp --svg nowhere/rate.svg --force";
    folder.run(nowhere).refused(3, "there is no folder `nowhere`");
    #[cfg(unix)]
    folder.run("plan mlp --svg /dev/null --force").refused(3, "`/dev/null` is not a regular file");
    folder.run(&format!("{command} --force")).succeeded();

    let refused = folder.run("plan mlp --set training.epochs=0");
    assert_eq!((refused.code, refused.stdout.as_str()), (Some(2), ""));
    assert_eq!(refused.stderr, folder.run("train mlp --set training.epochs=0").stderr);
    assert_eq!(folder.entries(), ["rate.svg"]);
}

#[test]
fn a_learning_rate_is_found_and_nothing_else_is_left() {
    let folder = Folder::new();
    // The schedule of the file is not the test's.
    folder.run("copy mlp my.toml").succeeded();
    let edited = folder.read("my.toml").replace("warmup_steps = 0 ", "warmup_steps = 9 ");
    folder.write("my.toml", edited.replace("kind = \"constant\"", "kind = \"cosine\""));
    let command = "lr-find my.toml --set data.labels=linear --to 10 --output range.svg";
    let text = folder.run(command).succeeded().stdout;
    let next = "try: recipes train my.toml --set data.labels=linear --set optimizer.learning_rate=";
    assert!(text.contains(next), "{text}");
    let found = folder.run(&format!("{command} --force --json --progress quiet")).succeeded();
    assert_eq!(found.stderr, "");
    let found = found.json();
    let rate = |key: &str| found[key].as_f64().unwrap();
    // Adam's usual rate for so small a network is 1e-3 to 1e-1.
    assert!((1e-3..0.2).contains(&rate("tenth_of_lowest")), "{found}");
    assert!((1e-3..0.5).contains(&rate("steepest")), "{found}");
    assert!(folder.read("range.svg").starts_with("<svg"));
    assert_eq!(folder.entries(), ["my.toml", "range.svg"]);

    folder.run("lr-find mlp --from 1 --to 0.1").refused(2, "no learning rates lie between");
}

/// Gradient descent at such rates ends at once in numbers that are not finite: an end as any other.
#[test]
fn a_loss_that_is_not_finite_ends_the_search() {
    let folder = Folder::new();
    let rows: String = (0..300).map(|x| format!("{x},{}\n", 1000 + 50 * x)).collect();
    folder.write("table.csv", format!("x,price\n{rows}"));
    let data = "--set data.source=csv --set data.path=table.csv --set data.target=price";
    let search = format!("lr-find mlp {data} --set optimizer.kind=sgd --from 1e20 --to 1e30");
    let text = folder.run(&search).succeeded().stdout;
    assert!(text.contains("where it diverged") && text.contains("lower `--from`"), "{text}");
    assert_eq!(folder.entries(), ["table.csv"]);
}
