//! What a user should know of settings before a run.

use backend::{Precision, device};
use training::{OptimizerKind, ScheduleKind, TrainerConfig};

use crate::numbers::counted;

/// A run of fewer updates is noted.
const FEW_UPDATES: u64 = 50;

/// Settings that are allowed but make little sense, a sentence each.
///
/// - `batch_size`: unless the run resumes
pub(crate) fn odd(
    config: &TrainerConfig,
    batch_size: Option<usize>,
    precision: Precision,
) -> Vec<String> {
    let mut notes = odd_length(config, batch_size);
    if batch_size.is_some() {
        notes.extend(odd_updates(config, precision));
    }
    notes
}

/// Of what a run may change when it resumes.
fn odd_length(config: &TrainerConfig, batch_size: Option<usize>) -> Vec<String> {
    let mut notes: Vec<String> = few_updates(config, batch_size).into_iter().collect();
    let (schedule, length) = (&config.schedule, config.length());
    let (warmup, steps) = (schedule.warmup_steps, length.steps);
    if schedule.kind == ScheduleKind::Cosine && warmup >= steps {
        notes.push(format!(
            "`schedule.warmup_steps` is {warmup} and the run has {steps} steps, so it never reaches \
             `optimizer.learning_rate`"
        ));
    }
    let epochs = steps.div_ceil(length.steps_per_epoch.max(1));
    let later = |&&milestone: &&usize| milestone as u64 >= epochs;
    let unreached: Vec<&usize> = schedule.milestones.iter().filter(later).collect();
    if schedule.kind == ScheduleKind::Step && !unreached.is_empty() {
        notes.push(format!(
            "the run has {}, counted from 0, so it never reaches {unreached:?} of \
             `schedule.milestones`",
            counted(epochs, "epoch")
        ));
    }
    if config.minimum_improvement > 0.0 && config.patience.is_none() {
        notes.push(
            "`training.minimum_improvement` has no effect without `training.patience`".to_owned(),
        );
    }
    notes
}

/// Of what decides each update.
fn odd_updates(config: &TrainerConfig, precision: Precision) -> Vec<String> {
    let mut notes = Vec::new();
    let optimizer = &config.optimizer;
    if optimizer.kind == OptimizerKind::AdamW && optimizer.weight_decay == 0.0 {
        notes.push(
            "`optimizer.kind = \"adamw\"` is `\"adam\"` while `optimizer.weight_decay` is 0; \
             PyTorch's default is 0.01"
                .to_owned(),
        );
    }
    if device::COMPUTES_AT_ONCE && precision != Precision::F32 {
        notes.push(format!(
            "`training.precision` is {precision}, which a CPU emulates: it is many times slower than f32, and only to see what it computes"
        ));
    }
    notes
}

/// A note where a run is too short to learn much, unless its steps were limited.
fn few_updates(config: &TrainerConfig, batch_size: Option<usize>) -> Option<String> {
    let steps = config.length().steps;
    if config.max_steps.is_some() || steps >= FEW_UPDATES {
        return None;
    }
    let lower = match batch_size {
        None | Some(1) => String::new(),
        Some(size) => format!("lower `training.batch_size`, which is {size}, or "),
    };
    Some(format!(
        "the run makes only {}, {} in each epoch, and may learn little: {lower}raise `training.epochs`",
        counted(steps, "update"),
        config.steps_per_epoch
    ))
}

#[cfg(test)]
mod tests {
    use training::OptimizerConfig;

    use super::*;
    use crate::{
        config::{Config, SettingsLayer, TableData},
        mlp,
    };

    #[test]
    fn few_updates_are_noted_unless_steps_were_limited() {
        let config = |epochs, max_steps| {
            let layers = SettingsLayer::sets(&[format!("training.epochs={epochs}")]);
            let config: Config<TableData, mlp::Model> = mlp::RECIPE.resolve(layers).unwrap();
            TrainerConfig { max_steps, ..config.trainer(1) }
        };
        let note =
            |config: &TrainerConfig, batch_size| odd(config, Some(batch_size), Precision::F32);
        assert_eq!(
            note(&config(10, None), 128),
            ["the run makes only 10 updates, 1 in each epoch, and may learn little: lower \
              `training.batch_size`, which is 128, or raise `training.epochs`"]
        );
        let single = note(&config(1, None), 1).remove(0);
        assert!(single.contains("only 1 update, ") && !single.contains("batch_size"), "{single}");
        for enough in [config(50, None), config(10, Some(5))] {
            assert_eq!(note(&enough, 128), [""; 0]);
        }
    }

    #[test]
    fn a_resumed_run_is_told_of_what_it_may_change() {
        let mut adamw = OptimizerConfig::new(OptimizerKind::AdamW, 0.1);
        adamw.weight_decay = 0.0;
        let mut config = TrainerConfig::new(adamw, 1, 10);
        config.minimum_improvement = 0.1;
        let notes = |batch_size| odd(&config, batch_size, Precision::F32);
        let [few, patience, adamw] = &notes(Some(8))[..] else { panic!("{:?}", notes(Some(8))) };
        assert!(adamw.contains("`optimizer.weight_decay`"), "{adamw}");
        let few = few.replace("lower `training.batch_size`, which is 8, or ", "");
        assert_eq!(notes(None), [few, patience.clone()]);
    }
}
