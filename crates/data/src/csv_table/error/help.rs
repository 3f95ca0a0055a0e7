//! What the user can do about each error.

use super::CsvError;
use crate::{
    CellError,
    count::counted,
    csv_table::summary::LARGEST_EMBEDDED,
    names::{list, nearest, toml_key},
};

/// What to do about a table with something above it.
const NO_TITLE: &str = "the table begins with the names of its columns or with its first row: remove \
                        titles and comments above it, for example by `tail -n +2 IN > OUT`";

/// What to do about a table that is read as one column.
const DELIMITERS: &str = "the delimiter is a comma, semicolon, tab or `|`; to turn spaces \
                          into commas: `tr -s ' ' , < IN > OUT`";

impl CsvError {
    /// What the user can do about it.
    pub fn help(&self) -> String {
        match self {
            Self::Empty { .. } | Self::HeaderOnly { .. } => {
                "name a file with at least one row of values".into()
            }
            Self::ZeroByte { .. } => {
                "remove such bytes, for example `tr -d '\\000' < IN > OUT`".into()
            }
            Self::NotCsv { conversion, .. } => (*conversion).into(),
            Self::BareReturn { .. } => {
                "end the lines in line feeds, for example `tr '\\r' '\\n' < IN > OUT`".into()
            }
            Self::OpenQuote { .. } => {
                "close the quote, or double it where it is part of the text".into()
            }
            Self::LeftOpen { line, .. } => {
                format!("close the quote in line {line}, or double it where it is part of the text")
            }
            Self::Ragged { expected: 1, .. } | Self::Title { .. } => NO_TITLE.into(),
            Self::Ragged { delimiter, lacks_a_name: true, .. } => format!(
                "if the first row names all columns but the first, as R writes it, give that a name too: \
                 `sed '1s/^/row{}/' IN > OUT`",
                delimiter.escape_default()
            ),
            Self::Ragged { delimiter, .. } => format!(
                "correct the row, or quote cells that contain the delimiter, which by the first row is \
                 `{}`",
                delimiter.escape_default()
            ),
            Self::BlankRow { .. } => "fill in its cells, or delete the row".into(),
            Self::Cell { line, first_line, reason, .. } => cell_help(*line, *first_line, reason),
            Self::TypeChange { column, .. } => format!(
                "correct the file, or use `{}` (or `drop`)",
                column_setting(column, "categorical")
            ),
            Self::TextAmongNumbers { column, .. } => format!(
                "leave the cells empty if their values are missing, or name the text in `data.missing`, \
                 or use `{}` (or `drop`)",
                column_setting(column, "categorical")
            ),
            Self::DuplicateColumn { .. } => "rename one in the header".into(),
            Self::UnknownColumn { columns, .. } if columns.len() == 1 => {
                format!("only one column is found, `{}`; {DELIMITERS}", columns[0])
            }
            Self::UnknownColumn { column, columns, .. } => {
                match nearest(column, columns.iter().map(String::as_str)) {
                    Some(nearest) => format!("did you mean `{nearest}`?"),
                    None => format!("the columns are {}", list(columns)),
                }
            }
            Self::LacksColumn { column, others, .. } => {
                match nearest(column, others.iter().map(String::as_str)) {
                    Some(nearest) => format!("rename `{nearest}`, if it is meant"),
                    None => "add the column: the model was trained with it; cells may be empty; a file \
                             without a header needs that of the training file"
                        .into(),
                }
            }
            Self::NoTarget { .. } => {
                "add the column, or use the file with `recipes predict`".into()
            }
            Self::TargetIndex { index, is_name: true, .. } => format!(
                "if a column is called so, quote its name: `--set \"data.target='{index}'\"`, or \
                 `--target \"'{index}'\"` to inspect it"
            ),
            Self::TargetIndex { columns: 1, .. } => {
                format!("only one column is found; {DELIMITERS}")
            }
            Self::TargetIndex { columns, .. } => format!(
                "indices run from 0 to {}, or from -1 (the last) to -{columns}",
                columns.saturating_sub(1)
            ),
            Self::MissingTarget { .. } => {
                "fill in the cells, or leave such rows out with `--set data.on_missing_target=skip`; \
                 `?`, `NA`, `None` and their like count as empty, as does what `data.missing` names, so rename \
                 a class that is called so"
                    .into()
            }
            Self::EmptyTarget { .. } => {
                "choose another `data.target`; where rows end with a delimiter, the last column is \
                 empty"
                    .into()
            }
            Self::UniqueTarget { .. } => {
                "such text is hardly a class; choose another `data.target`, or set `data.task` to \
                 \"multiclass\" if it is one"
                    .into()
            }
            Self::TextTarget { .. } => {
                "to predict a class leave out `data.task=regression` and `data.target_scale=log`; or choose another \
                 `data.target`"
                    .into()
            }
            Self::TargetOverride { .. } => "set the kind of target by `data.task`".into(),
            Self::TargetGroup { .. } => {
                "name the column that tells whose rows they are, such as a patient's number".into()
            }
            Self::SingleValue { .. } => {
                "there is nothing to learn; add other rows or choose another `data.target`".into()
            }
            Self::TooManyCategories { is_target: true, .. } => {
                "if these are numbers, remove `data.task`; else group the classes".into()
            }
            Self::TooManyCategories { column, limit, .. } => {
                let more = "set `model.embedding`, for instance to 8, which takes more of them; ";
                format!(
                    "{}if these are numbers, remove `{}`; else drop the column or group its values",
                    if *limit < LARGEST_EMBEDDED { more } else { "" },
                    column_key(column)
                )
            }
            Self::UnknownClass { classes, .. } => format!("the classes are {}", list(classes)),
            Self::ColumnCount { .. } => {
                "give the training file's columns in its order, or a header with their names".into()
            }
            Self::NoFeatures { dropped, .. } => no_features_help(dropped),
        }
    }
}

