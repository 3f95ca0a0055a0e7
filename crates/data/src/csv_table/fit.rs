//! The statistics of the training rows, and the rows encoded with them.

use std::{collections::HashMap, path::Path};

use super::{
    notation::Notation,
    options::CsvOptions,
    patterns::{Extremes, is_date_or_time},
    reader::left_out_note,
    records::{Cells, MISSING, Records},
    schema::{ColumnSchema, Kind, Schema},
    summary::{Place, Worn},
    target::{TargetPlan, TargetSchema},
};
use crate::{
    CategoryEncoding, Column, ColumnKind, DataError, Dress, Moments, Table, TablePreprocessing,
    Target, TargetKind, Targets,
    count::{counted, grouped},
    csv_table::column_setting,
    names::list,
    preprocess::{standardise, standardise_target},
    table::{self, matrix},
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
        let kind = fit_column(&column.kind, cells, rows, options.categories);
        let point = schema.notations.point(place + usize::from(place >= target));
        let point = point.filter(|_| !matches!(kind, ColumnKind::Dropped { .. }));
        Column { name: column.name.clone(), kind, dress: dress(&column.worn, point) }
    });
    let kind = match (&schema.target.kind, &records.target) {
        (TargetPlan::Binary(classes), _) => TargetKind::Binary { classes: classes.clone() },
        (TargetPlan::Multiclass(classes), _) => TargetKind::Multiclass { classes: classes.clone() },
        (TargetPlan::Regression, cells) => table::regression(&moments(cells, rows)),
    };
    let dress = dress(&schema.target.worn, schema.notations.point(target));
    TablePreprocessing {
        header: schema.header,
        decimal_comma: schema.notations.mostly == Notation::Comma,
        missing: options.missing.clone(),
        columns: columns.collect(),
        target: Target { name: schema.target.name.clone(), index: target, kind, dress },
    }
}

fn dress(worn: &Option<Worn>, point: Option<char>) -> Option<Dress> {
    let worn = worn.as_ref().map(|worn| worn.dress);
    (worn.is_some() || point.is_some()).then(|| Dress { point, ..worn.unwrap_or_default() })
}

fn fit_column(
    kind: &Kind,
    cells: &Cells,
    rows: &[usize],
    encoding: CategoryEncoding,
) -> ColumnKind {
    let empty = || ColumnKind::Dropped { reason: "it has no values in the training split".into() };
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
                    encoding,
                },
                None => empty(),
            }
        }
        (Kind::Numeric | Kind::Categorical(_), cells) => match moments(cells, rows) {
            moments if moments.is_empty() => empty(),
            moments => ColumnKind::Numeric { mean: moments.mean(), deviation: moments.deviation() },
        },
    }
}

/// The moments of the numbers that are not missing.
fn moments(cells: &Cells, rows: &[usize]) -> Moments {
    let Cells::Numbers(numbers) = cells else { return Moments::default() };
    Moments::of(rows.iter().map(|&row| numbers[row]).filter(|number| !number.is_nan()))
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
        .filter_map(|((column, schema), cells)| Encoder::new(&column.kind, &schema.kind, cells))
        .collect();
    let mut features = matrix(rows.len(), preprocessing.width())?;
    for &row in rows {
        for encoder in &encoders {
            encoder.encode(row, &mut features);
        }
    }
    let targets = encode_targets(records, &preprocessing.target.kind, rows, path)?;
    let lines = rows.iter().map(|&row| records.lines[row]).collect();
    Ok(Table { features, targets, lines })
}

fn encode_targets(
    records: &Records,
    kind: &TargetKind,
    rows: &[usize],
    path: &Path,
) -> Result<Targets, DataError> {
    match (kind, &records.target) {
        (&TargetKind::Regression { mean, deviation }, Cells::Numbers(numbers)) => {
            let score = |&row: &usize| {
                let value = numbers[row];
                standardise_target(value, mean, deviation).ok_or_else(|| {
                    let row = format!("line {}", records.lines[row]);
                    DataError::FarTarget { path: path.to_owned(), row, value }
                })
            };
            rows.iter().map(score).collect::<Result<_, _>>().map(Targets::Values)
        }
        (_, Cells::Codes(codes)) => {
            Ok(Targets::Classes(rows.iter().map(|&row| codes[row].into()).collect()))
        }
        (_, Cells::Numbers(_) | Cells::Dropped) => {
            unreachable!("the schema makes codes of the targets of other tasks")
        }
    }
}

