//! Sums over the units of a cube.

use burn_cubecl::cubecl::{self, prelude::*};

/// Units of a cube, a power of two that every device has.
pub(super) const UNITS: usize = 256;

/// Adds up what every `lanes`th unit found, a power of two, in the order of a tree; each lane's sum is
/// known to its first unit, unit 0 where there is one lane.
#[cube]
pub(super) fn sum_of_lane(value: f32, #[comptime] lanes: usize) -> f32 {
    let unit = UNIT_POS as usize;
    let mut sums = SharedMemory::<f32>::new(UNITS);
    sums[unit] = value;
    sync_cube();
    let mut half = CUBE_DIM as usize / 2;
    while half >= lanes {
        if unit < half {
            let other = sums[unit + half];
            sums[unit] += other;
        }
        sync_cube();
        half /= 2;
    }
    sums[unit % lanes]
}
