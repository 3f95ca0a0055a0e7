//! Rows of other files, encoded by what was learnt: of validation and test files, and to predict.

use std::{
    borrow::{Borrow, Cow},
    collections::{BTreeSet, HashMap},
    hash::Hash,
    io::Read,
    path::Path,
};

use preprocess::cell::{self, Cell};

use super::{
    CsvError, decimal_comma,
    header::Layout,
    notation,
    options::OnMissingTarget,
    reader::{CsvReader, left_out_note},
    row::Row,
};
use crate::{
    DataError, Odd, Origins, Table, TablePreprocessing, Target, TargetKind, Targets,
    count::such_as_are,
    table::{FAR_FROM_ALL, target_score},
};

/// Rows to predict.
#[derive(Debug, Default)]
pub struct Rows {
    /// Encoded features, `[rows, width]`, row by row.
    pub features: Vec<f32>,
    /// The line of the file that each row begins in, from 1, the header included.
    pub lines: Vec<u64>,
    /// The cells of each row in the columns that were [to be kept](RowReader::keep), as they are written.
    pub kept: Vec<Vec<String>>,
    /// The rows that cannot be encoded.
    pub refused: Vec<RefusedRow>,
    /// What the user should know, a line each: what became of a first row that may or may not be a
    /// header, and categories that the training rows do not have.
    pub notes: Vec<String>,
}

/// A row that cannot be encoded.
#[derive(Debug)]
pub struct RefusedRow {
    /// The line of the file that it begins in, as [`Rows::lines`].
    pub line: u64,
    /// Its cells that were [to be kept](RowReader::keep); none where it has no such cells.
    pub kept: Vec<String>,
    /// What is wrong with it.
    pub error: DataError,
}

impl Rows {
    /// The number of encoded rows.
    pub fn len(&self) -> usize {
        self.lines.len()
    }

    /// Whether no row is encoded, which is where all are refused.
    pub fn is_empty(&self) -> bool {
        self.lines.is_empty()
    }
}

/// Reads rows to predict, with or without a header, with or without the target; all at once, unlike
/// [`RowReader`]. Where the training file had a header and texts, the first row is taken for one.
///
/// # Errors
///
/// As [`RowReader::new`] and [`RowReader::next_rows`].
pub fn read_rows(
    input: impl Read,
    name: &str,
    preprocessing: &TablePreprocessing,
) -> Result<Rows, DataError> {
    let mut reader = RowReader::new(input, name, preprocessing)?;
    let rows = reader.next_rows(usize::MAX)?.unwrap_or_default();
    reader.failed.take().map_or(Ok(rows), Err)
}

/// Rows to predict, read some at a time.
pub struct RowReader<'a> {
    reader: CsvReader<'a>,
    encoder: Encoder<'a>,
    /// The places of the columns to keep.
    kept: Vec<usize>,
    ended: bool,
    /// Why the input ended, if it is to be told next.
    failed: Option<DataError>,
}

impl<'a> RowReader<'a> {
    /// Columns are found by name where this and the training file have a header, else by position. A file with
    /// such a header alone has no rows, which a note tells.
    ///
    /// - `name`: what errors call the input
    ///
    /// # Errors
    ///
    /// Where the input is not such a table.
    pub fn new(
        input: impl Read + 'a,
        name: &str,
        preprocessing: &'a TablePreprocessing,
    ) -> Result<Self, DataError> {
        let mut reader = CsvReader::new(input, Path::new(name), &preprocessing.missing)?;
        let mut layout = Layout::find(&mut reader, preprocessing, None)?;
        if reader.is_at_end() {
            layout.note = Some(format!("`{name}` has a header and no rows"));
        }
        read_numbers(&mut reader, &layout, preprocessing);
        let encoder = Encoder::new(preprocessing, layout);
        Ok(Self { reader, encoder, kept: Vec::new(), ended: false, failed: None })
    }

    /// Also reads the cells of these columns, which the model may not know, into [`Rows::kept`].
    ///
    /// # Errors
    ///
    /// [`CsvError::UnknownColumn`].
    pub fn keep(&mut self, columns: &[String]) -> Result<(), DataError> {
        let names = &self.encoder.layout.names;
        let place = |column: &String| {
            names.iter().position(|name| name == column).ok_or_else(|| CsvError::UnknownColumn {
                path: self.reader.path().to_owned(),
                column: column.clone(),
                columns: names.clone(),
            })
        };
        self.kept = columns.iter().map(place).collect::<Result<_, _>>()?;
        Ok(())
    }

