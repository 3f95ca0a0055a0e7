//! What a cell of a table holds: nothing, a number or a text.

use std::borrow::Cow;

use super::number_format::{Number, NumberFormat, is_formatted};
use crate::count::counted;

/// The longest part of a cell that an error quotes, in characters.
const QUOTED: usize = 40;

/// What marks a missing value in every table besides an empty cell: `?`, and what pandas takes for missing.
pub const ALWAYS_MISSING: [&str; 19] = [
    "?", "NA", "N/A", "n/a", "#N/A", "#N/A N/A", "#NA", "<NA>", "NaN", "nan", "-NaN", "-nan",
    "1.#QNAN", "1.#IND", "-1.#QNAN", "-1.#IND", "NULL", "null", "None",
];

/// What to do about [formatted numbers](is_formatted) that are not read.
pub const PLAIN_NUMBERS: &str = "write numbers as -1234.5, with nothing else but one currency or percent sign \
                                 throughout the column and commas between thousands; where cells are divided by \
                                 `;`, tabs or `|`, commas are read only if other numbers, such as 0.5 or 0,5, tell \
                                 what they are";

/// A cell that a column cannot take.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
#[expect(missing_docs, reason = "the messages say what the fields are")]
pub enum CellError {
    /// Text where the column holds numbers.
    #[error("column `{column}`: `{text}` is not a number")]
    NotANumber { column: String, text: String },
    /// A number with another sign than its column's.
    #[error("column `{column}`: `{text}` is not in `{sign}`, as the column's numbers are")]
    OtherSign { column: String, text: String, sign: char },
    /// A point that seems to separate thousands.
    #[error(
        "column `{column}`: the point in `{text}` seems to separate thousands, as in all numbers with \
         a point here, and those without one are below 1000"
    )]
    Grouped { column: String, text: String },
    /// A literal for NaN or infinity.
    #[error("column `{column}`: `{text}` is not a finite number")]
    NotFinite { column: String, text: String },
    /// A number that a 32-bit float cannot hold.
    #[error("column `{column}`: `{text}` is too large for a 32-bit float")]
    TooLarge { column: String, text: String },
    /// A row that lacks a cell.
    #[error("the row has no column `{column}`, which the model was trained on")]
    NoColumn { column: String },
    /// A row of the wrong length.
    #[error("the row has {}, the model was trained on {expected}", counted(cells, "cell"))]
    Count { cells: usize, expected: usize },
}

impl CellError {
    /// What the user can do about it.
    pub fn help(&self) -> String {
        match self {
            Self::NotANumber { text, .. } if is_formatted(text) => PLAIN_NUMBERS.into(),
            Self::NotANumber { .. } => {
                "write a number, or leave the cell empty if its value is missing".into()
            }
            Self::OtherSign { sign, .. } => {
                format!("convert it, and write it with `{sign}` or without a sign")
            }
            Self::Grouped { text, .. } => {
                format!("write `{}` and so on, without points", text.replace('.', ""))
            }
            Self::NotFinite { .. } => "leave the cell empty if its value is missing".into(),
            Self::TooLarge { .. } => "give the column another unit, or correct the number".into(),
            Self::NoColumn { .. } => {
                "name the columns as in the training file; an empty cell is a missing value".into()
            }
            Self::Count { .. } => {
                "give one cell for each column of the training file, the target left out".into()
            }
        }
    }
}

/// The content of a cell.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Cell {
    /// Empty, or one of [`ALWAYS_MISSING`].
    Missing,
    /// A number; infinite where it is too large for 64 bits.
    Number(f64),
    /// A literal such as `inf`.
    NotFinite,
    /// Anything else.
    Text,
}

/// How programs write what is true or false.
const TRUTHS: [&str; 6] = ["true", "false", "True", "False", "TRUE", "FALSE"];

