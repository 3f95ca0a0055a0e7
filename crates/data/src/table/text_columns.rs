//! Columns of texts: how they are read, what is learnt of them, and what the user should know.

use std::ops::Range;

use preprocess::{TextFeatures, words::Words};

use super::{Table, column_ranges};
use crate::{
    Column, ColumnKind, DataError, TablePreprocessing, Vocabulary,
    count::{counted, grouped},
};

/// How columns of texts are read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TextColumns {
    /// The most words that are told apart, from 2 to [`MOST_WORDS`](Self::MOST_WORDS): the most frequent of
    /// those that are in two texts or more, and one for all others.
    pub vocabulary: usize,
    /// The most tokens that are read of a text, from 1 to [`TextFeatures::LONGEST`]: its last ones.
    pub length: usize,
}

impl TextColumns {
    /// More words would fill the memory; up to 2^24, an id is exact as a feature.
    pub const MOST_WORDS: usize = 1_000_000;

    pub(crate) fn check(self) -> Result<(), DataError> {
        let Self { vocabulary, length } = self;
        let is_vocabulary = (2..=Self::MOST_WORDS).contains(&vocabulary);
        let is_length = (1..=TextFeatures::LONGEST).contains(&length);
        match is_vocabulary && is_length {
            true => Ok(()),
            false => Err(DataError::TextColumns { vocabulary, length }),
        }
    }
}

impl Default for TextColumns {
    fn default() -> Self {
        Self { vocabulary: 10_000, length: 500 }
    }
}

/// Why a column is dropped that has only missing cells.
pub(crate) const EMPTY: &str = "it has no values in the training split";

/// As many tokens are read of a text as the longest to train on has, at most `options.length`.
///
/// - `texts`: prepared by [`plain`](preprocess::text_cell::plain)
/// - `rows`: those to train on
pub(crate) fn fit(texts: &[String], rows: &[usize], options: TextColumns) -> ColumnKind {
    let texts = rows.iter().map(|&row| texts[row].as_str());
    let tokens = |text| Words::of(text).take(options.length).count();
    let length = texts.clone().map(tokens).max().unwrap_or(0);
    match Vocabulary::words_of_texts(texts, options.vocabulary) {
        _ if length == 0 => ColumnKind::Dropped { reason: EMPTY.to_owned() },
        Ok(vocabulary) => ColumnKind::Text { vocabulary, length },
        Err(_) => ColumnKind::Dropped {
            reason: "no word is in two of its texts in the training split".to_owned(),
        },
    }
}

/// What the user should know of columns of texts: how many of the rows to train on fill what is read, so that more
/// may be cut off, and how much of what is read is words that are not told apart.
///
/// - returns a sentence for each such column, and the column's name before it
pub(crate) fn notes(
    preprocessing: &TablePreprocessing,
    train: &Table,
    options: TextColumns,
) -> Vec<(String, String)> {
    let columns = preprocessing.columns.iter().zip(column_ranges(preprocessing));
    let note = |(Column { name, kind, .. }, range): (&Column, Range<usize>)| {
        let &ColumnKind::Text { ref vocabulary, length } = kind else { return None };
        let texts = train.features.chunks_exact(preprocessing.width());
        let texts = texts.map(|features| &features[range.clone()]);
        let full = texts.clone().filter(|tokens| tokens[0] > 0.0).count();
        let cut = (length == options.length && full > 0).then(|| {
            format!(
                "up to {} of a text are read, the last ones, and {} of {} have as many or more \
                 (`data.text_length`)",
                counted(length, "token"),
                grouped(full),
                counted(train.rows(), "text")
            )
        });
        let read = texts.flatten().filter(|&&token| token > 0.0);
        let (tokens, unknown) = (read.clone().count(), read.filter(|&&token| token == 1.0).count());
        let share = 100.0 * unknown as f64 / tokens.max(1) as f64;
        let rare = (share >= 0.05).then(|| {
            let why = match vocabulary.len() < options.vocabulary {
                true => "are in a single text to train on".to_owned(),
                false => format!(
                    "are rare, or beyond the {} most frequent that recur (`data.text_vocabulary`)",
                    grouped(vocabulary.len() - 1)
                ),
            };
            format!("{share:.1} % of the words {why}, and are read as one and the same")
        });
        let told: Vec<String> = cut.into_iter().chain(rare).collect();
        (!told.is_empty()).then(|| (name.clone(), told.join("; ")))
    };
    columns.filter_map(note).collect()
}
