//! Numbers with a decimal comma, as much of Europe writes them, given a point.

use preprocess::{cell::Cell, number_format::Number};

/// A number of a file with decimal commas with a point and nothing between its thousands; `None` where the
/// cell needs no change, or is [formatted](formatted_with_point) besides and so may be a name.
pub(super) fn with_point(cell: &str) -> Option<String> {
    let number = Number::parse(cell, ',').filter(|number| number.sign.is_none())?;
    let is_written_so = match number.separator {
        Some(separator) => separator == '.',
        None => number.fraction.is_some(),
    };
    is_written_so.then(|| number.plain())
}

/// As [`with_point`], of a number that is not plain even then; its sign stays.
pub(super) fn formatted_with_point(cell: &str) -> Option<String> {
    let number = Number::parse(cell, ',').filter(|_| Cell::parse(cell) == Cell::Text)?;
    Some(number.sign.map_or(number.plain(), |sign| format!("{}{sign}", number.plain())))
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
    fn formatted_numbers_keep_their_sign() {
        let check = |cell, expected: Option<&str>| {
            assert_eq!(formatted_with_point(cell).as_deref(), expected, "{cell}");
            assert_eq!(with_point(cell), None, "{cell}");
        };
        check("€ 1.234,56", Some("1234.56€"));
        check("-5,1 %", Some("-5.1%"));
        check("1 234", Some("1234"));
        for other in ["1.125", "\u{2212}1.125", "€ 1.5", "a", ""] {
            assert_eq!(formatted_with_point(other), None, "{other}");
        }
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
