//! Vectors of f32 whose width is chosen when the program runs.
//!
//! A kernel is written once over [`Vector`] and run by [`Level::run`], which compiles it for each
//! instruction set and picks what the processor has. Tests run the same kernels at every level,
//! among them 16 lanes made of arrays, so that the algorithm for AVX-512 is tested without it.

#[cfg(target_arch = "aarch64")]
mod neon;
#[cfg(any(test, not(target_arch = "aarch64")))]
mod portable;
#[cfg(target_arch = "x86_64")]
mod x86;

#[cfg(any(test, not(target_arch = "aarch64")))]
use portable::Lanes;

/// A kernel over vectors of any width. Its `run` and all that it calls with a [`Vector`] must be
/// `#[inline(always)]`, closures too: a function compiled by itself lacks the level's
/// instructions, and each of them becomes a call, which is correct and ten times slower.
pub(super) trait Kernel {
    type Output;

    fn run<V: Vector>(self) -> Self::Output;
}

/// An instruction set that the processor was found to have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Level(Set);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Set {
    #[cfg(target_arch = "x86_64")]
    Avx512,
    #[cfg(target_arch = "x86_64")]
    Avx2,
    #[cfg(target_arch = "aarch64")]
    Neon,
    /// Eight lanes in an array.
    #[cfg(any(test, not(target_arch = "aarch64")))]
    Portable,
    /// Sixteen lanes in an array, in the place of AVX-512.
    #[cfg(test)]
    Wide,
}

impl Level {
    /// The widest vectors that this processor has.
    pub(super) fn best() -> Self {
        #[cfg(target_arch = "x86_64")]
        {
            let has_avx2 = is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma");
            if has_avx2 && is_x86_feature_detected!("avx512f") {
                return Self(Set::Avx512);
            }
            if has_avx2 {
                return Self(Set::Avx2);
            }
        }
        #[cfg(target_arch = "aarch64")]
        {
            Self(Set::Neon)
        }
        #[cfg(not(target_arch = "aarch64"))]
        {
            Self(Set::Portable)
        }
    }

    /// Every level that this processor can run.
    #[cfg(test)]
    pub(super) fn all() -> Vec<Self> {
        #[allow(unused_mut)] // by others than x86 and ARM
        let mut levels = vec![Self(Set::Portable), Self(Set::Wide)];
        #[cfg(target_arch = "aarch64")]
        levels.push(Self(Set::Neon));
        #[cfg(target_arch = "x86_64")]
        {
            if is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma") {
                levels.push(Self(Set::Avx2));
            }
            if Self::best() == Self(Set::Avx512) {
                levels.push(Self::best());
            }
        }
        levels
    }

    /// Elements of a vector.
    pub(super) fn lanes(self) -> usize {
        match self.0 {
            #[cfg(target_arch = "x86_64")]
            Set::Avx512 => 16,
            #[cfg(target_arch = "x86_64")]
            Set::Avx2 => 8,
            #[cfg(target_arch = "aarch64")]
            Set::Neon => 8,
            #[cfg(any(test, not(target_arch = "aarch64")))]
            Set::Portable => 8,
            #[cfg(test)]
            Set::Wide => 16,
        }
    }

    /// Runs the kernel with the vectors of this level.
    pub(super) fn run<K: Kernel>(self, kernel: K) -> K::Output {
        match self.0 {
            #[cfg(target_arch = "x86_64")]
            // SAFETY: a level exists only where its instructions were detected.
            Set::Avx512 => unsafe { x86::run_avx512(kernel) },
            #[cfg(target_arch = "x86_64")]
            // SAFETY: as above.
            Set::Avx2 => unsafe { x86::run_avx2(kernel) },
            #[cfg(target_arch = "aarch64")]
            Set::Neon => kernel.run::<neon::F32x8>(),
            #[cfg(any(test, not(target_arch = "aarch64")))]
            Set::Portable => kernel.run::<Lanes<8>>(),
            #[cfg(test)]
            Set::Wide => kernel.run::<Lanes<16>>(),
        }
    }
}

/// A vector of f32. The types that need instructions of their own are private to this module, so
/// that only [`Level::run`] can name them, and their arithmetic is safe to call.
pub(super) trait Vector: Copy {
    /// Elements of a vector.
    const LANES: usize;
    /// Whether vectors are arrays. They need no instructions of their own, so a tile of them may be a
    /// function that is called, and should be: the compiler takes minutes where it writes out many.
    const IN_ARRAYS: bool = false;

    /// `LANES` vectors.
    type Block: Copy + AsRef<[Self]> + AsMut<[Self]>;
    /// One truth value a lane.
    type Mask: Copy;

    fn splat(value: f32) -> Self;

    /// # Safety
    ///
    /// `LANES` floats can be read from `source`.
    unsafe fn load(source: *const f32) -> Self;

    /// # Safety
    ///
    /// `LANES` floats can be written to `target`.
    unsafe fn store(self, target: *mut f32);

