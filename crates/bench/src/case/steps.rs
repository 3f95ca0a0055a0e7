//! Whole steps of the recipes, from the start of the process too, and what they leave in memory.

use super::*;

// The learning rates are low: at the usual ones, twenty steps magnify how one side rounds against the
// other until the first losses say nothing. At 1e-3 PyTorch's `vgg-pretrain` in f32 is 8e-4 away from
// its own in f64 after eight steps.

/// A learning rate that stays, as the peers have it.
pub(super) const CONSTANT: &[&str] = &["schedule.kind=constant"];

pub(super) fn mlp(_: &Options) -> anyhow::Result<Vec<Trial>> {
    let settings = ["model.hidden=[10]", "data.order=file", "training.epochs=100"];
    step("mlp-step", "mlp", &settings, 2500, peers::WITHOUT_IMAGES)
}

pub(super) fn cnn(_: &Options) -> anyhow::Result<Vec<Trial>> {
    step("cnn-step", "cnn", &["optimizer.learning_rate=1e-4"], 40, peers::ALL)
}

pub(super) fn simplenet(_: &Options) -> anyhow::Result<Vec<Trial>> {
    step("simplenet-step", "simplenet", &[], 80, peers::PYTORCH_ONLY)
}

pub(super) fn resnet(_: &Options) -> anyhow::Result<Vec<Trial>> {
    step("resnet-step", "resnet", &["optimizer.learning_rate=1e-3"], 8, peers::ALL)
}

pub(super) fn vgg_pretrain(_: &Options) -> anyhow::Result<Vec<Trial>> {
    let settings = ["optimizer.learning_rate=3e-5"];
    step("vgg-pretrain-step", "vgg-pretrain", &settings, 6, peers::PYTORCH_ONLY)
}

pub(super) fn lstm(_: &Options) -> anyhow::Result<Vec<Trial>> {
    step("lstm-step", "lstm", &["optimizer.learning_rate=1e-4"], 60, peers::WITHOUT_IMAGES)
}

pub(super) fn lstm_char(_: &Options) -> anyhow::Result<Vec<Trial>> {
    step("lstm-char-step", "lstm-char", &[], 12, &[])
}

fn step(
    name: &str,
    recipe: &str,
    settings: &[&str],
    steps: u64,
    peers: &'static [Peer],
) -> anyhow::Result<Vec<Trial>> {
    let settings = [CONSTANT, settings].concat();
    Ok(vec![Trial::new(name, peers, What::Train(train(recipe, &settings, steps)))])
}

pub(super) fn first_step(_: &Options) -> anyhow::Result<Vec<Trial>> {
    let job = TrainJob { compared: 1, ..train("cnn", CONSTANT, 1) };
    let peers = &[Peer::Pytorch, Peer::Tensorflow];
    Ok(vec![Trial::new("first-step", peers, What::FirstStep(job))])
}

pub(super) fn memory_growth(options: &Options) -> anyhow::Result<Vec<Trial>> {
    // Memory is looked at where the loss is.
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
    let folder = folder.context("it lacks MNIST's files; name their folder: `--data FOLDER`")?;
    let (accuracy, epochs) = if options.quick { (0.5, 1) } else { (0.99, 10) };
    let settings = vec![
        format!("data.path={}", folder.display()),
        "data.source=idx".to_owned(),
        format!("training.epochs={epochs}"),
    ];
    let (unit, accuracy) = (Unit::Run, Some(accuracy));
    // On MNIST, at this learning rate, rounding grows fast: with `training.convolution=exact` three
    // losses are PyTorch's to 1e-7, by Winograd's algorithm the third is 8e-4 off.
    let job = TrainJob { settings, unit, accuracy, compared: 3, ..train("cnn", &[], 1_000_000) };
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
