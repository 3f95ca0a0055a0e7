//! What becomes of settings: those that are left open, and those that other settings or the data decide.

use std::fs;

use crate::{folder::Folder, pictures::bmp};

#[test]
fn a_model_predicts_in_the_arithmetic_of_its_run() {
    let folder = Folder::new();
    let train = "train cnn --set data.samples=100 --max-steps 4 --set training.arithmetic=exact \
                 --progress quiet --run-dir run";
    folder.run(train).succeeded();
    for (number, class) in ["a", "b", "c"].iter().enumerate() {
        let colour = [90, 200, 40 * number as u8];
        folder.write(&format!("pictures/{class}/{number}.bmp"), bmp(28, colour));
    }
    let predicted = |run: &str| folder.run(&format!("predict {run} pictures --json")).succeeded();
    let exact = predicted("run").stdout;
    // The model alone says nothing of it.
    fs::create_dir(folder.path("alone")).unwrap();
    let model = |run: &str| folder.path(run).join("model.safetensors");
    fs::copy(model("run"), model("alone")).unwrap();
    assert_ne!(predicted("alone").stdout, exact);
    let config = folder.read("run/config.toml").replace("\"exact\"", "\"fast\"");
    folder.write("run/config.toml", config);
    assert_eq!(predicted("run").stdout, predicted("alone").stdout);
}
