//! The dense layer: a product of matrices, then bias and ReLU in one pass over its result.

use std::ops::Range;

use burn::backend::Flex;
use burn_flex::FlexTensor;

use super::{
    all_f32, assert_shape, contiguous, dimensions, elements,
    lanes::{read, write},
    output_from,
    parallel::{self, Shared, TASK},
    product::{Matrix, product},
    recycled,
    simd::{Kernel, Level, Vector},
};
use crate::{LinearGradients, LinearSaved, linear, overrides::note_taken};

/// Rows that are summed before they are added to a total: one sum of a million values would lose
/// the third digit.
const ROWS: usize = 512;

pub(super) fn forward(
    input: FlexTensor,
    weight: FlexTensor,
    bias: FlexTensor,
    rectified: bool,
) -> FlexTensor {
    if !all_f32([&input, &weight, &bias]) {
        return linear::composed::<Flex>(input, weight, bias, rectified);
    }
    note_taken();
    let [input, weight, bias] = [input, weight, bias].map(contiguous);
    let ([batch, inputs], [_, outputs]) = (dimensions(&input), dimensions(&weight));
    assert_shape("the weight", &weight, &[inputs, outputs]);
    assert_shape("the bias", &bias, &[outputs]);
    let mut result = recycled::floats([batch, outputs]);
    let values = result.storage_mut::<f32>();
    let weight = Matrix::new(elements(&weight), [inputs, outputs]);
    product(values, Matrix::new(elements(&input), [batch, inputs]), weight);

    let level = Level::best();
    let rows = TASK.div_ceil(outputs.max(1));
    parallel::chunks(values, rows * outputs, |_, values, _| {
        level.run(AddBias { values, bias: elements(&bias), rectified });
    });
    result
}

pub(super) fn backward(saved: LinearSaved<Flex>, gradient: FlexTensor) -> LinearGradients<Flex> {
    let others = [&saved.input, &saved.weight, &saved.output];
    if !all_f32(others.into_iter().flatten().chain([&gradient])) {
        return linear::composed_backward(saved, gradient);
    }
    note_taken();
    let gradient = contiguous(gradient);
    let [batch, outputs] = dimensions(&gradient);
    if let Some(output) = &saved.output {
        assert_shape("the output", output, &[batch, outputs]);
    }
    let (gradient, bias) = match (saved.output.map(contiguous), saved.bias) {
        (None, false) => (gradient, None),
        (output, wanted) => {
            let (gradient, bias) = mask_and_sum(gradient, output.as_ref());
            (gradient, wanted.then_some(bias))
        }
    };
    let of_output = Matrix::new(elements(&gradient), [batch, outputs]);
    let input = saved.weight.map(contiguous).map(|weight| {
        let [inputs, _] = dimensions(&weight);
        assert_shape("the weight", &weight, &[inputs, outputs]);
        let mut result = recycled::floats([batch, inputs]);
        let weight = Matrix::new(elements(&weight), [inputs, outputs]);
        product(result.storage_mut::<f32>(), of_output, weight.transposed());
        result
    });
    let weight = saved.input.map(contiguous).map(|input| {
        let [_, inputs] = dimensions(&input);
        assert_shape("the input", &input, &[batch, inputs]);
        let mut result = recycled::floats([inputs, outputs]);
        let input = Matrix::new(elements(&input), [batch, inputs]);
        product(result.storage_mut::<f32>(), input.transposed(), of_output);
        result
    });
    LinearGradients { input, weight, bias }
}

/// The gradient where ReLU let the output through, or everywhere, and its sum over the batch.
fn mask_and_sum(gradient: FlexTensor, output: Option<&FlexTensor>) -> (FlexTensor, FlexTensor) {
    let [batch, outputs] = dimensions(&gradient);
    let mut bias = recycled::floats([outputs]);
    let sums = Shared::new(bias.storage_mut::<f32>());
    let (mut masked, source) = match output {
        Some(_) => output_from(gradient),
        None => (recycled::floats([0]), Some(gradient)),
    };
    let target = Shared::new(masked.storage_mut::<f32>());
    let maps = Maps {
        gradient: source
            .as_ref()
            .map_or(target.pointer(0).cast_const(), |it| elements(it).as_ptr()),
        output: output.map(|output| elements(output).as_ptr()),
        target: target.pointer(0),
        stride: outputs,
    };

    // Bands of columns, so that each sum is of one task. Whole cache lines, and not too thin.
    let band = (TASK / batch.max(1)).next_multiple_of(64).max(64);
    let level = Level::best();
    parallel::ranges(outputs, band, |columns, scratch| {
        // SAFETY: each task has columns of its own.
        let totals = unsafe { sums.slice(columns.start, columns.len()) };
        let [sums] = scratch.slices([totals.len()]);
        totals.fill(0.0);
        for start in (0..batch).step_by(ROWS) {
            let rows = start..batch.min(start + ROWS);
            level.run(MaskAndSum { maps, rows, first: columns.start, sums });
            totals.iter_mut().zip(&*sums).for_each(|(total, sum)| *total += sum);
        }
    });
    let gradient = if output.is_some() { masked } else { source.unwrap_or(masked) };
    (gradient, bias)
}

