//! How the losses moved from epoch to epoch, and what that says of a longer or a shorter run.

use serde_json::Value;

use crate::{
    Summary,
    numbers::{in_words, rounded},
    run::{directory::newest_step, event_lines::EpochRecord, record::Record},
    settings::longer,
};

/// The share by which the validation loss must have risen above its minimum to be more than noise.
const OVERFITS: f64 = 0.1;
/// The share by which it must have fallen in the last epoch to promise more.
const STILL_FALLS: f64 = 0.01;
/// A loss that no guess has.
const FAR_ABOVE_GUESSING: f64 = 30.0;
/// The fewest epochs that show a trend.
const FEWEST_EPOCHS: usize = 3;

/// The epochs that were validated: the epoch, its training loss and its validation loss.
fn validated(record: &Record) -> Vec<(&EpochRecord, f64, f64)> {
    let epochs = record.epochs.iter();
    epochs.filter_map(|epoch| Some((epoch, epoch.train_loss?, epoch.validation("loss")?))).collect()
}

/// The loss of the epoch whose weights were kept, if the network is far from any good: guessing among the
/// 50,000 words of a vocabulary has a cross-entropy of 11, and guessing the mean of standardised values a
/// squared error of 1. Of values it is the training loss, since one stray value among those held out
/// makes theirs as large.
pub(super) fn unstable(record: &Record) -> Option<f64> {
    let kept = record.summary.as_ref().and_then(|summary| summary.kept_epoch);
    let kept = kept.and_then(|kept| record.epochs.iter().find(|epoch| epoch.epoch == kept));
    let epoch = kept.or(record.epochs.last())?;
    let of_classes = epoch.validation("loss").filter(|_| epoch.validation("rmse").is_none());
    let loss = of_classes.or(epoch.train_loss)?;
    (loss > FAR_ABOVE_GUESSING).then_some(loss)
}

pub(super) fn overfits(record: &Record) -> Option<String> {
    let epochs = validated(record);
    let (place, &(best, train_then, least)) =
        epochs.iter().enumerate().min_by(|(_, a), (_, b)| a.2.total_cmp(&b.2))?;
    let (_, train_now, now) = *epochs.last()?;
    // Not one or two epochs that were worse by chance, nor a loss that is unstable.
    let rises = |&(_, train, validation): &(&EpochRecord, f64, f64)| {
        train < train_then && validation > least * (1.0 + OVERFITS)
    };
    let since = epochs.get(place + 1..)?;
    if since.len() < FEWEST_EPOCHS || !since.iter().rev().take(FEWEST_EPOCHS).all(rises) {
        return None;
    }
    let summary = record.summary.as_ref();
    let by_other =
        summary.and_then(|summary| summary.best.as_ref()).filter(|best| best.metric != "loss");
    let remedy = match (record.setting("output.model"), by_other) {
        (Some("best"), Some(kept)) => {
            format!("epoch {}, the best by {}, was kept", kept.epoch, in_words(&kept.metric))
        }
        (Some("best"), None) => "the weights of that epoch were kept".to_owned(),
        _ => {
            "`output.model=best` keeps the best epoch's weights, `training.patience` stops in time"
                .to_owned()
        }
    };
    Some(format!(
        "It overfits: since epoch {} the validation loss rose from {} to {}, while the training \
         loss fell from {} to {}; {remedy}.",
        best.epoch,
        rounded(least),
        rounded(now),
        rounded(train_then),
        rounded(train_now)
    ))
}

pub(super) fn still_falls(record: &Record, summary: &Summary) -> Option<String> {
    let epochs = validated(record);
    let [.., (_, _, before), (last, _, now)] = epochs[..] else { return None };
    let least = epochs.iter().all(|&(epoch, _, loss)| loss > now || epoch.epoch == last.epoch);
    let falls = epochs.len() >= FEWEST_EPOCHS && least && now < before * (1.0 - STILL_FALLS);
    falls.then(|| {
        // While it warms up, it does not depend on the length.
        let warmup = record.settings.get("schedule.warmup_steps").and_then(Value::as_u64);
        let has_warmed_up = summary.steps >= warmup.unwrap_or(0);
        let goes_on = newest_step(&record.directory).is_some();
        let jumps = match goes_on && record.depends_on_length() && has_warmed_up {
            true => "; the learning rate then jumps to where a run of that length has it",
            false => "",
        };
        format!(
            "The validation loss was still falling; to train longer: `{}`{jumps}.",
            longer(&record.directory, &record.settings, summary)
        )
    })
}

#[cfg(test)]
pub(super) mod tests {
    use std::{fs, path::Path};

    use serde_json::json;

    use super::*;
    use crate::{run::summary::example, shell::command};

