//! Convolution and pooling at shapes that are drawn, against the default bodies.

use burn::backend::Flex;
use burn_flex::FlexTensor;

use super::{geometry::Geometry, winograd::Maps};
use crate::{
    Conv2dGradients, Conv2dParents, Conv2dSaved, conv2d, conv2d_relu_max_pool,
    flex::{
        conv, pool,
        simd::Level,
        testing::{assert_close_to_largest, normal, values},
    },
    functional::{Conv2dOptions, PoolOptions},
    max_pool2d,
    random::{Purpose, Random},
};

/// Numbers drawn one after the other.
struct Draws {
    random: Random,
    next: u64,
}

impl Draws {
    fn new(case: u64) -> Self {
        Self { random: Random::new(11, Purpose::Synthetic, case), next: 0 }
    }

    fn of<T: Copy>(&mut self, choices: &[T]) -> T {
        self.next += 1;
        choices[self.random.below(self.next, choices.len() as u64) as usize]
    }

    fn pair<T: Copy>(&mut self, choices: &[T]) -> [T; 2] {
        [self.of(choices), self.of(choices)]
    }
}

/// Input, weight and bias.
fn tensors(input: [usize; 4], weight: [usize; 4]) -> [FlexTensor; 3] {
    [normal(input, 1), normal(weight, 2), normal([weight[0]], 3)]
}

/// Input, weight, bias, options, and whether ReLU follows.
fn convolution(case: u64) -> ([FlexTensor; 3], Conv2dOptions, bool) {
    let mut draws = Draws::new(case);
    let (inputs, outputs) = (draws.of(&[1, 2, 3, 16, 17, 32]), draws.of(&[1, 5, 16, 24, 32]));
    let usual = draws.of(&[true, false]);
    let kernel = if usual { [3, 3] } else { draws.pair(&[1, 2, 3, 5]) };
    let options = Conv2dOptions {
        stride: if usual { [1, 1] } else { draws.pair(&[1, 2, 3]) },
        padding: draws.pair(&[0, 1, 2, 4, 5]),
    };
    let rectified = draws.of(&[true, false]);
    let room = draws.pair(&[1, 2, 3, 5, 8, 13]);
    let [height, width] = [0, 1].map(|axis| kernel[axis] + room[axis]);
    let batch = draws.of(&[1, 1, 2, 5]);
    let tensors = tensors([batch, inputs, height, width], [outputs, inputs, kernel[0], kernel[1]]);
    (tensors, options, rectified)
}

/// Fails unless the largest difference is a ten-thousandth of the largest value at most.
#[track_caller]
fn assert_close(what: &str, ours: FlexTensor, reference: FlexTensor) {
    assert_eq!(ours.layout().shape(), reference.layout().shape(), "{what}");
    assert_close_to_largest(what, &values(ours), &values(reference), 1e-4);
}

fn assert_all_close(what: &str, ours: Conv2dGradients<Flex>, reference: Conv2dGradients<Flex>) {
    let each = [
        ("input", ours.input, reference.input),
        ("weight", ours.weight, reference.weight),
        ("bias", ours.bias, reference.bias),
    ];
    for (name, ours, reference) in each {
        assert_close(&format!("{name}, {what}"), ours.unwrap(), reference.unwrap());
    }
}

const ALL: Conv2dParents<bool> = Conv2dParents { input: true, weight: true, bias: true };

#[test]
fn convolutions_equal_the_default_body() {
    for case in 0..80 {
        let ([input, weight, bias], options, rectified) = convolution(case);
        let what = format!("case {case}: {:?} {options:?} {rectified}", input.layout().shape());
        let arguments = || (input.clone(), weight.clone(), Some(bias.clone()));
        let (x, w, b) = arguments();
        let output = conv2d::composed::<Flex>(x, w, b, &options, rectified);
        let gradient = normal(output.layout().shape().dims::<4>(), 4);
        let saved = Conv2dSaved::<Flex> {
            input: input.clone(),
            weight: weight.clone(),
            output: rectified.then(|| output.clone()),
            options,
            wanted: ALL,
        };
        let gradients = conv2d::composed_backward(saved.clone(), gradient.clone());
        for level in Level::all() {
            let what = format!("{what} at {level:?}");
            let (x, w, b) = arguments();
            assert_close(
                &what,
                conv::forward_at(level, x, w, b, &options, rectified),
                output.clone(),
            );
            let ours = conv::backward_at(level, saved.clone(), gradient.clone());
            assert_all_close(&what, ours, gradients.clone());
        }
    }
}

