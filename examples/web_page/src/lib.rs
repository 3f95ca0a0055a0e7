//! A web page that classifies pictures with a trained run: what `index.html` calls.
//!
//! The model and the pictures stay in the browser.

use backend::{Selected, device};
use data::image_folder::decode_image;
use inference::{Model, Prediction};
use wasm_bindgen::prelude::wasm_bindgen;

/// A model that was trained on pictures.
#[wasm_bindgen]
#[derive(Debug)]
pub struct Classifier(Model<Selected>);

#[wasm_bindgen]
impl Classifier {
    /// Reads the bytes of a `model.safetensors`.
    ///
    /// # Errors
    ///
    /// If they are no model, or one that does not read pictures.
    #[wasm_bindgen(constructor)]
    pub fn new(file: &[u8]) -> Result<Self, String> {
        let (device, _) = device::open().map_err(|error| error.to_string())?;
        let model = Model::from_bytes(file, &device).map_err(|error| error.to_string())?;
        model.description().image().map_err(|error| error.to_string())?;
        Ok(Self(model))
    }

    /// The classes of a picture, the most probable first, as JSON:
    /// `[{"class": "cat", "probability": 0.9}, {"class": "dog", "probability": 0.1}]`.
    ///
    /// - `file`: the bytes of a JPEG, PNG, BMP or WebP of any size
    ///
    /// # Errors
    ///
    /// If they cannot be decoded.
    pub fn classify(&self, file: &[u8]) -> Result<String, String> {
        let Self(model) = self;
        let preprocessing = model.description().image().map_err(|error| error.to_string())?;
        let shape = preprocessing.shape();
        let mut pixels = vec![0; shape.bytes()];
        decode_image(file, shape, preprocessing.resize, &mut pixels)
            .map_err(|error| format!("the picture {error}"))?;
        let predictions = model.predict_images(&pixels).map_err(|error| error.to_string())?;
        let [Prediction::Class { top }] = predictions.as_slice() else {
            return Err("the model does not predict a class".to_owned());
        };
        serde_json::to_string(top).map_err(|error| error.to_string())
    }
}
