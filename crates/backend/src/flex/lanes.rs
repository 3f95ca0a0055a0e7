//! Rows of numbers as vectors: whole ones where there are some, and the first lanes at the end.

use super::simd::Vector;

/// A distance of at least `numbers` between rows, planes or matrices that does not map to the same
/// few cache sets again and again, as a power of two would: an odd number of cache lines.
pub(super) fn odd_stride(numbers: usize) -> usize {
    let lines = numbers.div_ceil(16);
    (lines | 1) * 16
}

/// The next `count` values, or as many as there are lanes; the others are zero.
///
/// # Safety
///
/// `count` floats, or `LANES` if that is less, can be read from `source`.
#[inline(always)]
pub(super) unsafe fn read<V: Vector>(source: *const f32, count: usize) -> V {
    // SAFETY: the caller's promise. Masks cost more than the branch, which is predicted.
    unsafe { if count >= V::LANES { V::load(source) } else { V::load_first(source, count) } }
}

/// Writes the first `count` lanes, or all if there are not as many.
///
/// # Safety
///
/// `count` floats, or `LANES` if that is less, can be written to `target`.
#[inline(always)]
pub(super) unsafe fn write<V: Vector>(values: V, target: *mut f32, count: usize) {
    // SAFETY: as in `read`.
    unsafe {
        if count >= V::LANES { values.store(target) } else { values.store_first(target, count) }
    }
}

/// The first `count` lanes, the others filled with a value.
#[inline(always)]
pub(super) fn first_or<V: Vector>(values: V, count: usize, others: f32) -> V {
    if count >= V::LANES {
        return values;
    }
    let mut lanes = [others; 16];
    // SAFETY: no vector has more than sixteen lanes.
    unsafe {
        values.store_first(lanes.as_mut_ptr(), count);
        V::load(lanes.as_ptr())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn odd_strides_are_odd_numbers_of_cache_lines() {
        for numbers in [1, 16, 17, 32, 48, 9 * 1024, 7 * 48 + 16] {
            let stride = odd_stride(numbers);
            assert!((numbers..numbers + 32).contains(&stride), "{stride} for {numbers}");
            assert_eq!(stride % 32, 16, "{stride} for {numbers}");
        }
    }
}
