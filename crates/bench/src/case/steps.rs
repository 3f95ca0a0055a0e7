//! The list of benchmarks.

use anyhow::Context;

use super::*;

/// All benchmarks, in the order in which they run.
pub const CASES: &[Case] = &[
    step("mlp-step", "a step of the tutorial's MLP: 20-10-1, batch 40, Adam", |_| {
        let job = train("mlp", &["training.epochs=100"], 2500);
        Ok(vec![with(
            &["model.hidden=[10]", "data.order=file"],
            job,
            "mlp-step",
            peers::WITHOUT_IMAGES,
        )])
    }),
    step("cnn-step", "a step of Keras's network: 28x28, batch 128, Adam", |_| {
        let job = train("cnn", &["optimizer.learning_rate=1e-3"], 40);
        Ok(vec![with(CONSTANT, job, "cnn-step", peers::ALL)])
    }),
    step("simplenet-step", "a step of the second tutorial's network: 32x32, batch 64", |_| {
        let job = train("simplenet", &[], 80);
        Ok(vec![with(CONSTANT, job, "simplenet-step", peers::PYTORCH_ONLY)])
    }),
    step("resnet-step", "a step of ResNet-20: 3x32x32, batch 128, SGD with momentum", |_| {
        let job = train("resnet", &["optimizer.learning_rate=0.01"], 8);
        Ok(vec![with(CONSTANT, job, "resnet-step", peers::ALL)])
    }),
    step("vgg-pretrain-step", "a step of a small VGG: 3x32x32, batch 128, SGD", |_| {
        let job = train("vgg-pretrain", &["optimizer.learning_rate=1e-3"], 6);
        Ok(vec![with(CONSTANT, job, "vgg-pretrain-step", peers::PYTORCH_ONLY)])
    }),
    step(
        "lstm-step",
        "a step of Keras's text generator: 20 words, 128 units, batch 128, Adam",
        |_| Ok(vec![with(CONSTANT, train("lstm", &[], 60), "lstm-step", peers::WITHOUT_IMAGES)]),
    ),
    step("lstm-char-step", "a step of the generator by characters: 64 of them, 256 units", |_| {
        Ok(vec![with(CONSTANT, train("lstm-char", &[], 12), "lstm-char-step", &[])])
    }),
    step("inference", "latency at batch 1 and throughput of the networks", |_| {
        let cnn = Described::Whole(Architecture::Cnn(CnnConfig::default()));
        let resnet = Described::Whole(Architecture::ResNet(ResNetConfig::default()));
        let text = Described::Whole(Architecture::TextLstm(TextLstmConfig::default()));
        Ok(vec![
            infer("cnn-latency", &cnn, &[1, 28, 28], 1, 1000, peers::ALL),
            infer("cnn-throughput", &cnn, &[1, 28, 28], 256, 10, peers::ALL),
            infer("resnet-latency", &resnet, &[3, 32, 32], 1, 100, peers::PYTORCH_ONLY),
            infer("resnet-throughput", &resnet, &[3, 32, 32], 128, 4, peers::PYTORCH_ONLY),
            infer("lstm-latency", &text, &[20], 1, 500, peers::WITHOUT_IMAGES),
        ])
    }),
    step("vgg16-forward", "the features of VGG-16 on 8 pictures of 3x224x224", |_| {
        let features = VggConfig::imagenet(16, false)?;
        let network = Described::Features { network: "vgg".to_owned(), features, head: None };
        Ok(vec![infer("vgg16-forward", &network, &[3, 224, 224], 8, 1, peers::PYTORCH_ONLY)])
    }),
    step(
        "vgg-head-epoch",
        "an epoch of a head on VGG-16: kept features against the network",
        |options| {
            let size = if options.quick { 32 } else { 224 };
            let network = VggConfig { size, ..VggConfig::imagenet(16, false)? };
            let size = format!("data.size={size}");
            let settings = owned(&["data.samples=60", "schedule.kind=constant", &size]);
            let what = What::Head { backbone: "vgg16", network, settings };
            Ok(vec![Trial::new("vgg-head-epoch", &[], what)])
        },
    ),
    step("first-step", "from the start of the process to the end of cnn's first step", |_| {
        let job = TrainJob { compared: 1, ..train("cnn", CONSTANT, 1) };
        Ok(vec![Trial::new("first-step", &[Peer::Pytorch, Peer::Tensorflow], What::FirstStep(job))])
    }),
    step("memory-growth", "what memory 10,000 steps leave behind", |_| {
        let watched = |job| TrainJob { watches_memory: true, compared: 1, ..job };
        let mlp = ["model.hidden=[10]", "data.order=file", "training.epochs=400"];
        let mlp = train("mlp", &mlp, 10_000);
        let small = ["training.batch_size=8", "data.samples=400", "training.epochs=1000"];
        let cnn = train("cnn", &small, 10_000);
        Ok(vec![
            Trial::new("memory-growth/mlp", &[], What::Train(watched(mlp))),
            Trial::new("memory-growth/cnn", &[], What::Train(watched(cnn))),
        ])
    }),
    step("stages", "decode, upload, augment, forward, backward, update", |_| Ok(stages())),
    step("sources", "samples a second of each source, alone and while training", |_| {
        let trials = SourceKind::ALL.into_iter().flat_map(|(name, kind)| {
            [
                Trial::new(format!("source/{name}"), &[], What::Source(kind)),
                Trial::new(format!("source/{name}/training"), &[], What::SourceInTraining(kind)),
            ]
        });
        Ok(trials.collect())
    }),
    on_request("scaling-batch", "a step of mlp, cnn and lstm at batch 1 to 4096", |_| {
        let batches = [1, 4, 16, 64, 256, 1024, 4096];
        Ok(batches
            .into_iter()
            .flat_map(|batch| ["mlp", "cnn", "lstm"].map(|recipe| (recipe, batch)))
            .map(|(recipe, batch)| {
                series(
                    "scaling-batch",
                    recipe,
                    "batch",
                    batch,
                    &[format!("training.batch_size={batch}")],
                )
            })
            .collect())
    }),
    on_request(
        "scaling-width",
        "a step of mlp and lstm by the units of their hidden layer",
        |_| {
            let widths = [16, 64, 256, 1024, 2048];
            let mlp = widths.map(|width| {
                series(
                    "scaling-width",
                    "mlp",
                    "hidden",
                    width,
                    &[format!("model.hidden=[{width}]")],
                )
            });
            let lstm = widths[..4].iter().map(|&width| {
                series("scaling-width", "lstm", "hidden", width, &[format!("model.hidden={width}")])
            });
            Ok(mlp.into_iter().chain(lstm).collect())
        },
    ),
    on_request("scaling-sequence", "a step of lstm by the words of its window", |_| {
        let lengths = [5, 10, 20, 40, 80, 160];
        Ok(lengths
            .map(|length| {
                let setting = format!("data.sequence_length={length}");
                series("scaling-sequence", "lstm", "words", length, &[setting])
            })
            .into())
    }),
    on_request("scaling-data", "a step of cnn and mlp by the samples there are", |_| {
        let sizes = [1000, 4000, 16000, 64000];
        Ok(sizes
            .into_iter()
            .flat_map(|samples| ["mlp", "cnn"].map(|recipe| (recipe, samples)))
            .map(|(recipe, samples)| {
                let setting = format!("data.samples={samples}");
                series("scaling-data", recipe, "samples", samples, &[setting])
            })
            .collect())
    }),
    on_request("scaling-threads", "a step of cnn, lstm and resnet by the threads", |_| {
        let most = std::thread::available_parallelism().map_or(1, usize::from);
        let counts = std::iter::successors(Some(1), |count| Some(count * 2));
        let counts = counts.take_while(|&count| count <= most);
        Ok(counts
            .flat_map(|count| ["cnn", "lstm", "resnet"].map(|recipe| (recipe, count)))
            .map(|(recipe, count)| {
                let trial = series("scaling-threads", recipe, "threads", count, &[]);
                Trial { threads: Some(count), ..trial }
            })
            .collect())
    }),
    on_request(
        "time-to-accuracy",
        "cnn on MNIST to 99 % on images held out; needs --data",
        |options| {
            let folder = options.data.as_ref();
            let folder = folder.context("name the folder of MNIST's files: `--data FOLDER`")?;
            let data = [format!("data.path={}", folder.display()), "data.source=idx".to_owned()];
            let job =
                TrainJob { unit: Unit::Run, accuracy: Some(0.99), ..train("cnn", &[], 1_000_000) };
            let job = TrainJob { settings: data.into(), ..job };
            let peers = &[Peer::Pytorch, Peer::Tensorflow];
            Ok(vec![Trial::new("time-to-accuracy", peers, What::Reach(job))])
        },
    ),
];

