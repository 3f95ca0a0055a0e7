//! The recurrent weights of a cube: as many as it has room for stay with it from step to step.

use burn_cubecl::cubecl::{self, prelude::*};

/// What leaves the other half of the registers of an NVIDIA GPU, which has 65,536 for a cube, to the rest
/// of a kernel.
const IN_REGISTERS: usize = 64;
const UNITS_FOR_THAT: usize = 512;
/// Where a cube has more units than that.
const IN_FEWER_REGISTERS: usize = 16;

/// How many of the weights of a unit's sum stay: the first ones in its registers, the next ones in the
/// cube's memory. The others are read anew in each step.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Kept {
    registers: usize,
    shared: usize,
}

impl Kept {
    /// - `weights`: how many a unit's sum has
    /// - `room`: bytes of the cube's memory for them
    pub(super) fn new(weights: usize, units: usize, room: usize) -> Self {
        let registers = if units <= UNITS_FOR_THAT { IN_REGISTERS } else { IN_FEWER_REGISTERS };
        let registers = registers.min(weights);
        let shared = (room / (units * size_of::<f32>())).min(weights - registers);
        Self { registers, shared }
    }

    /// Where units have several sums each.
    pub(super) const NONE: Self = Self { registers: 0, shared: 0 };
}

/// What the sums of a cube's units are taken of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Layout {
    /// The values, `[rows, width]`; each row has a sum.
    pub(super) rows: usize,
    pub(super) width: usize,
    /// From one weight of a sum to the next.
    pub(super) stride: usize,
    pub(super) units: usize,
    pub(super) kept: Kept,
}

/// The weights of this unit's sum.
#[derive(CubeType)]
pub(super) struct RecurrentWeights {
    in_registers: Array<f32>,
    /// `[shared, units]`
    in_shared: SharedMemory<f32>,
    #[cube(comptime)]
    layout: Layout,
}

#[cube]
impl RecurrentWeights {
    /// Reads those that stay of the weights from `first` on.
    pub(super) fn of_unit<E: Float>(
        weights: &Array<E>,
        first: usize,
        #[comptime] layout: Layout,
    ) -> RecurrentWeights {
        let Layout { stride, units, kept, .. } = comptime!(layout);
        let mut in_registers = Array::<f32>::new(comptime!(kept.registers.max(1)));
        let mut in_shared = SharedMemory::<f32>::new(comptime!((kept.shared * units).max(1)));
        #[unroll]
        for k in 0..kept.registers {
            in_registers[k] = f32::cast_from(weights[first + k * stride]);
        }
        for k in 0..kept.shared {
            let weight = weights[first + (kept.registers + k) * stride];
            in_shared[k * units + UNIT_POS as usize] = f32::cast_from(weight);
        }
        RecurrentWeights { in_registers, in_shared, layout }
    }

    /// Adds to the sum of each row the products of `count` of its values, from `from` on, with the weights
    /// from `first` on.
    pub(super) fn add_products<E: Float>(
        &self,
        sums: &mut Array<f32>,
        values: &SharedMemory<f32>,
        from: usize,
        count: usize,
        weights: &Array<E>,
        first: usize,
    ) {
        let Layout { rows, width, stride, units, kept } = comptime!(self.layout);
        #[unroll]
        for k in 0..kept.registers {
            #[unroll]
            for r in 0..rows {
                sums[r] += values[r * width + from + k] * self.in_registers[k];
            }
        }
        for k in 0..kept.shared {
            let weight = self.in_shared[k * units + UNIT_POS as usize];
            #[unroll]
            for r in 0..rows {
                sums[r] += values[r * width + from + kept.registers + k] * weight;
            }
        }
        for k in kept.registers + kept.shared..count {
            let weight = f32::cast_from(weights[first + k * stride]);
            #[unroll]
            for r in 0..rows {
                sums[r] += values[r * width + from + k] * weight;
            }
        }
    }
}
