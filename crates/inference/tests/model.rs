//! A model file that contradicts itself, and inputs that do not fit, are errors.

#![allow(clippy::unwrap_used)] // A failure here is a failed test.

use std::collections::BTreeSet;

use backend::{Selected, device::Device};
use burn::tensor::{ElementConversion, Int, Tensor};
use inference::{
    Description, Generator, InferenceError, Model, Prediction, Preprocessing, Sampling, model_file,
};
use models::{
    Architecture, CnnConfig, FeatureEmbedding, HeadConfig, MlpConfig, Pass, Positions,
    ResNetConfig, TextLstmConfig, TextReaderConfig, VggClassifierConfig, VggConfig,
};
use preprocess::{
    CategoryEncoding, Column, ColumnKind, ImagePreprocessing, ImageShape, Resize,
    TablePreprocessing, Target, TargetKind, Vocabulary,
};
use serde_json::{Value, json};
use store::{NumberType, StoredTensor, TensorFile};

fn described(
    architecture: Architecture,
    preprocessing: Preprocessing,
    classes: &[&str],
) -> Description {
    let classes = classes.iter().map(ToString::to_string).collect();
    Description { recipe: "test".to_owned(), architecture, preprocessing, classes }
}

/// Two numbers and a category of three, and three classes.
fn table() -> TensorFile {
    let column = |name: &str, kind| Column { name: name.to_owned(), kind, format: None };
    let number = || ColumnKind::Numeric { mean: 0.0, deviation: 1.0 };
    let category = ColumnKind::Categorical {
        categories: vec!["x".to_owned(), "y".to_owned()],
        fill: "x".to_owned(),
        encoding: CategoryEncoding::Index,
    };
    let classes = ["a", "b", "c"];
    let kind = TargetKind::Multiclass { classes: classes.map(str::to_owned).to_vec() };
    let table = TablePreprocessing {
        header: true,
        decimal_comma: false,
        missing: Vec::new(),
        rows_are_files: false,
        columns: vec![column("p", number()), column("q", category), column("r", number())],
        target: Target { name: "t".to_owned(), index: 3, kind, format: None },
    };
    let embeddings = vec![FeatureEmbedding { feature: 1, entries: 3, width: 2 }];
    let config = MlpConfig {
        inputs: 3,
        hidden: vec![4],
        outputs: 3,
        embeddings,
        dropout: 0.25,
        ..MlpConfig::default()
    };
    let network = config.init::<Selected>(0, &Device::default());
    let architecture = Architecture::Mlp(config);
    model_file(&network, &described(architecture, Preprocessing::Table(table), &classes))
}

/// A number and a text of three tokens, and two classes.
fn reviews() -> TensorFile {
    let column = |name: &str, kind| Column { name: name.to_owned(), kind, format: None };
    let vocabulary = Vocabulary::words("a good film", 4).unwrap();
    let classes = ["no", "yes"].map(str::to_owned);
    let table = TablePreprocessing {
        header: true,
        decimal_comma: false,
        missing: Vec::new(),
        rows_are_files: false,
        columns: vec![
            column("p", ColumnKind::Numeric { mean: 0.0, deviation: 1.0 }),
            column("q", ColumnKind::Text { vocabulary, length: 3 }),
        ],
        target: Target {
            name: "t".to_owned(),
            index: 2,
            kind: TargetKind::Binary { classes },
            format: None,
        },
    };
    let texts =
        vec![TextReaderConfig { feature: 1, length: 3, tokens: 5, embedding: 2, hidden: None }];
    let config = MlpConfig { inputs: 4, outputs: 1, texts, ..MlpConfig::default() };
    let network = config.init::<Selected>(0, &Device::default());
    let architecture = Architecture::Mlp(config);
    model_file(&network, &described(architecture, Preprocessing::Table(table), &["no", "yes"]))
}

fn pixels(channels: usize, size: usize) -> Preprocessing {
    let shape = ImageShape { channels, height: size, width: size };
    Preprocessing::Image(ImagePreprocessing::identity(shape, Resize::Crop))
}

