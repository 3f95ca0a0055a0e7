//! The statistics of the training rows, and the rows encoded with them.

use std::{collections::HashMap, path::Path};

use preprocess::{
    standardise,
    text_cell::{encode_tokens, ids_of_plain},
};

use super::{
    notation::Notation,
    options::CsvOptions,
    records::{Cells, MISSING, Records},
    schema::{Kind, Schema},
    summary::CommonFormat,
};
use crate::{
    Column, ColumnKind, DataError, Moments, NumberFormat, Origins, Table, TablePreprocessing,
    Target, TargetKind, Targets,
    table::{
        self, matrix, target_score,
        text_columns::{self, EMPTY},
    },
};

/// Learns how rows are encoded from the training rows, and from no other.
pub(super) fn fit(
    schema: &Schema,
    records: &Records,
    rows: &[usize],
    options: &CsvOptions,
) -> TablePreprocessing {
    let target = schema.target.index;
    let columns = schema.columns.iter().zip(&records.columns).enumerate();
    let columns = columns.map(|(place, (column, cells))| {
        let kind = fit_column(&column.kind, cells, rows, options);
        let point = schema.notations.point(place + usize::from(place >= target));
        let is_read = matches!(kind, ColumnKind::Numeric { .. } | ColumnKind::Categorical { .. });
        let point = point.filter(|_| is_read);
        Column { name: column.name.clone(), kind, format: format(&column.common_format, point) }
    });
    let regression = || {
        let scale = options.target_scale;
        let on_scale = numbers(&records.target, rows).map(|value| scale.of(value));
        table::regression(&Moments::of(on_scale.filter(|number| number.is_finite())), scale)
    };
    let kind = schema.target.kind.clone().unwrap_or_else(regression);
    let format = format(&schema.target.common_format, schema.notations.point(target));
    TablePreprocessing {
        header: schema.header,
        decimal_comma: schema.notations.mostly == Notation::Comma,
        missing: options.missing.clone(),
        rows_are_files: false,
        columns: columns.collect(),
        target: Target { name: schema.target.name.clone(), index: target, kind, format },
    }
}

fn format(common_format: &Option<CommonFormat>, point: Option<char>) -> Option<NumberFormat> {
    let common_format = common_format.as_ref().map(|common_format| common_format.format);
    (common_format.is_some() || point.is_some())
        .then(|| NumberFormat { point, ..common_format.unwrap_or_default() })
}

fn fit_column(kind: &Kind, cells: &Cells, rows: &[usize], options: &CsvOptions) -> ColumnKind {
    let empty = || ColumnKind::Dropped { reason: EMPTY.to_owned() };
    match (kind, cells) {
        (Kind::Dropped(reason), _) => ColumnKind::Dropped { reason: reason.clone() },
        (Kind::Categorical(categories), Cells::Codes(codes)) => {
            let mut counts = vec![0usize; categories.len()];
            for &row in rows.iter().filter(|&&row| codes[row] != MISSING) {
                counts[usize::from(codes[row])] += 1;
            }
            let seen = || categories.iter().zip(&counts).filter(|(_, count)| **count > 0);
            // The first of equally frequent categories: `max_by_key` takes the last, hence `rev`.
            match seen().collect::<Vec<_>>().into_iter().rev().max_by_key(|(_, count)| **count) {
                Some((fill, _)) => ColumnKind::Categorical {
                    categories: seen().map(|(category, _)| category.clone()).collect(),
                    fill: fill.clone(),
                    encoding: options.categories,
                },
                None => empty(),
            }
        }
        (Kind::Text, Cells::Texts(texts)) => text_columns::fit(texts, rows, options.texts),
        (_, cells) => match moments(cells, rows) {
            moments if moments.is_empty() => empty(),
            moments => ColumnKind::Numeric { mean: moments.mean(), deviation: moments.deviation() },
        },
    }
}

/// The numbers of a column in these rows, NaN where one is missing; none of another column.
pub(super) fn numbers<'a>(
    cells: &'a Cells,
    rows: &'a [usize],
) -> impl Iterator<Item = f64> + Clone + use<'a> {
    let (numbers, rows): (&[f64], _) = match cells {
        Cells::Numbers(numbers) => (numbers, rows),
        Cells::Codes(_) | Cells::Texts(_) | Cells::Dropped => (&[], &[][..]),
    };
    rows.iter().map(|&row| numbers[row])
}

/// The moments of the numbers that are not missing.
fn moments(cells: &Cells, rows: &[usize]) -> Moments {
    Moments::of(numbers(cells, rows).filter(|number| !number.is_nan()))
}

