//! A model with its weights, ready to predict.

use std::path::Path;

use backend::Backend;
use burn::{
    module::Module,
    tensor::{Tensor, TensorData},
};
use models::{Inputs, Network, Pass, weights};
use preprocess::{ImageShape, LARGEST_SCORE, Task};
use serde_json::Value;
use store::{NumberType, TensorFile};

use crate::{
    Description, Generator, InferenceError, InputKind, Prediction, Sampling,
    generate::note_on_words,
    onnx,
    prediction::{binary, multiclass},
};

/// Rows of a table that [`Model::predict_rows`] takes at a time, fewer if they have texts; more in a call are
/// predicted no faster.
pub const ROWS_AT_A_TIME: usize = 1024;
/// Images that [`Model::predict_images`] takes at a time; more in a call are predicted no faster.
pub const IMAGES_AT_A_TIME: usize = 64;

/// A model with its weights.
#[derive(Debug)]
pub struct Model<B: Backend> {
    description: Description,
    network: Network<B>,
    device: B::Device,
}

/// The name of a model's file in a run's directory.
pub const MODEL: &str = "model.safetensors";

/// The metadata key of a file's format version; without it, 1.
const FORMAT_KEY: &str = "format";
/// The newest version that is read, and the one that is written; to be raised where a program that does
/// not know of a change would predict otherwise.
const FORMAT: u64 = 2;

/// What errors call a model that is not read from a file.
const IN_MEMORY: &str = "model in memory";

/// The file of a trained network, ready to be written.
///
/// - `network`: the one that `description.architecture` describes; for another one write a
///   [`TensorFile`] with metadata of its own
pub fn model_file<B: Backend, M: Module<B>>(network: &M, description: &Description) -> TensorFile {
    TensorFile { tensors: weights::to_tensors(network), metadata: metadata(description) }
}

/// Checks that a [`model_file`]'s format is not too new; other files pass.
///
/// # Errors
///
/// Names `path`.
pub fn check_format(file: &TensorFile, path: &Path) -> Result<(), InferenceError> {
    let format = file.metadata.get(FORMAT_KEY).map_or(Some(FORMAT), Value::as_u64);
    match format.is_some_and(|format| format <= FORMAT) {
        true => Ok(()),
        false => Err(InferenceError::Newer { path: path.to_owned() }),
    }
}

/// The metadata of a [`model_file`].
pub fn metadata(description: &Description) -> Value {
    let mut metadata = serde_json::to_value(description).expect("a description has a form in JSON");
    metadata[FORMAT_KEY] = FORMAT.into();
    metadata
}

impl<B: Backend> Model<B> {
    /// A trained network, as it would be read from its [`model_file`].
    ///
    /// - `network`: the one that `description.architecture` describes
    ///
    /// # Errors
    ///
    /// If the description contradicts itself, or is not the network's.
    pub fn new(
        network: &impl Module<B>,
        description: &Description,
        device: &B::Device,
    ) -> Result<Self, InferenceError> {
        Self::from_file(model_file(network, description), Path::new(IN_MEMORY), device)
    }

    /// Reads a model file, or a run directory's.
    ///
    /// # Errors
    ///
    /// If the file cannot be read, does not describe a model, contradicts itself, or does not hold the
    /// model's weights.
    pub fn read(path: impl AsRef<Path>, device: &B::Device) -> Result<Self, InferenceError> {
        let path = path.as_ref();
        let path = if path.is_dir() { &path.join(MODEL) } else { path };
        Self::from_file(TensorFile::read(path)?, path, device)
    }

    /// Reads the bytes of a model file, for instance from `include_bytes!`.
    ///
    /// # Errors
    ///
    /// As [`Model::read`].
    pub fn from_bytes(bytes: &[u8], device: &B::Device) -> Result<Self, InferenceError> {
        let name = Path::new(IN_MEMORY);
        Self::from_file(TensorFile::from_bytes(bytes, name)?, name, device)
    }

    /// - `path`: what errors call the file
    fn from_file(
        file: TensorFile,
        path: &Path,
        device: &B::Device,
    ) -> Result<Self, InferenceError> {
        check_format(&file, path)?;
        let is_there = file.metadata.get("architecture").is_some();
        let description: Description = serde_json::from_value(file.metadata).map_err(|error| {
            let reason = match is_there {
                true => error.to_string(),
                false => "it holds weights without a description".to_owned(),
            };
            InferenceError::Description { path: path.to_owned(), reason }
        })?;
        description
            .check()
            .map_err(|reason| InferenceError::Inconsistent { path: path.to_owned(), reason })?;
        let network = description
            .architecture
            .load(file.tensors, device)
            .map_err(|reason| InferenceError::Weights { path: path.to_owned(), reason })?;
        Ok(Self { description, network, device: device.clone() })
    }