fn image() -> TensorFile {
    let config = CnnConfig { size: 18, classes: 2, ..CnnConfig::default() };
    let network = config.init::<Selected>(0, &Device::default());
    model_file(&network, &described(Architecture::Cnn(config), pixels(1, 18), &["a", "b"]))
}

fn residual() -> TensorFile {
    let config = ResNetConfig { depth: 8, channels: 1, classes: 2, ..ResNetConfig::default() };
    let network = config.init::<Selected>(0, &Device::default());
    model_file(&network, &described(Architecture::ResNet(config), pixels(1, 8), &["a", "b"]))
}

fn vgg() -> TensorFile {
    let features = VggConfig { blocks: vec![vec![2]], batch_norm: true, channels: 1, size: 4 };
    let head = HeadConfig { inputs: 8, hidden: Vec::new(), outputs: 2, dropout: 0.0 };
    let config = VggClassifierConfig { features, head };
    let network = config.init::<Selected>(0, &Device::default());
    model_file(&network, &described(Architecture::Vgg(config), pixels(1, 4), &["a", "b"]))
}

fn text() -> TensorFile {
    let config =
        TextLstmConfig { vocabulary: 3, embedding: 2, hidden: 2, ..TextLstmConfig::default() };
    let network = config.init::<Selected>(0, &Device::default());
    let preprocessing = Preprocessing::Text(Vocabulary::characters("abc"));
    model_file(&network, &described(Architecture::TextLstm(config), preprocessing, &[]))
}

/// One of these.
type File = fn() -> TensorFile;

/// Reads the model again, with one value of its description replaced.
fn read(
    mut file: TensorFile,
    pointer: &str,
    value: Value,
) -> Result<Model<Selected>, InferenceError> {
    *file.metadata.pointer_mut(pointer).unwrap() = value;
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("model.safetensors");
    file.write(&path).unwrap();
    Model::read(folder.path(), &Device::default())
}

/// The model as it is.
fn whole(file: TensorFile) -> Model<Selected> {
    read(file, "/recipe", json!("test")).unwrap()
}

#[test]
fn a_file_that_contradicts_itself_is_refused() {
    let deep = json!([[2], [], [], [], [], []]);
    let of_nothing = json!({ "network": "mlp", "inputs": 0, "hidden": [4], "outputs": 3 });
    let cases: [(File, &str, Value, &str); 27] = [
        (table, "/architecture/inputs", json!(0), "[[1, 1]] (the first and how many), overlap"),
        (table, "/architecture", of_nothing, "one of them is 0"),
        (table, "/architecture/inputs", json!(4), "3 features of a row, but 4 for its network"),
        (table, "/architecture/outputs", json!(4), "3 outputs, but 4 for its network"),
        (table, "/architecture/outputs", json!(0), "one of them is 0"),
        (table, "/architecture/embeddings/0/feature", json!(0), "the embedded features are not"),
        (table, "/architecture/embeddings/0/entries", json!(2), "the embedded features are not"),
        (reviews, "/architecture/texts/0/length", json!(2), "read as text are not its tokens"),
        (reviews, "/preprocessing/columns/1/length", json!(u64::MAX), "column `q` are too long"),
        (reviews, "/preprocessing/columns/1/name", json!("p"), "two columns are called `p`"),
        (reviews, "/preprocessing/columns/0/deviation", json!(-1), "of column `p` is below 0"),
        (reviews, "/architecture/texts/0/tokens", json!(6), "read as text are not its tokens"),
        (table, "/architecture/dropout", json!(-0.5), "the probability of dropout is -0.5"),
        (table, "/classes", json!(["a", "b"]), "its classes are not those of its target"),
        (image, "/classes", json!(["a"]), "1 classes, but 2 for its network"),
        (image, "/architecture/size", json!(17), "too small"),
        (image, "/architecture/size", json!(20), "18 rows of an image, but 20 for its network"),
        (image, "/preprocessing/size", json!([18, 19]), "19 columns of an image"),
        (residual, "/architecture/depth", json!(9), "no residual network of depth 9"),
        (residual, "/architecture/channels", json!(3), "1 channels of an image"),
        (residual, "/preprocessing/size", json!([1u64 << 40, 1u64 << 40]), "are too large"),
        (vgg, "/architecture/head/inputs", json!(9), "the head reads 9 values"),
        (vgg, "/architecture/head/dropout", json!(50), "the probability of dropout is 50"),
        (vgg, "/architecture/features/blocks", deep, "too small"),
        (text, "/architecture/vocabulary", json!(2), "3 tokens, but 2 for its network"),
        (text, "/architecture/dropout", json!(1.5), "the probability of dropout is 1.5"),
        (text, "/classes", json!(["a", "b"]), "0 classes of a text, but 2 for its network"),
    ];
    for (file, pointer, value, expected) in cases {
        let error = read(file(), pointer, value).unwrap_err();
        assert!(matches!(error, InferenceError::Inconsistent { .. }), "{pointer}: {error}");
        assert!(error.to_string().contains(expected), "{pointer}: {error}");
        assert!(error.help().is_some());
    }
    let other = whole(image()).description().preprocessing.clone();
    let other = serde_json::to_value(other).unwrap();
    let error = read(table(), "/preprocessing", other).unwrap_err().to_string();
    assert!(error.ends_with("its network does not read images"), "{error}");
}

