//! `[schedule]`: which kind reads which of its keys.

use training::{ScheduleConfig, ScheduleKind};

use crate::config::check::Checker;

/// The keys that only some kinds read: the key, a kind that reads it, and all that do.
const READERS: [(&str, &str, &[ScheduleKind]); 9] = [
    (
        "schedule.warmup_steps",
        "cosine",
        &[ScheduleKind::Constant, ScheduleKind::Cosine, ScheduleKind::Linear],
    ),
    (
        "schedule.minimum",
        "cosine",
        &[ScheduleKind::Cosine, ScheduleKind::Linear, ScheduleKind::Plateau, ScheduleKind::Range],
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

/// Refuses what the kind does not read, and steps without milestones.
///
/// - `epochs`: of the run, from which milestones are suggested
pub(super) fn check(schedule: &ScheduleConfig, epochs: usize, checker: &mut Checker<'_>) {
    for (key, reader, readers) in READERS {
        if !readers.contains(&schedule.kind) {
            checker.only_with("schedule.kind", reader, &[key]);
        }
    }
    if schedule.kind == ScheduleKind::Step && schedule.milestones.is_empty() {
        checker.conflict(
            "schedule.kind",
            "`schedule.kind = \"step\"` needs `schedule.milestones`",
            format!(
                "name the epochs at whose start the learning rate drops: `{}`",
                milestones(epochs)
            ),
        );
    }
}

/// An example of milestones that a run of so many epochs reaches.
fn milestones(epochs: usize) -> String {
    match epochs {
        0 | 1 => "--set training.epochs=10 --set schedule.milestones=[5,7]".to_owned(),
        2 | 3 => "--set schedule.milestones=[1]".to_owned(),
        _ => format!("--set schedule.milestones=[{},{}]", epochs / 2, epochs - epochs / 4),
    }
}
