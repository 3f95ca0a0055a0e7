//! How the numbers of each column are written: with a decimal point or, if the delimiter is not a
//! comma, perhaps with a decimal comma.

use preprocess::{cell::Cell, number_format::Number};

use super::{
    CsvOptions,
    header::{KnownColumn, Layout},
    reader::CsvReader,
    summary::Place,
};
use crate::{DataError, TablePreprocessing};

/// How the numbers of a column are written.
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
    /// Reads a text as a formatted number, unless its comma may be decimal or not.
    pub(super) fn number(self, text: &str) -> Option<Number<'_>> {
        match self {
            Self::Comma => Number::parse(text, ','),
            Self::Either if text.contains(',') => None,
            Self::Point | Self::Either => Number::parse(text, '.'),
        }
    }

    /// What most columns have of those that tell.
    fn of_most(columns: impl Iterator<Item = Self>) -> Self {
        let (mut points, mut commas) = (0, 0);
        for column in columns {
            points += usize::from(column == Self::Point);
            commas += usize::from(column == Self::Comma);
        }
        match points.cmp(&commas) {
            std::cmp::Ordering::Less => Self::Comma,
            std::cmp::Ordering::Equal => Self::Either,
            std::cmp::Ordering::Greater => Self::Point,
        }
    }

    /// This, or the other where this leaves it open.
    fn or(self, other: Self) -> Self {
        if self == Self::Either { other } else { self }
    }
}

/// How many cells of a column tell what.
#[derive(Debug, Default, Clone)]
struct Votes {
    points: usize,
    commas: usize,
    /// Numbers that may be read as either.
    open: usize,
    texts: usize,
    first_comma: Option<Place>,
}

impl Votes {
    fn add(&mut self, line: u64, cell: &str) {
        match Number::parse(cell, ',') {
            Some(number) => {
                if number.fraction.is_some() {
                    self.first_comma.get_or_insert_with(|| Place::new(line, cell));
                }
                match has_decimal_comma(&number) {
                    true => self.commas += 1,
                    false => self.open += 1,
                }
            }
            None if Cell::parse(cell) == Cell::Missing => {}
            None if !is_with_point(cell) => self.texts += 1,
            None if cell.contains('.') => self.points += 1,
            None => self.open += 1,
        }
    }

