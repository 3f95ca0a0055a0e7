//! What the first pass keeps of a column: counts, and its values while they are few.

use std::{cmp::Ordering, collections::HashMap};

use super::{
    decimal_comma,
    patterns::{Counter, Extremes, Runs, Wholes, is_date},
    schema::Kind,
};
use crate::{
    preprocess::cell::{self, Cell, PLAIN_NUMBERS},
    table::{MOST_INTEGER_CLASSES, may_be_classes, recur},
};

/// The most values of a column that are counted separately: a column of more would need a network
/// of its own. It also bounds the text in memory.
pub(super) const LARGEST_CATEGORIES: usize = 1000;

/// Fewer rows may well be in the order of a feature.
const FEWEST_COUNTED: u64 = 10;

/// The most different texts among numbers that are taken for marks of missing values.
const MOST_MARKERS: usize = 5;

/// Whether at least 95 % of the cells that are not missing are numbers.
pub(super) fn mostly_numbers(numbers: u64, texts: u64) -> bool {
    numbers > 0 && 20 * numbers >= 19 * (numbers + texts)
}

/// A cell and its line, for an error.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Place {
    pub(super) line: u64,
    pub(super) text: String,
}

impl Place {
    pub(super) fn new(line: u64, text: &str) -> Self {
        Self { line, text: cell::quoted(text) }
    }
}

/// What was seen of the cells of a column so far.
#[derive(Debug, Default)]
pub(super) struct Summary {
    /// Cells without a value.
    pub(super) missing: u64,
    /// Numbers, `inf` and its like among them.
    pub(super) numbers: u64,
    /// Texts.
    pub(super) texts: u64,
    /// The first text.
    pub(super) first_text: Option<Place>,
    /// Texts that are numbers written for people.
    dressed: u64,
    first_dressed: Option<Place>,
    /// The first number with a leading zero.
    pub(super) first_padded: Option<Place>,
    /// Names of the values, until they are too many; each with the form of all its cells, if that
    /// is a number with leading zeros.
    values: HashMap<String, Option<String>>,
    overflown: bool,
    /// The different texts, until there are more than [`MOST_MARKERS`].
    markers: Vec<String>,
    /// Whether there was a number with a fraction.
    fractional: bool,
    runs: Runs,
    counter: Counter,
    /// The first number whose point may separate thousands.
    first_grouped: Option<Place>,
    /// Whether the point of a number is a decimal one.
    has_point: bool,
    wholes: Wholes,
    /// Texts that begin with a date.
    dates: u64,
    extremes: Extremes,
}

impl Summary {
    /// Takes the next cell.
    pub(super) fn add(&mut self, line: u64, text: &str) {
        let cell = Cell::parse(text);
        let is_text = match cell {
            Cell::Missing => {
                self.missing += 1;
                return;
            }
            Cell::Number(_) | Cell::NotFinite => false,
            Cell::Text => true,
        };
        if is_text {
            self.texts += 1;
            self.first_text.get_or_insert_with(|| Place::new(line, text));
            if self.markers.len() <= MOST_MARKERS && !self.markers.iter().any(|m| m == text) {
                self.markers.push(text.to_owned());
            }
            self.dates += u64::from(is_date(text));
            if cell::is_dressed_number(text) {
                self.dressed += 1;
                self.first_dressed.get_or_insert_with(|| Place::new(line, text));
            }
        } else {
            self.numbers += 1;
            if self.first_padded.is_none() && cell::is_padded(text) {
                self.first_padded = Some(Place::new(line, text));
            }
        }
        self.fractional |= matches!(cell, Cell::Number(number) if number.fract() != 0.0);
        if !is_text && text.contains('.') && !self.has_point {
            self.has_point = !decimal_comma::may_group(text);
            self.first_grouped.get_or_insert_with(|| Place::new(line, text));
        }
        if let Cell::Number(number) = cell {
            self.extremes.add(number, line, text);
            self.wholes.add(number, text);
        }
        self.runs.add(is_text, line, text);
        self.counter.add(cell);
        self.add_value(cell, text);
    }

