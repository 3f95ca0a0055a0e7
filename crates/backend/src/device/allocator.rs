//! An allocator that reports when memory has run out.
//!
//! Out of memory, Rust aborts the program with a number of bytes. Linux instead grants more than
//! there is, and kills the program silently once it is used. So large blocks are counted here, and
//! before they grow further the system is asked whether it has that much.

#![allow(unsafe_code)]

use std::{
    alloc::{GlobalAlloc, Layout},
    fmt,
    io::{Write, stderr},
    process,
    sync::{
        OnceLock,
        atomic::{AtomicUsize, Ordering::Relaxed},
    },
};

use super::capacity;

/// Blocks from this size on are counted.
const LARGE: usize = 1 << 20;
/// How far they grow before the system is asked again.
const STEP: usize = 64 << 20;

/// Bytes in large blocks, the most that there were, and those for which the system has room.
static HELD: AtomicUsize = AtomicUsize::new(0);
static MOST: AtomicUsize = AtomicUsize::new(0);
static GRANTED: AtomicUsize = AtomicUsize::new(0);

/// What ends the program where memory runs out.
static HANDLER: OnceLock<fn(OutOfMemory) -> !> = OnceLock::new();

/// A block for which there is no memory.
#[derive(Clone, Copy, Debug)]
pub struct OutOfMemory {
    /// Bytes that the program holds in large blocks.
    pub held: usize,
    /// Bytes of the block.
    pub asked: usize,
}

impl fmt::Display for OutOfMemory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [held, more] = [self.held, self.asked].map(Size);
        write!(f, "out of memory: the program holds {held}, and {more} more are not available")
    }
}

/// Bytes, written without an allocation.
struct Size(usize);

impl fmt::Display for Size {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 as f64 {
            bytes if bytes < 1e9 => write!(f, "{:.0} MB", bytes / 1e6),
            bytes => write!(f, "{:.1} GB", bytes / 1e9),
        }
    }
}

/// Wraps another allocator, and ends the program with a reason where there is no more memory: by the handler
/// that [`on_out_of_memory`] was given, or else by an error on stderr and an abort.
#[derive(Debug, Default)]
pub struct Allocator<A>(
    /// Where memory comes from.
    pub A,
);

/// Has `handler` end the program where [`Allocator`] has no more memory; only the first call counts.
///
/// - `handler`: runs within an allocation, so it must not allocate; where it panics the program aborts
pub fn on_out_of_memory(handler: fn(OutOfMemory) -> !) {
    let _ = HANDLER.set(handler);
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
///
/// An allocator must not unwind, so this has an ABI that does not: a handler that panics aborts.
extern "C" fn out_of_memory(size: usize) -> ! {
    let lack = OutOfMemory { held: HELD.load(Relaxed).saturating_sub(size), asked: size };
    if let Some(handler) = HANDLER.get() {
        handler(lack);
    }
    // Nobody is left to tell when stderr is closed.
    let _ = writeln!(stderr(), "error: {lack}");
    process::abort()
}

#[cfg(test)]
mod tests {
    use std::{alloc::System, env, panic, process::Command};

    use super::*;

    /// Set for the copy of this program that runs out of memory.
    const RUNS_OUT: &str = "BACKEND_TEST_RUNS_OUT_OF_MEMORY";

    #[test]
    fn no_panic_of_a_handler_leaves_the_allocator() {
        if env::var_os(RUNS_OUT).is_some() {
            on_out_of_memory(|lack| panic!("{lack}"));
            let layout = Layout::from_size_align(isize::MAX as usize - 7, 8).unwrap();
            // SAFETY: the layout has a size. Nothing has that much, so there is no block to free.
            let _ = panic::catch_unwind(|| unsafe { Allocator(System).alloc(layout) });
            process::exit(0);
        }
        let this = "device::allocator::tests::no_panic_of_a_handler_leaves_the_allocator";
        let mut copy = Command::new(env::current_exe().unwrap());
        let copy = copy.args([this, "--exact"]).env(RUNS_OUT, "1").output().unwrap();
        assert!(!copy.status.success(), "{copy:?}");
    }

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