    /// What most of its cells tell; those of text tell nothing.
    fn notation(&self) -> Notation {
        let Self { points, commas, open, texts, .. } = *self;
        match () {
            () if texts > points + commas + open => Notation::Either,
            () if commas > points => Notation::Comma,
            () if points > 0 => Notation::Point,
            () => Notation::Either,
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

/// How the numbers of the training file are written.
#[derive(Debug)]
pub(super) struct Notations {
    /// By column, as its own cells tell, else as those of most columns.
    pub(super) columns: Vec<Notation>,
    /// That of most columns.
    pub(super) mostly: Notation,
    /// Whether some columns have points and others commas.
    pub(super) differ: bool,
    /// The first number with a decimal comma.
    pub(super) first_comma: Option<Place>,
}

impl Notations {
    /// Reads the whole file: the first row with a fraction may stand far below.
    pub(super) fn of_file(options: &CsvOptions) -> Result<Self, DataError> {
        let mut reader = CsvReader::open(&options.path, &options.missing)?;
        let mut votes = vec![Votes::default(); reader.width()];
        if reader.may_have_decimal_commas() {
            // What is wrong with a row is told when the file is read for its values.
            while let Ok(Some(row)) = reader.next_row() {
                votes
                    .iter_mut()
                    .zip(row.cells())
                    .for_each(|(votes, cell)| votes.add(row.line, cell));
            }
        } else {
            votes.iter_mut().for_each(|votes| votes.points = 1);
        }
        Ok(Self::of(&votes))
    }

    fn of(votes: &[Votes]) -> Self {
        let own = || votes.iter().map(Votes::notation);
        let mostly = Notation::of_most(own());
        let columns: Vec<Notation> = own().map(|own| own.or(mostly)).collect();
        let has = |notation| columns.contains(&notation);
        let differ = has(Notation::Point) && has(Notation::Comma);
        let with_comma = votes.iter().zip(&columns).filter(|(_, own)| **own == Notation::Comma);
        let first_commas = with_comma.filter_map(|(votes, _)| votes.first_comma.as_ref());
        let first_comma = first_commas.min_by_key(|place| place.line).cloned();
        Self { columns, mostly, differ, first_comma }
    }

    /// What stands before the fractions of a column, where columns differ.
    pub(super) fn point(&self, column: usize) -> Option<char> {
        match self.columns[column] {
            _ if !self.differ => None,
            Notation::Point => Some('.'),
            Notation::Comma => Some(','),
            Notation::Either => None,
        }
    }
}

/// How the numbers that a model reads are written in a file, by column and by the rows ahead; as in the
/// training file, where these leave it open. Numbers that are names have no say in it, and are written as
/// the others.
pub(super) fn of_known(
    reader: &CsvReader,
    layout: &Layout,
    known: &TablePreprocessing,
) -> Vec<Notation> {
    let mut columns = vec![Notation::Point; reader.width()];
    if !reader.may_have_decimal_commas() {
        return columns;
    }
    let own = |place: usize| {
        let mut votes = Votes::default();
        let rows = reader.ahead().filter(|row| row.len() == reader.width());
        rows.for_each(|row| votes.add(row.line, row.cell(place)));
        votes.notation()
    };
    let notations: Vec<(Notation, KnownColumn)> = layout
        .known(known)
        .into_iter()
        .map(|column| {
            (if column.are_numbers { own(column.place) } else { Notation::Either }, column)
        })
        .collect();
    let unmarked = notations.iter().filter(|(_, column)| column.point().is_none());
    let trained = if known.decimal_comma { Notation::Comma } else { Notation::Point };
    let others = Notation::of_most(unmarked.map(|(own, _)| *own)).or(trained);
    for (own, column) in notations {
        columns[column.place] = own.or(match column.point() {
            Some(',') => Notation::Comma,
            Some(_) => Notation::Point,
            None => others,
        });
    }
    columns
}

#[cfg(test)]
mod tests {
    use super::*;

    fn votes(cells: &[&str]) -> Votes {
        let mut votes = Votes::default();
        cells.iter().zip(2..).for_each(|(cell, line)| votes.add(line, cell));
        votes
    }

    #[test]
    fn a_comma_is_decimal_where_nothing_else_is_possible() {
        let check = |cells: &[&str], expected| {
            assert_eq!(votes(cells).notation(), expected, "{cells:?}");
        };
        check(&["x", "1,234", "5,1", "3"], Notation::Comma);
        check(&["1.234,567"], Notation::Comma);
        check(&["0,125", "2.030"], Notation::Comma);
        check(&["1,234", "5,678"], Notation::Either);
        check(&["2.030", "361.303"], Notation::Either);
        check(&["a, b", "3"], Notation::Either);
        check(&["a", "b", "0.5"], Notation::Either);
        check(&["a", "b", "3", "5,1"], Notation::Comma);
        check(&["", "NA", "0.5"], Notation::Point);
        check(&["5,1", "0.5"], Notation::Point);
        check(&["5,1", "0.5", "6,2"], Notation::Comma);
        check(&["1,234 %", "€ 5,1"], Notation::Comma);
        check(&["1 234,50"], Notation::Comma);
        check(&["$1,234", "$0.5"], Notation::Point);
        check(&["5,1", "1,234.50"], Notation::Point);
        check(&["$1,234", "1,234,567"], Notation::Either);
    }

    #[test]
    fn a_column_that_leaves_it_open_is_written_as_most() {
        use Notation::{Comma, Either, Point};
        let check = |columns: &[&str], expected: &[Notation], points: &[Option<char>]| {
            let votes: Vec<Votes> = columns.iter().map(|cell| votes(&[*cell])).collect();
            let notations = Notations::of(&votes);
            assert_eq!(notations.columns, expected, "{columns:?}");
            let found = (0..columns.len()).map(|column| notations.point(column));
            assert_eq!(found.collect::<Vec<_>>(), points, "{columns:?}");
        };
        check(&["5,1", "2.030"], &[Comma, Comma], &[None, None]);
        check(&["5.1", "2.030"], &[Point, Point], &[None, None]);
        check(&["7", "2.030"], &[Either, Either], &[None, None]);
        check(&["2.0", "5,1", "2.030"], &[Point, Comma, Either], &[Some('.'), Some(','), None]);
        check(
            &["2.0", "5,1", "0,1", "2.030"],
            &[Point, Comma, Comma, Comma],
            &[Some('.'), Some(','), Some(','), Some(',')],
        );
    }

    #[test]
    fn commas_are_read_where_they_have_one_meaning() {
        let check = |notation: Notation, text, expected: Option<&str>| {
            let plain = notation.number(text).map(|number| number.plain());
            assert_eq!(plain.as_deref(), expected, "{notation:?} {text}");
        };
        check(Notation::Point, "$1,234", Some("1234"));
        check(Notation::Comma, "$1,234", Some("1.234"));
        check(Notation::Either, "$1,234", None);
        check(Notation::Either, "$1234", Some("1234"));
    }
}
