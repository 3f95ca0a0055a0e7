//! AVX2 with FMA, and AVX-512.

use std::arch::x86_64::*;

use super::{Kernel, Vector};

/// # Safety
///
/// The processor has AVX2 and FMA.
#[target_feature(enable = "avx2,fma")]
pub(super) unsafe fn run_avx2<K: Kernel>(kernel: K) -> K::Output {
    kernel.run::<F32x8>()
}

/// # Safety
///
/// The processor has AVX-512F, and with it AVX2, and FMA.
#[target_feature(enable = "avx512f,avx2,fma")]
pub(super) unsafe fn run_avx512<K: Kernel>(kernel: K) -> K::Output {
    kernel.run::<F32x16>()
}

#[derive(Clone, Copy)]
struct F32x8(__m256);

#[derive(Clone, Copy)]
struct F32x16(__m512);

/// A mask with the first `count` of eight lanes.
#[inline(always)]
fn first_of_8(count: usize) -> __m256i {
    const LANES: [i32; 16] = [-1, -1, -1, -1, -1, -1, -1, -1, 0, 0, 0, 0, 0, 0, 0, 0];
    let start = 8 - count.min(8);
    // SAFETY: eight numbers from a place between 0 and 8 are inside of sixteen.
    unsafe { _mm256_loadu_si256(LANES.as_ptr().add(start).cast()) }
}

/// A mask with the first `count` of sixteen lanes.
#[inline(always)]
fn first_of_16(count: usize) -> __mmask16 {
    ((1_u32 << count.min(16)) - 1) as u16
}

// The intrinsics are unsafe to call here because these functions carry no `target_feature`: a
// trait's methods cannot. They are all inlined into `run_avx2` and `run_avx512`, which do, and
// nothing outside of this module can name the types.
//
// Each method of one line is one intrinsic, so they are written as a table.
macro_rules! methods {
    ($($name:ident($($argument:ident),*) => $call:path;)*) => {
        $(
            #[inline(always)]
            fn $name(self, $($argument: Self),*) -> Self {
                // SAFETY: only a kernel that runs with these instructions holds this type.
                Self(unsafe { $call(self.0, $($argument.0),*) })
            }
        )*
    };
}

impl Vector for F32x8 {
    const LANES: usize = 8;
    type Block = [Self; 8];
    type Mask = __m256;

    methods! {
        add(other) => _mm256_add_ps;
        sub(other) => _mm256_sub_ps;
        mul(other) => _mm256_mul_ps;
        div(other) => _mm256_div_ps;
        max(other) => _mm256_max_ps;
        min(other) => _mm256_min_ps;
        sqrt() => _mm256_sqrt_ps;
        round() => _mm256_round_ps::<{ _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC }>;
        mul_add(factor, addend) => _mm256_fmadd_ps;
        neg_mul_add(factor, addend) => _mm256_fnmadd_ps;
    }

    #[inline(always)]
    fn splat(value: f32) -> Self {
        // SAFETY: only a kernel that runs with these instructions can name this type.
        Self(unsafe { _mm256_set1_ps(value) })
    }

    // SAFETY: the caller's duty, as in the trait.
    #[inline(always)]
    unsafe fn load(source: *const f32) -> Self {
        // SAFETY: the caller's promise.
        Self(unsafe { _mm256_loadu_ps(source) })
    }

    // SAFETY: the caller's duty, as in the trait.
    #[inline(always)]
    unsafe fn store(self, target: *mut f32) {
        // SAFETY: the caller's promise.
        unsafe { _mm256_storeu_ps(target, self.0) };
    }

    // SAFETY: the caller's duty, as in the trait.
    #[inline(always)]
    unsafe fn load_first(source: *const f32, count: usize) -> Self {
        // SAFETY: the lanes beyond the mask are not read.
        Self(unsafe { _mm256_maskload_ps(source, first_of_8(count)) })
    }

