//! A trained model as an ONNX file, which other runtimes and languages read.
//!
//! The graph is that of the network's `forward`, in evaluation mode, with its weights under their
//! own names. [`Model::to_onnx`](crate::Model::to_onnx) says what it takes and gives, and what the
//! file's properties hold.

mod graph;
mod layers;
mod messages;
mod networks;
mod rows;
mod text;

use std::collections::BTreeMap;

use models::Architecture;
use preprocess::{TablePreprocessing, TargetKind, Task};
use prost::Message;
use store::{NumberType, StoredTensor};

use self::{
    graph::{Graph, Size, Value},
    messages::{ElementType, ModelMessage, OperatorSet, Property},
};
use crate::{Description, InferenceError};

/// Of ONNX 1.12, which runtimes of 2022 and later read.
const OPERATORS: i64 = 17;
const IR_VERSION: i64 = 8;

/// The outputs' names.
const LOGITS: &str = "logits";
const VALUE: &str = "value";

/// The largest protobuf message.
const LARGEST_BYTES: usize = i32::MAX as usize;

/// The bytes of an ONNX file.
///
/// - `weights`: of a network of the architecture that is described
/// - `numbers`: the type in which they are stored
pub(crate) fn file(
    description: &Description,
    weights: BTreeMap<String, StoredTensor>,
    numbers: NumberType,
) -> Result<Vec<u8>, InferenceError> {
    let mut graph = Graph::new(&description.recipe, weights, numbers);
    build(&mut graph, description)?;
    let (output, activation) = output(description);
    let properties = [
        ("recipe", description.recipe.clone()),
        ("output", output.to_owned()),
        ("activation", activation.to_owned()),
        ("classes", json(&description.classes)),
        ("preprocessing", rows::for_others(&description.preprocessing).to_string()),
    ];
    let model = ModelMessage {
        ir_version: IR_VERSION,
        producer_name: "burn-recipes".to_owned(),
        producer_version: env!("CARGO_PKG_VERSION").to_owned(),
        graph: Some(graph.into_message()?),
        opset_import: vec![OperatorSet { version: OPERATORS }],
        metadata_props: properties
            .map(|(key, value)| Property { key: key.to_owned(), value })
            .to_vec(),
    };
    let bytes = model.encoded_len();
    if bytes > LARGEST_BYTES {
        return Err(InferenceError::TooLargeForOnnx { bytes });
    }
    Ok(model.encode_to_vec())
}

/// The name of what is predicted, and what makes probabilities of it.
fn output(description: &Description) -> (&'static str, &'static str) {
    let task = description.table().map(TablePreprocessing::task);
    match task.unwrap_or(Task::Multiclass) {
        Task::Regression => (VALUE, "none"),
        Task::Binary => (LOGITS, "sigmoid"),
        Task::Multiclass => (LOGITS, "softmax"),
    }
}

fn json(value: &impl serde::Serialize) -> String {
    serde_json::to_string(value).expect("a description has a form in JSON")
}

fn build(graph: &mut Graph, description: &Description) -> Result<(), InferenceError> {
    match &description.architecture {
        Architecture::Mlp(config) => {
            let shape = [Size::Named("batch"), Size::Fixed(config.inputs)];
            let features = graph.input("features", ElementType::F32, &shape);
            let table = description.table()?;
            let features = rows::without_constants(graph, table, &features);
            let outputs = networks::mlp(graph, config, &features);
            match &table.target.kind {
                TargetKind::Regression(scores) => rows::give_value(graph, &outputs, scores),
                TargetKind::Binary { .. } | TargetKind::Multiclass { .. } => {
                    give_logits(graph, &outputs, config.outputs);
                }
            }
        }
        Architecture::Cnn(_) => of_images(graph, description, networks::cnn)?,
        Architecture::SimpleNet(_) => of_images(graph, description, networks::simplenet)?,
        Architecture::ResNet(config) => {
            of_images(graph, description, |graph, images| networks::resnet(graph, config, images))?;
        }
        Architecture::Vgg(config) => {
            of_images(graph, description, |graph, images| networks::vgg(graph, config, images))?;
        }
        Architecture::TextLstm(config) => text::text_lstm(graph, config),
    }
    Ok(())
}

/// A network that reads images, in the size of its preprocessing, and gives a logit for each class.
fn of_images(
    graph: &mut Graph,
    description: &Description,
    network: impl FnOnce(&mut Graph, &Value) -> Value,
) -> Result<(), InferenceError> {
    let shape = description.image()?.shape();
    let [channels, height, width] = [shape.channels, shape.height, shape.width].map(Size::Fixed);
    let shape = [Size::Named("batch"), channels, height, width];
    let images = graph.input("images", ElementType::F32, &shape);
    let logits = network(graph, &images);
    give_logits(graph, &logits, description.classes.len());
    Ok(())
}

fn give_logits(graph: &mut Graph, logits: &Value, width: usize) {
    graph.output(logits, LOGITS, ElementType::F32, &[Size::Named("batch"), Size::Fixed(width)]);
}
