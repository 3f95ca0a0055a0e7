//! Memory that a GPU refused.
//!
//! CubeCL allocates in a thread of its own and catches the panic there. It leaves out the kernels that
//! would have used the memory, and whatever reads their results reads what was there before.

use std::{
    panic::{set_hook, take_hook},
    sync::{Mutex, MutexGuard, Once, PoisonError},
};

/// How the panic begins that directly follows a refusal in tuning, where kernels are tried in CubeCL's own
/// thread: another kernel is taken then.
const TRIED: &str = "Can't have an error when submitting a task";

static REFUSED: Mutex<Refused> = Mutex::new(Refused { first: None, last: None });

/// The sizes of buffers.
#[derive(Default)]
struct Refused {
    /// The first one that the device had no room for.
    first: Option<u64>,
    /// That of the last panic, which counts unless the next one tells that a kernel was only [`TRIED`].
    last: Option<u64>,
}

impl Refused {
    /// - `panic`: its message
    fn note(&mut self, panic: &str) {
        let before = self.last.take();
        if !panic.starts_with(TRIED) {
            self.first = self.first.or(before);
            self.last = size(panic);
        }
    }

    fn bytes(&self) -> Option<u64> {
        self.first.or(self.last)
    }
}

fn refused() -> MutexGuard<'static, Refused> {
    REFUSED.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The bytes of the first buffer that the device refused, if there was one. Whatever was computed since
/// may be wrong.
pub(super) fn refused_bytes() -> Option<u64> {
    refused().bytes()
}

/// Notes from now on what is refused; what happens on a panic stays as it is.
pub(super) fn watch() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let usual = take_hook();
        set_hook(Box::new(move |panic| {
            if let Some(message) = panic.payload_as_str() {
                refused().note(message);
            }
            usual(panic);
        }));
    });
}

/// The size of the buffer in CubeCL's `IoError::BufferTooBig`, in the form of either trait.
fn size(message: &str) -> Option<u64> {
    const FORMS: [&str; 2] = ["can't allocate buffer of size: ", "BufferTooBig { size: "];
    let rest = FORMS.iter().find_map(|form| message.split_once(form)).map(|(_, rest)| rest)?;
    rest.split(|letter: char| !letter.is_ascii_digit()).next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use std::thread;

    use super::*;

    /// What is noted after these panics.
    fn noted(panics: &[&str]) -> Option<u64> {
        let mut refused = Refused::default();
        panics.iter().for_each(|panic| refused.note(panic));
        refused.bytes()
    }

    const LARGE: &str = "an `Err` value: BufferTooBig { size: 10001, backtrace: .. }";
    const SMALL: &str = "can't allocate buffer of size: 99\nat ..";

    #[test]
    fn the_first_buffer_that_was_refused_is_noted() {
        assert_eq!(noted(&["another reason, size: 9"]), None);
        assert_eq!(noted(&[SMALL]), Some(99));
        assert_eq!(noted(&[LARGE, SMALL]), Some(10_001));
        assert_eq!(noted(&[SMALL, "Resource to exist.", LARGE]), Some(99));
    }

    #[test]
    fn a_buffer_counts_unless_a_kernel_was_only_tried() {
        let tried = format!("{TRIED}: CallError");
        let tuned = "called `Result::unwrap()` on an `Err` value: CallError";
        for refused in [LARGE, SMALL] {
            assert_eq!(noted(&[refused, &tried, tuned]), None);
            assert_eq!(noted(&[refused, &tried, tuned, SMALL]), Some(99));
        }
        // A kernel that is tried lacks what was refused before.
        assert_eq!(noted(&[LARGE, "Resource to exist.", &tried, tuned]), Some(10_001));
        assert_eq!(noted(&[LARGE, &tried, tuned, LARGE, LARGE, &tried]), Some(10_001));
    }

    #[test]
    fn panics_of_other_threads_are_noted() {
        watch();
        assert!(thread::spawn(|| panic!("{SMALL}")).join().is_err());
        assert_eq!(refused_bytes(), Some(99));
    }
}
