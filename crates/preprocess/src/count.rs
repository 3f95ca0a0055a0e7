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
}
