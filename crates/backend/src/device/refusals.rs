//! Memory that a GPU refused.
//!
//! CubeCL allocates in a thread of its own and catches the panic there. It leaves out the kernels that
//! would have used the memory, and whatever reads their results reads what was there before.

use std::{
    panic::{set_hook, take_hook},
    sync::{Mutex, MutexGuard, Once, PoisonError},
};

/// How the panic begins that follows where a kernel wanted memory that was only tried, in tuning; another
/// is taken then.
const TRIED: &str = "Can't have an error when submitting a task";

static REFUSED: Mutex<Refused> = Mutex::new(Refused { certain: None, unless_tried: None });

/// The sizes of buffers.
#[derive(Default)]
struct Refused {
    /// The first one that the device had no room for.
    certain: Option<u64>,
    /// One that was larger than any can be, unless the next panic tells that it was only [`TRIED`].
    unless_tried: Option<u64>,
}

impl Refused {
    /// - `panic`: its message
    /// - `largest`: how large a buffer can be
    fn note(&mut self, panic: &str, largest: u64) {
        let before = self.unless_tried.take();
        if panic.starts_with(TRIED) {
            return;
        }
        let refused = size(panic);
        let certain = before.or(refused.filter(|&bytes| bytes <= largest));
        self.certain = self.certain.or(certain); // the first one stays
        self.unless_tried = refused.filter(|&bytes| bytes > largest);
    }

    fn bytes(&self) -> Option<u64> {
        self.certain.or(self.unless_tried)
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
///
/// - `largest`: the bytes of the largest buffer that CubeCL asks the device for; what needs more is
///   refused at once
pub(super) fn watch(largest: u64) {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let usual = take_hook();
        set_hook(Box::new(move |panic| {
            if let Some(message) = panic.payload_as_str() {
                refused().note(message, largest);
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

    /// What is noted after these panics, where a buffer may have 10,000 bytes.
    fn noted(panics: &[&str]) -> Option<u64> {
        let mut refused = Refused::default();
        panics.iter().for_each(|panic| refused.note(panic, 10_000));
        refused.bytes()
    }

    const TOO_LARGE: &str = "an `Err` value: BufferTooBig { size: 10001, backtrace: .. }";
    const SMALL: &str = "can't allocate buffer of size: 99\nat ..";

    #[test]
    fn the_first_buffer_that_was_refused_is_noted() {
        assert_eq!(noted(&["another reason, size: 9"]), None);
        assert_eq!(noted(&[SMALL]), Some(99));
        assert_eq!(noted(&["an `Err` value: BufferTooBig { size: 1234, .. }", SMALL]), Some(1234));
    }

    #[test]
    fn a_buffer_that_no_device_has_counts_unless_a_kernel_was_only_tried() {
        let tried = format!("{TRIED}: CallError");
        assert_eq!(noted(&[TOO_LARGE]), Some(10_001));
        assert_eq!(noted(&[TOO_LARGE, "Resource to exist.", &tried]), Some(10_001));
        assert_eq!(noted(&[TOO_LARGE, &tried]), None);
        assert_eq!(noted(&[TOO_LARGE, &tried, SMALL]), Some(99));
        assert_eq!(noted(&[TOO_LARGE, &tried, TOO_LARGE, TOO_LARGE, &tried]), Some(10_001));
    }

    #[test]
    fn panics_of_other_threads_are_noted() {
        watch(10_000);
        assert!(thread::spawn(|| panic!("{SMALL}")).join().is_err());
        assert_eq!(refused_bytes(), Some(99));
    }
}
