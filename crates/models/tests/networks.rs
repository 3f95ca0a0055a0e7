//! What holds for every network: sizes, names, gradients, weights out and in.

#![allow(clippy::unwrap_used)]

mod common;

use std::collections::{BTreeMap, BTreeSet};

use backend::{Selected, device::Device};
use burn::{
    backend::Autodiff,
    module::{Module, ModuleVisitor, Param},
    tensor::{Tensor, TensorData, backend::AutodiffBackend},
};
use models::{
    Architecture, ArchitectureError, CnnConfig, FeatureEmbedding, HeadConfig, Initialization,
    Initializer, Inputs, MlpConfig, Pass, Positions, ResNetConfig, Shortcut, SimpleNetConfig,
    TextLstmConfig, TextReaderConfig, VggClassifier, VggClassifierConfig, VggConfig,
    losses_of_a_sample,
    weights::{count, load, shapes, to_tensors},
};

use store::StoredTensor;

use crate::common::{images, tokens};

type Recorded = Autodiff<Selected>;

fn device() -> Device {
    Device::default()
}

fn blank() -> Initializer<Selected> {
    Initializer::blank(&device())
}

fn small_lstm() -> TextLstmConfig {
    TextLstmConfig {
        vocabulary: 11,
        embedding: 4,
        hidden: 5,
        layers: 2,
        dropout: 0.25,
        predict: Positions::All,
        initialization: Initialization::Pytorch,
    }
}

fn narrow_vgg() -> VggConfig {
    VggConfig { blocks: vec![vec![4, 4], vec![6]], batch_norm: true, channels: 3, size: 8 }
}

/// Collects all gradients.
struct Collect {
    found: <Recorded as AutodiffBackend>::Gradients,
    gradients: Vec<TensorData>,
}

impl ModuleVisitor<Recorded> for Collect {
    fn visit_float<const D: usize>(&mut self, parameter: &Param<Tensor<Recorded, D>>) {
        self.gradients.extend(parameter.val().grad(&self.found).map(Tensor::into_data));
    }
}

/// The gradients of the sum of the squares of `outputs`.
fn gradients<M: Module<Recorded>, const D: usize>(
    model: &M,
    outputs: Tensor<Recorded, D>,
) -> Vec<TensorData> {
    let found = (outputs.clone() * outputs).sum().backward();
    let mut collect = Collect { found, gradients: Vec::new() };
    model.visit(&mut collect);
    collect.gradients
}

/// The layer to which a parameter belongs, as the table of layers calls it.
fn layer_of(parameter: &str) -> String {
    let (prefix, name) = parameter.rsplit_once('.').unwrap();
    match name.rsplit_once("_l") {
        Some((_, number)) => format!("{prefix}.{number}"),
        None => prefix.to_owned(),
    }
}

/// That all learnt values, and nothing else, have a gradient, that the table of layers names and counts them, that
/// no two tensors begin with the same values, and that weights go out and in.
fn check(
    architecture: &Architecture,
    inputs: Inputs<Recorded>,
    pass: &mut Pass<Recorded>,
    shape: [usize; 2],
) {
    let model = architecture.build(&Initializer::seeded(0, &device()));
    let batch = match &inputs {
        Inputs::Rows(features) => features.shape(),
        Inputs::Images(images) => images.shape(),
        Inputs::Tokens(tokens) => tokens.shape(),
    };
    let logits = model.forward(inputs, pass).unwrap();
    assert_eq!(logits.dims(), shape, "{architecture:?}");
    architecture.check().unwrap();
    let gradients = gradients(&model, logits);
    for gradient in &gradients {
        assert!(gradient.iter::<f32>().all(f32::is_finite), "{architecture:?}");
        assert!(gradient.iter::<f32>().any(|value| value != 0.0), "{architecture:?}");
    }
    let learnt: usize = gradients.iter().map(TensorData::num_elements).sum();
    assert_eq!(learnt, count(&model), "{architecture:?}");

    let layers = architecture.layers(&batch[1..]);
    let with_parameters = layers.iter().filter(|layer| layer.parameters > 0);
    let names: BTreeSet<String> = with_parameters.map(|layer| layer.name.clone()).collect();
    let expected = shapes(&model).keys().map(|name| layer_of(name)).collect();
    assert_eq!(names, expected, "{architecture:?}");
    let counted: usize = layers.iter().map(|layer| layer.parameters).sum();
    assert_eq!(counted, learnt, "{architecture:?}");
    assert_eq!(layers.last().unwrap().name, architecture.last_layer(), "{architecture:?}");
    assert_eq!(batch[0] * losses_of_a_sample(&layers), shape[0], "{architecture:?}");

    let text = serde_json::to_string(architecture).unwrap();
    let read: Architecture = serde_json::from_str(&text).unwrap();
    assert_eq!(read, *architecture);
    let tensors = to_tensors(&model);
    // Vectors are biases and norms, most of which begin alike.
    let drawn = tensors.values().filter(|tensor| tensor.shape().len() > 1);
    let drawn: Vec<&StoredTensor> = drawn.collect();
    for (index, tensor) in drawn.iter().enumerate() {
        assert!(!drawn[..index].contains(tensor), "{architecture:?}");
    }
    let again = to_tensors(&read.load::<Selected>(tensors.clone(), &device()).unwrap());
    assert_eq!(again, tensors, "{architecture:?}");
}

