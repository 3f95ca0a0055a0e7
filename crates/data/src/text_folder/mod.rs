//! The text-folder source: a folder for each class, and in it the texts, each a file.
//!
//! ```text
//! reviews/negative/*.txt      or      reviews/train/negative/*.txt
//! reviews/positive/*.txt              reviews/train/positive/*.txt
//!                                     reviews/val/negative/*.txt
//!                                     reviews/test/positive/*.txt
//! ```
//!
//! Files end in `.txt` or have no ending. They are UTF-8, or else read as Latin-1, whose every byte is a
//! character. The result is a table of one column, `text`, and the target `class`, so a CSV file of such columns
//! can be evaluated and predicted too.

mod error;

use std::{
    fs,
    path::{Path, PathBuf},
};

use preprocess::{
    cell::Cell,
    text_cell::{encode_tokens, ids_of_plain, plain},
};
use rayon::prelude::*;
use store::sha256_hex;

pub use self::error::TextFolderError;
use crate::{
    Column, ColumnKind, DataError, Fractions, Origins, Shared, Table, TablePreprocessing,
    TableSplits, Target, TargetKind, Targets, TextColumns, Vocabulary,
    class_folders::{FileKind, Listing, Listings, Measured, files_in, note_on_passed_over},
    count::such_as_are,
    labels::{count_labels, relabelled},
    names::list,
    shared, split,
    table::{matrix, notes_on_splits, target_note, text_columns},
    text::{TextError, text_of},
};

const KIND: FileKind = FileKind::Text;
/// The names of the columns.
const TEXT: &str = "text";
const CLASS: &str = "class";

/// What the user says about a folder of texts.
#[derive(Debug, Clone, PartialEq)]
pub struct TextFolderOptions {
    /// The folder.
    pub path: PathBuf,
    /// How the texts are read.
    pub texts: TextColumns,
    /// How many texts are held out where there is no folder for it, and trained on.
    pub fractions: Fractions,
}

impl TextFolderOptions {
    /// A folder whose texts are read as usual, and of which nothing is held out.
    pub fn new(path: impl Into<PathBuf>) -> Self {
        let (texts, fractions) = (TextColumns::default(), Fractions::default());
        Self { path: path.into(), texts, fractions }
    }
}

/// Reads the texts of a folder and encodes them with the words of the training split.
///
/// The splits and classes are found as those of a folder of images
/// ([`open_image_folder`](crate::image_folder::open_image_folder)), except that texts beside class folders are
/// passed over.
///
/// # Errors
///
/// Where a folder or a file cannot be read, a file is no text, class folders are as they should not be, or
/// no word is in two texts to train on.
///
/// # Examples
///
/// ```
/// use data::text_folder::{TextFolderOptions, read_text_folder};
///
/// # let folder = tempfile::tempdir()?;
/// # for (file, text) in [("good/1.txt", "a fine film"), ("bad/1.txt", "a dull film")] {
/// #     std::fs::create_dir_all(folder.path().join(file).parent().unwrap())?;
/// #     std::fs::write(folder.path().join(file), text)?;
/// # }
/// let splits = read_text_folder(&TextFolderOptions::new(folder.path()), 0)?;
/// assert_eq!(splits.preprocessing.target.classes(), ["bad", "good"]);
/// assert_eq!(splits.train.rows(), 2);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn read_text_folder(options: &TextFolderOptions, seed: u64) -> Result<TableSplits, DataError> {
    options.fractions.check()?;
    options.texts.check()?;
    let Listings { train, validation, test, passed_over } =
        Listings::of(&options.path, KIND, false)?;
    let read = |listing: Option<Listing>| listing.map(Texts::read).transpose();
    let (train, validation, test) = (Texts::read(train)?, read(validation)?, read(test)?);

    let files = [Some(&train), validation.as_ref(), test.as_ref()];
    let files = files.map(|texts| texts.map_or(&[][..], |texts| &texts.listing.files));
    let shared = shared::find_files(shared::OF_A_FOLDER, files);
    let mut notes: Vec<String> = shared.iter().map(Shared::note).collect();
    notes.extend(note_on_passed_over(&passed_over, KIND));
    notes.extend([&train].into_iter().chain(&validation).chain(&test).flat_map(Texts::notes));
    notes.extend(test.as_ref().and_then(|test| note_on_absent(&train.listing, &test.listing)));

    let has_own = [validation.is_some(), test.is_some()];
    let fractions = options.fractions.unless_there(has_own[0], has_own[1]);
    let parts = split::hold_out(&train.listing.labels, fractions, seed)?;
    let column = text_columns::fit(&train.plain, &parts.train, options.texts);
    let preprocessing = preprocessing(column, &train.listing.classes);
    let (vocabulary, length) = column_of(&preprocessing)
        .ok_or_else(|| TextFolderError::NoWords { path: options.path.clone() })?;
    let encode = |texts: &Texts, rows: &[usize]| texts.encode(rows, vocabulary, length);
    let split = |of_folder: Option<Texts>, rows: Option<Vec<usize>>| match (of_folder, rows) {
        (Some(texts), _) => encode(&texts, &texts.all()).map(Some),
        (None, rows) => rows.map(|rows| encode(&train, &rows)).transpose(),
    };
    let validation = split(validation, parts.validation)?;
    let test = split(test, parts.test)?;
    let train = encode(&train, &parts.train)?;

    let told = text_columns::notes(&preprocessing, &train, options.texts);
    notes.extend(told.into_iter().map(|(_, note)| note));
    notes.push(target_note(&preprocessing, Some(preprocessing.task()), false));
    let held_out = [("texts to validate on", &validation), ("texts to test on", &test)];
    let held_out = held_out.map(|(texts, table)| (texts.to_owned(), table));
    let leave_out = |_: &str| "train on other texts".to_owned();
    notes.extend(notes_on_splits(&preprocessing, &train, held_out, &leave_out));
    let skipped = 0;
    Ok(TableSplits { train, validation, test, preprocessing, has_own, notes, shared, skipped })
}

