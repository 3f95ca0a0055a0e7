//! An allocator that says when memory has run out, and what to do.
//!
//! Out of memory, Rust aborts the program with a number of bytes. Linux instead grants more than
//! there is, and kills the program silently once it is used. So large blocks are counted here, and
//! before they grow further the system is asked whether it has that much.

#![allow(unsafe_code)]

use std::{
    alloc::{GlobalAlloc, Layout},
    io::{IsTerminal, Write, stderr},
    path::PathBuf,
    sync::{
        Mutex, OnceLock, PoisonError,
        atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed},
    },
};

use super::capacity;

/// Blocks from this size on are counted.
const LARGE: usize = 1 << 20;
/// How far they grow before the system is asked again.
const STEP: usize = 64 << 20;
/// The exit code for what the device cannot do.
const EXIT_CODE: i32 = 4;

/// Bytes in large blocks, the most that there were, and those for which the system has room.
static HELD: AtomicUsize = AtomicUsize::new(0);
static MOST: AtomicUsize = AtomicUsize::new(0);
static GRANTED: AtomicUsize = AtomicUsize::new(0);

/// Directories to remove where memory runs out, the innermost first, unless they hold something.
static RESERVED: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());

/// What to do where memory runs out: before the steps, and in them.
static ADVICE: OnceLock<[String; 2]> = OnceLock::new();
static IN_STEPS: AtomicBool = AtomicBool::new(false);

/// Wraps another allocator, and ends the program with a reason where that has no more memory: one
/// line `error: out of memory`, one of help, exit code 4.
#[derive(Debug, Default)]
pub struct Allocator<A>(
    /// Where memory comes from.
    pub A,
);

/// Says what to do where memory runs out before the steps of a training run, and in them, for
/// [`Allocator`] to tell; only the first call counts.
pub fn advise_on_memory(advice: [String; 2]) {
    let _ = ADVICE.set(advice);
}

/// Has the directories removed where memory runs out, the first one first, up to one that holds
/// something.
pub fn remove_without_memory(directories: &[PathBuf]) {
    *RESERVED.lock().unwrap_or_else(PoisonError::into_inner) = directories.to_vec();
}

/// Says that the steps of a training run begin.
pub fn steps_begin() {
    IN_STEPS.store(true, Relaxed);
}

/// What to do where memory runs out, if it was said.
pub fn advice_on_memory() -> Option<&'static str> {
    let [before, within] = ADVICE.get()?;
    Some(if IN_STEPS.load(Relaxed) { within } else { before })
}

// SAFETY: every call is passed on as it came, and so is what it returns.
unsafe impl<A: GlobalAlloc> GlobalAlloc for Allocator<A> {
    // SAFETY: the caller promises what the other allocator asks for.
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        taken(layout.size());
        // SAFETY: what the caller promised.
        given(unsafe { self.0.alloc(layout) }, layout.size())
    }

    // SAFETY: the caller promises what the other allocator asks for.
    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        taken(layout.size());
        // SAFETY: what the caller promised.
        given(unsafe { self.0.alloc_zeroed(layout) }, layout.size())
    }

    // SAFETY: the caller promises what the other allocator asks for.
    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        freed(layout.size());
        // SAFETY: what the caller promised.
        unsafe { self.0.dealloc(pointer, layout) };
    }

    // SAFETY: the caller promises what the other allocator asks for.
    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        if size > layout.size() {
            taken(size);
            freed(layout.size());
        } else {
            // There is room for less.
            freed(layout.size());
            counted(size);
        }
        // SAFETY: what the caller promised.
        given(unsafe { self.0.realloc(pointer, layout, size) }, size)
    }
}

fn given(pointer: *mut u8, size: usize) -> *mut u8 {
    if pointer.is_null() { out_of_memory(size) } else { pointer }
}

fn freed(size: usize) {
    if size >= LARGE {
        HELD.fetch_sub(size, Relaxed);
    }
}

/// Counts a block; `None` if it is small.
fn counted(size: usize) -> Option<usize> {
    (size >= LARGE).then(|| HELD.fetch_add(size, Relaxed) + size)
}

fn taken(size: usize) {
    let Some(mut held) = counted(size) else { return };
    let most = MOST.load(Relaxed);
    if held <= GRANTED.load(Relaxed) {
        MOST.fetch_max(held, Relaxed);
        return;
    }
    // What the program had before it still has: memory that is freed is kept.
    let has_room = |held: usize| {
        let more = held.saturating_sub(most);
        capacity::has_room(more as u64, held as u64)
    };
    if !has_room(held) {
        #[cfg(feature = "cpu")]
        crate::flex::free_kept_memory(size);
        held = HELD.load(Relaxed); // less, where some was kept
        if !has_room(held) {
            out_of_memory(size);
        }
    }
    MOST.fetch_max(held, Relaxed);
    GRANTED.fetch_max(held + STEP, Relaxed);
}

/// Ends the program. Nothing here needs memory.
fn out_of_memory(size: usize) -> ! {
    let mut stderr = stderr().lock();
    // The line of a progress bar, which stays above.
    let line = if stderr.is_terminal() { "\n" } else { "" };
    let help =
        advice_on_memory().unwrap_or("use fewer samples, smaller pictures or smaller batches");
    let held = HELD.load(Relaxed).saturating_sub(size) as f64 / 1e9;
    let more = size as f64 / 1e9;
    // Nobody is left to tell when stderr is closed.
    let _ = write!(
        stderr,
        "{line}error: out of memory: the program holds {held:.1} GB, and {more:.1} GB more are not \
         available\nhelp: {help}\n"
    );
    // Another thread may hold it; then they stay.
    if let Ok(directories) = RESERVED.try_lock() {
        let mut removed = directories.iter().map(std::fs::remove_dir);
        while let Some(Ok(())) = removed.next() {}
    }
    std::process::exit(EXIT_CODE)
}

#[cfg(test)]
mod tests {
    use std::alloc::System;

    use super::*;

    #[test]
    fn a_block_that_shrinks_is_never_counted_beside_its_old_self() {
        let (allocator, large) = (Allocator(System), Layout::from_size_align(8 * LARGE, 8));
        let (large, small) = (large.unwrap(), Layout::from_size_align(6 * LARGE, 8).unwrap());
        // SAFETY: each block is used with the layout that it has then, and freed once.
        unsafe {
            let block = allocator.alloc(large);
            assert_eq!(HELD.load(Relaxed), large.size());
            let block = allocator.realloc(block, large, small.size());
            assert_eq!(HELD.load(Relaxed), small.size());
            allocator.dealloc(block, small);
        }
        assert_eq!([HELD.load(Relaxed), MOST.load(Relaxed)], [0, large.size()]);
    }
}
