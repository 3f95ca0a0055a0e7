//! The confusion matrix: as a table, or drawn where there are many classes.

use crate::{
    evaluation::EvaluationReport,
    names::{LONGEST_NAME, shortened},
    numbers::{counted, grouped},
};

/// The most classes for which the page has a confusion matrix.
pub(crate) const MOST_IN_MATRIX: usize = 200;
/// Of more classes it is drawn.
const MOST_IN_TABLE: usize = 30;
/// The most letters of all class names that head a column each; more are numbered.
const LETTERS_OF_HEADS: usize = 120;
/// With more columns than so many the table is close, with shorter names.
const MOST_WIDE_COLUMNS: usize = 12;
const LONGEST_CLOSE_NAME: usize = 28;
/// How many of the most confused pairs of classes are named.
const MOST_PAIRS: usize = 6;
/// Of a cell of the table, so that its count can be read, and of one that is drawn.
const STRONGEST: [f64; 2] = [0.6, 1.0];

pub(super) enum Matrix {
    /// Of no classes, or of too many.
    None,
    Table(Table),
    Drawn(Drawn),
}

pub(super) struct Table {
    pub(super) is_close: bool,
    pub(super) columns: Vec<String>,
    pub(super) rows: Vec<Row>,
}

/// A true class.
pub(super) struct Row {
    pub(super) class: String,
    /// As it is shown.
    pub(super) short: String,
    pub(super) cells: Vec<Cell>,
}

pub(super) struct Cell {
    pub(super) count: String,
    pub(super) colour: Colour,
}

/// A square for each count that is not 0.
pub(super) struct Drawn {
    pub(super) classes: usize,
    pub(super) squares: Vec<Square>,
}

pub(super) struct Square {
    pub(super) truth: usize,
    pub(super) prediction: usize,
    /// `horse as cat (3 times)`
    pub(super) told: String,
    pub(super) colour: Colour,
}

/// By the share of the true class.
pub(super) struct Colour {
    pub(super) kind: &'static str,
    /// In 0 to 1.
    pub(super) strength: String,
}

impl Colour {
    fn of(report: &EvaluationReport, truth: usize, prediction: usize, strongest: f64) -> Self {
        let counts = &report.confusion[truth];
        let share = counts[prediction] as f64 / counts.iter().sum::<u64>().max(1) as f64;
        // The cube root makes a few mistakes among many samples visible.
        let (kind, strength) =
            if truth == prediction { ("right", share) } else { ("wrong", share.cbrt()) };
        Self { kind, strength: format!("{:.2}", strongest * strength) }
    }
}

impl Matrix {
    pub(super) fn of(report: &EvaluationReport) -> Self {
        match report.classes.len() {
            classes if classes == 0 || classes > MOST_IN_MATRIX => Self::None,
            ..=MOST_IN_TABLE => Self::Table(Table::of(report)),
            _ => Self::Drawn(Drawn::of(report)),
        }
    }
}

impl Table {
    fn of(report: &EvaluationReport) -> Self {
        let classes = &report.classes;
        let letters: usize = classes.iter().map(|class| class.chars().count()).sum();
        let named = letters <= LETTERS_OF_HEADS;
        let is_close = classes.len() > MOST_WIDE_COLUMNS;
        let longest = if is_close { LONGEST_CLOSE_NAME } else { LONGEST_NAME };
        let column = |(index, class): (usize, &String)| {
            if named { class.clone() } else { format!("#{}", index + 1) }
        };
        let row = |(truth, (class, counts)): (usize, (&String, &Vec<u64>))| {
            let class = if named { class.clone() } else { format!("#{} {class}", truth + 1) };
            let cell = |(prediction, &count): (usize, &u64)| Cell {
                count: grouped(count),
                colour: Colour::of(report, truth, prediction, STRONGEST[0]),
            };
            let cells = counts.iter().enumerate().map(cell).collect();
            Row { short: shortened(&class, longest), class, cells }
        };
        Self {
            is_close,
            columns: classes.iter().enumerate().map(column).collect(),
            rows: classes.iter().zip(&report.confusion).enumerate().map(row).collect(),
        }
    }
}

