//! A trained run in a program of your own: pictures, classified.
//!
//! ```text
//! recipes train cnn --set data.source=image-folder --set data.path=photos --set data.size=64 --run-dir photos-run
//! cargo run -p examples --example predict_image -- photos-run/model.safetensors cat.jpg dog.png
//! ```

#![allow(clippy::print_stdout)] // A program's result.

use std::path::Path;

use anyhow::bail;
use backend::{Selected, device};
use data::image_folder::read_image;
use inference::{Model, Prediction};

/// Classes that are named, the most probable ones.
const NAMED: usize = 3;

fn main() -> anyhow::Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [model, pictures @ ..] = arguments.as_slice() else {
        bail!("usage: predict_image MODEL.safetensors PICTURE...");
    };
    let (device, _) = device::open()?;
    let model = Model::<Selected>::read(Path::new(model), &device)?;

    // Each picture is brought to the shape that the model was trained on.
    let preprocessing = model.description().image()?;
    let shape = preprocessing.shape();
    let mut pixels = vec![0; pictures.len() * shape.bytes()];
    for (picture, pixels) in pictures.iter().zip(pixels.chunks_exact_mut(shape.bytes())) {
        read_image(Path::new(picture), shape, preprocessing.resize, pixels)?;
    }

    for (picture, prediction) in pictures.iter().zip(model.predict_images(&pixels)?) {
        let Prediction::Class { top } = prediction else { continue };
        let named = top.iter().take(NAMED);
        let named: Vec<String> =
            named.map(|class| format!("{} ({:.3})", class.class, class.probability)).collect();
        println!("{picture}: {}", named.join(", "));
    }
    Ok(())
}