#[test]
fn a_weight_beyond_f16_is_in_no_onnx_file_of_f16() {
    let mut file = image();
    let weight = file.tensors.get_mut("conv1.weight").unwrap();
    let mut values = weight.values().to_vec();
    values[3] = 1e5;
    *weight = StoredTensor::new(weight.shape().to_vec(), values).unwrap();
    let model = whole(file);
    model.to_onnx(NumberType::F32).unwrap();
    let error = model.to_onnx(NumberType::F16).unwrap_err();
    assert_eq!(error.to_string(), "`conv1.weight` has a number beyond the range of f16");
}

/// What this version does not know of might change what is predicted.
#[test]
fn a_file_of_a_newer_version_is_refused() {
    for format in [json!(3), json!("2")] {
        let error = read(table(), "/format", format).unwrap_err();
        assert!(matches!(error, InferenceError::Newer { .. }), "{error}");
        assert!(error.help().is_some());
    }
    let mut before = image();
    before.metadata.as_object_mut().unwrap().remove("format");
    whole(before);
    for (file, of) in [(table as File, "/architecture"), (vgg, "/architecture/head")] {
        let mut changed = file().metadata.pointer(of).unwrap().clone();
        changed["activation"] = json!("gelu");
        let error = read(file(), of, changed).unwrap_err();
        assert!(error.to_string().contains("unknown field `activation`"), "{error}");
    }
}

/// With sizes for which no machine has the memory.
#[test]
fn memory_is_taken_for_the_weights_that_are_there() {
    let huge = json!(1u64 << 40);
    let largest = json!(usize::MAX);
    let cases: [(File, &str, Value); 9] = [
        (table, "/architecture/hidden", json!([huge])),
        (table, "/architecture/hidden", json!([largest])),
        (table, "/architecture/embeddings/0/width", huge.clone()),
        (table, "/architecture/embeddings/0/width", largest.clone()),
        (residual, "/architecture/depth", json!((6u64 << 60) + 2)),
        (vgg, "/architecture/features/blocks", json!([[1u64 << 40, 2]])),
        (text, "/architecture/hidden", largest.clone()),
        (text, "/architecture/layers", huge),
        (text, "/architecture/layers", largest),
    ];
    for (file, pointer, value) in cases {
        let error = read(file(), pointer, value).unwrap_err();
        assert!(matches!(error, InferenceError::Weights { .. }), "{pointer}: {error}");
    }
}