/// Holds convolution with pooling, and its gradients, against the default bodies.
#[track_caller]
fn assert_pooled_close(what: &str, [input, weight, bias]: [FlexTensor; 3], options: Conv2dOptions) {
    let arguments = || (input.clone(), weight.clone(), bias.clone());
    let (x, w, b) = arguments();
    let (output, indices) = conv2d_relu_max_pool::composed::<Flex>(x, w, b, &options);
    let gradient = normal(output.layout().shape().dims::<4>(), 4);
    let saved = |output| {
        let (input, weight, _) = arguments();
        Conv2dSaved::<Flex> { input, weight, output: Some(output), options, wanted: ALL }
    };
    let gradients =
        conv2d_relu_max_pool::composed_backward(saved(output.clone()), indices, gradient.clone());
    for level in Level::all() {
        let what = format!("{what} at {level:?}");
        let (x, w, b) = arguments();
        let (ours, places) = conv::forward_and_pool_at(level, x, w, b, &options);
        assert_close(&what, ours.clone(), output.clone());
        let ours = conv::backward_of_pool_at(level, saved(ours), places, gradient.clone());
        assert_all_close(&what, ours, gradients.clone());
    }
}

/// So many channels that Winograd's algorithm divides the outputs among tasks, and the products of a chunk.
#[test]
fn a_wide_convolution_with_pooling_equals_the_default_body() {
    let options = Conv2dOptions { padding: [1, 1], ..Default::default() };
    assert_pooled_close("wide", tensors([1, 336, 9, 6], [368, 336, 3, 3]), options);
}

#[test]
fn convolutions_with_pooling_equal_the_default_body() {
    let (mut checked, mut odd_by_winograd) = (0, 0);
    for case in 280..360 {
        let ([input, weight, bias], options, _) = convolution(case);
        let what = format!("case {case}: {:?} {options:?}", input.layout().shape());
        let [_, _, height, width] = input.layout().shape().dims();
        let [_, _, rows, columns] = weight.layout().shape().dims();
        if options.output_size([height, width], [rows, columns]).iter().any(|size| *size < 2) {
            continue; // no window fits
        }
        checked += 1;
        let maps = Geometry::new(&input, &weight, &options).filter(|geometry| {
            Maps::forward(geometry).is_some() && geometry.output.iter().any(|size| size % 2 == 1)
        });
        odd_by_winograd += usize::from(maps.is_some());
        assert_pooled_close(&what, [input, weight, bias], options);
    }
    // A window at the edge of odd maps lies in half a tile of Winograd's.
    assert!(checked >= 40 && odd_by_winograd >= 5, "{checked} shapes, {odd_by_winograd} of these");
}

#[test]
fn pools_equal_the_default_body() {
    for case in 200..260 {
        let mut draws = Draws::new(case);
        let kernel = draws.pair(&[1, 2, 2, 3]);
        let stride = if draws.of(&[true, false]) { kernel } else { draws.pair(&[1, 2, 3]) };
        let padding = [0, 1].map(|axis| draws.of(&[0, kernel[axis] / 2]));
        let options = PoolOptions { kernel, stride, padding };
        let [height, width] = draws.pair(&[3, 4, 5, 8, 17, 26, 33]);
        let shape = [draws.of(&[1, 3]), draws.of(&[1, 5, 16]), height, width];
        let what = format!("case {case}: {shape:?} {options:?}");
        let input = normal(shape, 1);
        let (ours, places) = pool::forward(input.clone(), &options);
        let (reference, indices) = max_pool2d::composed::<Flex>(input, &options);
        assert_eq!(values(ours), values(reference.clone()), "{what}");
        let gradient = normal(reference.layout().shape().dims::<4>(), 2);
        let ours = pool::backward(places, gradient.clone(), shape.into(), &options);
        let reference =
            max_pool2d::composed_backward::<Flex>(indices, gradient, shape.into(), &options);
        assert_close(&what, ours, reference);
    }
}