/// Encodes rows of the training file, as [`TablePreprocessing::encode`] would their text.
pub(super) fn encode(
    records: &Records,
    preprocessing: &TablePreprocessing,
    schema: &Schema,
    rows: &[usize],
    path: &Path,
) -> Result<Table, DataError> {
    let encoders: Vec<Encoder> = preprocessing
        .columns
        .iter()
        .zip(&schema.columns)
        .zip(&records.columns)
        .filter_map(|((column, schema), cells)| encoder(&column.kind, &schema.kind, cells))
        .collect();
    let mut features = matrix(rows.len(), preprocessing.width())?;
    for &row in rows {
        for encoder in &encoders {
            encoder(row, &mut features);
        }
    }
    let targets = encode_targets(records, &preprocessing.target.kind, rows, path)?;
    let lines = rows.iter().map(|&row| records.lines[row]).collect();
    Ok(Table { features, targets, origins: Origins::Lines(lines) })
}

fn encode_targets(
    records: &Records,
    kind: &TargetKind,
    rows: &[usize],
    path: &Path,
) -> Result<Targets, DataError> {
    match (kind, &records.target) {
        (TargetKind::Regression(scores), Cells::Numbers(numbers)) => {
            let score = |&row: &usize| {
                let line = || format!("line {}", records.lines[row]);
                target_score(numbers[row], scores, path, line)
            };
            rows.iter().map(score).collect::<Result<_, _>>().map(Targets::Values)
        }
        (_, Cells::Codes(codes)) => {
            Ok(Targets::Classes(rows.iter().map(|&row| codes[row].into()).collect()))
        }
        (_, Cells::Numbers(_) | Cells::Texts(_) | Cells::Dropped) => {
            unreachable!("the schema makes codes of the targets of other tasks")
        }
    }
}

/// Appends the features of a row's cell.
type Encoder<'a> = Box<dyn Fn(usize, &mut Vec<f32>) + 'a>;

/// `None` for a column that is not used.
fn encoder<'a>(kind: &'a ColumnKind, schema: &Kind, cells: &'a Cells) -> Option<Encoder<'a>> {
    match (kind, schema, cells) {
        (&ColumnKind::Numeric { mean, deviation }, _, Cells::Numbers(numbers)) => {
            Some(Box::new(move |row, out| {
                let number = Some(numbers[row]).filter(|number| !number.is_nan());
                out.push(standardise(number, mean, deviation));
            }))
        }
        (
            ColumnKind::Categorical { categories, fill, encoding },
            Kind::Categorical(all),
            Cells::Codes(codes),
        ) => {
            let known: HashMap<&String, usize> = categories.iter().zip(0..).collect();
            let place = |name: &String| known.get(name).copied();
            let (places, fill): (Vec<_>, _) = (all.iter().map(place).collect(), place(fill));
            Some(Box::new(move |row, out| {
                let place = places.get(usize::from(codes[row])).unwrap_or(&fill); // MISSING has none
                encoding.encode(*place, categories.len(), out);
            }))
        }
        (&ColumnKind::Text { ref vocabulary, length }, _, Cells::Texts(texts)) => {
            Some(Box::new(move |row, out| {
                encode_tokens(&ids_of_plain(vocabulary, &texts[row]), length, out);
            }))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{CategoryEncoding, csv_table::TargetColumn};

    #[test]
    fn moments_are_those_of_the_population() {
        let cells = Cells::Numbers(vec![2.0, f64::NAN, 4.0, 100.0, 6.0]);
        let both = |moments: Moments| (moments.mean(), moments.deviation());
        assert_eq!(both(moments(&cells, &[0, 1, 2, 4])), (4.0, (8.0f64 / 3.0).sqrt()));
        assert!(moments(&cells, &[1]).is_empty());
        assert_eq!(both(moments(&Cells::Numbers(vec![0.1; 7]), &[0, 3, 6])), (0.1, 0.0));
    }

    #[test]
    fn only_categories_of_the_training_rows_are_learnt() {
        let categories: Vec<String> = ["a", "b", "c"].map(str::to_owned).into();
        let kind = Kind::Categorical(categories);
        let cells = Cells::Codes(vec![2, 0, MISSING, 1, 2, 0]);
        let fit = |rows: &[usize], categories| {
            let target = TargetColumn::Index(-1);
            let options = CsvOptions { categories, ..CsvOptions::new("a.csv", target) };
            fit_column(&kind, &cells, rows, &options)
        };
        let encoding = CategoryEncoding::OneHot;
        let learnt = fit(&[0, 1, 2, 4, 5], encoding);
        let categories = vec!["a".into(), "c".into()];
        assert_eq!(learnt, ColumnKind::Categorical { categories, fill: "a".into(), encoding });

        let mut out = Vec::new();
        let encode = encoder(&learnt, &kind, &cells).unwrap();
        (0..4).for_each(|row| encode(row, &mut out));
        assert_eq!(out, [0.0, 1.0, 1.0, 0.0, 1.0, 0.0, 0.0, 0.0]);
        assert!(matches!(fit(&[2], encoding), ColumnKind::Dropped { .. }));

        let indexed = fit(&[0, 1, 2, 4, 5], CategoryEncoding::Index);
        let encode = encoder(&indexed, &kind, &cells).unwrap();
        out.clear();
        (0..4).for_each(|row| encode(row, &mut out));
        assert_eq!(out, [2.0, 1.0, 1.0, 0.0]);
    }
}
