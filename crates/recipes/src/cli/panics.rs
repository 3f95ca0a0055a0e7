//! Panics reported as errors: a device out of memory, or a bug.
//!
//! Burn's calls on a GPU return no errors. What goes wrong there is a panic in the device's own
//! thread, and then one in the thread that waits for it.

use std::{
    env,
    panic::{AssertUnwindSafe, PanicHookInfo, catch_unwind, set_hook, take_hook},
    sync::{Mutex, MutexGuard, PoisonError},
};

use backend::device::refused_bytes;
use data::panic_is_contained;
use training::TrainError;

use crate::{ExitCode, Failure, run::out_of_memory};

/// The messages of this process's panics, in order.
static MESSAGES: Mutex<Vec<String>> = Mutex::new(Vec::new());
/// Panics that are reported; later ones follow from them.
const MOST: usize = 2;
/// What the messages of Burn's backends have in common where memory runs out.
const OF_MEMORY: [&str; 5] =
    ["out of memory", "outofmemory", "out_of_memory", "buffertoobig", "can't allocate"];

/// Does the work; a panic in it becomes a failure.
pub(super) fn run_without_panics<T>(
    work: impl FnOnce() -> Result<T, Failure>,
) -> Result<T, Failure> {
    let usual = take_hook();
    set_hook(Box::new(move |panic| {
        if !panic_is_contained() {
            messages().push(message(panic));
        }
        if env::var_os("RUST_BACKTRACE").is_some_and(|value| value != "0") {
            usual(panic);
        }
    }));
    let done = without_panics(work)?;
    match refused_bytes() {
        // What it printed may be wrong.
        Some(bytes) => Err(TrainError::OutOfMemory { bytes }.into()),
        None => Ok(done),
    }
}

/// As [`run_without_panics`], within it: for work whose failure has more to it than its message.
pub(super) fn without_panics<T>(work: impl FnOnce() -> Result<T, Failure>) -> Result<T, Failure> {
    catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|_| Err(failure(&messages())))
}

fn messages() -> MutexGuard<'static, Vec<String>> {
    MESSAGES.lock().unwrap_or_else(PoisonError::into_inner)
}

/// `index out of bounds, at src/loader.rs:12:5`
fn message(panic: &PanicHookInfo<'_>) -> String {
    let text = panic.payload_as_str().unwrap_or("no message");
    let place = panic.location().map(|place| format!(", at {place}")).unwrap_or_default();
    // Burn's errors have a page of details below the first line, which may be empty.
    let first = text.lines().map(str::trim).find(|line| !line.is_empty());
    format!("{}{place}", first.unwrap_or_default())
}

fn failure(messages: &[String]) -> Failure {
    let about_memory = |message: &&String| {
        let message = message.to_lowercase();
        OF_MEMORY.iter().any(|words| message.contains(words))
    };
    if let Some(message) = messages.iter().find(about_memory) {
        if let Some(bytes) = bytes_in(message) {
            return TrainError::OutOfMemory { bytes }.into();
        }
        return Failure::new(
            ExitCode::Device,
            format!("the device is out of memory: {message}"),
            out_of_memory::advice().unwrap_or("lower `training.batch_size`"),
        );
    }
    let told: Vec<&str> = messages.iter().take(MOST).map(String::as_str).collect();
    Failure::new(
        ExitCode::Unexpected,
        format!("a bug: {}", told.join("; then ")),
        "please report it, with the command and what it prints when `RUST_BACKTRACE=1` is set",
    )
}

/// The size in such a message: `can't allocate buffer of size: 2595840000, at ..`.
fn bytes_in(message: &str) -> Option<u64> {
    let (_, behind) = message.split_once("size: ")?;
    behind.split(|c: char| !c.is_ascii_digit()).next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_is_an_error_that_says_where() {
        let failed = run_without_panics(|| -> Result<(), Failure> {
            panic!("\n    the {} is odd\nas told", "loader")
        });
        let failure = failed.unwrap_err();
        assert_eq!(failure.exit_code, ExitCode::Unexpected);
        let message = failure.to_string();
        assert!(message.starts_with("a bug: the loader is odd, at "), "{message}");
        assert!(message.contains("panics.rs:"), "{message}");
        assert!(run_without_panics(|| Ok(1)).is_ok_and(|one| one == 1));
    }

    #[test]
    fn a_panic_that_costs_one_picture_is_no_cause_of_a_bug() {
        let failed = run_without_panics(|| -> Result<(), Failure> {
            assert!(data::contain(|| panic!("a decoder is out of memory")).is_err());
            panic!("the loader is odd")
        });
        let failure = failed.unwrap_err();
        assert_eq!(failure.exit_code, ExitCode::Unexpected);
        assert!(failure.to_string().contains("the loader is odd"), "{failure}");
        assert!(!failure.to_string().contains("decoder"), "{failure}");
    }

    #[test]
    fn memory_that_runs_out_is_told_apart() {
        let told = |message: &str| {
            let failure = failure(&["no answer".to_owned(), message.to_owned()]);
            assert_eq!(failure.exit_code, ExitCode::Device);
            failure.to_string()
        };
        let room = "the device is out of memory: it had no room for";
        assert_eq!(told("IoError(BufferTooBig { size: 9 })"), format!("{room} 9 bytes"));
        let refusal = "can't allocate buffer of size: 2595840000, at server.rs:270:43";
        assert_eq!(told(refusal), format!("{room} 2.6 GB"));
        let code = "CUDA_ERROR_OUT_OF_MEMORY";
        assert_eq!(told(code), format!("the device is out of memory: {code}"));
    }
}
