//! Tasks on rayon's pool, which Flex's own operations use too.
//!
//! An operation is cut into tasks by its shape alone, never by the number of threads, and no two
//! tasks write the same memory; so results are bit for bit the same on all machines of one kind.
//! Threads take tasks as they become free, which balances a busy machine.

use std::{
    cell::Cell,
    marker::PhantomData,
    ops::Range,
    sync::atomic::{AtomicUsize, Ordering},
};

use rayon::iter::{IndexedParallelIterator, IntoParallelIterator, ParallelIterator};

use super::recycled::{ALIGNMENT, Buffer};

/// Numbers of a task that passes over them once, so many that taking the task hardly counts.
pub(super) const TASK: usize = 1 << 15;

/// Runs `work` for each task from 0 to `tasks`, and returns when all are done.
///
/// Every task gets the scratch memory of its thread, and computes with denormals flushed to zero.
pub(super) fn run(tasks: usize, work: impl Fn(usize, &mut Scratch) + Sync) {
    let next = AtomicUsize::new(0);
    let worker = || {
        let _flushed = DenormalsFlushed::new();
        Scratch::with(|scratch| {
            loop {
                let task = next.fetch_add(1, Ordering::Relaxed);
                if task >= tasks {
                    break;
                }
                work(task, scratch);
            }
        });
    };
    let workers = tasks.min(rayon::current_num_threads());
    if workers <= 1 {
        worker();
    } else {
        (0..workers).into_par_iter().with_max_len(1).for_each(|_| worker());
    }
}

/// Cuts `count` items into ranges of `of_task`, the last one shorter, and runs `work` on each.
pub(super) fn ranges(
    count: usize,
    of_task: usize,
    work: impl Fn(Range<usize>, &mut Scratch) + Sync,
) {
    run(count.div_ceil(of_task), |task, scratch| {
        let start = task * of_task;
        work(start..count.min(start + of_task), scratch);
    });
}

/// Runs `work` on each chunk of `size` values, the last one shorter, with its number.
pub(super) fn chunks<T: Send>(
    values: &mut [T],
    size: usize,
    work: impl Fn(usize, &mut [T], &mut Scratch) + Sync,
) {
    let (count, size, shared) = (values.len(), size.max(1), Shared::new(values));
    ranges(count, size, |range, scratch| {
        // SAFETY: ranges do not overlap.
        work(range.start / size, unsafe { shared.slice(range.start, range.len()) }, scratch);
    });
}

/// Memory of one thread that lasts from call to call and only grows.
#[derive(Default)]
pub(super) struct Scratch {
    buffer: Option<Buffer>,
}

impl Scratch {
    /// Lends the thread's scratch to `work`. A task that runs inside another one on the same
    /// thread, as rayon may do while that one waits, gets a scratch of its own.
    fn with<R>(work: impl FnOnce(&mut Self) -> R) -> R {
        thread_local! {
            static SCRATCH: Cell<Scratch> = const { Cell::new(Scratch { buffer: None }) };
        }
        let mut scratch = SCRATCH.take();
        let result = work(&mut scratch);
        SCRATCH.set(scratch);
        result
    }

    /// Slices of these lengths, each on a cache line of its own, with unspecified elements.
    pub(super) fn slices<const N: usize>(&mut self, lengths: [usize; N]) -> [&mut [f32]; N] {
        let line = ALIGNMENT / size_of::<f32>();
        let total: usize = lengths.iter().map(|length| length.next_multiple_of(line)).sum();
        if self.buffer.as_ref().is_none_or(|buffer| buffer.capacity() < total * size_of::<f32>()) {
            // The old one is freed first: it is never needed beside the new one.
            self.buffer = None;
            self.buffer = Some(Buffer::zeroed(total * size_of::<f32>()));
        }
        let mut rest = self.buffer.as_mut().map(Buffer::floats).unwrap_or_default();
        lengths.map(|length| {
            let (slice, tail) =
                std::mem::take(&mut rest).split_at_mut(length.next_multiple_of(line));
            rest = tail;
            &mut slice[..length]
        })
    }
}

/// A slice that tasks write to at once, each in places of its own.
#[derive(Clone, Copy)]
pub(super) struct Shared<'a, T> {
    start: *mut T,
    length: usize,
    lifetime: PhantomData<&'a mut [T]>,
}

// SAFETY: it hands out memory only through `slice` and `pointer`, whose callers are responsible.
unsafe impl<T: Send> Send for Shared<'_, T> {}
// SAFETY: as above.
unsafe impl<T: Send> Sync for Shared<'_, T> {}

impl<'a, T> Shared<'a, T> {
    pub(super) fn new(slice: &'a mut [T]) -> Self {
        Self { start: slice.as_mut_ptr(), length: slice.len(), lifetime: PhantomData }
    }

