//! The CSV source: a file of rows, packed by gzip or not, becomes splits of encoded samples.
//!
//! The training file is read twice, a row at a time, so that of its text only the columns of texts are in
//! memory: the first pass (`schema`) decides what each column holds, the second (`records`) keeps numbers,
//! the indices of categories and texts. (One more pass comes first where numbers may have a decimal comma, and
//! one if only the whole target column shows whether the first row is a header.) Then the rows are
//! split, the statistics of the training rows become the preprocessing (`fit`), and files of
//! validation and test rows are encoded with it (`apply`), as rows to predict are later.

// From the file to the numbers.
mod decimal_comma;
mod error;
mod first_row;
mod groups;
mod header;
mod identifiers;
mod input;
mod notation;
mod options;
mod patterns;
mod quotes;
mod reader;
mod records;
mod row;
mod schema;
mod summary;
mod target;

// From the numbers to the samples.
mod apply;
mod fit;
mod notes;

use std::{
    path::{Path, PathBuf},
    slice,
};

use crate::{
    DataError, Shared, TableSplits, shared, split,
    table::{self, text_columns},
};

pub(crate) use self::error::column_setting;
pub use self::{
    apply::{RefusedRow, RowReader, Rows, read_rows, read_table},
    error::CsvError,
    options::{ColumnOverride, CsvOptions, OnMissingTarget, TargetColumn},
};

/// Whether a file is named like a table, packed or not.
pub fn is_csv(path: &Path) -> bool {
    let is = |path: &Path, ending: &str| {
        path.extension().is_some_and(|of| of.eq_ignore_ascii_case(ending))
    };
    let name = if is(path, "gz") { path.with_extension("") } else { path.to_owned() };
    ["csv", "tsv"].iter().any(|ending| is(&name, ending))
}

/// Reads the training file and those named beside it, and encodes their rows.
///
/// A validation or test file takes the place of rows held out from the training file.
///
/// # Errors
///
/// Where a file is a pipe, cannot be read, or is not a valid table of samples.
pub fn read_csv(options: &CsvOptions, seed: u64) -> Result<TableSplits, DataError> {
    options.fractions.check()?;
    options.texts.check()?;
    let files = [
        slice::from_ref(&options.path),
        options.validation_path.as_slice(),
        options.test_path.as_slice(),
    ];
    // The training file is read more than once, and all of them again where a run is resumed.
    files.into_iter().flatten().try_for_each(|path| reader::refuse_stream(path))?;
    let shared = shared::find_files(shared::OPTIONS, files);
    let schema = schema::infer(options)?;
    let records = records::read(options, &schema)?;

    let has_own = [&options.validation_path, &options.test_path].map(Option::is_some);
    let fractions = options.fractions.unless_there(has_own[0], has_own[1]);
    let classes = records.classes();
    let of_rows = records.groups.as_ref().map(|groups| groups.of_rows.as_slice());
    let parts = split::hold_out_rows(options.hold_out, &classes, of_rows, fractions, seed)?;

    let preprocessing = fit::fit(&schema, &records, &parts.train, options);
    if preprocessing.width() == 0 {
        let (path, target) = (options.path.clone(), schema.target.name);
        return Err(CsvError::NoFeatures { path, target, dropped: preprocessing.dropped() }.into());
    }
    let mut notes: Vec<String> = shared.iter().map(Shared::note).collect();
    notes.extend(notes::notes(&schema, &preprocessing, options));
    let groups = options.group.as_ref().zip(records.groups.as_ref());
    notes.extend(groups.and_then(|(column, groups)| groups.note(column)));
    let mut skipped = schema.unlabelled_rows.len();
    let mut other = |path: &PathBuf| {
        let (header, on_missing) = (options.header, options.on_missing_target);
        let group = options.group.as_deref();
        let read = apply::read_samples(path, &preprocessing, header, on_missing, group)?;
        notes.extend(read.notes);
        notes.extend(groups.and_then(|(column, groups)| {
            groups.note_on_shared(&parts.train, column, path, &read.groups)
        }));
        skipped += read.unlabelled;
        Ok::<_, DataError>(read.table)
    };
    let encode =
        |rows: &[usize]| fit::encode(&records, &preprocessing, &schema, rows, &options.path);
    let mut held_out = |path: &Option<PathBuf>, rows: Option<Vec<usize>>| match (path, rows) {
        (Some(path), _) => other(path).map(Some),
        (None, rows) => rows.map(|rows| encode(&rows)).transpose(),
    };
    let validation = held_out(&options.validation_path, parts.validation)?;
    let test = held_out(&options.test_path, parts.test)?;
    let train = encode(&parts.train)?;
    let values = fit::numbers(&records.target, &parts.train);
    notes.extend(table::note_on_skew(&preprocessing.target, values));
    let texts = text_columns::notes(&preprocessing, &train, options.texts).into_iter();
    notes.extend(texts.map(|(name, note)| format!("column `{name}`: {note}")));
    let rows = |path: &Option<PathBuf>, held_out: &str| match path {
        Some(path) => format!("rows of `{}`", path.display()),
        None => held_out.to_owned(),
    };
    let held_out = [
        (rows(&options.validation_path, "held-out rows"), &validation),
        (rows(&options.test_path, "rows held out to test on"), &test),
    ];
    let leave_out = |name: &str| format!("`{}` leaves it out", column_setting(name, "drop"));
    notes.extend(table::notes_on_splits(&preprocessing, &train, held_out, &leave_out));
    Ok(TableSplits { train, validation, test, preprocessing, has_own, notes, shared, skipped })
}
