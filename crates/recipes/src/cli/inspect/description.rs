//! What an inspection found, and its lines of text.

use std::collections::{BTreeMap, HashSet};

use data::{CategoryEncoding, Column, ColumnKind};
use serde::{Serialize, Serializer};

use super::Source;
use crate::{
    inputs::data_notes::shorten_notes_on_columns,
    names::shortened,
    numbers::{counted, grouped, percent, significant},
};

/// Columns of a table that are described.
const MOST_COLUMNS: usize = 30;
/// Digits shown of a value.
const DIGITS: usize = 6;

/// What was found.
#[derive(Serialize)]
pub(super) struct Inspection {
    pub(super) source: Source,
    /// In the training split.
    pub(super) samples: usize,
    /// In every split.
    pub(super) splits: BTreeMap<&'static str, usize>,
    /// Samples of each class in the training split.
    #[serde(serialize_with = "as_map")]
    pub(super) classes: Vec<(String, usize)>,
    /// Of a sample.
    pub(super) shape: Vec<usize>,
    /// Of a CSV file, the target left out.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) columns: Vec<Column>,
    /// The least and the greatest value of the training split.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) range: Option<[f64; 2]>,
    /// Records that cannot be used.
    pub(super) skipped: usize,
    pub(super) problems: Vec<String>,
    pub(super) notes: Vec<String>,
}

/// The classes in their order.
fn as_map<S: Serializer>(classes: &[(String, usize)], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_map(classes.iter().map(|(class, count)| (class, count)))
}

/// As lines of text.
pub(super) fn describe(inspection: &Inspection) -> String {
    let mut text = String::new();
    let unit = if inspection.source == Source::Text { "tokens" } else { "samples" };
    for (name, samples) in &inspection.splits {
        text += &format!("{name:<12} {:>9} {unit}\n", grouped(*samples));
    }
    text += &format!("{:<12} {:?}\n", "shape", inspection.shape);
    if let Some([least, greatest]) = inspection.range {
        let [least, greatest] = [least, greatest].map(|value| significant(value, DIGITS));
        let encoded =
            if inspection.columns.is_empty() { "" } else { ", as encoded for the network" };
        text += &format!("{:<12} {least} to {greatest}{encoded}\n", "values");
    }
    let (described, others) =
        inspection.columns.split_at(inspection.columns.len().min(MOST_COLUMNS));
    let names = padded(described.iter().map(|column| column.name.as_str()));
    for (name, Column { kind, .. }) in names.iter().zip(described) {
        text += &format!("column {name} {}\n", column(kind));
    }
    if !others.is_empty() {
        text += &format!("and {}; `--json` has them all\n", count_columns(others));
    }
    let names = padded(inspection.classes.iter().map(|(class, _)| class.as_str()));
    for (class, (_, count)) in names.iter().zip(&inspection.classes) {
        let share = percent(*count as f64 / inspection.samples.max(1) as f64);
        text += &format!("class {class}  {:>9} ({share})\n", grouped(*count));
    }
    text += &notes(&inspection.notes, described);
    for problem in &inspection.problems {
        text += &format!("skipped: {problem}\n");
    }
    text
}

/// Names as wide as the widest, within limits; longer ones are shortened.
fn padded<'a>(names: impl Iterator<Item = &'a str>) -> Vec<String> {
    const WIDTHS: [usize; 2] = [17, 40];
    let names: Vec<&str> = names.collect();
    let longest = names.iter().map(|name| name.chars().count()).max().unwrap_or(0);
    let width = longest.clamp(WIDTHS[0], WIDTHS[1]);
    let on_a_line = |name: &&str| shortened(&name.replace('\n', " "), width);
    names.iter().map(|name| format!("{:<width$}", on_a_line(name))).collect()
}

/// How many columns there are of each kind.
fn count_columns(columns: &[Column]) -> String {
    let mut counts = [0; 4];
    for column in columns {
        counts[match column.kind {
            ColumnKind::Numeric { .. } => 0,
            ColumnKind::Categorical { .. } => 1,
            ColumnKind::Text { .. } => 2,
            ColumnKind::Dropped { .. } => 3,
        }] += 1;
    }
    let [numbers, categories, texts, dropped] = counts;
    let all = counted(columns.len(), "column");
    let texts = if texts > 0 { format!(", {texts} of texts") } else { String::new() };
    format!(
        "{all} more: {numbers} of numbers, {categories} of categories{texts}, {dropped} dropped"
    )
}

/// The notes, without what is said where columns are described; of those on columns the first.
fn notes(notes: &[String], described: &[Column]) -> String {
    let said: HashSet<String> = described.iter().filter_map(Column::note_if_dropped).collect();
    let mut shown: Vec<String> =
        notes.iter().filter(|note| !said.contains(*note)).cloned().collect();
    shorten_notes_on_columns(&mut shown, "--json");
    shown.iter().map(|note| format!("note: {note}\n")).collect()
}

/// What a column is read as.
fn column(kind: &ColumnKind) -> String {
    match kind {
        ColumnKind::Numeric { mean, deviation: 0.0 } => {
            format!("number, {} in every row", significant(*mean, DIGITS))
        }
        ColumnKind::Numeric { .. } => "number, standardised".to_owned(),
        ColumnKind::Categorical { categories, encoding, .. } => {
            let becomes = match encoding {
                CategoryEncoding::OneHot => "a feature each",
                CategoryEncoding::Index => "an index to embed",
            };
            format!("category, {}, {becomes}", counted(categories.len(), "value"))
        }
        ColumnKind::Text { vocabulary, length } => {
            let words = grouped(vocabulary.len() - 1);
            format!(
                "text, of which up to {} are read; {words} words are told apart",
                counted(*length, "token")
            )
        }
        ColumnKind::Dropped { reason } => format!("dropped: {reason}"),
    }
}
