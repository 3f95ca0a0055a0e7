//! How predictions are printed: as text, CSV or JSON.

use std::collections::HashMap;

use inference::{Prediction, Probability};
use serde::Serialize;

use crate::{
    ExitCode, Failure,
    cli::output::{self, Output},
    numbers::{percent, shortest, told_apart},
};

/// A line of the result.
#[derive(Serialize)]
#[serde(untagged)]
enum Line<'a> {
    Class { input: String, class: &'a str, probability: f32, top: &'a [Probability<'a>] },
    Value { input: String, value: f64 },
}

/// An input without a prediction, in JSON.
#[derive(Serialize)]
struct Refused {
    input: String,
    error: String,
}

/// The first column of a CSV file: where a row comes from.
const INPUT: &str = "input";

/// The digits shown of a predicted value; more where values lie close together.
const DIGITS: usize = 6;

/// Lines are printed once this many bytes have gathered.
const BUFFERED_BYTES: usize = 1 << 16;

/// What is printed of each prediction.
pub(super) struct Printed<'a> {
    pub(super) csv: bool,
    /// How many classes, the most probable first; 0 where values are predicted.
    pub(super) top: usize,
    /// The classes that have a column each in CSV; none where the most probable have.
    pub(super) classes: &'a [String],
    /// The standard deviation of the training data's values; 0 where classes are predicted.
    pub(super) deviation: f64,
    /// The columns of the tables that are copied in CSV.
    pub(super) keep: &'a [String],
}

/// Prints predictions.
pub(super) struct Printer<'a> {
    output: &'a Output,
    printed: Printed<'a>,
    /// Not yet printed.
    lines: String,
    /// The CSV's columns after those that are copied; the header is printed with the first row.
    columns: Vec<String>,
    headed: bool,
    /// What was last told to do about an input that was refused.
    help: Option<String>,
}

/// Refuses to print in two forms.
pub(super) fn refuse_csv_and_json(csv: bool, output: &Output) -> Result<(), Failure> {
    if csv && output.json {
        let message = "`--csv` and `--json` cannot be combined";
        return Err(Failure::new(ExitCode::Usage, message, "leave one of them out"));
    }
    Ok(())
}

impl<'a> Printer<'a> {
    pub(super) fn new(output: &'a Output, printed: Printed<'a>) -> Result<Self, Failure> {
        refuse_twice(printed.keep)?;
        let columns = columns(&printed);
        Ok(Self { output, printed, lines: String::new(), columns, headed: false, help: None })
    }

    /// The columns of the tables that are copied.
    pub(super) fn keep(&self) -> &'a [String] {
        self.printed.keep
    }

    /// - `kept`: the cells of the input that are copied
    pub(super) fn print(
        &mut self,
        input: String,
        kept: Vec<String>,
        prediction: &Prediction<'_>,
    ) -> Result<(), Failure> {
        let line = match prediction {
            Prediction::Value(value) => Line::Value { input, value: *value },
            Prediction::Class { top } => {
                let Some(Probability { class, probability }) = top.first() else { return Ok(()) };
                let top = &top[..self.printed.top.min(top.len())];
                Line::Class { input, class, probability: *probability, top }
            }
        };
        if self.printed.csv {
            let (input, cells) = cells(&line, self.printed.classes);
            self.print_row(input, [kept, cells].concat());
        } else {
            let deviation = self.printed.deviation;
            self.lines += &self.output.formatted(&line, |line| text(line, deviation));
        }
        if self.lines.len() < BUFFERED_BYTES { Ok(()) } else { self.flush() }
    }

    /// Reports on stderr, and in JSON, that an input has no prediction. In CSV the cells of the prediction are
    /// empty, so that there is a row for each input. What to do is told once for several inputs in a row.
    ///
    /// - `kept`: as in [`print`](Self::print), or none
    pub(super) fn refuse(
        &mut self,
        input: String,
        kept: Vec<String>,
        mut failure: Failure,
    ) -> Result<(), Failure> {
        self.flush()?; // to keep the order on a terminal
        let refused = Refused { input, error: failure.to_string() };
        for problem in &mut failure.problems {
            match problem.help == self.help {
                true => problem.help = None,
                false => self.help.clone_from(&problem.help),
            }
        }
        output::print_failure(&failure);
        if self.printed.csv {
            self.print_row(refused.input, kept);
        } else {
            self.lines += &self.output.formatted(&refused, |_| String::new());
        }
        Ok(())
    }

    /// Prints what is left, and the header of a CSV without rows.
    pub(super) fn finish(&mut self) -> Result<(), Failure> {
        if self.printed.csv {
            self.print_header();
        }
        self.flush()
    }

    pub(super) fn flush(&mut self) -> Result<(), Failure> {
        output::print(&std::mem::take(&mut self.lines))
    }

    /// Prints a row, and the header before the first; cells that it lacks are empty.
    fn print_row(&mut self, input: String, mut cells: Vec<String>) {
        self.print_header();
        cells.resize(self.printed.keep.len() + self.columns.len(), String::new());
        self.lines += &row(&[&[input][..], &cells].concat());
    }

    /// Prints the header once.
    fn print_header(&mut self) {
        if !std::mem::replace(&mut self.headed, true) {
            self.lines += &row(&[&[INPUT.to_owned()], self.printed.keep, &self.columns].concat());
        }
    }
}

