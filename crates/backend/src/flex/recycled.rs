//! Memory for the outputs of kernels: kept after use, handed out again, never zeroed in between.
//!
//! Fresh memory costs more than most kernels: the system clears each page when it is first touched,
//! and Flex's own `empty` fills it a second time. So a buffer whose tensor is dropped goes to a
//! list, and the next output that fits takes the one that came last, which is still in the cache.
//! A buffer is zeroed once, when it is made, so no uninitialised memory can be read through it.

use std::{
    alloc::{Layout as MemoryLayout, alloc_zeroed, dealloc, handle_alloc_error},
    mem::MaybeUninit,
    ptr::NonNull,
    sync::{Mutex, MutexGuard, PoisonError},
};

use burn::tensor::{Bytes, DType, Shape};
use burn_flex::{FlexTensor, Layout};
use burn_std::{AllocationController, AllocationProperty};

use super::number_of_elements;

/// Most steps of training return fewer buffers, so that what one needs at its peak is not forgotten within it.
const FADES_AFTER: usize = 1 << 12;

/// One cache line, and one AVX-512 vector.
pub(super) const ALIGNMENT: usize = 64;

/// A tensor of f32 with unspecified elements, to be overwritten whole through `storage_mut`.
pub(super) fn floats(shape: impl Into<Shape>) -> FlexTensor {
    tensor(shape.into(), DType::F32, size_of::<f32>())
}

/// A tensor of bytes with unspecified elements, to be overwritten whole through `storage_mut`.
pub(super) fn bytes(shape: impl Into<Shape>) -> FlexTensor {
    tensor(shape.into(), DType::U8, 1)
}

fn tensor(shape: Shape, dtype: DType, element_bytes: usize) -> FlexTensor {
    let bytes = number_of_elements(&shape).checked_mul(element_bytes);
    // No block is larger, and rounding up would wrap.
    let bytes = bytes.filter(|bytes| isize::try_from(*bytes).is_ok());
    let bytes = bytes.expect("fewer bytes than addresses");
    let controller = Recycled { buffer: Some(buffer(bytes)) };
    // SAFETY: the buffer holds at least `bytes` bytes, and all of them were initialised when it
    // was made.
    let bytes = unsafe { Bytes::from_controller(Box::new(controller), bytes) };
    FlexTensor::new(bytes, Layout::contiguous(shape), dtype)
}

/// A buffer of at least `bytes` bytes: a free one of the fitting size, or a new one.
fn buffer(bytes: usize) -> Buffer {
    let capacity = rounded(bytes);
    // Outside of the lock, so that other threads need not wait for a new one.
    let free = free().take(capacity);
    free.unwrap_or_else(|| Buffer::zeroed(capacity))
}

/// Frees the oldest buffers that no tensor holds, `bytes` bytes of them if there are as many.
pub(crate) fn free_kept_memory(bytes: usize) {
    free().release(bytes);
}

/// An aligned block of initialised memory.
pub(super) struct Buffer {
    start: NonNull<u8>,
    capacity: usize,
}

// SAFETY: a buffer owns its memory, like a `Box<[u8]>`.
unsafe impl Send for Buffer {}
// SAFETY: as above; a shared buffer can only be read.
unsafe impl Sync for Buffer {}

impl Buffer {
    /// Zeroed memory of at least `bytes` bytes.
    pub(super) fn zeroed(bytes: usize) -> Self {
        let layout = Self::layout(bytes.max(ALIGNMENT));
        // SAFETY: the layout's size is not zero.
        let start = unsafe { alloc_zeroed(layout) };
        let start = NonNull::new(start).unwrap_or_else(|| handle_alloc_error(layout));
        Self { start, capacity: layout.size() }
    }

    fn layout(bytes: usize) -> MemoryLayout {
        MemoryLayout::from_size_align(bytes, ALIGNMENT).expect("a size that memory can have")
    }

    /// The size in bytes.
    pub(super) fn capacity(&self) -> usize {
        self.capacity
    }

    /// The memory as numbers.
    pub(super) fn floats(&mut self) -> &mut [f32] {
        let length = self.capacity / size_of::<f32>();
        // SAFETY: the memory is owned, initialised, aligned to more than an f32, borrowed
        // mutably, and any bits are an f32.
        unsafe { std::slice::from_raw_parts_mut(self.start.as_ptr().cast(), length) }
    }
}

impl Drop for Buffer {
    fn drop(&mut self) {
        // SAFETY: allocated in `zeroed` with this same layout.
        unsafe { dealloc(self.start.as_ptr(), Self::layout(self.capacity)) }
    }
}

/// What a tensor holds: the buffer, until the tensor's last reference is dropped.
struct Recycled {
    buffer: Option<Buffer>,
}

