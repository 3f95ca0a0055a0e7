//! A small network of each kind, and inputs for it.

use std::collections::BTreeMap;

use backend::{
    Selected,
    device::Device,
    random::{Purpose, Random, stream_of},
};
use inference::{Description, Preprocessing};
use models::{
    Architecture, CnnConfig, FeatureEmbedding, HeadConfig, Initialization, Initializer, MlpConfig,
    Positions, ResNetConfig, Shortcut, SimpleNetConfig, TextLstmConfig, TextReaderConfig,
    VggClassifierConfig, VggConfig, weights,
};
use preprocess::{
    CategoryEncoding, Column, ColumnKind, ImagePreprocessing, ImageShape, Resize,
    TablePreprocessing, Target, TargetKind, TargetScale, TargetScores, Vocabulary,
};
use store::StoredTensor;

const BATCH: usize = 3;
const TIME: usize = 6;
/// The feature of the regression that was the same in all rows.
pub(crate) const CONSTANT: usize = 1;

pub(crate) struct Case {
    pub(crate) name: &'static str,
    pub(crate) description: Description,
    /// With a batch of `BATCH`; tokens as f32.
    pub(crate) inputs: StoredTensor,
}

pub(crate) fn all() -> Vec<Case> {
    let cnn = |channels, size| {
        let (filters, hidden, dropout) = ([3, 5, 4], 6, 0.5);
        Architecture::Cnn(CnnConfig { channels, size, classes: 2, filters, hidden, dropout })
    };
    let resnet = |depth, shortcut| {
        Architecture::ResNet(ResNetConfig { depth, shortcut, channels: 3, classes: 2 })
    };
    vec![
        mlp("mlp", vec![7, 5], Vec::new()),
        mlp("mlp-linear", Vec::new(), Vec::new()),
        mlp("mlp-embeddings", vec![6], vec![embedding(0, 3, 2), embedding(2, 4, 1)]),
        mlp("mlp-embedding-last", vec![6], vec![embedding(3, 2, 3)]),
        texts("mlp-texts"),
        regression("mlp-regression", TargetScale::Linear),
        regression("mlp-logarithms", TargetScale::Log),
        binary("mlp-binary"),
        image("cnn", cnn(1, 28), [1, 28, 28]),
        image("cnn-odd", cnn(3, 21), [3, 21, 21]),
        image(
            "simplenet",
            Architecture::SimpleNet(SimpleNetConfig { channels: 2, size: 13, classes: 2 }),
            [2, 13, 13],
        ),
        image("resnet-zeros", resnet(14, Shortcut::Zeros), [3, 11, 14]),
        image("resnet-convolution", resnet(8, Shortcut::Convolution), [3, 12, 12]),
        vgg("vgg", false, vec![16]),
        vgg("vgg-norm", true, Vec::new()),
        text("lstm-last", 1, Positions::Last, Initialization::Keras),
        text("lstm-all", 2, Positions::All, Initialization::Pytorch),
        text("lstm-none", 0, Positions::Last, Initialization::Keras),
        words("lstm-words"),
    ]
}

fn embedding(feature: usize, entries: usize, width: usize) -> FeatureEmbedding {
    FeatureEmbedding { feature, entries, width }
}

fn mlp(name: &'static str, hidden: Vec<usize>, embeddings: Vec<FeatureEmbedding>) -> Case {
    let inputs = 4;
    let value = |index: usize| {
        let feature = |embedding: &&FeatureEmbedding| embedding.feature == index % inputs;
        match embeddings.iter().find(feature) {
            Some(embedding) => (index / inputs % embedding.entries) as f32,
            None => noise(name)(index),
        }
    };
    let columns = (0..inputs).map(|feature| column(feature, &embeddings)).collect();
    let inputs = tensor([BATCH, inputs], value);
    let config =
        MlpConfig { inputs: 4, hidden, outputs: 2, embeddings, dropout: 0.5, ..Default::default() };
    let kind = TargetKind::Multiclass { classes: classes() };
    let target = Target { name: "target".to_owned(), index: 4, kind, format: None };
    let table = TablePreprocessing {
        header: true,
        decimal_comma: false,
        missing: Vec::new(),
        rows_are_files: false,
        columns,
        target,
    };
    case(name, Architecture::Mlp(config), Preprocessing::Table(table), inputs)
}

/// A text of three words before a category that is embedded, and one of two words at the end.
fn texts(name: &'static str) -> Case {
    let mut case = mlp(name, vec![6], vec![embedding(0, 3, 2)]);
    if let Description {
        architecture: Architecture::Mlp(config),
        preprocessing: Preprocessing::Table(table),
        ..
    } = &mut case.description
    {
        let reader = |feature, length, hidden| TextReaderConfig {
            feature,
            length,
            tokens: 5,
            embedding: 3,
            hidden,
        };
        config.inputs = 7;
        config.embeddings[0].feature = 3;
        config.texts = vec![reader(0, 3, Some(4)), reader(5, 2, None)];
        let text = |length| {
            let vocabulary = Vocabulary::words("a b c", 4).unwrap();
            ColumnKind::Text { vocabulary, length }
        };
        table.columns.truncate(2);
        for (place, length) in [(0, 3), (3, 2)] {
            let (name, kind) = (format!("text_{place}"), text(length));
            table
                .columns
                .insert(place.min(table.columns.len()), Column { name, kind, format: None });
        }
        table.target.index = 4;
    }
    let random = noise(name);
    case.inputs = tensor([BATCH, 7], |index| match index % 7 {
        3 => (index / 7 % 3) as f32,
        4 => random(index),
        place => ((place + index / 7 * 2) % 5) as f32,
    });
    case
}

