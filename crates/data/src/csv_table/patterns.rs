//! What the order, the size and the form of a column's cells tell.

use preprocess::cell::Cell;

use super::summary::Place;
use crate::table::Moments;

/// Whether a column is numbers down to some row and texts from there on, or the reverse.
#[derive(Debug, Default, Clone)]
pub(super) struct Runs {
    /// Whether the last value was a text.
    text: Option<bool>,
    pub(super) changes: u64,
    pub(super) first_change: Option<Place>,
}

impl Runs {
    pub(super) fn add(&mut self, is_text: bool, line: u64, text: &str) {
        if self.text.replace(is_text).is_some_and(|last| last != is_text) {
            self.changes += 1;
            self.first_change.get_or_insert_with(|| Place::new(line, text));
        }
    }
}

/// Whether each number is one more than the number above it.
#[derive(Debug, Default, Clone)]
pub(super) enum Counter {
    #[default]
    Empty,
    Counts {
        first: f64,
        last: f64,
    },
    Broken,
}

impl Counter {
    pub(super) fn add(&mut self, cell: Cell) {
        *self = match (&*self, cell) {
            (Self::Empty, Cell::Number(number)) => Self::Counts { first: number, last: number },
            // Of large numbers the next one may be the same.
            (&Self::Counts { first, last }, Cell::Number(number))
                if number == last + 1.0 && number != last =>
            {
                Self::Counts { first, last: number }
            }
            _ => Self::Broken,
        };
    }
}

/// Whole numbers without a point.
#[derive(Debug, Default, Clone)]
pub(super) struct Wholes {
    /// Whether one is between 100 and 999, of either sign.
    hundreds: bool,
    /// Whether one is larger.
    thousands: bool,
}

impl Wholes {
    pub(super) fn add(&mut self, number: f64, text: &str) {
        if number.fract() == 0.0 && !text.contains('.') {
            self.hundreds |= (100.0..1000.0).contains(&number.abs());
            self.thousands |= number.abs() >= 1000.0;
        }
    }

    /// Whether they are such as programs leave without a point where they write others as `1.721`.
    pub(super) fn are_below_grouped(&self) -> bool {
        self.hundreds && !self.thousands
    }
}

/// The least and the greatest numbers.
#[derive(Debug, Default, Clone)]
pub(super) struct Extremes {
    moments: Moments,
    /// At most [`KEPT`] of each, the most extreme first.
    least: Vec<(f64, Place)>,
    greatest: Vec<(f64, Place)>,
    /// The smallest and the largest number.
    ends: Option<[End; 2]>,
}

/// The number at an end.
#[derive(Debug, Clone)]
struct End {
    number: f64,
    /// How often it occurs.
    count: u64,
    /// The next number.
    next: Option<f64>,
}

impl End {
    fn new(number: f64) -> Self {
        Self { number, count: 1, next: None }
    }

    fn add(&mut self, number: f64, is_beyond: fn(f64, f64) -> bool) {
        if number == self.number {
            self.count += 1;
        } else if is_beyond(number, self.number) {
            *self = Self { next: Some(self.number), ..Self::new(number) };
        } else if self.next.is_none_or(|next| is_beyond(number, next)) {
            self.next = Some(number);
        }
    }
}

/// More numbers are a part of the distribution.
const MOST_OUTLIERS: usize = 8;
/// As many of each end as can be outliers, and the next one.
const KEPT: usize = MOST_OUTLIERS + 1;
/// Several numbers are outliers where the next one is so many times closer to the mean.
const GAP: f64 = 3.0;

impl Extremes {
    pub(super) fn add(&mut self, number: f64, line: u64, text: &str) {
        self.moments.add(number);
        match &mut self.ends {
            Some([smallest, largest]) => {
                smallest.add(number, |number, other| number < other);
                largest.add(number, |number, other| number > other);
            }
            none => *none = Some([End::new(number), End::new(number)]),
        }
        let keep = |ends: &mut Vec<(f64, Place)>, is_beyond: fn(f64, f64) -> bool| {
            if ends.len() < KEPT || ends.last().is_some_and(|&(last, _)| is_beyond(number, last)) {
                let place = ends.partition_point(|&(other, _)| !is_beyond(number, other));
                ends.truncate(KEPT - 1);
                ends.insert(place, (number, Place::new(line, text)));
            }
        };
        keep(&mut self.least, |number, other| number < other);
        keep(&mut self.greatest, |number, other| number > other);
    }

