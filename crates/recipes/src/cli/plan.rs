//! `recipes plan`.

use std::path::PathBuf;

use backend::{Arithmetic, Peaks, Precision, Selected, device};
use serde::Serialize;

use super::{
    arguments::RecipeParser,
    new_file::{NewFile, SVG},
    output::{Output, aligned, indented},
    train::recipe_and_layers,
};
use crate::{
    Failure,
    chart::{Chart, Line},
    config::refuse_unsupported,
    console::{Console, ProgressMode},
    numbers::{counted, duration, grouped, significant, size},
    planning::{memory::MemoryBytes, plan::Plan},
    run::peaks::{self, known_peaks},
    text_chart::text_chart,
};

#[derive(Debug, clap::Args)]
pub(super) struct PlanArguments {
    /// A recipe's name, or a configuration file
    #[arg(value_name = "RECIPE|FILE.toml", value_parser = RecipeParser, hide_possible_values = true)]
    recipe: String,
    /// Change a setting, such as `training.epochs=5`; may be repeated
    #[arg(long = "set", value_name = "KEY=VALUE", allow_hyphen_values = true)]
    settings: Vec<String>,
    /// Measure how fast the device multiplies matrices, which takes a few seconds, and say how long
    /// the run takes at that speed
    #[arg(long)]
    bench: bool,
    /// Draw the learning-rate schedule into a file
    #[arg(long, value_name = "FILE.svg")]
    svg: Option<PathBuf>,
    /// Replace the file if it exists
    #[arg(long)]
    force: bool,
}

/// A plan, and the device that it is for.
#[derive(Serialize)]
struct Planned {
    #[serde(flatten)]
    plan: Plan,
    device: String,
    /// None where the system does not tell.
    device_memory_bytes: Option<u64>,
    #[serde(skip)]
    is_measured: bool,
    /// None where the peak in the plan's precision is not known.
    #[serde(flatten)]
    speed: Option<Speed>,
}

/// The time of a plan at the measured speed of the device.
#[derive(Clone, Copy, Serialize)]
struct Speed {
    multiply_adds_per_second: f64,
    /// Seconds of arithmetic at that speed, which Winograd's algorithm may exceed in convolutions.
    seconds_at_peak: f64,
}

pub(super) fn run(
    arguments: &PlanArguments,
    progress: ProgressMode,
    output: &Output,
) -> Result<(), Failure> {
    let file = arguments.svg.as_deref();
    let file = NewFile::check_if_named(file, "--svg", SVG, arguments.force)?;
    let (recipe, layers) = recipe_and_layers(&arguments.recipe, &arguments.settings)?;
    let mut console = Console::new(progress);
    // What lies on the device depends on how large a tensor that takes.
    let (opened, device) = device::open()?;
    let plan = (recipe.plan)(layers, &mut console.progress())?;
    refuse_unsupported::<Selected>(plan.precision, &opened)?;

    let peaks = match arguments.bench {
        true => Some(peaks::measure(&opened, &device, &console)),
        false => known_peaks(&device),
    };
    let peak = |peaks: &Peaks| peaks.multiply_adds_in(plan.precision, plan.arithmetic);
    let peak = peaks.as_ref().and_then(peak);
    let speed = peak.map(|multiply_adds_per_second| Speed {
        multiply_adds_per_second,
        seconds_at_peak: plan.training_multiply_adds / multiply_adds_per_second,
    });
    if let Some(file) = file {
        file.write(learning_rate_chart(&plan).svg().as_bytes())?;
    }
    let device_memory_bytes = device::memory_bytes();
    let is_measured = peaks.is_some();
    let planned = Planned { plan, device, device_memory_bytes, is_measured, speed };
    output.result(&planned, describe)
}

fn learning_rate_chart(plan: &Plan) -> Chart {
    let points = plan.learning_rates.iter().map(|&(step, rate)| (step as f64, rate)).collect();
    Chart {
        title: format!("Learning rate of {}", plan.recipe),
        x_label: "step".to_owned(),
        y_label: "learning rate".to_owned(),
        lines: vec![Line { name: "learning rate".to_owned(), points, ..Line::default() }],
        ..Chart::default()
    }
}

fn describe(planned: &Planned) -> String {
    let Planned { plan, .. } = planned;
    let notes: String = plan.notes.iter().map(|note| format!("note: {note}\n")).collect();
    let measured = planned.is_measured.then_some((plan.precision, plan.arithmetic));
    let time = time(plan.training_multiply_adds, planned.speed, measured);
    [layers(plan), steps(plan), learning_rate(plan), memory(planned), time, notes].concat()
}

/// A line for each layer, and one for all of them.
fn layers(plan: &Plan) -> String {
    let name =
        |name: &str, trained: bool| format!("{name}{}", if trained { "" } else { " (frozen)" });
    let mut rows = vec![["layer", "output", "parameters", "multiply-adds"].map(str::to_owned)];
    rows.push(["input".to_owned(), format!("{:?}", plan.sample), String::new(), String::new()]);
    rows.extend(plan.layers.iter().map(|planned| {
        let layer = &planned.layer;
        [
            name(&layer.name, planned.trained),
            format!("{:?}", layer.output),
            grouped(layer.parameters),
            grouped(layer.multiply_adds),
        ]
    }));
    rows.push([
        "total".to_owned(),
        String::new(),
        grouped(plan.parameters),
        grouped(plan.multiply_adds),
    ]);
    let mut text = format!("{}, per sample\n{}", plan.recipe, indented(&aligned(&rows, 2)));
    if plan.trainable_parameters < plan.parameters {
        let trainable = grouped(plan.trainable_parameters);
        text += &format!("  {trainable} of the parameters are trainable\n");
    }
    text
}

