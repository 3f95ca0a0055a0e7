//! `report.html`: a run as a page that needs no network.
//!
//! Everything in it is read from the run directory, so it can be written at any time, also for a
//! run in progress or one that was cut short. A finished run is evaluated again on its held-out
//! data, as `recipes eval` does, unless that was done before: the result is kept with the run.

// What is reported.
mod changes;
mod curves;
mod held_out;
mod times;
mod trend;
mod verdict;

// How it is shown.
mod page;

use std::path::Path;

use self::held_out::HeldOut;
pub(crate) use self::{
    changes::{same, shown},
    curves::overlaid,
    page::MOST_IN_MATRIX,
    verdict::{Verdict, stable, stopped_early},
};
use crate::{
    Failure, Summary,
    image_set::Progress,
    record::{self, Record},
    shell::quoted_path,
};

/// The report in the directory of a run.
pub(crate) const REPORT: &str = "report.html";

/// At the end of a run its model is evaluated again if that takes at most so many seconds,
const WORTH_SECONDS: f64 = 3.0;
/// or this share of the run.
const WORTH_SHARE: f64 = 0.05;

/// Writes the report of a run, finished or not, into `file`, atomically. Returns its verdict, and a
/// note where the model could not be evaluated again.
///
/// # Errors
///
/// Where the directory is not a run, or the system refuses.
pub(crate) fn write(
    run: &Path,
    file: &Path,
    progress: &mut Progress<'_>,
) -> Result<(Verdict, Option<String>), Failure> {
    let record = Record::read(run)?;
    let measured = record.summary.is_some().then(|| HeldOut::of(run, progress));
    let failure = measured.as_ref().and_then(|measured| measured.as_ref().err());
    let note = failure.and_then(|failure| unmeasured(&record, failure));
    Ok((write_page(&record, measured.as_ref(), None, file)?, note))
}

/// What a page lacks since the model could not be evaluated again, and what to do; none where
/// nothing was held out.
fn unmeasured(record: &Record, failure: &Failure) -> Option<String> {
    record::held_out(record.summary.as_ref()?)?;
    Some(format!(
        "the page lacks the confusion matrix and the mistakes, since the model could not be \
         evaluated again: {failure}; `recipes eval {}` says what to do",
        quoted_path(&record.directory)
    ))
}

/// Writes the report of a run that has just ended, however it did: an older page may say that it is
/// finished. Returns its verdict.
///
/// # Errors
///
/// Where the system refuses.
pub(crate) fn write_at_the_end(
    run: &Path,
    ended: &Result<Summary, Failure>,
) -> Result<Verdict, Failure> {
    let record = Record::read(run)?;
    let worth = record.summary.as_ref().is_some_and(measures_at_the_end);
    let measured = worth.then(|| HeldOut::of(run, &mut |_, _, _| ()));
    write_page(&record, measured.as_ref(), ended.as_ref().err(), &run.join(REPORT))
}

/// Whether the report at the end of a run includes evaluating it again. Where the time for that is
/// unknown, it is at most the time that the run spent outside training.
pub(crate) fn measures_at_the_end(summary: &Summary) -> bool {
    let beside_training = summary.seconds - summary.seconds_training;
    let takes = summary.seconds_measuring.unwrap_or(beside_training);
    takes <= WORTH_SECONDS.max(WORTH_SHARE * summary.seconds)
}

fn write_page(
    record: &Record,
    measured: Option<&Result<HeldOut, Failure>>,
    failure: Option<&Failure>,
    file: &Path,
) -> Result<Verdict, Failure> {
    let held_out = measured.and_then(|measured| measured.as_ref().ok());
    let mut verdict = verdict::verdict(record, held_out, failure);
    verdict.notes.extend(verdict::beyond_peak(record));
    verdict.notes.extend(record.damage().map(|damage| format!("{damage}.")));
    let page = page::page(record, &verdict, measured);
    store::write_whole(file, page.as_bytes()).map_err(Failure::user_data)?;
    Ok(verdict)
}
