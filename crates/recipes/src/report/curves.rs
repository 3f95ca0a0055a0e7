//! The curves of a run.

use serde_json::Value;

use super::facts::unit_of_speed;
use crate::{
    chart::{Chart, Line},
    numbers::in_words,
    run::{
        event_lines::{EpochRecord, StepRecord},
        record::Record,
    },
};

/// The charts of what was recorded more than once, in the page's order; the best epoch is marked.
pub(super) fn curves(record: &Record) -> Vec<Chart> {
    let best = record.summary.as_ref().and_then(|summary| summary.best.as_ref());
    let mark = best.map(|best| (best.epoch as f64, "best epoch".to_owned()));
    let mut charts = Vec::new();
    let validated = record.validated();
    let of_training = [
        ("Loss", "loss", by_epoch(record, |epoch| epoch.train_loss)),
        ("Accuracy", "accuracy", by_epoch(record, |epoch| epoch.train_accuracy)),
    ];
    for (title, name, points) in of_training {
        if points.is_empty() {
            continue;
        }
        let mut lines = vec![line("training", points)];
        if validated.contains(&name) {
            lines.push(line("validation", by_epoch(record, |epoch| epoch.validation(name))));
        }
        charts.push(Chart { mark: mark.clone(), ..chart(title, ("epoch", name), lines) });
    }
    let is_drawn = |name| charts.iter().any(|chart| chart.y_label == name);
    let rest: Vec<&str> = validated.into_iter().filter(|&name| !is_drawn(name)).collect();
    for name in rest {
        let points = by_epoch(record, |epoch| epoch.validation(name));
        let name = in_words(name);
        let lines = vec![line(&name, points)];
        let of_epochs = chart(&format!("Validation {name}"), ("epoch", &name), lines);
        charts.push(Chart { mark: mark.clone(), ..of_epochs });
    }
    let steps = whole_intervals(record);
    let by_step = |title: &str, label: &str, value: &dyn Fn(&StepRecord) -> Option<f64>| {
        let points = steps.iter().filter_map(|step| Some((step.step as f64, value(step)?)));
        chart(title, ("step", label), vec![line(label, points.collect())])
    };
    if !steps.is_empty() {
        charts.push(by_step("Training loss by step", "loss", &|step| step.loss));
        let rate = |step: &StepRecord| Some(step.learning_rate);
        charts.push(by_step("Learning rate", "learning rate", &rate));
        if steps.iter().any(|step| step.gradient_norm.is_some()) {
            charts.push(by_step("Gradient norm", "norm", &|step| step.gradient_norm));
        }
        charts.push(by_step("Speed", unit_of_speed(record), &|step| step.samples_per_second));
    }
    charts.retain(|chart| chart.lines.iter().any(|line| line.points.len() > 1));
    charts
}

/// The records of steps without that of a last interval which the end of the run has cut short: the mean of
/// a few steps would look as if something had happened.
fn whole_intervals(record: &Record) -> &[StepRecord] {
    let every = record.settings.get("output.log_every_steps").and_then(Value::as_u64);
    let is_cut = |end: &StepRecord| every.is_some_and(|every| !end.step.is_multiple_of(every));
    match record.steps.as_slice() {
        [whole @ .., end] if !whole.is_empty() && is_cut(end) => whole,
        steps => steps,
    }
}

/// Charts with the curves of several runs overlaid, each by its name: those of a row in one colour, by the
/// row's name.
pub(crate) fn overlaid(rows: &[(String, Vec<(String, &Record)>)]) -> Vec<Chart> {
    let mut measures = vec!["loss"];
    for name in rows.iter().flat_map(|(_, runs)| runs).flat_map(|(_, record)| record.validated()) {
        if !measures.contains(&name) {
            measures.push(name);
        }
    }
    let over = |title: String, label: &str, value: &dyn Fn(&EpochRecord) -> Option<f64>| {
        let of_row = |(row, runs): &(String, Vec<(String, &Record)>)| {
            let of_run = |(place, (name, record)): (usize, &(String, &Record))| Line {
                legend: Some(row.clone()),
                repeats: place > 0,
                ..line(name, by_epoch(record, value))
            };
            runs.iter().enumerate().map(of_run).collect::<Vec<_>>()
        };
        chart(&title, ("epoch", label), rows.iter().flat_map(of_row).collect())
    };
    let training = over("Training loss".to_owned(), "loss", &|epoch| epoch.train_loss);
    let validation = measures.iter().map(|&name| {
        let label = in_words(name);
        over(format!("Validation {label}"), &label, &|epoch| epoch.validation(name))
    });
    let drawn = |chart: &Chart| chart.lines.iter().any(|line| !line.points.is_empty());
    std::iter::once(training).chain(validation).filter(drawn).collect()
}