    /// A number such as `-999` that recurs and is farther from all others than these are from each other, which
    /// is how many programs write that a value is missing; and how often it does.
    pub(super) fn missing_mark(&self) -> Option<(f64, u64)> {
        let [smallest, largest] = self.ends.as_ref()?;
        let is_mark = |end: &End, other: &End| {
            let apart = end
                .next
                .is_some_and(|next| (next - end.number).abs() > (other.number - next).abs());
            apart && end.count > 1 && is_of_nines(end.number)
        };
        [(smallest, largest), (largest, smallest)]
            .into_iter()
            .find(|(end, other)| is_mark(end, other))
            .map(|(end, _)| (end.number, end.count))
    }

    /// The number that makes up more than half of the variance, or several that do and are far from the
    /// next: how many, and the farthest.
    pub(super) fn outliers(&self) -> Option<(usize, &Place)> {
        let (numbers, mean) = (self.moments.count(), self.moments.mean());
        let deviation = self.moments.deviation();
        let are_apart = numbers >= 2 * KEPT as u64; // the two ends
        if !are_apart || deviation <= 0.0 {
            return None;
        }
        let ends = self.least.iter().chain(&self.greatest);
        let mut far: Vec<(f64, &Place)> =
            ends.map(|(number, place)| ((number - mean).abs() / deviation, place)).collect();
        far.sort_by(|(one, _), (other, _)| other.total_cmp(one));
        let mut share = 0.0;
        let last = far.windows(2).take(MOST_OUTLIERS).position(|pair| {
            let [(distance, _), (next, _)] = [pair[0], pair[1]];
            let is_first = share == 0.0;
            share += distance.powi(2) / numbers as f64;
            share > 0.5 && (is_first || distance > GAP * next)
        })?;
        Some((last + 1, far[0].1))
    }
}

/// Whether a number is written with nines only, and at least two: -99, 9999.
fn is_of_nines(number: f64) -> bool {
    let digits = number.abs().to_string();
    digits.len() > 1 && digits.bytes().all(|digit| digit == b'9')
}

/// Whether a text is a time: 10:30, 1:30:05.
fn is_time(text: &str) -> bool {
    let mut parts = text.split(':');
    let is_number = |part: &str| part.bytes().all(|byte| byte.is_ascii_digit());
    let is_first = |part: &str| (1..=2).contains(&part.len()) && is_number(part);
    let is_next = |part: &str| {
        let (whole, fraction) = part.split_once('.').unwrap_or((part, ""));
        whole.len() == 2 && is_number(whole) && is_number(fraction)
    };
    let [hour, minute, second] = [(); 3].map(|()| parts.next());
    hour.is_some_and(is_first)
        && minute.is_some_and(is_next)
        && second.is_none_or(is_next)
        && parts.next().is_none()
}

/// Dates and times, and whether they are in order.
#[derive(Debug, Default, Clone)]
pub(super) struct Dates {
    pub(super) count: u64,
    last: String,
    /// Whether one was later than the one above it.
    rises: bool,
    /// Whether one was earlier, or has no order that its text tells.
    falls: bool,
}

impl Dates {
    /// Takes the next text.
    pub(super) fn add(&mut self, text: &str) {
        if !is_date_or_time(text) {
            return;
        }
        self.count += 1;
        // With the year first, and then a month of two digits, the order of the texts is that of the dates.
        let [year, month] = [text.get(..4), text.get(5..7)];
        let are_digits =
            |part: Option<&str>| part.is_some_and(|part| part.bytes().all(|b| b.is_ascii_digit()));
        self.falls |= !(are_digits(year) && are_digits(month)) || text < self.last.as_str();
        self.rises |= self.count > 1 && text > self.last.as_str();
        text.clone_into(&mut self.last);
    }

    /// Whether none is earlier than the one above it, and not all are the same.
    pub(super) fn are_in_order(&self) -> bool {
        self.rises && !self.falls
    }
}

/// Whether a text is a time, or begins with a date: 2024-01-31, 31.1.2024, 01/31/24.
pub(super) fn is_date_or_time(text: &str) -> bool {
    is_time(text) || begins_with_date(text)
}

