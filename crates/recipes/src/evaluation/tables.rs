//! Evaluation on the rows of a table.

use std::path::{Path, PathBuf};

use backend::{Selected, device::Device};
use data::{
    Origins, Shared, Table, TablePreprocessing, Target, TargetKind, TargetScale, TargetScores,
    csv_table::{OnMissingTarget, is_csv, read_table},
    note_on_rows_in_both,
    npy::{is_npy, read_npy_table},
    text_folder::read_labelled_texts,
};
use inference::{Model, Prediction, ROWS_AT_A_TIME};
use models::Network;
use training::Group;

use super::{
    Each, Evaluated, EvaluationReport, Examined, GIVEN, Measured, Mistake, Sample,
    mistakes::{MOST, decoded_row, short},
    tally::Tally,
};
use crate::{
    Failure,
    config::{Config, Source, TableData},
    measure::tables::TableEvaluation,
    mlp,
    numbers::shortest,
};

/// The most rows whose values are kept to be drawn.
const MOST_VALUES: usize = 500;

type TableConfig = Config<TableData, mlp::Model>;

pub(super) fn examine(
    evaluated: &Evaluated<'_>,
    config: TableConfig,
    device: &Device,
) -> Result<Examined, Failure> {
    let (model, preprocessing) = (evaluated.model, evaluated.model.description().table()?);
    let Network::Mlp(network) = model.network() else {
        unreachable!("a file of another network that reads rows is refused");
    };
    let config = mlp::with_choices_made(config);
    let Measured { split, given_split, samples: Rows { table, .. }, notes } =
        to_measure(evaluated, &config)?;
    let (monitored, alone) = (config.training.monitor, Group::alone());
    let evaluation = TableEvaluation::new(table.clone(), preprocessing, monitored, &alone, device)?;
    let classes = preprocessing.target.classes();
    let mut tally = Tally::new(classes.len());
    let mut metrics =
        evaluation.measure_each(network, |logits, labels| tally.add(logits, labels))?;
    let per_class = tally.scores(classes);
    metrics.extend(tally.metrics());
    let width = preprocessing.width();
    let row = |index: usize| {
        let features = &table.features[index * width..][..width];
        decoded_row(preprocessing, features, origin(&table.origins, index))
    };
    let values = values(model, &table)?;
    let mistakes = if classes.is_empty() {
        furthest_off(&preprocessing.target, &values, row)
    } else {
        tally.mistakes(classes, |index| Ok::<_, Failure>(row(index)))?
    };
    let every = values.len().div_ceil(MOST_VALUES).max(1);
    Ok(Examined {
        report: EvaluationReport {
            given_split: given_split.map(Into::into),
            classes: classes.to_vec(),
            per_class,
            confusion: tally.counts,
            notes,
            ..EvaluationReport::of(split, table.rows(), metrics)
        },
        mistakes,
        values: values.into_iter().step_by(every).collect(),
        unknown_words: None,
        beginning: None,
    })
}

/// Predicts each row; returns the split of the given data, as in [`EvaluationReport`], and notes to the
/// user.
///
/// - `each`: is given what a row is called, its true class or value, and the prediction
pub(super) fn predict_each(
    evaluated: &Evaluated<'_>,
    config: TableConfig,
    each: Each<'_>,
) -> Result<(Option<&'static str>, Vec<String>), Failure> {
    let measured = to_measure(evaluated, &mlp::with_choices_made(config))?;
    let Rows { path, table } = &measured.samples;
    let target = &evaluated.model.description().table()?.target;
    let path = path.as_ref().map(|path| path.display().to_string()).unwrap_or_default();
    let is_whole = evaluated.given.is_some() && measured.given_split.is_none();
    let name = |row: usize| match &table.origins {
        Origins::Lines(lines) => format!("{path}:{}", lines[row]),
        Origins::Files(files) => files[row].display().to_string(),
        Origins::Places if is_whole => format!("{path}[{row}]"),
        Origins::Places => measured.place(row),
    };
    let truth = |row: usize| match &target.kind {
        TargetKind::Regression(scores) => true_value(table.targets.values()[row], scores),
        _ => target.classes()[table.targets.labels()[row] as usize].clone(),
    };
    let width = evaluated.model.description().table()?.width().max(1);
    let mut row = 0;
    for features in table.features.chunks(ROWS_AT_A_TIME * width) {
        for prediction in &evaluated.model.predict_rows(features)? {
            each(name(row), truth(row), prediction)?;
            row += 1;
        }
    }
    Ok((measured.given_split, measured.notes))
}

/// What names a row for the user, and its name; none of one that only has a place.
fn origin(origins: &Origins, row: usize) -> Option<(&'static str, String)> {
    match origins {
        Origins::Places => None,
        Origins::Lines(lines) => Some(("line", lines[row].to_string())),
        Origins::Files(files) => Some(("file", files[row].display().to_string())),
    }
}

/// More are in no number.
const MOST_DECIMALS: f64 = 330.0;

/// A value from its score, in the digits that the score, an f32, has kept of it.
fn true_value(score: f32, scores: &TargetScores) -> String {
    let value = scores.value(score);
    let error = (f64::from(score) * scores.deviation).abs() * f64::from(f32::EPSILON);
    let error = if scores.scale.is_linear() { error } else { error * value };
    let decimals = match error > 0.0 {
        true => (-error.log10().ceil()).clamp(0.0, MOST_DECIMALS) as usize,
        false => MOST_DECIMALS as usize,
    };
    let value = format!("{value:.decimals$}").parse().unwrap_or(value);
    if value == 0.0 { "0".to_owned() } else { shortest(value) }
}