    // SAFETY: the caller's duty, as in the trait.
    #[inline(always)]
    unsafe fn store_first(self, target: *mut f32, count: usize) {
        if count >= 8 {
            // SAFETY: the caller's promise.
            return unsafe { _mm256_storeu_ps(target, self.0) };
        }
        // Halves, because a masked store takes some ten cycles on AMD's processors; where `count`
        // is a constant, nothing is decided here.
        // SAFETY: 4, 2 and 1 of the lanes add up to `count`.
        unsafe {
            let (mut target, mut lanes) = (target, _mm256_castps256_ps128(self.0));
            if count & 4 != 0 {
                _mm_storeu_ps(target, lanes);
                (target, lanes) = (target.add(4), _mm256_extractf128_ps::<1>(self.0));
            }
            if count & 2 != 0 {
                // Not `_mm_storel_pd`, which asks for the alignment of an f64.
                _mm_storel_epi64(target.cast(), _mm_castps_si128(lanes));
                (target, lanes) = (target.add(2), _mm_movehl_ps(lanes, lanes));
            }
            if count & 1 != 0 {
                _mm_store_ss(target, lanes);
            }
        }
    }

    #[inline(always)]
    fn power_of_two(self) -> Self {
        // SAFETY: only a kernel that runs with these instructions holds this type.
        unsafe {
            let exponent = _mm256_add_epi32(_mm256_cvtps_epi32(self.0), _mm256_set1_epi32(127));
            Self(_mm256_castsi256_ps(_mm256_slli_epi32::<23>(exponent)))
        }
    }

    #[inline(always)]
    fn greater(self, other: Self) -> Self::Mask {
        // SAFETY: as in `power_of_two`.
        unsafe { _mm256_cmp_ps::<_CMP_GT_OQ>(self.0, other.0) }
    }

    #[inline(always)]
    fn at_least(self, other: Self) -> Self::Mask {
        // SAFETY: as in `power_of_two`.
        unsafe { _mm256_cmp_ps::<_CMP_GE_OQ>(self.0, other.0) }
    }

    #[inline(always)]
    fn equal(self, other: Self) -> Self::Mask {
        // SAFETY: as in `power_of_two`.
        unsafe { _mm256_cmp_ps::<_CMP_EQ_OQ>(self.0, other.0) }
    }

    #[inline(always)]
    fn is_nan(self) -> Self::Mask {
        // SAFETY: as in `power_of_two`.
        unsafe { _mm256_cmp_ps::<_CMP_UNORD_Q>(self.0, self.0) }
    }

    #[inline(always)]
    fn either(mask: Self::Mask, other: Self::Mask) -> Self::Mask {
        // SAFETY: as in `power_of_two`.
        unsafe { _mm256_or_ps(mask, other) }
    }

    #[inline(always)]
    fn select(mask: Self::Mask, yes: Self, no: Self) -> Self {
        // SAFETY: as in `power_of_two`.
        Self(unsafe { _mm256_blendv_ps(no.0, yes.0, mask) })
    }

    #[inline(always)]
    fn sum(self) -> f32 {
        // SAFETY: as in `power_of_two`.
        unsafe {
            let four =
                _mm_add_ps(_mm256_castps256_ps128(self.0), _mm256_extractf128_ps::<1>(self.0));
            let two = _mm_add_ps(four, _mm_movehl_ps(four, four));
            _mm_cvtss_f32(_mm_add_ss(two, _mm_shuffle_ps::<1>(two, two)))
        }
    }

    #[inline(always)]
    fn unzip(self, other: Self) -> [Self; 2] {
        // SAFETY: as in `power_of_two`.
        unsafe {
            // Pairs in the order of the halves that they come from, then the middle two exchanged.
            let even = _mm256_castps_pd(_mm256_shuffle_ps::<0x88>(self.0, other.0));
            let odd = _mm256_castps_pd(_mm256_shuffle_ps::<0xdd>(self.0, other.0));
            [
                Self(_mm256_castpd_ps(_mm256_permute4x64_pd::<0xd8>(even))),
                Self(_mm256_castpd_ps(_mm256_permute4x64_pd::<0xd8>(odd))),
            ]
        }
    }

