//! SIGINT and SIGTERM.

use training::Stop;

use crate::{ExitCode, Failure};

/// The first signal ends the run after its step, the second at once.
pub(super) fn stop_on_signals() -> Result<Stop, Failure> {
    let stop = Stop::default();
    for signal in [signal_hook::consts::SIGINT, signal_hook::consts::SIGTERM] {
        // In this order: the handler registered first sees the flag that the second has yet to set.
        signal_hook::flag::register_conditional_shutdown(signal, 130, stop.flag())
            .and_then(|_| signal_hook::flag::register(signal, stop.flag()))
            .map_err(|error| {
                Failure::new(
                    ExitCode::Unexpected,
                    format!("cannot listen for signal {signal}: {error}"),
                    "run the program where it may handle its own signals",
                )
            })?;
    }
    Ok(stop)
}