/// A learning rate that stays, as the peers have it.
const CONSTANT: &[&str] = &["schedule.kind=constant"];

const fn step(
    name: &'static str,
    summary: &'static str,
    trials: fn(&Options) -> anyhow::Result<Vec<Trial>>,
) -> Case {
    Case { name, summary, on_request: false, trials }
}

const fn on_request(
    name: &'static str,
    summary: &'static str,
    trials: fn(&Options) -> anyhow::Result<Vec<Trial>>,
) -> Case {
    Case { name, summary, on_request: true, trials }
}

fn train(recipe: &str, settings: &[&str], steps: u64) -> TrainJob {
    TrainJob {
        recipe: recipe.to_owned(),
        settings: owned(settings),
        steps,
        compared: COMPARED,
        ..TrainJob::default()
    }
}

fn with(settings: &[&str], job: TrainJob, name: &str, peers: &'static [Peer]) -> Trial {
    let settings = [owned(settings), job.settings].concat();
    Trial::new(name, peers, What::Train(TrainJob { settings, ..job }))
}

fn infer(
    name: &str,
    architecture: &Described,
    sample: &[usize],
    batch: usize,
    steps: u64,
    peers: &'static [Peer],
) -> Trial {
    let (architecture, sample) = (architecture.clone(), sample.to_vec());
    Trial::new(name, peers, What::Infer { architecture, sample, batch, steps })
}

