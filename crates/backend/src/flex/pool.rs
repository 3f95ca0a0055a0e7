//! The maximum of windows, forward and backward.
//!
//! The winner of a window is kept as one byte: its place in the window, counted row by row, or
//! [`NONE`] where ReLU cut it. Windows of more than 254 places are left to the default body.

mod pairs;

use burn::{backend::Flex, tensor::Shape};
use burn_flex::FlexTensor;

use super::{
    all_f32, assert_shape, contiguous, elements,
    parallel::{self, Shared},
    recycled,
    simd::Level,
};
use crate::{functional::PoolOptions, max_pool2d, overrides};

pub(super) use self::pairs::{KeptSum, PoolPairs, ScatterPairs};

/// No place of a window: ReLU cut the gradient.
const NONE: u8 = u8::MAX;
/// Numbers of input of one task.
const TASK: usize = 1 << 15;

/// The maximum of each window and its place.
pub(super) fn forward(input: FlexTensor, options: &PoolOptions) -> (FlexTensor, FlexTensor) {
    let [batch, channels, height, width] = input.layout().shape().dims();
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
        // With less padding than half a window, as PyTorch asks for, each meets the input.
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

    /// Windows of one pixel each, by which a network skips rows and columns.
    fn are_pixels(&self) -> bool {
        self.options.kernel == [1, 1]
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
                self.pool_plane(input, output, places);
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

    /// Rows of the input that a window's row of taps may have: its first, and how many.
    fn window(&self, position: usize, axis: usize) -> (usize, std::ops::Range<usize>) {
        let PoolOptions { kernel, stride, padding } = self.options;
        let start = position * stride[axis];
        let before = padding[axis].saturating_sub(start);
        let end = kernel[axis].min(self.input[axis] + padding[axis] - start);
        (start + before - padding[axis], before..end)
    }

    fn pool_plane(&self, input: &[f32], output: &mut [f32], places: &mut [u8]) {
        if self.are_pixels() {
            let [down, across] = self.options.stride;
            let rows = input.chunks_exact(self.input[1]).step_by(down);
            for (row, output) in rows.zip(output.chunks_exact_mut(self.output[1])) {
                let pixels = output.iter_mut().zip(row.iter().step_by(across));
                pixels.for_each(|(output, pixel)| *output = *pixel);
            }
            places.fill(0);
            return;
        }
        let results = output.iter_mut().zip(places);
        for (index, (output, place)) in results.enumerate() {
            let (y, taps_y) = self.window(index / self.output[1], 0);
            let (x, taps_x) = self.window(index % self.output[1], 1);
            let mut best = f32::NEG_INFINITY;
            *place = (taps_y.start * self.options.kernel[1] + taps_x.start) as u8;
            for (row, tap_y) in taps_y.enumerate() {
                let values = &input[(y + row) * self.input[1] + x..][..taps_x.len()];
                for (value, tap_x) in values.iter().zip(taps_x.clone()) {
                    // A NaN wins, and stays.
                    if *value > best || value.is_nan() {
                        best = *value;
                        *place = (tap_y * self.options.kernel[1] + tap_x) as u8;
                    }
                }
            }
            *output = best;
        }
    }

    fn scatter_plane(&self, gradient: &[f32], places: &[u8], output: &mut [f32]) {
        let PoolOptions { kernel, stride, padding } = self.options;
        output.fill(0.0);
        if self.are_pixels() {
            let rows = output.chunks_exact_mut(self.input[1]).step_by(stride[0]);
            for (row, gradient) in rows.zip(gradient.chunks_exact(self.output[1])) {
                let pixels = row.iter_mut().step_by(stride[1]).zip(gradient);
                pixels.for_each(|(pixel, gradient)| *pixel = *gradient);
            }
            return;
        }
        for (index, (gradient, place)) in gradient.iter().zip(places).enumerate() {
            let place = usize::from(*place);
            let y = index / self.output[1] * stride[0] + place / kernel[1] - padding[0];
            let x = index % self.output[1] * stride[1] + place % kernel[1] - padding[1];
            output[y * self.input[1] + x] += gradient;
        }
    }
}

/// Calls `work` with each plane, several to a task.
fn each_plane(planes: usize, size: usize, work: impl Fn(usize) + Sync) {
    let of_task = (TASK / size).max(1);
    parallel::ranges(planes, of_task, |planes, _| planes.for_each(&work));
}