#[test]
fn every_network_learns_everywhere_and_comes_back_from_its_weights() {
    let evaluation = &mut Pass::evaluation();
    let training = &mut Pass::training(1, 2, 0);

    let mlp = |inputs| MlpConfig { inputs, hidden: vec![8], outputs: 3, ..Default::default() };
    check(&Architecture::Mlp(mlp(4)), Inputs::Rows(images([2, 4])), evaluation, [2, 3]);

    let embeddings = vec![FeatureEmbedding { feature: 1, entries: 1, width: 2 }];
    let embedded = Architecture::Mlp(MlpConfig { embeddings, ..mlp(2) });
    check(&embedded, Inputs::Rows(images([4, 2])), evaluation, [4, 3]);

    // A text, a number, two indices, a text and a number.
    let embedding = |feature, entries, width| FeatureEmbedding { feature, entries, width };
    let reader = |feature, length, hidden| TextReaderConfig {
        feature,
        length,
        tokens: 9,
        embedding: 5,
        hidden,
    };
    let replaced = Architecture::Mlp(MlpConfig {
        hidden: vec![7, 5],
        embeddings: vec![embedding(4, 3, 2), embedding(5, 5, 4)],
        texts: vec![reader(0, 3, Some(4)), reader(6, 2, None)],
        ..mlp(9)
    });
    let features = tokens(4, 9).remainder_scalar(3).float();
    check(&replaced, Inputs::Rows(features), evaluation, [4, 3]);

    let narrow = CnnConfig { filters: [3, 5, 4], hidden: 6, ..Default::default() };
    for cnn in [CnnConfig { size: CnnConfig::SMALLEST, ..Default::default() }, narrow] {
        let images = Inputs::Images(images([4, 1, cnn.size, cnn.size]));
        check(&Architecture::Cnn(cnn), images, evaluation, [4, 10]);
    }

    for size in [SimpleNetConfig::SMALLEST, 32] {
        let simplenet = Architecture::SimpleNet(SimpleNetConfig { size, ..Default::default() });
        check(&simplenet, Inputs::Images(images([9, 1, size, size])), evaluation, [9, 10]);
    }

    for shortcut in [Shortcut::Zeros, Shortcut::Convolution] {
        let resnet = Architecture::ResNet(ResNetConfig { shortcut, ..Default::default() });
        // Odd sizes are halved upwards.
        check(&resnet, Inputs::Images(images([3, 3, 9, 9])), training, [3, 10]);
    }

    for (initialization, predict, rows) in [
        (Initialization::Keras, Positions::All, 18),
        (Initialization::Pytorch, Positions::All, 18),
        (Initialization::Keras, Positions::Last, 3),
    ] {
        let config = TextLstmConfig { initialization, predict, ..small_lstm() };
        let tokens = Inputs::Tokens(tokens(3, 6));
        check(&Architecture::TextLstm(config), tokens, training, [rows, 11]);
    }

    for (features, hidden) in [(narrow_vgg(), vec![7]), (VggConfig::small(), vec![64, 8])] {
        let images = Inputs::Images(images([5, 3, features.size, features.size]));
        let head = HeadConfig { inputs: features.features(), hidden, outputs: 3, dropout: 0.25 };
        let vgg = Architecture::Vgg(VggClassifierConfig { features, head });
        check(&vgg, images, training, [5, 3]);
    }
}

