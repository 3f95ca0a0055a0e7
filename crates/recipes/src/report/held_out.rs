//! A finished run, evaluated on its held-out data.

use std::{fs, path::Path};

use backend::{Selected, device};
use inference::{Model, Sampling};
use serde::{Deserialize, Serialize};

use crate::{
    Failure,
    evaluation::{Evaluated, EvaluationReport, Examined},
    numbers::{counted, percent},
    run::{
        directory::{EVALUATION, MODEL, model_hash},
        start::WorkProgress,
    },
};

/// Tokens that a text model generates.
const WRITTEN: usize = 200;
/// An R² up to this, or a perplexity within this share of chance, is as good as guessing.
const AS_GOOD_AS_GUESSING: f64 = 0.02;

/// A run evaluated again.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct HeldOut {
    /// The hash of the model's file; runs of before have none.
    #[serde(default)]
    model: Option<String>,
    pub(super) examined: Examined,
    pub(super) text: Option<Written>,
    /// Size of a text model's vocabulary.
    vocabulary: Option<usize>,
}

/// Text that a model generated.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Written {
    pub(super) prompt: String,
    pub(super) text: String,
}

impl HeldOut {
    /// The stored measurement of this model; without one, measures now, and stores the result if the
    /// model has not changed since, so that a later report needs no data.
    pub(super) fn of(run: &Path, progress: &mut WorkProgress<'_>) -> Result<Self, Failure> {
        let model = model_hash(run);
        let kept = fs::read(run.join(EVALUATION)).ok();
        let kept: Option<Self> = kept.and_then(|bytes| serde_json::from_slice(&bytes).ok());
        // Where the model is gone, there is nothing else to tell.
        let is_other = |kept: &Self| kept.model.is_some() && model.is_some() && kept.model != model;
        if let Some(kept) = kept.filter(|kept| !is_other(kept) && kept.report().is_whole()) {
            return Ok(kept);
        }
        let measured = Self::measure(run, model, progress)?;
        if measured.model == model_hash(run) {
            // Where the run may only be read, a report is made nonetheless.
            let _ = serde_json::to_vec(&measured)
                .map(|json| store::write_whole(&run.join(EVALUATION), &json));
        }
        Ok(measured)
    }

    /// Reads the run's model and data, and evaluates.
    ///
    /// - `hash`: of the model's file
    fn measure(
        run: &Path,
        hash: Option<String>,
        progress: &mut WorkProgress<'_>,
    ) -> Result<Self, Failure> {
        let (device, _) = device::open()?;
        let model = Model::<Selected>::read(run.join(MODEL), &device)?;
        let examined = Evaluated::open(run, &model, None)?.examine(&device, progress)?;
        let write = |prompt: &String| {
            // For a prompt that the model cannot read there is nothing to show.
            let generator = model.generate(prompt, Sampling::default()).ok()?;
            Some(Written { prompt: prompt.clone(), text: generator.write(WRITTEN).ok()? })
        };
        Ok(Self {
            model: hash,
            text: examined.beginning.as_ref().and_then(write),
            vocabulary: model.description().vocabulary().ok().map(|vocabulary| vocabulary.len()),
            examined,
        })
    }

    pub(super) fn report(&self) -> &EvaluationReport {
        &self.examined.report
    }

    /// `10,000 samples`
    pub(super) fn samples(&self) -> String {
        let unit = if self.vocabulary.is_some() { "token" } else { "sample" };
        counted(self.report().samples, unit)
    }

    /// A trivial guess that is about as good or better, if one is: `not clearly better than guessing`.
    ///
    /// - `balanced`: whether classes were to count alike, however few samples they have
    pub(super) fn no_better_than(&self, balanced: bool) -> Option<String> {
        let told = |is_worse: bool, guess: String| {
            let compared = if is_worse { "worse than" } else { "not clearly better than" };
            format!("{compared} {guess}")
        };
        let report = self.report();
        let metric = |name: &str| report.metrics.get(name).copied();
        if let (Some(perplexity), Some(tokens)) = (metric("perplexity"), self.vocabulary) {
            let chance = tokens as f64;
            let is_worse = perplexity > chance * (1.0 + AS_GOOD_AS_GUESSING);
            let guesses = perplexity >= chance * (1.0 - AS_GOOD_AS_GUESSING);
            return guesses.then(|| told(is_worse, format!("guessing among the {tokens} tokens")));
        }
        if let Some(explained) = metric("r2") {
            let guess = "predicting the mean of the held-out values".to_owned();
            let is_worse = explained < -AS_GOOD_AS_GUESSING;
            return (explained <= AS_GOOD_AS_GUESSING).then(|| told(is_worse, guess));
        }
        if balanced && report.per_class.iter().filter(|class| class.samples > 0).count() > 1 {
            return self.no_better_recall().map(|(is_worse, guess)| told(is_worse, guess));
        }
        let commonest = report.per_class.iter().max_by_key(|class| class.samples)?;
        let as_common = report.per_class.iter().filter(|class| class.samples == commonest.samples);
        let (count, of) = (commonest.samples as f64, report.samples as f64);
        let share = count / of;
        // Two standard errors of a share.
        let margin = 2.0 * (share * (1.0 - share) / of).sqrt();
        let accuracy = metric("accuracy")?;
        (accuracy <= share + margin).then(|| {
            let class = &commonest.class;
            let guess = match as_common.count() {
                1 if count == of => format!("`{class}`, the only class that was held out"),
                1 => format!("`{class}`, the most common class ({})", percent(share)),
                alike if alike == report.per_class.len() => {
                    format!("one of the {alike} classes ({})", percent(share))
                }
                alike => format!("one of the {alike} most common classes ({})", percent(share)),
            };
            told(accuracy < share - margin, format!("always guessing {guess}"))
        })
    }

