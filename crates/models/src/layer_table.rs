//! The size and cost of each layer of a network, computed from its sizes alone.
//!
//! Only the multiply-adds of convolutions, dense and recurrent layers count: everything else is a few
//! operations per value, bound by memory and not by arithmetic.

use serde::Serialize;

use crate::{
    Architecture, CnnConfig, FeatureEmbedding, HeadConfig, MlpConfig, Positions, ResNetConfig,
    Shortcut, SimpleNetConfig, TextLstmConfig, TextReaderConfig, VggClassifierConfig, VggConfig,
    initialization::Initialization,
};

/// A layer with parameters, or one that changes the shape.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Layer {
    /// The prefix of its parameters' names; for an LSTM layer also its number, which ends those names:
    /// `lstm.0` has `lstm.weight_ih_l0`. For a layer without parameters, what it does.
    pub name: String,
    /// The shape of its result for one sample: `[channels, height, width]`, `[features]` or
    /// `[time, features]`.
    pub output: Vec<usize>,
    /// The number of learnt values.
    pub parameters: usize,
    /// Multiply-adds of the forward pass for one sample.
    pub multiply_adds: u64,
    /// Values that training keeps of one sample for the backward pass: the result, and of an LSTM layer
    /// also its inputs, gates and cells.
    pub kept: usize,
}

/// Multiply-adds of a training step for one sample: the forward pass, and in the backward pass as many
/// for the gradient of a layer's weights and again for that of its inputs, which the first layer with
/// weights does not need.
pub fn training_multiply_adds(layers: &[Layer]) -> u64 {
    let all: u64 = layers.iter().map(|layer| layer.multiply_adds).sum();
    let first = layers.iter().find(|layer| layer.parameters > 0);
    3 * all - first.map_or(0, |layer| layer.multiply_adds)
}

/// The number of losses of a sample: one, or one for each position of a text at which the next token is
/// predicted.
pub fn losses_of_a_sample(layers: &[Layer]) -> usize {
    let logits = layers.last().map_or(&[][..], |layer| &layer.output);
    logits.iter().rev().skip(1).product()
}

impl Architecture {
    /// The layers in the order in which they run.
    ///
    /// - `sample`: the shape of one sample: `[features]` for a table, `[channels, height, width]`
    ///   for an image, `[time]` for a text
    ///
    /// # Panics
    ///
    /// If `sample` has another number of dimensions than the network's.
    pub fn layers(&self, sample: &[usize]) -> Vec<Layer> {
        let mut table = Table { shape: sample.to_vec(), layers: Vec::new() };
        match self {
            Self::Mlp(config) => table.mlp(config),
            Self::Cnn(config) => table.cnn(config),
            Self::SimpleNet(config) => table.simplenet(config),
            Self::ResNet(config) => table.resnet(config),
            Self::TextLstm(config) => table.text_lstm(config),
            Self::Vgg(VggClassifierConfig { features, head }) => {
                table.vgg(features);
                table.flatten();
                table.head(head);
            }
        }
        table.layers
    }
}

/// The layers so far, and the shape that the last one left.
struct Table {
    shape: Vec<usize>,
    layers: Vec<Layer>,
}

impl Table {
    fn add(&mut self, name: &str, output: Vec<usize>, parameters: usize, multiply_adds: usize) {
        self.shape.clone_from(&output);
        let (multiply_adds, kept) = (multiply_adds as u64, output.iter().product());
        self.layers.push(Layer { name: name.to_owned(), output, parameters, multiply_adds, kept });
    }

    fn image(&self) -> [usize; 3] {
        self.shape.as_slice().try_into().expect("an image has channels, height and width")
    }

    fn conv(&mut self, name: &str, outputs: usize, sizes: Kernel) {
        let Kernel { side, stride, padding, bias } = sizes;
        let [inputs, height, width] = self.image();
        // 0 where the kernel does not fit.
        let moved = |length: usize| {
            (length + 2 * padding).checked_sub(side).map_or(0, |left| left / stride + 1)
        };
        let weights = outputs * inputs * side * side;
        let output = vec![outputs, moved(height), moved(width)];
        let places = output[1] * output[2];
        self.add(name, output, weights + if bias { outputs } else { 0 }, weights * places);
    }

    fn norm(&mut self, name: &str) {
        let shape = self.shape.clone();
        let parameters = 2 * shape[0];
        self.add(name, shape, parameters, 0);
    }

    fn pool(&mut self) {
        let [channels, height, width] = self.image();
        self.add("max_pool", vec![channels, height / 2, width / 2], 0, 0);
    }