    fn add_value(&mut self, cell: Cell, text: &str) {
        if self.overflown {
            return;
        }
        let name = cell::name(cell, text);
        match self.values.get_mut(name.as_ref()) {
            Some(padded) => {
                padded.take_if(|padded| padded.as_str() != text);
            }
            None => {
                let padded = cell::is_padded(text).then(|| text.to_owned());
                self.values.insert(name.into_owned(), padded);
            }
        }
        if self.values.len() > LARGEST_CATEGORIES {
            self.overflown = true;
            self.values = HashMap::new();
        }
    }

    /// Cells with a value.
    pub(super) fn present(&self) -> u64 {
        self.numbers + self.texts
    }

    /// Whether this is a column of numbers, by the share of them.
    pub(super) fn is_numeric(&self) -> bool {
        mostly_numbers(self.numbers, self.texts)
    }

    /// The first text of a column of numbers with a few texts, such as `-`, in too many cells to
    /// be slips. Few whole numbers with texts among them, as 1, 2 and `3+`, are categories.
    pub(super) fn marker(&self) -> Option<&Place> {
        let mixed = self.numbers > self.texts && !self.is_numeric();
        let distinct = self.distinct().unwrap_or(usize::MAX);
        let categories = !self.fractional
            && distinct <= MOST_INTEGER_CLASSES + self.markers.len()
            && 2 * distinct as u64 <= self.present();
        let place = self.first_text.as_ref();
        place.filter(|_| mixed && self.markers.len() <= MOST_MARKERS && !categories)
    }

    /// The first number with a decimal comma, a thousands separator, a currency or a percent sign,
    /// if at least 90 % of the cells are such numbers or plain ones.
    pub(super) fn dressed(&self) -> Option<&Place> {
        let nearly_all = 10 * (self.dressed + self.numbers) >= 9 * self.present();
        self.first_dressed.as_ref().filter(|_| nearly_all && !self.is_numeric())
    }

    /// Whether values [`recur`].
    pub(super) fn recurs(&self) -> bool {
        self.distinct().is_some_and(|values| recur(values, self.present()))
    }

    /// Whether there are few values, which [may be classes](may_be_classes).
    pub(super) fn may_be_classes(&self) -> bool {
        self.distinct().is_some_and(|values| may_be_classes(values, self.present()))
    }

    /// The share of numbers among the cells with a value, rounded down.
    pub(super) fn percent_numbers(&self) -> u64 {
        100 * self.numbers / self.present().max(1)
    }

    /// Whether all values are whole numbers.
    pub(super) fn is_whole(&self) -> bool {
        self.texts == 0 && !self.fractional
    }

    /// Whether the column numbers the rows.
    pub(super) fn is_counter(&self) -> bool {
        self.missing == 0
            && self.present() >= FEWEST_COUNTED
            && matches!(self.counter, Counter::Counts { .. })
    }

    /// Whether it does so from 0 or 1, unlike years.
    pub(super) fn is_index(&self) -> bool {
        let from_start = matches!(self.counter, Counter::Counts { first: 0.0 | 1.0, .. });
        self.is_counter() && from_start
    }

    /// The first number whose point may separate thousands, if no other has a point.
    pub(super) fn grouped(&self) -> Option<&Place> {
        self.first_grouped.as_ref().filter(|_| !self.has_point)
    }

    /// The extreme numbers, unless there are few different ones.
    pub(super) fn extremes(&self) -> Extremes {
        let varied = self.distinct().is_none_or(|distinct| distinct > MOST_INTEGER_CLASSES);
        if varied { self.extremes.clone() } else { Extremes::default() }
    }

