//! What recipes with dense layers share of `[model]`.

use crate::config::check::Checker;

/// The most units of a layer; a higher number is a slip, and its weights would not fit anywhere.
const MOST_UNITS: usize = 1_000_000;

/// Checks the widths of layers.
pub(crate) fn check_widths(key: &str, widths: &[usize], checker: &mut Checker<'_>) {
    let are_widths = widths.iter().all(|width| (1..=MOST_UNITS).contains(width));
    checker.require(key, are_widths, "1 to 1,000,000 units");
}

/// Checks `model.dropout`, which follows hidden dense layers.
///
/// - `hidden`: their units, where they are known
pub(crate) fn check_dropout(dropout: f64, hidden: Option<&[usize]>, checker: &mut Checker<'_>) {
    checker.require("model.dropout", (0.0..1.0).contains(&dropout), "at least 0 and below 1");
    if dropout > 0.0 && hidden.is_some_and(<[usize]>::is_empty) {
        checker.conflict(
            "model.dropout",
            "`model.dropout` has no effect with `model.hidden = []`: it follows hidden layers",
            "leave it out, or add a layer: `--set model.hidden=[256]`",
        );
    }
}