/// A regression on features of which the second was the same in all rows.
fn regression(name: &'static str, scale: TargetScale) -> Case {
    let mut case = mlp(name, vec![6], Vec::new());
    let Description { architecture, preprocessing, classes, .. } = &mut case.description;
    if let (Architecture::Mlp(config), Preprocessing::Table(table)) = (architecture, preprocessing)
    {
        config.outputs = 1;
        let [mean, deviation] = match scale {
            TargetScale::Linear => [30.0, 7.0],
            TargetScale::Log => [3.0, 0.7],
        };
        table.target.kind = TargetKind::Regression(TargetScores { mean, deviation, scale });
        table.columns[CONSTANT].kind = ColumnKind::Numeric { mean: 5.0, deviation: 0.0 };
    }
    classes.clear();
    case
}

/// Two classes from one logit, with a column of three categories that are one-hot encoded.
fn binary(name: &'static str) -> Case {
    let mut case = mlp(name, vec![6], Vec::new());
    if let Description {
        architecture: Architecture::Mlp(config),
        preprocessing: Preprocessing::Table(table),
        ..
    } = &mut case.description
    {
        config.outputs = 1;
        table.target.kind = TargetKind::Binary { classes: classes().try_into().unwrap() };
        table.columns.truncate(2);
        table.columns[1].kind = ColumnKind::Categorical {
            categories: ["a", "b", "c"].map(str::to_owned).to_vec(),
            fill: "a".to_owned(),
            encoding: CategoryEncoding::OneHot,
        };
        table.target.index = 2;
    }
    case
}

/// The column that becomes a feature, an index where it is embedded.
fn column(feature: usize, embeddings: &[FeatureEmbedding]) -> Column {
    let kind = match embeddings.iter().find(|embedding| embedding.feature == feature) {
        None => ColumnKind::Numeric { mean: 0.0, deviation: 1.0 },
        Some(embedding) => ColumnKind::Categorical {
            categories: (1..embedding.entries).map(|index| index.to_string()).collect(),
            fill: "1".to_owned(),
            encoding: CategoryEncoding::Index,
        },
    };
    Column { name: format!("column_{feature}"), kind, format: None }
}

fn classes() -> Vec<String> {
    vec!["one".to_owned(), "\"two\"".to_owned()]
}

fn image(name: &'static str, architecture: Architecture, shape: [usize; 3]) -> Case {
    let [channels, height, width] = shape;
    let inputs = tensor([BATCH, channels, height, width], noise(name));
    let shape = ImageShape { channels, height, width };
    let image = ImagePreprocessing::identity(shape, Resize::Crop);
    case(name, architecture, Preprocessing::Image(image), inputs)
}

fn vgg(name: &'static str, batch_norm: bool, hidden: Vec<usize>) -> Case {
    let blocks = vec![vec![4], vec![6, 5]];
    let features = VggConfig { blocks, batch_norm, channels: 3, size: 10 };
    let head = HeadConfig { inputs: features.features(), hidden, outputs: 2, dropout: 0.5 };
    image(name, Architecture::Vgg(VggClassifierConfig { features, head }), [3, 10, 10])
}

fn text(
    name: &'static str,
    layers: usize,
    predict: Positions,
    initialization: Initialization,
) -> Case {
    let vocabulary = 9;
    let config = TextLstmConfig {
        vocabulary,
        embedding: 4,
        hidden: 5,
        layers,
        dropout: 0.5,
        predict,
        initialization,
    };
    let inputs = tensor([BATCH, TIME], |index| (index * index % vocabulary) as f32);
    let vocabulary = Preprocessing::Text(Vocabulary::characters("abcdefghi"));
    case(name, Architecture::TextLstm(config), vocabulary, inputs)
}

fn words(name: &'static str) -> Case {
    let mut case = text(name, 1, Positions::Last, Initialization::Keras);
    let words = Vocabulary::words("a b c d e f g h", 9).unwrap();
    case.description.preprocessing = Preprocessing::Text(words);
    case
}

fn case(
    name: &'static str,
    architecture: Architecture,
    preprocessing: Preprocessing,
    inputs: StoredTensor,
) -> Case {
    let recipe = name.to_owned();
    let classes = match preprocessing {
        Preprocessing::Text(_) => Vec::new(),
        _ => classes(),
    };
    Case { name, description: Description { recipe, architecture, preprocessing, classes }, inputs }
}

fn tensor<const D: usize>(shape: [usize; D], value: impl Fn(usize) -> f32) -> StoredTensor {
    let values = (0..shape.iter().product()).map(value).collect();
    StoredTensor::new(shape.to_vec(), values).unwrap()
}

/// Numbers between -1 and 1 that follow from a name.
pub(crate) fn noise(name: &str) -> impl Fn(usize) -> f32 + use<> {
    let random = Random::new(0, Purpose::Initialization, stream_of(name));
    move |index| (2.0 * random.uniform_f64(index as u64) - 1.0) as f32
}

/// The weights of a new network.
pub(crate) fn blank(architecture: &Architecture) -> BTreeMap<String, StoredTensor> {
    let initializer = Initializer::<Selected>::seeded(0, &Device::default());
    weights::to_tensors(&architecture.build(&initializer))
}
