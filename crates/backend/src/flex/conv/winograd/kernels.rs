//! The transformed kernels of the forward pass and of the input gradient.

use super::{
    super::{
        super::simd::{self, Vector},
        pack::ToPositions,
    },
    Maps, transform,
};

/// Which kernels meet which maps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::flex::conv) enum Kernels {
    /// `weight[output][input]`, as they are.
    Forward,
    /// `weight[input][output]`, turned by half a circle: the input gradient.
    Turned,
}

/// Transforms the kernels of one vector of outputs. Whoever makes one to run it answers for the room
/// in the target.
pub(super) struct TransformKernels<'a, 'b> {
    pub(super) maps: &'a Maps,
    pub(super) weight: &'a [f32],
    pub(super) kernels: Kernels,
    /// The first output.
    pub(super) output: usize,
    /// Room for nine vectors for each input.
    pub(super) buffer: &'b mut [f32],
    /// Where the first input's vector of the first matrix goes, and numbers from one matrix and one
    /// input to the next.
    pub(super) target: *mut f32,
    pub(super) strides: [usize; 2],
}

impl simd::Kernel for TransformKernels<'_, '_> {
    type Output = ();

    #[inline(always)]
    fn run<V: Vector>(self) {
        let Maps { inputs, outputs, .. } = *self.maps;
        let [matrix, stride] = self.strides;
        let buffer = &mut self.buffer[..inputs * 9 * V::LANES];
        match self.kernels {
            Kernels::Forward => {
                let source = &self.weight[self.output * inputs * 9..];
                turn::<V>(source, inputs * 9, inputs * 9, buffer);
            }
            Kernels::Turned => {
                for (input, buffer) in buffer.chunks_exact_mut(9 * V::LANES).enumerate() {
                    turn::<V>(&self.weight[(input * outputs + self.output) * 9..], 9, 9, buffer);
                }
            }
        }
        for input in 0..inputs {
            transform::both_axes::<transform::Kernel, V, _, _>(
                #[inline(always)]
                |row, column| {
                    let number = row * 3 + column;
                    let number = if self.kernels == Kernels::Turned { 8 - number } else { number };
                    let place = (input * 9 + number) * V::LANES;
                    // SAFETY: the buffer has nine vectors for each input.
                    unsafe { V::load(buffer.as_ptr().wrapping_add(place)) }
                },
                #[inline(always)]
                |row, column, value| {
                    let place = (row * 6 + column) * matrix + input * stride;
                    // SAFETY: the promise of whoever made this.
                    unsafe { value.store(self.target.wrapping_add(place)) };
                },
            );
        }
    }
}

/// One vector of outputs for each of `count` numbers; outputs are `plane` apart.
#[inline(always)]
fn turn<V: Vector>(source: &[f32], plane: usize, count: usize, target: &mut [f32]) {
    assert!(source.len() >= (V::LANES - 1) * plane + count);
    assert!(target.len() >= count * V::LANES);
    let transposition = ToPositions {
        source: source.as_ptr(),
        plane,
        channels: V::LANES,
        count,
        target: target.as_mut_ptr(),
        width: V::LANES,
        stride: V::LANES,
    };
    // SAFETY: the source and the target are as long as the sizes say, as asserted.
    unsafe { transposition.transpose::<V>() };
}
