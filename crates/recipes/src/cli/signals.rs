//! SIGINT and SIGTERM.

use std::{thread, time::Duration};

use training::Stop;

use super::output::print_note;
use crate::{ExitCode, Failure};

/// A run that takes longer than this to stop says so.
const SOON: Duration = Duration::from_millis(200);

/// The first signal stops the run after its current step, the second at once.
///
/// - `tells`: whether this process prints that
pub(super) fn stop_on_signals(tells: bool) -> Result<Stop, Failure> {
    let stop = Stop::default();
    for signal in [signal_hook::consts::SIGINT, signal_hook::consts::SIGTERM] {
        // In this order: the handler registered first sees the flag that the second has yet to set.
        signal_hook::flag::register_conditional_shutdown(signal, 130, stop.flag())
            .and_then(|_| signal_hook::flag::register(signal, stop.flag()))
            .map_err(|error| {
                Failure::new(
                    ExitCode::Unexpected,
                    format!("cannot listen for signal {signal}: {error}"),
                    "run the program where it may handle signals",
                )
            })?;
    }
    if tells {
        let stop = stop.clone();
        thread::spawn(move || {
            // A signal handler may not print, so this polls whether one was called.
            while !stop.requested() {
                thread::sleep(SOON);
            }
            thread::sleep(SOON);
            print_note(
                "stopping after the current step, or before the first one; once more to stop at once",
            );
        });
    }
    Ok(stop)
}
