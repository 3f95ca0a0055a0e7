//! The forward pass, the parts of a step, sources, and the head of a frozen network.

use super::{steps::CONSTANT, *};

pub(super) fn inference(_: &Options) -> anyhow::Result<Vec<Trial>> {
    let cnn = Architecture::Cnn(CnnConfig::default());
    let resnet = Architecture::ResNet(ResNetConfig::default());
    let text = Architecture::TextLstm(TextLstmConfig::default());
    Ok(vec![
        infer("cnn-latency", &cnn, &[1, 28, 28], 1, 1000, peers::ALL),
        infer("cnn-throughput", &cnn, &[1, 28, 28], 256, 10, peers::ALL),
        infer("resnet-latency", &resnet, &[3, 32, 32], 1, 100, peers::PYTORCH_ONLY),
        infer("resnet-throughput", &resnet, &[3, 32, 32], 128, 4, peers::PYTORCH_ONLY),
        infer("lstm-latency", &text, &[20], 1, 500, peers::WITHOUT_IMAGES),
    ])
}

pub(super) fn vgg16_forward(_: &Options) -> anyhow::Result<Vec<Trial>> {
    let features = VggConfig::imagenet(16, false)?;
    let inputs = features.features();
    let head = HeadConfig { inputs, hidden: Vec::new(), outputs: 10, dropout: 0.0 };
    let network = Architecture::Vgg(VggClassifierConfig { features, head });
    Ok(vec![infer("vgg16-forward", &network, &[3, 224, 224], 8, 1, peers::PYTORCH_ONLY)])
}

fn infer(
    name: &str,
    architecture: &Architecture,
    sample: &[usize],
    batch: usize,
    steps: u64,
    peers: &'static [Peer],
) -> Trial {
    let (architecture, sample) = (architecture.clone(), sample.to_vec());
    Trial::new(name, peers, What::Infer { architecture, sample, batch, steps })
}

pub(super) fn vgg_head_epoch(options: &Options) -> anyhow::Result<Vec<Trial>> {
    let size = if options.quick { 32 } else { 224 };
    let network = VggConfig { size, ..VggConfig::imagenet(16, false)? };
    // On a GPU an epoch of 60 samples is too short to time.
    let samples = if ON_GPU && !options.quick { 2000 } else { 60 };
    let (size, samples) = (format!("data.size={size}"), format!("data.samples={samples}"));
    let settings = owned(&[&samples, "schedule.kind=constant", &size, "model.backbone=vgg16"]);
    Ok(vec![Trial::new("vgg-head-epoch", &[], What::Head { network, settings })])
}

pub(super) fn stages(_: &Options) -> anyhow::Result<Vec<Trial>> {
    let of = |recipe: &'static str, stage, name: &str| {
        let settings = owned(CONSTANT);
        Trial::new(format!("stage/{recipe}/{name}"), &[], What::Stage { stage, recipe, settings })
    };
    let decode = What::Stage { stage: Stage::Decode, recipe: "cnn", settings: Vec::new() };
    let decode = Trial { threads: Some(1), ..Trial::new("stage/decode", &[], decode) };
    let mut stages = vec![decode];
    stages.push(of("cnn", Stage::Upload, "upload"));
    stages.push(of("resnet", Stage::Upload, "upload"));
    stages.push(of("resnet", Stage::Augment, "augment")); // `cnn` has no augmentation by default
    for recipe in ["cnn", "resnet", "lstm"] {
        stages.push(of(recipe, Stage::Forward, "forward"));
        stages.push(of(recipe, Stage::Backward, "backward"));
        stages.push(of(recipe, Stage::Update, "update"));
    }
    Ok(stages)
}

pub(super) fn sources(_: &Options) -> anyhow::Result<Vec<Trial>> {
    let trials = SourceKind::ALL.into_iter().flat_map(|(name, kind)| {
        let alone = Trial::new(format!("source/{name}"), &[], What::Source(kind));
        let in_training = kind.differs_in_training().then(|| {
            Trial::new(format!("source/{name}/training"), &[], What::SourceInTraining(kind))
        });
        [Some(alone), in_training].into_iter().flatten()
    });
    Ok(trials.collect())
}