    /// What the file says about the model.
    pub fn description(&self) -> &Description {
        &self.description
    }

    /// The network with its weights.
    pub fn network(&self) -> &Network<B> {
        &self.network
    }

    /// The model as the bytes of an ONNX file, which other runtimes and languages read.
    ///
    /// The graph takes f32 `images` `[batch, channels, height, width]` that are normalised already, f32
    /// `features` `[batch, features]`, or i64 `tokens` `[batch, time]`, and returns f32 `logits`; for a
    /// regression, the f64 `value`, `[batch, 1]`, in the unit of the training data. A network that writes
    /// text also takes the state `h` and `c`, `[layers, batch, hidden]`, zeros if it is not given (ONNX
    /// Runtime warns of such defaults, which is harmless), and returns `h_next` and `c_next`.
    ///
    /// The file's property `output` names what is predicted, and `activation` what turns it into
    /// probabilities: `softmax`, `sigmoid` (of the second of two classes, from a single logit) or `none`.
    /// `classes` and `preprocessing` are JSON. For images, input = (pixel * `scale` - `mean`) / `deviation`,
    /// after resizing with `filter`. For a text, a word's id is its place in `words` plus `offset`, or
    /// `unknown`; a character's its place in `characters`; and `bytes` are their own ids.
    ///
    /// In a table, a cell, without the blanks around it, is missing if it is empty, or one of
    /// `always_missing` or of `missing`. A number is read without its `number_format`, such as a currency
    /// sign, and with a decimal comma if `decimal_comma` says so; it becomes (number - `mean`) / `deviation`, clamped
    /// between -`largest` and `largest`, or 0 if it is missing. A missing category counts as `fill`. A
    /// category that is a number has its shortest form: `1` for `01` and `1.0`. With the encoding `one_hot`
    /// it becomes a feature for each of `categories`, 1 for its own, and with `index` its place there plus
    /// `offset`, or 0 if it is not among them. A dropped column becomes nothing.
    ///
    /// A text is composed (NFC). Its apostrophes become `'`, which stand alone except after a letter or digit,
    /// control characters become blanks, and each character of Chinese, Japanese kana, Thai, Lao, Burmese and
    /// Khmer stands alone. Then it is cut into words as by [`preprocess::Vocabulary::words`]. The last `length` of them
    /// become features, each its place in the `words` of the column's `vocabulary` plus `offset`, or `unknown`;
    /// zeros stand before fewer, and a missing text is all zeros.
    ///
    /// - `numbers`: the type in which the weights are stored; the network computes in f32
    ///
    /// # Errors
    ///
    /// If the network is too large for the format, or does not read what its preprocessing makes, or if
    /// a weight is beyond the range of `numbers`.
    pub fn to_onnx(&self, numbers: NumberType) -> Result<Vec<u8>, InferenceError> {
        onnx::file(&self.description, weights::to_tensors(&self.network), numbers)
    }