impl Recycled {
    fn buffer(&self) -> &Buffer {
        self.buffer.as_ref().expect("a buffer until it is dropped")
    }
}

impl AllocationController for Recycled {
    /// Of what a copy needs: `Bytes` makes none of more, though this memory is aligned to more.
    fn alloc_align(&self) -> usize {
        align_of::<u128>()
    }

    fn property(&self) -> AllocationProperty {
        AllocationProperty::Other
    }

    // SAFETY: the caller's duty is to write initialised bytes.
    unsafe fn memory_mut(&mut self) -> &mut [MaybeUninit<u8>] {
        let Buffer { start, capacity } = *self.buffer();
        // SAFETY: the memory is owned and borrowed mutably through `self`.
        unsafe { std::slice::from_raw_parts_mut(start.as_ptr().cast(), capacity) }
    }

    fn memory(&self) -> &[MaybeUninit<u8>] {
        let Buffer { start, capacity } = *self.buffer();
        // SAFETY: the memory is owned and borrowed through `self`.
        unsafe { std::slice::from_raw_parts(start.as_ptr().cast(), capacity) }
    }
}

impl Drop for Recycled {
    fn drop(&mut self) {
        if let Some(buffer) = self.buffer.take() {
            free().put(buffer);
        }
    }
}

/// The buffers that no tensor holds, in the order in which they came.
struct FreeList {
    buffers: Vec<Buffer>,
    free_bytes: usize,
    used_bytes: usize,
    /// The most that was in use at once, which [fades](Self::fade).
    peak_bytes: usize,
    /// The most since it faded last.
    recent_peak_bytes: usize,
    /// Buffers returned since then.
    returned: usize,
}

static FREE: Mutex<FreeList> = Mutex::new(FreeList::new());

fn free() -> MutexGuard<'static, FreeList> {
    // The list is consistent wherever it could panic, so a poisoned lock does no harm.
    FREE.lock().unwrap_or_else(PoisonError::into_inner)
}

impl FreeList {
    const fn new() -> Self {
        Self {
            buffers: Vec::new(),
            free_bytes: 0,
            used_bytes: 0,
            peak_bytes: 0,
            recent_peak_bytes: 0,
            returned: 0,
        }
    }

    /// The last returned buffer of this size, or none, for the caller to make; either is in use
    /// from now on.
    fn take(&mut self, capacity: usize) -> Option<Buffer> {
        let last = self.buffers.iter().rposition(|buffer| buffer.capacity == capacity);
        let buffer = last.map(|index| self.buffers.remove(index));
        self.free_bytes -= buffer.as_ref().map_or(0, Buffer::capacity);
        self.used_bytes += capacity;
        self.recent_peak_bytes = self.recent_peak_bytes.max(self.used_bytes);
        self.peak_bytes = self.peak_bytes.max(self.used_bytes);
        self.trim();
        buffer
    }

    fn put(&mut self, buffer: Buffer) {
        self.used_bytes -= buffer.capacity;
        self.free_bytes += buffer.capacity;
        self.buffers.push(buffer);
        self.returned += 1;
        if self.used_bytes == 0 || self.returned >= FADES_AFTER {
            self.fade();
        }
        self.trim();
    }

    /// Lets the peak fall a little towards what was needed of late, so that a server frees the memory of a burst
    /// within some thousand requests.
    fn fade(&mut self) {
        let faded = self.peak_bytes - self.peak_bytes / 256;
        self.peak_bytes = faded.max(self.recent_peak_bytes);
        (self.recent_peak_bytes, self.returned) = (self.used_bytes, 0);
    }

    /// Frees the oldest buffers while used and free ones together exceed one and a half times the
    /// most that was in use at once. The half is for sizes that take turns, such as the maps
    /// of a forward and of a backward pass.
    fn trim(&mut self) {
        let limit = self.peak_bytes + self.peak_bytes / 2;
        self.release((self.used_bytes + self.free_bytes).saturating_sub(limit));
    }

    /// Frees the oldest buffers, at least `bytes` bytes of them if there are as many.
    fn release(&mut self, bytes: usize) {
        let mut released = 0;
        let count = self
            .buffers
            .iter()
            .take_while(|buffer| {
                let wanted = released < bytes;
                released += if wanted { buffer.capacity } else { 0 };
                wanted
            })
            .count();
        self.buffers.drain(..count);
        self.free_bytes -= released;
    }
}