/// Rows of a file or a folder; the path is `None` if they are generated.
struct Rows {
    path: Option<PathBuf>,
    table: Table,
}

/// The rows to evaluate on.
fn to_measure(evaluated: &Evaluated<'_>, config: &TableConfig) -> Result<Measured<Rows>, Failure> {
    backend::set_arithmetic(config.training.arithmetic);
    let Some(path) = evaluated.given else {
        let splits = mlp::read(config).map_err(|error| evaluated.or_elsewhere(error))?;
        evaluated.check_same_data(&splits.fingerprint())?;
        let notes = splits.shared.iter().map(Shared::note).collect();
        let TableData { path, validation_path, test_path, .. } = &config.data;
        let test = splits.test.map(|table| ("test", test_path, table));
        let validation = splits.validation.map(|table| ("validation", validation_path, table));
        let (split, of_its_own, table) =
            test.or(validation).ok_or_else(|| evaluated.nothing_held_out())?;
        let path = of_its_own.as_ref().or(path.as_ref()).cloned();
        return Ok(Measured { split, given_split: None, samples: Rows { path, table }, notes });
    };
    let mut given = read_given(path, evaluated.model.description().table()?, config)?;
    if !evaluated.is_own {
        given.notes.extend(note_on_known_rows(path, &given.samples.table, config));
    }
    Ok(given)
}

/// Other data, of the kind that the run was trained on.
fn read_given(
    path: &Path,
    preprocessing: &TablePreprocessing,
    config: &TableConfig,
) -> Result<Measured<Rows>, Failure> {
    let (given_split, table, notes) = match config.data.source {
        Source::Npy if !is_read_as_csv(path) => {
            let (split, table) = read_npy_table(path, preprocessing)?;
            (split, table, Vec::new())
        }
        Source::TextFolder if !is_table(path) => read_labelled_texts(path, preprocessing)?,
        _ => {
            // Of rows without a target there is nothing to measure, which a note tells.
            let (table, notes) =
                read_table(path, preprocessing, config.data.header, OnMissingTarget::Skip)?;
            (None, table, notes)
        }
    };
    let samples = Rows { path: Some(path.into()), table };
    Ok(Measured { split: GIVEN, given_split, samples, notes })
}

/// What the user should know of rows that the run was trained on, where its data are still there.
fn note_on_known_rows(path: &Path, given: &Table, config: &TableConfig) -> Option<String> {
    let splits = mlp::read(config).ok()?;
    let rows = format!("rows of `{}`", path.display());
    note_on_rows_in_both(&splits.preprocessing, &splits.train, given, &rows)
}

/// Whether a file is named as a table, and not as a text.
pub(crate) fn is_table(path: &Path) -> bool {
    is_csv(path) || is_npy(path)
}

/// Whether a file is read as CSV, though the run was trained on NumPy's arrays.
fn is_read_as_csv(path: &Path) -> bool {
    !path.is_dir() && !is_npy(path)
}

/// The true and the predicted value of each row, in the user's unit; none where classes are predicted.
fn values(model: &Model<Selected>, table: &Table) -> Result<Vec<(f64, f64)>, Failure> {
    let target = &model.description().table()?.target;
    if !target.classes().is_empty() {
        return Ok(Vec::new());
    }
    let truths = table.targets.values().iter().map(|&truth| target.restore(truth));
    let predictions = model.predict_rows(&table.features)?;
    let pair = |(truth, prediction)| match prediction {
        Prediction::Value(value) => Some((truth, value)),
        Prediction::Class { .. } => None,
    };
    Ok(truths.zip(predictions).filter_map(pair).collect())
}

/// The rows whose predicted values are furthest from the true ones, each as `row` shows it.
fn furthest_off(
    target: &Target,
    values: &[(f64, f64)],
    row: impl Fn(usize) -> Sample,
) -> Vec<Mistake> {
    let TargetKind::Regression(scores) = &target.kind else { return Vec::new() };
    let [mean, deviation] = match scores.scale {
        TargetScale::Linear => [scores.mean, scores.deviation],
        TargetScale::Log => [0.0; 2], // values differ in their first digits
    };
    let distance = |index: usize| (values[index].0 - values[index].1).abs();
    let mut rows: Vec<usize> = (0..values.len()).collect();
    rows.sort_by(|&a, &b| distance(b).total_cmp(&distance(a)));
    rows.truncate(MOST);
    let mistake = |index: usize| Mistake {
        truth: short(values[index].0, mean, deviation),
        prediction: short(values[index].1, mean, deviation),
        probability: None,
        sample: row(index),
    };
    rows.into_iter().map(mistake).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_true_value_has_the_digits_that_were_kept() {
        for (mean, deviation, values) in [
            (30.2, 10.1, [0.0, 0.5, 30.2, -7.25]),
            (3810.4, 3989.4, [1.5, 0.0, 12_000.0, 13_523.25]),
            (5e-15, 3e-15, [7.971338e-15, 0.0, 5e-15, -2e-16]),
            (0.0, 1e-30, [-2e-30, 0.0, 1e-30, 3.5e-31]),
            (1e9, 2.0, [1e9, 999_999_998.5, 1_000_000_001.25, 1e9 + 3.0]),
        ] {
            for value in values {
                let scores = TargetScores { mean, deviation, scale: TargetScale::Linear };
                let score = scores.score(value).unwrap();
                assert_eq!(true_value(score, &scores), shortest(value), "{mean}");
            }
        }
        let scores = TargetScores { mean: 3.0, deviation: 1.2, scale: TargetScale::Log };
        for value in [20.09, 0.5, 1234.5, 1e-3, 7.0] {
            assert_eq!(true_value(scores.score(value).unwrap(), &scores), shortest(value));
        }
    }
}