    /// The next rows, at most `most`; `None` after the last. What the user should know of all rows is
    /// among the notes of the last ones.
    ///
    /// # Errors
    ///
    /// Where the input stops being a table of text, once the rows before that were returned; a bad row is
    /// among those [refused](Rows::refused).
    pub fn next_rows(&mut self, most: usize) -> Result<Option<Rows>, DataError> {
        if let Some(error) = self.failed.take() {
            return Err(error);
        }
        if self.ended {
            return Ok(None);
        }
        let (mut rows, mut open_quote) = (Rows::default(), None);
        while !self.ended && rows.lines.len() + rows.refused.len() < most {
            let next = self.reader.next_row();
            let refused = |line, kept, error| RefusedRow { line, kept, error };
            for line in self.reader.take_blank_rows() {
                let error = CsvError::BlankRow { path: self.reader.path().to_owned(), line };
                rows.refused.push(refused(line, Vec::new(), error.into()));
            }
            match next {
                Ok(Some(row)) => {
                    let kept = self.kept.iter().map(|&place| row.written(place).to_owned());
                    let kept: Vec<String> = kept.collect();
                    match self.encoder.encode(self.reader.path(), &row) {
                        Ok(()) => {
                            rows.lines.push(row.line);
                            rows.kept.push(kept);
                        }
                        Err(error) => rows.refused.push(refused(row.line, kept, error)),
                    }
                }
                Ok(None) => self.ended = true,
                Err(error) => match error {
                    DataError::Csv(CsvError::Ragged { line, .. })
                    | DataError::NotUtf8 { line, utf16: false, .. } => {
                        rows.refused.push(refused(line, Vec::new(), error));
                    }
                    // In the cell that the quote opens lies what follows.
                    DataError::Csv(
                        CsvError::OpenQuote { line, .. } | CsvError::LeftOpen { line, .. },
                    ) => {
                        rows.refused.push(refused(line, Vec::new(), error));
                        (open_quote, self.ended) = (Some(line), true);
                    }
                    // Not before the rows above are told.
                    _ => (self.failed, self.ended) = (Some(error), true),
                },
            }
        }
        rows.features = std::mem::take(&mut self.encoder.features);
        if self.ended {
            let path = self.reader.path().display().to_string();
            rows.notes = self.encoder.notes(&path);
            rows.notes.extend(open_quote.map(|line| {
                format!(
                    "`{path}`: the rows below line {line} are lost in its quote, and not predicted"
                )
            }));
        }
        Ok(Some(rows))
    }
}

/// Reads a file of samples, targets included, as learnt from the training file; also returns what
/// the user should know of it, a line each, as [`Rows::notes`].
///
/// # Errors
///
/// Where the file cannot be read, lacks a column, or has what the training file cannot have.
pub fn read_table(
    path: &Path,
    preprocessing: &TablePreprocessing,
    header: Option<bool>,
    on_missing_target: OnMissingTarget,
) -> Result<(Table, Vec<String>), DataError> {
    let read = read_samples(path, preprocessing, header, on_missing_target, None)?;
    Ok((read.table, read.notes))
}

/// The rows of a file of samples.
pub(super) struct Samples {
    pub(super) table: Table,
    /// As [`Rows::notes`].
    pub(super) notes: Vec<String>,
    /// How many rows are left out for want of a target.
    pub(super) unlabelled: usize,
    /// The values of the column that names groups.
    pub(super) groups: BTreeSet<String>,
}

