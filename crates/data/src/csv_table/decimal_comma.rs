//! Numbers with a decimal comma, as much of Europe writes them, in files with another delimiter.

/// How the numbers of some cells are written.
#[derive(Debug, PartialEq)]
pub(super) enum Notation {
    /// With a decimal point.
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
            match Number::parse(cell) {
                Some(number) if number.has_decimal_comma() => notation = Self::Comma,
                None if cell.contains('.') && cell.parse::<f64>().is_ok() => return Self::Point,
                _ => {}
            }
        }
        notation
    }
}

/// A number of a file with decimal commas with a point and nothing between its thousands; `None` where the
/// cell needs no change.
pub(super) fn with_point(cell: &str) -> Option<String> {
    let Number { sign, groups, fraction, exponent } = Number::parse(cell)?;
    let fraction = fraction.map(|digits| format!(".{digits}")).unwrap_or_default();
    Some(format!("{sign}{}{fraction}{exponent}", groups.concat()))
}

/// Whether the cell has a number with a decimal comma.
pub(super) fn has_comma(cell: &str) -> bool {
    Number::parse(cell).is_some_and(|number| number.fraction.is_some())
}

/// Whether a number's point may separate thousands: `1.234`.
pub(super) fn may_group(cell: &str) -> bool {
    Number::parse(cell).is_some_and(|number| number.fraction.is_none() && number.groups[0] != "0")
}

/// A number with a comma before its fraction, points between its thousands, or both.
struct Number<'a> {
    sign: &'a str,
    groups: Vec<&'a str>,
    fraction: Option<&'a str>,
    exponent: &'a str,
}

impl<'a> Number<'a> {
    /// Whether its comma can separate no thousands.
    fn has_decimal_comma(&self) -> bool {
        let is_certain =
            |fraction: &str| fraction.len() != 3 || self.groups.len() > 1 || self.groups[0] == "0";
        self.fraction.is_some_and(is_certain)
    }

    fn parse(text: &'a str) -> Option<Self> {
        let is_digits = |text: &str| !text.is_empty() && text.bytes().all(|c| c.is_ascii_digit());
        let (sign, number) = text.split_at(usize::from(text.starts_with(['+', '-'])));
        let (mantissa, exponent) = number.split_at(number.find(['e', 'E']).unwrap_or(number.len()));
        if !exponent.is_empty() && exponent[1..].parse::<i32>().is_err() {
            return None;
        }
        let (whole, fraction) = match mantissa.split_once(',') {
            Some((whole, fraction)) => (whole, Some(fraction)),
            None => (mantissa, None),
        };
        let groups: Vec<&str> = whole.split('.').collect();
        let is_grouped = groups.len() > 1;
        let fits = |group: &&str| is_digits(group) && (!is_grouped || group.len() == 3);
        let first = is_digits(groups[0]) && (!is_grouped || groups[0].len() <= 3);
        let is_written_so = first
            && groups[1..].iter().all(fits)
            && fraction.is_none_or(is_digits)
            && (is_grouped || fraction.is_some());
        is_written_so.then_some(Self { sign, groups, fraction, exponent })
    }
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
