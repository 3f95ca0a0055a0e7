//! Memory that a GPU refused.
//!
//! CubeCL allocates in a thread of its own and catches the panic there. It leaves out the kernels that
//! would have used the memory, and whatever reads their results reads what was there before.

use std::{
    panic::{set_hook, take_hook},
    sync::{Once, OnceLock},
};

static REFUSED: OnceLock<u64> = OnceLock::new();

/// The bytes of the first buffer that the device had no room for, if there was one. Whatever was
/// computed since may be wrong.
pub(super) fn refused_bytes() -> Option<u64> {
    REFUSED.get().copied()
}

/// Notes from now on what is refused; what happens on a panic stays as it is.
///
/// - `memory`: the bytes of the device, of which CubeCL asks for at most a quarter at a time. A kernel
///   that wants more is refused without asking the device, and while kernels are tuned another is taken.
pub(super) fn watch(memory: u64) {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let largest = memory / 4;
        let usual = take_hook();
        set_hook(Box::new(move |panic| {
            let refused = panic.payload_as_str().and_then(refused);
            if let Some(bytes) = refused.filter(|&bytes| bytes <= largest) {
                let _ = REFUSED.set(bytes); // the first one stays
            }
            usual(panic);
        }));
    });
}

/// The size of the buffer in CubeCL's `IoError::BufferTooBig`, in the form of either trait.
fn refused(message: &str) -> Option<u64> {
    const FORMS: [&str; 2] = ["can't allocate buffer of size: ", "BufferTooBig { size: "];
    let rest = FORMS.iter().find_map(|form| message.split_once(form)).map(|(_, rest)| rest)?;
    rest.split(|letter: char| !letter.is_ascii_digit()).next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use std::thread;

    use super::*;

    #[test]
    fn a_buffer_that_was_refused_in_another_thread_is_noted() {
        watch(40_000);
        let check = |message: &'static str, noted| {
            assert!(thread::spawn(move || panic!("{message}")).join().is_err());
            assert_eq!(refused_bytes(), noted, "{message}");
        };
        check("another reason, size: 9", None);
        check("an `Err` value: BufferTooBig { size: 10001, backtrace: .. }", None); // too much for any GPU
        check("an `Err` value: BufferTooBig { size: 1234, backtrace: .. }", Some(1234));
        check("can't allocate buffer of size: 99\nat ..", Some(1234));
    }
}
