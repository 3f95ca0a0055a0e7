//! What becomes of a run where memory runs out: one line `error: out of memory`, one of help, and no
//! directory that holds nothing.

use std::{
    fs,
    io::{IsTerminal, Write, stderr},
    path::PathBuf,
    process,
    sync::{
        Mutex, OnceLock, PoisonError,
        atomic::{AtomicBool, Ordering::Relaxed},
    },
};

use backend::device::{OutOfMemory, on_out_of_memory};

use crate::ExitCode;

/// Directories to remove, the innermost first, unless they hold something.
static RESERVED: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());

/// What to do: before the steps, and in them.
static ADVICE: OnceLock<[String; 2]> = OnceLock::new();
static IN_STEPS: AtomicBool = AtomicBool::new(false);

/// Has the program's allocator end it so.
pub(crate) fn install() {
    on_out_of_memory(end);
}

/// Sets what to do where memory runs out before the steps of a training run, and in them; only the first
/// call counts.
pub(crate) fn advise(advice: [String; 2]) {
    let _ = ADVICE.set(advice);
}

/// What to do where memory runs out, if it was said.
pub(crate) fn advice() -> Option<&'static str> {
    let [before, within] = ADVICE.get()?;
    Some(if IN_STEPS.load(Relaxed) { within } else { before })
}

/// Notes that the steps of a training run begin.
pub(crate) fn steps_begin() {
    IN_STEPS.store(true, Relaxed);
}

/// Has the directories removed, the first one first, up to one that holds something.
pub(crate) fn remove(directories: &[PathBuf]) {
    *RESERVED.lock().unwrap_or_else(PoisonError::into_inner) = directories.to_vec();
}

/// Nothing here needs memory.
fn end(lack: OutOfMemory) -> ! {
    let mut stderr = stderr().lock();
    // The line of a progress bar, which stays above.
    let line = if stderr.is_terminal() { "\n" } else { "" };
    let help = advice().unwrap_or("use fewer samples, smaller pictures or smaller batches");
    // Nobody is left to tell when stderr is closed.
    let _ = write!(stderr, "{line}error: {lack}\nhelp: {help}\n");
    // Another thread may hold it; then they stay.
    if let Ok(directories) = RESERVED.try_lock() {
        let mut removed = directories.iter().map(fs::remove_dir);
        while let Some(Ok(())) = removed.next() {}
    }
    process::exit(ExitCode::Device as i32)
}