/// PyTorch's, torchvision's and Keras's networks begin so: `U` is uniform up to a bound, `N` normal.
#[test]
fn every_network_begins_with_the_initialization_of_its_layers() {
    enum Spread {
        U(f64),
        N(f64),
        Zero,
    }
    use Spread::{N, U, Zero};
    let check = |tensors: &BTreeMap<String, StoredTensor>, expected: &[(&str, Spread)]| {
        for (name, spread) in expected {
            let values: Vec<f64> = tensors[*name].values().iter().map(|&v| v.into()).collect();
            let largest = values.iter().fold(0.0f64, |largest, value| largest.max(value.abs()));
            let squares = values.iter().map(|value| value * value).sum::<f64>();
            let root = (squares / values.len() as f64).sqrt();
            assert!(
                match spread {
                    U(bound) => largest <= *bound && largest > 0.8 * bound && root < 0.7 * bound,
                    N(deviation) => (root / deviation - 1.0).abs() < 0.05 && largest > 2.5 * root,
                    Zero => largest == 0.0,
                },
                "{name}: {root}, at most {largest}"
            );
        }
    };
    let torch = |fan_in: f64| U(fan_in.sqrt().recip());
    let glorot = |fans: f64| U((6.0 / fans).sqrt());
    let he = |fan_out: f64| N((2.0 / fan_out).sqrt());

    let simple = SimpleNetConfig::default().init::<Selected>(1, &device());
    let expected = [
        ("conv2.weight", torch(6.0 * 9.0)),
        ("conv2.bias", torch(6.0 * 9.0)),
        ("fc1.weight", torch(16.0 * 36.0)),
        ("fc1.bias", torch(16.0 * 36.0)),
    ];
    check(&to_tensors(&simple), &expected);
    let cnn = CnnConfig::default().init::<Selected>(1, &device());
    let expected = [
        ("conv2.weight", glorot((32.0 + 64.0) * 9.0)),
        ("conv2.bias", Zero),
        ("dense1.weight", glorot(576.0 + 64.0)),
        ("dense1.bias", Zero),
    ];
    check(&to_tensors(&cnn), &expected);
    let residual = ResNetConfig::default().init::<Selected>(1, &device());
    let expected = [
        ("layer1.0.conv1.weight", he(16.0 * 9.0)),
        ("layer2.0.conv1.weight", he(32.0 * 9.0)),
        ("fc.weight", torch(64.0)),
    ];
    check(&to_tensors(&residual), &expected);
    let vgg = VggConfig { blocks: vec![vec![16, 32]], ..narrow_vgg() };
    let expected = [("features.3.weight", he(32.0 * 9.0)), ("features.3.bias", Zero)];
    check(&to_tensors(&vgg.init::<Selected>(1, &device())), &expected);
    let head = HeadConfig { inputs: 40, hidden: vec![20], outputs: 10, dropout: 0.5 };
    let expected = [
        ("classifier.0.weight", glorot(60.0)),
        ("classifier.0.bias", Zero),
        ("classifier.3.weight", glorot(30.0)),
    ];
    check(&to_tensors(&head.init::<Selected>(1, &device())), &expected);
}

#[test]
fn the_number_of_outputs_is_that_of_the_last_layer_alone() {
    let all = |outputs| {
        let head = |hidden| HeadConfig { inputs: 24, hidden, outputs, dropout: 0.0 };
        let vgg = |hidden| VggClassifierConfig { features: narrow_vgg(), head: head(hidden) };
        [
            Architecture::Mlp(MlpConfig { inputs: 4, outputs, ..Default::default() }),
            Architecture::Mlp(MlpConfig { hidden: vec![5], outputs, ..Default::default() }),
            Architecture::Cnn(CnnConfig { classes: outputs, ..Default::default() }),
            Architecture::SimpleNet(SimpleNetConfig { classes: outputs, ..Default::default() }),
            Architecture::ResNet(ResNetConfig { classes: outputs, ..Default::default() }),
            Architecture::Vgg(vgg(vec![])),
            Architecture::Vgg(vgg(vec![7, 8])),
        ]
    };
    for (few, many) in all(3).into_iter().zip(all(4)) {
        let last = few.last_layer();
        let [few, many] = [few, many].map(|network| shapes(&network.build(&blank())));
        let differ = few.iter().filter(|(name, shape)| many[*name] != **shape);
        let differ: Vec<_> = differ.map(|(name, _)| name.clone()).collect();
        assert_eq!(differ, ["bias", "weight"].map(|kind| format!("{last}.{kind}")));
    }
}

