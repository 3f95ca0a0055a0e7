//! Rows of a table, measured.

use std::path::Path;

use backend::{Selected, device::Device};
use data::csv_table::read_table;
use inference::Model;
use models::Network;

use super::{EvaluationReport, changed};
use crate::{
    ExitCode, Failure,
    config::{Config, TableData},
    confusion::Confusion,
    mlp,
    table_evaluation::TableEvaluation,
};

pub(super) fn evaluate(
    config: Config<TableData, mlp::Model>,
    model: &Model<Selected>,
    data: Option<&Path>,
    device: &Device,
) -> Result<EvaluationReport, Failure> {
    let preprocessing = model.description().table()?;
    let Network::Mlp(network) = model.network() else {
        return Err(changed(model.description()));
    };
    let (split, table) = match data {
        Some(path) => ("given", read_table(path, preprocessing, None)?),
        None => {
            let config = mlp::with_choices_made(config);
            let splits = mlp::read(&config, config.training.seed)?;
            if splits.preprocessing != *preprocessing {
                return Err(changed(model.description()));
            }
            let test = splits.test.map(|table| ("test", table));
            test.or(splits.validation.map(|table| ("validation", table))).ok_or_else(nothing)?
        }
    };
    let evaluation = TableEvaluation::new(&table, preprocessing, device);
    let classes = preprocessing.target.classes();
    let mut confusion = Confusion::new(classes.len());
    let metrics = evaluation.measure_each(network, |logits, labels| confusion.add(logits, labels));
    Ok(EvaluationReport {
        classes: classes.to_vec(),
        per_class: confusion.scores(classes),
        confusion: confusion.into_counts(),
        ..EvaluationReport::of(split, table.rows(), metrics)
    })
}

fn nothing() -> Failure {
    Failure::new(
        ExitCode::Usage,
        "the run held nothing out to measure on",
        "name a file: `--data FILE.csv`",
    )
}
