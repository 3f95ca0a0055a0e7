//! A chart of block characters, for a terminal.

/// Rows and columns of the chart.
const ROWS: usize = 10;
const COLUMNS: usize = 64;
/// Filled from below by so many eighths.
const BLOCKS: [char; 9] = [' ', '▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];

/// Values at equal distances, as columns that rise from `low` to at most `high`.
///
/// - `ends`: the labels below the first and the last column
pub(crate) fn text_chart(
    values: &[f64],
    [low, high]: [f64; 2],
    label: impl Fn(f64) -> String,
    ends: [String; 2],
) -> String {
    let heights: Vec<usize> = columns(values)
        .into_iter()
        .map(|value| {
            let share = ((value - low) / (high - low)).clamp(0.0, 1.0);
            let eighths = (share * (8 * ROWS) as f64).round();
            // NaN becomes 0; the lowest values are drawn as a line.
            (eighths as usize).max(1)
        })
        .collect();
    let labels = [label(high), label(low)];
    let margin = labels.iter().map(|label| label.chars().count()).max().unwrap_or(0);
    let mut text = String::new();
    for row in (0..ROWS).rev() {
        let label = match row {
            0 => &labels[1],
            row if row == ROWS - 1 => &labels[0],
            _ => "",
        };
        let blocks: String =
            heights.iter().map(|height| BLOCKS[height.saturating_sub(8 * row).min(8)]).collect();
        text += &format!("  {label:>margin$} ┤{}\n", blocks.trim_end());
    }
    let [first, last] = ends;
    let width = heights.len().saturating_sub(first.chars().count() + 1);
    text + &format!("  {:>margin$}  {first} {last:>width$}\n", "")
}

/// The mean of the values in each column.
fn columns(values: &[f64]) -> Vec<f64> {
    let count = values.len().min(COLUMNS);
    let start = |column| column * values.len() / count;
    let mean = |column| {
        let within = &values[start(column)..start(column + 1)];
        within.iter().sum::<f64>() / within.len() as f64
    };
    (0..count).map(mean).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rise_is_drawn_from_the_lowest_line_to_the_whole_height() {
        let values: Vec<f64> = (0..640).map(f64::from).collect();
        let label = |value: f64| format!("{value:.0}");
        let chart = text_chart(&values, [0.0, 630.0], label, ["1".to_owned(), "640".to_owned()]);
        let lines: Vec<&str> = chart.lines().collect();
        assert_eq!(lines.len(), ROWS + 1);
        assert!(lines[0].starts_with("  630 ┤ ") && lines[0].ends_with('█'), "{chart}");
        assert!(lines[9].starts_with("    0 ┤▁▂▃▄▆▇██"), "{chart}");
        let width = |line: &str| line.chars().count();
        assert!(lines[10].ends_with("640") && width(lines[10]) == width(lines[9]), "{chart}");
    }

    #[test]
    fn few_values_and_none_are_drawn_too() {
        let draw = |values: &[f64]| {
            text_chart(
                values,
                [0.0, 1.0],
                |value| value.to_string(),
                [String::new(), String::new()],
            )
        };
        assert!(draw(&[1.0, f64::NAN]).starts_with("  1 ┤█\n"));
        assert_eq!(draw(&[]).lines().count(), ROWS + 1);
    }
}