    fn flatten(&mut self) {
        self.shape = vec![self.shape.iter().product()];
    }

    /// A dense layer on the last dimension.
    fn dense(&mut self, name: &str, outputs: usize) {
        let mut output = self.shape.clone();
        let inputs = output.pop().expect("a dense layer has inputs");
        let places: usize = output.iter().product();
        output.push(outputs);
        self.add(name, output, (inputs + 1) * outputs, inputs * outputs * places);
    }

    fn mlp(&mut self, config: &MlpConfig) {
        for (index, FeatureEmbedding { entries, width, .. }) in config.embeddings.iter().enumerate()
        {
            self.add(&format!("embeddings.{index}"), vec![*width], entries * width, 0);
        }
        for (index, text) in config.texts.iter().enumerate() {
            let &TextReaderConfig { length, tokens, embedding, hidden, .. } = text;
            let name = format!("texts.{index}");
            self.add(&format!("{name}.embedding"), vec![length, embedding], tokens * embedding, 0);
            if let Some(hidden) = hidden {
                self.lstm(&format!("{name}.lstm.0"), [length, embedding, hidden], 1);
            }
        }
        self.shape = vec![config.width()];
        let widths = config.hidden.iter().chain([&config.outputs]);
        for (index, &outputs) in widths.enumerate() {
            self.dense(&format!("layers.{index}"), outputs);
        }
    }

    fn cnn(&mut self, config: &CnnConfig) {
        let [first, second, third] = config.filters;
        self.conv("conv1", first, Kernel::VALID);
        self.pool();
        self.conv("conv2", second, Kernel::VALID);
        self.pool();
        self.conv("conv3", third, Kernel::VALID);
        self.flatten();
        self.dense("dense1", config.hidden);
        self.dense("dense2", config.classes);
    }

    fn simplenet(&mut self, config: &SimpleNetConfig) {
        self.conv("conv1", 6, Kernel::VALID);
        self.pool();
        self.conv("conv2", 16, Kernel::VALID);
        self.pool();
        self.flatten();
        self.dense("fc1", 120);
        self.dense("fc2", 84);
        self.dense("fc3", config.classes);
    }

    fn resnet(&mut self, config: &ResNetConfig) {
        self.conv("conv1", 16, Kernel::SAME.without_bias());
        self.norm("bn1");
        for (group, channels) in [16, 32, 64].into_iter().enumerate() {
            for block in 0..config.blocks() {
                let stride = if group > 0 && block == 0 { 2 } else { 1 };
                let name = |part: &str| format!("layer{}.{block}.{part}", group + 1);
                let before = self.shape.clone();
                self.conv(&name("conv1"), channels, Kernel::SAME.without_bias().every(stride));
                self.norm(&name("bn1"));
                self.conv(&name("conv2"), channels, Kernel::SAME.without_bias());
                self.norm(&name("bn2"));
                if stride > 1 && config.shortcut == Shortcut::Convolution {
                    self.shape = before;
                    self.conv(&name("downsample.0"), channels, Kernel::POINT.every(stride));
                    self.norm(&name("downsample.1"));
                }
            }
        }
        self.add("global_average_pool", vec![64], 0, 0);
        self.dense("fc", config.classes);
    }

    fn text_lstm(&mut self, config: &TextLstmConfig) {
        let &[time] = self.shape.as_slice() else { panic!("a text has one dimension, its time") };
        let &TextLstmConfig { vocabulary, embedding, hidden, .. } = config;
        self.add("embedding", vec![time, embedding], vocabulary * embedding, 0);
        let biases = if config.initialization == Initialization::Keras { 1 } else { 2 };
        for index in 0..config.layers {
            let inputs = if index == 0 { embedding } else { hidden };
            self.lstm(&format!("lstm.{index}"), [time, inputs, hidden], biases);
        }
        if config.predict == Positions::Last {
            self.shape[0] = 1;
        }
        self.dense("dense", vocabulary);
    }

    /// - `biases`: of each gate
    fn lstm(&mut self, name: &str, [time, inputs, hidden]: [usize; 3], biases: usize) {
        let weights = 4 * hidden * (inputs + hidden);
        let parameters = weights + biases * 4 * hidden;
        self.add(name, vec![time, hidden], parameters, weights * time);
        if let Some(layer) = self.layers.last_mut() {
            // Inputs and hidden units side by side, four gates, and the cell.
            layer.kept += time * (inputs + hidden + 4 * hidden + hidden);
        }
    }