/// A column's cells and how they become features.
enum Encoder<'a> {
    Numbers {
        numbers: &'a [f64],
        mean: f64,
        deviation: f64,
    },
    /// `places` has the feature of each code, `fill` is that of a missing cell.
    Codes {
        codes: &'a [u16],
        places: Vec<Option<usize>>,
        fill: Option<usize>,
        categories: usize,
        encoding: CategoryEncoding,
    },
}

impl<'a> Encoder<'a> {
    /// `None` for a column that is not used.
    fn new(kind: &ColumnKind, schema: &Kind, cells: &'a Cells) -> Option<Self> {
        match (kind, schema, cells) {
            (&ColumnKind::Numeric { mean, deviation }, _, Cells::Numbers(numbers)) => {
                Some(Self::Numbers { numbers, mean, deviation })
            }
            (
                ColumnKind::Categorical { categories, fill, encoding },
                Kind::Categorical(all),
                Cells::Codes(codes),
            ) => {
                let known: HashMap<&String, usize> = categories.iter().zip(0..).collect();
                let place = |name: &String| known.get(name).copied();
                let places = all.iter().map(place).collect();
                let (fill, categories) = (place(fill), categories.len());
                Some(Self::Codes { codes, places, fill, categories, encoding: *encoding })
            }
            _ => None,
        }
    }

    fn encode(&self, row: usize, out: &mut Vec<f32>) {
        match self {
            Self::Numbers { numbers, mean, deviation } => {
                let number = Some(numbers[row]).filter(|number| !number.is_nan());
                out.push(standardise(number, *mean, *deviation));
            }
            Self::Codes { codes, places, fill, categories, encoding } => {
                let place = places.get(usize::from(codes[row])).unwrap_or(fill); // MISSING has none
                encoding.encode(*place, *categories, out);
            }
        }
    }
}

/// What the user should know of the training file, a line each.
pub(super) fn notes(
    schema: &Schema,
    preprocessing: &TablePreprocessing,
    options: &CsvOptions,
) -> Vec<String> {
    let first = &schema.first_row;
    let mut notes = vec![match (schema.header, options.header) {
        (true, _) => format!("the first line, `{first}`, is the header"),
        (false, Some(_)) => format!("the first line, `{first}`, is a sample"),
        (false, None) => format!(
            "there is no header: the first line, `{first}`, is a sample; if it names the columns, \
             set `data.header=true`"
        ),
    }];
    notes.extend(note_on_kinds(&preprocessing.columns));
    notes.extend(left_out_note(&schema.blank_rows, "no values"));
    notes.extend(left_out_note(&schema.unlabelled_rows, "no target"));
    notes.extend(schema.unused_marks.iter().map(|text| {
        format!("no cell is `{text}`, which `data.missing` takes for a missing value")
    }));
    notes.extend(note_on_commas(schema));
    let columns = || schema.columns.iter().zip(&preprocessing.columns);
    let note_on_all = note_on_all_missing(columns());
    let each = note_on_all.is_none();
    notes.extend(note_on_all);
    notes.extend(columns().flat_map(|(seen, learnt)| column_notes(seen, learnt, each)));
    let TargetSchema { name, worn, grouped, respelled, extremes, .. } = &schema.target;
    match schema.target.kind {
        TargetPlan::Regression => {
            notes.extend(notes_on_numbers(name, worn, grouped));
            let remedy = "correct it, or leave its row out";
            notes.extend(note_on_outliers("target", name, extremes, remedy));
        }
        TargetPlan::Binary(_) | TargetPlan::Multiclass(_) => {
            notes.extend(respelled.as_ref().map(|[text, class]| {
                format!(
                    "target `{name}`: `{text}` is read as the class `{class}`, which other rows write \
                     differently; if these are different classes, put a letter before them, such as \
                     `c{text}`"
                )
            }));
        }
    }
    notes.push(table::target_note(preprocessing, options.task, schema.target.may_be_classes));
    notes
}

/// Which columns are used, and as what, unless all are numeric.
fn note_on_kinds(columns: &[Column]) -> Option<String> {
    let of_kind = |is_kind: fn(&ColumnKind) -> bool| -> Vec<String> {
        let columns = columns.iter().filter(|column| is_kind(&column.kind));
        columns.map(|column| column.name.clone()).collect()
    };
    let numeric = of_kind(|kind| matches!(kind, ColumnKind::Numeric { .. })).len();
    let categorical = of_kind(|kind| matches!(kind, ColumnKind::Categorical { .. }));
    (!categorical.is_empty()).then(|| {
        format!(
            "columns used: {} numeric, {} categorical ({})",
            grouped(numeric),
            grouped(categorical.len()),
            list(&categorical)
        )
    })
}

