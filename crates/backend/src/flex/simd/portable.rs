//! Vectors as arrays, for processors without a module of their own and for the tests.

use super::Vector;

/// Whether every processor that is compiled for multiplies and adds by one instruction. For others
/// `f32::mul_add` would call a function.
const FUSES: bool = cfg!(any(target_arch = "aarch64", target_feature = "fma"));

#[derive(Clone, Copy)]
pub(in crate::flex) struct Lanes<const N: usize>([f32; N]);

impl<const N: usize> Lanes<N> {
    #[inline(always)]
    fn with(self, other: Self, operation: impl Fn(f32, f32) -> f32) -> Self {
        Self(std::array::from_fn(|lane| operation(self.0[lane], other.0[lane])))
    }
}

impl<const N: usize> Vector for Lanes<N>
where
    [Self; N]: AsRef<[Self]> + AsMut<[Self]>,
{
    const LANES: usize = N;
    const IN_ARRAYS: bool = true;
    type Block = [Self; N];
    type Mask = [bool; N];

    #[inline(always)]
    fn splat(value: f32) -> Self {
        Self([value; N])
    }

    // SAFETY: the caller's duty, as in the trait.
    #[inline(always)]
    unsafe fn load(source: *const f32) -> Self {
        // SAFETY: the caller promises `N` floats; an array of them needs no other alignment.
        Self(unsafe { source.cast::<[f32; N]>().read() })
    }

    // SAFETY: the caller's duty, as in the trait.
    #[inline(always)]
    unsafe fn store(self, target: *mut f32) {
        // SAFETY: as in `load`.
        unsafe { target.cast::<[f32; N]>().write(self.0) };
    }

    // SAFETY: the caller's duty, as in the trait.
    #[inline(always)]
    unsafe fn load_first(source: *const f32, count: usize) -> Self {
        let mut lanes = [0.0; N];
        // SAFETY: the caller promises that many floats; the array has `N`.
        unsafe { source.copy_to_nonoverlapping(lanes.as_mut_ptr(), count.min(N)) };
        Self(lanes)
    }

    // SAFETY: the caller's duty, as in the trait.
    #[inline(always)]
    unsafe fn store_first(self, target: *mut f32, count: usize) {
        // SAFETY: as in `load_first`.
        unsafe { self.0.as_ptr().copy_to_nonoverlapping(target, count.min(N)) };
    }

    #[inline(always)]
    fn add(self, other: Self) -> Self {
        self.with(other, |a, b| a + b)
    }

    #[inline(always)]
    fn sub(self, other: Self) -> Self {
        self.with(other, |a, b| a - b)
    }

    #[inline(always)]
    fn mul(self, other: Self) -> Self {
        self.with(other, |a, b| a * b)
    }

    #[inline(always)]
    fn div(self, other: Self) -> Self {
        self.with(other, |a, b| a / b)
    }

    #[inline(always)]
    fn max(self, other: Self) -> Self {
        self.with(other, |a, b| if a > b { a } else { b })
    }

    #[inline(always)]
    fn min(self, other: Self) -> Self {
        self.with(other, |a, b| if a < b { a } else { b })
    }

    #[inline(always)]
    fn sqrt(self) -> Self {
        Self(self.0.map(f32::sqrt))
    }

    #[inline(always)]
    fn round(self) -> Self {
        Self(self.0.map(f32::round_ties_even))
    }

    #[inline(always)]
    fn mul_add(self, factor: Self, addend: Self) -> Self {
        if FUSES {
            let lane = |lane: usize| self.0[lane].mul_add(factor.0[lane], addend.0[lane]);
            return Self(std::array::from_fn(lane));
        }
        self.mul(factor).add(addend)
    }

    #[inline(always)]
    fn neg_mul_add(self, factor: Self, addend: Self) -> Self {
        if FUSES {
            return Self(self.0.map(|lane| -lane)).mul_add(factor, addend);
        }
        addend.sub(self.mul(factor))
    }

    #[inline(always)]
    fn power_of_two(self) -> Self {
        Self(self.0.map(|exponent| f32::from_bits(((exponent as i32 + 127) as u32) << 23)))
    }

    #[inline(always)]
    fn greater(self, other: Self) -> Self::Mask {
        std::array::from_fn(|lane| self.0[lane] > other.0[lane])
    }

    #[inline(always)]
    fn at_least(self, other: Self) -> Self::Mask {
        std::array::from_fn(|lane| self.0[lane] >= other.0[lane])
    }

    #[inline(always)]
    fn equal(self, other: Self) -> Self::Mask {
        std::array::from_fn(|lane| self.0[lane] == other.0[lane])
    }

    #[inline(always)]
    fn is_nan(self) -> Self::Mask {
        self.0.map(f32::is_nan)
    }

    #[inline(always)]
    fn either(mask: Self::Mask, other: Self::Mask) -> Self::Mask {
        std::array::from_fn(|lane| mask[lane] || other[lane])
    }

    #[inline(always)]
    fn select(mask: Self::Mask, yes: Self, no: Self) -> Self {
        Self(std::array::from_fn(|lane| if mask[lane] { yes.0[lane] } else { no.0[lane] }))
    }

    #[inline(always)]
    fn sum(self) -> f32 {
        self.0.iter().sum()
    }

    #[inline(always)]
    fn unzip(self, other: Self) -> [Self; 2] {
        let at = |index: usize| if index < N { self.0[index] } else { other.0[index - N] };
        [0, 1].map(|first| Self(std::array::from_fn(|lane| at(2 * lane + first))))
    }

    #[inline(always)]
    fn zip(self, other: Self) -> [Self; 2] {
        let at = |index: usize| [self, other][index % 2].0[index / 2];
        [0, N].map(|first| Self(std::array::from_fn(|lane| at(first + lane))))
    }

    // SAFETY: the caller's duty, as in the trait.
    #[inline(always)]
    unsafe fn load_bytes(source: *const u8) -> Self {
        // SAFETY: the caller promises `N` bytes.
        Self(unsafe { source.cast::<[u8; N]>().read() }.map(f32::from))
    }

    // SAFETY: the caller's duty, as in the trait.
    #[inline(always)]
    unsafe fn store_bytes(self, target: *mut u8) {
        // SAFETY: as in `load_bytes`.
        unsafe { target.cast::<[u8; N]>().write(self.0.map(|lane| lane as u8)) };
    }

    #[inline(always)]
    fn block(row: impl FnMut(usize) -> Self) -> Self::Block {
        std::array::from_fn(row)
    }

    #[inline(always)]
    fn transpose(block: &mut Self::Block) {
        let rows = *block;
        *block = std::array::from_fn(|row| Self(std::array::from_fn(|lane| rows[lane].0[row])));
    }
}
