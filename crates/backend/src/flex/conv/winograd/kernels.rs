//! The transformed kernels of the forward pass and of the input gradient.

use super::{
    super::super::{
        simd::{Kernel, Vector},
        transpose::ToPositions,
    },
    Maps, transform,
};

/// How kernels are applied.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::flex::conv) enum Kernels {
    /// `weight[output][input]`, as they are.
    Forward,
    /// `weight[input][output]`, rotated by 180 degrees: the input gradient.
    Rotated,
}

/// Transforms the kernels of one vector of outputs.
pub(super) struct TransformKernels<'a, 'b> {
    maps: &'a Maps,
    weight: &'a [f32],
    kernels: Kernels,
    output: usize,
    buffer: &'b mut [f32],
    target: *mut f32,
    strides: [usize; 2],
}

impl<'a, 'b> TransformKernels<'a, 'b> {
    /// - `output`: the first output
    /// - `buffer`: room for nine vectors for each input
    /// - `target`: where the first input's vector of the first matrix goes
    /// - `strides`: numbers from one matrix and from one input to the next
    ///
    /// # Safety
    ///
    /// Until it has run, the target has room for a vector for each matrix and input, which no other
    /// task uses.
    pub(super) unsafe fn new(
        maps: &'a Maps,
        weight: &'a [f32],
        kernels: Kernels,
        output: usize,
        buffer: &'b mut [f32],
        target: *mut f32,
        strides: [usize; 2],
    ) -> Self {
        Self { maps, weight, kernels, output, buffer, target, strides }
    }
}

impl Kernel for TransformKernels<'_, '_> {
    type Output = ();

    #[inline(always)]
    fn run<V: Vector>(self) {
        let Maps { inputs, outputs, .. } = *self.maps;
        let [matrix, stride] = self.strides;
        let buffer = &mut self.buffer[..inputs * 9 * V::LANES];
        match self.kernels {
            Kernels::Forward => {
                let source = &self.weight[self.output * inputs * 9..];
                transpose::<V>(source, inputs * 9, buffer);
            }
            Kernels::Rotated => {
                for (input, buffer) in buffer.chunks_exact_mut(9 * V::LANES).enumerate() {
                    transpose::<V>(&self.weight[(input * outputs + self.output) * 9..], 9, buffer);
                }
            }
        }
        for input in 0..inputs {
            transform::both_axes::<transform::Kernel, V, _, _>(
                #[inline(always)]
                |row, column| {
                    let number = row * 3 + column;
                    let number = if self.kernels == Kernels::Rotated { 8 - number } else { number };
                    let place = (input * 9 + number) * V::LANES;
                    // SAFETY: the buffer has nine vectors for each input.
                    unsafe { V::load(buffer.as_ptr().wrapping_add(place)) }
                },
                #[inline(always)]
                |row, column, value| {
                    let place = (row * 6 + column) * matrix + input * stride;
                    // SAFETY: promised to `new`.
                    unsafe { value.store(self.target.wrapping_add(place)) };
                },
            );
        }
    }
}

/// One vector of outputs for each of the `count` numbers that an output has.
#[inline(always)]
fn transpose<V: Vector>(source: &[f32], count: usize, target: &mut [f32]) {
    let (channels, width) = (V::LANES, V::LANES);
    ToPositions { source, plane: count, channels, count, target, width, stride: width }.run::<V>();
}