/// Looks up a category or class: as it is written, or as another program writes what is true or false:
/// spreadsheets `TRUE`, and pandas `True`.
pub fn find<T>(name: &str, known: impl Fn(&str) -> Option<T>) -> Option<T> {
    let spelled_otherwise = || {
        let spellings = TRUTHS.into_iter().filter(|truth| name.eq_ignore_ascii_case(truth));
        let mut found = spellings.filter_map(&known);
        // Which one is meant cannot be told where the training file has several.
        found.next().filter(|_| found.next().is_none())
    };
    known(name).or_else(spelled_otherwise)
}

/// What the user says marks a missing value, besides what always does.
#[derive(Debug, Clone)]
pub struct Mark {
    /// As it is written.
    pub text: String,
    /// Where it is one, since a program may have written -999 as -999.0.
    number: Option<f64>,
}

impl Mark {
    /// The mark that is written so.
    pub fn new(text: &str) -> Self {
        Self { text: text.to_owned(), number: Cell::parse(text).number() }
    }

    /// Whether it is all that a cell holds.
    pub fn is_in(&self, cell: &str) -> bool {
        cell == self.text || self.number.is_some() && Cell::parse(cell).number() == self.number
    }
}

impl Cell {
    fn number(self) -> Option<f64> {
        match self {
            Self::Number(number) => Some(number),
            Self::Missing | Self::NotFinite | Self::Text => None,
        }
    }

    /// What the text of a cell is.
    pub fn parse(text: &str) -> Self {
        let text = trimmed(text);
        // As word processors and Wikipedia write the sign.
        let negative = text.strip_prefix('\u{2212}').map(|number| format!("-{number}"));
        match negative.as_deref().unwrap_or(text).parse::<f64>() {
            Ok(number) if number.is_finite() => Self::Number(number),
            // `1e999` has digits and overflows; `inf` and `nan` have none.
            Ok(number) if text.contains(|c: char| c.is_ascii_digit()) => Self::Number(number),
            _ if text.is_empty() || ALWAYS_MISSING.contains(&text) => Self::Missing,
            Ok(_) => Self::NotFinite,
            Err(_) => Self::Text,
        }
    }
}

/// The value of a cell of a numeric column, `None` where it is missing.
///
/// It keeps its 64 bits until the mean is subtracted: in 32, times in milliseconds would be equal.
///
/// - `format`: what the numbers of the column may have
pub fn number(
    column: &str,
    text: &str,
    format: Option<NumberFormat>,
) -> Result<Option<f64>, CellError> {
    let name = || column.to_owned();
    match Cell::parse(text) {
        Cell::Missing => Ok(None),
        Cell::Number(number) if (number as f32).is_finite() => Ok(Some(number)),
        Cell::Number(_) => Err(CellError::TooLarge { column: name(), text: quoted(text) }),
        Cell::NotFinite => Err(CellError::NotFinite { column: name(), text: quoted(text) }),
        Cell::Text => match format.and_then(|format| Some((format, Number::parse(text, '.')?))) {
            Some((NumberFormat { point: Some('.'), .. }, formatted))
                if formatted.may_have_comma() =>
            {
                Err(CellError::NotANumber { column: name(), text: quoted(text) })
            }
            Some((NumberFormat { sign, .. }, formatted))
                if formatted.sign.is_none() || formatted.sign == sign =>
            {
                number(column, &formatted.plain(), None)
            }
            Some((NumberFormat { sign: Some(sign), .. }, _)) => {
                Err(CellError::OtherSign { column: name(), text: quoted(text), sign })
            }
            _ => Err(CellError::NotANumber { column: name(), text: quoted(text) }),
        },
    }
}

/// The name of the category or class in a cell, `None` where it is missing.
pub fn category(text: &str) -> Option<Cow<'_, str>> {
    match Cell::parse(text) {
        Cell::Missing => None,
        cell => Some(name(cell, text)),
    }
}