#[test]
fn the_published_networks_have_their_published_sizes() {
    assert_eq!(count(&CnnConfig::default().build(&blank())), 93_322);
    assert_eq!(count(&SimpleNetConfig::default().build(&blank())), 81_194);
    assert_eq!(count(&TextLstmConfig::default().build(&blank())), 128_000 + 131_584 + 129_000);
    let resnet = |depth, shortcut| {
        let config = ResNetConfig { depth, shortcut, ..ResNetConfig::default() };
        count(&config.build(&blank()))
    };
    assert_eq!(resnet(20, Shortcut::Zeros), 269_722);
    assert_eq!(resnet(20, Shortcut::Convolution), 272_474);
    assert_eq!(resnet(56, Shortcut::Zeros), 853_018);
    assert_eq!(count(&VggConfig::imagenet(16, false).unwrap().build(&blank())), 14_714_688);
    assert_eq!(VggConfig::small().features(), 2048);
}

#[test]
fn vgg_16_for_imagenet_is_torchvisions() {
    let model = VggClassifierConfig::imagenet(16, false).unwrap().build(&blank());
    assert_eq!(count(&model), 138_357_544);
    let convolutions = [
        (0, 64, 3),
        (2, 64, 64),
        (5, 128, 64),
        (7, 128, 128),
        (10, 256, 128),
        (12, 256, 256),
        (14, 256, 256),
        (17, 512, 256),
        (19, 512, 512),
        (21, 512, 512),
        (24, 512, 512),
        (26, 512, 512),
        (28, 512, 512),
    ];
    let dense = [(0, 4096, 25088), (3, 4096, 4096), (6, 1000, 4096)];
    let mut expected = BTreeMap::new();
    for (index, outputs, inputs) in convolutions {
        expected.insert(format!("features.{index}.weight"), vec![outputs, inputs, 3, 3]);
        expected.insert(format!("features.{index}.bias"), vec![outputs]);
    }
    for (index, outputs, inputs) in dense {
        expected.insert(format!("classifier.{index}.weight"), vec![outputs, inputs]);
        expected.insert(format!("classifier.{index}.bias"), vec![outputs]);
    }
    assert_eq!(shapes(&model), expected);
}

#[test]
fn batch_norm_shifts_the_numbers_of_vggs_features() {
    let names = shapes(&VggConfig::imagenet(11, true).unwrap().build(&blank()));
    for index in [0, 4, 8, 11, 15, 18, 22, 25] {
        assert!(names.contains_key(&format!("features.{index}.weight")), "{index}");
        assert!(names.contains_key(&format!("features.{}.running_var", index + 1)), "{index}");
    }
    assert_eq!(names.len(), 8 * 6);
}

#[test]
fn a_front_and_a_tail_are_the_whole() {
    let whole = narrow_vgg().init::<Selected>(3, &device());
    let names = to_tensors(&whole);
    for blocks in 0..=3 {
        let (front, tail) = whole.clone().split(blocks);
        let mut pass = Pass::evaluation();
        let maps = front.forward(images([2, 3, 8, 8]), &mut pass);
        let maps = tail.forward(maps, &mut pass);
        let expected = whole.forward(images([2, 3, 8, 8]), &mut pass);
        assert_eq!(maps.into_data(), expected.into_data(), "{blocks} blocks in front");

        let (mut parts, tail) = (to_tensors(&front), to_tensors(&tail));
        assert_eq!(parts.len() + tail.len(), names.len());
        parts.extend(tail);
        assert_eq!(parts, names);
    }
}

#[test]
fn a_new_head_on_pretrained_features_is_the_classifier() {
    let features = narrow_vgg();
    let inputs = features.features();
    let head = HeadConfig { inputs, hidden: vec![7], outputs: 3, dropout: 0.0 };
    let (vgg, top) = (features.init::<Selected>(3, &device()), head.init(4, &device()));
    let mut tensors = to_tensors(&vgg);
    tensors.extend(to_tensors(&top));

    let mut pass = Pass::evaluation();
    let logits = top.forward(vgg.forward(images([2, 3, 8, 8]), &mut pass).flatten(1, 3), &mut pass);
    let joined = VggClassifier::new(vgg, top);
    assert_eq!(to_tensors(&joined), tensors);
    let loaded = load(VggClassifierConfig { features, head }.build(&blank()), tensors).unwrap();
    for network in [joined, loaded] {
        let again = network.forward(images([2, 3, 8, 8]), &mut pass);
        assert_eq!(again.into_data(), logits.clone().into_data());
    }
}

