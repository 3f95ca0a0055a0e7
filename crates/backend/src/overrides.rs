//! Which operations a backend did itself, for tests that no layer fell back to the default body.
//!
//! An operation counts on the thread that calls it, so tests beside each other do not mix.
//!
//! ```
//! let before = backend::overrides::counts();
//! // ... a forward and a backward pass ...
//! let after = backend::overrides::counts();
//! assert_eq!(after.composed, before.composed, "a layer took no override");
//! ```

use std::cell::Cell;

/// How many operations this thread has called since it began.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Done by a backend's own kernels.
    pub taken: u64,
    /// Done by a default body in plain Burn operations.
    pub composed: u64,
}

thread_local! {
    static COUNTS: Cell<Counts> = const { Cell::new(Counts { taken: 0, composed: 0 }) };
}

/// The operations of this thread so far.
pub fn counts() -> Counts {
    COUNTS.get()
}

/// Notes that an override runs.
#[cfg(any(feature = "cpu", feature = "cube"))]
pub(crate) fn note_taken() {
    let counts = COUNTS.get();
    COUNTS.set(Counts { taken: counts.taken + 1, ..counts });
}

/// Notes that a default body runs.
pub(crate) fn note_composed() {
    let counts = COUNTS.get();
    COUNTS.set(Counts { composed: counts.composed + 1, ..counts });
}
