//! Numbers as people write them and programs do not: `$1,234.50`, `12 %`.

use serde::{Deserialize, Serialize};

/// The signs that a number may have before or behind it.
const SIGNS: [char; 6] = ['$', '€', '£', '¥', '₹', '%'];

/// What may stand before the digits; the last as word processors write it.
const MINUSES: [char; 3] = ['-', '+', '\u{2212}'];

/// What the numbers of a column may have besides thousands separators; they may all be plain too.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct NumberFormat {
    /// The one currency or percent sign, if they have any.
    pub sign: Option<char>,
    /// What stands before their fractions in the training file, a point or a comma, if other columns
    /// differ in that.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub point: Option<char>,
}

/// The parts of a number, formatted or plain.
#[derive(Debug)]
pub struct Number<'a> {
    minus: Option<char>,
    /// A currency or percent sign.
    pub sign: Option<char>,
    /// The digits before the point, by threes if something separates them.
    pub groups: Vec<&'a str>,
    /// What separates them.
    pub separator: Option<char>,
    /// The digits behind the point.
    pub fraction: Option<&'a str>,
    exponent: &'a str,
}

impl<'a> Number<'a> {
    /// Reads a number whose fraction stands behind `point`, a point or a comma; the other of the two,
    /// a space or an apostrophe may separate thousands.
    pub fn parse(text: &'a str, point: char) -> Option<Self> {
        let (minus, sign, number) = split_signs(text);
        // Most texts are no number.
        if !number.starts_with(|c: char| c.is_ascii_digit()) {
            return None;
        }
        let (mantissa, exponent) = number.split_at(number.find(['e', 'E']).unwrap_or(number.len()));
        let (whole, fraction) = match mantissa.split_once(point) {
            Some((whole, fraction)) => (whole, Some(fraction)),
            None => (mantissa, None),
        };
        let separator = whole.chars().find(|c| !c.is_ascii_digit());
        let groups = match separator {
            Some(mark) if mark.is_whitespace() || ".,'’".contains(mark) => {
                by_threes(whole, mark)?
            }
            Some(_) => return None,
            None => vec![whole],
        };
        let is_number = fraction.is_none_or(is_digits)
            && (exponent.is_empty() || exponent[1..].parse::<i32>().is_ok());
        is_number.then_some(Self { minus, sign, groups, separator, fraction, exponent })
    }

    /// Whether its comma may be a decimal one too: `1,234`.
    pub fn may_have_comma(&self) -> bool {
        self.separator == Some(',') && self.fraction.is_none() && self.groups.len() == 2
    }

    /// The number as programs write it.
    pub fn plain(&self) -> String {
        let minus = self.minus.map(String::from).unwrap_or_default();
        let fraction = self.fraction.map(|digits| format!(".{digits}")).unwrap_or_default();
        format!("{minus}{}{fraction}{}", self.groups.concat(), self.exponent)
    }
}

/// Whether a text is a formatted number of any kind: those that are read in the right column, and what is not
/// read, such as the negative numbers of accountants.
pub fn is_formatted(text: &str) -> bool {
    let around = |c: char| c.is_whitespace() || SIGNS.contains(&c);
    let bare = text.trim_matches(around);
    let in_brackets = bare.strip_prefix('(').and_then(|bare| bare.strip_suffix(')'));
    let bare = in_brackets.or(bare.strip_suffix('-')).unwrap_or(bare);
    let is_number = |point| Number::parse(bare, point).is_some();
    (is_number('.') || is_number(',')) && text.trim().parse::<f64>().is_err()
}

/// The minus or plus of a text, the sign before or behind its number, and the number.
fn split_signs(text: &str) -> (Option<char>, Option<char>, &str) {
    let (outer, rest) = split_first(text.trim(), &MINUSES);
    let (before, rest) = split_first(rest, &SIGNS);
    let rest = rest.trim_start();
    if before.is_some() {
        let (inner, number) =
            if outer.is_none() { split_first(rest, &MINUSES) } else { (None, rest) };
        return (outer.or(inner), before, number);
    }
    match rest.strip_suffix(SIGNS) {
        Some(number) => (outer, rest.chars().next_back(), number.trim_end()),
        None => (outer, None, rest),
    }
}

/// The first character, if it is one of `these`, and what follows it.
fn split_first<'a>(text: &'a str, these: &[char]) -> (Option<char>, &'a str) {
    match text.strip_prefix(these) {
        Some(rest) => (text.chars().next(), rest),
        None => (None, text),
    }
}

/// The groups of digits between separators, if they are groups of thousands: `0,125` has none.
fn by_threes(whole: &str, separator: char) -> Option<Vec<&str>> {
    let groups: Vec<&str> = whole.split(separator).collect();
    let (first, others) = groups.split_first()?;
    let is_first = is_digits(first) && first.len() <= 3 && !first.starts_with('0');
    let are_threes = others.iter().all(|group| is_digits(group) && group.len() == 3);
    (is_first && are_threes).then_some(groups)
}