fn steps(plan: &Plan) -> String {
    let positions =
        if plan.losses_of_a_sample > 1 { ", counting each position of a text" } else { "" };
    format!(
        "\n{}{} of {}, {} in total; batches of {}, {}{positions}\n",
        if plan.may_stop_early { "at most " } else { "" },
        counted(plan.epochs, "epoch"),
        counted(plan.steps_per_epoch, "step"),
        counted(plan.steps, "step"),
        plan.batch_size,
        counted(plan.samples, "sample"),
    )
}

/// A chart, or a line where the rate is constant.
fn learning_rate(plan: &Plan) -> String {
    let rates: Vec<f64> = plan.learning_rates.iter().map(|&(_, rate)| rate).collect();
    let highest = rates.iter().copied().fold(0.0, f64::max);
    if rates.iter().all(|&rate| rate == highest) {
        return format!("\nlearning rate {}\n", significant(highest, 3));
    }
    let ends = ["step 1".to_owned(), grouped(plan.steps)];
    let label = |rate: f64| if rate == 0.0 { "0".to_owned() } else { format!("{rate:.1e}") };
    format!("\nlearning rate\n{}", text_chart(&rates, [0.0, highest], label, ends))
}

fn memory(planned: &Planned) -> String {
    let memory = planned.plan.memory_bytes;
    let MemoryBytes { weights, gradients, optimizer, average, best, activations, .. } = memory;
    let (data, program, total) = (memory.data, memory.program, memory.total);
    let parts = [
        ("weights", weights),
        ("gradients", gradients),
        ("optimizer", optimizer),
        ("average of the weights", average),
        ("weights of the best epoch", best),
        ("activations", activations),
        ("data", data),
        ("program", program),
    ];
    let mut text = "\nmemory while training, at least\n".to_owned();
    let mut line = |name: &str, bytes: usize| {
        text += &format!("  {name:<25}  {:>10}\n", size(bytes as f64));
    };
    for (name, bytes) in parts.into_iter().filter(|&(_, bytes)| bytes > 0) {
        line(name, bytes);
    }
    line("total", total);
    let device = &planned.device;
    text += &match planned.device_memory_bytes {
        Some(bytes) => format!("  of {} on {device}\n", size(bytes as f64)),
        None => format!("  the memory of {device} is unknown\n"),
    };
    text + &memory
        .advice(planned.device_memory_bytes, &planned.plan.fewer_at_a_time)
        .map(|advice| format!("  {advice}\n"))
        .unwrap_or_default()
}

/// - `measured`: the plan's precision and arithmetic, if the device was measured
fn time(
    multiply_adds: f64,
    speed: Option<Speed>,
    measured: Option<(Precision, Arithmetic)>,
) -> String {
    let time = match (speed, measured) {
        (Some(Speed { multiply_adds_per_second, seconds_at_peak }), _) => format!(
            ": {} at the {} per second that the device reached in matrix products",
            duration(seconds_at_peak),
            count(multiply_adds_per_second),
        ),
        (None, Some((precision, arithmetic))) => {
            let exact = if arithmetic == Arithmetic::Exact { "exact " } else { "" };
            format!("; how fast the device multiplies matrices in {exact}{precision} is not known")
        }
        (None, None) => {
            "; `--bench` says how long they take at the speed at which the device multiplies \
                 matrices"
                .to_owned()
        }
    };
    format!("\n{} multiply-adds in total{time}\n", count(multiply_adds))
}

/// Operations as `20,500`, `0.3 million`, `41.8 billion`, `1,530 billion`.
fn count(operations: f64) -> String {
    match operations {
        0.0..1e5 => grouped(operations),
        0.0..999.95e6 => format!("{:.1} million", operations / 1e6),
        0.0..1e11 => format!("{:.1} billion", operations / 1e9),
        _ => format!("{} billion", grouped(operations / 1e9)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_time_at_the_peak_is_told() {
        let speed = Speed { multiply_adds_per_second: 2e9, seconds_at_peak: 90.0 };
        let told = time(1.2e11, Some(speed), Some((Precision::F32, Arithmetic::Fast)));
        let expected =
            "120 billion multiply-adds in total: 1 min 30 s at the 2.0 billion per second";
        assert!(told.trim_start().starts_with(expected), "{told}");
        assert!(
            time(1.2e11, None, None).contains("`--bench` says how long they take at the speed")
        );
        let unknown = time(1.2e11, None, Some((Precision::F16, Arithmetic::Fast)));
        assert!(unknown.contains("in f16 is not known"), "{unknown}");
        let unknown = time(1.2e11, None, Some((Precision::F32, Arithmetic::Exact)));
        assert!(unknown.contains("in exact f32 is not known"), "{unknown}");
    }
}
