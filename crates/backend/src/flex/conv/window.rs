//! Parts of images, with a border of zeros where they reach over the edges.

/// A window of an image, which may reach over its edges, where it is zero.
#[derive(Clone, Copy, Debug)]
pub(super) struct Window {
    /// The first row and column.
    pub(super) start: [isize; 2],
    /// Rows and columns.
    pub(super) size: [usize; 2],
}

impl Window {
    /// Copies the window of each plane of `image` (`[channels][height][width]`).
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