    /// Whether the mean recall of the classes is worse than that of guessing, and what it is; none
    /// where it is clearly better. Whatever is guessed, it is that of guessing among them.
    fn no_better_recall(&self) -> Option<(bool, String)> {
        let per_class = self.report().per_class.iter();
        let found: Vec<(f64, f64)> =
            per_class.filter_map(|class| Some((class.recall?, class.samples as f64))).collect();
        let classes = found.len() as f64;
        let mean = found.iter().map(|(recall, _)| recall).sum::<f64>() / classes;
        let chance = 1.0 / classes;
        // Two standard errors of a mean of shares, each of its own number of samples.
        let variances = found.iter().map(|(_, samples)| chance * (1.0 - chance) / samples);
        let margin = 2.0 * variances.sum::<f64>().sqrt() / classes;
        (mean <= chance + margin).then(|| {
            let recall = format!("their mean recall is {}", percent(mean));
            (mean < chance - margin, format!("guessing among the {classes} classes: {recall}"))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::evaluation::ClassScores;

    fn held_out(metrics: &[(&str, f64)], counts: &[u64], vocabulary: Option<usize>) -> HeldOut {
        let class = |(index, &samples): (usize, &u64)| ClassScores {
            class: index.to_string(),
            samples,
            precision: None,
            recall: None,
            f1: None,
        };
        let metrics = metrics.iter().map(|&(name, value)| (name.to_owned(), value)).collect();
        let report = EvaluationReport {
            per_class: counts.iter().enumerate().map(class).collect(),
            ..EvaluationReport::of("test", 1000, metrics)
        };
        let examined = Examined {
            report,
            mistakes: Vec::new(),
            values: Vec::new(),
            unknown_words: None,
            beginning: None,
        };
        HeldOut { model: None, examined, text: None, vocabulary }
    }

    #[test]
    fn guessing_is_found_out() {
        let guess =
            |accuracy| held_out(&[("accuracy", accuracy)], &[400, 600], None).no_better_than(false);
        let expected =
            "not clearly better than always guessing `1`, the most common class (60.0 %)";
        assert_eq!(guess(0.57).as_deref(), Some(expected));
        let worse = "worse than always guessing `1`, the most common class (60.0 %)";
        assert_eq!(guess(0.55).as_deref(), Some(worse));
        assert_eq!(guess(0.63).as_deref(), Some(expected), "within two standard errors");
        assert_eq!(guess(0.64), None);
        let only = held_out(&[("accuracy", 1.0)], &[0, 1000], None).no_better_than(false).unwrap();
        assert_eq!(
            only,
            "not clearly better than always guessing `1`, the only class that was held out"
        );

        let alike =
            held_out(&[("accuracy", 0.5)], &[500, 500], None).no_better_than(false).unwrap();
        let expected = "not clearly better than always guessing one of the 2 classes (50.0 %)";
        assert_eq!(alike, expected);

        let regression = |r2| held_out(&[("r2", r2)], &[], None).no_better_than(false);
        let mean = "predicting the mean of the held-out values";
        assert_eq!(regression(-0.1), Some(format!("worse than {mean}")));
        assert_eq!(regression(0.01), Some(format!("not clearly better than {mean}")));
        assert_eq!(regression(0.4), None);

        let text = |perplexity| {
            let metrics = [("accuracy", 0.5), ("perplexity", perplexity)];
            held_out(&metrics, &[], Some(65)).no_better_than(false)
        };
        assert_eq!(text(64.9).unwrap(), "not clearly better than guessing among the 65 tokens");
        assert_eq!(text(80.0).unwrap(), "worse than guessing among the 65 tokens");
        assert_eq!(text(4.4), None);
        assert_eq!(held_out(&[], &[], Some(65)).samples(), "1,000 tokens");
    }

    #[test]
    fn balanced_classes_are_judged_by_their_recall() {
        let told = |balanced, recalls: [f64; 2]| {
            let mut held_out = held_out(&[("accuracy", 0.8)], &[900, 100], None);
            for (class, recall) in held_out.examined.report.per_class.iter_mut().zip(recalls) {
                class.recall = Some(recall);
            }
            held_out.no_better_than(balanced)
        };
        let worse = "worse than always guessing `0`, the most common class (90.0 %)";
        assert_eq!(told(false, [0.8, 0.8]).as_deref(), Some(worse));
        assert_eq!(told(true, [0.8, 0.8]), None);
        let guesses = "not clearly better than guessing among the 2 classes: their mean recall is";
        assert_eq!(told(true, [0.88, 0.16]), Some(format!("{guesses} 52.0 %")));
        assert!(told(true, [0.1, 0.1]).unwrap().starts_with("worse than guessing among the 2"));
        assert_eq!(held_out(&[("accuracy", 0.8)], &[], None).no_better_than(true), None);
    }
}
