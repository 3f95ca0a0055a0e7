//! A trained run as a library: what another program links to use a model.
//!
//! A [`Model`] is one safetensors file: weights, the network's description, and the preprocessing
//! that was learnt from the training data. It runs on any backend, whichever one trained it.
//!
//! ```no_run
//! use backend::{Selected, device::Device};
//! use inference::{Model, Prediction};
//!
//! let model = Model::<Selected>::read("runs/mlp/model.safetensors".as_ref(), &Device::default())?;
//! let mut features = Vec::new();
//! model.description().table()?.encode(&["5.1", "3.5", "1.4", "0.2"], &mut features)?;
//! for prediction in model.predict_rows(&features)? {
//!     if let Prediction::Class { top } = prediction {
//!         println!("{}: {:.3}", top[0].class, top[0].probability);
//!     }
//! }
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! [`Model::from_bytes`] reads it where there are no files, as in a web page.
//! [`Model::to_onnx`] converts it for other runtimes and languages.

mod description;
mod error;
mod generate;
mod model;
mod onnx;
mod prediction;
mod sampling;

pub use crate::{
    description::{Description, InputKind, Preprocessing},
    error::InferenceError,
    generate::Generator,
    model::{Model, model_file},
    prediction::{Prediction, Probability},
    sampling::Sampling,
};
