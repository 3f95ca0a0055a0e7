//! The kernels against the default body.

use super::*;
use crate::{
    BatchNorm2dWanted,
    flex::testing::{assert_close, normal, on_1_2_and_3_threads, values},
};

#[derive(Clone, Copy, Debug)]
struct Case {
    shape: [usize; 4],
    stored: bool,
    residual: bool,
    rectified: bool,
}

impl Case {
    fn all() -> impl Iterator<Item = Self> {
        let shapes = [
            [1, 1, 1, 1],
            [2, 3, 1, 1],
            [5, 1, 3, 7],
            [3, 17, 2, 2],
            [4, 20, 5, 5],
            [2, 16, 12, 12],
            [7, 2, 9, 31],
            [1, 4, 33, 17],
            [0, 3, 4, 4],
        ];
        shapes.into_iter().flat_map(|shape| {
            (0..8).map(move |bits| Self {
                shape,
                stored: bits & 1 != 0,
                residual: bits & 2 != 0,
                rectified: bits & 4 != 0,
            })
        })
    }

    fn layer(&self) -> BatchNorm2d<Flex> {
        let channels = [self.shape[1]];
        BatchNorm2d {
            input: normal(self.shape, 1),
            scale: normal(channels, 2),
            shift: normal(channels, 3),
            stored: self.stored.then(|| [normal(channels, 4), squared(normal(channels, 5))]),
            over_processes: None,
            residual: self.residual.then(|| normal(self.shape, 6)),
            epsilon: 1e-3,
            rectified: self.rectified,
        }
    }

    fn saved(&self) -> BatchNorm2dSaved<Flex> {
        let layer = self.layer();
        let BatchNorm2dOutput { output, mean, variance, .. } =
            batch_norm2d::composed(layer.clone());
        BatchNorm2dSaved {
            input: layer.input,
            scale: layer.scale,
            shift: layer.shift,
            mean,
            variance,
            of_batch: !self.stored,
            epsilon: layer.epsilon,
            rectified: self.rectified,
            output: (self.residual && self.rectified).then_some(output),
            wanted: BatchNorm2dWanted { input: true, affine: true, residual: self.residual },
        }
    }
}

fn squared(values: FlexTensor) -> FlexTensor {
    use burn::tensor::ops::FloatTensorOps;
    Flex::float_mul(values.clone(), values)
}

#[test]
fn forward_equals_the_default_body() {
    for (level, case) in Level::all().into_iter().flat_map(|l| Case::all().map(move |c| (l, c))) {
        let ours = forward_at(level, case.layer());
        let reference = batch_norm2d::composed(case.layer());
        let what = |part| format!("{part} of {case:?} at {level:?}");
        assert_close(&what("output"), ours.output, reference.output, 1e-5);
        assert_close(&what("mean"), ours.mean, reference.mean, 1e-6);
        assert_close(&what("variance"), ours.variance, reference.variance, 1e-5);
    }
}

#[test]
fn backward_equals_the_default_body() {
    for (level, case) in Level::all().into_iter().flat_map(|l| Case::all().map(move |c| (l, c))) {
        let ours = backward_at(level, case.saved(), normal(case.shape, 7));
        let reference = batch_norm2d::composed_backward(case.saved(), normal(case.shape, 7));
        let what = |part| format!("{part} of {case:?} at {level:?}");
        let input = |gradients: &BatchNorm2dGradients<Flex>| gradients.input.clone().unwrap();
        assert_close(&what("input"), input(&ours), input(&reference), 5e-5);
        let affine = [ours.affine.unwrap(), reference.affine.unwrap()];
        let [[our_scale, our_shift], [scale, shift]] = affine;
        assert_close(&what("scale"), our_scale, scale, 2e-5);
        assert_close(&what("shift"), our_shift, shift, 2e-5);
        assert_eq!(ours.residual.is_some(), case.residual);
        if let (Some(ours), Some(reference)) = (ours.residual, reference.residual) {
            assert_close(&what("residual"), ours, reference, 0.0);
        }
    }
}

#[test]
#[should_panic(expected = "the residual: shape [2, 3, 4, 4] instead of [2, 3, 4, 5]")]
fn a_residual_of_another_shape_is_refused() {
    let case = Case { shape: [2, 3, 4, 5], stored: false, residual: false, rectified: true };
    forward(BatchNorm2d { residual: Some(normal([2, 3, 4, 4], 6)), ..case.layer() });
}

