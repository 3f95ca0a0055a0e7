//! `data.fraction`: a part of what is not held out.

use crate::{
    folder::Folder,
    pictures::{PHOTOS, photos},
};

/// Tables, pictures and a text, each with settings under which a run is short.
const DATA: [(&str, &str); 3] = [
    (
        "mlp",
        "--set data.source=csv --set data.path=table.csv --set data.target=y \
         --set training.epochs=2 --progress quiet",
    ),
    ("cnn", PHOTOS),
    (
        "lstm-char",
        "--set data.path=text.txt --set data.sequence_length=16 --set training.batch_size=4 \
         --set model.hidden=8 --set training.epochs=2 --progress quiet",
    ),
];

fn folder() -> Folder {
    let folder = photos();
    let row = |i: usize| {
        format!("{},{}.5,{}\n", i % 7, i % 11, if i.is_multiple_of(3) { "a" } else { "b" })
    };
    folder.write("table.csv", format!("x,z,y\n{}", (0..200).map(row).collect::<String>()));
    folder.write("text.txt", "abcdefgh ".repeat(400));
    folder
}

#[test]
fn what_is_held_out_stays_so_that_runs_can_be_compared() {
    let folder = folder();
    for (recipe, data) in DATA {
        for (run, fraction) in [("all", 1.0), ("part", 0.5)] {
            let run = format!("{recipe}-{run} --set data.fraction={fraction}");
            folder.run(&format!("train {recipe} {data} --run-dir {run}")).succeeded();
        }
        let measured = |run: &str| folder.run(&format!("eval {run} --json")).succeeded().json();
        let [all, part] = ["all", "part"].map(|run| measured(&format!("{recipe}-{run}")));
        assert_eq!(all["samples"], part["samples"], "{recipe}");
        let samples =
            |run: &str| folder.json(&format!("{recipe}-{run}/summary.json"))["samples"].as_f64();
        let share = samples("part").unwrap() / samples("all").unwrap();
        assert!((0.4..0.6).contains(&share), "{recipe}: {share}");

        let compared =
            folder.run(&format!("compare {recipe}-all {recipe}-part")).succeeded().stdout;
        assert!(compared.contains("lowest validation loss: "), "{compared}");
        assert!(!compared.contains("data changed"), "{compared}");
        folder
            .run(&format!("resume {recipe}-part --set data.fraction=1 --set training.epochs=3"))
            .refused(2, "`data.fraction` was 0.5 and is 1");
    }
}

#[test]
fn fractions_that_are_none_are_refused() {
    let folder = Folder::new();
    let refused = |settings: &str, told: &str| {
        folder.run(&format!("train cnn {settings}")).refused(2, told);
    };
    for fraction in ["0", "1.5", "-0.1"] {
        let told = "`data.fraction` must be above 0 and at most 1";
        refused(&format!("{PHOTOS} --set data.fraction={fraction}"), told);
    }
    refused(
        "--set data.fraction=0.5",
        "`data.fraction` has no effect with `data.source = \"synthetic\"`",
    );
    refused("--set data.train_size=0.5", "unknown key `data.train_size`");
}