    /// Predicts rows of a table.
    ///
    /// - `features`: `[rows, width]`, as [`preprocess::TablePreprocessing::encode`] makes them
    /// - returns a prediction for each row
    ///
    /// # Errors
    ///
    /// If the model does not read rows, or `features` are not whole rows, not finite or larger than any that
    /// is encoded, or have the id of an unknown category or token; if the outputs are not finite.
    pub fn predict_rows(&self, features: &[f32]) -> Result<Vec<Prediction<'_>>, InferenceError> {
        let table = self.description.table()?;
        let width = table.width().max(1);
        whole_inputs(features.len(), "rows", width)?;
        check_values(features, width, &table.id_counts())?;
        let mut predictions = Vec::with_capacity(features.len() / width);
        for chunk in features.chunks(table.rows_at_a_time(ROWS_AT_A_TIME) * width) {
            let data = TensorData::new(chunk.to_vec(), [chunk.len() / width, width]);
            let features = Inputs::Rows(Tensor::from_data(data, &self.device));
            let outputs = self.network.forward(features, &mut Pass::evaluation());
            let outputs = outputs.ok_or_else(|| self.description.not(InputKind::Rows))?;
            let (outputs, classes) = (finite(outputs)?, table.target.classes());
            match table.task() {
                Task::Binary => predictions.extend(binary(outputs, classes)),
                Task::Multiclass => predictions.extend(multiclass(outputs, classes)),
                Task::Regression => {
                    let restore = |value| Prediction::Value(table.target.restore(value));
                    predictions.extend(outputs.into_iter().map(restore));
                }
            }
        }
        Ok(predictions)
    }

    /// Predicts images.
    ///
    /// - `pixels`: u8 `[images, channels, height, width]`, in the shape of
    ///   [`preprocess::ImagePreprocessing::shape`]
    /// - returns a prediction for each image
    ///
    /// # Errors
    ///
    /// If the model does not read images, or `pixels` are not whole images; if the outputs are not finite.
    pub fn predict_images(&self, pixels: &[u8]) -> Result<Vec<Prediction<'_>>, InferenceError> {
        let preprocessing = self.description.image()?;
        let shape = preprocessing.shape();
        whole_inputs(pixels.len(), "images", shape.bytes())?;
        let mut predictions = Vec::new();
        for chunk in pixels.chunks(IMAGES_AT_A_TIME * shape.bytes()) {
            let dims = [chunk.len() / shape.bytes(), shape.channels, shape.height, shape.width];
            let data = TensorData::new(preprocessing.normalise(chunk), dims);
            let logits = self.image_logits(Tensor::from_data(data, &self.device))?;
            predictions.extend(multiclass(finite(logits)?, &self.description.classes));
        }
        Ok(predictions)
    }

    /// The logits of images that are normalised already.
    ///
    /// - `images`: `[batch, channels, height, width]`
    /// - returns: `[batch, classes]`
    ///
    /// # Errors
    ///
    /// If the model does not read images, or none of this shape.
    pub fn image_logits(&self, images: Tensor<B, 4>) -> Result<Tensor<B, 2>, InferenceError> {
        self.check_shape(images.dims())?;
        let logits = self.network.forward(Inputs::Images(images), &mut Pass::evaluation());
        logits.ok_or_else(|| self.description.not(InputKind::Images))
    }

    fn check_shape(&self, shape: [usize; 4]) -> Result<(), InferenceError> {
        let ImageShape { channels, height, width } = self.description.image()?.shape();
        let reads = [channels, height, width];
        let sizes = self.description.architecture.images();
        let of_any_size = sizes.is_some_and(|sizes| sizes.side.is_none());
        let fits = shape[1..] == reads || of_any_size && shape[1] == channels;
        if fits && !shape.contains(&0) {
            return Ok(());
        }
        Err(InferenceError::Shape { shape, reads })
    }

    /// What the user should know of words in a prompt that the model does not know.
    ///
    /// # Errors
    ///
    /// If the model does not write text.
    pub fn note_on_prompt(&self, prompt: &str) -> Result<Option<String>, InferenceError> {
        Ok(note_on_words(prompt, self.description.vocabulary()?))
    }

    /// Continues a text. Words unknown to the model are read as one unknown word.
    ///
    /// # Errors
    ///
    /// If the model does not write text or does not know the prompt's characters, or `sampling` is out
    /// of its range.
    pub fn generate(
        &self,
        prompt: &str,
        sampling: Sampling,
    ) -> Result<Generator<'_, B>, InferenceError> {
        let vocabulary = self.description.vocabulary()?;
        let Network::TextLstm(network) = &self.network else {
            return Err(self.description.not(InputKind::Text));
        };
        Generator::new(network, vocabulary, prompt, sampling, &self.device)
    }
}

/// Checks that features are such as are encoded, which no network turns into NaN, and ids in range.
///
/// - `ids`: how many each feature may be, 0 for one that is a number
fn check_values(features: &[f32], width: usize, ids: &[usize]) -> Result<(), InferenceError> {
    for (row, features) in features.chunks_exact(width).enumerate() {
        for (feature, (&value, &entries)) in features.iter().zip(ids).enumerate() {
            let size = f64::from(value.abs());
            if !size.is_finite() || entries == 0 && size > LARGEST_SCORE {
                return Err(InferenceError::NotFinite { row, feature, value });
            }
            let is_id = (0.0..entries as f32).contains(&value) && value.fract() == 0.0;
            if entries > 0 && !is_id {
                return Err(InferenceError::Index { row, feature, value, entries });
            }
        }
    }
    Ok(())
}

/// Checks that `values` is a multiple of `of`.
fn whole_inputs(values: usize, inputs: &'static str, of: usize) -> Result<(), InferenceError> {
    if values.is_multiple_of(of) {
        return Ok(());
    }
    Err(InferenceError::Length { values, inputs, of })
}

/// Outputs, row by row, unless nothing can be predicted from them.
pub(crate) fn finite<B: Backend, const D: usize>(
    outputs: Tensor<B, D>,
) -> Result<Vec<f32>, InferenceError> {
    let outputs: Vec<f32> = outputs.into_data().iter().collect();
    match outputs.iter().all(|value| value.is_finite()) {
        true => Ok(outputs),
        false => Err(InferenceError::Outputs),
    }
}
