//! Counts as people read them.

use std::fmt::Display;

/// A number without decimals, with commas between the thousands.
pub fn grouped(number: impl Display) -> String {
    // Integers have no decimals to leave out.
    let digits = format!("{number:.0}");
    let (sign, digits) = match digits.strip_prefix('-') {
        Some(digits) => ("-", digits),
        None => ("", digits.as_str()),
    };
    let mut text = sign.to_owned();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// `1 row`, `2,000 rows`
///
/// - `unit`: of one
pub fn counted(number: impl Display, unit: &str) -> String {
    let number = grouped(number);
    let ending = if number == "1" { "" } else { "s" };
    format!("{number} {unit}{ending}")
}

/// ``the file `a` ``, ``2,000 files, such as `a` ``
///
/// - `unit`: of one
pub fn such_as(count: usize, unit: &str, first: impl Display) -> String {
    match count {
        1 => format!("the {unit} `{first}`"),
        _ => format!("{}, such as `{first}`", counted(count, unit)),
    }
}

/// ``the file `a` is empty``, ``2,000 files, such as `a`, are empty``
///
/// - `unit`: of one
/// - `what`: what they are
pub fn such_as_are(count: usize, unit: &str, first: impl Display, what: &str) -> String {
    let are = if count == 1 { " is" } else { ", are" };
    format!("{}{are} {what}", such_as(count, unit, first))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thousands_are_grouped_and_one_is_singular() {
        assert_eq!(grouped(1_234_567.4), "1,234,567");
        assert_eq!(grouped(-999.0), "-999");
        assert_eq!(grouped(-1000), "-1,000");
        assert_eq!(counted(1, "epoch"), "1 epoch");
        assert_eq!([0, 2000].map(|steps| counted(steps, "step")), ["0 steps", "2,000 steps"]);
    }

    #[test]
    fn one_of_several_stands_for_all() {
        let files = [1, 2000].map(|count| such_as(count, "file", "a"));
        assert_eq!(files, ["the file `a`", "2,000 files, such as `a`"]);
        let files = [1, 2000].map(|count| such_as_are(count, "file", "a", "empty"));
        assert_eq!(files, ["the file `a` is empty", "2,000 files, such as `a`, are empty"]);
    }
}
