//! Counts the operations that a backend did itself, for tests that no layer took a default body.
//!
//! Calls are counted per thread, so that parallel tests do not mix.
//!
//! ```
//! let before = backend::overrides::counts();
//! // ... a forward and a backward pass ...
//! let after = backend::overrides::counts();
//! assert_eq!(after.composed, before.composed, "a layer took no override");
//! ```

use std::cell::Cell;

/// How many operations this thread has called since it began.
///
/// Not counted: default bodies that are good enough for some backends (normalised images, moving
/// averages, binary cross-entropy, divergence), and what the GPU backends compose of Burn's operations
/// themselves.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Calls {
    /// Done by a backend's own kernels.
    pub taken: u64,
    /// Done by a default body in plain Burn operations.
    pub composed: u64,
}

thread_local! {
    static CALLS: Cell<Calls> = const { Cell::new(Calls { taken: 0, composed: 0 }) };
}

/// The calls of this thread so far.
pub fn counts() -> Calls {
    CALLS.get()
}

/// Notes that an override runs.
#[cfg(any(feature = "cpu", feature = "cube"))]
pub(crate) fn note_taken() {
    let calls = CALLS.get();
    CALLS.set(Calls { taken: calls.taken + 1, ..calls });
}

/// Notes that a default body runs.
pub(crate) fn note_composed() {
    let calls = CALLS.get();
    CALLS.set(Calls { composed: calls.composed + 1, ..calls });
}