    /// The first `count` lanes from memory, the others zero; all of them if `count` is larger.
    ///
    /// # Safety
    ///
    /// `count` floats, or `LANES` if that is less, can be read from `source`.
    unsafe fn load_first(source: *const f32, count: usize) -> Self;

    /// Stores the first `count` lanes; all of them if `count` is larger.
    ///
    /// # Safety
    ///
    /// `count` floats, or `LANES` if that is less, can be written to `target`.
    unsafe fn store_first(self, target: *mut f32, count: usize);

    fn add(self, other: Self) -> Self;
    fn sub(self, other: Self) -> Self;
    fn mul(self, other: Self) -> Self;
    fn div(self, other: Self) -> Self;
    /// The larger; `other` where one is NaN.
    fn max(self, other: Self) -> Self;
    /// The smaller; `other` where one is NaN.
    fn min(self, other: Self) -> Self;
    fn sqrt(self) -> Self;
    /// To the nearest integer, ties to even.
    fn round(self) -> Self;

    /// `self * factor + addend`, rounded once where there is an instruction for it.
    fn mul_add(self, factor: Self, addend: Self) -> Self;
    /// `addend - self * factor`, likewise.
    fn neg_mul_add(self, factor: Self, addend: Self) -> Self;

    /// Two to the power of each lane, which must hold integers from -126 to 127.
    fn power_of_two(self) -> Self;

    fn greater(self, other: Self) -> Self::Mask;
    /// Greater or equal; not where one is NaN.
    fn at_least(self, other: Self) -> Self::Mask;
    fn equal(self, other: Self) -> Self::Mask;
    fn is_nan(self) -> Self::Mask;
    fn either(mask: Self::Mask, other: Self::Mask) -> Self::Mask;
    /// `yes` where the mask holds, else `no`.
    fn select(mask: Self::Mask, yes: Self, no: Self) -> Self;

    /// The sum of the lanes, in a fixed order.
    fn sum(self) -> f32;

    /// The even and the odd elements of two vectors, taken one after the other.
    fn unzip(self, other: Self) -> [Self; 2];
    /// The reverse of [`unzip`](Self::unzip).
    fn zip(self, other: Self) -> [Self; 2];

    /// # Safety
    ///
    /// `LANES` bytes can be read from `source`.
    unsafe fn load_bytes(source: *const u8) -> Self;

    /// Stores each lane, an integer from 0 to 255, as a byte.
    ///
    /// # Safety
    ///
    /// `LANES` bytes can be written to `target`.
    unsafe fn store_bytes(self, target: *mut u8);

    /// A block whose rows are made one by one.
    fn block(row: impl FnMut(usize) -> Self) -> Self::Block;
    /// Exchanges rows and lanes.
    fn transpose(block: &mut Self::Block);

    #[inline(always)]
    fn zero() -> Self {
        Self::splat(0.0)
    }
}

/// Straight-line code for a tile whose size is a constant, sixteen at most: the index is a literal
/// in each copy, so that an array of accumulators stays in registers. A loop is not always
/// unrolled, and then they live in memory.
macro_rules! unroll {
    ($index:ident < $count:expr => $body:block) => {
        $crate::flex::simd::unroll!(@ $index, $count, $body, 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15)
    };
    (@ $index:ident, $count:expr, $body:block, $($literal:literal)*) => {
        $({ const $index: usize = $literal; if $index < $count $body })*
    };
}
pub(super) use unroll;

#[cfg(test)]
mod tests {
    use super::*;

    /// Runs each operation on lanes 1, 2, 3, ... and returns the results.
    struct Operations;

    impl Kernel for Operations {
        type Output = Vec<Vec<f32>>;

        #[inline(always)]
        fn run<V: Vector>(self) -> Self::Output {
            let numbers: Vec<f32> = (1..=V::LANES).map(|lane| lane as f32).collect();
            let read = |vector: V| {
                let mut lanes = vec![0.0; V::LANES];
                // SAFETY: the vector of lanes has room for all.
                unsafe { vector.store(lanes.as_mut_ptr()) };
                lanes
            };
            // SAFETY: `numbers` has `LANES` elements.
            let (a, first) =
                unsafe { (V::load(numbers.as_ptr()), V::load_first(numbers.as_ptr(), 3)) };
            let two = V::splat(2.0);
            let mut stored = vec![9.0; V::LANES];
            // SAFETY: `stored` has `LANES` elements.
            unsafe { a.store_first(stored.as_mut_ptr(), 5) };
            let mut block = V::block(|row| a.add(V::splat((row * V::LANES) as f32)));
            V::transpose(&mut block);
            let transposed: Vec<f32> = block.as_ref().iter().flat_map(|row| read(*row)).collect();
            let third = V::splat(1.0 / 3.0);
            let nan = V::select(a.greater(two), V::splat(f32::NAN), a);
            let [even, odd] = a.unzip(a.add(V::splat(V::LANES as f32)));
            let [low, high] = even.zip(odd);
            let mut bytes = vec![0; V::LANES];
            // SAFETY: `bytes` has `LANES` elements.
            let bytes = unsafe {
                a.add(V::splat(200.0)).store_bytes(bytes.as_mut_ptr());
                V::load_bytes(bytes.as_ptr())
            };
            vec![
                read(a.add(two)),
                read(a.sub(two)),
                read(a.mul(two)),
                read(a.div(two)),
                read(a.max(two)),
                read(a.min(two)),
                read(a.mul(a).sqrt()),
                read(a.mul(third).round()),
                read(a.mul_add(two, a)),
                read(a.neg_mul_add(two, a)),
                read(a.sub(two).power_of_two()),
                read(V::select(a.greater(two), a, V::zero())),
                read(V::select(nan.at_least(two), V::zero(), a)),
                read(V::select(a.equal(two), a, V::zero())),
                read(V::select(V::either(nan.is_nan(), a.equal(two)), a, V::zero())),
                read(even),
                read(odd),
                read(low),
                read(high),
                read(bytes),
                read(first),
                stored,
                transposed,
                vec![a.sum()],
                read(nan.max(two)),
                read(two.max(nan)),
                read(nan.min(two)),
                read(two.min(nan)),
                read(a.div(two).round()),
            ]
        }
    }

