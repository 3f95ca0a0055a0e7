//! Series that show how the cost of a step grows: the same recipe with one number changed.

use anyhow::ensure;
use data::text::PRIMER;

use super::{
    steps::{CONSTANT, train},
    *,
};

pub(super) fn batch(options: &Options) -> anyhow::Result<Vec<Trial>> {
    let mut trials = Vec::new();
    // Larger ones take a CPU too long, or more memory than PyTorch and ours find together.
    let most = if ON_GPU { [16384, 16384, 16384, 4096] } else { [4096, 4096, 4096, 0] };
    for (recipe, most) in ["mlp", "cnn", "lstm", "resnet"].into_iter().zip(most) {
        let sizes = [1, 4, 16, 64, 256, 1024, 4096, 16384];
        for batch in sizes.into_iter().take_while(|&batch| batch <= most) {
            let fewest: usize = if ON_GPU { 65_536 } else { 4096 };
            let batches = fewest.div_ceil(batch).max(4);
            let settings = full_batches(recipe, batch, batches, options)?;
            let trial = point("scaling-batch", recipe, "batch", batch, settings);
            trials.push(Trial { peers: &[Peer::Pytorch], ..trial });
        }
    }
    Ok(trials)
}

/// Drawn images that are held out.
const HELD_OUT: usize = 20;
/// Words of a window, the default of `lstm`.
const WORDS: usize = 20;

/// Settings with which an epoch of a recipe on its own data consists of `batches` full batches.
pub(super) fn full_batches(
    recipe: &str,
    batch: usize,
    batches: usize,
    options: &Options,
) -> anyhow::Result<Vec<String>> {
    let samples = batch * batches;
    let mut settings = vec![format!("training.batch_size={batch}")];
    settings.extend(match recipe {
        "mlp" => vec![format!("data.samples={samples}")],
        "lstm" => {
            // Each word but the first ones ends a window.
            let path = options.scratch.join(format!("{samples}.txt"));
            let words = PRIMER.split(|letter: char| !letter.is_ascii_alphabetic());
            let words: Vec<&str> = words.filter(|word| !word.is_empty()).collect();
            let words = words.iter().cycle().take(samples + WORDS);
            let text = words.copied().collect::<Vec<_>>().join(" ");
            store::write_whole(&path, text.as_bytes())?;
            let held_out = options.scratch.join("held-out.txt");
            store::write_whole(&held_out, &text.as_bytes()[..text.len().min(4096)])?;
            vec![
                format!("data.path={}", path.display()),
                format!("data.validation_path={}", held_out.display()),
            ]
        }
        _ => {
            let all = samples + HELD_OUT;
            let share = HELD_OUT as f64 / all as f64;
            vec![format!("data.samples={all}"), format!("data.validation={share}")]
        }
    });
    Ok(settings)
}

pub(super) fn width(_: &Options) -> anyhow::Result<Vec<Trial>> {
    let of = |recipe, numbers: &[usize], key: fn(usize) -> String| {
        series("scaling-width", recipe, "units", numbers, key)
    };
    let mlp = of("mlp", &[16, 64, 256, 1024, 4096], |n| format!("model.hidden=[{n}]"));
    let lstm = of("lstm", &[16, 64, 256, 1024], |n| format!("model.hidden={n}"));
    Ok([mlp, lstm].concat())
}

pub(super) fn sequence(_: &Options) -> anyhow::Result<Vec<Trial>> {
    let lengths = [5, 10, 20, 40, 80, 160];
    let setting = |n| format!("data.sequence_length={n}");
    Ok(series("scaling-sequence", "lstm", "words", &lengths, setting))
}

pub(super) fn data(_: &Options) -> anyhow::Result<Vec<Trial>> {
    let of = |recipe| {
        let numbers = [1000, 4000, 16_000, 64_000];
        series("scaling-data", recipe, "samples", &numbers, |n| format!("data.samples={n}"))
    };
    Ok([of("mlp"), of("cnn")].concat())
}

pub(super) fn threads(_: &Options) -> anyhow::Result<Vec<Trial>> {
    let most = std::thread::available_parallelism().map_or(1, usize::from);
    let doubled = std::iter::successors(Some(1), |count| Some(count * 2));
    let counts: Vec<usize> = doubled.take_while(|&count| count <= most).collect();
    let of = |recipe| {
        let of_count = |&count: &usize| {
            let trial = point("scaling-threads", recipe, "threads", count, Vec::new());
            Trial { threads: Some(count), ..trial }
        };
        counts.iter().map(of_count).collect::<Vec<_>>()
    };
    Ok([of("cnn"), of("lstm"), of("resnet")].concat())
}

/// Strong scaling divides a batch among the ranks; weak scaling gives each rank one. A rank has one
/// thread; a process with two is measured for comparison.
pub(super) fn ranks(_: &Options) -> anyhow::Result<Vec<Trial>> {
    ensure!(cfg!(feature = "mpi"), "`ranks` needs a `bench` that was built with `--features mpi`");
    let mut trials = Vec::new();
    for recipe in ["cnn", "lstm"] {
        let of = |name: &str, batch: usize, threads, ranks| {
            let name = format!("ranks/{recipe}/{name}");
            let batch_size = vec![format!("training.batch_size={batch}")];
            // Enough steps that it does not matter which rank began first.
            let job = TrainJob { steps: 50, ..job(recipe, batch_size) };
            let trial = Trial::new(name, &[], What::Train(job));
            Trial { threads: Some(threads), ranks, ..trial }
        };
        trials.push(of("threads=2", 128, 2, None));
        for ranks in [1, 2, 4] {
            trials.push(of(&format!("strong={ranks}"), 128, 1, Some(ranks)));
        }
        for ranks in [2, 4] {
            trials.push(of(&format!("weak={ranks}"), 128 * ranks, 1, Some(ranks)));
        }
    }
    Ok(trials)
}

/// A trial for each number.
///
/// - `setting`: what a number changes
fn series(
    case: &str,
    recipe: &str,
    what: &str,
    numbers: &[usize],
    setting: impl Fn(usize) -> String,
) -> Vec<Trial> {
    let trial = |&number: &usize| point(case, recipe, what, number, vec![setting(number)]);
    numbers.iter().map(trial).collect()
}

/// The trial of one number, such as `scaling-batch/mlp/batch=64`.
fn point(case: &str, recipe: &str, what: &str, number: usize, settings: Vec<String>) -> Trial {
    let name = format!("{case}/{recipe}/{what}={number}");
    Trial::new(name, &[], What::Train(job(recipe, settings)))
}

/// A few steps of a recipe with these settings besides those of all series.
fn job(recipe: &str, settings: Vec<String>) -> TrainJob {
    let (steps, own): (u64, &[&str]) = match recipe {
        "mlp" => (200, &["model.hidden=[10]", "data.order=file", "data.samples=8192"]),
        "cnn" => (4, &["data.samples=6000", "training.epochs=1000"]),
        "resnet" => (4, &["optimizer.learning_rate=1e-3", "training.epochs=1000"]),
        _ => (4, &["training.epochs=1000"]),
    };
    let job = train(recipe, &[CONSTANT, own].concat(), steps);
    let settings = [job.settings, settings].concat();
    TrainJob { settings, compared: 1, ..job }
}
