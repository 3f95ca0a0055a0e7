//! The libraries' log, on stderr when asked for.

use std::io::{Write, stderr};

use log::{LevelFilter, Log, Metadata, Record};

struct Logger;

impl Log for Logger {
    fn enabled(&self, _: &Metadata<'_>) -> bool {
        true
    }

    fn log(&self, record: &Record<'_>) {
        let level = record.level().as_str().to_lowercase();
        // Nobody is left to tell when stderr is closed.
        let _ = writeln!(stderr(), "{level}: {}: {}", record.target(), record.args());
    }

    fn flush(&self) {}
}

/// Shows warnings and information if `verbose`, else errors.
pub(super) fn install(verbose: bool) {
    static LOGGER: Logger = Logger;
    // Fails only where an embedding program already has a logger.
    if log::set_logger(&LOGGER).is_ok() {
        log::set_max_level(if verbose { LevelFilter::Info } else { LevelFilter::Error });
    }
}
