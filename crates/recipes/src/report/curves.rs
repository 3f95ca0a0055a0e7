//! The curves of a run.

use crate::{
    chart::{Chart, Line},
    record::{EpochRecord, Record, StepRecord},
};

/// The charts of what was recorded more than once, in the page's order.
pub(super) fn curves(record: &Record) -> Vec<Chart> {
    let mut charts = Vec::new();
    let validated = record.validated();
    if record.epochs.len() > 1 || !validated.is_empty() {
        let mut lines = vec![line("training", by_epoch(record, |epoch| epoch.train_loss))];
        if validated.contains(&"loss") {
            lines.push(line("validation", by_epoch(record, |epoch| epoch.validation("loss"))));
        }
        charts.push(chart("Loss", ("epoch", "loss"), lines));
    }
    for &name in validated.iter().filter(|&&name| name != "loss") {
        let points = by_epoch(record, |epoch| epoch.validation(name));
        let title = format!("Validation {name}");
        charts.push(chart(&title, ("epoch", name), vec![line(name, points)]));
    }
    let by_step = |title: &str, label: &str, value: &dyn Fn(&StepRecord) -> Option<f64>| {
        let points = record.steps.iter().filter_map(|step| Some((step.step as f64, value(step)?)));
        chart(title, ("step", label), vec![line(label, points.collect())])
    };
    if !record.steps.is_empty() {
        charts.push(by_step("Training loss by step", "loss", &|step| step.loss));
        let rate = |step: &StepRecord| Some(step.learning_rate);
        charts.push(by_step("Learning rate", "learning rate", &rate));
        if record.steps.iter().any(|step| step.gradient_norm.is_some()) {
            charts.push(by_step("Gradient norm", "norm", &|step| step.gradient_norm));
        }
        charts.push(by_step("Speed", "samples/s", &|step| step.samples_per_second));
    }
    charts.retain(|chart| chart.lines.iter().any(|line| line.points.len() > 1));
    charts
}

/// Charts with the curves of several runs overlaid, each run by its name.
pub(crate) fn overlaid(runs: &[(String, &Record)]) -> Vec<Chart> {
    let mut measures = vec!["loss"];
    for name in runs.iter().flat_map(|(_, record)| record.validated()) {
        if !measures.contains(&name) {
            measures.push(name);
        }
    }
    let over = |title: String, label: &str, value: &dyn Fn(&EpochRecord) -> Option<f64>| {
        let lines = runs.iter().map(|(name, record)| line(name, by_epoch(record, value)));
        chart(&title, ("epoch", label), lines.collect())
    };
    let training = over("Training loss".to_owned(), "loss", &|epoch| epoch.train_loss);
    let validation = measures
        .iter()
        .map(|&name| over(format!("Validation {name}"), name, &|epoch| epoch.validation(name)));
    let drawn = |chart: &Chart| chart.lines.iter().any(|line| !line.points.is_empty());
    std::iter::once(training).chain(validation).filter(drawn).collect()
}

/// A chart of a regression's predicted values over the true ones; none without values.
pub(super) fn values(values: &[(f64, f64)]) -> Option<Chart> {
    let all = values.iter().flat_map(|&(truth, prediction)| [truth, prediction]);
    let (low, high) =
        all.fold((f64::MAX, f64::MIN), |(low, high), value| (low.min(value), high.max(value)));
    let rows = Line { loose: true, ..line("held-out row", values.to_vec()) };
    let diagonal = line("predicted = true", vec![(low, low), (high, high)]);
    let axes = ("true value", "predicted value");
    (!values.is_empty()).then(|| chart("Predicted and true values", axes, vec![rows, diagonal]))
}

fn by_epoch(record: &Record, value: impl Fn(&EpochRecord) -> Option<f64>) -> Vec<(f64, f64)> {
    record.epochs.iter().filter_map(|epoch| Some((epoch.epoch as f64, value(epoch)?))).collect()
}

fn line(name: &str, points: Vec<(f64, f64)>) -> Line {
    Line { name: name.to_owned(), points, loose: false }
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
            [
                "Loss",
                "Validation accuracy",
                "Training loss by step",
                "Learning rate",
                "Gradient norm"
            ]
        );
        assert_eq!(charts[0].lines[0].points, [(1.0, 1.0), (2.0, 0.5)]);
        assert_eq!(charts[0].lines[1].name, "validation");
        assert_eq!(charts[1].lines[0].points, [(1.0, 0.75), (2.0, 0.75)]);
        assert!(curves(&Record::default()).is_empty());
    }

    #[test]
    fn runs_are_laid_over_each_other() {
        let (first, second) = (record(), record());
        let charts = overlaid(&[("a".to_owned(), &first), ("b".to_owned(), &second)]);
        assert_eq!(titles(&charts), ["Training loss", "Validation loss", "Validation accuracy"]);
        assert_eq!(charts[1].lines[1].name, "b");
    }

    #[test]
    fn values_are_drawn_beside_the_line_on_which_they_would_be_right() {
        let chart = values(&[(1.0, 2.0), (5.0, 4.5), (3.0, -1.0)]).unwrap();
        assert!(chart.lines[0].loose && !chart.lines[1].loose);
        assert_eq!(chart.lines[0].points.len(), 3);
        assert_eq!(chart.lines[1].points, [(-1.0, -1.0), (5.0, 5.0)]);
        assert!(values(&[]).is_none());
    }
}