#[test]
fn a_carried_state_continues_the_sequence() {
    let model = small_lstm().init::<Selected>(0, &device());
    let mut pass = Pass::evaluation();
    let (whole, _) = model.forward(tokens(2, 6), None, &mut pass);
    let mut state = None;
    for time in 0..6 {
        let token = tokens(2, 6).narrow(1, time, 1);
        let (logits, after) = model.forward(token, state, &mut pass);
        let expected = whole.clone().narrow(1, time, 1).into_data();
        logits.into_data().assert_approx_eq::<f32>(&expected, Default::default());
        state = Some(after);
    }
}

#[test]
fn the_last_position_predicts_and_learns_alone_as_it_does_among_all() {
    for layers in 0..3 {
        let [last, all] =
            [(Positions::Last, 1), (Positions::All, 6)].map(|(predict, positions)| {
                let config = TextLstmConfig { predict, layers, ..small_lstm() };
                let model = config.init::<Recorded>(0, &device());
                let (logits, _) = model.forward(tokens(2, 6), None, &mut Pass::evaluation());
                assert_eq!(logits.dims(), [2, positions, 11]);
                let logits = logits.narrow(1, positions - 1, 1);
                let gradients = gradients(&model, logits.clone());
                assert_eq!(gradients.len(), 3 + 4 * layers, "gradients of {layers} layers");
                [vec![logits.into_data()], gradients].concat()
            });
        for (last, all) in last.iter().zip(&all) {
            last.assert_approx_eq::<f32>(all, Default::default());
        }
    }
}

#[test]
fn the_cnn_drops_only_while_it_trains() {
    let config = CnnConfig { dropout: 0.5, filters: [3, 5, 4], ..CnnConfig::default() };
    let model = config.init::<Selected>(0, &device());
    let logits = |mut pass| model.forward(images([2, 1, 28, 28]), &mut pass).into_data();
    assert_eq!(logits(Pass::evaluation()), logits(Pass::evaluation()));
    assert_eq!(logits(Pass::training(0, 3, 0)), logits(Pass::training(0, 3, 0)));
    assert_ne!(logits(Pass::training(0, 3, 0)), logits(Pass::training(0, 4, 0)));
    assert_ne!(logits(Pass::training(0, 3, 0)), logits(Pass::evaluation()));
}

/// In files of before sizes could be chosen.
#[test]
fn a_cnn_without_sizes_is_the_tutorials() {
    let written = r#"{"network": "cnn", "channels": 1, "size": 28, "classes": 10}"#;
    let read: Architecture = serde_json::from_str(written).unwrap();
    assert_eq!(read, Architecture::Cnn(CnnConfig::default()));
}

#[test]
fn sizes_that_do_not_fit_are_refused() {
    let refusal = |architecture: Architecture| architecture.check().unwrap_err();
    let cnn = CnnConfig::default;
    for wrong in [CnnConfig { filters: [8, 0, 8], ..cnn() }, CnnConfig { hidden: 0, ..cnn() }] {
        let told = refusal(Architecture::Cnn(wrong)).to_string();
        assert!(told.contains("one of them is 0"), "{told}");
    }
    let dropout = refusal(Architecture::Cnn(CnnConfig { dropout: 1.5, ..cnn() }));
    assert_eq!(dropout, ArchitectureError::Dropout { probability: 1.5 });
    let small = refusal(Architecture::Cnn(CnnConfig { size: 17, ..CnnConfig::default() }));
    assert_eq!(small.to_string(), "images of 17x17 are too small for the network `cnn`");
    assert_eq!(small.help(), "use images of at least 18x18");
    let depth = refusal(Architecture::ResNet(ResNetConfig { depth: 21, ..Default::default() }));
    assert_eq!(depth, ArchitectureError::ResidualDepth { depth: 21 });
    assert_eq!(VggConfig::imagenet(12, true), Err(ArchitectureError::VggDepth { depth: 12 }));
    let vgg = VggConfig { size: 7, ..VggConfig::small() };
    assert!(vgg.check().is_err());
}
