//! The shares of the samples that are trained on and held out.

use data::Fractions;

use crate::config::check::Checker;

/// Checks `data.fraction`, `data.validation` and `data.test`, of which something must be left to train on.
pub(super) fn check_fractions(fractions: Fractions, checker: &mut Checker<'_>) {
    let Fractions { train, validation, test } = fractions;
    checker.require("data.fraction", train > 0.0 && train <= 1.0, "above 0 and at most 1");
    for (key, fraction) in [("data.validation", validation), ("data.test", test)] {
        checker.require(key, (0.0..1.0).contains(&fraction), "at least 0 and below 1");
    }
    if validation < 1.0 && test < 1.0 && validation + test >= 1.0 {
        checker.conflict(
            "data.test",
            "`data.validation` and `data.test` leave nothing to train on",
            "lower one of them: each is a share of all samples",
        );
    }
}

/// Refuses `data.fraction` for samples that are drawn.
pub(super) fn refuse_fraction_of_drawn(checker: &mut Checker<'_>) {
    if checker.is_changed("data.fraction") {
        checker.conflict(
            "data.fraction",
            "`data.fraction` has no effect with `data.source = \"synthetic\"`",
            "leave it out, or draw fewer: `--set data.samples=500`",
        );
    }
}