/// The name of a category or class: its text, or for a number its shortest form.
///
/// Programs write one class as `1`, `01` or `1.0`, sometimes in the training file and the file to
/// predict differently.
pub fn name(cell: Cell, text: &str) -> Cow<'_, str> {
    // Beyond these bounds different texts share a float, or the shortest form gets long.
    const EXACT: std::ops::Range<f64> = 1e-6..9_007_199_254_740_992.0;
    match cell {
        Cell::Number(0.0) => "0".into(),
        Cell::Number(number) if EXACT.contains(&number.abs()) => number.to_string().into(),
        _ => trimmed(text).into(),
    }
}

/// The unit behind a number, as in `75 kg`.
pub fn unit(text: &str) -> Option<&str> {
    let text = trimmed(text);
    let (number, unit) = text.split_at(text.find(char::is_alphabetic)?);
    let is_number = |text: &str| text.trim_end().parse::<f64>().is_ok();
    (is_number(number) && !is_number(text)).then_some(unit)
}

/// Whether a text is a whole number with a leading zero, as many codes are.
pub fn is_padded(text: &str) -> bool {
    let text = trimmed(text);
    text.len() > 1 && text.starts_with('0') && text.bytes().all(|byte| byte.is_ascii_digit())
}

/// Whether a number may be a code: it has a leading zero, or more digits than numbers are read with.
pub fn may_be_code(text: &str) -> bool {
    /// Digits of the largest whole numbers that are read exactly.
    const EXACT: usize = 15;
    let text = trimmed(text);
    let is_long = text.len() > EXACT && text.bytes().all(|byte| byte.is_ascii_digit());
    is_long || is_padded(text)
}

/// The text without the blanks around it.
pub fn trimmed(text: &str) -> &str {
    // Most cells have none, and are short: to decode their first and last characters takes long.
    match text.as_bytes() {
        [b'!'..=b'~'] | [b'!'..=b'~', .., b'!'..=b'~'] => text,
        _ => text.trim(),
    }
}

