//! The learning-rate range test: a short training run whose learning rate grows by the same factor
//! after each step, until the loss diverges (Smith, "Cyclical learning rates for training neural
//! networks", 2017, section 3.3; a tenth of the rate with the lowest loss, and the steepest fall, are
//! suggestions of fastai's `lr_find`).

use std::collections::VecDeque;

use serde::Serialize;
use training::{EndStatus, Event, Observer, ObserverError, StepReport, Stop};

use crate::{
    ExitCode, Failure, Start,
    config::SettingsLayer,
    registry::Recipe,
    run::temporary::{nothing_kept, temporary_folder},
};

/// The test ends once the loss is this many times the lowest.
const BREAKS_OUT: f64 = 4.0;
/// The share of the steps covered by the running mean that is compared with the lowest,
/// and by a point of the smoothed curve to either side.
const RUNNING: f64 = 0.1;
const SMOOTHED: f64 = 0.05;
/// Each loss counts as the median of so many: one batch with an outlier is no divergence.
const MEDIAN_OF: usize = 5;

/// Which learning rates are tried.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub(crate) struct Range {
    /// The first step's.
    pub(crate) from: f64,
    /// The last step's.
    pub(crate) to: f64,
    /// How many are tried.
    pub(crate) steps: u64,
}

/// The result of the test.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct RangeTest {
    /// The recipe's name.
    pub(crate) recipe: String,
    /// What was asked for.
    #[serde(flatten)]
    pub(crate) range: Range,
    /// Whether the loss diverged before the last step.
    pub(crate) broke_out: bool,
    /// A point for each step that was made.
    pub(crate) points: Vec<Point>,
    /// The learning rate at which the smoothed loss is lowest.
    pub(crate) lowest: Option<f64>,
    /// Whether that is at the end, so that higher rates may be better.
    pub(crate) still_falls: bool,
    /// A tenth of the lowest, the highest safe rate, unless it was not tried.
    pub(crate) tenth_of_lowest: Option<f64>,
    /// The learning rate at which the smoothed loss falls fastest.
    pub(crate) steepest: Option<f64>,
}

/// A step of the test.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub(crate) struct Point {
    /// Its learning rate.
    pub(crate) learning_rate: f64,
    /// The loss of its batch.
    pub(crate) loss: f64,
    /// The mean of the losses around it, without spikes.
    pub(crate) smoothed: f64,
}

/// Trains a recipe for `range.steps` steps at most, in a temporary folder.
///
/// - `shown`: receives the events, except how training ends
///
/// # Errors
///
/// Whatever training fails with before its first step; [`ExitCode::Interrupted`].
pub(crate) fn range_test(
    recipe: &Recipe,
    layers: &[SettingsLayer],
    range: Range,
    interrupt: Stop,
    shown: &mut dyn Observer,
) -> Result<RangeTest, Failure> {
    let folder = temporary_folder()?;
    let mut heard = Heard { range, shown, losses: Vec::new(), watch: Watch::new(range) };
    let start = Start { interrupt, ..Start::new(folder.path().join("run"), &mut heard) };
    let layers = [layers, &of_the_test(recipe, range)[..]].concat();
    let ended = (recipe.train)(layers, start);
    let Heard { losses, watch, shown, .. } = heard;
    let step = losses.len() as u64;
    let broke_out = match ended {
        // The observer ends the run with an error.
        Err(_) if watch.is_over => step < range.steps || watch.broke_out(),
        Err(failure) if failure.exit_code == ExitCode::Diverged => true,
        Err(failure) if failure.exit_code == ExitCode::Interrupted => return Err(nothing_kept()),
        Err(failure) => return Err(failure),
        Ok(_) => false,
    };
    // An observer that is gone does not matter any more.
    let _ = shown.observe(&Event::End { status: EndStatus::Finished, epoch: 0, step });
    Ok(RangeTest::of(recipe.name, range, &losses, broke_out))
}