#[test]
fn rows_and_images_are_predicted_whole_or_not_at_all() {
    let model = whole(table());
    assert_eq!(model.predict_rows(&[0.5, 2.0, 0.5, -0.5, 0.0, 1.0]).unwrap().len(), 2);
    assert!(model.predict_rows(&[]).unwrap().is_empty());
    for values in [1, 2, 4, 3 * 1024 + 1] {
        let error = model.predict_rows(&vec![0.0; values]).unwrap_err();
        let expected = format!("{values} values are not a whole number of rows of 3 values");
        assert!(matches!(error, InferenceError::Length { .. }), "{error}");
        assert_eq!(error.to_string(), expected);
        assert!(error.help().is_some());
    }
    for index in [3.0, -1.0, 1.5] {
        let error = model.predict_rows(&[0.5, 2.0, 0.5, -0.5, index, 1.0]).unwrap_err();
        let expected = format!("row 1, feature 1: {index} is not a category index from 0 to 2");
        assert_eq!(error.to_string(), expected);
        assert!(error.help().is_some());
    }
    for value in [f32::NAN, f32::INFINITY, -3e38] {
        let error = model.predict_rows(&[0.5, 2.0, 0.5, value, 0.0, 1.0]).unwrap_err();
        assert_eq!(
            error.to_string(),
            format!("row 1, feature 0 is {value}, and features are finite and at most 1e6 in size")
        );
    }
    let model = whole(image());
    let predictions = model.predict_images(&[100; 2 * 18 * 18]).unwrap();
    assert!(matches!(&predictions[..], [Prediction::Class { top }, _] if top.len() == 2));
    assert!(model.predict_images(&[]).unwrap().is_empty());
    for values in [1, 18 * 18 - 1, 65 * 18 * 18 + 1] {
        let error = model.predict_images(&vec![0; values]).unwrap_err();
        let expected = format!("{values} values are not a whole number of images of 324 values");
        assert_eq!(error.to_string(), expected);
    }
}

/// Each weight is finite, but not their sums.
#[test]
fn outputs_that_are_not_finite_predict_nothing() {
    let large = |mut file: TensorFile| {
        for tensor in file.tensors.values_mut() {
            let values = vec![3e38; tensor.values().len()];
            *tensor = StoredTensor::new(tensor.shape().to_vec(), values).unwrap();
        }
        whole(file)
    };
    let (of_rows, of_images) = (large(table()), large(image()));
    let of_texts = large(text());
    for error in [
        of_texts.generate("ab", Sampling::default()).unwrap().write(1).unwrap_err(),
        of_rows.predict_rows(&[0.5, 2.0, 0.5]).unwrap_err(),
        of_images.predict_images(&[100; 18 * 18]).unwrap_err(),
    ] {
        assert!(matches!(error, InferenceError::Outputs), "{error}");
        assert!(error.help().is_some());
    }
}

#[test]
fn a_model_is_read_from_memory() {
    let bytes = image().to_bytes("image".as_ref()).unwrap();
    let read = |bytes| Model::<Selected>::from_bytes(bytes, &Device::default());
    let (model, other) = (read(&bytes).unwrap(), whole(image()));
    let predictions = model.predict_images(&[7; 18 * 18]).unwrap();
    assert_eq!(predictions, other.predict_images(&[7; 18 * 18]).unwrap());
    let error = read(&bytes[..bytes.len() - 4]).unwrap_err();
    assert!(matches!(error, InferenceError::Store(_)), "{error}");
    assert!(error.to_string().contains("`model in memory`"), "{error}");
}

#[test]
fn a_network_is_a_model_without_a_file() {
    let device = Device::default();
    let file = image();
    let description: Description = serde_json::from_value(file.metadata.clone()).unwrap();
    let network = |classes| {
        CnnConfig { size: 18, classes, ..CnnConfig::default() }.init::<Selected>(0, &device)
    };
    let model = Model::new(&network(2), &description, &device).unwrap();
    let read = whole(file);
    assert_eq!(model.predict_images(&[7; 324]).unwrap(), read.predict_images(&[7; 324]).unwrap());
    let error = Model::new(&network(3), &description, &device).unwrap_err();
    assert!(matches!(error, InferenceError::Weights { .. }), "{error}");
}

/// A server has a model for all of its threads.
#[test]
fn threads_may_share_a_model() {
    fn shared<T: Send + Sync>() {}
    shared::<Model<Selected>>();
}