fn is_digits(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn check(text: &str, point: char, expected: Option<(Option<char>, &str)>) {
        let found = Number::parse(text, point).map(|number| (number.sign, number.plain()));
        let expected = expected.map(|(sign, plain)| (sign, plain.to_owned()));
        assert_eq!(found, expected, "{text}");
    }

    #[test]
    fn formatting_comes_off() {
        check("12 %", '.', Some((Some('%'), "12")));
        check("$1,234,567.89", '.', Some((Some('$'), "1234567.89")));
        check("€ 5", '.', Some((Some('€'), "5")));
        check("5\u{a0}€", '.', Some((Some('€'), "5")));
        for negative in ["-$1,234.5", "$-1,234.5", "$ -1,234.5", "-1,234.5$", "\u{2212}$1,234.5"] {
            let plain = Number::parse(negative, '.').unwrap().plain();
            assert_eq!(plain.replace('\u{2212}', "-"), "-1234.5", "{negative}");
        }
        for grouped in
            ["1,234.5", "1 234.5", "1\u{a0}234.5", "1\u{202f}234.5", "1'234.5", "1’234.5"]
        {
            check(grouped, '.', Some((None, "1234.5")));
        }
        check("1.234,56 €", ',', Some((Some('€'), "1234.56")));
        check("1 234,56", ',', Some((None, "1234.56")));
        check("+1,5E-03", ',', Some((None, "+1.5E-03")));
    }

    #[test]
    fn what_may_mean_something_else_stays_on() {
        let others = [
            "1,5",
            "0,125",
            "1,2345",
            "1234,567",
            "1,234 567",
            "1,23,456",
            ",123",
            "1,",
            "$",
            "%",
            "",
            "$5%",
            "$$5",
            "--5",
            "- - 5",
            "(5)",
            "5-",
            "10-20%",
            "1.234,5",
            "$inf",
            "$nan",
            "5 kg",
            "1,234.",
            "1.5.2",
            "5e",
            "1 2",
            "2024-01-02",
        ];
        for text in others {
            check(text, '.', None);
        }
        for text in ["1.5", "1,234.5", "0.125", "5,1,1", "é,1"] {
            check(text, ',', None);
        }
    }

    #[test]
    fn formatted_numbers_are_told_from_text() {
        let formatted = [
            "1,3",
            "0,1257",
            "-1,5E-03",
            "1,234",
            "1.234,56",
            "12.345.678",
            "1,234.50",
            "12 345",
            "1\u{a0}234,5",
            "1'234.5",
            "$12.30",
            "-$5",
            "12 €",
            "37%",
            "37.5 %",
            "£1,000",
            "(45)",
            "(1,234.50)",
            "$(5)",
            "45-",
            "\u{2212}1,5",
        ];
        for text in formatted {
            assert!(is_formatted(text), "{text}");
        }
        let others = [
            "",
            "$",
            "%",
            "1.5",
            "1e-3",
            "2020.01.02",
            "1.2.3.4",
            "1,,3",
            "1,2,3",
            "--1",
            "3+",
            "()",
            "(a)",
            "-",
            "2020-01-02",
            "10:30",
            "5 kg",
            "1_000",
            "0x10",
            "a,5",
            "1,5,",
            "1234,567.8",
            "10-20%",
        ];
        for text in others {
            assert!(!is_formatted(text), "{text}");
        }
    }

    /// A number as programs write it, and the same with `separator`s between its thousands.
    fn grouped(number: f64, separator: &str, point: &str) -> String {
        let plain = number.abs().to_string();
        let (whole, fraction) = plain.split_once('.').unwrap_or((&plain, ""));
        let groups: Vec<&str> =
            whole.as_bytes().rchunks(3).rev().map(|group| str::from_utf8(group).unwrap()).collect();
        let minus = if number < 0.0 { "-" } else { "" };
        let point = if fraction.is_empty() { "" } else { point };
        format!("{minus}{}{point}{fraction}", groups.join(separator))
    }

    proptest! {
        #[test]
        fn a_formatted_number_has_the_value_of_the_plain_one(
            number in prop_oneof![-1e12..1e12f64, (-99999i32..99999).prop_map(f64::from)],
            sign in prop::sample::select(SIGNS.to_vec()),
            before: bool,
            space in prop::sample::select(vec!["", " ", "\u{a0}"]),
            separator in prop::sample::select(vec!["", " ", "\u{202f}", "'", ",."]),
            point in prop::sample::select(vec!['.', ',']),
        ) {
            let other = if point == '.' { "," } else { "." };
            let separator = if separator == ",." { other } else { separator };
            let number_text = grouped(number, separator, &point.to_string());
            let text = match before {
                true => format!("{sign}{space}{number_text}"),
                false => format!("{number_text}{space}{sign}"),
            };
            let parsed = Number::parse(&text, point).unwrap();
            prop_assert_eq!((parsed.sign, parsed.plain().parse()), (Some(sign), Ok(number)), "{}", text);
            prop_assert!(is_formatted(&text));
        }

        #[test]
        fn any_text_is_a_number_or_none(text in "[-+$€% 0-9.,'e]{0,12}", point in "[.,]") {
            if let Some(number) = Number::parse(&text, point.chars().next().unwrap()) {
                prop_assert!(number.plain().parse::<f64>().is_ok(), "{}", number.plain());
            }
        }
    }
}
