//! On the CPU every layer of every network takes its own kernels, forward and backward.

#![allow(clippy::unwrap_used, clippy::print_stderr)]

mod common;

use backend::{NAME, Selected, device::Device, overrides};
use burn::{
    backend::Autodiff,
    tensor::{Int, Tensor, TensorData},
};
use models::{
    Architecture, CnnConfig, HeadConfig, Initialization, Initializer, Inputs, MlpConfig, Pass,
    Positions, ResNetConfig, Shortcut, SimpleNetConfig, TextLstmConfig, TextReaderConfig,
    VggClassifierConfig, VggConfig, losses::cross_entropy,
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
fn check(
    architecture: &Architecture,
    operations: u64,
    inputs: Inputs<Recorded>,
    mut pass: Pass<Recorded>,
) {
    if NAME != "cpu" {
        eprintln!("skipped: `{NAME}` has no kernels of its own for these operations");
        return;
    }
    let network = architecture.build(&Initializer::seeded(0, &Device::default()));
    let before = overrides::counts();
    let logits = network.forward(inputs, &mut pass).unwrap();
    let targets = targets(logits.dims()[0]);
    let loss = cross_entropy(logits, targets).sum();
    let halfway = overrides::counts();
    loss.backward();
    let after = overrides::counts();
    assert_eq!(after.composed, before.composed, "{architecture:?}: an operation took no kernel");
    assert_eq!(halfway.taken - before.taken, operations, "{architecture:?}, forward");
    assert_eq!(after.taken - halfway.taken, operations, "{architecture:?}, backward");
}

#[test]
fn dense_networks() {
    let config = MlpConfig { inputs: 20, hidden: vec![10, 7], outputs: 3, ..Default::default() };
    check(&Architecture::Mlp(config), 3 + 1, Inputs::Rows(images([5, 20])), Pass::evaluation());
}

#[test]
fn readers_of_texts() {
    for (hidden, operations) in [(None, 1), (Some(6), 2)] {
        let text = TextReaderConfig { feature: 0, length: 5, tokens: 11, embedding: 4, hidden };
        let (texts, inputs, outputs) = (vec![text], 5, 3);
        let config = MlpConfig { inputs, texts, outputs, ..Default::default() };
        let features = Inputs::Rows(tokens(4, 5).float());
        check(&Architecture::Mlp(config), operations + 1 + 1, features, Pass::evaluation());
    }
}

#[test]
fn convolutional_networks() {
    let cnn = Architecture::Cnn(CnnConfig::default());
    check(&cnn, 3 + 2 + 1, Inputs::Images(images([4, 1, 28, 28])), Pass::evaluation());

    let simplenet = Architecture::SimpleNet(SimpleNetConfig::default());
    check(&simplenet, 2 + 3 + 1, Inputs::Images(images([4, 1, 32, 32])), Pass::evaluation());
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
        let images = Inputs::Images(images([3, 3, 32, 32]));
        check(&Architecture::ResNet(config), operations, images, Pass::training(0, 0, 0));
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
        let images = Inputs::Images(images([3, 3, features.size, features.size]));
        let head =
            HeadConfig { inputs: features.features(), hidden: vec![7], outputs: 3, dropout: 0.25 };
        let vgg = Architecture::Vgg(VggClassifierConfig { features, head });
        check(&vgg, operations, images, Pass::training(0, 0, 0));
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
            // The embedding, the layers, dropout between them, the dense layer and the loss.
            let operations = 2 * layers as u64 - 1 + 3;
            let (lstm, tokens) = (Architecture::TextLstm(config), Inputs::Tokens(tokens(4, 7)));
            check(&lstm, operations, tokens, Pass::training(0, 0, 0));
        }
    }
}
