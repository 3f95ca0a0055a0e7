//! What the user should know of a training file.

use super::{
    options::CsvOptions,
    patterns::{Extremes, is_date_or_time},
    reader::left_out_note,
    schema::{ColumnSchema, Schema},
    summary::{CommonFormat, Place},
    target::TargetSchema,
};
use crate::{
    Column, ColumnKind, HoldOut, TablePreprocessing,
    count::{counted, grouped},
    csv_table::column_setting,
    names::list,
    table,
};

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
    notes.extend(note_on_dates(schema, options));
    let columns = || schema.columns.iter().zip(&preprocessing.columns);
    let note_on_all = note_on_all_missing(columns());
    let each = note_on_all.is_none();
    notes.extend(note_on_all);
    notes.extend(columns().flat_map(|(seen, learnt)| column_notes(seen, learnt, each)));
    let TargetSchema { name, common_format, grouped, respelled, extremes, .. } = &schema.target;
    match schema.target.kind {
        None => {
            notes.extend(notes_on_numbers(name, common_format, grouped));
            let remedy = "correct it, or leave its row out";
            notes.extend(note_on_outliers("target", name, extremes, remedy));
        }
        Some(_) => {
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
    let texts = of_kind(|kind| matches!(kind, ColumnKind::Text { .. }));
    let others = [(categorical, "categorical"), (texts, "of text")];
    let others: Vec<String> = others
        .iter()
        .filter(|(columns, _)| !columns.is_empty())
        .map(|(columns, kind)| format!(", {} {kind} ({})", grouped(columns.len()), list(columns)))
        .collect();
    let told = format!("columns used: {} numeric{}", grouped(numeric), others.concat());
    (!others.is_empty()).then_some(told)
}

/// What the user should know where rows that are held out at random are in order of time.
fn note_on_dates(schema: &Schema, options: &CsvOptions) -> Option<String> {
    let has = [&options.validation_path, &options.test_path].map(Option::is_some);
    let holds_out = options.fractions.unless_there(has[0], has[1]).hold_out();
    let is_random = options.hold_out == HoldOut::Random && options.group.is_none();
    let dated = schema.columns.iter().find(|column| column.has_dates_in_order)?;
    (is_random && holds_out).then(|| {
        format!(
            "the rows are in the order of `{}`, but those held out are drawn at random, from among others of \
             the same time; `--set data.hold_out=last` holds out the last ones",
            dated.name
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
             categories by the most frequent, and texts are read as empty",
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
            notes.extend(notes_on_numbers(name, &seen.common_format, &seen.grouped));
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
        ColumnKind::Text { .. } => notes.extend(note_on_missing("a text without words")),
    }
    // Codes may differ though as numbers they are all the same.
    if seen.code.is_none() || !matches!(learnt.kind, ColumnKind::Numeric { .. }) {
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
    common_format: &Option<CommonFormat>,
    grouped: &Option<Place>,
) -> impl Iterator<Item = String> {
    let format = common_format.as_ref().map(
        |CommonFormat { first: Place { line, text }, plain, .. }| {
            format!("column `{name}` is read as numbers, `{text}` in line {line} as {plain}")
        },
    );
    let point = grouped.as_ref().map(|Place { line, text }| {
        format!(
            "column `{name}`: the point in `{text}`, line {line}, is read as a decimal one; if it \
             separates thousands, remove it"
        )
    });
    format.into_iter().chain(point)
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
        ColumnKind::Text { .. } | ColumnKind::Dropped { .. } => false,
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
    use crate::CategoryEncoding;

    #[test]
    fn columns_that_tell_little_are_named() {
        let note = |kind| note_on_use(&Column { name: "a".into(), kind, format: None });
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
}
