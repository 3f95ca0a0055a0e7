//! `[schedule]`: the ranges of its keys, and which kind reads which.

use training::{ScheduleConfig, ScheduleKind};

use crate::config::check::{Check, Checker};

/// The keys that only some kinds read: the key, a kind that reads it, and all that do.
const READERS: [(&str, &str, &[ScheduleKind]); 9] = [
    ("schedule.warmup_steps", "cosine", &[ScheduleKind::Cosine]),
    (
        "schedule.minimum",
        "cosine",
        &[ScheduleKind::Cosine, ScheduleKind::Plateau, ScheduleKind::Range],
    ),
    ("schedule.pct_start", "one_cycle", &[ScheduleKind::OneCycle]),
    ("schedule.div_factor", "one_cycle", &[ScheduleKind::OneCycle]),
    ("schedule.final_div_factor", "one_cycle", &[ScheduleKind::OneCycle]),
    ("schedule.milestones", "step", &[ScheduleKind::Step]),
    (
        "schedule.gamma",
        "step",
        &[ScheduleKind::Step, ScheduleKind::Exponential, ScheduleKind::Plateau],
    ),
    ("schedule.patience", "plateau", &[ScheduleKind::Plateau]),
    ("schedule.threshold", "plateau", &[ScheduleKind::Plateau]),
];

impl Check for ScheduleConfig {
    fn check(&self, checker: &mut Checker<'_>) {
        let between = |value: f64| value > 0.0 && value < 1.0;
        let at_least_one = |value: f64| value >= 1.0 && value.is_finite();
        let falls = self.gamma.is_none_or(|gamma| gamma > 0.0 && gamma <= 1.0);

        checker.require("schedule.minimum", self.minimum >= 0.0, "at least 0");
        checker.require("schedule.pct_start", between(self.pct_start), "between 0 and 1");
        checker.require("schedule.div_factor", at_least_one(self.div_factor), "at least 1");
        let last = at_least_one(self.final_div_factor);
        checker.require("schedule.final_div_factor", last, "at least 1");
        checker.require("schedule.gamma", falls, "above 0 and at most 1");
        let share = (0.0..1.0).contains(&self.threshold);
        checker.require("schedule.threshold", share, "at least 0 and below 1");

        let rises = self.kind != ScheduleKind::Range || self.minimum > 0.0;
        checker.require("schedule.minimum", rises, "above 0 for a range");

        for (key, reader, readers) in READERS {
            if !readers.contains(&self.kind) {
                checker.only_with("schedule.kind", reader, &[key]);
            }
        }
        if self.kind == ScheduleKind::Step && self.milestones.is_empty() {
            checker.conflict(
                "schedule.kind",
                "`schedule.kind = \"step\"` needs `schedule.milestones`",
                "name the epochs at whose start the learning rate falls: \
                 `--set schedule.milestones=[30,60]`",
            );
        }
    }
}
