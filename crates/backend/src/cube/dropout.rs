//! Dropout whose mask is drawn where it is applied.

use burn::tensor::TensorMetadata;
use burn_cubecl::{
    CubeRuntime,
    cubecl::{self, prelude::*},
    kernel::into_contiguous,
    tensor::CubeTensor,
};

use super::{
    buffers::{cubes, empty},
    can_be_counted,
    lanes::UNITS,
};
use crate::dropout::{DRAW_BITS, DRAWS, DRAWS_OF_BLOCK, DropoutMask, elements_of_sample};

/// Words of a block, each for two draws.
const WORDS: usize = 4;

/// Philox4x32-10 of a block; see `random.rs`, whose values these are.
#[cube]
fn philox(block: u32, stream: Pair, key: Pair) -> Array<u32> {
    let mut counter = Array::<u32>::new(WORDS);
    counter[0] = block;
    counter[1] = 0u32;
    counter[2] = stream.low;
    counter[3] = stream.high;
    let mut low = key.low;
    let mut high = key.high;
    #[unroll]
    for _ in 0..10u32 {
        let high_0 = u32::mul_hi(0xd251_1f53u32, counter[0]);
        let low_0 = 0xd251_1f53u32 * counter[0];
        let high_1 = u32::mul_hi(0xcd9e_8d57u32, counter[2]);
        let low_1 = 0xcd9e_8d57u32 * counter[2];
        counter[0] = high_1 ^ counter[1] ^ low;
        counter[2] = high_0 ^ counter[3] ^ high;
        counter[1] = low_1;
        counter[3] = low_0;
        low += 0x9e37_79b9u32;
        high += 0xbb67_ae85u32;
    }
    counter
}

/// The halves of 64 bits.
#[derive(CubeType, CubeLaunch, Clone, Copy)]
struct Pair {
    low: u32,
    high: u32,
}

/// A unit draws the words of a block, which the units of its cube then take in the order of memory.
#[cube(launch)]
fn drop_elements(
    values: &Array<f32>,
    output: &mut Array<f32>,
    key: Pair,
    stream: Pair,
    first_block: u32,
    of_sample: usize,
    dropped: u32,
    kept: f32,
) {
    let unit = UNIT_POS as usize;
    let mut words = SharedMemory::<u32>::new(UNITS * WORDS);
    let drawn = philox(first_block + ABSOLUTE_POS as u32, stream, key);
    #[unroll]
    for word in 0..WORDS {
        words[unit * WORDS + word] = drawn[word];
    }
    sync_cube();
    // Each sample begins with a block of its own.
    let draws_of_sample = of_sample.div_ceil(DRAWS_OF_BLOCK) * DRAWS_OF_BLOCK;
    #[unroll]
    for turn in 0..DRAWS_OF_BLOCK {
        let draw = turn * UNITS + unit;
        let at = CUBE_POS * (UNITS * DRAWS_OF_BLOCK) + draw;
        let element = at % draws_of_sample;
        let i = at / draws_of_sample * of_sample + element;
        if element < of_sample && i < values.len() {
            let word = words[draw / 2] >> ((draw % 2) as u32 * DRAW_BITS);
            let mut factor = kept;
            if word % DRAWS < dropped {
                factor = 0.0f32;
            }
            output[i] = values[i] * factor;
        }
    }
}

/// How many blocks there are; none where the kernel cannot count them in 32 bits.
fn blocks<R: CubeRuntime>(values: &CubeTensor<R>, mask: &DropoutMask) -> Option<[u32; 2]> {
    let shape = values.shape();
    let of_sample = elements_of_sample(&shape).div_ceil(DRAWS_OF_BLOCK);
    let first = mask.first_sample.checked_mul(of_sample)?;
    let count = shape[0] * of_sample;
    let counted = can_be_counted(first + count) && can_be_counted(count * DRAWS_OF_BLOCK);
    counted.then_some([first as u32, count as u32])
}

/// Applies the mask; none where the kernel cannot.
pub(super) fn apply<R: CubeRuntime>(
    values: &CubeTensor<R>,
    mask: DropoutMask,
) -> Option<CubeTensor<R>> {
    let [first_block, blocks] = blocks(values, &mask)?;
    let values = into_contiguous(values.clone());
    let output = empty(&values, values.shape());
    let pair = |[low, high]: [u32; 2]| PairLaunch::new(low, high);
    let [key, stream] = mask.random.key_and_stream();
    let (count, cube) = cubes(&output.client, (blocks as usize).div_ceil(UNITS));
    drop_elements::launch::<R>(
        &output.client,
        count,
        cube,
        values.clone().into_array_arg(),
        output.clone().into_array_arg(),
        pair(key),
        pair(stream),
        first_block,
        elements_of_sample(&values.shape()),
        mask.dropped,
        mask.kept(),
    );
    Some(output)
}
