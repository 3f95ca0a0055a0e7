//! What a user should know of settings before a run.

use backend::{Backend, Precision, Selected};
use training::{OptimizerKind, ScheduleKind, TrainerConfig};

use crate::numbers::counted;

/// A run of fewer updates is noted: `cnn` learns 1,500 pictures of hands to 88 % in 120, and to 95 % in four
/// times as many (`training.batch_size=32`, means of three seeds).
const FEW_UPDATES: u64 = 200;
/// Such a learning rate is noted for optimizers that scale the steps of each weight.
const HIGH_FOR_ADAPTIVE: f64 = 0.1;

/// Settings that are allowed but make little sense, a sentence each.
pub(crate) fn odd(config: &TrainerConfig, batch_size: usize, precision: Precision) -> Vec<String> {
    let mut notes = odd_length(config, batch_size);
    notes.extend(odd_updates(config, precision));
    notes
}

/// Of what decides how long the run is.
fn odd_length(config: &TrainerConfig, batch_size: usize) -> Vec<String> {
    let mut notes: Vec<String> = few_updates(config, batch_size).into_iter().collect();
    let (schedule, length) = (&config.schedule, config.length());
    let (warmup, steps) = (schedule.warmup_steps, length.steps);
    if schedule.kind.warms_up() && warmup >= steps {
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
    let is_adaptive = optimizer.kind != OptimizerKind::Sgd;
    let rate = optimizer.learning_rate;
    if is_adaptive && rate >= HIGH_FOR_ADAPTIVE && config.schedule.kind != ScheduleKind::Range {
        let usual = if rate <= 1.0 { "which is usual for \"sgd\"" } else { "which is high" };
        notes.push(format!(
            "`optimizer.learning_rate` is {rate:?}, {usual}; optimizers other than \"sgd\" mostly learn \
             with 1e-4 to 1e-2"
        ));
    }
    if optimizer.kind == OptimizerKind::AdamW && optimizer.weight_decay == 0.0 {
        notes.push(
            "`optimizer.kind = \"adamw\"` is `\"adam\"` while `optimizer.weight_decay` is 0; \
             PyTorch's default is 0.01"
                .to_owned(),
        );
    }
    if Selected::IS_SYNCHRONOUS && precision != Precision::F32 {
        notes.push(format!(
            "`training.precision` is {precision}, which a CPU emulates: it is many times slower than f32, and only to see what it computes"
        ));
    }
    notes
}

/// A note where a run is too short to learn much, unless its steps were limited.
fn few_updates(config: &TrainerConfig, batch_size: usize) -> Option<String> {
    let steps = config.length().steps;
    if config.max_steps.is_some() || steps >= FEW_UPDATES {
        return None;
    }
    let lower = match batch_size {
        1 => String::new(),
        // As is told of a run that resumes, too: in another it may be lower.
        size => format!(", or train anew with a lower `training.batch_size` than {size}"),
    };
    Some(format!(
        "the run makes only {}, {} in each epoch, and may learn little: raise `training.epochs`{lower}",
        counted(steps, "update"),
        config.steps_per_epoch
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        config::{Config, SettingsLayer, TableData},
        mlp,
    };

    #[test]
    fn a_learning_rate_for_gradient_descent_is_noted_with_other_optimizers() {
        let note = |kind: &str, rate: &str| {
            let settings =
                [format!("optimizer.kind={kind}"), format!("optimizer.learning_rate={rate}")];
            let layers = SettingsLayer::sets(&settings);
            let config: Config<TableData, mlp::Model> = mlp::RECIPE.resolve(layers).unwrap();
            odd(&config.trainer(100), 32, Precision::F32).concat()
        };
        assert!(note("adam", "0.1").contains("is 0.1, which is usual for \"sgd\""));
        assert_eq!([note("adam", "0.01"), note("sgd", "0.1")], ["", ""]);
    }

    #[test]
    fn few_updates_are_noted_unless_steps_were_limited() {
        let config = |epochs, max_steps| {
            let layers = SettingsLayer::sets(&[format!("training.epochs={epochs}")]);
            let config: Config<TableData, mlp::Model> = mlp::RECIPE.resolve(layers).unwrap();
            TrainerConfig { max_steps, ..config.trainer(1) }
        };
        let note = |config: &TrainerConfig, batch_size| odd(config, batch_size, Precision::F32);
        assert_eq!(
            note(&config(10, None), 128),
            ["the run makes only 10 updates, 1 in each epoch, and may learn little: raise \
              `training.epochs`, or train anew with a lower `training.batch_size` than 128"]
        );
        let single = note(&config(1, None), 1).remove(0);
        assert!(single.contains("only 1 update, ") && !single.contains("batch_size"), "{single}");
        for enough in [config(200, None), config(10, Some(5))] {
            assert_eq!(note(&enough, 128), [""; 0]);
        }
    }
}