/// Reads the texts of a folder as a model encodes them: those of the test split if there is one, else of the
/// validation split, else those to train on, or of a folder that only has class folders.
///
/// - returns the name of the split, if it is one of the first two, its texts, and what the user should know
///
/// # Errors
///
/// As [`read_text_folder`]; where a class folder is none of the model's, or the model reads other rows.
pub fn read_labelled_texts(
    path: &Path,
    preprocessing: &TablePreprocessing,
) -> Result<(Option<&'static str>, Table, Vec<String>), DataError> {
    let (vocabulary, length) = column_of(preprocessing)
        .ok_or_else(|| TextFolderError::OtherRows { path: path.to_owned() })?;
    let Measured { mut listing, split, note } = Measured::of(path, KIND, false)?;
    let classes = preprocessing.target.classes();
    listing.labels = relabelled(&listing.labels, &listing.classes, classes)?;
    let texts = Texts::read(listing)?;
    let notes = note.into_iter().chain(texts.notes()).collect();
    Ok((split, texts.encode(&texts.all(), vocabulary, length)?, notes))
}

/// The files of texts in a folder and in those below it, in the order of their paths.
///
/// # Errors
///
/// Where a folder cannot be read.
pub fn text_files_in(folder: &Path) -> Result<Vec<PathBuf>, DataError> {
    Ok(files_in(folder, KIND)?)
}

/// The text of a file, UTF-8 or else Latin-1, and whether it is UTF-8.
///
/// # Errors
///
/// Where the file cannot be read, or is no text.
pub fn read_text_file(path: &Path) -> Result<(String, bool), DataError> {
    decode_text(fs::read(path).map_err(|reason| DataError::io(path, reason))?, path)
}

/// What the user should know of files of texts that are not UTF-8, if there are any.
pub fn note_on_latin(files: &[impl AsRef<Path>]) -> Option<String> {
    let first = files.first()?.as_ref().display();
    Some(such_as_are(files.len(), "text", first, "not UTF-8, and read as Latin-1"))
}

/// As [`read_text_file`], of the bytes of what `path` names in errors.
///
/// # Errors
///
/// Where the bytes are no text.
pub fn decode_text(bytes: Vec<u8>, path: &Path) -> Result<(String, bool), DataError> {
    match text_of(&bytes, path) {
        Ok(text) => Ok((text, true)),
        // No text has a zero byte, in any encoding of single bytes.
        Err(TextError::NotUtf8 { utf16: false, .. }) if !bytes.contains(&0) => {
            Ok((bytes.into_iter().map(char::from).collect(), false))
        }
        Err(reason) => Err(TextFolderError::NoText(reason).into()),
    }
}

