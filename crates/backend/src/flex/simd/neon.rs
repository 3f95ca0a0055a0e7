//! NEON, which every 64-bit ARM processor has.

use std::arch::aarch64::*;

use super::Vector;

const _: () = assert!(cfg!(target_feature = "neon"), "all that is compiled here has NEON");

/// Eight lanes in two registers. There are thirty-two, which a tile for AVX2 keeps as busy.
#[derive(Clone, Copy)]
pub(super) struct F32x8([float32x4_t; 2]);

/// Applies an intrinsic to each half of its arguments.
///
/// The intrinsics are unsafe to call here because these functions carry no `target_feature`.
macro_rules! halves {
    ($call:path: $($argument:expr),*) => {
        // SAFETY: the processor has NEON, as asserted above.
        unsafe { [$call($($argument[0]),*), $call($($argument[1]),*)] }
    };
}

// Each method of one line is one intrinsic, so they are written as a table.
macro_rules! methods {
    ($($name:ident($($argument:ident),*) => $call:path;)*) => {
        $(
            #[inline(always)]
            fn $name(self, $($argument: Self),*) -> Self {
                Self(halves!($call: self.0 $(, $argument.0)*))
            }
        )*
    };
}

impl Vector for F32x8 {
    const LANES: usize = 8;
    type Block = [Self; 8];
    type Mask = [uint32x4_t; 2];

    methods! {
        add(other) => vaddq_f32;
        sub(other) => vsubq_f32;
        mul(other) => vmulq_f32;
        div(other) => vdivq_f32;
        sqrt() => vsqrtq_f32;
        round() => vrndnq_f32;
    }

    #[inline(always)]
    fn splat(value: f32) -> Self {
        // SAFETY: the processor has NEON, as asserted above.
        Self([unsafe { vdupq_n_f32(value) }; 2])
    }

    // SAFETY: the caller's duty, as in the trait.
    #[inline(always)]
    unsafe fn load(source: *const f32) -> Self {
        // SAFETY: the caller's promise.
        Self(unsafe { [vld1q_f32(source), vld1q_f32(source.add(4))] })
    }

    // SAFETY: the caller's duty, as in the trait.
    #[inline(always)]
    unsafe fn store(self, target: *mut f32) {
        let [low, high] = self.0;
        // SAFETY: the caller's promise.
        unsafe {
            vst1q_f32(target, low);
            vst1q_f32(target.add(4), high);
        }
    }

    // SAFETY: the caller's duty, as in the trait.
    #[inline(always)]
    unsafe fn load_first(source: *const f32, count: usize) -> Self {
        if count >= 8 {
            // SAFETY: the caller's promise.
            return unsafe { Self::load(source) };
        }
        // From the end on, as each part moves those behind it.
        // SAFETY: 1, 2 and 4 of the lanes add up to `count`.
        unsafe {
            let zero = vdupq_n_f32(0.0);
            let (mut source, mut lanes) = (source.add(count), zero);
            if count & 1 != 0 {
                source = source.sub(1);
                lanes = vsetq_lane_f32::<0>(*source, zero);
            }
            if count & 2 != 0 {
                source = source.sub(2);
                lanes = vcombine_f32(vld1_f32(source), vget_low_f32(lanes));
            }
            if count & 4 != 0 {
                return Self([vld1q_f32(source.sub(4)), lanes]);
            }
            Self([lanes, zero])
        }
    }

    // SAFETY: the caller's duty, as in the trait.
    #[inline(always)]
    unsafe fn store_first(self, target: *mut f32, count: usize) {
        if count >= 8 {
            // SAFETY: the caller's promise.
            return unsafe { self.store(target) };
        }
        let (mut target, [mut lanes, high]) = (target, self.0);
        // SAFETY: 4, 2 and 1 of the lanes add up to `count`.
        unsafe {
            if count & 4 != 0 {
                vst1q_f32(target, lanes);
                (target, lanes) = (target.add(4), high);
            }
            if count & 2 != 0 {
                vst1_f32(target, vget_low_f32(lanes));
                (target, lanes) = (target.add(2), vextq_f32::<2>(lanes, lanes));
            }
            if count & 1 != 0 {
                *target = vgetq_lane_f32::<0>(lanes);
            }
        }
    }

    // Not `vmaxq_f32` and `vminq_f32`, which are NaN where one is.

    #[inline(always)]
    fn max(self, other: Self) -> Self {
        Self::select(self.greater(other), self, other)
    }

    #[inline(always)]
    fn min(self, other: Self) -> Self {
        Self::select(other.greater(self), self, other)
    }