/// A chart of a regression's predicted values over the true ones; none without values.
///
/// - `of`: how many there are, of which these may be some
pub(super) fn values(values: &[(f64, f64)], of: usize) -> Option<Chart> {
    let all = values.iter().flat_map(|&(truth, prediction)| [truth, prediction]);
    let (low, high) =
        all.fold((f64::MAX, f64::MIN), |(low, high), value| (low.min(value), high.max(value)));
    let rows = Line { loose: true, ..line("held-out row", values.to_vec()) };
    let diagonal = line("predicted = true", vec![(low, low), (high, high)]);
    let axes = ("true value", "predicted value");
    let title = match values.len() {
        count if count < of => format!("Predicted and true values of {count} of the rows"),
        _ => "Predicted and true values".to_owned(),
    };
    (!values.is_empty()).then(|| chart(&title, axes, vec![rows, diagonal]))
}

fn by_epoch(record: &Record, value: impl Fn(&EpochRecord) -> Option<f64>) -> Vec<(f64, f64)> {
    record.epochs.iter().filter_map(|epoch| Some((epoch.epoch as f64, value(epoch)?))).collect()
}

fn line(name: &str, points: Vec<(f64, f64)>) -> Line {
    Line { name: name.to_owned(), points, ..Line::default() }
}

fn chart(title: &str, (x_label, y_label): (&str, &str), lines: Vec<Line>) -> Chart {
    Chart {
        title: title.to_owned(),
        x_label: x_label.to_owned(),
        y_label: y_label.to_owned(),
        lines,
        ..Chart::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record() -> Record {
        let epoch = |epoch: usize| EpochRecord {
            epoch,
            train_loss: Some(1.0 / epoch as f64),
            train_accuracy: Some(epoch as f64 / 4.0),
            validation: [("loss", Some(0.5)), ("accuracy", Some(0.75)), ("perplexity", None)]
                .map(|(name, value)| (name.to_owned(), value))
                .into(),
            ..EpochRecord::default()
        };
        let step = |step| StepRecord {
            step,
            loss: Some(0.7),
            gradient_norm: Some(2.0),
            ..StepRecord::default()
        };
        Record {
            epochs: vec![epoch(1), epoch(2)],
            steps: vec![step(10), step(20)],
            ..Record::default()
        }
    }

    fn titles(charts: &[Chart]) -> Vec<&str> {
        charts.iter().map(|chart| chart.title.as_str()).collect()
    }

    #[test]
    fn what_was_recorded_has_its_chart() {
        let charts = curves(&record());
        assert_eq!(
            titles(&charts),
            ["Loss", "Accuracy", "Training loss by step", "Learning rate", "Gradient norm"]
        );
        assert_eq!(charts[0].lines[0].points, [(1.0, 1.0), (2.0, 0.5)]);
        assert_eq!(charts[0].lines[1].name, "validation");
        assert_eq!(charts[1].lines[0].points, [(1.0, 0.25), (2.0, 0.5)]);
        assert_eq!(charts[1].lines[1].points, [(1.0, 0.75), (2.0, 0.75)]);
        assert!(curves(&Record::default()).is_empty());
    }

    #[test]
    fn runs_are_laid_over_each_other() {
        let (first, second) = (record(), record());
        let named = |name: &str| name.to_owned();
        let rows = [
            (named("a"), vec![(named("a"), &first)]),
            (named("two"), vec![(named("b"), &second), (named("c"), &first)]),
        ];
        let charts = overlaid(&rows);
        assert_eq!(titles(&charts), ["Training loss", "Validation loss", "Validation accuracy"]);
        let lines: Vec<(&str, bool)> =
            charts[1].lines.iter().map(|line| (line.name.as_str(), line.repeats)).collect();
        assert_eq!(lines, [("a", false), ("b", false), ("c", true)]);
        assert_eq!(charts[1].lines[1].legend.as_deref(), Some("two"));
    }

    #[test]
    fn values_are_drawn_beside_the_line_on_which_they_would_be_right() {
        let chart = values(&[(1.0, 2.0), (5.0, 4.5), (3.0, -1.0)], 4).unwrap();
        assert!(chart.lines[0].loose && !chart.lines[1].loose);
        assert_eq!(chart.lines[0].points.len(), 3);
        assert_eq!(chart.lines[1].points, [(-1.0, -1.0), (5.0, 5.0)]);
        assert_eq!(chart.title, "Predicted and true values of 3 of the rows");
        assert!(values(&[], 0).is_none());
    }

    #[test]
    fn an_interval_that_the_end_cut_short_is_left_out() {
        let last = |steps: &[u64]| {
            let of = |&step: &u64| StepRecord { step, ..StepRecord::default() };
            let settings = [("output.log_every_steps".to_owned(), 50.into())].into();
            let steps = steps.iter().map(of).collect();
            let record = Record { steps, settings, ..Record::default() };
            whole_intervals(&record).last().map(|record| record.step)
        };
        assert_eq!(last(&[50, 100, 104]), Some(100));
        assert_eq!(last(&[50, 100, 150]), Some(150));
        assert_eq!(last(&[50, 54]), Some(50));
        assert_eq!(last(&[4]), Some(4));
        assert_eq!(last(&[]), None);
    }
}
