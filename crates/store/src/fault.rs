//! Writes that fail on demand, for tests.
//!
//! A test arms a fault on its own thread, runs what it tests, and looks at what is left on the
//! disk. Nothing outside tests arms one.

use std::{cell::Cell, io};

thread_local! {
    static UNTIL_FAULT: Cell<Option<usize>> = const { Cell::new(None) };
}

/// Makes the write number `after` (from 0) of this thread fail, once.
pub fn arm(after: usize) {
    UNTIL_FAULT.set(Some(after));
}

/// Disarms the fault; returns whether it had not fired.
pub fn disarm() -> bool {
    UNTIL_FAULT.take().is_some()
}

/// Called before every step of a write.
pub(crate) fn point() -> io::Result<()> {
    match UNTIL_FAULT.get() {
        None => Ok(()),
        Some(0) => {
            UNTIL_FAULT.set(None);
            Err(io::Error::other("injected fault"))
        }
        Some(writes) => {
            UNTIL_FAULT.set(Some(writes - 1));
            Ok(())
        }
    }
}