fn begins_with_date(text: &str) -> bool {
    let numbers: Vec<&str> = text.splitn(3, ['-', '/', '.']).collect();
    let [first, second, third] = numbers[..] else { return false };
    let third = third.split([' ', 'T']).next().unwrap_or_default();
    let parts = [first, second, third];
    let are_numbers = parts.iter().all(|part| part.bytes().all(|byte| byte.is_ascii_digit()));
    let has_lengths = match parts.map(str::len) {
        [4, one, other] | [one, other, 4] => {
            [one, other].iter().all(|length| (1..=2).contains(length))
        }
        lengths => lengths == [2; 3],
    };
    are_numbers && has_lengths
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_and_times_are_told_from_other_texts() {
        for text in
            ["2024-01-31", "31.1.2024 10:00", "01/31/24", "1.5.2024", "10:30", "1:30:05", "3:05.25"]
        {
            assert!(is_date_or_time(text), "{text}");
        }
        let scores = ["2:1", "16:9", "10:30:5"];
        let ids = ["123-45-6789", "2024-001-31", "2024-2024-01", "1-2-3", "2024--1"];
        let others = ["10.3.0", "1:2:3:4", "10:", "a:b", "100:30", "", "10"];
        for text in scores.into_iter().chain(ids).chain(others) {
            assert!(!is_date_or_time(text), "{text}");
        }
    }

    #[test]
    fn dates_in_order_are_noticed() {
        let in_order = |texts: &[&str]| {
            let mut dates = Dates::default();
            texts.iter().for_each(|text| dates.add(text));
            dates.are_in_order()
        };
        assert!(in_order(&["2023-12-31", "2024-01-01", "2024-01-01 10:00", "2024-02-01"]));
        assert!(!in_order(&["2023-12-31", "2024-01-01", "2023-12-31"]));
        assert!(!in_order(&["2023-12-31", "2023-12-31"]));
        assert!(!in_order(&["30.1.2024", "31.1.2024"]), "the text does not tell");
        assert!(!in_order(&["2024/1/9", "2024/1/10"]), "nor here");
        assert!(!in_order(&[]));
    }

    #[test]
    fn marks_of_missing_values_are_found() {
        let found = |numbers: &[f64]| {
            let mut extremes = Extremes::default();
            numbers.iter().zip(1..).for_each(|(&number, line)| extremes.add(number, line, "x"));
            extremes.missing_mark()
        };
        assert_eq!(found(&[0.5, -999.0, 0.25, -999.0, 1.0]), Some((-999.0, 2)));
        assert_eq!(found(&[9999.0, 0.5, 0.25, 9999.0, 9999.0]), Some((9999.0, 3)));
        assert_eq!(found(&[0.5, -999.0, 0.25, 1.0]), None, "once");
        assert_eq!(found(&[0.5, -998.0, 0.25, -998.0]), None, "another number");
        assert_eq!(found(&[10.0, 20.0, 80.0, 99.0, 99.0]), None, "an age");
        assert_eq!(found(&[99.0, 99.0]), None, "nothing else");
        assert_eq!(found(&[]), None);
    }

    #[test]
    fn numbers_far_from_all_others_are_found() {
        let found = |last: &[f64]| {
            let mut extremes = Extremes::default();
            let numbers: Vec<f64> = (0..50).map(f64::from).chain(last.iter().copied()).collect();
            numbers.iter().zip(1..).for_each(|(&number, line)| extremes.add(number, line, "x"));
            extremes.outliers().map(|(count, place)| (count, place.line))
        };
        assert_eq!(found(&[1e9]), Some((1, 51)));
        assert_eq!(found(&[-1e9]), Some((1, 51)));
        assert_eq!(found(&[2400.0, 2500.0, 2450.0]), Some((3, 52)));
        assert_eq!(found(&[-1e4, 1e4, 1e4]), Some((3, 51)));
        assert_eq!(found(&[1e6; 8]), Some((8, 51)));
        assert_eq!(found(&[1e6; 9]), None, "as many are a part of the distribution");
        assert_eq!(found(&[]), None);
        // As of incomes, of which a few are high and some are between.
        assert_eq!(found(&[100.0, 150.0, 250.0, 300.0]), None);
        assert_eq!(Extremes::default().outliers(), None);
    }
}