fn note_on_commas(schema: &Schema) -> Option<String> {
    let Place { line, text } = schema.notations.first_comma.as_ref()?;
    let told = format!("numbers are read with a decimal comma, such as `{text}` in line {line}");
    let mut names: Vec<&String> = schema.columns.iter().map(|column| &column.name).collect();
    names.insert(schema.target.index, &schema.target.name);
    let names = names.into_iter().enumerate();
    let with_point = names.filter(|&(place, _)| schema.notations.point(place) == Some('.'));
    let with_point: Vec<String> = with_point.map(|(_, name)| name.clone()).collect();
    Some(match with_point.is_empty() {
        true => told,
        false => format!("{told}, but with a decimal point in {}", list(&with_point)),
    })
}

/// What the user should know where so many columns have missing values that a note on each would hide
/// others.
fn note_on_all_missing<'a>(
    columns: impl Iterator<Item = (&'a ColumnSchema, &'a Column)>,
) -> Option<String> {
    let used = columns.filter(|(_, learnt)| !matches!(learnt.kind, ColumnKind::Dropped { .. }));
    let missing: Vec<&ColumnSchema> =
        used.map(|(seen, _)| seen).filter(|seen| seen.missing > 0).collect();
    let most = missing.iter().max_by_key(|seen| seen.missing)?;
    (missing.len() > table::FEW_NOTES).then(|| {
        format!(
            "{} columns have missing values, most of them `{}` with {}: numbers are replaced by the mean, \
             categories by the most frequent",
            grouped(missing.len()),
            most.name,
            grouped(most.missing as usize)
        )
    })
}

/// What the user should know of a column of features.
///
/// - `on_missing`: whether also of its missing values
fn column_notes(seen: &ColumnSchema, learnt: &Column, on_missing: bool) -> Vec<String> {
    let note_on_missing = |fill: &str| note_on_missing(seen, fill).filter(|_| on_missing);
    let name = &seen.name;
    let mut notes = Vec::new();
    match &learnt.kind {
        ColumnKind::Dropped { .. } => return Vec::from_iter(learnt.note_if_dropped()),
        ColumnKind::Numeric { mean, .. } => {
            // A 32-bit float is shown with all its digits, however small it is.
            notes.extend(note_on_missing(&format!("the mean, {:?}", *mean as f32)));
            notes.extend(seen.code.as_ref().map(|Place { line, text }| {
                format!(
                    "column `{name}` is read as numbers, such as `{text}` in line {line}; if these are \
                     codes, `{}` tells them apart",
                    column_setting(name, "categorical")
                )
            }));
            notes.extend(notes_on_numbers(name, &seen.worn, &seen.grouped));
            let remedy = "correct it or leave the cell empty";
            notes.extend(note_on_outliers("column", name, &seen.extremes, remedy));
        }
        ColumnKind::Categorical { categories, fill, .. } => {
            notes.extend(note_on_missing(&format!("the most frequent, `{fill}`")));
            notes.extend(
                seen.unread_numbers
                    .as_ref()
                    .map(|numbers| format!("column `{name}` is read as categories: {numbers}")),
            );
            notes.extend(table::differ_in_case(categories).map(|[one, other]| {
                format!("column `{name}`: `{one}` and `{other}` are two categories")
            }));
        }
    }
    // Codes may differ though as numbers they are all the same.
    if seen.code.is_none() {
        notes.extend(note_on_use(learnt));
    }
    if seen.has_recurring_identifiers {
        notes.push(format!(
            "column `{name}` is named as an identifier, and used since its numbers recur; `{}` leaves it \
             out, and `data.group` holds out rows of other ones",
            column_setting(name, "drop")
        ));
    }
    if seen.counts_rows {
        notes.push(format!(
            "column `{name}` numbers the rows; `{}` leaves it out",
            column_setting(name, "drop")
        ));
    }
    notes
}

/// What the user should know where a number may stand for missing values, or else where the others hardly
/// differ beside a few numbers, as the network sees them.
///
/// - `what`: `column` or `target`
/// - `remedy`: what to do if one is a slip
fn note_on_outliers(what: &str, name: &str, extremes: &Extremes, remedy: &str) -> Option<String> {
    if let Some((number, count)) = extremes.missing_mark() {
        let cells = counted(count as usize, "cell");
        return Some(format!(
            "{what} `{name}`: {cells} hold {number}, far from all others; if that marks a missing value, \
             name it in `data.missing`"
        ));
    }
    let (count, Place { line, text }) = extremes.outliers()?;
    Some(match count {
        1 => format!(
            "{what} `{name}`: `{text}`, line {line}, is so far from the other numbers that these hardly \
             differ beside it; if it is a slip, {remedy}"
        ),
        _ => format!(
            "{what} `{name}`: {count} numbers, such as `{text}` in line {line}, are so far from the others \
             that these hardly differ beside them; where one is a slip, {remedy}"
        ),
    })
}

