//! `recipes lr-find`.

use std::{iter, path::PathBuf};

use super::{
    arguments::{RecipeParser, at_least},
    new_file::{NewFile, SVG},
    output::Output,
    signals::stop_on_signals,
    train::recipe_and_layers,
};
use crate::{
    ExitCode, Failure,
    chart::{Chart, Line},
    config::SettingsLayer,
    console::{Console, ProgressMode},
    numbers::rounded,
    planning::range_test::{Point, Range, RangeTest, range_test},
    registry::Recipe,
    shell::{quoted, set},
    text_chart::text_chart,
};

#[derive(Debug, clap::Args)]
pub(super) struct LrFindArguments {
    /// A recipe's name, or a configuration file
    #[arg(value_name = "RECIPE|FILE.toml", value_parser = RecipeParser, hide_possible_values = true)]
    recipe: String,
    /// Change a setting, such as `training.batch_size=8`; may be repeated. `[schedule]`, the learning
    /// rate, the length and what is written are set by the test
    #[arg(long = "set", value_name = "KEY=VALUE", allow_hyphen_values = true)]
    settings: Vec<String>,
    /// The learning rate of the first step
    #[arg(long, value_name = "RATE", default_value_t = 1e-6, allow_negative_numbers = true)]
    from: f64,
    /// The learning rate of the last step, unless the loss diverges before
    #[arg(long, value_name = "RATE", default_value_t = 1.0, allow_negative_numbers = true)]
    to: f64,
    /// How many learning rates to try, one step each; at least 20
    #[arg(long, value_name = "N", default_value_t = 100, allow_negative_numbers = true,
        value_parser = at_least::<20>)]
    steps: u64,
    /// Plot the loss over the learning rate into a file
    #[arg(long, value_name = "FILE.svg")]
    output: Option<PathBuf>,
    /// Replace the file if it exists
    #[arg(long)]
    force: bool,
}

pub(super) fn run(
    arguments: &LrFindArguments,
    progress: ProgressMode,
    output: &Output,
) -> Result<(), Failure> {
    let &LrFindArguments { from, to, steps, .. } = arguments;
    let [least, most] = [f32::MIN_POSITIVE, f32::MAX].map(f64::from);
    if !(from >= least && from < to && to <= most) {
        return Err(Failure::new(
            ExitCode::Usage,
            format!("no learning rates lie between {from} and {to}"),
            "`--from` must be above 0, and `--to` above that, both as 32-bit floats",
        ));
    }
    let file = arguments.output.as_deref();
    let file = NewFile::check_if_named(file, "--output", SVG, arguments.force)?;
    let (recipe, layers) = recipe_and_layers(&arguments.recipe, &arguments.settings)?;
    let mut console = Console::new(progress);
    let range = Range { from, to, steps };
    let test = range_test(recipe, &layers, range, stop_on_signals(true)?, &mut console)?;
    if let Some(file) = file {
        file.write(chart(&test).svg().as_bytes())?;
    }
    let own = SettingsLayer::recipe(recipe.name, recipe.toml);
    let all: Vec<&SettingsLayer> = iter::once(&own).chain(&layers).collect();
    let tried = to_try(&test, &all).ok_or_else(|| why_none(&test, &all));
    output.result(&test, |test| describe(test, tried, default_rate(recipe), arguments))
}

/// A setting as the last layer that has it, empty where none does.
fn setting(layers: &[&SettingsLayer], key: &str) -> String {
    layers.iter().rev().find_map(|layer| layer.value(key)).unwrap_or_default()
}

const LOWER: &str = "the loss never fell, and rose at the end: lower `--from` or raise `--steps`";

/// What to do where no learning rate is to be tried.
fn why_none(test: &RangeTest, layers: &[&SettingsLayer]) -> &'static str {
    let setting = |key| setting(layers, key);
    let losses: Vec<f64> = test.points.iter().map(|point| point.smoothed).collect();
    if test.lowest.is_some() {
        "a tenth of the rate with the lowest loss is below `--from`, and was not tried"
    } else if test.broke_out {
        LOWER
    } else if setting("data.source") == "synthetic" && setting("data.labels") == "random" {
        "the loss never fell: labels that are drawn at random are learnt by heart, in thousands of steps; \
         `--set data.labels=linear` draws some that can be told from the features"
    } else if rises(&losses) {
        LOWER
    } else {
        "the loss never fell: raise `--to` or `--steps`"
    }
}