    /// A run with these training and validation losses, an epoch each.
    ///
    /// - `more`: of its summary
    pub(in crate::report) fn run_of(losses: &[(f64, f64)], more: &Value) -> Record {
        let mut values = json!({"epochs": losses.len(), "seconds": 126.0});
        values.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        let epoch = |(index, &(train, validation)): (usize, &(f64, f64))| EpochRecord {
            epoch: index + 1,
            train_loss: Some(train),
            validation: [("loss".to_owned(), Some(validation))].into(),
            ..EpochRecord::default()
        };
        Record {
            directory: "runs/a".into(),
            recipe: "cnn".to_owned(),
            summary: Some(example(&values)),
            epochs: losses.iter().enumerate().map(epoch).collect(),
            settings: [("training.epochs".to_owned(), json!(losses.len()))].into(),
            ..Record::default()
        }
    }

    #[test]
    fn a_loss_above_that_of_any_guess_is_unstable() {
        let of = |losses: &[(f64, f64)]| unstable(&run_of(losses, &json!({})));
        assert_eq!(of(&[(9e9, 1e5), (2.0, 0.5)]), None, "it recovered");
        let exploded = [(0.5, 0.5), (0.4, 240_680.0)];
        assert_eq!(of(&exploded), Some(240_680.0));
        let kept = |epoch: usize| unstable(&run_of(&exploded, &json!({"kept_epoch": epoch})));
        assert_eq!([kept(1), kept(2)], [None, Some(240_680.0)]);

        let mut values = run_of(&exploded, &json!({}));
        values.epochs[1].validation.insert("rmse".to_owned(), Some(490.6));
        assert_eq!(unstable(&values), None, "one value of those held out may be astray");
        values.epochs[1].train_loss = Some(31.0);
        assert_eq!(unstable(&values), Some(31.0));
    }

    #[test]
    fn overfitting_is_told_where_it_is_more_than_noise() {
        let validation = json!({"validation": {"loss": 0.3}});
        let rises = [(0.5, 0.4), (0.3, 0.2), (0.32, 0.21), (0.2, 0.25), (0.15, 0.28), (0.1, 0.3)];
        let told = |losses: &[(f64, f64)]| overfits(&run_of(losses, &validation));
        let note = told(&rises).unwrap();
        assert!(
            note.starts_with(
                "It overfits: since epoch 2 the validation loss rose from 0.2000 to 0.3000, while \
                 the training loss fell from 0.3000 to 0.1000; `output.model=best`"
            ),
            "{note}"
        );
        let noise = |last: [(f64, f64); 3]| {
            let losses = [&[(0.5, 0.4), (0.3, 0.2)], &last[..]].concat();
            assert_eq!(told(&losses), None, "{losses:?}");
        };
        noise([(0.2, 0.25), (0.15, 0.25), (0.1, 0.21)]);
        noise([(0.2, 30.0), (20.0, 40.0), (0.1, 30.0)]);
        let two = [(0.5, 0.4), (0.3, 0.2), (0.2, 0.25), (0.15, 0.28)];
        assert_eq!(told(&two), None, "two epochs show no trend");
    }

    #[test]
    fn overfitting_names_the_epoch_that_was_kept() {
        let rises = [(0.5, 0.4), (0.3, 0.2), (0.2, 0.25), (0.15, 0.28), (0.1, 0.3)];
        let remedy = |metric: &str, epoch: usize| {
            let best = json!({"epoch": epoch, "metric": metric, "value": 0.2});
            let mut run = run_of(&rises, &json!({"best": best}));
            run.settings.insert("output.model".to_owned(), json!("best"));
            overfits(&run).unwrap().rsplit("; ").next().unwrap().to_owned()
        };
        assert_eq!(remedy("loss", 2), "the weights of that epoch were kept.");
        assert_eq!(remedy("macro_f1", 5), "epoch 5, the best by macro F1, was kept.");
    }

    #[test]
    fn a_loss_that_still_falls_promises_more() {
        let mut run = run_of(&[(0.5, 0.4), (0.3, 0.2), (0.1, 0.15)], &json!({}));
        let told = |run: &Record| still_falls(run, run.summary.as_ref().unwrap()).unwrap();
        let told_of = "The validation loss was still falling; to train longer: ";
        let config = Path::new("runs/a").join("config.toml");
        let anew = format!("{told_of}`{} --set training.epochs=6`.", command("train", &config));
        assert_eq!(told(&run), anew);
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir_all(folder.path().join("checkpoints/step-3")).unwrap();
        run.directory = folder.path().to_owned();
        let shown = folder.path().display();
        let longer = format!("{told_of}`recipes resume {shown} --set training.epochs=6`");
        assert_eq!(told(&run), format!("{longer}."));
        run.settings.insert("schedule.kind".to_owned(), json!("cosine"));
        let jumps = "; the learning rate then jumps to where a run of that length has it.";
        assert_eq!(told(&run), format!("{longer}{jumps}"));
        run.settings.insert("schedule.warmup_steps".to_owned(), json!(1_000_000));
        assert_eq!(told(&run), format!("{longer}."));

        for validation in [&[0.4, 0.2][..], &[0.1, 0.4, 0.3], &[0.4, 0.3, 0.299]] {
            let losses: Vec<(f64, f64)> = validation.iter().map(|&loss| (0.5, loss)).collect();
            let run = run_of(&losses, &json!({}));
            assert_eq!(still_falls(&run, run.summary.as_ref().unwrap()), None, "{validation:?}");
        }
    }
}