    /// As [`grouped`](Self::grouped), where the numbers without a point tell that it does: programs write
    /// `925` beside `1.721` where they group digits, and `925.000` where they do not.
    pub(super) fn surely_grouped(&self) -> Option<&Place> {
        self.grouped().filter(|_| self.wholes.are_below_grouped())
    }

    /// The number of different values, `None` if more than [`LARGEST_CATEGORIES`].
    pub(super) fn distinct(&self) -> Option<usize> {
        (!self.overflown).then_some(self.values.len())
    }

    /// The different values, numbers by size and texts by alphabet, `None` if more than
    /// [`LARGEST_CATEGORIES`].
    pub(super) fn categories(&self) -> Option<Vec<String>> {
        self.distinct()?;
        let mut categories: Vec<String> = self.values.keys().cloned().collect();
        categories.sort_by(|a, b| {
            let by_size = match (a.parse::<f64>(), b.parse::<f64>()) {
                (Ok(a), Ok(b)) => a.total_cmp(&b),
                (Ok(_), Err(_)) => Ordering::Less,
                (Err(_), Ok(_)) => Ordering::Greater,
                (Err(_), Err(_)) => Ordering::Equal,
            };
            by_size.then_with(|| a.cmp(b)) // different texts may be the same float
        });
        Some(categories)
    }

    /// As [`categories`](Self::categories), with the leading zeros that all cells of a class have.
    pub(super) fn classes(&self) -> Option<Vec<String>> {
        let mut classes = self.categories()?;
        for class in &mut classes {
            if let Some(Some(padded)) = self.values.get(class) {
                class.clone_from(padded);
            }
        }
        Some(classes)
    }

    /// The first cell of the lower part of a column whose two parts are of different types, each
    /// of at least two cells and more than a stray twentieth.
    pub(super) fn type_change(&self) -> Option<&Place> {
        let fewer = self.numbers.min(self.texts);
        let two_parts = self.runs.changes == 1 && fewer >= 2 && 20 * fewer > self.present();
        self.runs.first_change.as_ref().filter(|_| two_parts)
    }

    /// What the column holds by the share of numbers and of different texts.
    pub(super) fn kind(&self) -> Kind {
        let present = self.present();
        if present == 0 {
            return Kind::Dropped("it has no values".to_owned());
        }
        if self.is_numeric() {
            return Kind::Numeric;
        }
        match self.categories() {
            Some(categories) if self.recurs() => Kind::Categorical(categories),
            _ if self.dates == present => Kind::Dropped(
                "it holds dates, which are nearly unique; write numbers instead, such as the month or \
                 the days since the first one"
                    .to_owned(),
            ),
            categories => Kind::Dropped(match (self.unread_numbers(), categories) {
                (Some(numbers), _) => numbers,
                (None, None) => format!("it has more than {LARGEST_CATEGORIES} different texts"),
                (None, Some(categories)) => format!(
                    "its text is nearly unique, so it tells nothing of other rows: {} different \
                     ones in {present} rows",
                    categories.len(),
                ),
            }),
        }
    }