/// Adds the bias to each row, and applies ReLU if `rectified`.
struct AddBias<'a> {
    values: &'a mut [f32],
    bias: &'a [f32],
    rectified: bool,
}

impl Kernel for AddBias<'_> {
    type Output = ();

    #[inline(always)]
    fn run<V: Vector>(self) {
        for row in self.values.chunks_exact_mut(self.bias.len().max(1)) {
            for at in (0..row.len()).step_by(V::LANES) {
                let count = row.len() - at;
                // SAFETY: `count` values follow in the row and in the bias.
                unsafe {
                    let target = row.as_mut_ptr().add(at);
                    let bias = read::<V>(self.bias.as_ptr().add(at), count);
                    let mut sum = read::<V>(target, count).add(bias);
                    if self.rectified {
                        sum = V::zero().max(sum);
                    }
                    write(sum, target, count);
                }
            }
        }
    }
}

/// Matrices of one shape; the target may be the gradient's own memory.
#[derive(Clone, Copy)]
struct Maps {
    gradient: *const f32,
    /// The output of ReLU; without it nothing is written to the target.
    output: Option<*const f32>,
    target: *mut f32,
    stride: usize,
}

// SAFETY: tasks that share the matrices write to columns of their own.
unsafe impl Send for Maps {}
// SAFETY: as above.
unsafe impl Sync for Maps {}

/// Masks the columns from `first` on, as many as there are sums, and adds up these rows of them.
struct MaskAndSum<'a> {
    maps: Maps,
    rows: Range<usize>,
    first: usize,
    sums: &'a mut [f32],
}

