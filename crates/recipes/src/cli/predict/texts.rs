//! Texts, each a row of its own: given on the command line, or in files.

use std::{
    io::{Read, stdin},
    path::Path,
};

use backend::Selected;
use data::{
    Column, ColumnKind, DataError, TablePreprocessing,
    class_folders::FileKind,
    text_folder::{decode_text, note_on_latin, read_text_file, text_files_in},
};
use inference::{Model, ROWS_AT_A_TIME};

use super::{STANDARD_INPUT, name, some_files};
use crate::{
    ExitCode, Failure,
    cli::{output, printer::Printer},
    evaluation::is_table,
    numbers::counted,
};

/// Predicts the values of `--text`; other cells of their rows are missing.
pub(super) fn predict_given(
    model: &Model<Selected>,
    texts: &[String],
    printer: &mut Printer<'_>,
) -> Result<(), Failure> {
    let table = model.description().table()?;
    let of_texts = table.texts().len();
    if of_texts != 1 {
        let columns = counted(of_texts, "column");
        return Err(Failure::new(
            ExitCode::Usage,
            format!(
                "`--text` is for a model that reads one column of texts, and this one reads {columns}"
            ),
            "name a file of rows to predict",
        ));
    }
    if table.width() > table.texts()[0].length {
        output::print_note("the other columns of the table count as missing");
    }
    print(model, texts.iter().map(|text| (text.clone(), text.clone())).collect(), printer)?;
    printer.flush()
}

/// Whether an input is a text, or a folder of texts, and not a table: the model was trained on such, and the
/// input's name is no table's.
pub(super) fn is_of_texts(input: &Path, preprocessing: &TablePreprocessing) -> bool {
    preprocessing.rows_are_files && preprocessing.texts().len() == 1 && !is_table(input)
}

/// Predicts the text of a file, of each file in a folder, or of standard input; returns whether any was
/// refused.
pub(super) fn predict_files(
    model: &Model<Selected>,
    input: &Path,
    printer: &mut Printer<'_>,
) -> Result<bool, Failure> {
    let files = match input.is_dir() {
        true => some_files(input, text_files_in(input), FileKind::Text)?,
        false => vec![input.to_owned()],
    };
    let (mut refused, mut latin) = (false, Vec::new());
    for files in files.chunks(ROWS_AT_A_TIME) {
        let mut texts = Vec::new();
        for file in files {
            match read(file) {
                Ok((text, is_utf8)) => {
                    latin.extend((!is_utf8).then(|| name(file)));
                    texts.push((name(file), text));
                }
                Err(error) => {
                    print(model, std::mem::take(&mut texts), printer)?; // in the order of the files
                    printer.refuse(name(file), Vec::new(), error.into())?;
                    refused = true;
                }
            }
        }
        print(model, texts, printer)?;
        printer.flush()?;
    }
    if let Some(note) = note_on_latin(&latin) {
        output::print_note(&note);
    }
    Ok(refused)
}

/// A text, and whether it is UTF-8.
fn read(input: &Path) -> Result<(String, bool), DataError> {
    if input != Path::new(STANDARD_INPUT) {
        return read_text_file(input);
    }
    let mut text = Vec::new();
    stdin()
        .read_to_end(&mut text)
        .map_err(|reason| DataError::Read { path: name(input).into(), reason })?;
    decode_text(text, Path::new(&name(input)))
}

/// Prints predictions for rows of a text each, whose other cells are missing.
///
/// - `texts`: what each is called, and the text itself
fn print(
    model: &Model<Selected>,
    texts: Vec<(String, String)>,
    printer: &mut Printer<'_>,
) -> Result<(), Failure> {
    let table = model.description().table()?;
    let (place, mut features) = (&table.texts()[0], Vec::new());
    for (_, text) in &texts {
        let cell = |column: &Column| match column.kind {
            ColumnKind::Text { .. } => text.as_str(),
            _ => "",
        };
        let cells: Vec<&str> = table.columns.iter().map(cell).collect();
        table.encode(&cells, &mut features).expect("a text and missing cells can be encoded");
    }
    let rows = features.chunks_exact(table.width());
    let predictions = model.predict_rows(&features)?;
    for (((name, _), features), prediction) in texts.into_iter().zip(rows).zip(&predictions) {
        // The first token is that of unknown words; before a text there are none.
        let tokens = &features[place.feature..][..place.length];
        if tokens.iter().all(|&token| token <= 1.0) {
            output::print_note(&format!("`{name}` has no word that the model knows"));
        }
        printer.print(name, Vec::new(), prediction)?;
    }
    Ok(())
}