/// What to try.
struct ToTry {
    settings: Vec<String>,
    /// Whether the rate is for the peak of a schedule.
    peak: bool,
}

/// The settings to try: a tenth of the rate with the lowest loss; where the schedule has its peak at
/// the rate, and so stays there only briefly, that rate itself (Smith and Topin, "Super-convergence", 2019,
/// take the highest before the loss rises).
fn to_try(test: &RangeTest, layers: &[&SettingsLayer]) -> Option<ToTry> {
    let setting = |key| setting(layers, key);
    let peak = test.lowest.filter(|_| setting("schedule.kind") == "one_cycle");
    let rate = exponential(peak.or(test.tenth_of_lowest)?);
    let mut settings = vec![format!("optimizer.learning_rate={rate}")];
    let number = |text: &str| text.parse::<f64>().unwrap_or(0.0);
    if number(&setting("schedule.minimum")) > number(&rate) {
        settings.push("schedule.minimum=0".to_owned());
    }
    Some(ToTry { settings, peak: peak.is_some() })
}

fn chart(test: &RangeTest) -> Chart {
    let [lowest, highest] = heights(test);
    let line = |name: &str, value: fn(&Point) -> f64| {
        // What is higher lies on the chart's upper edge.
        let place = |point: &Point| (point.learning_rate, value(point).min(highest));
        let points = test.points.iter().map(place).collect();
        Line { name: name.to_owned(), points, ..Line::default() }
    };
    let mark = |(name, rate): (&str, Option<f64>)| {
        let points = rate.map(|rate| vec![(rate, lowest), (rate, highest)])?;
        Some(Line { name: name.to_owned(), points, ..Line::default() })
    };
    let marks = [
        ("lowest", test.lowest),
        ("a tenth of it", test.tenth_of_lowest),
        ("steepest", test.steepest),
    ];
    let mut lines =
        vec![line("smoothed", |point| point.smoothed), line("loss", |point| point.loss)];
    lines.extend(marks.into_iter().filter_map(mark));
    Chart {
        title: format!("Learning-rate range test of {}", test.recipe),
        x_label: "learning rate".to_owned(),
        y_label: "loss".to_owned(),
        logarithmic_x: true,
        lines,
        ..Chart::default()
    }
}

/// The lowest and the highest loss that a chart shows.
fn heights(test: &RangeTest) -> [f64; 2] {
    let losses = || test.points.iter().map(|point| point.smoothed);
    let lowest = losses().fold(f64::INFINITY, f64::min);
    let highest = losses().fold(lowest, f64::max);
    match (test.lowest, losses().next()) {
        // The fall takes half of the chart's height, whatever follows it.
        (Some(_), Some(first)) => [lowest, highest.min(2.0 * first - lowest)],
        _ => [lowest, highest],
    }
}

/// - `tried`: the settings to try, or else what to do
/// - `default`: the learning rate in the recipe's own settings
fn describe(
    test: &RangeTest,
    tried: Result<ToTry, &str>,
    default: Option<f64>,
    arguments: &LrFindArguments,
) -> String {
    let RangeTest { recipe, range, points, .. } = test;
    let losses: Vec<f64> = points.iter().map(|point| point.smoothed).collect();
    let last = points.last().map_or(range.from, |point| point.learning_rate);
    let ends = [exponential(range.from), exponential(last)];
    let chart = text_chart(&losses, heights(test), rounded, ends);
    let end = if test.broke_out { ", where it diverged" } else { "" };
    let mut text = format!(
        "loss of {recipe} by learning rate, over {} steps\n{chart}from {} to {}{end}\n",
        points.len(),
        exponential(range.from),
        exponential(last),
    );
    let suggestions = [
        ("with the lowest loss", test.lowest),
        ("a tenth of that", test.tenth_of_lowest),
        ("where the loss falls fastest", test.steepest),
        ("the recipe's default", default),
    ];
    for (what, rate) in suggestions.iter().filter_map(|(what, rate)| Some((what, (*rate)?))) {
        text += &format!("  {:>8}  {what}\n", exponential(rate));
    }
    if test.still_falls {
        text += "the loss was lowest at the end: higher rates may be better, raise `--to` to see\n";
    }
    match tried {
        Ok(ToTry { settings, peak }) => {
            text += &format!(
                "try{}: recipes train {}{}\n",
                if peak { ", for the peak of `one_cycle`" } else { "" },
                quoted(&arguments.recipe),
                as_arguments(&arguments.settings, &settings)
            );
        }
        Err(advice) => text += &format!("{advice}\n"),
    }
    text
}

