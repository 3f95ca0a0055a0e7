//! The maximum of windows, forward and backward.
//!
//! The winner of a window is kept as one byte: its place in the window, counted row by row, or
//! [`NONE`] where ReLU cut it. Windows of more than 254 places are left to the default body.

use burn::{backend::Flex, tensor::Shape};
use burn_flex::FlexTensor;

use super::{
    all_f32, contiguous, elements,
    parallel::{self, Shared},
    recycled,
    simd::{Kernel, Level, Vector},
    sum::Sum,
};
use crate::{functional::PoolOptions, max_pool2d, overrides};

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
    windows.pool(elements(&input), false, output.storage_mut(), places.storage_mut());
    (output, places)
}

/// The gradient of [`forward`]'s input.
pub(super) fn backward(
    places: FlexTensor,
    gradient: FlexTensor,
    input: Shape,
    options: &PoolOptions,
) -> FlexTensor {
    let [_, _, height, width] = input.dims();
    let Some(windows) = Windows::new([height, width], options).filter(|_| all_f32([&gradient]))
    else {
        return max_pool2d::composed_backward::<Flex>(places, gradient, input, options);
    };
    overrides::note_taken();
    let gradient = contiguous(gradient);
    let mut output = recycled::floats(input);
    let places = places.storage::<u8>();
    windows.scatter(elements(&gradient), places, output.storage_mut(), None);
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

    fn planes(&self) -> [usize; 2] {
        [self.input, self.output].map(|[height, width]| height * width)
    }

    /// The maxima of all planes and their places. With `relu`, maxima not above zero become zero
    /// and have no place.
    pub(super) fn pool(&self, input: &[f32], relu: bool, output: &mut [f32], places: &mut [u8]) {
        let [from, to] = self.planes();
        let (output, places) = (Shared::new(output), Shared::new(places));
        let level = Level::best();
        each_plane(input.len() / from, from, |plane| {
            let input = &input[plane * from..][..from];
            // SAFETY: each plane is worked on once.
            let (output, places) =
                unsafe { (output.slice(plane * to, to), places.slice(plane * to, to)) };
            if self.are_pairs() {
                level.run(PoolPairs { windows: self, input, relu, output, places });
            } else {
                self.pool_plane(input, relu, output, places);
            }
        });
    }

    /// The gradient of the input: each window's goes to its winner.
    ///
    /// - `sums`: the sum of the gradients of each plane that were not cut, if wanted
    pub(super) fn scatter(
        &self,
        gradient: &[f32],
        places: &[u8],
        output: &mut [f32],
        sums: Option<&mut [f32]>,
    ) {
        let [to, from] = self.planes();
        let (planes, output) = (output.len() / to, Shared::new(output));
        let sums = sums.map(Shared::new);
        let level = Level::best();
        each_plane(planes, to, |plane| {
            let gradient = &gradient[plane * from..][..from];
            let places = &places[plane * from..][..from];
            // SAFETY: each plane is worked on once.
            let output = unsafe { output.slice(plane * to, to) };
            if self.are_pairs() {
                level.run(ScatterPairs { windows: self, gradient, places, output });
            } else {
                self.scatter_plane(gradient, places, output);
            }
            if let Some(sums) = &sums {
                // What was cut was not scattered.
                // SAFETY: as above.
                let sum = unsafe { sums.slice(plane, 1) };
                sum[0] = level.run(Sum(output));
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

    fn pool_plane(&self, input: &[f32], relu: bool, output: &mut [f32], places: &mut [u8]) {
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
            if relu && best <= 0.0 {
                (*output, *place) = (0.0, NONE);
            }
        }
    }

    fn scatter_plane(&self, gradient: &[f32], places: &[u8], output: &mut [f32]) {
        let PoolOptions { kernel, stride, padding } = self.options;
        output.fill(0.0);
        for (index, (gradient, place)) in gradient.iter().zip(places).enumerate() {
            if *place != NONE {
                let place = usize::from(*place);
                let y = index / self.output[1] * stride[0] + place / kernel[1] - padding[0];
                let x = index % self.output[1] * stride[1] + place % kernel[1] - padding[1];
                output[y * self.input[1] + x] += gradient;
            }
        }
    }
}

/// Calls `work` with each plane, several to a task.
fn each_plane(planes: usize, size: usize, work: impl Fn(usize) + Sync) {
    let of_task = (TASK / size).max(1);
    parallel::run(planes.div_ceil(of_task), |task, _| {
        (task * of_task..((task + 1) * of_task).min(planes)).for_each(&work);
    });
}

/// [`Windows::pool`] of one plane with windows of 2x2. A kernel so that the compiler vectorises
/// the loop with the instructions of the level.
struct PoolPairs<'a> {
    windows: &'a Windows,
    input: &'a [f32],
    relu: bool,
    output: &'a mut [f32],
    places: &'a mut [u8],
}

impl Kernel for PoolPairs<'_> {
    type Output = ();

    #[inline(always)]
    fn run<V: Vector>(self) {
        let [width, columns] = [self.windows.input[1], self.windows.output[1]];
        let floor = if self.relu { 0.0 } else { f32::NEG_INFINITY };
        let cut = if self.relu { NONE } else { 0 };
        let rows = self.input.chunks_exact(2 * width);
        let results =
            self.output.chunks_exact_mut(columns).zip(self.places.chunks_exact_mut(columns));
        for (rows, (output, places)) in rows.zip(results) {
            let (top, bottom) = rows.split_at(width);
            let pairs = top.as_chunks::<2>().0.iter().zip(bottom.as_chunks::<2>().0);
            for ((output, place), (top, bottom)) in output.iter_mut().zip(places).zip(pairs) {
                let mut best = top[0];
                let mut winner = 0;
                for (index, value) in [(1, top[1]), (2, bottom[0]), (3, bottom[1])] {
                    // A NaN wins, and stays. Without branches, for the vectors.
                    let wins = (value > best) | value.is_nan();
                    best = if wins { value } else { best };
                    winner = if wins { index } else { winner };
                }
                let kept = (best > floor) | best.is_nan();
                *output = if kept { best } else { floor };
                *place = if kept { winner } else { cut };
            }
        }
    }
}

/// [`Windows::scatter`] of one plane with windows of 2x2.
struct ScatterPairs<'a> {
    windows: &'a Windows,
    gradient: &'a [f32],
    places: &'a [u8],
    output: &'a mut [f32],
}

impl Kernel for ScatterPairs<'_> {
    type Output = ();

    #[inline(always)]
    fn run<V: Vector>(self) {
        let [width, columns] = [self.windows.input[1], self.windows.output[1]];
        let results = self.gradient.chunks_exact(columns).zip(self.places.chunks_exact(columns));
        let mut rows = self.output.chunks_exact_mut(2 * width);
        for (rows, (gradient, places)) in rows.by_ref().zip(results) {
            let (top, bottom) = rows.split_at_mut(width);
            for (first, row) in [(0, top), (2, bottom)] {
                let (pairs, rest) = row.as_chunks_mut::<2>();
                for (pair, (gradient, place)) in pairs.iter_mut().zip(gradient.iter().zip(places)) {
                    pair[0] = if *place == first { *gradient } else { 0.0 };
                    pair[1] = if *place == first + 1 { *gradient } else { 0.0 };
                }
                rest.fill(0.0);
            }
        }
        rows.into_remainder().fill(0.0);
    }
}
