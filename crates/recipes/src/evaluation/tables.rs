//! Rows of a table, measured.

use std::path::Path;

use backend::{Selected, device::Device};
use data::{Table, TargetKind, csv_table::read_table};
use inference::{Model, Prediction};
use models::Network;
use training::Group;

use super::{
    EvaluationReport, Examined, Mistake, Sample, changed, hold_data,
    mistakes::{MOST, Mistakes, decoded_row, short},
    or_elsewhere,
};
use crate::{
    ExitCode, Failure,
    config::{Config, TableData},
    confusion::Confusion,
    mlp,
    table_evaluation::TableEvaluation,
};

pub(super) fn examine(
    run: &Path,
    config: Config<TableData, mlp::Model>,
    model: &Model<Selected>,
    data: Option<&Path>,
    device: &Device,
) -> Result<Examined, Failure> {
    let preprocessing = model.description().table()?;
    let Network::Mlp(network) = model.network() else {
        return Err(changed(model.description()));
    };
    let (split, table) = match data {
        Some(path) => ("given", read_table(path, preprocessing, config.data.header)?),
        None => {
            let config = mlp::with_choices_made(config);
            let splits = mlp::read(&config, config.training.seed).map_err(or_elsewhere)?;
            hold_data(run, &splits.fingerprint(), model)?;
            let test = splits.test.map(|table| ("test", table));
            test.or(splits.validation.map(|table| ("validation", table))).ok_or_else(nothing)?
        }
    };
    let evaluation = TableEvaluation::new(&table, preprocessing, &Group::alone(), device);
    let classes = preprocessing.target.classes();
    let (mut confusion, mut mistakes) = (Confusion::new(classes.len()), Mistakes::default());
    let metrics = evaluation.measure_each(network, |logits, labels| {
        confusion.add(logits.clone(), labels.clone());
        mistakes.add(logits, labels);
    })?;
    let width = preprocessing.width();
    let row = |index: usize| decoded_row(preprocessing, &table.features[index * width..][..width]);
    let mistakes = if classes.is_empty() {
        furthest_off(model, &table, row)?
    } else {
        mistakes.with_samples(classes, |index| Ok::<_, Failure>(row(index)))?
    };
    Ok(Examined {
        report: EvaluationReport {
            classes: classes.to_vec(),
            per_class: confusion.scores(classes),
            confusion: confusion.into_counts(),
            ..EvaluationReport::of(split, table.rows(), metrics)
        },
        mistakes,
        beginning: None,
    })
}

/// The rows whose predicted values are furthest from the true ones, each as `row` shows it.
fn furthest_off(
    model: &Model<Selected>,
    table: &Table,
    row: impl Fn(usize) -> Sample,
) -> Result<Vec<Mistake>, Failure> {
    let target = &model.description().table()?.target;
    let TargetKind::Regression { mean, .. } = target.kind else { return Ok(Vec::new()) };
    let predictions = model.predict_rows(&table.features)?;
    let mut rows: Vec<(usize, f32, f32)> = table
        .targets
        .values()
        .iter()
        .zip(predictions)
        .enumerate()
        .filter_map(|(index, (&truth, prediction))| match prediction {
            Prediction::Value(value) => Some((index, target.restore(truth), value)),
            Prediction::Class { .. } => None,
        })
        .collect();
    rows.sort_by(|a, b| (b.1 - b.2).abs().total_cmp(&(a.1 - a.2).abs()));
    rows.truncate(MOST);
    let mistake = |(index, truth, prediction): (usize, f32, f32)| Mistake {
        truth: short(f64::from(truth), mean),
        prediction: short(f64::from(prediction), mean),
        probability: None,
        sample: row(index),
    };
    Ok(rows.into_iter().map(mistake).collect())
}

fn nothing() -> Failure {
    Failure::new(
        ExitCode::Usage,
        "the run held nothing out to measure on",
        "name a file: `--data FILE.csv`",
    )
}