/// A cell as an error shows it: on one line, shortened.
pub fn quoted(text: &str) -> String {
    let text = trimmed(text);
    let mut shown: String =
        text.chars().take(QUOTED).map(|c| if c.is_control() { ' ' } else { c }).collect();
    if text.chars().nth(QUOTED).is_some() {
        shown.push('…');
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_read_as_what_they_say() {
        let check = |text, expected| assert_eq!(Cell::parse(text), expected, "{text:?}");
        for missing in ["", "  ", " NA ", "\tNone"].into_iter().chain(ALWAYS_MISSING) {
            check(missing, Cell::Missing);
        }
        let signed = [("+3", 3.0), ("-1e-3 ", -0.001), ("\u{2212}1.5", -1.5)];
        for (text, value) in [(".28", 0.28), ("5.", 5.0)].into_iter().chain(signed) {
            check(text, Cell::Number(value));
        }
        for literal in ["+nan", "NAN", "inf", "-Inf", "+infinity", "INFINITY"] {
            check(literal, Cell::NotFinite);
        }
        for text in ["na", "none", "1,5", "1_000", "0x10", "--1", "Braund, Mr. Owen"] {
            check(text, Cell::Text);
        }
        check("1e999", Cell::Number(f64::INFINITY));
    }

    #[test]
    fn numbers_may_have_a_unit() {
        let check = |text, expected| assert_eq!(unit(text), expected, "{text}");
        check("75 kg", Some("kg"));
        check(" -1.5km/h ", Some("km/h"));
        for none in ["75", "kg", "", "1e5", "a 75 kg", "12-A", "10:30 h"] {
            check(none, None);
        }
    }

    #[test]
    fn codes_have_needless_zeros() {
        for (text, padded) in [("007", true), ("00", true), ("0", false), ("70", false)] {
            assert_eq!(is_padded(text), padded, "{text}");
        }
        assert!(!is_padded("0.5") && !is_padded("0x1") && !is_padded(""));
        assert!(may_be_code("1234567890123456") && !may_be_code("123456789012345"), "of 16 digits");
    }

    #[test]
    fn what_is_true_is_found_in_another_spelling_where_only_one_is_known() {
        let found =
            |name, known: &[&str]| find(name, |name| known.iter().position(|&other| other == name));
        assert_eq!(found("TRUE", &["False", "True"]), Some(1));
        assert_eq!(found("True", &["TRUE", "True"]), Some(1));
        assert_eq!(found("true", &["TRUE", "True"]), None);
        assert_eq!(found("YES", &["yes"]), None);
    }

    #[test]
    fn a_mark_is_a_text_or_a_number_however_it_is_written() {
        let number = Mark::new("-999");
        assert!(number.is_in("-999") && number.is_in("-999.0") && !number.is_in("999"));
        let text = Mark::new("lost");
        assert!(text.is_in("lost"));
        assert!(["", "NA", "found", "0", "inf"].iter().all(|other| !text.is_in(other)));
    }

    #[test]
    fn a_numeric_cell_is_within_the_range_of_an_f32_or_an_error() {
        assert_eq!(number("x", "2.5", None), Ok(Some(2.5)));
        assert_eq!(number("x", "1700000000001", None), Ok(Some(1_700_000_000_001.0)));
        assert_eq!(number("x", "NaN", None), Ok(None));
        let message = |text| number("x", text, None).unwrap_err().to_string();
        assert_eq!(message("abc"), "column `x`: `abc` is not a number");
        assert_eq!(message("inf"), "column `x`: `inf` is not a finite number");
        assert_eq!(message("1e39"), "column `x`: `1e39` is too large for a 32-bit float");
        assert_eq!(message("1e999"), "column `x`: `1e999` is too large for a 32-bit float");
        assert_eq!(message(&"é\n".repeat(99)).chars().count(), 29 + QUOTED + 2);
    }

    #[test]
    fn a_column_s_format_is_no_part_of_its_numbers() {
        let dollars = Some(NumberFormat { sign: Some('$'), point: None });
        for text in ["1234.5", "$1,234.5", "1,234.5", "1234.5 $"] {
            assert_eq!(number("x", text, dollars), Ok(Some(1234.5)), "{text}");
        }
        let check = |text, format, message: &str, help: &str| {
            let error = number("x", text, format).unwrap_err();
            assert_eq!(error.to_string(), format!("column `x`: {message}"));
            assert!(error.help().contains(help), "{}", error.help());
        };
        let other = "`€5` is not in `$`, as the column's numbers are";
        check("€5", dollars, other, "write it with `$` or without a sign");
        check("1,5", dollars, "`1,5` is not a number", "commas between thousands");
        check("($5)", dollars, "`($5)` is not a number", "write numbers as -1234.5");
        let beside_commas = Some(NumberFormat { sign: None, point: Some('.') });
        check("1,234", beside_commas, "`1,234` is not a number", "commas are read only if");
        assert_eq!(number("a", "1,234.5", beside_commas), Ok(Some(1234.5)));
        assert_eq!(number("a", "1,234,567", beside_commas), Ok(Some(1_234_567.0)));
        check(
            "$5",
            Some(NumberFormat::default()),
            "`$5` is not a number",
            "write numbers as -1234.5",
        );
        check("$5", None, "`$5` is not a number", "write numbers as -1234.5");
        check("$1e39", dollars, "`1e39` is too large for a 32-bit float", "another unit");
    }

    #[test]
    fn one_number_is_one_category_however_it_is_written() {
        let check = |text, expected: &str| {
            assert_eq!(category(text).as_deref(), Some(expected));
        };
        for text in ["1", "01", "1.0", "+1", "1e0", " 1 "] {
            check(text, "1");
        }
        check("-0.0", "0");
        check("0.50", "0.5");
        check(" female ", "female");
        check("12345678901234567890", "12345678901234567890");
        check("1e300", "1e300");
        check("NAN", "NAN"); // the airport of Nadi
        assert_eq!(category("NA"), None);
    }
}