/// Rounded up to one of four sizes per power of two, so that a last, smaller batch often fits the
/// buffers of the others.
fn rounded(bytes: usize) -> usize {
    let step = (bytes.next_power_of_two() / 8).max(ALIGNMENT);
    bytes.max(1).next_multiple_of(step)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn taken(list: &mut FreeList, bytes: usize) -> Buffer {
        let capacity = rounded(bytes);
        list.take(capacity).unwrap_or_else(|| Buffer::zeroed(capacity))
    }

    #[test]
    fn sizes_are_rounded_up_by_at_most_a_quarter() {
        for bytes in [0, 1, 63, 64, 65, 1000, 4096, 4097, 123_457] {
            let rounded = rounded(bytes);
            assert!(rounded >= bytes.max(1) && rounded.is_multiple_of(ALIGNMENT));
            assert!(rounded <= bytes + bytes / 4 + ALIGNMENT, "{bytes}: {rounded}");
        }
    }

    #[test]
    fn the_last_buffer_returned_is_the_first_handed_out() {
        let mut list = FreeList::new();
        let (first, second) = (taken(&mut list, 1000), taken(&mut list, 1000));
        let (first_start, second_start) = (first.start, second.start);
        list.put(first);
        list.put(second);
        assert_eq!(taken(&mut list, 1000).start, second_start);
        assert_eq!(taken(&mut list, 990).start, first_start);
    }

    #[test]
    fn where_memory_is_short_the_oldest_buffers_go_first() {
        let mut list = FreeList::new();
        let buffers = [1000, 2000, 3000].map(|bytes| taken(&mut list, bytes));
        buffers.into_iter().for_each(|buffer| list.put(buffer));
        let sizes = |list: &FreeList| list.buffers.iter().map(Buffer::capacity).collect::<Vec<_>>();
        list.release(0);
        assert_eq!(sizes(&list), [1000, 2000, 3000].map(rounded));
        list.release(1000 + 64);
        assert_eq!(sizes(&list), [rounded(3000)]);
        assert_eq!(list.free_bytes, rounded(3000));
        list.release(usize::MAX);
        assert_eq!((sizes(&list), list.free_bytes), (Vec::new(), 0));
    }

    #[test]
    fn sizes_that_change_do_not_pile_up() {
        let mut list = FreeList::new();
        for bytes in (1..200).map(|size| size * 1000) {
            let pair = [taken(&mut list, bytes), taken(&mut list, bytes)];
            pair.into_iter().for_each(|buffer| list.put(buffer));
            assert_eq!(list.used_bytes, 0);
            assert_eq!(list.free_bytes, list.buffers.iter().map(|b| b.capacity).sum::<usize>());
            assert!(list.free_bytes <= 2 * rounded(bytes) * 3 / 2, "{bytes}");
        }
    }

    #[test]
    fn a_burst_is_forgotten() {
        let mut list = FreeList::new();
        let burst: Vec<Buffer> = (0..100).map(|_| taken(&mut list, 1 << 16)).collect();
        burst.into_iter().for_each(|buffer| list.put(buffer));
        let mut kept_after = |requests| {
            for _ in 0..requests {
                let buffer = taken(&mut list, 1 << 16);
                list.put(buffer);
            }
            list.buffers.len()
        };
        assert_eq!(kept_after(1), 100);
        assert!((50..90).contains(&kept_after(200)));
        assert_eq!(kept_after(2000), 1);
    }

    /// As where calls overlap.
    #[test]
    fn a_burst_is_forgotten_while_some_memory_is_in_use() {
        let mut list = FreeList::new();
        let burst: Vec<Buffer> = (0..100).map(|_| taken(&mut list, 1 << 16)).collect();
        burst.into_iter().for_each(|buffer| list.put(buffer));
        let _held = taken(&mut list, 1 << 16);
        for _ in 0..2000 * FADES_AFTER {
            let buffer = taken(&mut list, 1 << 16);
            list.put(buffer);
        }
        assert!(list.buffers.len() <= 2, "{}", list.buffers.len());
    }

    #[test]
    #[should_panic(expected = "fewer bytes than addresses")]
    fn a_tensor_that_would_be_rounded_up_to_nothing_is_refused() {
        floats([usize::MAX / 4]);
    }

    #[test]
    fn a_tensor_is_aligned_exact_and_writable_in_place() {
        let mut tensor = floats([3, 5]);
        let start = tensor.bytes().as_ptr();
        assert!(start.addr().is_multiple_of(ALIGNMENT));
        let values = tensor.storage_mut::<f32>();
        assert_eq!(values.len(), 15);
        values.fill(2.0);
        assert_eq!(tensor.bytes().as_ptr(), start, "no copy on write");
        assert_eq!(tensor.clone().into_data().into_vec::<f32>().unwrap(), [2.0; 15]);
        assert!(floats([0, 4]).storage::<f32>().is_empty());
        assert_eq!(bytes([7]).storage::<u8>().len(), 7);
    }
}