impl Kernel for MaskAndSum<'_> {
    type Output = ();

    #[inline(always)]
    fn run<V: Vector>(self) {
        let Maps { gradient, output, target, stride } = self.maps;
        self.sums.fill(0.0);
        for row in self.rows {
            for at in (0..self.sums.len()).step_by(V::LANES) {
                let count = self.sums.len() - at;
                let place = row * stride + self.first + at;
                // SAFETY: `count` values follow in the row and in the sums.
                unsafe {
                    let mut values = read::<V>(gradient.add(place), count);
                    if let Some(output) = output {
                        // A NaN lets its gradient through, as PyTorch's does.
                        let cut = V::zero().at_least(read(output.add(place), count));
                        values = V::select(cut, V::zero(), values);
                        write(values, target.add(place), count);
                    }
                    let sums = self.sums.as_mut_ptr().add(at);
                    write(read::<V>(sums, count).add(values), sums, count);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::flex::testing::{assert_close, normal, on_1_2_and_3_threads, values};

    const SHAPES: [[usize; 3]; 6] =
        [[1, 1, 1], [3, 5, 7], [2, 64, 65], [128, 40, 10], [600, 17, 130], [0, 4, 3]];

    fn forward_of([batch, inputs, outputs]: [usize; 3], rectified: bool) -> [FlexTensor; 2] {
        let tensors =
            || (normal([batch, inputs], 1), normal([inputs, outputs], 2), normal([outputs], 3));
        let (input, weight, bias) = tensors();
        let ours = forward(input, weight, bias, rectified);
        let (input, weight, bias) = tensors();
        [ours, linear::composed::<Flex>(input, weight, bias, rectified)]
    }

    fn saved([batch, inputs, outputs]: [usize; 3], parts: [bool; 4]) -> LinearSaved<Flex> {
        let [input, weight, output, bias] = parts;
        LinearSaved {
            input: input.then(|| normal([batch, inputs], 1)),
            weight: weight.then(|| normal([inputs, outputs], 2)),
            output: output.then(|| normal([batch, outputs], 4)),
            bias,
        }
    }

    #[test]
    fn forward_equals_the_default_body() {
        for (shape, rectified) in SHAPES.into_iter().flat_map(|s| [(s, false), (s, true)]) {
            let [ours, reference] = forward_of(shape, rectified);
            assert_close(&format!("{shape:?}"), ours, reference, 1e-5);
        }
    }

    #[test]
    fn backward_equals_the_default_body() {
        for shape in SHAPES {
            for bits in 0..16 {
                let parts = [1, 2, 4, 8].map(|bit| bits & bit != 0);
                let gradient = || normal([shape[0], shape[2]], 5);
                let ours = backward(saved(shape, parts), gradient());
                let reference = linear::composed_backward(saved(shape, parts), gradient());
                let pairs = [
                    (ours.input, reference.input),
                    (ours.weight, reference.weight),
                    (ours.bias, reference.bias),
                ];
                for (index, pair) in pairs.into_iter().enumerate() {
                    match pair {
                        (Some(ours), Some(reference)) => {
                            assert_close(&format!("{index} of {shape:?}"), ours, reference, 1e-4);
                        }
                        (ours, reference) => assert_eq!(ours.is_some(), reference.is_some()),
                    }
                }
            }
        }
    }

    #[test]
    #[should_panic(expected = "the weight: shape [6, 7] instead of [5, 7]")]
    fn a_weight_for_other_inputs_is_refused() {
        forward(normal([3, 5], 1), normal([6, 7], 2), normal([7], 3), false);
    }

    #[test]
    #[should_panic(expected = "the bias: shape [1] instead of [7]")]
    fn a_bias_of_another_shape_is_refused() {
        forward(normal([3, 5], 1), normal([5, 7], 2), normal([1], 3), false);
    }

    #[test]
    #[should_panic(expected = "the output: shape [2, 7] instead of [3, 7]")]
    fn a_gradient_of_another_shape_is_refused() {
        backward(saved([2, 5, 7], [false, false, true, true]), normal([3, 7], 5));
    }

    #[test]
    #[should_panic(expected = "shape [3, 7, 0] instead of one of 2 sizes")]
    fn a_gradient_of_three_dimensions_is_refused() {
        backward(saved([3, 5, 7], [false, false, false, true]), normal([3, 7, 0], 5));
    }

    #[test]
    fn a_nan_lets_its_gradient_through() {
        let output = vec![f32::NAN, 1.0, 0.0, -0.0, f32::INFINITY, -1.0];
        let output = FlexTensor::from_data(burn::tensor::TensorData::new(output, [3, 2]));
        let saved = || LinearSaved {
            output: Some(output.clone()),
            ..saved([3, 4, 2], [false, true, true, true])
        };
        let ours = backward(saved(), normal([3, 2], 5));
        let reference = linear::composed_backward(saved(), normal([3, 2], 5));
        assert_close("input", ours.input.unwrap(), reference.input.unwrap(), 1e-6);
        let bias = values(ours.bias.unwrap());
        assert_eq!(bias, values(reference.bias.unwrap()));
        let [of_nan, .., of_infinity, _] = values(normal([3, 2], 5))[..] else { unreachable!() };
        assert_eq!(bias[0], of_nan + of_infinity);
    }

    #[test]
    fn a_million_gradients_of_a_bias_add_up() {
        let rows = 1 << 20;
        let gradient = burn::tensor::TensorData::new(vec![0.1_f32; rows], [rows, 1]);
        let saved = LinearSaved { input: None, weight: None, output: None, bias: true };
        let bias = backward(saved, FlexTensor::from_data(gradient)).bias.unwrap();
        let expected = 0.1 * rows as f32;
        assert!((values(bias)[0] / expected - 1.0).abs() < 1e-4);
    }

    #[test]
    fn a_gradient_that_others_hold_is_left_as_it_is() {
        let shape = [3, 5, 7];
        let gradient = normal([3, 7], 5);
        backward(saved(shape, [true; 4]), gradient.clone());
        assert_eq!(values(gradient), values(normal([3, 7], 5)));
    }

    #[test]
    fn the_number_of_threads_changes_no_bit() {
        let shape = [300, 90, 200];
        let [one, two, three] = on_1_2_and_3_threads(|| {
            let [output, _] = forward_of(shape, true);
            let gradients = backward(saved(shape, [true; 4]), normal([300, 200], 5));
            let LinearGradients { input, weight, bias } = gradients;
            [output, input.unwrap(), weight.unwrap(), bias.unwrap()].map(values)
        });
        assert_eq!(one, two);
        assert_eq!(one, three);
    }
}
