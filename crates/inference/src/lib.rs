//! A trained run as a library: what another program links to use a model.
//!
//! A [`Model`] is one safetensors file: weights, the network's description, and the preprocessing
//! that was learnt from the training data. It runs on any backend, whichever one trained it.
//!
//! ```no_run
//! use backend::{Selected, device};
//! use inference::{Model, Prediction};
//!
//! let (device, _) = device::open()?;
//! let model = Model::<Selected>::read("runs/mlp", &device)?;
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
//! [`Model::predict_images`] takes pixels; `data::image_folder::decode_image` reads them from a picture file.
//! [`Model::generate`] continues a text.
//! [`Model::from_bytes`] reads a model where there are no files, as in a web page (`examples/web_page`), and
//! [`Model::to_onnx`] converts it for other runtimes and languages.
//!
//! # In a server
//!
//! - Several threads may use a model at once (`Arc<Model<_>>`). On a CPU a call uses all cores, so concurrent
//!   calls gain little: gather inputs into one call, or let few threads predict at a time.
//! - A row whose cells have names, as in JSON, is encoded by [`encode_named`](preprocess::TablePreprocessing::encode_named),
//!   which also tells what is odd about it.
//! - `data::image_folder::image_size` tells how large a picture is before it is decoded.
//! - A [`Generator`] borrows the model, so one thread runs it to its end.
//! - Memory that a burst of calls took is freed within some thousand further calls. The system's allocator takes
//!   less of it than `mimalloc`, which suits training, where many threads predict.
//! - Open the device with [`backend::device::open`], which finds a missing driver before it is used and, on a
//!   GPU, keeps each thread from having memory of its own; do not call [`backend::device::prepare_process`],
//!   which is for a thread that trains.

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
    model::{IMAGES_AT_A_TIME, MODEL, Model, ROWS_AT_A_TIME, check_format, metadata, model_file},
    prediction::{Prediction, Probability},
    sampling::Sampling,
};
