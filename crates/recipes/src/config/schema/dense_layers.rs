//! What recipes with dense layers share of `[model]`.

use crate::config::check::Checker;

/// Whether nothing is dropped.
pub(crate) fn is_no_dropout(dropout: &f64) -> bool {
    *dropout == 0.0
}

/// Checks `model.dropout`, which follows each hidden layer.
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
