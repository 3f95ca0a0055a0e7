//! `report.html`: a run as a page that needs no network.
//!
//! Everything in it is read from the run directory, so it can be written at any time, also for a
//! run in progress or one that was cut short. A finished run is evaluated again on its held-out
//! data, as `recipes eval` does, unless that was done before: the result is kept with the run.

// What is reported.
mod changes;
mod curves;
mod facts;
mod held_out;
mod times;
mod trend;
mod verdict;

// How it is shown.
mod matrix;
mod page;

use std::path::Path;

use backend::{Backend, Selected};

use self::held_out::HeldOut;
pub(crate) use self::{
    curves::overlaid,
    matrix::MOST_IN_MATRIX,
    page::pieces,
    verdict::{Verdict, stable, stopped_early},
};
use crate::{
    Failure, Summary,
    run::{directory::EVALUATION, record::Record, start::WorkProgress},
    shell::{command, quoted_path},
};

/// The report in the directory of a run.
pub(crate) const REPORT: &str = "report.html";

/// At the end of a run its model is evaluated again if that takes at most so many seconds.
const WORTH_SECONDS: f64 = 10.0;
/// It is also evaluated again if that takes at most this share of the run.
const WORTH_SHARE: f64 = 0.05;

/// Writes the report of a run, finished or not, into `file`, atomically. Returns its verdict, and a
/// note where the model could not be evaluated again.
pub(crate) fn write(
    run: &Path,
    file: &Path,
    progress: &mut WorkProgress<'_>,
) -> Result<(Verdict, Option<String>), Failure> {
    let record = Record::read(run)?;
    let measured = measurable(&record).map(|_| HeldOut::of(run, progress));
    let failure = measured.as_ref().and_then(|measured| measured.as_ref().err());
    let note = failure.map(|failure| unmeasured(run, failure));
    Ok((write_page(&record, measured.as_ref(), None, file)?, note))
}

/// What a page lacks since the model could not be evaluated again, and what to do.
fn unmeasured(run: &Path, failure: &Failure) -> String {
    format!(
        "the page lacks the confusion matrix and the mistakes, since the model could not be \
         evaluated again: {failure}; `recipes eval {}` says what to do",
        quoted_path(run)
    )
}

/// The summary of a finished run that held something out: only such a one can be evaluated again.
fn measurable(record: &Record) -> Option<&Summary> {
    record.summary.as_ref().filter(|summary| summary.held_out().is_some())
}

/// Writes the report of a run that has just ended, however it did: an older page may say that it is
/// finished. Returns its verdict.
pub(crate) fn write_at_the_end(
    run: &Path,
    ended: &Result<Summary, Failure>,
    progress: &mut WorkProgress<'_>,
) -> Result<Verdict, Failure> {
    let record = Record::read(run)?;
    let worth = measurable(&record).is_some_and(measures_at_the_end);
    let measured = worth.then(|| HeldOut::of(run, progress));
    let mut verdict =
        write_page(&record, measured.as_ref(), ended.as_ref().err(), &run.join(REPORT))?;
    let failure = measured.and_then(Result::err);
    verdict.notes.extend(failure.map(|failure| format!("{}.", unmeasured(run, &failure))));
    Ok(verdict)
}

/// Whether the report of a finished run lacks what evaluating it again would tell, since that takes long.
pub(crate) fn lacks_evaluation(run: &Path, summary: &Summary) -> bool {
    summary.held_out().is_some() && !measures_at_the_end(summary) && !run.join(EVALUATION).is_file()
}

/// Whether the report at the end of a run includes evaluating it again. Where the time for that is
/// unknown, it is at most the time that the run spent outside training, though on a GPU that tuned kernels,
/// which may have taken most of the time.
fn measures_at_the_end(summary: &Summary) -> bool {
    let beside_training = summary.seconds - summary.seconds_training;
    let most = Some(beside_training).filter(|_| Selected::IS_SYNCHRONOUS);
    let worth = WORTH_SECONDS.max(WORTH_SHARE * summary.seconds);
    summary.seconds_measuring.or(most).is_none_or(|seconds| seconds <= worth)
}

fn write_page(
    record: &Record,
    measured: Option<&Result<HeldOut, Failure>>,
    failure: Option<&Failure>,
    file: &Path,
) -> Result<Verdict, Failure> {
    let held_out = measured.and_then(|measured| measured.as_ref().ok());
    let mut verdict = verdict::verdict(record, held_out, failure);
    verdict.notes.extend(record.damage().map(|damage| format!("{damage}.")));
    let page = page::page(record, &verdict, measured);
    store::write_whole(file, page.as_bytes()).map_err(|error| {
        let again = command("report", &record.directory);
        let elsewhere = format!("to write it elsewhere: {again} --output FILE.html");
        Failure::user_data(error).or(&elsewhere)
    })?;
    Ok(verdict)
}

#[cfg(test)]
mod tests {
    use std::{fs, ops::ControlFlow};

    use serde_json::{Value, json};

    use super::*;
    use crate::run::{
        directory::{CONFIG, SUMMARY},
        summary::example,
    };

    #[test]
    fn a_run_that_held_nothing_out_is_not_evaluated_again() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join(CONFIG), "recipe = \"mlp\"\n").unwrap();
        let written = |validation: Value| {
            let summary = example(&json!({ "seconds_training": 1.0, "validation": validation }));
            let json = serde_json::to_vec(&summary).unwrap();
            fs::write(folder.path().join(SUMMARY), json).unwrap();
            let file = folder.path().join(REPORT);
            let (_, note) =
                write(folder.path(), &file, &mut |_, _, _| ControlFlow::Continue(())).unwrap();
            let page = fs::read_to_string(&file).unwrap();
            write_at_the_end(folder.path(), &Ok(summary), &mut |_, _, _| ControlFlow::Continue(()))
                .unwrap();
            (note, page, fs::read_to_string(&file).unwrap())
        };
        let (note, page, at_the_end) = written(Value::Null);
        assert_eq!(note, None);
        assert!(
            ![page, at_the_end].iter().any(|page| page.contains("valuat")),
            "a model is missed"
        );
        // It has no model.
        let (note, page, at_the_end) = written(json!({"loss": 0.5}));
        assert!(note.is_some() && page.contains("Not evaluated again: "), "{page}");
        assert!(at_the_end.contains("Evaluating the model again for its mistakes would take long"));
    }
}
