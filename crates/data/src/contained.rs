//! Panics that end only the work in which they happen.

use std::{
    cell::Cell,
    panic::{AssertUnwindSafe, catch_unwind},
    thread,
};

thread_local! {
    static IS_CONTAINED: Cell<bool> = const { Cell::new(false) };
}

/// Does work whose panic is an error like any other: a decoder's on hostile input, or that of a source
/// of images that is not ours. Discard what it leaves half done.
///
/// # Errors
///
/// The payload of the panic.
pub fn contain<T>(work: impl FnOnce() -> T) -> thread::Result<T> {
    let outer = IS_CONTAINED.replace(true);
    let done = catch_unwind(AssertUnwindSafe(work));
    IS_CONTAINED.set(outer);
    done
}

/// Whether a panic of this thread would be an error like others, for a panic hook.
pub fn panic_is_contained() -> bool {
    IS_CONTAINED.get()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_within_is_contained_and_nothing_after_it() {
        let panicked = contain(|| {
            assert_eq!(contain(panic_is_contained).ok(), Some(true));
            assert!(panic_is_contained(), "also after what was within");
            panic!("odd");
        });
        assert!(panicked.is_err() && !panic_is_contained());
    }
}