fn stages() -> Vec<Trial> {
    let of = |recipe: &'static str, stage, name: &str| {
        let settings = owned(CONSTANT);
        Trial::new(format!("stage/{recipe}/{name}"), &[], What::Stage { stage, recipe, settings })
    };
    let decode = What::Stage { stage: Stage::Decode, recipe: "cnn", settings: Vec::new() };
    let mut stages = vec![Trial::new("stage/decode", &[], decode)];
    for recipe in ["cnn", "resnet"] {
        stages.push(of(recipe, Stage::Upload, "upload"));
        stages.push(of(recipe, Stage::Augment, "augment"));
    }
    for recipe in ["cnn", "resnet", "lstm"] {
        stages.push(of(recipe, Stage::Forward, "forward"));
        stages.push(of(recipe, Stage::Backward, "backward"));
        stages.push(of(recipe, Stage::Update, "update"));
    }
    stages
}

/// A point of a series: a recipe with one number changed.
fn series(case: &str, recipe: &str, what: &str, number: usize, settings: &[String]) -> Trial {
    let (steps, own): (u64, &[&str]) = match recipe {
        "mlp" => (200, &["model.hidden=[10]", "data.order=file", "data.samples=8192"]),
        "cnn" => (4, &["data.samples=6000"]),
        _ => (6, &[]),
    };
    let settings = [owned(CONSTANT), owned(own), settings.to_vec()].concat();
    let epochs = vec!["training.epochs=1000".to_owned()];
    let settings = [settings, epochs].concat();
    let job = TrainJob { settings, compared: 1, ..train(recipe, &[], steps) };
    Trial::new(format!("{case}/{recipe}/{what}={number}"), &[], What::Train(job))
}