#[test]
fn sampling_out_of_its_range_is_refused() {
    let model = whole(text());
    let check = |sampling, expected: &str| {
        let error = model.generate("ab", sampling).err().unwrap();
        assert_eq!(error.to_string(), expected);
    };
    let sampling = |temperature| Sampling { temperature, ..Sampling::default() };
    let least = "the `temperature` of sampling is";
    check(sampling(-0.5), &format!("{least} -0.5, and must be a number of at least 0"));
    check(sampling(f64::NAN), &format!("{least} NaN, and must be a number of at least 0"));
    let nothing = Sampling { top_p: Some(0.0), ..Sampling::default() };
    check(nothing, "the `top_p` of sampling is 0, and must be above 0 and at most 1");
    let nothing = Sampling { top_k: Some(0), ..Sampling::default() };
    check(nothing, "the `top_k` of sampling is 0, and must be at least 1");
}

#[test]
fn images_of_another_shape_are_refused() {
    let logits = |file: TensorFile, shape: [usize; 4]| {
        let images = Tensor::zeros(shape, &Device::default());
        whole(file).image_logits(images).map(|logits| logits.dims())
    };
    assert_eq!(logits(image(), [3, 1, 18, 18]).unwrap(), [3, 2]);
    assert_eq!(logits(residual(), [1, 1, 9, 12]).unwrap(), [1, 2], "images of any size");
    for (file, shape) in [
        (image(), [3, 2, 18, 18]),
        (image(), [3, 1, 18, 20]),
        (image(), [3, 1, 4, 18]),
        (residual(), [1, 3, 8, 8]),
        (vgg(), [1, 1, 5, 4]),
    ] {
        let error = logits(file, shape).unwrap_err();
        assert!(matches!(error, InferenceError::Shape { .. }), "{shape:?}: {error}");
        assert!(error.help().is_some());
    }
    let error = logits(table(), [1, 1, 8, 8]).unwrap_err();
    assert!(matches!(error, InferenceError::Kind { .. }), "{error}");
}

#[test]
fn every_kind_of_model_is_read_and_used() {
    for (file, pixels) in [(image(), 324), (residual(), 64), (vgg(), 16)] {
        assert_eq!(whole(file).predict_images(&vec![7; pixels]).unwrap().len(), 1);
    }
    let model = whole(text());
    let written = model.generate("ab", Sampling::default()).unwrap().write(5).unwrap();
    assert_eq!(written.len(), 5);
}

#[test]
fn weights_that_are_not_finite_are_refused() {
    let mut file = image();
    let name = file.tensors.keys().next().unwrap().clone();
    let shape = file.tensors[&name].shape().to_vec();
    let values = vec![f32::NAN; shape.iter().product()];
    file.tensors.insert(name.clone(), StoredTensor::new(shape, values).unwrap());
    let error = read(file, "/recipe", json!("test")).unwrap_err();
    assert!(error.to_string().contains(&format!("infinite weights, the first of them `{name}`")));
    assert!(error.help().unwrap().contains("diverged"));
}

#[test]
fn a_prompt_that_cannot_be_read_is_told_with_what_can() {
    let config =
        TextLstmConfig { vocabulary: 5, embedding: 2, hidden: 2, ..TextLstmConfig::default() };
    let network = config.init::<Selected>(0, &Device::default());
    let words = Vocabulary::words("The host, the card, the table.", 5).unwrap();
    let description = described(Architecture::TextLstm(config), Preprocessing::Text(words), &[]);
    let model = whole(model_file(&network, &description));
    let error = |prompt: &str| model.generate(prompt, Sampling::default()).err().unwrap();
    let note = model.note_on_prompt("the,Sea the sea").unwrap().unwrap();
    let told = "the prompt has words outside the 4 that the model knows, which it reads as one unknown \
                word: sea; ";
    assert!(note.starts_with(told), "{note}");
    let note = model.note_on_prompt("the\n\na b c d e f g h i j k").unwrap().unwrap();
    assert!(
        note.contains("word: a blank line, a, b, c, d, e, f, g, h, i, ...; for more"),
        "{note}"
    );
    assert_eq!(model.note_on_prompt("the host").unwrap(), None);
    let written = model.generate("the sea", Sampling::default()).unwrap().write(5).unwrap();
    assert!(!written.is_empty() && !written.contains("unknown"), "{written}");
    let next =
        |prompt: &str| model.generate(prompt, Sampling::default()).unwrap().write(1).unwrap();
    assert_eq!(next("the\r\n\r\nhost"), next("the\n\nhost"));
    assert!(error(" ").help().unwrap().contains("one character"));
}