/// The columns of a prediction in CSV: `class,probability,class_2,probability_2`, `value`, or `class` and
/// the probability of each of `classes`.
fn columns(&Printed { top, classes, keep, .. }: &Printed<'_>) -> Vec<String> {
    let of_rank = |rank: usize| {
        let rank = if rank == 1 { String::new() } else { format!("_{rank}") };
        [format!("class{rank}"), format!("probability{rank}")]
    };
    let of_class = |class: &String| format!("probability_{class}");
    let columns: Vec<String> = match (top, classes) {
        (0, _) => vec!["value".to_owned()],
        (top, []) => (1..=top).flat_map(of_rank).collect(),
        (_, classes) => {
            std::iter::once("class".to_owned()).chain(classes.iter().map(of_class)).collect()
        }
    };
    columns.into_iter().map(|column| apart(column, keep)).collect()
}

/// The name of a column, after `predicted_` where a kept one has it.
fn apart(column: String, keep: &[String]) -> String {
    match keep.contains(&column) {
        true => apart(format!("predicted_{column}"), keep),
        false => column,
    }
}

/// The cells of these columns, or the class and the probability of each of `classes`.
fn cells(line: &Line<'_>, classes: &[String]) -> (String, Vec<String>) {
    match line {
        Line::Value { input, value } => (input.clone(), vec![shortest(*value)]),
        Line::Class { input, class, top, .. } if !classes.is_empty() => {
            let of: HashMap<&str, f32> =
                top.iter().map(|named| (named.class, named.probability)).collect();
            let probabilities = classes.iter().map(|class| shortest(of[class.as_str()]));
            let cells = [(*class).to_owned()].into_iter().chain(probabilities);
            (input.clone(), cells.collect())
        }
        Line::Class { input, top, .. } => {
            let of =
                |named: &Probability<'_>| [named.class.to_owned(), shortest(named.probability)];
            (input.clone(), top.iter().flat_map(of).collect())
        }
    }
}

/// A line of text, also where a file's name or a class has several.
fn text(line: &Line<'_>, deviation: f64) -> String {
    let (input, predicted) = match line {
        Line::Value { input, value } => (input, told_apart(*value, DIGITS, deviation)),
        Line::Class { input, top, .. } => {
            let named = |Probability { class, probability }: &Probability<'_>| {
                format!("{class} ({})", percent(f64::from(*probability)))
            };
            let named: Vec<String> = top.iter().map(named).collect();
            (input, named.join(", "))
        }
    };
    format!("{input}: {predicted}").replace('\n', "\\n") + "\n"
}

/// Cells as a line of a CSV file.
fn row(cells: &[String]) -> String {
    let mut writer = csv::Writer::from_writer(Vec::new());
    writer.write_record(cells).expect("memory takes every row");
    let row = writer.into_inner().expect("memory takes every row");
    String::from_utf8_lossy(&row).into_owned()
}

/// Refuses a column that would be there twice: no program could tell the two apart.
fn refuse_twice(keep: &[String]) -> Result<(), Failure> {
    let twice = keep.iter().enumerate().find(|&(place, name)| keep[..place].contains(name));
    let (message, help) = match twice {
        Some((_, name)) => (format!("`--keep {name}` is given twice"), "name each column once"),
        None if keep.iter().any(|name| name == INPUT) => (
            format!("`--keep {INPUT}`: the first column of the result is called so"),
            "rename the column in the file",
        ),
        None => return Ok(()),
    };
    Err(Failure::new(ExitCode::Usage, message, help))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tiny_numbers_have_an_exponent_in_csv() {
        let tiny = 3.569_004_6e-35_f32;
        assert_eq!(
            [tiny, 1.5e-45, 0.25, 0.0, 1.0].map(shortest),
            ["3.5690046e-35", "1e-45", "0.25", "0", "1"]
        );
        assert_eq!(shortest(tiny).parse(), Ok(tiny));
        assert_eq!(
            [0.000_012_5, -2.5e-7, 1234.5].map(shortest::<f64>),
            ["0.0000125", "-2.5e-7", "1234.5"]
        );
    }

    #[test]
    fn a_column_has_a_name_of_its_own() {
        let owned = |names: &[&str]| names.iter().copied().map(str::to_owned).collect::<Vec<_>>();
        let columns = |top, classes: &[&str], keep: &[&str]| {
            let (classes, keep) = (&*owned(classes), &*owned(keep));
            columns(&Printed { csv: true, top, classes, deviation: 0.0, keep })
        };
        let keep = ["id", "class"];
        assert_eq!(columns(0, &[], &keep), ["value"]);
        let ranked = ["predicted_class", "probability", "class_2", "probability_2"];
        assert_eq!(columns(2, &[], &keep), ranked);
        let of_each = ["predicted_class", "probability_no", "probability_yes"];
        assert_eq!(columns(2, &["no", "yes"], &keep), of_each);
        assert_eq!(columns(1, &[], &[]), ["class", "probability"]);
        let twice = ["class", "predicted_class"];
        assert_eq!(columns(1, &[], &twice), ["predicted_predicted_class", "probability"]);
        let refused = |keep: &[&str]| refuse_twice(&owned(keep)).map_err(|error| error.to_string());
        assert_eq!(refused(&["id", "id"]).unwrap_err(), "`--keep id` is given twice");
        assert!(refused(&["id", "input"]).unwrap_err().starts_with("`--keep input`: "));
        assert!(refused(&keep).is_ok());
    }

    #[test]
    fn a_prediction_is_a_line_whatever_the_name() {
        let line = Line::Value { input: "a\nb.png".to_owned(), value: 1.5 };
        assert_eq!(text(&line, 0.0), "a\\nb.png: 1.5\n");
    }
}