    #[inline(always)]
    fn zip(self, other: Self) -> [Self; 2] {
        // SAFETY: as in `power_of_two`.
        unsafe {
            let low = _mm256_unpacklo_ps(self.0, other.0);
            let high = _mm256_unpackhi_ps(self.0, other.0);
            [
                Self(_mm256_permute2f128_ps::<0x20>(low, high)),
                Self(_mm256_permute2f128_ps::<0x31>(low, high)),
            ]
        }
    }

    // SAFETY: the caller's duty, as in the trait.
    #[inline(always)]
    unsafe fn load_bytes(source: *const u8) -> Self {
        // SAFETY: the caller's promise.
        unsafe {
            let bytes = _mm_loadl_epi64(source.cast());
            Self(_mm256_cvtepi32_ps(_mm256_cvtepu8_epi32(bytes)))
        }
    }

    // SAFETY: the caller's duty, as in the trait.
    #[inline(always)]
    unsafe fn store_bytes(self, target: *mut u8) {
        // SAFETY: the caller's promise.
        unsafe {
            let numbers = _mm256_cvtps_epi32(self.0);
            let high = _mm256_extracti128_si256::<1>(numbers);
            let words = _mm_packus_epi32(_mm256_castsi256_si128(numbers), high);
            _mm_storel_epi64(target.cast(), _mm_packus_epi16(words, words));
        }
    }

    #[inline(always)]
    fn block(mut row: impl FnMut(usize) -> Self) -> Self::Block {
        let mut block = [Self::zero(); Self::LANES];
        for (index, place) in block.iter_mut().enumerate() {
            *place = row(index);
        }
        block
    }

    #[inline(always)]
    fn transpose(block: &mut Self::Block) {
        // SAFETY: as in `power_of_two`.
        unsafe {
            let [Self(a), Self(b), Self(c), Self(d), Self(e), Self(f), Self(g), Self(h)] = *block;
            let (ab0, ab1) = (_mm256_unpacklo_ps(a, b), _mm256_unpackhi_ps(a, b));
            let (cd0, cd1) = (_mm256_unpacklo_ps(c, d), _mm256_unpackhi_ps(c, d));
            let (ef0, ef1) = (_mm256_unpacklo_ps(e, f), _mm256_unpackhi_ps(e, f));
            let (gh0, gh1) = (_mm256_unpacklo_ps(g, h), _mm256_unpackhi_ps(g, h));
            // Four columns of four rows, in each half of 128 bits.
            let top0 = _mm256_shuffle_ps::<0x44>(ab0, cd0);
            let top1 = _mm256_shuffle_ps::<0xee>(ab0, cd0);
            let top2 = _mm256_shuffle_ps::<0x44>(ab1, cd1);
            let top3 = _mm256_shuffle_ps::<0xee>(ab1, cd1);
            let end0 = _mm256_shuffle_ps::<0x44>(ef0, gh0);
            let end1 = _mm256_shuffle_ps::<0xee>(ef0, gh0);
            let end2 = _mm256_shuffle_ps::<0x44>(ef1, gh1);
            let end3 = _mm256_shuffle_ps::<0xee>(ef1, gh1);
            *block = [
                Self(_mm256_permute2f128_ps::<0x20>(top0, end0)),
                Self(_mm256_permute2f128_ps::<0x20>(top1, end1)),
                Self(_mm256_permute2f128_ps::<0x20>(top2, end2)),
                Self(_mm256_permute2f128_ps::<0x20>(top3, end3)),
                Self(_mm256_permute2f128_ps::<0x31>(top0, end0)),
                Self(_mm256_permute2f128_ps::<0x31>(top1, end1)),
                Self(_mm256_permute2f128_ps::<0x31>(top2, end2)),
                Self(_mm256_permute2f128_ps::<0x31>(top3, end3)),
            ];
        }
    }
}

impl Vector for F32x16 {
    const LANES: usize = 16;
    type Block = [Self; 16];
    type Mask = __mmask16;

