//! Sums and maxima over the units of a cube.

use burn_cubecl::cubecl::{self, prelude::*};

/// Units of a cube, a power of two that every device has.
pub(super) const UNITS: usize = 256;
/// The most columns of a cube that goes over columns.
pub(super) const MOST_LANES: usize = 32;

/// What becomes of the values of a lane.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Reduction {
    Sum,
    Largest,
}

/// Reduces what every `lanes`th unit found, a power of two, in the order of a tree; each lane's result
/// is known to all of its units.
#[cube]
fn reduced<N: Numeric>(value: N, #[comptime] lanes: usize, #[comptime] to: Reduction) -> N {
    let unit = UNIT_POS as usize;
    let mut values = SharedMemory::<N>::new(UNITS);
    values[unit] = value;
    sync_cube();
    let mut half = CUBE_DIM as usize / 2;
    while half >= lanes {
        if unit < half {
            let other = values[unit + half];
            match comptime!(to) {
                Reduction::Sum => values[unit] += other,
                Reduction::Largest => values[unit] = clamp_min(values[unit], other),
            }
        }
        sync_cube();
        half /= 2;
    }
    values[unit % lanes]
}

/// The sum of what every `lanes`th unit found.
#[cube]
pub(super) fn sum_of_lane(value: f32, #[comptime] lanes: usize) -> f32 {
    reduced::<f32>(value, lanes, Reduction::Sum)
}

/// The largest of what every `lanes`th unit found.
#[cube]
pub(super) fn largest_of_lane<N: Numeric>(value: N, #[comptime] lanes: usize) -> N {
    reduced::<N>(value, lanes, Reduction::Largest)
}

/// Columns of a cube, a power of two: at most so many that neighbours read neighbours.
pub(super) fn lanes_of(width: usize) -> usize {
    width.next_power_of_two().min(MOST_LANES)
}

/// The column of a matrix of this unit, where a cube has as many beside each other as lanes.
#[cube]
pub(super) fn column_of_unit(#[comptime] lanes: usize) -> usize {
    CUBE_POS_X as usize * lanes + UNIT_POS_X as usize
}