    #[inline(always)]
    fn mul_add(self, factor: Self, addend: Self) -> Self {
        Self(halves!(vfmaq_f32: addend.0, self.0, factor.0))
    }

    #[inline(always)]
    fn neg_mul_add(self, factor: Self, addend: Self) -> Self {
        Self(halves!(vfmsq_f32: addend.0, self.0, factor.0))
    }

    #[inline(always)]
    fn power_of_two(self) -> Self {
        let exponents = halves!(vcvtq_s32_f32: self.0);
        // SAFETY: the processor has NEON, as asserted above.
        let bias = [unsafe { vdupq_n_s32(127) }; 2];
        let biased = halves!(vaddq_s32: exponents, bias);
        let bits = halves!(vshlq_n_s32::<23>: biased);
        Self(halves!(vreinterpretq_f32_s32: bits))
    }

    #[inline(always)]
    fn greater(self, other: Self) -> Self::Mask {
        halves!(vcgtq_f32: self.0, other.0)
    }

    #[inline(always)]
    fn at_least(self, other: Self) -> Self::Mask {
        halves!(vcgeq_f32: self.0, other.0)
    }

    #[inline(always)]
    fn equal(self, other: Self) -> Self::Mask {
        halves!(vceqq_f32: self.0, other.0)
    }

    #[inline(always)]
    fn is_nan(self) -> Self::Mask {
        let equal = self.equal(self);
        halves!(vmvnq_u32: equal)
    }

    #[inline(always)]
    fn either(mask: Self::Mask, other: Self::Mask) -> Self::Mask {
        halves!(vorrq_u32: mask, other)
    }

    #[inline(always)]
    fn select(mask: Self::Mask, yes: Self, no: Self) -> Self {
        Self(halves!(vbslq_f32: mask, yes.0, no.0))
    }

    #[inline(always)]
    fn sum(self) -> f32 {
        let [low, high] = self.0;
        // SAFETY: the processor has NEON, as asserted above.
        unsafe { vaddvq_f32(vaddq_f32(low, high)) }
    }

    #[inline(always)]
    fn unzip(self, other: Self) -> [Self; 2] {
        let (low, high) = ([self.0[0], other.0[0]], [self.0[1], other.0[1]]);
        [Self(halves!(vuzp1q_f32: low, high)), Self(halves!(vuzp2q_f32: low, high))]
    }

    #[inline(always)]
    fn zip(self, other: Self) -> [Self; 2] {
        let ([a, b], [c, d]) =
            (halves!(vzip1q_f32: self.0, other.0), halves!(vzip2q_f32: self.0, other.0));
        [Self([a, c]), Self([b, d])]
    }

    // SAFETY: the caller's duty, as in the trait.
    #[inline(always)]
    unsafe fn load_bytes(source: *const u8) -> Self {
        // SAFETY: the caller's promise.
        let words = unsafe {
            let words = vmovl_u8(vld1_u8(source));
            [vget_low_u16(words), vget_high_u16(words)]
        };
        let numbers = halves!(vmovl_u16: words);
        Self(halves!(vcvtq_f32_u32: numbers))
    }

    // SAFETY: the caller's duty, as in the trait.
    #[inline(always)]
    unsafe fn store_bytes(self, target: *mut u8) {
        let numbers = halves!(vcvtq_u32_f32: self.0);
        let [low, high] = halves!(vmovn_u32: numbers);
        // SAFETY: the caller's promise.
        unsafe { vst1_u8(target, vmovn_u16(vcombine_u16(low, high))) };
    }

    #[inline(always)]
    fn block(row: impl FnMut(usize) -> Self) -> Self::Block {
        std::array::from_fn(row)
    }

    #[inline(always)]
    fn transpose(block: &mut Self::Block) {
        // Four rows of four columns, as four columns of four rows.
        let turned = |first: usize, half: usize| {
            let row = |index: usize| block[first + index].0[half];
            let (a, b, c, d) = (row(0), row(1), row(2), row(3));
            // SAFETY: the processor has NEON, as asserted above.
            unsafe {
                let (ac, bd) = (vzip1q_f32(a, c), vzip1q_f32(b, d));
                let (ca, db) = (vzip2q_f32(a, c), vzip2q_f32(b, d));
                [vzip1q_f32(ac, bd), vzip2q_f32(ac, bd), vzip1q_f32(ca, db), vzip2q_f32(ca, db)]
            }
        };
        let [a, b] = [turned(0, 0), turned(4, 0)];
        let [c, d] = [turned(0, 1), turned(4, 1)];
        for row in 0..4 {
            block[row] = Self([a[row], b[row]]);
            block[4 + row] = Self([c[row], d[row]]);
        }
    }
}
