//! A run in one sentence, and notes on it.

use serde_json::Value;
use training::{EndStatus, Metrics};

use super::{
    held_out::HeldOut,
    trend::{overfits, still_falls, unstable},
};
use crate::{
    Failure, Summary,
    config::Problem,
    numbers::{counted, duration, grouped, in_words, percent, rounded, significant},
    registry,
    run::{
        directory::{CONFIG, newest_step},
        record::{Record, Standing},
    },
    settings::shown,
    shell::{command, set},
};

/// What a report begins with.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Verdict {
    pub(crate) sentence: String,
    /// Further sentences, the gravest first.
    pub(crate) notes: Vec<String>,
}

const LEARNING_RATE: &str = "optimizer.learning_rate";

/// - `measured`: the run evaluated again, if it was
/// - `failure`: why the run ended, if it has just failed
pub(super) fn verdict(
    record: &Record,
    measured: Option<&HeldOut>,
    failure: Option<&Failure>,
) -> Verdict {
    let Some(summary) = &record.summary else { return unfinished(record, failure) };
    let mut notes = Vec::new();
    let length = length(record, summary);
    let took = duration(summary.seconds);
    let sentence = match summary.held_out() {
        None => {
            let loss = summary.train.get("loss").copied().unwrap_or(f64::NAN);
            format!(
                "{} reached a training loss of {} after {length} in {took}; nothing was held out, \
                 so its performance on new data is unknown.",
                record.recipe,
                rounded(loss)
            )
        }
        Some((split, metrics)) => format!(
            "{} reached {} on {} after {length} in {took}{}.",
            record.recipe,
            reached(metrics),
            match measured.map(HeldOut::samples) {
                Some(samples) => format!("{samples} of the {split} split"),
                None => format!("the {split} split"),
            },
            best(record, summary),
        ),
    };
    let balanced = record.setting("data.class_weights") == Some("balanced");
    if let Some(guess) = measured.and_then(|measured| measured.no_better_than(balanced)) {
        notes.push(format!("That is {guess}."));
    }
    let unknown = measured.and_then(|measured| measured.examined.unknown_words.as_ref());
    notes.extend(unknown.map(|note| format!("{note}.")));
    match unstable(record) {
        Some(loss) => notes.push(format!(
            "A loss of {} is far above that of guessing. What to do: {}.",
            rounded(loss),
            stable(record)
        )),
        None => {
            notes.extend(overfits(record));
            notes.extend(still_falls(record, summary));
        }
    }
    notes.extend(stopped_early(record).map(|why| format!("It stopped early: {why}.")));
    if summary.skipped_records > 0 {
        let records = counted(summary.skipped_records, "record");
        notes.push(format!("{records} could not be used; see the notes."));
    }
    Verdict { sentence, notes }
}

/// Why a run stopped early, if it did: `the validation loss had not improved for 3 epochs; epoch 4
/// was kept`.
pub(crate) fn stopped_early(record: &Record) -> Option<String> {
    let summary = record.summary.as_ref()?;
    if summary.status != EndStatus::StoppedEarly {
        return None;
    }
    let setting = |key: &str| record.settings.get(key);
    let least = setting("training.minimum_improvement").and_then(Value::as_f64);
    let least = least.filter(|&least| least > 0.0);
    let best = summary.best.as_ref();
    let metric = best.map_or("loss".to_owned(), |best| in_words(&best.metric));
    let epochs = setting("training.patience").and_then(Value::as_u64);
    let epochs = epochs.map(|epochs| format!(" for {}", counted(epochs, "epoch")));
    let kept = summary.kept_epoch.map(|epoch| format!("; epoch {epoch} was kept"));
    let least = least.map(|least| format!(" by at least {}", shown(&least.into())));
    let [least, epochs, kept] = [least, epochs, kept].map(Option::unwrap_or_default);
    Some(format!("the validation {metric} had not improved{least}{epochs}{kept}"))
}

