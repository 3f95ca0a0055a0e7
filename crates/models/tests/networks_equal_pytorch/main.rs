//! Every network against its PyTorch twin: logits, losses, gradients, and five steps of training.
//!
//! The expected values were computed in f64 by the script beside them.

#![allow(clippy::unwrap_used)]

mod golden;

use models::{
    Architecture, CnnConfig, HeadConfig, Initialization, Inputs, MlpConfig, Positions,
    ResNetConfig, Shortcut, SimpleNetConfig, TextLstmConfig, TextReaderConfig, VggClassifierConfig,
    VggConfig,
};

use crate::golden::Golden;

#[test]
fn the_mlp_is_pytorchs() {
    let config = MlpConfig { inputs: 4, hidden: vec![5, 3], outputs: 3, ..Default::default() };
    let golden = Golden::read("mlp");
    golden.check(&Architecture::Mlp(config), &Inputs::Rows(golden.inputs()));
}

#[test]
fn the_mlp_that_reads_texts_is_pytorchs() {
    let reader = |feature, [length, tokens, embedding]: [usize; 3], hidden| TextReaderConfig {
        feature,
        length,
        tokens,
        embedding,
        hidden,
    };
    let texts = vec![reader(0, [5, 9, 4], Some(5)), reader(6, [3, 6, 3], None)];
    let config = MlpConfig { inputs: 9, hidden: vec![6], outputs: 3, texts, ..Default::default() };
    let golden = Golden::read("mlp_texts");
    golden.check(&Architecture::Mlp(config), &Inputs::Rows(golden.inputs()));
}

#[test]
fn the_cnn_is_pytorchs() {
    let config = CnnConfig { size: 22, ..CnnConfig::default() };
    let golden = Golden::read("cnn");
    golden.check(&Architecture::Cnn(config), &Inputs::Images(golden.inputs()));
}

#[test]
fn the_simplenet_is_pytorchs() {
    let config = SimpleNetConfig { size: 14, ..SimpleNetConfig::default() };
    let golden = Golden::read("simplenet");
    golden.check(&Architecture::SimpleNet(config), &Inputs::Images(golden.inputs()));
}

#[test]
fn the_residual_networks_are_pytorchs() {
    for (fixture, shortcut) in
        [("resnet_zeros", Shortcut::Zeros), ("resnet_convolution", Shortcut::Convolution)]
    {
        let config = ResNetConfig { depth: 8, shortcut, ..ResNetConfig::default() };
        let golden = Golden::read(fixture);
        golden.check(&Architecture::ResNet(config), &Inputs::Images(golden.inputs()));
    }
}

#[test]
fn the_text_generators_are_pytorchs() {
    for (fixture, layers, predict, initialization) in [
        ("lstm_keras", 1, Positions::Last, Initialization::Keras),
        ("lstm_pytorch", 2, Positions::All, Initialization::Pytorch),
    ] {
        let config = TextLstmConfig {
            vocabulary: 13,
            embedding: 6,
            hidden: 7,
            layers,
            dropout: 0.0,
            predict,
            initialization,
        };
        let golden = Golden::read(fixture);
        let tokens = Inputs::Tokens(golden.inputs::<2>().int());
        golden.check(&Architecture::TextLstm(config), &tokens);
    }
}

#[test]
fn the_vgg_networks_are_pytorchs() {
    for (fixture, batch_norm) in [("vgg_plain", false), ("vgg_batch_norm", true)] {
        let blocks = vec![vec![8, 8], vec![12]];
        let features = VggConfig { blocks, batch_norm, channels: 3, size: 12 };
        let inputs = features.features();
        let head = HeadConfig { inputs, hidden: vec![16], outputs: 4, dropout: 0.0 };
        let golden = Golden::read(fixture);
        let vgg = Architecture::Vgg(VggClassifierConfig { features, head });
        golden.check(&vgg, &Inputs::Images(golden.inputs()));
    }
}