/// As [`read_table`].
///
/// - `group`: the column that names groups, if any
pub(super) fn read_samples(
    path: &Path,
    preprocessing: &TablePreprocessing,
    header: Option<bool>,
    on_missing_target: OnMissingTarget,
    group: Option<&str>,
) -> Result<Samples, DataError> {
    let mut reader = CsvReader::open(path, &preprocessing.missing)?;
    let layout = Layout::find(&mut reader, preprocessing, header)?;
    if reader.is_at_end() {
        return Err(CsvError::HeaderOnly { path: path.to_owned() }.into());
    }
    read_numbers(&mut reader, &layout, preprocessing);
    let target = &preprocessing.target;
    let place = layout
        .target
        .ok_or_else(|| CsvError::NoTarget { path: path.to_owned(), target: target.name.clone() })?;

    reader.on_missing_target(place, on_missing_target);
    let group = preprocessing.columns.iter().position(|column| Some(&*column.name) == group);
    let group = group.and_then(|at| layout.columns[at]);
    let mut groups = BTreeSet::new();
    let mut encoder = Encoder::new(preprocessing, layout);
    let (mut targets, mut lines) = (TargetReader::new(preprocessing), Vec::new());
    while let Some(row) = reader.next_row()? {
        lines.push(row.line);
        let name = group.and_then(|place| cell::category(row.cell(place)));
        groups.extend(name.map(Cow::into_owned));
        encoder.encode(path, &row)?;
        targets.push(path, row.line, row.cell(place))?;
    }
    if lines.is_empty() {
        let (path, target) = (path.to_owned(), target.name.clone());
        return Err(CsvError::EmptyTarget { path, target }.into());
    }
    let name = path.display().to_string();
    let mut notes = encoder.notes(&name);
    let unlabelled = reader.take_incomplete_rows();
    let left_out = [
        left_out_note(&reader.take_blank_rows(), "no values"),
        left_out_note(&unlabelled, "no target"),
    ];
    notes.extend(left_out.into_iter().flatten().map(|note| format!("`{name}`: {note}")));
    let (features, targets) = (encoder.features, targets.finish(path)?);
    let table = Table { features, targets, origins: Origins::Lines(lines) };
    Ok(Samples { table, notes, unlabelled: unlabelled.len(), groups })
}

/// From here on gives numbers a point where the model takes numbers.
fn read_numbers(reader: &mut CsvReader, layout: &Layout, preprocessing: &TablePreprocessing) {
    let notations = notation::of_known(reader, layout, preprocessing);
    let columns = layout.known(preprocessing).into_iter();
    let formatted = columns.filter(|column| column.are_numbers && column.format.is_some());
    let formatted: Vec<usize> = formatted.map(|column| column.place).collect();
    reader.read_numbers(&notations, &formatted);
}

/// Looks up a category or class, or, where the training file's numbers had a decimal comma (`commas`) and this
/// cell has one, what that is read as.
fn find<T: Copy>(
    known: &HashMap<impl Borrow<str> + Hash + Eq, T>,
    name: &str,
    commas: bool,
) -> Option<T> {
    let with_point = || {
        let plain = decimal_comma::with_point(name).filter(|_| commas)?;
        known.get(&*cell::name(Cell::parse(&plain), &plain)).copied()
    };
    cell::find(name, |name| known.get(name).copied()).or_else(with_point)
}

/// Encodes rows, and counts the cells that are odd beside those of the training rows.
struct Encoder<'a> {
    preprocessing: &'a TablePreprocessing,
    layout: Layout,
    /// The place of each category, by column: of thousands, none is searched for one by one.
    places: Vec<HashMap<&'a str, usize>>,
    features: Vec<f32>,
    /// Of each column how many categories are unseen, how many numbers are far and how many texts have no
    /// known word, and the first.
    odd: Vec<[(usize, String); 3]>,
    /// The label of each class, if columns are taken by position, until a cell in the target's place
    /// is one.
    classes: Option<HashMap<Cow<'a, str>, u32>>,
    /// The first such cell.
    first_target: Option<String>,
}

impl<'a> Encoder<'a> {
    fn new(preprocessing: &'a TablePreprocessing, layout: Layout) -> Self {
        let odd = vec![Default::default(); preprocessing.columns.len()];
        let places = preprocessing
            .columns
            .iter()
            .map(|column| column.categories().iter().map(String::as_str).zip(0..).collect());
        let places = places.collect();
        let classes = labels(&preprocessing.target);
        let classes = Some(classes).filter(|classes| layout.by_position && !classes.is_empty());
        let (features, first_target) = (Vec::new(), None);
        Self { preprocessing, layout, places, features, odd, classes, first_target }
    }