fn unfinished(record: &Record, failure: Option<&Failure>) -> Verdict {
    let of = record.planned.map(|plan| format!(" of {}", grouped(plan.steps)));
    let place = format!("step {}{}", grouped(record.last_step()), of.unwrap_or_default());
    let loss = record.last_report().and_then(|(_, loss)| loss);
    let loss = loss.map(|loss| format!(", at a training loss of {}", rounded(loss)));
    let joined = if loss.is_some() { "and" } else { "with" };
    let validated = validated(record).map(|metrics| format!(", {joined} {metrics}"));
    let loss = loss.unwrap_or_default() + &validated.unwrap_or_default();
    let recipe = &record.recipe;
    let from = newest_step(&record.directory);
    let from = from.map(|step| format!(" from step {}", grouped(step))).unwrap_or_default();
    let resume = format!("To resume it{from}: `{}`.", command("resume", &record.directory));
    let what_to_do = |help: &str| vec![format!("What to do: {help}.")];
    let last = format!("last known: {place}{loss}");
    let problem = failure.and_then(|failure| failure.problems.first());
    let (sentence, notes) = match (record.standing(), problem) {
        (Standing::Interrupted, _) => {
            (format!("{recipe} was interrupted after {place}{loss}."), vec![resume])
        }
        (_, Some(Problem { message, help, .. })) => (
            format!("{recipe} did not finish: {message}."),
            help.as_deref().map(what_to_do).unwrap_or_default(),
        ),
        (Standing::Diverged, None) => (
            format!(
                "{recipe} diverged: at {place} a loss, a gradient or a value of the model was not finite."
            ),
            what_to_do(&stable(record)),
        ),
        (Standing::InUse, None) => (format!("{recipe} is being trained now; {last}."), Vec::new()),
        (_, None) => (
            format!("{recipe} is not finished; {last}."),
            vec![format!("It failed or was killed. {resume}")],
        ),
    };
    Verdict { sentence, notes }
}

/// `96.6 % accuracy on the validation split after epoch 1`, where one was measured.
fn validated(record: &Record) -> Option<String> {
    let epoch = record.epochs.iter().rfind(|epoch| !epoch.validation.is_empty())?;
    let finite = |(name, value): (&String, &Option<f64>)| Some((name.clone(), (*value)?));
    let metrics: Metrics = epoch.validation.iter().filter_map(finite).collect();
    metrics.contains_key("loss").then(|| {
        let metrics = reached(&metrics);
        format!("{metrics} on the validation split after epoch {}", epoch.epoch)
    })
}

/// How to keep a run from diverging.
pub(crate) fn stable(record: &Record) -> String {
    let setting = |key: &str| record.settings.get(key).filter(|value| value.is_number());
    let rate = setting(LEARNING_RATE);
    let was = rate.map(|rate| format!(", which was {},", shown(rate))).unwrap_or_default();
    let clip = match setting("training.clip_norm") {
        Some(norm) => format!("`training.clip_norm`, which was {}", shown(norm)),
        None => "set `training.clip_norm`".to_owned(),
    };
    let again = lower(record).map(|rate| {
        let minimum = setting("schedule.minimum").and_then(Value::as_f64);
        let too_high = minimum.is_some_and(|minimum| rate.parse().is_ok_and(|rate| minimum > rate));
        let minimum = if too_high { set("schedule.minimum=0") } else { String::new() };
        let again = command("train", &record.directory.join(CONFIG));
        format!("; for instance: `{again}{}{minimum}`", set(&format!("{LEARNING_RATE}={rate}")))
    });
    format!(
        "lower `{LEARNING_RATE}`{was} or {clip}, and look for extreme values in the data{}",
        again.unwrap_or_default()
    )
}

/// A learning rate to try after that of a run which diverged: a tenth of it, or the recipe's own where
/// that is lower still.
fn lower(record: &Record) -> Option<String> {
    let tenth = record.settings.get(LEARNING_RATE)?.as_f64()? / 10.0;
    let own = registry::find(&record.recipe).ok();
    let own = own.and_then(|recipe| recipe.settings().get(LEARNING_RATE)?.as_f64());
    Some(significant(own.map_or(tenth, |own| own.min(tenth)), 1))
}

/// `5 epochs`, or steps where those were limited.
fn length(record: &Record, summary: &Summary) -> String {
    if limited(record) { counted(summary.steps, "step") } else { counted(summary.epochs, "epoch") }
}

fn limited(record: &Record) -> bool {
    record.settings.get("training.max_steps").is_some_and(Value::is_u64)
}

/// The measure that a person asks for first.
fn reached(metrics: &Metrics) -> String {
    let metric = |name: &str| metrics.get(name).copied();
    let accuracy = metric("accuracy").map(percent);
    if let Some(perplexity) = metric("perplexity") {
        let right = accuracy.map(|share| format!(" ({share} of the tokens right)"));
        return format!("a perplexity of {}{}", rounded(perplexity), right.unwrap_or_default());
    }
    if let Some(accuracy) = accuracy {
        let macro_f1 = metric("macro_f1").map(|f1| format!(" and a macro F1 of {}", percent(f1)));
        return format!("{accuracy} accuracy{}", macro_f1.unwrap_or_default());
    }
    if let Some(error) = metric("rmse") {
        let explained = metric("r2").map(|r2| match r2 {
            ..-1e3 => format!(" (R² {})", grouped(r2)),
            _ => format!(" (R² {r2:.3})"),
        });
        let explained = explained.unwrap_or_default();
        return format!("a root mean squared error of {}{explained}", rounded(error));
    }
    format!("a loss of {}", rounded(metric("loss").unwrap_or(f64::NAN)))
}

