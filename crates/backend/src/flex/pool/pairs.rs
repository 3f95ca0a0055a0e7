//! Windows of 2x2 side by side, a vector of them at a time.
//!
//! Rows of a plane are worked on in order, so a vector may reach over the end of its row: what it
//! writes there is overwritten by the next. Only at the end of a plane lanes are left out.

use super::{
    super::{
        lanes,
        simd::{Kernel, Vector},
    },
    NONE,
};

/// Pools rows of one plane; one that has no partner is left out.
pub(in crate::flex) struct PoolPairs<'a> {
    /// Columns of the input.
    pub(in crate::flex) width: usize,
    pub(in crate::flex) input: &'a [f32],
    /// Whether maxima not above zero become zero and have no place.
    pub(in crate::flex) relu: bool,
    pub(in crate::flex) output: &'a mut [f32],
    pub(in crate::flex) places: &'a mut [u8],
}

impl Kernel for PoolPairs<'_> {
    type Output = ();

    #[inline(always)]
    fn run<V: Vector>(self) {
        let Self { width, input, relu, output, places } = self;
        let (rows, columns) = (input.len() / width / 2, width / 2);
        let floor = V::splat(if relu { 0.0 } else { f32::NEG_INFINITY });
        let cut = V::splat(if relu { f32::from(NONE) } else { 0.0 });
        for row in 0..rows {
            for column in (0..columns).step_by(V::LANES) {
                let left = 2 * (columns - column);
                let top = 2 * row * width + 2 * column;
                let [first, second] = read_pairs::<V>(input, top, left);
                let [third, fourth] = read_pairs::<V>(input, top + width, left);
                let leader = challenge((first, V::zero()), second, 1.0);
                let leader = challenge(leader, third, 2.0);
                let (best, winner) = challenge(leader, fourth, 3.0);
                let kept = V::either(best.greater(floor), best.is_nan());
                let at = row * columns + column;
                write::<V>(floor.max(best), output, at);
                write_bytes::<V>(V::select(kept, winner, cut), places, at);
            }
        }
    }
}

/// The larger of the best value so far and another one, and its place.
#[inline(always)]
pub(super) fn challenge<V: Vector>((best, winner): (V, V), value: V, place: f32) -> (V, V) {
    // A NaN wins, and stays.
    let wins = V::either(value.greater(best), value.is_nan());
    (V::select(wins, value, best), V::select(wins, V::splat(place), winner))
}

/// Scatters the gradients of a plane over some rows of its input.
pub(in crate::flex) struct ScatterPairs<'a> {
    /// Columns of the input.
    pub(in crate::flex) width: usize,
    pub(in crate::flex) gradient: &'a [f32],
    pub(in crate::flex) places: &'a [u8],
    /// The first row.
    pub(in crate::flex) first: usize,
    pub(in crate::flex) output: &'a mut [f32],
}

impl Kernel for ScatterPairs<'_> {
    type Output = ();

    #[inline(always)]
    fn run<V: Vector>(self) {
        let Self { width, gradient, places, first, output } = self;
        let columns = width / 2;
        for index in 0..output.len() / width {
            let row = first + index;
            let place = V::splat((row % 2 * 2) as f32);
            let next = place.add(V::splat(1.0));
            // A last row may have no partner.
            let windows = if row / 2 * columns < gradient.len() { columns } else { 0 };
            for column in (0..windows).step_by(V::LANES) {
                let at = row / 2 * columns + column;
                let (gradient, winner) = (read::<V>(gradient, at), read_bytes::<V>(places, at));
                let left = V::select(winner.equal(place), gradient, V::zero());
                let right = V::select(winner.equal(next), gradient, V::zero());
                let [low, high] = left.zip(right);
                let target = index * width + 2 * column;
                write::<V>(low, output, target);
                if columns - column > V::LANES / 2 {
                    write::<V>(high, output, target + V::LANES);
                }
            }
            output[index * width + 2 * windows..(index + 1) * width].fill(0.0);
        }
    }
}

/// The sum of the gradients that were not cut.
pub(in crate::flex) struct KeptSum<'a> {
    pub(in crate::flex) gradient: &'a [f32],
    pub(in crate::flex) places: &'a [u8],
}

impl Kernel for KeptSum<'_> {
    type Output = f32;

    #[inline(always)]
    fn run<V: Vector>(self) -> f32 {
        let Self { gradient, places } = self;
        let none = V::splat(f32::from(NONE));
        let mut sum = V::zero();
        for at in (0..gradient.len()).step_by(V::LANES) {
            let (gradient, winner) = (read::<V>(gradient, at), read_bytes::<V>(places, at));
            sum = sum.add(V::select(none.greater(winner), gradient, V::zero()));
        }
        sum.sum()
    }
}

/// The even and the odd ones of `count` numbers, or of as many as two vectors have.
#[inline(always)]
pub(super) fn read_pairs<V: Vector>(source: &[f32], at: usize, count: usize) -> [V; 2] {
    let low = read::<V>(source, at);
    let high = if count > V::LANES { read::<V>(source, at + V::LANES) } else { V::zero() };
    low.unzip(high)
}

/// A vector from a place in a slice on; zeros beyond its end.
#[inline(always)]
pub(super) fn read<V: Vector>(source: &[f32], at: usize) -> V {
    let source = &source[at..];
    // SAFETY: no more than the slice has.
    unsafe { lanes::read(source.as_ptr(), source.len()) }
}

/// Writes a vector from a place in a slice on, as far as it goes.
#[inline(always)]
pub(super) fn write<V: Vector>(values: V, target: &mut [f32], at: usize) {
    let target = &mut target[at..];
    // SAFETY: no more than the slice has.
    unsafe { lanes::write(values, target.as_mut_ptr(), target.len()) }
}

/// As [`read`], of bytes.
#[inline(always)]
fn read_bytes<V: Vector>(source: &[u8], at: usize) -> V {
    let source = &source[at..];
    if source.len() >= V::LANES {
        // SAFETY: the slice has a whole vector.
        return unsafe { V::load_bytes(source.as_ptr()) };
    }
    let mut bytes = [0; 16];
    bytes[..source.len()].copy_from_slice(source);
    // SAFETY: no vector has more than sixteen lanes.
    unsafe { V::load_bytes(bytes.as_ptr()) }
}

/// As [`write`], of bytes.
#[inline(always)]
pub(super) fn write_bytes<V: Vector>(values: V, target: &mut [u8], at: usize) {
    let target = &mut target[at..];
    if target.len() >= V::LANES {
        // SAFETY: the slice has a whole vector.
        return unsafe { values.store_bytes(target.as_mut_ptr()) };
    }
    let mut bytes = [0; 16];
    // SAFETY: no vector has more than sixteen lanes.
    unsafe { values.store_bytes(bytes.as_mut_ptr()) };
    target.copy_from_slice(&bytes[..target.len()]);
}
