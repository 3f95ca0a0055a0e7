//! The maximum of windows, forward and backward.
//!
//! The winner of a window is kept as one byte: its place in the window, counted row by row, or
//! [`NONE`] where ReLU cut it. Windows of more than 254 places are left to the default body.

mod pairs;
mod windows;

use burn::{backend::Flex, tensor::Shape};
use burn_flex::FlexTensor;

use super::{
    all_f32, assert_shape, contiguous, dimensions, elements,
    parallel::{self, Shared, TASK},
    recycled,
    simd::Level,
};
use crate::{functional::PoolOptions, max_pool2d, overrides};

pub(super) use self::pairs::{KeptSum, PoolPairs, ScatterPairs};
use self::windows::PoolWindows;

/// No place of a window: ReLU cut the gradient.
const NONE: u8 = u8::MAX;

/// The maximum of each window and its place.
pub(super) fn forward(input: FlexTensor, options: &PoolOptions) -> (FlexTensor, FlexTensor) {
    let [batch, channels, height, width] = dimensions(&input);
    let Some(windows) = Windows::new([height, width], options).filter(|_| all_f32([&input])) else {
        return max_pool2d::composed::<Flex>(input, options);
    };
    overrides::note_taken();
    let input = contiguous(input);
    let shape = [batch, channels, windows.output[0], windows.output[1]];
    let (mut output, mut places) = (recycled::floats(shape), recycled::bytes(shape));
    windows.pool(elements(&input), output.storage_mut(), places.storage_mut());
    (output, places)
}

/// The gradient of [`forward`]'s input.
pub(super) fn backward(
    places: FlexTensor,
    gradient: FlexTensor,
    input: Shape,
    options: &PoolOptions,
) -> FlexTensor {
    let [batch, channels, height, width] = input.dims();
    let Some(windows) = Windows::new([height, width], options).filter(|_| all_f32([&gradient]))
    else {
        return max_pool2d::composed_backward::<Flex>(places, gradient, input, options);
    };
    overrides::note_taken();
    let [rows, columns] = windows.output;
    for of_windows in [&gradient, &places] {
        assert_shape("the gradient or the places", of_windows, &[batch, channels, rows, columns]);
    }
    let gradient = contiguous(gradient);
    let mut output = recycled::floats(input);
    let places = places.storage::<u8>();
    windows.scatter(elements(&gradient), places, output.storage_mut());
    output
}

/// The windows of one plane.
#[derive(Clone, Copy, Debug)]
pub(super) struct Windows {
    pub(super) input: [usize; 2],
    pub(super) output: [usize; 2],
    options: PoolOptions,
}

impl Windows {
    /// Nothing where no window fits, or too large a one.
    pub(super) fn new(input: [usize; 2], options: &PoolOptions) -> Option<Self> {
        let PoolOptions { kernel, stride, padding } = *options;
        // With no more padding than half a window, as PyTorch asks for, each meets the input.
        let fits = (0..2).all(|axis| stride[axis] > 0 && 2 * padding[axis] <= kernel[axis])
            && (1..usize::from(NONE)).contains(&(kernel[0] * kernel[1]));
        let output = if fits { options.output_size(input) } else { [0, 0] };
        (!output.contains(&0) && !input.contains(&0)).then_some(Self {
            input,
            output,
            options: *options,
        })
    }

    /// Windows of 2x2 side by side, which have a loop of their own.
    fn are_pairs(&self) -> bool {
        self.options == PoolOptions::square(2)
    }

    fn planes(&self) -> [usize; 2] {
        [self.input, self.output].map(|[height, width]| height * width)
    }

    /// The maxima of all planes and their places.
    fn pool(&self, input: &[f32], output: &mut [f32], places: &mut [u8]) {
        let [from, to] = self.planes();
        let (output, places) = (Shared::new(output), Shared::new(places));
        let level = Level::best();
        each_plane(input.len() / from, from, |plane| {
            let input = &input[plane * from..][..from];
            // SAFETY: each plane is worked on once.
            let (output, places) =
                unsafe { (output.slice(plane * to, to), places.slice(plane * to, to)) };
            if self.are_pairs() {
                level.run(PoolPairs { width: self.input[1], input, relu: false, output, places });
            } else {
                level.run(PoolWindows { windows: self, input, output, places });
            }
        });
    }

    /// The gradient of the input: each window's goes to its winner.
    pub(super) fn scatter(&self, gradient: &[f32], places: &[u8], output: &mut [f32]) {
        let [to, from] = self.planes();
        let (planes, output) = (output.len() / to, Shared::new(output));
        let level = Level::best();
        each_plane(planes, to, |plane| {
            let gradient = &gradient[plane * from..][..from];
            let places = &places[plane * from..][..from];
            // SAFETY: each plane is worked on once.
            let output = unsafe { output.slice(plane * to, to) };
            if self.are_pairs() {
                let width = self.input[1];
                level.run(ScatterPairs { width, gradient, places, first: 0, output });
            } else {
                self.scatter_plane(gradient, places, output);
            }
        });
    }

    /// The taps of a window along an axis that fall inside of the input.
    fn taps(&self, position: usize, axis: usize) -> std::ops::Range<usize> {
        let PoolOptions { kernel, stride, padding } = self.options;
        let end = self.input[axis] + padding[axis] - position * stride[axis];
        self.first_tap(position, axis)..kernel[axis].min(end)
    }

    fn first_tap(&self, position: usize, axis: usize) -> usize {
        self.options.padding[axis].saturating_sub(position * self.options.stride[axis])
    }

    /// Where along an axis of the input a tap of a window falls.
    fn at(&self, position: usize, tap: usize, axis: usize) -> usize {
        position * self.options.stride[axis] + tap - self.options.padding[axis]
    }

    /// The place of a tap in a window.
    fn place(&self, row: usize, column: usize) -> u8 {
        (row * self.options.kernel[1] + column) as u8
    }

    fn scatter_plane(&self, gradient: &[f32], places: &[u8], output: &mut [f32]) {
        let PoolOptions { kernel, stride, padding } = self.options;
        let width = self.input[1];
        // Of each place, from the first pixel of a window that begins in the padding.
        let mut offsets = [0; NONE as usize];
        for (place, offset) in offsets[..kernel[0] * kernel[1]].iter_mut().enumerate() {
            *offset = place / kernel[1] * width + place % kernel[1];
        }
        let before = padding[0] * width + padding[1];
        output.fill(0.0);
        let rows = gradient.chunks_exact(self.output[1]).zip(places.chunks_exact(self.output[1]));
        for (row, (gradient, places)) in rows.enumerate() {
            let start = row * stride[0] * width;
            for (column, (gradient, place)) in gradient.iter().zip(places).enumerate() {
                let first = start + column * stride[1];
                output[first + offsets[usize::from(*place)] - before] += gradient;
            }
        }
    }
}

/// Calls `work` with each plane, several to a task.
fn each_plane(planes: usize, size: usize, work: impl Fn(usize) + Sync) {
    let of_task = (TASK / size).max(1);
    parallel::ranges(planes, of_task, |planes, _| planes.for_each(&work));
}