/// The likeliest token after all those before it, which the network reads at once.
#[test]
fn a_text_goes_on_after_its_prompt_as_the_network_reads_both() {
    let (characters, device) = (Vocabulary::characters("abcd"), Device::default());
    let mut texts = BTreeSet::new();
    for seed in 0..10 {
        let predict = if seed % 2 == 0 { Positions::Last } else { Positions::All };
        let config = TextLstmConfig {
            vocabulary: 4,
            embedding: 4,
            hidden: 8,
            predict,
            ..TextLstmConfig::default()
        };
        let network = config.init::<Selected>(seed, &device);
        let write = |prompt: &str, temperature: f64, tokens: usize| {
            let sampling = Sampling { temperature, ..Sampling::default() };
            let generator = Generator::new(&network, &characters, prompt, sampling, &device);
            generator.unwrap().write(tokens).unwrap()
        };
        let mut ids = vec![0, 1, 2, 3];
        for _ in 0..6 {
            let read = Tensor::<_, 1, Int>::from_ints(&ids[..], &device).unsqueeze();
            let (logits, _) = network.forward(read, None, &mut Pass::evaluation());
            let last = logits.dims()[1] - 1;
            let next = logits.narrow(1, last, 1).argmax(2);
            ids.push(next.into_scalar().elem::<i32>());
        }
        let written = write("abcd", 0.0, 6);
        let ids: Vec<u32> = ids.into_iter().map(|id| id as u32).collect();
        assert_eq!(characters.decode(&ids), format!("abcd{written}"), "seed {seed}");
        texts.insert(written);
        let even = write("a", 1e6, 50);
        assert!("abcd".chars().all(|character| even.contains(character)), "{even}");
    }
    assert!(texts.len() > 1, "{texts:?}");
}

#[test]
#[should_panic(expected = "the network has 5 tokens, and the vocabulary 256")]
fn a_generator_needs_the_vocabulary_of_its_network() {
    let config =
        TextLstmConfig { vocabulary: 5, embedding: 2, hidden: 2, ..TextLstmConfig::default() };
    let network = config.init::<Selected>(0, &Device::default());
    let (vocabulary, sampling) = (Vocabulary::bytes(), Sampling::default());
    let _ = Generator::new(&network, &vocabulary, "a", sampling, &Device::default());
}

#[test]
fn a_text_that_ends_within_a_character_tells_so() {
    let config =
        TextLstmConfig { vocabulary: 256, embedding: 2, hidden: 2, ..TextLstmConfig::default() };
    let network = config.init::<Selected>(0, &Device::default());
    let vocabulary = Vocabulary::bytes();
    let generator = |seed| {
        let sampling = Sampling { seed, ..Sampling::default() };
        Generator::new(&network, &vocabulary, "a", sampling, &Device::default()).unwrap()
    };
    let one_byte = |seed| {
        let mut generator = generator(seed);
        (generator.next().unwrap().unwrap(), generator.finish())
    };
    let texts: Vec<_> = (0..50).map(one_byte).collect();
    // Of the bytes 51 in 256 begin a character of several, and half are one.
    assert!(texts.contains(&(String::new(), "\u{FFFD}".to_owned())));
    assert!(texts.iter().any(|(text, rest)| text.is_ascii() && text.len() == 1 && rest.is_empty()));
    assert!(texts.iter().all(|(text, rest)| text.is_empty() != rest.is_empty()));
    let whole: Vec<String> = (0..50).map(|seed| generator(seed).write(1).unwrap()).collect();
    assert_eq!(whole, texts.into_iter().map(|(text, rest)| text + &rest).collect::<Vec<_>>());
}