/// The settings of the test, on top of the user's. The schedule's are the recipe's own except for
/// its kind, since the user's may not fit that kind.
fn of_the_test(recipe: &Recipe, Range { from, to, steps }: Range) -> Vec<SettingsLayer> {
    let settings = [
        "schedule.kind=range".to_owned(),
        format!("schedule.minimum={from:e}"),
        format!("optimizer.learning_rate={to:e}"),
        format!("training.max_steps={steps}"),
        format!("training.epochs={steps}"),
        "training.patience=".to_owned(),
        "training.monitor=loss".to_owned(),
        "training.minimum_improvement=0".to_owned(),
        "checkpoint.every_steps=".to_owned(),
        "checkpoint.every_epochs=".to_owned(),
        "checkpoint.every_minutes=".to_owned(),
        "checkpoint.keep_every_epochs=".to_owned(),
        "output.log_every_steps=1".to_owned(),
        "output.model=final".to_owned(),
    ];
    let schedule = SettingsLayer::recipe(recipe.name, recipe.toml).only("schedule");
    std::iter::once(schedule).chain(SettingsLayer::sets(&settings)).collect()
}

/// Keeps the losses, and ends the run when there are enough.
struct Heard<'a> {
    range: Range,
    shown: &'a mut dyn Observer,
    losses: Vec<(f64, f64)>,
    watch: Watch,
}

impl Observer for Heard<'_> {
    fn observe(&mut self, event: &Event) -> Result<(), ObserverError> {
        match event {
            &Event::Step(StepReport { step, loss, learning_rate, .. }) => {
                self.shown.observe(event)?;
                self.losses.push((learning_rate, loss));
                self.watch.note(loss);
                // Before the model is tested, which nobody asked for.
                self.watch.is_over |= step >= self.range.steps;
                if self.watch.is_over { Err("the range test is over".into()) } else { Ok(()) }
            }
            Event::Start { .. }
            | Event::Progress { .. }
            | Event::Preparation { .. }
            | Event::Warning { .. } => self.shown.observe(event),
            _ => Ok(()),
        }
    }

    fn validates(&self) -> bool {
        false
    }
}

/// The running mean of the losses without spikes, and its lowest value.
struct Watch {
    recent: VecDeque<f64>,
    keeps: f64,
    weight: f64,
    sum: f64,
    lowest: f64,
    spared: u64,
    is_over: bool,
}

impl Watch {
    fn new(range: Range) -> Self {
        let window = (RUNNING * range.steps as f64).max(1.0);
        Self {
            recent: VecDeque::with_capacity(MEDIAN_OF),
            keeps: 1.0 - 1.0 / window,
            weight: 0.0,
            sum: 0.0,
            lowest: f64::INFINITY,
            spared: window as u64,
            is_over: false,
        }
    }

    fn note(&mut self, loss: f64) {
        if self.recent.len() == MEDIAN_OF {
            self.recent.pop_front();
        }
        self.recent.push_back(loss);
        self.sum = self.keeps * self.sum + median(self.recent.iter().copied());
        self.weight = self.keeps * self.weight + 1.0;
        self.spared = self.spared.saturating_sub(1);
        // A single batch says little at first.
        self.is_over |= self.broke_out();
        self.lowest = self.lowest.min(self.mean());
    }

    fn mean(&self) -> f64 {
        self.sum / self.weight
    }

    fn broke_out(&self) -> bool {
        self.spared == 0 && self.mean() > BREAKS_OUT * self.lowest
    }
}

impl RangeTest {
    fn of(recipe: &str, range: Range, losses: &[(f64, f64)], broke_out: bool) -> Self {
        let reach = (SMOOTHED * range.steps as f64).max(1.0) as usize;
        let smoothed = smoothed(&without_spikes(losses), reach);
        let point = |(&(learning_rate, loss), &smoothed): (&(f64, f64), &f64)| Point {
            learning_rate,
            loss,
            smoothed,
        };
        let points: Vec<Point> = losses.iter().zip(&smoothed).map(point).collect();
        let lowest = lowest(&smoothed, reach);
        let steepest = lowest.and_then(|lowest| steepest(&smoothed[..=lowest], reach));
        let rate = |index: usize| points[index].learning_rate;
        Self {
            recipe: recipe.to_owned(),
            range,
            broke_out,
            lowest: lowest.map(rate),
            still_falls: !broke_out && lowest.is_some_and(|index| index + reach >= points.len()),
            tenth_of_lowest: lowest
                .map(|index| rate(index) / 10.0)
                .filter(|&tenth| tenth >= range.from),
            steepest: steepest.map(rate),
            points,
        }
    }
}