    methods! {
        add(other) => _mm512_add_ps;
        sub(other) => _mm512_sub_ps;
        mul(other) => _mm512_mul_ps;
        div(other) => _mm512_div_ps;
        max(other) => _mm512_max_ps;
        min(other) => _mm512_min_ps;
        sqrt() => _mm512_sqrt_ps;
        round() => _mm512_roundscale_ps::<{ _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC }>;
        mul_add(factor, addend) => _mm512_fmadd_ps;
        neg_mul_add(factor, addend) => _mm512_fnmadd_ps;
    }

    #[inline(always)]
    fn splat(value: f32) -> Self {
        // SAFETY: only a kernel that runs with these instructions can name this type.
        Self(unsafe { _mm512_set1_ps(value) })
    }

    // SAFETY: the caller's duty, as in the trait.
    #[inline(always)]
    unsafe fn load(source: *const f32) -> Self {
        // SAFETY: the caller's promise.
        Self(unsafe { _mm512_loadu_ps(source) })
    }

    // SAFETY: the caller's duty, as in the trait.
    #[inline(always)]
    unsafe fn store(self, target: *mut f32) {
        // SAFETY: the caller's promise.
        unsafe { _mm512_storeu_ps(target, self.0) };
    }

    // SAFETY: the caller's duty, as in the trait.
    #[inline(always)]
    unsafe fn load_first(source: *const f32, count: usize) -> Self {
        // SAFETY: the lanes beyond the mask are not read.
        Self(unsafe { _mm512_maskz_loadu_ps(first_of_16(count), source) })
    }

    // SAFETY: the caller's duty, as in the trait.
    #[inline(always)]
    unsafe fn store_first(self, target: *mut f32, count: usize) {
        // SAFETY: the lanes beyond the mask are not written.
        unsafe { _mm512_mask_storeu_ps(target, first_of_16(count), self.0) };
    }

    #[inline(always)]
    fn power_of_two(self) -> Self {
        // SAFETY: only a kernel that runs with these instructions holds this type.
        unsafe {
            let exponent = _mm512_add_epi32(_mm512_cvtps_epi32(self.0), _mm512_set1_epi32(127));
            Self(_mm512_castsi512_ps(_mm512_slli_epi32::<23>(exponent)))
        }
    }

    #[inline(always)]
    fn greater(self, other: Self) -> Self::Mask {
        // SAFETY: as in `power_of_two`.
        unsafe { _mm512_cmp_ps_mask::<_CMP_GT_OQ>(self.0, other.0) }
    }

    #[inline(always)]
    fn at_least(self, other: Self) -> Self::Mask {
        // SAFETY: as in `power_of_two`.
        unsafe { _mm512_cmp_ps_mask::<_CMP_GE_OQ>(self.0, other.0) }
    }

    #[inline(always)]
    fn equal(self, other: Self) -> Self::Mask {
        // SAFETY: as in `power_of_two`.
        unsafe { _mm512_cmp_ps_mask::<_CMP_EQ_OQ>(self.0, other.0) }
    }

    #[inline(always)]
    fn is_nan(self) -> Self::Mask {
        // SAFETY: as in `power_of_two`.
        unsafe { _mm512_cmp_ps_mask::<_CMP_UNORD_Q>(self.0, self.0) }
    }

    #[inline(always)]
    fn either(mask: Self::Mask, other: Self::Mask) -> Self::Mask {
        mask | other
    }

    #[inline(always)]
    fn select(mask: Self::Mask, yes: Self, no: Self) -> Self {
        // SAFETY: as in `power_of_two`.
        Self(unsafe { _mm512_mask_blend_ps(mask, no.0, yes.0) })
    }

    #[inline(always)]
    fn sum(self) -> f32 {
        // SAFETY: as in `power_of_two`.
        unsafe { _mm512_reduce_add_ps(self.0) }
    }

    #[inline(always)]
    fn unzip(self, other: Self) -> [Self; 2] {
        // SAFETY: as in `power_of_two`.
        unsafe {
            let even = _mm512_setr_epi32(0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30);
            let odd = _mm512_setr_epi32(1, 3, 5, 7, 9, 11, 13, 15, 17, 19, 21, 23, 25, 27, 29, 31);
            [
                Self(_mm512_permutex2var_ps(self.0, even, other.0)),
                Self(_mm512_permutex2var_ps(self.0, odd, other.0)),
            ]
        }
    }