/// A hash of the names and the contents of all texts that [`read_text_folder`] reads, whatever is held out.
///
/// # Errors
///
/// Where a folder or a file cannot be read.
pub fn fingerprint(folder: &Path) -> Result<String, DataError> {
    let Listings { train, validation, test, .. } = Listings::of(folder, KIND, false)?;
    let hash = |path: &PathBuf| {
        let text = fs::read(path).map_err(|reason| DataError::io(path, reason))?;
        Ok::<_, DataError>(sha256_hex(&text))
    };
    let of_split = |listing: &Listing| {
        let hashes = listing.files.par_iter().map(hash).collect::<Result<Vec<String>, _>>()?;
        Ok::<_, DataError>(listing.fingerprint(&hashes))
    };
    let splits = [Some(&train), validation.as_ref(), test.as_ref()];
    let splits: Vec<Option<String>> = splits
        .map(|listing| listing.map(of_split).transpose())
        .into_iter()
        .collect::<Result<_, _>>()?;
    Ok(sha256_hex(format!("{splits:?}").as_bytes()))
}

/// How rows that are texts are encoded.
fn preprocessing(column: ColumnKind, classes: &[String]) -> TablePreprocessing {
    let kind = TargetKind::of_classes(classes.to_vec(), None).expect("any number will do");
    TablePreprocessing {
        header: true,
        decimal_comma: false,
        missing: Vec::new(),
        rows_are_files: true,
        columns: vec![Column { name: TEXT.to_owned(), kind: column, format: None }],
        target: Target { name: CLASS.to_owned(), index: 1, kind, format: None },
    }
}

/// The words that are known of a row, and how many tokens are read of it; none where rows are not texts.
fn column_of(preprocessing: &TablePreprocessing) -> Option<(&Vocabulary, usize)> {
    match &preprocessing.columns[..] {
        [Column { kind: ColumnKind::Text { vocabulary, length }, .. }]
            if preprocessing.rows_are_files =>
        {
            Some((vocabulary, *length))
        }
        _ => None,
    }
}

/// What the user should know of classes to train on of which there are no texts to measure on.
fn note_on_absent(train: &Listing, measured: &Listing) -> Option<String> {
    let counts = count_labels(&measured.labels, train.classes.len());
    let absent = train.classes.iter().zip(counts).filter(|(_, count)| *count == 0);
    let absent: Vec<String> = absent.map(|(class, _)| class.clone()).collect();
    let (classes, that_is) = match absent.len() {
        0 => return None,
        1 => ("class", "that is no class, move its folder"),
        _ => ("classes", "these are no classes, move their folders"),
    };
    Some(format!(
        "`{}` has no texts of the {classes} {}: if {that_is} out of `{}`",
        measured.folder.display(),
        list(&absent),
        train.folder.display()
    ))
}

/// The texts of a split as they are in its files.
struct Texts {
    listing: Listing,
    /// Prepared by [`plain`].
    plain: Vec<String>,
    /// Whether each is UTF-8.
    are_utf8: Vec<bool>,
}

impl Texts {
    fn read(listing: Listing) -> Result<Self, DataError> {
        let read = |path: &PathBuf| {
            let (text, is_utf8) = read_text_file(path)?;
            // As it is predicted later.
            let text = if Cell::parse(text.trim()) == Cell::Missing { "" } else { &text };
            Ok::<_, DataError>((plain(text), is_utf8))
        };
        let read: Vec<(String, bool)> =
            listing.files.par_iter().map(read).collect::<Result<_, _>>()?;
        let (plain, are_utf8) = read.into_iter().unzip();
        Ok(Self { listing, plain, are_utf8 })
    }

    /// The indices of all.
    fn all(&self) -> Vec<usize> {
        (0..self.plain.len()).collect()
    }

    /// Encodes some, of each the last `length` tokens.
    fn encode(
        &self,
        rows: &[usize],
        vocabulary: &Vocabulary,
        length: usize,
    ) -> Result<Table, DataError> {
        let mut features = matrix(rows.len(), length)?;
        for &row in rows {
            encode_tokens(&ids_of_plain(vocabulary, &self.plain[row]), length, &mut features);
        }
        let Listing { labels, files, .. } = &self.listing;
        let targets = Targets::Classes(rows.iter().map(|&row| labels[row]).collect());
        let origins = Origins::Files(rows.iter().map(|&row| files[row].clone()).collect());
        Ok(Table { features, targets, origins })
    }

    /// What the user should know of the files, a sentence each.
    fn notes(&self) -> Vec<String> {
        let files = |is: &dyn Fn(usize) -> bool| {
            let files = self.listing.files.iter().enumerate();
            Vec::from_iter(files.filter(|(row, _)| is(*row)).map(|(_, file)| file))
        };
        let latin = note_on_latin(&files(&|row| !self.are_utf8[row]));
        let empty = files(&|row| self.plain[row].trim().is_empty());
        let empty = empty
            .first()
            .map(|first| such_as_are(empty.len(), "text", first.display(), "without a word"));
        self.listing.notes(KIND).into_iter().chain(latin).chain(empty).collect()
    }
}