/// Of such a tensor the first four sizes say that there are values, and there are none.
#[test]
#[should_panic(expected = "shape [2, 3, 4, 5, 0] instead of one of 4 sizes")]
fn an_input_of_five_dimensions_is_refused() {
    let case = Case { shape: [2, 3, 4, 5], stored: false, residual: false, rectified: true };
    forward(BatchNorm2d { input: normal([2, 3, 4, 5, 0], 1), ..case.layer() });
}

#[test]
#[should_panic(expected = "for each channel: shape [2] instead of [3]")]
fn a_scale_of_another_shape_is_refused() {
    let case = Case { shape: [2, 3, 4, 5], stored: false, residual: false, rectified: true };
    forward(BatchNorm2d { scale: normal([2], 2), ..case.layer() });
}

#[test]
#[should_panic(expected = "gradient: shape [2, 3, 5, 4] instead of [2, 3, 4, 5]")]
fn a_gradient_of_another_shape_is_refused() {
    let case = Case { shape: [2, 3, 4, 5], stored: false, residual: false, rectified: true };
    backward(case.saved(), normal([2, 3, 5, 4], 7));
}

#[test]
fn a_nan_lets_its_gradient_through() {
    let case = Case { shape: [2, 3, 4, 5], stored: true, residual: true, rectified: true };
    let mut numbers = values(case.saved().output.unwrap());
    numbers[7] = f32::NAN;
    let output = FlexTensor::from_data(burn::tensor::TensorData::new(numbers, case.shape));
    let saved = BatchNorm2dSaved { output: Some(output), ..case.saved() };
    let ours = backward(saved.clone(), normal(case.shape, 7)).residual.unwrap();
    let reference = batch_norm2d::composed_backward(saved, normal(case.shape, 7));
    assert_eq!(values(ours.clone()), values(reference.residual.unwrap()));
    assert_eq!(values(ours)[7], values(normal(case.shape, 7))[7]);
}

#[test]
fn only_what_is_wanted_is_returned() {
    let case = Case { shape: [2, 3, 4, 5], stored: true, residual: true, rectified: true };
    let wanted = BatchNorm2dWanted { input: false, affine: false, residual: true };
    let saved = BatchNorm2dSaved { wanted, ..case.saved() };
    let ours = backward(saved.clone(), normal(case.shape, 7));
    let reference = batch_norm2d::composed_backward(saved, normal(case.shape, 7));
    assert!(ours.input.is_none() && ours.affine.is_none());
    assert_eq!(values(ours.residual.unwrap()), values(reference.residual.unwrap()));
}

#[test]
fn a_large_mean_takes_nothing_from_the_variance() {
    use burn::tensor::ops::FloatTensorOps;
    let shape = [8, 2, 16, 16];
    let case = Case { shape, stored: false, residual: false, rectified: false };
    let plain = forward(case.layer());
    let mut layer = case.layer();
    layer.input = Flex::float_add_scalar(layer.input, 1000.0.into());
    let moved = forward(layer);
    assert_close("variance", moved.variance, plain.variance, 2e-4);
    assert_close("output", moved.output, plain.output, 1e-3);
}

#[test]
fn equal_values_are_normalised_to_zero_however_many_there_are() {
    use burn::tensor::ops::FloatTensorOps;
    let shape = [2, 3, 150, 301];
    let case = Case { shape, stored: false, residual: false, rectified: false };
    for (level, value) in Level::all().into_iter().flat_map(|l| [(l, 100.1f32), (l, 1000.1)]) {
        let input = Flex::float_add_scalar(
            Flex::float_mul_scalar(case.layer().input, 0.0.into()),
            value.into(),
        );
        let ours = forward_at(level, BatchNorm2d { input, ..case.layer() });
        assert_eq!(values(ours.mean), [value; 3]);
        assert_eq!(values(ours.variance), [0.0; 3]);
        let shift = values(case.layer().shift);
        for (channel, plane) in values(ours.output).chunks_exact(150 * 301).enumerate() {
            assert!(plane.iter().all(|value| *value == shift[channel % 3]), "{level:?} {value}");
        }
    }
}

#[test]
fn the_number_of_threads_changes_no_bit() {
    for shape in [[9, 3, 7, 7], [6, 32, 6, 6]] {
        let case = Case { shape, stored: false, residual: true, rectified: true };
        let [one, two, three] = on_1_2_and_3_threads(|| {
            let BatchNorm2dOutput { output, mean, variance, .. } = forward(case.layer());
            let gradients = backward(case.saved(), normal(shape, 7));
            let [scale, shift] = gradients.affine.unwrap();
            [output, mean, variance, gradients.input.unwrap(), scale, shift].map(values)
        });
        assert_eq!(one, two);
        assert_eq!(one, three);
    }
}
