//! The networks that read rows and images, each following its `forward` in `models`.

use models::{
    FeatureEmbedding, MlpConfig, ResNetConfig, Shortcut, TextReaderConfig, VggClassifierConfig,
};

use super::{
    graph::{Graph, Value},
    messages::ElementType,
    text::read,
};

/// - `features`: `[batch, inputs]`
/// - returns logits: `[batch, outputs]`
pub(super) fn mlp(graph: &mut Graph, config: &MlpConfig, features: &Value) -> Value {
    let mut value = replace(graph, config, features);
    for layer in 0..config.hidden.len() {
        value = graph.dense_relu(&format!("layers.{layer}"), &value);
    }
    graph.dense(&format!("layers.{}", config.hidden.len()), &value)
}

/// Replaces indices by vectors, and texts by what is read of them.
fn replace(graph: &mut Graph, config: &MlpConfig, features: &Value) -> Value {
    let mut replaced = Vec::new();
    for (number, &FeatureEmbedding { feature, .. }) in config.embeddings.iter().enumerate() {
        let index = columns(graph, features, feature, feature + 1);
        let index = graph.cast(&index, ElementType::I64); // [batch, 1]
        let vectors = graph.embedding(&format!("embeddings.{number}"), &index); // [batch, 1, width]
        replaced.push((feature, feature + 1, graph.flatten(&vectors)));
    }
    for (number, text) in config.texts.iter().enumerate() {
        let &TextReaderConfig { feature, length, .. } = text;
        let tokens = columns(graph, features, feature, feature + length);
        let tokens = graph.cast(&tokens, ElementType::I64); // [batch, time]
        let outputs = read(graph, &format!("texts.{number}"), text, &tokens);
        replaced.push((feature, feature + length, outputs));
    }
    if replaced.is_empty() {
        return features.clone();
    }
    replaced.sort_by_key(|&(first, ..)| first);
    let mut parts = Vec::new();
    let mut next = 0;
    for (first, end, by) in replaced {
        if next < first {
            parts.push(columns(graph, features, next, first));
        }
        parts.push(by);
        next = end;
    }
    if next < config.inputs {
        parts.push(columns(graph, features, next, config.inputs));
    }
    graph.concat(&parts, 1)
}

fn columns(graph: &mut Graph, features: &Value, from: usize, to: usize) -> Value {
    graph.slice(features, &[1], [from as i64, to as i64, 1])
}

/// - `images`: `[batch, channels, height, width]`
/// - returns logits: `[batch, classes]`
pub(super) fn cnn(graph: &mut Graph, images: &Value) -> Value {
    let maps = conv_relu_max_pool(graph, "conv1", images);
    let maps = conv_relu_max_pool(graph, "conv2", &maps);
    let maps = graph.conv("conv3", &maps, 1, 0);
    let maps = graph.relu(&maps);
    let hidden = graph.flatten(&maps);
    let hidden = graph.dense_relu("dense1", &hidden);
    graph.dense("dense2", &hidden)
}

/// Shapes as in [`cnn`].
pub(super) fn simplenet(graph: &mut Graph, images: &Value) -> Value {
    let maps = conv_relu_max_pool(graph, "conv1", images);
    let maps = conv_relu_max_pool(graph, "conv2", &maps);
    let hidden = graph.flatten(&maps);
    let hidden = graph.dense_relu("fc1", &hidden);
    let hidden = graph.dense_relu("fc2", &hidden);
    graph.dense("fc3", &hidden)
}

/// A convolution, ReLU, and 2x2 max pooling.
fn conv_relu_max_pool(graph: &mut Graph, name: &str, input: &Value) -> Value {
    let maps = graph.conv(name, input, 1, 0);
    let maps = graph.relu(&maps);
    graph.max_pool(&maps)
}

/// Shapes as in [`cnn`].
pub(super) fn resnet(graph: &mut Graph, config: &ResNetConfig, images: &Value) -> Value {
    let maps = graph.conv("conv1", images, 1, 1);
    let maps = graph.batch_norm("bn1", &maps);
    let mut maps = graph.relu(&maps);
    for (group, width) in [("layer1", 16), ("layer2", 32), ("layer3", 64)] {
        for index in 0..config.blocks() {
            let halves = index == 0 && group != "layer1";
            let shortcut = halves.then_some((config.shortcut, width));
            maps = block(graph, &format!("{group}.{index}"), &maps, shortcut);
        }
    }
    let features = graph.node("GlobalAveragePool", &[&maps], Vec::new()); // [batch, 64, 1, 1]
    let features = graph.flatten(&features);
    graph.dense("fc", &features)
}

/// A residual block.
///
/// - `shortcut`: for a block that halves its maps, with their number after it
fn block(
    graph: &mut Graph,
    name: &str,
    input: &Value,
    shortcut: Option<(Shortcut, usize)>,
) -> Value {
    let stride = if shortcut.is_some() { 2 } else { 1 };
    let maps = graph.conv(&format!("{name}.conv1"), input, stride, 1);
    let maps = graph.batch_norm(&format!("{name}.bn1"), &maps);
    let maps = graph.relu(&maps);
    let maps = graph.conv(&format!("{name}.conv2"), &maps, 1, 1);
    let maps = graph.batch_norm(&format!("{name}.bn2"), &maps);
    let past = match shortcut {
        None => input.clone(),
        Some((Shortcut::Convolution, _)) => {
            let past = graph.conv(&format!("{name}.downsample.0"), input, stride, 0);
            graph.batch_norm(&format!("{name}.downsample.1"), &past)
        }
        Some((Shortcut::Zeros, outputs)) => {
            let past = graph.slice(input, &[2, 3], [0, i64::MAX, 2]);
            let zeros = (outputs / 4) as i64; // at each side of half as many maps
            let pads = graph.integers(&[0, zeros, 0, 0, 0, zeros, 0, 0]);
            graph.node("Pad", &[&past, &pads], Vec::new())
        }
    };
    let sum = graph.node("Add", &[&maps, &past], Vec::new());
    graph.relu(&sum)
}

/// Shapes as in [`cnn`].
pub(super) fn vgg(graph: &mut Graph, config: &VggClassifierConfig, images: &Value) -> Value {
    let mut maps = images.clone();
    let mut stage = 0;
    for block in &config.features.blocks {
        for _ in block {
            maps = graph.conv(&format!("features.{stage}"), &maps, 1, 1);
            stage += 1;
            if config.features.batch_norm {
                maps = graph.batch_norm(&format!("features.{stage}"), &maps);
                stage += 1;
            }
            maps = graph.relu(&maps);
            stage += 1;
        }
        maps = graph.max_pool(&maps);
        stage += 1;
    }
    let mut hidden = graph.flatten(&maps);
    let last = config.head.hidden.len();
    for layer in 0..last {
        hidden = graph.dense_relu(&classifier(layer), &hidden);
    }
    graph.dense(&classifier(last), &hidden)
}

/// The name of a dense layer, which ReLU and dropout follow.
fn classifier(layer: usize) -> String {
    format!("classifier.{}", 3 * layer)
}