    /// Encodes a row; the only error is that of a cell.
    fn encode(&mut self, path: &Path, row: &Row) -> Result<(), DataError> {
        let places = self.layout.columns.iter();
        let cells: Vec<&str> =
            places.map(|place| place.map_or("", |place| row.cell(place))).collect();
        let mut odd_cells = Vec::new();
        let tell = |column: usize, odd: Odd| odd_cells.push((column, odd));
        let commas = self.preprocessing.decimal_comma;
        let place = |column: usize, category: &str| find(&self.places[column], category, commas);
        let encoded = self.preprocessing.encode_telling(&cells, &mut self.features, place, tell);
        encoded.map_err(|reason| CsvError::cell(path, row.line, None, reason))?;
        // Only now, as a row that is refused is not among those encoded.
        for (column, odd) in odd_cells {
            let (count, first) = &mut self.odd[column][odd as usize];
            *count += 1;
            if *count == 1 {
                *first = cell::quoted(cells[column]);
            }
        }
        if let (Some(place), Some(classes)) = (self.layout.target, &self.classes) {
            let text = row.cell(place);
            let cell = Cell::parse(text);
            if cell != Cell::Missing {
                self.first_target.get_or_insert_with(|| cell::quoted(text));
            }
            if find(classes, &cell::name(cell, text), commas).is_some() {
                self.classes = None;
            }
        }
        Ok(())
    }

    /// What the user should know of the first row, and a line for each column with cells that are odd.
    fn notes(&self, name: &str) -> Vec<String> {
        let told = |count: usize, first: &str, what: &str| {
            (count > 0).then(|| such_as_are(count, "value", first, what))
        };
        let columns = self.preprocessing.columns.iter().zip(&self.odd);
        let odd =
            columns.flat_map(|(column, [(unseen, category), (far, number), (unread, text)])| {
                let unseen = told(*unseen, category, "not in the training rows");
                let far = told(*far, number, FAR_FROM_ALL);
                let unread = told(*unread, text, "without a known word");
                let told = unseen.into_iter().chain(far).chain(unread);
                told.map(|told| format!("`{name}`: column `{}`: {told}", column.name))
            });
        let no_class = self.first_target.as_ref().filter(|_| self.classes.is_some()).map(|text| {
            format!(
                "`{name}`: no cell is a class where the training file has the target `{}`, such as \
                 `{text}`: are the columns in another order?",
                self.preprocessing.target.name
            )
        });
        self.layout.note.iter().cloned().chain(no_class).chain(odd).collect()
    }
}

/// The label of each class, however its cells are written.
fn labels(target: &Target) -> HashMap<Cow<'_, str>, u32> {
    let names = target.classes().iter().map(|class| cell::name(Cell::parse(class), class));
    names.zip(0..).collect()
}

/// Reads the cells of the target.
struct TargetReader<'a> {
    target: &'a Target,
    classes: HashMap<Cow<'a, str>, u32>,
    /// Whether the training file's numbers had a decimal comma.
    commas: bool,
    labels: Vec<u32>,
    values: Vec<f32>,
    /// The line of the first row without a target, and how many such rows there are.
    missing: Option<(u64, u64)>,
}

impl<'a> TargetReader<'a> {
    fn new(preprocessing: &'a TablePreprocessing) -> Self {
        let target = &preprocessing.target;
        Self {
            target,
            classes: labels(target),
            commas: preprocessing.decimal_comma,
            labels: Vec::new(),
            values: Vec::new(),
            missing: None,
        }
    }

    fn push(&mut self, path: &Path, line: u64, text: &str) -> Result<(), DataError> {
        let wrong = |reason| CsvError::cell(path, line, None, reason);
        let name = &self.target.name;
        let is_there = match &self.target.kind {
            TargetKind::Regression(scores) => {
                let value = cell::number(name, text, self.target.format).map_err(wrong)?;
                if let Some(value) = value {
                    let row = || format!("line {line}");
                    self.values.push(target_score(value, scores, path, row)?);
                }
                value.is_some()
            }
            TargetKind::Binary { .. } | TargetKind::Multiclass { .. } => {
                let class = cell::category(text);
                if let Some(class) = &class {
                    let label = find(&self.classes, class, self.commas);
                    self.labels.push(label.ok_or_else(|| CsvError::UnknownClass {
                        path: path.to_owned(),
                        line,
                        class: cell::quoted(text),
                        classes: self.target.classes().to_vec(),
                    })?);
                }
                class.is_some()
            }
        };
        if !is_there {
            self.missing.get_or_insert((line, 0)).1 += 1;
        }
        Ok(())
    }

    fn finish(self, path: &Path) -> Result<Targets, DataError> {
        if let Some((line, rows)) = self.missing {
            let (path, target) = (path.to_owned(), self.target.name.clone());
            return Err(CsvError::MissingTarget { path, line, target, rows }.into());
        }
        Ok(match self.target.kind {
            TargetKind::Regression(_) => Targets::Values(self.values),
            TargetKind::Binary { .. } | TargetKind::Multiclass { .. } => {
                Targets::Classes(self.labels)
            }
        })
    }
}
