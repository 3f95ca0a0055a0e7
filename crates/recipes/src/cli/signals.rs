//! SIGINT, SIGTERM and SIGHUP.

use std::{
    io,
    sync::{Mutex, PoisonError},
    thread,
    time::Duration,
};

use signal_hook::{
    consts::{SIGINT, SIGTERM},
    flag,
};
use training::Stop;

use super::output::print_note;
use crate::{ExitCode, Failure};

/// A run that takes longer than this to stop says so.
const SOON: Duration = Duration::from_millis(200);

/// What answers a signal, if anything does.
static ANSWER: Mutex<Option<&str>> = Mutex::new(Some(
    "stopping after the current step, or before the first; send the signal again to stop at once",
));

fn answer(answer: Option<&'static str>) {
    *ANSWER.lock().unwrap_or_else(PoisonError::into_inner) = answer;
}

/// From here on only the report is left to stop.
pub(super) fn report_begins() {
    answer(Some(
        "the run has ended, and its report is being written; send the signal again to do without it",
    ));
}

/// From here on no signal is answered by a note: several processes may still wait for each other.
pub(super) fn run_has_ended() {
    answer(None);
}

/// Has a write beyond the system's limit on files fail, with an error that is told, where a signal would end
/// the program without a word.
#[cfg(unix)]
pub(super) fn survive_limits_on_files() {
    // Where it cannot be registered, the signal ends the program.
    let _ = flag::register(signal_hook::consts::SIGXFSZ, std::sync::Arc::default());
}

/// The first signal stops the run after its current step, the second at once, unless it is of a
/// terminal that was closed: that may send several.
///
/// - `tells`: whether this process prints that
pub(super) fn stop_on_signals(tells: bool) -> Result<Stop, Failure> {
    let stop = Stop::default();
    for signal in [SIGINT, SIGTERM] {
        // In this order: the handler registered first sees the flag that the second has yet to set.
        flag::register_conditional_shutdown(signal, 130, stop.flag())
            .and_then(|_| flag::register(signal, stop.flag()))
            .map_err(|error| deaf(signal, &error))?;
    }
    #[cfg(target_os = "linux")]
    if !ignores_hangup() {
        let signal = signal_hook::consts::SIGHUP;
        flag::register(signal, stop.flag()).map_err(|error| deaf(signal, &error))?;
    }
    if tells {
        let stop = stop.clone();
        thread::spawn(move || {
            // A signal handler may not print, so this polls whether one was called.
            while !stop.requested() {
                thread::sleep(SOON);
            }
            thread::sleep(SOON);
            if let Some(answer) = *ANSWER.lock().unwrap_or_else(PoisonError::into_inner) {
                print_note(answer);
            }
        });
    }
    Ok(stop)
}

fn deaf(signal: i32, error: &io::Error) -> Failure {
    Failure::new(
        ExitCode::Unexpected,
        format!("cannot listen for signal {signal}: {error}"),
        "run the program where it may handle signals",
    )
}

/// Whether the program was started to outlive its terminal, as by `nohup`. Linux alone tells.
#[cfg(target_os = "linux")]
fn ignores_hangup() -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let ignored = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let ignored = ignored.and_then(|signals| u64::from_str_radix(signals.trim(), 16).ok());
    // A bit for each signal, of which this is the first.
    ignored.is_none_or(|signals| signals & 1 == 1)
}
