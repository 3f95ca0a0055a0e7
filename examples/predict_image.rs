//! Uses a trained model in your own program: classifies pictures.
//!
//! ```text
//! recipes train cnn --set data.source=image-folder --set data.path=photos --set data.size=64 --run-dir photos-run
//! cargo run --release -p examples --example predict_image -- photos-run/model.safetensors cat.jpg dog.png
//! ```

#![allow(clippy::print_stdout)] // A program's result.

use std::fs;

use anyhow::{Context, bail};
use backend::{Selected, device};
use data::image_folder::decode_image;
use inference::{Model, Prediction};

const USAGE: &str = "usage: predict_image MODEL.safetensors PICTURE...";
/// How many of the most probable classes are printed.
const NAMED: usize = 3;

fn main() -> anyhow::Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [model, pictures @ ..] = arguments.as_slice() else { bail!(USAGE) };
    if pictures.is_empty() {
        bail!(USAGE);
    }
    for (picture, classes) in pictures.iter().zip(classify(model, pictures)?) {
        println!("{picture}: {classes}");
    }
    Ok(())
}

/// The most probable classes of each picture, such as `cat (0.913), dog (0.071)`.
fn classify(model: &str, pictures: &[String]) -> anyhow::Result<Vec<String>> {
    let (device, _) = device::open()?;
    // The bytes may also be part of the program, by `include_bytes!`, or come over a network.
    let file = fs::read(model).with_context(|| format!("cannot read `{model}`"))?;
    let model = Model::<Selected>::from_bytes(&file, &device)?;

    // Each picture is resized to the shape that the model was trained on.
    let preprocessing = model.description().image()?;
    let shape = preprocessing.shape();
    let mut pixels = vec![0; pictures.len() * shape.bytes()];
    for (picture, pixels) in pictures.iter().zip(pixels.chunks_exact_mut(shape.bytes())) {
        let bytes = fs::read(picture).with_context(|| format!("cannot read `{picture}`"))?;
        decode_image(&bytes, shape, preprocessing.resize, pixels)
            .with_context(|| format!("`{picture}` cannot be used"))?;
    }

    let classes = |prediction| {
        let Prediction::Class { top } = prediction else { return String::new() };
        let named = top.iter().take(NAMED);
        let named: Vec<String> =
            named.map(|class| format!("{} ({:.3})", class.class, class.probability)).collect();
        named.join(", ")
    };
    Ok(model.predict_images(&pixels)?.into_iter().map(classes).collect())
}

#[test]
fn a_picture_of_another_size_is_classified() -> anyhow::Result<()> {
    use data::{ImagePreprocessing, ImageShape, Resize};
    use inference::{Description, Preprocessing, model_file};
    use models::{Architecture, CnnConfig};

    let folder = tempfile::tempdir()?;
    let network = CnnConfig { classes: 2, ..CnnConfig::default() };
    let shape = ImageShape { channels: 1, height: 28, width: 28 };
    let description = Description {
        recipe: "cnn".to_owned(),
        architecture: Architecture::Cnn(network.clone()),
        preprocessing: Preprocessing::Image(ImagePreprocessing::identity(shape, Resize::Crop)),
        classes: ["dark", "bright"].map(str::to_owned).to_vec(),
    };
    let model = folder.path().join("model.safetensors");
    let (device, _) = device::open()?;
    model_file(&network.init::<Selected>(0, &device), &description).write(&model)?;
    let picture = folder.path().join("picture.png");
    let shape = ImageShape { channels: 3, height: 40, width: 60 };
    fs::write(&picture, data::picture(shape, &[vec![vec![200; shape.bytes()]]], 1))?;

    let [model, picture] = [model, picture].map(|path| path.display().to_string());
    let told = classify(&model, &[picture])?;
    assert!(told.len() == 1 && told[0].contains("dark (0.") && told[0].contains("bright (0."));
    Ok(())
}