    fn vgg(&mut self, config: &VggConfig) {
        let mut index = 0;
        for block in &config.blocks {
            for &outputs in block {
                self.conv(&format!("features.{index}"), outputs, Kernel::SAME);
                if config.batch_norm {
                    self.norm(&format!("features.{}", index + 1));
                    index += 1;
                }
                index += 2; // the convolution and ReLU
            }
            self.pool();
            index += 1;
        }
    }

    fn head(&mut self, config: &HeadConfig) {
        let widths = config.hidden.iter().chain([&config.outputs]);
        for (index, &outputs) in widths.enumerate() {
            self.dense(&format!("classifier.{}", 3 * index), outputs); // ReLU and dropout between
        }
    }
}

/// A square kernel.
#[derive(Clone, Copy)]
struct Kernel {
    side: usize,
    stride: usize,
    padding: usize,
    bias: bool,
}

impl Kernel {
    const VALID: Self = Self { side: 3, stride: 1, padding: 0, bias: true };
    const SAME: Self = Self { side: 3, stride: 1, padding: 1, bias: true };
    const POINT: Self = Self { side: 1, stride: 1, padding: 0, bias: false };

    fn without_bias(self) -> Self {
        Self { bias: false, ..self }
    }

    fn every(self, stride: usize) -> Self {
        Self { stride, ..self }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn multiply_adds(layers: &[Layer]) -> u64 {
        layers.iter().map(|layer| layer.multiply_adds).sum()
    }

    #[test]
    fn costs_are_those_that_are_known() {
        // Simonyan and Zisserman's VGG-16 on 3x224x224, as commonly counted: 15.47 billion.
        let vgg = VggClassifierConfig::imagenet(16, false).unwrap();
        let layers = Architecture::Vgg(vgg).layers(&[3, 224, 224]);
        assert_eq!(multiply_adds(&layers), 15_470_264_320);
        assert_eq!(layers.iter().map(|layer| layer.parameters).sum::<usize>(), 138_357_544);
        // He et al.'s ResNet-20 on 3x32x32, without a convolution in its shortcuts: 40.55 million
        // in convolutions and 640 in the dense layer.
        let resnet = Architecture::ResNet(ResNetConfig::default()).layers(&[3, 32, 32]);
        assert_eq!(multiply_adds(&resnet), 40_551_040);
        // By hand: 26*26*32*9 + 11*11*64*32*9 + 3*3*64*64*9 + 576*64 + 64*10.
        let cnn = Architecture::Cnn(CnnConfig::default()).layers(&[1, 28, 28]);
        assert_eq!(multiply_adds(&cnn), 194_688 + 2_230_272 + 331_776 + 36_864 + 640);
        // By hand: 20 times 4*128*(128+128), and 128*1000 for the last position alone.
        let text = Architecture::TextLstm(TextLstmConfig::default()).layers(&[20]);
        assert_eq!(multiply_adds(&text), 20 * 131_072 + 128_000);
        let mlp = MlpConfig { inputs: 20, hidden: vec![10], outputs: 1, ..Default::default() };
        let mlp = Architecture::Mlp(mlp).layers(&[20]);
        assert_eq!(multiply_adds(&mlp), 210);
        // Three passes of 20 x 10 and 10 x 1, less the gradient of the features.
        assert_eq!(training_multiply_adds(&mlp), 3 * 210 - 200);
        // An embedding comes first there, so that the LSTM layer's inputs have a gradient.
        assert_eq!(training_multiply_adds(&text), 3 * multiply_adds(&text));
    }

    #[test]
    fn shapes_are_those_that_the_layers_return() {
        let cnn = Architecture::Cnn(CnnConfig::default()).layers(&[1, 28, 28]);
        let shapes: Vec<_> = cnn.iter().map(|layer| layer.output.as_slice()).collect();
        let expected: [&[usize]; 7] =
            [&[32, 26, 26], &[32, 13, 13], &[64, 11, 11], &[64, 5, 5], &[64, 3, 3], &[64], &[10]];
        assert_eq!(shapes, expected);
        let config = TextLstmConfig { predict: Positions::All, ..TextLstmConfig::default() };
        let text = Architecture::TextLstm(config).layers(&[20]);
        assert_eq!(text[2].output, [20, 1000]);
        assert_eq!(text[2].multiply_adds, 20 * 128 * 1000);
        assert_eq!((text[1].kept, text[2].kept), (20 * 8 * 128, 20 * 1000));
    }
}