fn note_on_missing(
    ColumnSchema { name, missing, .. }: &ColumnSchema,
    fill: &str,
) -> Option<String> {
    let values = match missing {
        0 => return None,
        1 => "value is",
        _ => "values are",
    };
    let missing = grouped(missing);
    Some(format!("column `{name}`: {missing} missing {values} replaced by {fill}"))
}

/// How the numbers of a column are read, where that may be otherwise.
fn notes_on_numbers(
    name: &str,
    worn: &Option<Worn>,
    grouped: &Option<Place>,
) -> impl Iterator<Item = String> {
    let dress = worn.as_ref().map(|Worn { first: Place { line, text }, plain, .. }| {
        format!("column `{name}` is read as numbers, `{text}` in line {line} as {plain}")
    });
    let point = grouped.as_ref().map(|Place { line, text }| {
        format!(
            "column `{name}`: the point in `{text}`, line {line}, is read as a decimal one; if it \
             separates thousands, remove it"
        )
    });
    dress.into_iter().chain(point)
}

/// What the user should know of a column that the network can hardly learn from as it is.
fn note_on_use(column: &Column) -> Option<String> {
    /// So few categories may well be dates that come again and again.
    const FEW: usize = 10;
    let name = &column.name;
    let drop = column_setting(name, "drop");
    let is_constant = match &column.kind {
        ColumnKind::Numeric { deviation, .. } => *deviation == 0.0,
        ColumnKind::Categorical { categories, .. } => categories.len() == 1,
        ColumnKind::Dropped { .. } => false,
    };
    match &column.kind {
        _ if is_constant => Some(format!(
            "column `{name}` has the same value in every row to train on; `{drop}` leaves it out"
        )),
        ColumnKind::Categorical { categories, .. }
            if categories.len() > FEW && categories.iter().all(|text| is_date_or_time(text)) =>
        {
            Some(format!(
                "column `{name}` holds dates or times, which become {} categories and tell nothing of \
                 others; write numbers instead, such as the month, the days since the first one, or \
                 seconds, or use `{drop}`",
                categories.len()
            ))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_that_tell_little_are_named() {
        let note = |kind| note_on_use(&Column { name: "a".into(), kind, dress: None });
        let categories = |categories: Vec<String>| ColumnKind::Categorical {
            fill: categories[0].clone(),
            categories,
            encoding: CategoryEncoding::OneHot,
        };
        let same = note(ColumnKind::Numeric { mean: 3.0, deviation: 0.0 }).unwrap();
        assert!(same.contains("the same value") && same.contains("data.columns.a=drop"), "{same}");
        assert_eq!(note(categories(vec!["x".into()])).unwrap(), same);
        let days = |days: u32| (1..=days).map(|day| format!("2024-01-{day:02} 12:00")).collect();
        let dates = note(categories(days(11))).unwrap();
        assert!(dates.contains("dates or times, which become 11 categories"), "{dates}");
        assert_eq!(note(categories(days(10))), None);
        let versions = (1..=11).map(|minor| format!("10.{minor}.0")).collect();
        assert_eq!(note(categories(versions)), None);
        assert_eq!(note(ColumnKind::Numeric { mean: 3.0, deviation: 1.0 }), None);
    }

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
        let fit = |rows: &[usize], encoding| fit_column(&kind, &cells, rows, encoding);
        let encoding = CategoryEncoding::OneHot;
        let learnt = fit(&[0, 1, 2, 4, 5], encoding);
        let categories = vec!["a".into(), "c".into()];
        assert_eq!(learnt, ColumnKind::Categorical { categories, fill: "a".into(), encoding });

        let mut out = Vec::new();
        let encoder = Encoder::new(&learnt, &kind, &cells).unwrap();
        (0..4).for_each(|row| encoder.encode(row, &mut out));
        assert_eq!(out, [0.0, 1.0, 1.0, 0.0, 1.0, 0.0, 0.0, 0.0]);
        assert!(matches!(fit(&[2], encoding), ColumnKind::Dropped { .. }));

        let indexed = fit(&[0, 1, 2, 4, 5], CategoryEncoding::Index);
        let encoder = Encoder::new(&indexed, &kind, &cells).unwrap();
        out.clear();
        (0..4).for_each(|row| encoder.encode(row, &mut out));
        assert_eq!(out, [2.0, 1.0, 1.0, 0.0]);
    }
}
