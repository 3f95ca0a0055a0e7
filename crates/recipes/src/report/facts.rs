//! The facts that stand below the verdict.

use inference::InputKind;

use crate::{
    numbers::{counted, duration, grouped, rate, size},
    registry,
    run::record::Record,
};

/// Each with its name.
pub(super) fn facts(record: &Record) -> Vec<(&'static str, String)> {
    let mut facts = vec![("recipe", record.recipe.clone())];
    let environment = &record.environment;
    if !environment.device.is_empty() {
        facts.push(("device", environment.device.clone()));
    }
    let done = |done: u64, of: Option<u64>| match of {
        Some(of) if of != done => format!("{} of {}", grouped(done), grouped(of)),
        _ => grouped(done),
    };
    let epochs = record.summary.as_ref().map_or(record.epochs.len(), |summary| summary.epochs);
    let steps = record.summary.as_ref().map_or_else(|| record.last_step(), |summary| summary.steps);
    // The steps may be limited to fewer than the epochs have: at the end nothing remains.
    let planned = record.planned.filter(|plan| plan.steps != steps);
    facts.push(("epochs", done(epochs as u64, planned.map(|plan| plan.epochs as u64))));
    facts.push(("steps", done(steps, planned.map(|plan| plan.steps))));
    if let Some(seed) = record.settings.get("training.seed") {
        facts.push(("seed", seed.to_string()));
    }
    if let Some(summary) = &record.summary {
        let parameters = match summary.trainable_parameters {
            trained if trained == summary.parameters => grouped(trained),
            trained => {
                format!("{}, {} of them trained", grouped(summary.parameters), grouped(trained))
            }
        };
        let seen = if is_text(record) { "tokens seen" } else { "samples seen" };
        facts.extend([
            ("parameters", parameters),
            (seen, grouped(summary.samples)),
            (unit_of_speed(record), rate(summary.samples_per_second())),
            ("time", duration(summary.seconds)),
        ]);
    }
    if let Some(last) = record.epochs.last() {
        let memory = last.memory_bytes.map(|bytes| ("memory", size(bytes)));
        // More than the peak says that the device was busy when that was measured, or that convolutions
        // saved multiply-adds, and nothing of the run.
        let below = last.percent_of_peak.filter(|percent| percent.round() <= 100.0);
        facts.extend(memory);
        facts.extend(below.map(|percent| ("of the device's peak", format!("{percent:.0} %"))));
    }
    if record.resumed > 0 {
        facts.push(("resumed", counted(record.resumed, "time")));
    }
    if !environment.started.is_empty() {
        // Without seconds: `2026-01-31 12:00 UTC`.
        let minute =
            environment.started.replace('T', " ").chars().take(16).collect::<String>() + " UTC";
        facts.push((if record.resumed > 0 { "last started" } else { "started" }, minute));
    }
    facts
}

/// What there are so many of in a second.
pub(super) fn unit_of_speed(record: &Record) -> &'static str {
    if is_text(record) { "tokens/s" } else { "samples/s" }
}

fn is_text(record: &Record) -> bool {
    registry::find(&record.recipe).is_ok_and(|recipe| recipe.input == InputKind::Text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::{
        event_lines::{EpochRecord, Length},
        summary::example,
    };

    #[test]
    fn more_than_the_peak_is_left_out() {
        let share = |percent| {
            let epoch = EpochRecord { percent_of_peak: Some(percent), ..EpochRecord::default() };
            facts(&Record { epochs: vec![epoch], ..Record::default() }).pop()
        };
        assert_eq!(share(85.0), Some(("of the device's peak", "85 %".to_owned())));
        assert_ne!(share(135.0).map(|(fact, _)| fact), Some("of the device's peak"));
    }

    #[test]
    fn a_run_whose_steps_were_limited_is_complete_without_its_epochs() {
        let told = |steps: u64, planned_steps: u64| {
            let summary = example(&serde_json::json!({"epochs": 1, "steps": steps}));
            let planned = Some(Length { epochs: 20, steps: planned_steps });
            let facts = facts(&Record { planned, summary: Some(summary), ..Record::default() });
            ["epochs", "steps"]
                .map(|fact| facts.iter().find(|found| found.0 == fact).unwrap().1.clone())
        };
        assert_eq!(told(5, 5), ["1", "5"]);
        assert_eq!(told(5, 100), ["1 of 20", "5 of 100"], "it stopped early");
    }
}