/// The settings given and those found, which replace the given ones of the same keys, as a command has
/// them.
fn as_arguments(given: &[String], found: &[String]) -> String {
    let keys = |setting: &String| SettingsLayer::set(setting).keys();
    let is_kept = |given: &&String| found.iter().all(|found| keys(found) != keys(given));
    let settings = given.iter().filter(is_kept).chain(found);
    settings.map(|setting| set(setting)).collect()
}

/// The learning rate in the recipe's own settings.
fn default_rate(recipe: &Recipe) -> Option<f64> {
    recipe.settings().get("optimizer.learning_rate")?.as_f64()
}

/// Whether the last loss is above all of the first half, and so not by noise.
fn rises(losses: &[f64]) -> bool {
    let (first, _) = losses.split_at(losses.len() / 2);
    losses.last().is_some_and(|last| first.iter().all(|loss| loss < last))
}

/// `3.2e-3`
fn exponential(rate: f64) -> String {
    format!("{rate:.1e}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cnn;

    #[test]
    fn a_loss_that_diverged_does_not_flatten_the_chart() {
        let point = |(index, loss): (usize, f64)| Point {
            learning_rate: 10f64.powi(index as i32 - 4),
            loss,
            smoothed: loss,
        };
        let test = RangeTest {
            recipe: "cnn".to_owned(),
            range: Range { from: 1e-4, to: 1.0, steps: 4 },
            broke_out: true,
            points: [2.0, 1.5, 1.0, 40.0].into_iter().enumerate().map(point).collect(),
            lowest: Some(1e-2),
            still_falls: false,
            tenth_of_lowest: Some(1e-3),
            steepest: Some(1e-3),
        };
        assert_eq!(heights(&test), [1.0, 3.0]);
        assert_eq!(default_rate(&cnn::RECIPE), Some(3e-3));
        let lines = chart(&test).lines;
        assert!(lines[..2].iter().all(|line| line.points.last() == Some(&(0.1, 3.0))));
        assert_eq!(lines[4].points, [(1e-3, 1.0), (1e-3, 3.0)]);
    }

    #[test]
    fn what_to_try_suits_the_schedule_and_is_not_refused() {
        let test = RangeTest {
            recipe: "mlp".to_owned(),
            range: Range { from: 1e-4, to: 1.0, steps: 4 },
            broke_out: false,
            points: Vec::new(),
            lowest: Some(1e-1),
            still_falls: false,
            tenth_of_lowest: Some(1e-2),
            steepest: Some(3e-2),
        };
        let recipe =
            SettingsLayer::document("recipe", "schedule = { kind = \"constant\", minimum = 0.0 }");
        let tried = |settings: &[&str]| {
            let given = SettingsLayer::sets(settings);
            let layers: Vec<&SettingsLayer> = iter::once(&recipe).chain(&given).collect();
            let ToTry { settings, peak } = to_try(&test, &layers).unwrap();
            format!("{}{}", if peak { "peak: " } else { "" }, settings.join(" "))
        };
        assert_eq!(tried(&[]), "optimizer.learning_rate=1.0e-2");
        let cosine = ["schedule.kind=cosine", "schedule.minimum=0.02"];
        assert_eq!(tried(&cosine), "optimizer.learning_rate=1.0e-2 schedule.minimum=0");
        let peak = "peak: optimizer.learning_rate=1.0e-1";
        assert_eq!(tried(&["schedule.kind=one_cycle"]), peak);
        let given = ["\"optimizer\".learning_rate = 0.1", "data.size=8"].map(str::to_owned);
        let found = ["optimizer.learning_rate=1e-2".to_owned()];
        let command = " --set data.size=8 --set optimizer.learning_rate=1e-2";
        assert_eq!(as_arguments(&given, &found), command);
        let both = "optimizer={learning_rate=0.1,momentum=0.9}".to_owned();
        let command = as_arguments(std::slice::from_ref(&both), &found);
        assert_eq!(command, set(&both) + " --set optimizer.learning_rate=1e-2");
    }

    #[test]
    fn what_to_try_where_the_loss_never_fell_goes_by_how_it_ended() {
        assert!(rises(&[0.7, 0.71, 0.69, 0.7, 0.7, 0.9]));
        assert!(rises(&[1.0, 2.0, 3.0]));
        assert!(!rises(&[0.7, 0.71, 0.69, 0.7, 0.69, 0.705]));
        assert!(!rises(&[]));
    }
}
