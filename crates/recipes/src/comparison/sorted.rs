//! The rows of a comparison in the order of a column.

use super::{Comparison, Row};
use crate::{
    ExitCode, Failure,
    config::{in_backticks, nearest},
    numbers::is_share,
};

impl Comparison {
    /// The comparison with its rows in the order of a column of numbers, the best first, and those
    /// without a value last.
    ///
    /// - `column`: `validation loss`, `validation_loss` or `validation-loss`
    pub(crate) fn sorted_by(mut self, column: &str) -> Result<Self, Failure> {
        let metrics = self.metrics().into_iter().map(String::as_str);
        let head = ["epochs", "steps"].into_iter();
        let names: Vec<&str> =
            head.chain(metrics).chain(["seconds", "samples_per_second"]).collect();
        let wanted = key(column);
        let Some(place) = names.iter().position(|name| *name == wanted) else {
            let known = || names.iter().copied();
            let mut parts =
                known().filter(|name| name.starts_with(&wanted) || name.ends_with(&wanted));
            let part = parts.next().filter(|_| parts.next().is_none());
            let help = match part.or_else(|| nearest(&wanted, known())) {
                Some(name) => format!("did you mean `{name}`?"),
                None => format!("sort by {}", in_backticks(&names, "or")),
            };
            let message = format!("there is no column `{column}` of numbers to sort by");
            return Err(Failure::new(ExitCode::Usage, message, help));
        };
        let sign = if more_is_better(&wanted) { -1.0 } else { 1.0 };
        let values: Vec<Option<f64>> = self
            .rows
            .iter()
            .map(|row| self.numbers(row)[place].map(|value| sign * value))
            .collect();
        let mut order: Vec<usize> = (0..self.rows.len()).collect();
        order.sort_by(|&row, &other| {
            let (value, other) = (values[row], values[other]);
            value
                .is_none()
                .cmp(&other.is_none())
                .then_with(|| value.unwrap_or_default().total_cmp(&other.unwrap_or_default()))
        });
        for values in self.differences.values_mut() {
            *values = order.iter().map(|&row| values[row].clone()).collect();
        }
        let mut rows: Vec<Option<Row>> = self.rows.into_iter().map(Some).collect();
        self.rows = order.into_iter().filter_map(|row| rows[row].take()).collect();
        Ok(self)
    }

    /// What stands in the columns of numbers.
    fn numbers(&self, row: &Row) -> Vec<Option<f64>> {
        let metrics = self.metrics();
        let metrics = metrics.iter().map(|&name| row.metrics.get(name));
        let counts = [Some(&row.epochs), Some(&row.steps)];
        let speed = [Some(&row.seconds), Some(&row.samples_per_second)];
        let cells = counts.into_iter().chain(metrics).chain(speed);
        cells.map(|cell| cell.map(|cell| cell.mean).filter(|mean| !mean.is_nan())).collect()
    }
}

/// The name in JSON of a column: `validation_r2` of `validation R²`, or of `val_r2`.
fn key(column: &str) -> String {
    let name = column.to_lowercase().replace([' ', '-'], "_").replace("/s", "_per_second");
    let name = name.replace('²', "2");
    match name.strip_prefix("val_") {
        Some(metric) => format!("validation_{metric}"),
        None => name,
    }
}

fn more_is_better(column: &str) -> bool {
    is_share(column) || column.ends_with("r2") || column == "samples_per_second"
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::comparison::{Runs, finished::example as run};

    fn comparison() -> Comparison {
        let runs = [run("a", 0, 0.1, 0.5), run("b", 0, 0.2, 0.6), run("c", 0, 0.4, 0.55)];
        Runs { finished: runs.into(), notes: Vec::new() }.compare()
    }

    #[test]
    fn rows_and_their_settings_move_together_the_best_first() {
        for column in ["test_accuracy", "test accuracy", "test-accuracy"] {
            let sorted = comparison().sorted_by(column).unwrap();
            let names: Vec<&str> = sorted.rows.iter().map(|row| row.runs[0].as_str()).collect();
            assert_eq!(names, ["runs/b", "runs/c", "runs/a"]);
            let rates = &sorted.differences["optimizer.learning_rate"];
            assert_eq!(rates, &[json!(0.2), json!(0.4), json!(0.1)]);
        }
        let mut values = comparison();
        for row in &mut values.rows {
            let value = row.metrics.remove("test_accuracy").unwrap();
            row.metrics.insert("test_r2".to_owned(), value);
            row.order.retain(|name| name != "test_accuracy");
            row.order.push("test_r2".to_owned());
        }
        let sorted = values.sorted_by("test R²").unwrap();
        let names: Vec<&str> = sorted.rows.iter().map(|row| row.runs[0].as_str()).collect();
        assert_eq!(names, ["runs/b", "runs/c", "runs/a"]);
        let mut losses = comparison();
        for (row, loss) in losses.rows.iter_mut().zip([0.7, f64::NAN, 0.3]) {
            row.metrics.get_mut("test_loss").unwrap().mean = loss;
        }
        let sorted = losses.sorted_by("test_loss").unwrap();
        let names: Vec<&str> = sorted.rows.iter().map(|row| row.runs[0].as_str()).collect();
        assert_eq!(names, ["runs/c", "runs/a", "runs/b"]);
    }

    #[test]
    fn a_column_that_is_not_there_is_answered_with_those_that_are() {
        let help = |column| {
            let error = comparison().sorted_by(column).unwrap_err();
            error.problems[0].help.clone().unwrap()
        };
        for near in ["test_acuracy", "test_acc", "accuracy"] {
            assert_eq!(help(near), "did you mean `test_accuracy`?");
        }
        assert_eq!(
            help("recipe"),
            "sort by `epochs`, `steps`, `train_loss`, `test_loss`, `test_accuracy`, `seconds` or `samples_per_second`"
        );
    }
}
