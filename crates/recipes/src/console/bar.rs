//! The bars of a terminal.

use std::io::stderr;

use indicatif::{ProgressBar, ProgressStyle};
use terminal_size::{Width, terminal_size_of};

use crate::numbers::grouped;

/// Columns of a terminal whose width is unknown.
const USUAL_WIDTH: usize = 80;
/// Columns from which on there is room for a long bar.
const WIDE: usize = 100;
/// Columns of a terminal that has room for a bar.
const NARROW: usize = 70;
/// Columns that the time left may take beside the bar.
const TIME_LEFT: usize = "59m left, ".len();

/// A bar of a run.
pub(super) fn bar() -> ProgressBar {
    ProgressBar::new(0).with_style(bar_style(""))
}

/// - `left`: the time left, from the first step on
pub(super) fn bar_style(left: &str) -> ProgressStyle {
    let style = match bar_width(width()) {
        0 => "step {human_pos}/{human_len}, {wide_msg}".to_owned(),
        width => format!("{{bar:{width}}} step {{human_pos}}/{{human_len}}, {left}{{wide_msg}}"),
    };
    ProgressStyle::with_template(&style).expect("the template is a constant")
}

/// Columns for the message beside the bar.
///
/// - `steps`: of the run
pub(super) fn room(width: usize, steps: u64) -> usize {
    let steps = grouped(steps).len();
    let bar = match bar_width(width) {
        0 => 0,
        bar => bar + " ".len() + TIME_LEFT,
    };
    let before = bar + "step /, ".len() + 2 * steps;
    width.saturating_sub(before)
}

/// Columns of the bar itself; none where it and the time left would leave no room for the loss.
fn bar_width(terminal: usize) -> usize {
    match terminal {
        ..NARROW => 0,
        NARROW..WIDE => 8,
        WIDE.. => 16,
    }
}

/// Columns of the terminal.
pub(super) fn width() -> usize {
    let size = terminal_size_of(stderr());
    size.map_or(USUAL_WIDTH, |(Width(columns), _)| usize::from(columns))
}

/// The first of these fields, as many as there is room for.
///
/// - `fields`: separated by commas
pub(super) fn fitting(fields: &str, room: usize) -> String {
    let mut fitting = String::new();
    for field in fields.split_inclusive(", ") {
        if fitting.chars().count() + field.trim_end_matches(", ").chars().count() > room {
            break;
        }
        fitting += field;
    }
    fitting.trim_end_matches(", ").to_owned()
}

/// A bar of work before a run.
pub(super) fn preparation_bar(task: &str) -> ProgressBar {
    let style = "{bar:32} {msg} {human_pos}/{human_len}, {elapsed} elapsed, {eta} left";
    let style = ProgressStyle::with_template(style).expect("the template is a constant");
    ProgressBar::new(0).with_style(style).with_message(task.to_owned())
}
