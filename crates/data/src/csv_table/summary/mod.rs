//! What the first pass keeps of a column: counts, and its values while they are few.

mod format_seen;

use std::{cmp::Ordering, collections::HashMap};

use preprocess::cell::{self, Cell, PLAIN_NUMBERS, is_padded, may_be_code};

pub(super) use self::format_seen::CommonFormat;
use self::format_seen::FormatSeen;
use super::{
    decimal_comma,
    notation::Notation,
    patterns::{Counter, Dates, Extremes, Runs, Wholes},
    records::MISSING,
    schema::Kind,
};
use crate::{
    count::{counted, grouped},
    table::{MOST_CLASSES, MOST_INTEGER_CLASSES, may_be_classes, recur},
};

/// The most values of a column that are counted separately: a column of more would need a network
/// of its own. It also bounds the text in memory.
const LARGEST_CATEGORIES: usize = MOST_CLASSES;

/// As [`LARGEST_CATEGORIES`], of a column that the user wants to be embedded: as many as have a code.
pub(super) const LARGEST_EMBEDDED: usize = MISSING as usize;

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

    fn shown(&self) -> String {
        format!("`{}` in line {}", self.text, self.line)
    }
}

/// What was seen of the cells of a column so far.
#[derive(Debug, Default, Clone)]
pub(super) struct Summary {
    embedded: bool,
    notation: Notation,
    /// Cells without a value.
    pub(super) missing: u64,
    /// Numbers, `inf` and its like among them.
    numbers: u64,
    /// Texts.
    texts: u64,
    /// The first text.
    pub(super) first_text: Option<Place>,
    /// The first of `inf` and its like, which in a column of texts are texts.
    pub(super) first_not_finite: Option<Place>,
    format_seen: FormatSeen,
    /// The first number with a unit, the unit, and how many numbers have that unit.
    with_unit: Option<(Place, String, u64)>,
    /// The first number that may be a code.
    pub(super) first_code: Option<Place>,
    /// Names of the values, until they are too many; each with the form of all its cells, if that
    /// is a number with leading zeros.
    values: HashMap<String, Option<String>>,
    /// The first number with leading zeros, shortened, whose value has other forms too, and that value.
    pub(super) respelled: Option<[String; 2]>,
    overflown: bool,
    /// Whether no value came twice before that.
    differed: bool,
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
    dates: Dates,
    /// Texts of three words or more.
    sentences: u64,
    extremes: Extremes,
}

impl Summary {
    /// Of no cells.
    ///
    /// - `embedded`: whether the user wants its categories to be embedded, which takes more of them
    /// - `notation`: how its numbers are written
    pub(super) fn new(embedded: bool, notation: Notation) -> Self {
        Self { embedded, notation, ..Self::default() }
    }

    /// The most values that are counted separately.
    pub(super) fn most_values(&self) -> usize {
        if self.embedded { LARGEST_EMBEDDED } else { LARGEST_CATEGORIES }
    }

    /// Takes the next cell.
    pub(super) fn add(&mut self, line: u64, text: &str) {
        let cell = Cell::parse(text);
        if cell == Cell::Text || self.format_seen.takes_plain() {
            self.see_format(cell, line, text);
        }
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
            self.dates.add(text);
            let mut words = text.split_whitespace();
            let third = words.by_ref().filter(|word| word.contains(char::is_alphabetic)).nth(2);
            self.sentences += u64::from(third.is_some());
            if let Some(unit) = cell::unit(text) {
                let first = || (Place::new(line, text), unit.to_owned(), 0);
                let (_, known, count) = self.with_unit.get_or_insert_with(first);
                *count += u64::from(known == unit);
            }
        } else {
            self.numbers += 1;
            if self.first_code.is_none() && may_be_code(text) {
                self.first_code = Some(Place::new(line, text));
            }
        }
        if cell == Cell::NotFinite {
            self.first_not_finite.get_or_insert_with(|| Place::new(line, text));
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
                let other = padded.take_if(|padded| padded.as_str() != text);
                if self.respelled.is_none() && padded.is_none() {
                    let with_zeros = other.as_deref().or(Some(text).filter(|text| is_padded(text)));
                    let pair = |text: &str| [cell::quoted(text), name.to_string()];
                    self.respelled = with_zeros.map(pair);
                }
            }
            None => {
                let padded = is_padded(text).then(|| text.to_owned());
                self.values.insert(name.into_owned(), padded);
            }
        }
        if self.values.len() > self.most_values() {
            self.overflown = true;
            self.differed = self.values.len() as u64 == self.present();
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

    /// Whether each row has a date, and none is earlier than the one above it.
    pub(super) fn has_dates_in_order(&self) -> bool {
        self.missing == 0 && self.dates.count == self.present() && self.dates.are_in_order()
    }

    /// Whether most texts have several words, which may tell what the texts as a whole do not.
    pub(super) fn has_sentences(&self) -> bool {
        2 * self.sentences > self.texts && self.dates.count < self.present()
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

    /// Whether all of its cells are whole numbers, each another one as far as they were kept.
    pub(super) fn tells_rows_apart(&self) -> bool {
        let is_long = self.missing == 0 && self.present() >= FEWEST_COUNTED;
        is_long && self.is_whole() && !self.repeats_a_value()
    }

    /// Whether a value is there more than once, as far as they were kept.
    pub(super) fn repeats_a_value(&self) -> bool {
        match self.distinct() {
            Some(distinct) => (distinct as u64) < self.present(),
            None => !self.differed,
        }
    }

    /// The first number whose point may separate thousands, if no other has a point.
    pub(super) fn grouped(&self) -> Option<&Place> {
        let may_be = !self.has_point && self.notation != Notation::Comma;
        self.first_grouped.as_ref().filter(|_| may_be)
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

    /// The number of different values, `None` if they are too many.
    pub(super) fn distinct(&self) -> Option<usize> {
        (!self.overflown).then_some(self.values.len())
    }

    /// The different values, numbers by size and texts by alphabet, `None` if they are too many.
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
            _ if self.dates.count == present => Kind::Dropped(
                "it holds dates or times, which hardly recur; write numbers instead, such as the \
                 month, the days since the first one, or seconds"
                    .to_owned(),
            ),
            categories => Kind::Dropped(match (self.note_on_unread(), categories) {
                (Some(numbers), _) => numbers,
                (None, None) if self.has_sentences() => {
                    format!("it has more than {} different texts", self.most_values())
                }
                (None, None) => format!(
                    "it has more than {} different texts; an embedding (`model.embedding`) takes them if \
                     `data.columns` says that it is categorical",
                    self.most_values()
                ),
                (None, Some(categories)) => format!(
                    "its text hardly recurs, so it tells little of other rows: {} different ones \
                     in {}",
                    grouped(categories.len()),
                    counted(present, "row"),
                ),
            }),
        }
    }

    /// The first number with a unit, if at least 90 % of the cells are numbers, or have that unit.
    fn measured(&self) -> Option<&Place> {
        let (first, _, count) = self.with_unit.as_ref()?;
        let nearly_all = 10 * (count + self.numbers) >= 9 * self.present();
        (nearly_all && !self.is_numeric()).then_some(first)
    }

    /// What the user should know of a column of formatted numbers that are
    /// [not read](Self::unread_number), or of numbers with a unit.
    pub(super) fn note_on_unread(&self) -> Option<String> {
        self.shown_format().or(self.measured().map(Place::shown)).map(|shown| {
            format!("its numbers are written as {shown} and read as text; {PLAIN_NUMBERS}")
        })
    }
}

#[cfg(test)]
mod tests;
