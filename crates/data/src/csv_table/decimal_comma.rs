//! Numbers with a decimal comma, as much of Europe writes them, in files with another delimiter.

use crate::preprocess::{cell::Cell, dress::Number};

/// How the numbers of some cells are written.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(super) enum Notation {
    /// With a decimal point.
    #[default]
    Point,
    /// With a decimal comma.
    Comma,
    /// As either: `5`, `1,234` or `1.234`.
    Either,
}

impl Notation {
    pub(super) fn of<'a>(cells: impl Iterator<Item = &'a str>) -> Self {
        let mut notation = Self::Either;
        for cell in cells {
            match Number::parse(cell, ',') {
                Some(number) if has_decimal_comma(&number) => notation = Self::Comma,
                None if cell.contains('.') && is_with_point(cell) => return Self::Point,
                _ => {}
            }
        }
        notation
    }

    /// Reads a text as a number in dress, unless its comma may be decimal or not.
    pub(super) fn dressed(self, text: &str) -> Option<Number<'_>> {
        match self {
            Self::Comma => Number::parse(text, ','),
            Self::Either if text.contains(',') => None,
            Self::Point | Self::Either => Number::parse(text, '.'),
        }
    }
}

fn is_with_point(cell: &str) -> bool {
    cell.parse::<f64>().is_ok() || Number::parse(cell, '.').is_some()
}

/// Whether a number's comma can separate no thousands.
fn has_decimal_comma(number: &Number) -> bool {
    let (groups, fraction) = (&number.groups, number.fraction);
    fraction.is_some_and(|digits| digits.len() != 3 || groups.len() > 1 || groups[0] == "0")
}

/// A number of a file with decimal commas with a point and nothing between its thousands; `None` where the
/// cell needs no change, or is [dressed](dressed_with_point) besides and so may be a name.
pub(super) fn with_point(cell: &str) -> Option<String> {
    let number = Number::parse(cell, ',').filter(|number| number.sign.is_none())?;
    let is_written_so = match number.separator {
        Some(separator) => separator == '.',
        None => number.fraction.is_some(),
    };
    is_written_so.then(|| number.plain())
}

/// As [`with_point`], of a number that is not plain even then; its sign stays.
pub(super) fn dressed_with_point(cell: &str) -> Option<String> {
    let number = Number::parse(cell, ',').filter(|_| Cell::parse(cell) == Cell::Text)?;
    Some(number.sign.map_or(number.plain(), |sign| format!("{}{sign}", number.plain())))
}

/// Whether the cell has a number with a decimal comma.
pub(super) fn has_comma(cell: &str) -> bool {
    Number::parse(cell, ',').is_some_and(|number| number.fraction.is_some())
}

/// Whether a number's point may separate thousands: `1.234`.
pub(super) fn may_group(cell: &str) -> bool {
    let number = Number::parse(cell, ',');
    number.is_some_and(|number| number.separator.is_some() && number.fraction.is_none())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commas_become_points() {
        let check = |cell, expected: Option<&str>| {
            assert_eq!(with_point(cell).as_deref(), expected, "{cell}");
        };
        check("5,1", Some("5.1"));
        check("-0,1257", Some("-0.1257"));
        check("+1,5E-03", Some("+1.5E-03"));
        check("1.234,56", Some("1234.56"));
        check("361.303", Some("361303"));
        check("12.345.678", Some("12345678"));
        for other in
            ["", "5", "5.1", "1,2,3", ",5", "5,", "1.23,4", "1234.567", "a,5", "1,5e", "é,1"]
        {
            check(other, None);
        }
    }

    #[test]
    fn a_comma_is_decimal_where_nothing_else_is_possible() {
        let check = |cells: &[&str], expected| {
            assert_eq!(Notation::of(cells.iter().copied()), expected, "{cells:?}");
        };
        check(&["x", "1,234", "5,1", "3"], Notation::Comma);
        check(&["1.234,567"], Notation::Comma);
        check(&["0,125", "2.030"], Notation::Comma);
        check(&["1,234", "5,678"], Notation::Either);
        check(&["2.030", "361.303"], Notation::Either);
        check(&["a, b", "3"], Notation::Either);
        check(&["5,1", "0.5"], Notation::Point);
        check(&["1,234 %", "€ 5,1"], Notation::Comma);
        check(&["1 234,50"], Notation::Comma);
        check(&["$1,234", "$0.5"], Notation::Point);
        check(&["5,1", "1,234.50"], Notation::Point);
        check(&["$1,234", "1,234,567"], Notation::Either);
    }

    #[test]
    fn numbers_in_dress_keep_their_sign() {
        let check = |cell, expected: Option<&str>| {
            assert_eq!(dressed_with_point(cell).as_deref(), expected, "{cell}");
            assert_eq!(with_point(cell), None, "{cell}");
        };
        check("€ 1.234,56", Some("1234.56€"));
        check("-5,1 %", Some("-5.1%"));
        check("1 234", Some("1234"));
        for other in ["1.125", "\u{2212}1.125", "€ 1.5", "a", ""] {
            assert_eq!(dressed_with_point(other), None, "{other}");
        }
    }

    #[test]
    fn commas_are_read_where_they_have_one_meaning() {
        let check = |notation: Notation, text, expected: Option<&str>| {
            let plain = notation.dressed(text).map(|number| number.plain());
            assert_eq!(plain.as_deref(), expected, "{notation:?} {text}");
        };
        check(Notation::Point, "$1,234", Some("1234"));
        check(Notation::Comma, "$1,234", Some("1.234"));
        check(Notation::Either, "$1,234", None);
        check(Notation::Either, "$1234", Some("1234"));
    }

    #[test]
    fn thousands_may_have_points() {
        for cell in ["1.234", "-361.303", "12.345.678"] {
            assert!(may_group(cell), "{cell}");
        }
        for cell in ["0.125", "1.23", "1234", "1.234,5", "1234.567"] {
            assert!(!may_group(cell), "{cell}");
        }
    }
}