impl Drawn {
    fn of(report: &EvaluationReport) -> Self {
        let square = |(count, truth, prediction)| Square {
            truth,
            prediction,
            told: told(report, count, truth, prediction),
            colour: Colour::of(report, truth, prediction, STRONGEST[1]),
        };
        let squares = counts(report).map(square).collect();
        Self { classes: report.classes.len(), squares }
    }
}

/// The counts that are not 0: each with its true and its predicted class.
fn counts(report: &EvaluationReport) -> impl Iterator<Item = (u64, usize, usize)> {
    let rows = report.confusion.iter().enumerate();
    let cells = rows.flat_map(|(truth, counts)| {
        counts.iter().enumerate().map(move |(prediction, &count)| (count, truth, prediction))
    });
    cells.filter(|&(count, ..)| count > 0)
}

/// `horse as cat (3 times)`
fn told(report: &EvaluationReport, count: u64, truth: usize, prediction: usize) -> String {
    let times = if count == 1 { "once".to_owned() } else { counted(count, "time") };
    format!("{} as {} ({times})", report.classes[truth], report.classes[prediction])
}

/// The most frequent confusions.
pub(super) fn pairs(report: &EvaluationReport) -> Vec<String> {
    let mut pairs: Vec<_> =
        counts(report).filter(|(_, truth, prediction)| truth != prediction).collect();
    pairs.sort_by_key(|&(count, ..)| std::cmp::Reverse(count));
    pairs.truncate(MOST_PAIRS);
    pairs.into_iter().map(|(count, truth, column)| told(report, count, truth, column)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn report(classes: usize) -> EvaluationReport {
        let mut confusion = vec![vec![0; classes]; classes];
        confusion[0][0] = 4;
        confusion[1][..2].copy_from_slice(&[3, 5]);
        let name = |class| format!("class {class}");
        EvaluationReport {
            classes: (0..classes).map(name).collect(),
            confusion,
            ..EvaluationReport::of("test", 12, [("accuracy".to_owned(), 0.75)].into())
        }
    }

    #[test]
    fn a_table_is_coloured_by_the_share_of_the_true_class() {
        let Matrix::Table(table) = Matrix::of(&report(30)) else { panic!("it is no table") };
        let cells = table.rows[..2].iter().flat_map(|row| &row.cells[..2]);
        let cells: Vec<(&str, &str, &str)> = cells
            .map(|Cell { count, colour }| (count.as_str(), colour.kind, colour.strength.as_str()))
            .collect();
        let [right, zero] = [("4", "right", "0.60"), ("0", "wrong", "0.00")];
        assert_eq!(cells, [right, zero, ("3", "wrong", "0.43"), ("5", "right", "0.38")]);
        assert_eq!((&*table.rows[1].class, &*table.columns[1]), ("#2 class 1", "#2"));
        assert_eq!(pairs(&report(30)), ["class 1 as class 0 (3 times)"]);
    }

    #[test]
    fn the_matrix_of_many_classes_is_drawn() {
        let Matrix::Drawn(drawn) = Matrix::of(&report(31)) else { panic!("it is not drawn") };
        let squares: Vec<_> =
            drawn.squares.iter().map(|square| (square.truth, square.prediction)).collect();
        assert_eq!((drawn.classes, squares), (31, vec![(0, 0), (1, 0), (1, 1)]));
        let Square { told, colour, .. } = &drawn.squares[1];
        assert_eq!(told, "class 1 as class 0 (3 times)");
        assert_eq!((colour.kind, &*colour.strength), ("wrong", "0.72"));
        assert!(matches!(Matrix::of(&report(201)), Matrix::None));
    }
}
