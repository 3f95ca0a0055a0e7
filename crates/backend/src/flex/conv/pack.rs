//! Layouts: channels first, as tensors are, to channels last, as vectors want them, and back.

use super::super::simd::Vector;

/// Exchanges the two axes of `[channels][count]`, giving `[count][width]`, `width` a multiple of
/// the lanes and at least `channels`; missing channels become zero.
pub(super) struct ToPositions {
    pub(super) source: *const f32,
    /// Numbers from one channel to the next.
    pub(super) plane: usize,
    pub(super) channels: usize,
    pub(super) count: usize,
    pub(super) target: *mut f32,
    /// Channels to write, a multiple of the lanes.
    pub(super) width: usize,
    /// Numbers from one position to the next.
    pub(super) stride: usize,
}

impl ToPositions {
    /// # Safety
    ///
    /// The source and the target have the room that the sizes say.
    #[inline(always)]
    pub(super) unsafe fn transpose<V: Vector>(&self) {
        for channel in (0..self.width).step_by(V::LANES) {
            let channels = self.channels.saturating_sub(channel).min(V::LANES);
            for position in (0..self.count).step_by(V::LANES) {
                let count = (self.count - position).min(V::LANES);
                let source = self.source.wrapping_add(channel * self.plane + position);
                let mut block = V::block(
                    #[inline(always)]
                    |row| {
                        let source = source.wrapping_add(row * self.plane);
                        if row >= channels {
                            V::zero()
                        } else if count == V::LANES {
                            // SAFETY: a whole vector of this channel is left.
                            unsafe { V::load(source) }
                        } else {
                            // SAFETY: `count` positions of this channel are left.
                            unsafe { V::load_first(source, count) }
                        }
                    },
                );
                V::transpose(&mut block);
                let target = self.target.wrapping_add(position * self.stride + channel);
                for (row, vector) in block.as_ref().iter().enumerate().take(count) {
                    // SAFETY: the target has `width` numbers, a multiple of the lanes, at each
                    // position.
                    unsafe { vector.store(target.wrapping_add(row * self.stride)) };
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

/// A window of an image, which may reach over its edges, where it is zero.
#[derive(Clone, Copy, Debug)]
pub(super) struct Window {
    /// The first row and column.
    pub(super) start: [isize; 2],
    /// Rows and columns.
    pub(super) size: [usize; 2],
}

impl Window {
    /// Copies the window of each of `channels` planes of `image` (`[channels][height][width]`).
    ///
    /// - `plane`: numbers from one channel of `target` to the next, at least the window's
    pub(super) fn copy(self, image: &[f32], size: [usize; 2], target: &mut [f32], plane: usize) {
        let [height, width] = size;
        let [rows, columns] = self.size;
        // The window's columns that lie inside of the image.
        let left = (-self.start[1]).clamp(0, columns as isize) as usize;
        let right =
            (width as isize - self.start[1]).clamp(left as isize, columns as isize) as usize;
        let planes = image.chunks_exact(height * width).zip(target.chunks_mut(plane));
        for (image, target) in planes {
            for (row, target) in target.chunks_exact_mut(columns).take(rows).enumerate() {
                let row = self.start[0] + row as isize;
                if row < 0 || row >= height as isize || left == right {
                    target.fill(0.0);
                    continue;
                }
                let first = (self.start[1] + left as isize) as usize;
                let source = &image[row as usize * width + first..][..right - left];
                target[..left].fill(0.0);
                target[left..right].copy_from_slice(source);
                target[right..].fill(0.0);
            }
        }
    }
}

/// The numbers from 0 in steps of `step`.
pub(super) fn strides(count: usize, step: usize) -> Vec<u32> {
    (0..count).map(|index| (index * step) as u32).collect()
}