    /// Copies the first `count` numbers as a vector.
    struct CopyFirst<'a> {
        source: &'a [f32],
        target: &'a mut [f32],
        count: usize,
    }

    impl Kernel for CopyFirst<'_> {
        type Output = ();

        #[inline(always)]
        fn run<V: Vector>(self) {
            let needed = self.count.min(V::LANES);
            assert!(self.source.len() >= needed && self.target.len() >= needed);
            // SAFETY: both slices have as many numbers, as asserted.
            unsafe {
                let values = V::load_first(self.source.as_ptr(), self.count);
                values.store_first(self.target.as_mut_ptr(), self.count);
            }
        }
    }

    #[test]
    fn any_number_of_lanes_is_copied_from_and_to_any_address() {
        let numbers: Vec<f32> = (1..=40).map(|number| number as f32).collect();
        for level in Level::all() {
            for (count, offset) in (0..=level.lanes() + 1).flat_map(|c| [(c, 0), (c, 1), (c, 2)]) {
                let copied = count.min(level.lanes());
                let source = &numbers[offset..][..copied];
                let mut target = [0.0; 40];
                level.run(CopyFirst { source, target: &mut target[offset..], count });
                let what = format!("{count} lanes at {offset}, {level:?}");
                assert_eq!(target[offset..][..copied], *source, "{what}");
                let others = target[..offset].iter().chain(&target[offset + copied..]);
                assert!(others.copied().all(|number| number == 0.0), "{what}");
            }
        }
    }

    #[test]
    fn every_level_computes_the_same() {
        for level in Level::all() {
            let each = |operation: fn(f32) -> f32| -> Vec<f32> {
                (1..=level.lanes()).map(|lane| operation(lane as f32)).collect()
            };
            let expected = [
                each(|a| a + 2.0),
                each(|a| a - 2.0),
                each(|a| a * 2.0),
                each(|a| a / 2.0),
                each(|a| a.max(2.0)),
                each(|a| a.min(2.0)),
                each(|a| a),
                each(|a| (a / 3.0).round()),
                each(|a| a * 3.0),
                each(|a| -a),
                each(|a| (a - 2.0).exp2()),
                each(|a| if a > 2.0 { a } else { 0.0 }),
                each(|a| if a == 2.0 { 0.0 } else { a }),
                each(|a| if a == 2.0 { a } else { 0.0 }),
                each(|a| if a >= 2.0 { a } else { 0.0 }),
                each(|a| 2.0 * a - 1.0),
                each(|a| 2.0 * a),
                each(|a| a),
                each(|a| a).iter().map(|a| a + level.lanes() as f32).collect(),
                each(|a| a + 200.0),
                each(|a| if a <= 3.0 { a } else { 0.0 }),
                each(|a| if a <= 5.0 { a } else { 9.0 }),
                each(|a| a)
                    .iter()
                    .flat_map(|lane| each(|a| a).into_iter().map(move |row| (*lane, row)))
                    .map(|(lane, row)| lane + (row - 1.0) * level.lanes() as f32)
                    .collect(),
                vec![each(|a| a).iter().sum()],
                // `nan` is NaN above 2; the second operand is what is left.
                each(|_| 2.0),
                each(|a| if a > 2.0 { f32::NAN } else { 2.0 }),
                each(|a| if a > 2.0 { 2.0 } else { a }),
                each(|a| if a > 2.0 { f32::NAN } else { a }),
                each(|a| (a / 2.0).round_ties_even()),
            ];
            for (index, (ours, expected)) in level.run(Operations).iter().zip(expected).enumerate()
            {
                let bits =
                    |numbers: &[f32]| numbers.iter().map(|n| n.to_bits()).collect::<Vec<_>>();
                assert_eq!(bits(ours), bits(&expected), "{level:?}, operation {index}: {ours:?}");
            }
        }
    }
}
