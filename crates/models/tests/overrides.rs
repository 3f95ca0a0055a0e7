//! On the CPU every layer of every network takes its own kernels, forward and backward.

#![allow(clippy::unwrap_used, clippy::print_stderr)]

mod common;

use backend::{NAME, Selected, device::Device, overrides};
use burn::{
    backend::Autodiff,
    tensor::{Int, Tensor, TensorData},
};
use models::{
    CnnConfig, HeadConfig, Initialization, MlpConfig, Pass, Positions, ResNetConfig, Shortcut,
    SimpleNetConfig, TextLstmConfig, TextReaderConfig, VggClassifierConfig, VggConfig,
    losses::cross_entropy,
};

use crate::common::{images, tokens};

type Recorded = Autodiff<Selected>;

fn targets(count: usize) -> Tensor<Recorded, 1, Int> {
    let classes: Vec<i32> = (0..count).map(|i| (i % 3) as i32).collect();
    Tensor::from_data(TensorData::new(classes, [count]), &Default::default())
}

/// Fails unless a pass and its way back are `operations` each, the loss's among them, all done by
/// kernels.
#[track_caller]
fn check(network: &str, operations: u64, forward: impl FnOnce() -> Tensor<Recorded, 2>) {
    if NAME != "cpu" {
        eprintln!("skipped: `{NAME}` has no kernels of its own for these operations");
        return;
    }
    let before = overrides::counts();
    let logits = forward();
    let targets = targets(logits.dims()[0]);
    let loss = cross_entropy(logits, targets).sum();
    let halfway = overrides::counts();
    loss.backward();
    let after = overrides::counts();
    assert_eq!(after.composed, before.composed, "{network}: an operation took no kernel");
    assert_eq!(halfway.taken - before.taken, operations, "{network}, forward");
    assert_eq!(after.taken - halfway.taken, operations, "{network}, backward");
}

#[test]
fn dense_networks() {
    let config = MlpConfig { inputs: 20, hidden: vec![10, 7], outputs: 3, ..Default::default() };
    let model = config.init::<Recorded>(0, &Device::default());
    check("mlp", 3 + 1, || model.forward(images([5, 20]), &mut Pass::evaluation()));
}

#[test]
fn readers_of_texts() {
    for (hidden, operations) in [(None, 1), (Some(6), 2)] {
        let text = TextReaderConfig { feature: 0, length: 5, tokens: 11, embedding: 4, hidden };
        let (texts, inputs, outputs) = (vec![text], 5, 3);
        let config = MlpConfig { inputs, texts, outputs, ..Default::default() };
        let model = config.init::<Recorded>(0, &Device::default());
        let tokens = || tokens::<Recorded>(4, 5).float();
        let mut pass = Pass::evaluation();
        check("mlp", operations + 1 + 1, || model.forward(tokens(), &mut pass));
    }
}

#[test]
fn convolutional_networks() {
    let device = Device::default();
    let model = CnnConfig::default().init::<Recorded>(0, &device);
    check("cnn", 3 + 2 + 1, || model.forward(images([4, 1, 28, 28]), &mut Pass::evaluation()));

    let config = SimpleNetConfig { size: 32, ..SimpleNetConfig::default() };
    let channels = config.channels;
    let model = config.init::<Recorded>(0, &device);
    check("simplenet", 2 + 3 + 1, || model.forward(images([4, channels, 32, 32])));
}

#[test]
fn residual_networks() {
    // Nine blocks of two convolutions with their norms, the first convolution with its norm, the
    // mean of the maps, the dense layer and the loss.
    let plain = 9 * 4 + 2 + 1 + 1 + 1;
    for (shortcut, operations) in [
        (Shortcut::Zeros, plain + 2), // the two that halve take every second pixel
        (Shortcut::Convolution, plain + 2 * 2), // or have a convolution and a norm more
    ] {
        let config = ResNetConfig { depth: 20, shortcut, ..ResNetConfig::default() };
        let model = config.init::<Recorded>(0, &Device::default());
        let mut pass = Pass::training(0, 0, 0);
        check(&format!("resnet with {shortcut:?}"), operations, || {
            model.forward(images([3, 3, 32, 32]), &mut pass)
        });
    }
}

#[test]
fn vgg_networks() {
    let narrow = |batch_norm| VggConfig {
        blocks: vec![vec![4, 4], vec![6]],
        batch_norm,
        channels: 3,
        size: 8,
    };
    for (features, operations) in [
        // With batch normalisation convolution, norm and pooling are apart. The head is two dense layers
        // with dropout between them.
        (VggConfig::small(), 7 * 2 + 3 + 3 + 1),
        (narrow(true), 3 * 2 + 2 + 3 + 1),
        (narrow(false), 3 + 3 + 1),
    ] {
        let size = features.size;
        let head =
            HeadConfig { inputs: features.features(), hidden: vec![7], outputs: 3, dropout: 0.25 };
        let name = format!("{features:?}");
        let config = VggClassifierConfig { features, head };
        let model = config.init::<Recorded>(0, &Device::default());
        let mut pass = Pass::training(0, 0, 0);
        check(&name, operations, || model.forward(images([3, 3, size, size]), &mut pass));
    }
}

#[test]
fn recurrent_networks() {
    for layers in [1, 2] {
        for predict in [Positions::All, Positions::Last] {
            let config = TextLstmConfig {
                vocabulary: 11,
                embedding: 6,
                hidden: 9,
                layers,
                dropout: 0.25,
                predict,
                initialization: Initialization::Pytorch,
            };
            let model = config.init::<Recorded>(0, &Device::default());
            let mut pass = Pass::training(0, 0, 0);
            // The embedding, the layers, dropout between them, the dense layer and the loss.
            check(&format!("{layers} layers"), 2 * layers as u64 - 1 + 3, || {
                let (logits, _) = model.forward(tokens(4, 7), None, &mut pass);
                let [batch, positions, vocabulary] = logits.dims();
                logits.reshape([batch * positions, vocabulary])
            });
        }
    }
}