    #[inline(always)]
    fn zip(self, other: Self) -> [Self; 2] {
        // SAFETY: as in `power_of_two`.
        unsafe {
            let low = _mm512_setr_epi32(0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23);
            let high =
                _mm512_setr_epi32(8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31);
            [
                Self(_mm512_permutex2var_ps(self.0, low, other.0)),
                Self(_mm512_permutex2var_ps(self.0, high, other.0)),
            ]
        }
    }

    // SAFETY: the caller's duty, as in the trait.
    #[inline(always)]
    unsafe fn load_bytes(source: *const u8) -> Self {
        // SAFETY: the caller's promise.
        unsafe {
            let bytes = _mm_loadu_si128(source.cast());
            Self(_mm512_cvtepi32_ps(_mm512_cvtepu8_epi32(bytes)))
        }
    }

    // SAFETY: the caller's duty, as in the trait.
    #[inline(always)]
    unsafe fn store_bytes(self, target: *mut u8) {
        // SAFETY: the caller's promise.
        unsafe {
            let bytes = _mm512_cvtepi32_epi8(_mm512_cvtps_epi32(self.0));
            _mm_storeu_si128(target.cast(), bytes);
        }
    }

    #[inline(always)]
    fn block(mut row: impl FnMut(usize) -> Self) -> Self::Block {
        let mut block = [Self::zero(); Self::LANES];
        for (index, place) in block.iter_mut().enumerate() {
            *place = row(index);
        }
        block
    }

    #[inline(always)]
    fn transpose(block: &mut Self::Block) {
        // SAFETY: as in `power_of_two`.
        unsafe {
            let rows = *block;
            let zero = _mm512_setzero_ps();
            // Each pass exchanges what lies twice as far apart: single numbers, pairs, and then
            // quarters of a vector.
            let mut pairs = [zero; 16];
            for i in 0..8 {
                pairs[2 * i] = _mm512_unpacklo_ps(rows[2 * i].0, rows[2 * i + 1].0);
                pairs[2 * i + 1] = _mm512_unpackhi_ps(rows[2 * i].0, rows[2 * i + 1].0);
            }
            let mut fours = [zero; 16];
            for i in 0..4 {
                let (a, b) = (_mm512_castps_pd(pairs[4 * i]), _mm512_castps_pd(pairs[4 * i + 1]));
                let (c, d) =
                    (_mm512_castps_pd(pairs[4 * i + 2]), _mm512_castps_pd(pairs[4 * i + 3]));
                fours[4 * i] = _mm512_castpd_ps(_mm512_unpacklo_pd(a, c));
                fours[4 * i + 1] = _mm512_castpd_ps(_mm512_unpackhi_pd(a, c));
                fours[4 * i + 2] = _mm512_castpd_ps(_mm512_unpacklo_pd(b, d));
                fours[4 * i + 3] = _mm512_castpd_ps(_mm512_unpackhi_pd(b, d));
            }
            let mut eights = [zero; 16];
            for i in 0..4 {
                let [a, b, c, d] = [fours[i], fours[4 + i], fours[8 + i], fours[12 + i]];
                eights[i] = _mm512_shuffle_f32x4::<0x88>(a, b);
                eights[4 + i] = _mm512_shuffle_f32x4::<0xdd>(a, b);
                eights[8 + i] = _mm512_shuffle_f32x4::<0x88>(c, d);
                eights[12 + i] = _mm512_shuffle_f32x4::<0xdd>(c, d);
            }
            let block = block.as_mut_slice();
            for i in 0..4 {
                let [a, b, c, d] = [eights[i], eights[4 + i], eights[8 + i], eights[12 + i]];
                block[i] = Self(_mm512_shuffle_f32x4::<0x88>(a, c));
                block[4 + i] = Self(_mm512_shuffle_f32x4::<0x88>(b, d));
                block[8 + i] = Self(_mm512_shuffle_f32x4::<0xdd>(a, c));
                block[12 + i] = Self(_mm512_shuffle_f32x4::<0xdd>(b, d));
            }
        }
    }
}
