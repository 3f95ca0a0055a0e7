//! A model with its weights, ready to predict.

use std::path::Path;

use backend::Backend;
use burn::{
    module::Module,
    tensor::{Tensor, TensorData},
};
use data::Task;
use models::{Mlp, Network, weights};
use store::TensorFile;

use crate::{
    Description, InferenceError, Prediction,
    prediction::{binary, multiclass},
};

/// Rows of a table that are predicted at a time.
const ROWS_AT_A_TIME: usize = 1024;

/// A model with its weights.
#[derive(Debug)]
pub struct Model<B: Backend> {
    description: Description,
    network: Mlp<B>,
}

/// The file of a trained network, ready to be written.
pub fn model_file<B: Backend, M: Module<B>>(network: &M, description: &Description) -> TensorFile {
    let metadata = serde_json::to_value(description).expect("a description has a form in JSON");
    TensorFile { tensors: weights::to_tensors(network), metadata }
}

impl<B: Backend> Model<B> {
    /// Reads a model file.
    ///
    /// # Errors
    ///
    /// Where the file cannot be read, does not describe a model, or does not hold its weights.
    pub fn read(path: &Path, device: &B::Device) -> Result<Self, InferenceError> {
        let file = TensorFile::read(path)?;
        let description: Description = serde_json::from_value(file.metadata).map_err(|error| {
            InferenceError::Description { path: path.to_owned(), reason: error.to_string() }
        })?;
        let network = description
            .architecture
            .load(file.tensors, device)
            .map_err(|source| InferenceError::Weights { path: path.to_owned(), source })?;
        let Network::Mlp(network) = network else {
            let reason = "a table is predicted by a multi-layer perceptron only".to_owned();
            return Err(InferenceError::Description { path: path.to_owned(), reason });
        };
        Ok(Self { description, network })
    }

    /// What the file says about the model.
    pub fn description(&self) -> &Description {
        &self.description
    }

    /// Predicts rows of a table.
    ///
    /// - `features`: `[rows, width]`, as [`data::TablePreprocessing::encode`] makes them
    /// - returns a prediction a row
    pub fn predict(&self, features: Vec<f32>, device: &B::Device) -> Vec<Prediction> {
        let width = self.description.table().width().max(1);
        let chunks = features.chunks(ROWS_AT_A_TIME * width);
        chunks
            .flat_map(|chunk| {
                let data = TensorData::new(chunk.to_vec(), [chunk.len() / width, width]);
                self.read_outputs(self.network.forward(Tensor::from_data(data, device)))
            })
            .collect()
    }

    /// - `outputs`: `[batch, outputs]`
    fn read_outputs(&self, outputs: Tensor<B, 2>) -> Vec<Prediction> {
        let preprocessing = self.description.table();
        let classes = preprocessing.target.classes();
        match preprocessing.task() {
            Task::Binary => binary(outputs.flatten(0, 1), classes),
            Task::Multiclass => multiclass(outputs, classes),
            Task::Regression => {
                let values: Vec<f32> = outputs.into_data().iter().collect();
                let restore = |value| Prediction::Value(preprocessing.target.restore(value));
                values.into_iter().map(restore).collect()
            }
        }
    }
}