fn cell_help(line: u64, first_line: Option<u64>, error: &CellError) -> String {
    let help = error.help();
    match (error, first_line) {
        (CellError::NotANumber { .. }, Some(first_line)) if line == first_line => {
            format!("{help}; if line {line} is a header, set `data.header = true`")
        }
        (CellError::NotANumber { column, .. }, Some(_)) => format!(
            "{help}, or name such a text in `data.missing`; if line {line} is no row but a title, a unit or a \
             comment, remove it; if the column is not numeric, use `{}`, or for a target \
             `--set data.task=multiclass`",
            column_setting(column, "categorical")
        ),
        _ => help,
    }
}

fn no_features_help(dropped: &[(String, String)]) -> String {
    let Some(((name, reason), others)) = dropped.split_first() else {
        return DELIMITERS.to_owned();
    };
    let others = match others.len() {
        0 => String::new(),
        others => format!(" (and {})", counted(others, "other column")),
    };
    let keep = match reason.contains("`--set ") {
        true => String::new(), // a better one
        false => format!("; to keep a column, use `{}`", column_setting(name, "categorical")),
    };
    format!("column `{name}` is dropped{others}: {reason}{keep}")
}

/// The key that says what a column is.
fn column_key(column: &str) -> String {
    format!("data.columns.{}", toml_key(column))
}

/// How to say what a column is, to be pasted into a shell: with TOML's single quotes between double ones, which
/// every shell reads alike, unless the name has what some shell would change.
pub(crate) fn column_setting(column: &str, kind: &str) -> String {
    let key = column_key(column);
    if !key.contains('"') {
        return format!("--set {key}={kind}");
    }
    match key.contains(['\'', '\\', '$', '`', '!', '%']) {
        true => format!("--set '{}={kind}'", key.replace('\'', r"'\''")),
        false => format!("--set \"{}={kind}\"", key.replace('"', "'")),
    }
}

/// The end of a sentence about the first of `rows` rows.
pub(super) fn more(rows: u64) -> String {
    match rows {
        0 | 1 => String::new(),
        _ => format!(", and in {} below", counted(rows - 1, "row")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_setting_of_a_column_can_be_pasted() {
        let check = |column, expected: &str| assert_eq!(column_setting(column, "drop"), expected);
        check("zip_code-2", "--set data.columns.zip_code-2=drop");
        check("zip code", r#"--set "data.columns.'zip code'=drop""#);
        check("", r#"--set "data.columns.''=drop""#);
        check("$", r#"--set 'data.columns."$"=drop'"#);
        check("o'clock", r#"--set 'data.columns."o'\''clock"=drop'"#);
        check(r#"a"b"#, r#"--set 'data.columns."a\"b"=drop'"#);
    }

    #[test]
    fn a_slip_finds_its_column() {
        let columns: Vec<String> =
            (0..12).map(|i| format!("Feature{i}")).chain(["Survived".into()]).collect();
        let help = |column: &str| {
            let (path, column, columns) = ("a.csv".into(), column.into(), columns.clone());
            CsvError::UnknownColumn { path, column, columns }.help()
        };
        assert_eq!(help("survived"), "did you mean `Survived`?");
        assert_eq!(help("Surived"), "did you mean `Survived`?");
        assert!(help("zzz").ends_with("`Feature9`, and 3 more"), "{}", help("zzz"));
    }
}