fn best(record: &Record, summary: &Summary) -> String {
    let Some(best) = &summary.best else { return String::new() };
    if record.epochs.len() < 2 {
        return String::new();
    }
    let kept = match summary.kept_epoch {
        _ if best.epoch == summary.epochs => ", the last",
        Some(_) => ", whose weights were kept",
        None => "",
    };
    let by = if best.metric == "loss" {
        String::new()
    } else {
        format!(" by {}", in_words(&best.metric))
    };
    format!("; its best epoch{by} was {}{kept}", best.epoch)
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use serde_json::json;

    use super::*;
    use crate::{
        ExitCode,
        report::trend::tests::run_of,
        run::event_lines::{End, EpochRecord, Length, StepRecord},
    };

    fn told(record: &Record) -> (String, Vec<String>) {
        let Verdict { sentence, notes } = verdict(record, None, None);
        (sentence, notes)
    }

    #[test]
    fn a_finished_run_says_what_it_reached() {
        let best = json!({"epoch": 2, "metric": "loss", "value": 0.09});
        let metrics = json!({"accuracy": 0.991, "loss": 0.1});
        let flat = [(0.3, 0.2), (0.2, 0.09), (0.1, 0.0901)];
        let mut more = json!({"test": metrics, "best": best});
        let (sentence, notes) = told(&run_of(&flat, &more));
        assert_eq!(
            sentence,
            "cnn reached 99.1 % accuracy on the test split after 3 epochs in 2 min 6 s; its best \
             epoch was 2."
        );
        assert_eq!(notes, [""; 0]);

        more["kept_epoch"] = json!(2);
        more["best"]["metric"] = json!("accuracy");
        let mut kept = run_of(&flat, &more);
        kept.settings.insert("training.max_steps".to_owned(), json!(40));
        let (sentence, _) = told(&kept);
        assert!(sentence.contains("after 40 steps in"), "{sentence}");
        assert!(
            sentence.ends_with("; its best epoch by accuracy was 2, whose weights were kept."),
            "{sentence}"
        );
    }

    #[test]
    fn each_task_has_its_measure() {
        let check = |metrics: serde_json::Value, expected: &str| {
            let (sentence, _) = told(&run_of(&[], &json!({ "validation": metrics })));
            assert!(sentence.starts_with(&format!("cnn reached {expected} on the")), "{sentence}");
        };
        check(
            json!({"loss": 1.5, "accuracy": 0.5583, "perplexity": 4.4552}),
            "a perplexity of 4.4552 (55.8 % of the tokens right)",
        );
        check(
            json!({"loss": 1.5, "rmse": 68_628.3, "r2": 0.6412}),
            "a root mean squared error of 68,628 (R² 0.641)",
        );
        check(json!({"loss": 1.5}), "a loss of 1.5000");
        check(
            json!({"loss": 0.5, "accuracy": 0.95, "macro_f1": 0.612}),
            "95.0 % accuracy and a macro F1 of 61.2 %",
        );
    }

    #[test]
    fn what_was_not_held_out_is_not_claimed() {
        let mut run = run_of(&[], &json!({}));
        run.epochs = vec![EpochRecord { train_loss: Some(0.25), ..EpochRecord::default() }];
        let (sentence, notes) = told(&run);
        assert!(sentence.starts_with("cnn reached a training loss of 0.2500 after"), "{sentence}");
        assert!(sentence.contains("nothing was held out"), "{sentence}");
        assert_eq!(notes, [""; 0]);
    }

    #[test]
    fn an_early_stop_and_lost_records_are_told() {
        let more = json!({"status": "stopped_early", "skipped_records": 1200});
        let mut run = run_of(&[], &more);
        run.settings.insert("training.patience".to_owned(), json!(3));
        assert_eq!(
            told(&run).1,
            [
                "It stopped early: the validation loss had not improved for 3 epochs.",
                "1,200 records could not be used; see the notes."
            ]
        );
        run.summary.as_mut().unwrap().skipped_records = 1;
        assert_eq!(told(&run).1[1], "1 record could not be used; see the notes.");
        let more = json!({
            "status": "stopped_early", "validation": {"loss": 0.2}, "epochs": 5,
            "best": {"epoch": 4, "metric": "accuracy", "value": 0.2}, "kept_epoch": 4,
        });
        let mut run = run_of(&[], &more);
        run.settings.insert("training.patience".to_owned(), json!(1));
        let why = "the validation accuracy had not improved for 1 epoch; epoch 4 was kept";
        assert_eq!(stopped_early(&run).as_deref(), Some(why));
        run.settings.insert("training.minimum_improvement".to_owned(), json!(0.01));
        run.settings.insert("training.patience".to_owned(), json!(2));
        let why = "the validation accuracy had not improved by at least 0.01 for 2 epochs; epoch 4 \
                   was kept";
        assert_eq!(stopped_early(&run).as_deref(), Some(why));
        run.summary.as_mut().unwrap().status = EndStatus::Finished;
        assert_eq!(stopped_early(&run), None);
    }

    #[test]
    fn an_unfinished_run_says_where_it_stands() {
        let mut run = Record {
            directory: "runs/a".into(),
            recipe: "cnn".to_owned(),
            planned: Some(Length { epochs: 5, steps: 2300 }),
            steps: vec![StepRecord { step: 40, loss: Some(0.6839), ..StepRecord::default() }],
            ..Record::default()
        };
        let diverged = Failure::new(ExitCode::Diverged, "training diverged", "lower it");
        let sentence = |run: &Record, failure| verdict(run, None, failure).sentence;
        assert_eq!(sentence(&run, Some(&diverged)), "cnn did not finish: training diverged.");
        assert_eq!(
            sentence(&run, None),
            "cnn is not finished; last known: step 40 of 2,300, at a training loss of 0.6839."
        );
        run.end = Some(End { status: EndStatus::Interrupted, step: 47 });
        assert_eq!(
            sentence(&run, None),
            "cnn was interrupted after step 47 of 2,300, at a training loss of 0.6839."
        );
        run.steps.clear();
        assert_eq!(sentence(&run, None), "cnn was interrupted after step 47 of 2,300.");
        let epoch = EpochRecord { step: 45, train_loss: Some(0.5), ..EpochRecord::default() };
        run.epochs.push(epoch);
        let mut validated = run.clone();
        let metrics = [("loss", Some(0.25)), ("accuracy", Some(0.9))];
        let metrics = metrics.map(|(name, value)| (name.to_owned(), value));
        validated.epochs = vec![
            EpochRecord { epoch: 3, validation: metrics.into(), ..EpochRecord::default() },
            EpochRecord { epoch: 4, ..EpochRecord::default() },
        ];
        assert_eq!(
            sentence(&validated, None),
            "cnn was interrupted after step 47 of 2,300, with 90.0 % accuracy on the validation split after \
             epoch 3."
        );
        validated.epochs[1].train_loss = Some(0.5);
        let told = sentence(&validated, None);
        assert!(told.contains("of 0.5000, and 90.0 % accuracy on the validation split"), "{told}");
        let after = "cnn was interrupted after step 47 of 2,300, at a training loss of 0.5000.";
        assert_eq!(sentence(&run, None), after);
        run.end = None;
        assert!(sentence(&run, None).contains("last known: step 45"), "{}", sentence(&run, None));
        run.epochs.clear();

        run.end = None;
        let notes = |run: &Record| verdict(run, None, None).notes;
        let resume = "It failed or was killed. To resume it: `recipes resume runs/a`.";
        assert_eq!(notes(&run), [resume]);
        run.in_use = true;
        assert!(sentence(&run, None).starts_with("cnn is being trained now; last known: step 0"));
        assert_eq!(notes(&run), [""; 0]);

        run.in_use = false;
        run.end = Some(End { status: EndStatus::Diverged, step: 47 });
        run.settings.insert("optimizer.learning_rate".to_owned(), json!(0.5));
        assert_eq!(
            sentence(&run, None),
            "cnn diverged: at step 47 of 2,300 a loss, a gradient or a value of the model was not finite."
        );
        let lower = format!(
            "What to do: lower `optimizer.learning_rate`, which was 0.5, or set `training.clip_norm`, \
             and look for extreme values in the data; for instance: \
             `{} --set optimizer.learning_rate=0.003`.",
            command("train", &Path::new("runs/a").join("config.toml"))
        );
        assert_eq!(notes(&run), [lower]);
        run.settings.insert("training.clip_norm".to_owned(), json!(1));
        let lower = "lower `optimizer.learning_rate`, which was 0.5, or `training.clip_norm`, which \
                     was 1, and look for extreme values in the data; for instance: ";
        assert!(stable(&run).starts_with(lower), "{}", stable(&run));
        run.settings.insert("optimizer.learning_rate".to_owned(), json!(0.003));
        assert!(stable(&run).ends_with("=0.0003`"), "a tenth: {}", stable(&run));
    }
}