/// Each loss as the median of those around it.
fn without_spikes(losses: &[(f64, f64)]) -> Vec<f64> {
    let losses: Vec<f64> = losses.iter().map(|&(_, loss)| loss).collect();
    let around = |index| median(around(&losses, index, MEDIAN_OF / 2).iter().copied());
    (0..losses.len()).map(around).collect()
}

/// The mean of the losses at most `reach` steps away.
fn smoothed(losses: &[f64], reach: usize) -> Vec<f64> {
    let mean = |index: usize| {
        let around = around(losses, index, reach);
        around.iter().sum::<f64>() / around.len() as f64
    };
    (0..losses.len()).map(mean).collect()
}

/// The values at most `reach` places away, as many before as after.
fn around(values: &[f64], index: usize, reach: usize) -> &[f64] {
    let reach = reach.min(index).min(values.len() - 1 - index);
    &values[index - reach..=index + reach]
}

/// The median, of an even number the larger of the two; there is at least one.
fn median(values: impl Iterator<Item = f64>) -> f64 {
    let mut values: Vec<f64> = values.collect();
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

/// Where the curve is lowest; none if it never fell below where it began.
fn lowest(smoothed: &[f64], reach: usize) -> Option<usize> {
    let lowest = (0..smoothed.len()).min_by(|&a, &b| smoothed[a].total_cmp(&smoothed[b]))?;
    (lowest > reach).then_some(lowest)
}

/// Where the curve falls fastest, over a distance of `reach` steps to either side. The learning
/// rate's logarithm grows evenly, so differences are slopes.
fn steepest(falling: &[f64], reach: usize) -> Option<usize> {
    let slope = |&index: &usize| falling[index + reach] - falling[index - reach];
    let inner = reach..falling.len().saturating_sub(reach);
    inner.filter(|index| slope(index) < 0.0).min_by(|a, b| slope(a).total_cmp(&slope(b)))
}

#[cfg(test)]
mod tests {
    use training::CheckpointConfig;

    use super::*;
    use crate::{
        config::{Config, TableData},
        mlp,
    };

    const RANGE: Range = Range { from: 1e-6, to: 1.0, steps: 120 };

    /// The test as it ends on this course of the loss over the exponent of the learning rate.
    fn test(loss: impl Fn(f64) -> f64) -> RangeTest {
        let mut watch = Watch::new(RANGE);
        let mut losses = Vec::new();
        for step in 0..RANGE.steps {
            let exponent = -6.0 + 6.0 * step as f64 / (RANGE.steps - 1) as f64;
            losses.push((10f64.powf(exponent), loss(exponent)));
            watch.note(loss(exponent));
            if watch.is_over {
                break;
            }
        }
        RangeTest::of("test", RANGE, &losses, watch.is_over)
    }

    fn near(found: Option<f64>, exponent: f64) -> bool {
        found.is_some_and(|rate| (rate.log10() - exponent).abs() < 0.15)
    }

    #[test]
    fn epochs_end_without_validation() {
        /// Notes whether each epoch was validated.
        struct Epochs(Vec<bool>);
        impl Observer for Epochs {
            fn observe(&mut self, event: &Event) -> Result<(), ObserverError> {
                if let Event::Epoch(report) = event {
                    self.0.push(report.validation.is_some());
                }
                Ok(())
            }

            fn validates(&self) -> bool {
                false
            }
        }
        let folder = temporary_folder().unwrap();
        let mut epochs = Epochs(Vec::new());
        let start = Start::new(folder.path().join("run"), &mut epochs);
        let settings = ["data.labels=linear", "data.samples=40", "training.epochs=2"];
        let summary = (crate::mlp::RECIPE.train)(SettingsLayer::sets(&settings), start).unwrap();
        assert_eq!((epochs.0, summary.validation), (vec![false; 2], None));
    }

    #[test]
    fn no_checkpoint_is_written() {
        let recipe = &mlp::RECIPE;
        let kept = ["every_steps=2", "every_epochs=1", "every_minutes=1", "keep_every_epochs=1"];
        let mut layers =
            kept.map(|setting| SettingsLayer::set(&format!("checkpoint.{setting}"))).to_vec();
        layers.extend(of_the_test(recipe, RANGE));
        let config: Config<TableData, mlp::Model> = recipe.resolve(layers).unwrap();
        let every = config.checkpoint;
        assert_eq!(
            every,
            CheckpointConfig {
                every_steps: None,
                every_epochs: None,
                every_minutes: None,
                keep: every.keep,
                keep_every_epochs: None,
            }
        );
    }

    #[test]
    fn the_fall_the_lowest_point_and_the_break_are_found() {
        // Falls around 1e-3, is lowest before 1e-1, and then explodes.
        let course = |exponent: f64| {
            2.0 - 1.5 / (1.0 + (-6.0 * (exponent + 3.0)).exp()) + (12.0 * (exponent + 0.8)).exp()
        };
        let test = test(course);
        assert!(near(test.steepest, -3.0), "{:?}", test.steepest);
        assert!(near(test.lowest, -1.6), "{:?}", test.lowest);
        assert!(near(test.tenth_of_lowest, -2.6));
        assert!(test.broke_out && test.points.len() < 120, "{}", test.points.len());
    }

    #[test]
    fn noise_neither_ends_the_test_nor_moves_it_far() {
        let course = |exponent: f64| {
            let noise = 0.3 * (1234.5 * exponent).sin();
            2.0 - 1.5 / (1.0 + (-4.0 * (exponent + 3.0)).exp()) + noise
        };
        let test = test(course);
        assert!(!test.broke_out && test.points.len() == 120);
        let steepest = test.steepest.unwrap().log10();
        assert!((-3.5..-2.5).contains(&steepest), "{steepest}");
    }

    #[test]
    fn a_batch_with_an_outlier_is_no_divergence() {
        let course = |exponent: f64| {
            let is_odd = [-5.0, -3.5, -1.0].iter().any(|at| (exponent - at).abs() < 0.03);
            let outlier = if is_odd { 100.0 } else { 0.0 };
            2.0 - 1.5 / (1.0 + (-4.0 * (exponent + 3.0)).exp()) + outlier
        };
        let test = test(course);
        assert!(!test.broke_out && test.points.len() == 120);
        assert!(test.points.iter().any(|point| point.loss > 100.0));
        assert!(test.points.iter().all(|point| point.smoothed < 2.1));
        assert!(near(test.steepest, -3.0), "{:?}", test.steepest);
    }

    #[test]
    fn a_loss_that_still_falls_at_the_end_is_told() {
        let falling = test(|exponent| 1.0 - 0.1 * exponent);
        assert!(falling.still_falls && near(falling.tenth_of_lowest, -1.0));
        let level = test(|exponent| {
            2.0 - 1.5 / (1.0 + (-6.0 * (exponent + 3.0)).exp()) + (exponent + 6.0) / 1e3
        });
        assert!(!level.still_falls, "{:?}", level.lowest);
        let narrow = Range { from: 0.1, ..RANGE };
        let losses: Vec<(f64, f64)> =
            (0..20).map(|step| (0.1 + f64::from(step) / 40.0, 1.0 - f64::from(step))).collect();
        let narrow = RangeTest::of("test", narrow, &losses, false);
        assert_eq!((narrow.still_falls, narrow.tenth_of_lowest), (true, None));
    }

    #[test]
    fn a_loss_that_only_rises_suggests_nothing() {
        let test = test(|exponent| 1.0 + (exponent + 6.0));
        assert_eq!((test.lowest, test.tenth_of_lowest, test.steepest), (None, None, None));
        assert!(test.broke_out);
    }
}