    /// A part of the slice.
    ///
    /// # Safety
    ///
    /// No other task reads or writes this part while it is borrowed.
    #[allow(clippy::mut_from_ref, reason = "the caller promises that parts do not overlap")]
    pub(super) unsafe fn slice(&self, start: usize, length: usize) -> &mut [T] {
        assert!(start <= self.length && length <= self.length - start, "a part of the slice");
        // SAFETY: inside of the slice, as asserted, and nobody else's by the caller's promise.
        unsafe { std::slice::from_raw_parts_mut(self.start.add(start), length) }
    }

    pub(super) fn len(&self) -> usize {
        self.length
    }

    /// The address of an element, for kernels that write strided parts.
    ///
    /// What is written through it must lie inside of the slice, and be no other task's.
    pub(super) fn pointer(&self, index: usize) -> *mut T {
        assert!(index <= self.length, "inside of the slice");
        self.start.wrapping_add(index)
    }
}

/// Flushes denormals to zero on this thread while it lives. Near zero loss they make a step
/// three times slower, for digits that do not matter.
///
/// It is set for the run of a task, not for the life of a pool's thread, because the pool is not
/// ours alone and the calling thread computes as well; it costs some ten nanoseconds.
struct DenormalsFlushed {
    #[cfg(target_arch = "x86_64")]
    before: u32,
}

#[cfg(target_arch = "x86_64")]
impl DenormalsFlushed {
    /// MXCSR's flush-to-zero and denormals-are-zero.
    const FLAGS: u32 = 0x8040;

    fn new() -> Self {
        let mut before = 0_u32;
        // SAFETY: stores MXCSR in a variable of its size.
        unsafe {
            std::arch::asm!("stmxcsr [{}]", in(reg) &mut before, options(nostack, preserves_flags));
        }
        Self::set(before | Self::FLAGS);
        Self { before }
    }

    fn set(value: u32) {
        // SAFETY: reads a variable of MXCSR's size. Of the control bits only the two above ever
        // change: no exception is unmasked, and no rounding mode changed. The flags of exceptions
        // that were raised in between are lost, so flags are not preserved.
        //
        // Rust promises nothing where these two are not zero (`_mm_setcsr` says so), because the
        // compiler computes with denormals where it folds constants. It infers nothing else from
        // it, so a kernel may see a denormal or a zero, and is correct with both.
        unsafe {
            std::arch::asm!("ldmxcsr [{}]", in(reg) &value, options(nostack));
        }
    }
}

#[cfg(target_arch = "x86_64")]
impl Drop for DenormalsFlushed {
    fn drop(&mut self) {
        Self::set(self.before);
    }
}

#[cfg(not(target_arch = "x86_64"))]
impl DenormalsFlushed {
    fn new() -> Self {
        Self {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_task_runs_once_on_any_number_of_threads() {
        for threads in [1, 3] {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            for tasks in [0, 1, 2, 1000] {
                let mut counts = vec![0; tasks];
                let shared = Shared::new(&mut counts);
                pool.install(|| {
                    run(tasks, |task, _| {
                        // SAFETY: each task has an element of its own.
                        let own = unsafe { shared.slice(task, 1) };
                        own[0] += 1;
                    });
                });
                assert_eq!(counts, vec![1; tasks]);
            }
        }
    }

    #[test]
    fn chunks_divide_the_values_in_their_order() {
        for (count, size) in [(0, 3), (1, 3), (6, 3), (7, 3), (0, 0)] {
            let mut numbers = vec![usize::MAX; count];
            chunks(&mut numbers, size, |number, chunk, _| chunk.fill(number));
            assert!(numbers.into_iter().eq((0..count).map(|index| index / size)));
        }
    }

    #[test]
    fn scratch_slices_are_aligned_and_apart() {
        run(1, |_, scratch| {
            for lengths in [[3, 0, 17], [1000, 1, 5]] {
                let slices = scratch.slices(lengths);
                for (slice, length) in slices.iter().zip(lengths) {
                    assert_eq!(slice.len(), length);
                    assert!(slice.as_ptr().addr().is_multiple_of(ALIGNMENT));
                }
                let [first, _, last] = slices;
                last.fill(1.0);
                first.fill(2.0);
                assert!(last.iter().all(|value| *value == 1.0));
            }
        });
    }

    #[test]
    #[cfg(target_arch = "x86_64")]
    fn denormals_are_zero_in_a_task_and_whole_again_after_it() {
        let half = |value: f32| std::hint::black_box(value) * 0.5;
        run(1, |_, _| assert_eq!(half(f32::MIN_POSITIVE), 0.0));
        assert!(half(f32::MIN_POSITIVE) > 0.0);
    }
}
