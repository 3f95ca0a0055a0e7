//! Whole steps of the recipes, the time to the first step, and the growth of memory.

use recipes::registry;

use super::{series::full_batches, *};

// The learning rates are low: at the usual ones, twenty steps magnify differences in rounding until
// the losses prove nothing. At 1e-3 PyTorch's `vgg-pretrain` in f32 differs by 8e-4 from its own in
// f64 after eight steps.

/// Batches of an epoch on a GPU.
const BATCHES_ON_GPU: usize = 40;
/// A constant learning rate, as the peers have.
pub(super) const CONSTANT: &[&str] = &["schedule.kind=constant"];

const MLP: &[&str] = &["model.hidden=[10]", "data.order=file", "training.epochs=100"];
const CNN: &[&str] = &["optimizer.learning_rate=1e-4"];
const RESNET: &[&str] = &["optimizer.learning_rate=1e-3"];
const LSTM: &[&str] = &["optimizer.learning_rate=1e-4"];

pub(super) fn mlp(options: &Options) -> anyhow::Result<Vec<Trial>> {
    step("mlp-step", "mlp", MLP, 2500, peers::STEP_WITHOUT_IMAGES, options)
}

pub(super) fn cnn(options: &Options) -> anyhow::Result<Vec<Trial>> {
    step("cnn-step", "cnn", CNN, 40, peers::STEP, options)
}

pub(super) fn simplenet(options: &Options) -> anyhow::Result<Vec<Trial>> {
    step("simplenet-step", "simplenet", &[], 80, peers::STEP_PYTORCH_ONLY, options)
}

pub(super) fn resnet(options: &Options) -> anyhow::Result<Vec<Trial>> {
    step("resnet-step", "resnet", RESNET, 8, peers::STEP, options)
}

pub(super) fn vgg_pretrain(options: &Options) -> anyhow::Result<Vec<Trial>> {
    let settings = ["optimizer.learning_rate=3e-5"];
    step("vgg-pretrain-step", "vgg-pretrain", &settings, 6, peers::STEP_PYTORCH_ONLY, options)
}

pub(super) fn lstm(options: &Options) -> anyhow::Result<Vec<Trial>> {
    step("lstm-step", "lstm", LSTM, 60, peers::STEP_WITHOUT_IMAGES, options)
}

/// The steps above with layers that multiply in bf16, beside PyTorch's.
pub(super) fn bf16(options: &Options) -> anyhow::Result<Vec<Trial>> {
    let of = |recipe: &str, settings: &[&str], steps| {
        let settings = [settings, &[BF16]].concat();
        step(
            &format!("{recipe}-step/bf16"),
            recipe,
            &settings,
            steps,
            &[Peer::PytorchBf16],
            options,
        )
    };
    let all = [of("mlp", MLP, 2500)?, of("cnn", CNN, 40)?, of("lstm", LSTM, 60)?];
    Ok([all.concat(), of("resnet", RESNET, 8)?].concat())
}

/// A batch that is large enough for a GPU; the same on a CPU for comparison.
pub(super) fn large_batch(options: &Options) -> anyhow::Result<Vec<Trial>> {
    let of = |recipe: &str, own: &[&str]| {
        let name = format!("{recipe}-step/batch-1024");
        let batches = full_batches(recipe, 1024, 4, options)?;
        let mut job = train(recipe, &[CONSTANT, own].concat(), if ON_GPU { 20 } else { 3 });
        job.settings.extend(batches);
        let job = TrainJob { compared: 3, ..job };
        Ok::<_, anyhow::Error>(Trial::new(name, &[Peer::Pytorch], What::Train(job)))
    };
    Ok(vec![of("cnn", CNN)?, of("resnet", RESNET)?])
}

pub(super) fn lstm_char(options: &Options) -> anyhow::Result<Vec<Trial>> {
    step("lstm-char-step", "lstm-char", &[], 12, &[], options)
}

fn step(
    name: &str,
    recipe: &str,
    settings: &[&str],
    steps: u64,
    peers: &'static [Peer],
    options: &Options,
) -> anyhow::Result<Vec<Trial>> {
    let mut job = train(recipe, &[CONSTANT, settings].concat(), steps);
    // A round on a GPU goes through many epochs, whose last batches are to be full, as the peers' are.
    if ON_GPU && recipe != "lstm-char" {
        let batch = registry::find(recipe)?.settings()["training.batch_size"].as_u64();
        let batch = batch.context("the recipe has a batch size")? as usize;
        job.settings.extend(full_batches(recipe, batch, BATCHES_ON_GPU, options)?);
    }
    Ok(vec![Trial::new(name, peers, What::Train(job))])
}

pub(super) fn first_step(_: &Options) -> anyhow::Result<Vec<Trial>> {
    let job = TrainJob { compared: 1, ..train("cnn", CONSTANT, 1) };
    let peers = &[Peer::Pytorch, Peer::Tensorflow];
    let with = |name, peers: &'static [Peer], kernels| {
        Trial::new(name, peers, What::FirstStep(job.clone(), kernels))
    };
    if !ON_GPU {
        return Ok(vec![with("first-step", peers, Kernels::Kept)]);
    }
    // PyTorch ships its kernels compiled, so it is compared with ours where kernels are cached.
    Ok(vec![
        with("first-step/cold", &[], Kernels::None),
        with("first-step/warm", peers, Kernels::Kept),
    ])
}

pub(super) fn memory_growth(options: &Options) -> anyhow::Result<Vec<Trial>> {
    // Memory is read whenever the loss is.
    let interval = format!("output.log_every_steps={}", if options.quick { 1 } else { 50 });
    let watched = |recipe, settings: &[&str]| {
        let job = train(recipe, &[settings, &[&interval]].concat(), 10_000);
        let job = TrainJob { watches_memory: true, compared: 1, ..job };
        Trial::new(format!("memory-growth/{recipe}"), &[], What::Train(job))
    };
    Ok(vec![
        watched("mlp", &["model.hidden=[10]", "data.order=file", "training.epochs=400"]),
        watched(
            "cnn",
            &[
                "training.batch_size=8",
                "data.samples=400",
                "training.epochs=1000",
                "checkpoint.every_epochs=100",
            ],
        ),
    ])
}

pub(super) fn time_to_accuracy(options: &Options) -> anyhow::Result<Vec<Trial>> {
    let folder = options.data.as_ref();
    let folder =
        folder.context("it needs MNIST's files; name their folder with `--data FOLDER`")?;
    let (accuracy, epochs) = if options.quick { (0.5, 1) } else { (0.99, 10) };
    let settings = vec![
        format!("data.path={}", folder.display()),
        "data.source=idx".to_owned(),
        format!("training.epochs={epochs}"),
    ];
    let accuracy = Some(accuracy);
    // On MNIST, at this learning rate, rounding grows fast: with `training.arithmetic=exact` three
    // losses equal PyTorch's within 1e-7; with Winograd's algorithm the third differs by 8e-4.
    let job = TrainJob { settings, accuracy, compared: 3, ..train("cnn", &[], 1_000_000) };
    let peers = &[Peer::Pytorch, Peer::Tensorflow];
    Ok(vec![Trial::new("time-to-accuracy", peers, What::Reach(job))])
}

pub(super) fn train(recipe: &str, settings: &[&str], steps: u64) -> TrainJob {
    TrainJob {
        recipe: recipe.to_owned(),
        settings: owned(settings),
        steps,
        compared: COMPARED,
        ..TrainJob::default()
    }
}