    /// What the user should know of a column of [`dressed`](Self::dressed) numbers.
    pub(super) fn unread_numbers(&self) -> Option<String> {
        self.dressed().map(|Place { line, text }| {
            format!(
                "its numbers are written as `{text}` in line {line} and read as text; {PLAIN_NUMBERS}"
            )
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn summary<'a>(cells: impl IntoIterator<Item = &'a str>) -> Summary {
        let mut summary = Summary::default();
        for (index, cell) in cells.into_iter().enumerate() {
            summary.add(index as u64 + 1, cell);
        }
        summary
    }

    #[test]
    fn nineteen_of_twenty_make_numbers() {
        let numbers = |count| std::iter::repeat_n("1.5", count);
        assert_eq!(summary(numbers(19).chain(["x"])).kind(), Kind::Numeric);
        assert_ne!(summary(numbers(18).chain(["x"])).kind(), Kind::Numeric);
        assert_eq!(summary(numbers(1).chain(["", "?", "NA", "NaN"])).kind(), Kind::Numeric);
    }

    #[test]
    fn repeated_text_is_a_category_and_unique_text_is_dropped() {
        let check = |cells: &[&str], expected: &[&str]| {
            let expected = expected.iter().map(|&name| name.to_owned()).collect();
            assert_eq!(summary(cells.iter().copied()).kind(), Kind::Categorical(expected));
        };
        check(&["b", "a", "b", "a", ""], &["a", "b"]);
        check(&["10", "x", "9", "x", "10.0", "9"], &["9", "10", "x"]);
        assert!(matches!(summary(["a", "b", "c", "a"]).kind(), Kind::Dropped(_)));
        assert_eq!(summary(["", "?"]).kind(), Kind::Dropped("it has no values".into()));
    }

    /// A map has another order each time.
    #[test]
    fn numbers_that_are_the_same_float_have_an_order() {
        let ids: Vec<String> = (0..7).map(|i| format!("12345678901234567{i}")).collect();
        for _ in 0..5 {
            let categories = summary(ids.iter().rev().map(String::as_str)).categories();
            assert_eq!(categories, Some(ids.clone()));
            assert_eq!(
                summary(["1e-7", "x", "0.0000001"]).categories().unwrap(),
                ["0.0000001", "1e-7", "x"]
            );
        }
    }

    #[test]
    fn values_are_kept_until_they_are_too_many() {
        let names: Vec<String> = (0..=LARGEST_CATEGORIES).map(|i| format!("n{i}")).collect();
        let most = summary(names[1..].iter().map(String::as_str));
        assert_eq!(most.distinct(), Some(LARGEST_CATEGORIES));
        let more = summary(names.iter().chain(&names).map(String::as_str));
        assert_eq!((more.distinct(), more.categories()), (None, None));
        assert!(matches!(more.kind(), Kind::Dropped(_)));
    }

    #[test]
    fn numbers_in_dress_are_pointed_out() {
        let check = |cells: &[&str], expected: Option<&str>| {
            let summary = summary(cells.iter().copied());
            assert_eq!(summary.dressed().map(|place| &*place.text), expected, "{cells:?}");
        };
        check(&["1,5", "2", "", "3,25"], Some("1,5"));
        check(&["$1", "$2", "$3", "$4", "$5", "$6", "$7", "$8", "$9", "free"], Some("$1"));
        check(&["$1", "$2", "$3", "free"], None);
        check(&["1", "2", "3"], None);
        check(&["a", "b", ""], None);
        check(&[&["1"; 30][..], &["1,5"]].concat(), None); // a slip has an error of its own

        let reason = |cells: &[&str]| match summary(cells.iter().copied()).kind() {
            Kind::Dropped(reason) => reason,
            kind => panic!("{kind:?}"),
        };
        let dropped = reason(&["x", "0,5", "1,5", "2,5", "3,5", "4,5", "5,5", "6,5", "7,5", "8,5"]);
        assert!(dropped.starts_with("its numbers are written as `0,5` in line 2 "), "{dropped}");
        let percents = ["5%", "10%", "5%", "10%"];
        assert!(matches!(summary(percents).kind(), Kind::Categorical(_)));
        assert!(summary(percents).unread_numbers().is_some());
    }

    #[test]
    fn points_separate_thousands_where_other_numbers_tell() {
        let check = |cells: &[&str], expected: Option<&str>| {
            let summary = summary(cells.iter().copied());
            assert_eq!(summary.surely_grouped().map(|place| &*place.text), expected, "{cells:?}");
        };
        check(&["925", "1.721", "12.345.678"], Some("1.721"));
        check(&["-100", "", "-1.721"], Some("-1.721"));
        check(&["1.721", "2.030"], None); // may as well be decimal
        check(&["5", "1.721"], None);
        check(&["925", "1.721", "0.5"], None);
        check(&["925", "1.721", "1500"], None);
        check(&["925", "1500"], None);
    }

    #[test]
    fn dates_that_hardly_recur_are_told_from_other_texts() {
        let reason = |cells: &[&str]| match summary(cells.iter().copied()).kind() {
            Kind::Dropped(reason) => reason,
            kind => panic!("{kind:?}"),
        };
        let dates = reason(&["2024-01-31", "31.1.2024 10:00", "01/31/24", ""]);
        assert!(dates.starts_with("it holds dates"), "{dates}");
        let texts = reason(&["2024-01-31", "a", "b"]);
        assert!(texts.starts_with("its text is nearly unique"), "{texts}");
    }

    #[test]
    fn classes_keep_the_zeros_that_all_of_their_cells_have() {
        let check = |cells: &[&str], expected: &[&str]| {
            assert_eq!(summary(cells.iter().copied()).classes().unwrap(), expected);
        };
        check(&["007", "001", "007", "010"], &["001", "007", "010"]);
        check(&["01", "1", "02", "00"], &["00", "1", "02"]);
        check(&["1.0", "0.0", "x"], &["0", "1", "x"]);
        assert_eq!(summary(["7", "", "070", "08"]).first_padded.unwrap().line, 3);
    }

    #[test]
    fn a_change_of_type_has_its_line() {
        let check = |cells: &[&str], line| {
            let summary = summary(cells.iter().copied());
            assert_eq!(summary.type_change().map(|place| place.line), line, "{cells:?}");
        };
        check(&["1", "2", "", "x", "y"], Some(4));
        check(&["x", "y", "1", "2"], Some(3));
        check(&["1", "2", "x"], None);
        check(&["1", "x", "2", "y"], None);
        check(&["x", "y"], None);
    }

    #[test]
    fn few_texts_among_numbers_are_markers() {
        let check = |numbers: &[&str], texts: &[&str], expected: Option<(u64, &str, u64)>| {
            let summary = summary(numbers.iter().chain(texts).copied());
            let found = summary.marker();
            let found = found.map(|place| (place.line, &*place.text, summary.percent_numbers()));
            assert_eq!(found, expected, "{numbers:?} {texts:?}");
        };
        let many: Vec<String> = (0..1800).map(|i| (i % 900).to_string()).collect();
        let many: Vec<&str> = many.iter().map(String::as_str).collect();
        check(&many[..90], &["-"; 10], Some((91, "-", 90)));
        check(&many, &["-"; 200], Some((1801, "-", 90)));
        check(&many, &["none", "-", "n.a.", "x", "y"].repeat(20), Some((1801, "none", 94)));
        check(&["0.5", "1", "0.5", "1"], &["-"], Some((5, "-", 80)));
        check(&["7", "8", "9"], &["-"], Some((4, "-", 75)));

        check(&many[..90], &["-"; 4], None); // a slip has an error of its own
        check(&many[..90], &["-"; 90], None);
        check(&many, &["a", "b", "c", "d", "e", "f"].repeat(20), None);
        check(&["1", "2", "1", "2", "1", "2"], &["3+", "3+"], None);
        check(&many, &[], None);
    }

    #[test]
    fn a_counter_counts() {
        let numbers = |first: u32, rows: u32| {
            (first..first + rows).map(|n| n.to_string()).collect::<Vec<_>>()
        };
        let check = |cells: &[String], counter, index| {
            let summary = summary(cells.iter().map(String::as_str));
            assert_eq!((summary.is_counter(), summary.is_index()), (counter, index), "{cells:?}");
        };
        check(&numbers(1990, 10), true, false);
        check(&numbers(0, 10), true, true);
        check(&numbers(1, 10), true, true);
        check(&numbers(1, 9), false, false);
        check(&[numbers(1, 10), vec![String::new()]].concat(), false, false);
        check(&[numbers(1, 10), numbers(12, 9)].concat(), false, false);
        check(&["a"; 12].map(str::to_owned), false, false);
    }
}
