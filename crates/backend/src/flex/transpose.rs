//! Layouts: channels first, as tensors are, to channels last, as vectors want them, and back.

use super::{
    lanes::read,
    simd::{Kernel, Vector},
};

/// Exchanges the two axes of `[channels][count]`, giving `[count][width]`; missing channels become
/// zero.
pub(super) struct ToPositions<'a> {
    pub(super) source: &'a [f32],
    /// Numbers from one channel to the next.
    pub(super) plane: usize,
    pub(super) channels: usize,
    pub(super) count: usize,
    pub(super) target: &'a mut [f32],
    /// Channels to write, a multiple of the lanes.
    pub(super) width: usize,
    /// Numbers from one position to the next, at least the width.
    pub(super) stride: usize,
}

impl Kernel for ToPositions<'_> {
    type Output = ();

    #[inline(always)]
    fn run<V: Vector>(self) {
        let Self { source, plane, channels, count, target, width, stride } = self;
        assert!(source.len() >= channels.saturating_sub(1) * plane + count);
        assert!(target.len() >= count * stride && width <= stride);
        assert!(width.is_multiple_of(V::LANES));
        let (source, target) = (source.as_ptr(), target.as_mut_ptr());
        for channel in (0..width).step_by(V::LANES) {
            let channels = channels.saturating_sub(channel).min(V::LANES);
            for position in (0..count).step_by(V::LANES) {
                let count = (count - position).min(V::LANES);
                let source = source.wrapping_add(channel * plane + position);
                let mut block = V::block(
                    #[inline(always)]
                    |row| {
                        if row >= channels {
                            return V::zero();
                        }
                        // SAFETY: `count` positions of this channel are left, as asserted.
                        unsafe { read(source.wrapping_add(row * plane), count) }
                    },
                );
                V::transpose(&mut block);
                let target = target.wrapping_add(position * stride + channel);
                for (row, vector) in block.as_ref().iter().enumerate().take(count) {
                    // SAFETY: the target has `width` numbers, a multiple of the lanes, at each
                    // position, as asserted.
                    unsafe { vector.store(target.wrapping_add(row * stride)) };
                }
            }
        }
    }
}

/// Exchanges the two axes of `[count][channels]`, giving `[channels][count]`.
pub(super) struct ToPlanes {
    pub(super) source: *const f32,
    /// Numbers from one position to the next.
    pub(super) stride: usize,
    pub(super) channels: usize,
    pub(super) count: usize,
    pub(super) target: *mut f32,
    /// Numbers from one channel to the next.
    pub(super) plane: usize,
}

impl ToPlanes {
    /// # Safety
    ///
    /// The source has whole vectors of channels at each position, and the target the room that
    /// the sizes say.
    #[inline(always)]
    pub(super) unsafe fn transpose<V: Vector>(&self) {
        for channel in (0..self.channels).step_by(V::LANES) {
            let channels = (self.channels - channel).min(V::LANES);
            for position in (0..self.count).step_by(V::LANES) {
                let count = (self.count - position).min(V::LANES);
                let source = self.source.wrapping_add(position * self.stride + channel);
                let mut block = V::block(
                    #[inline(always)]
                    |row| {
                        if row >= count {
                            V::zero()
                        } else {
                            // SAFETY: the source has whole vectors at each position.
                            unsafe { V::load(source.wrapping_add(row * self.stride)) }
                        }
                    },
                );
                V::transpose(&mut block);
                let target = self.target.wrapping_add(channel * self.plane + position);
                for (row, vector) in block.as_ref().iter().enumerate().take(channels) {
                    let target = target.wrapping_add(row * self.plane);
                    // SAFETY: `count` positions of this channel are left.
                    unsafe { vector.store_first(target, count) };
                }
            }
        }
    }
}

/// [`ToPlanes`] from and to all of a slice.
pub(super) struct ToDensePlanes<'a> {
    /// `[count][width]`
    pub(super) source: &'a [f32],
    /// Channels to read, a multiple of the lanes.
    pub(super) width: usize,
    /// Channels to write.
    pub(super) channels: usize,
    /// `[channels][count]`
    pub(super) target: &'a mut [f32],
}

impl Kernel for ToDensePlanes<'_> {
    type Output = ();

    #[inline(always)]
    fn run<V: Vector>(self) {
        let Self { source, width, channels, target } = self;
        let count = source.len() / width;
        assert!(width.is_multiple_of(V::LANES) && channels <= width);
        assert!(target.len() >= channels * count);
        let transposition = ToPlanes {
            source: source.as_ptr(),
            stride: width,
            channels,
            count,
            target: target.as_mut_ptr(),
            plane: count,
        };
        // SAFETY: both slices are as long as the sizes say, as asserted.
        unsafe { transposition.transpose::<V>() };
    }
}
