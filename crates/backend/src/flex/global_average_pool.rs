//! The mean of each map.

use burn::{backend::Flex, tensor::Shape};
use burn_flex::FlexTensor;

use super::{
    all_f32, assert_shape, contiguous, dimensions, elements,
    parallel::{self, TASK},
    recycled,
    simd::Level,
    sum::{self, Sum},
};
use crate::{global_average_pool, overrides::note_taken};

pub(super) fn forward(input: FlexTensor) -> FlexTensor {
    let [batch, channels, height, width] = dimensions(&input);
    let plane = height * width;
    if !all_f32([&input]) || plane == 0 {
        return global_average_pool::composed::<Flex>(input);
    }
    note_taken();
    let input = contiguous(input);
    let mut output = recycled::floats([batch, channels]);
    let (source, level, maps) = (elements(&input), Level::best(), maps_of_task(plane));
    parallel::chunks(output.storage_mut::<f32>(), maps, |number, means, _| {
        let source = source[number * maps * plane..].chunks_exact(plane);
        for (mean, map) in means.iter_mut().zip(source) {
            let sum = sum::in_parts(plane, |part| level.run(Sum::<false>(&map[part])));
            *mean = sum / plane as f32;
        }
    });
    output
}

pub(super) fn backward(gradient: FlexTensor, input: Shape) -> FlexTensor {
    let [batch, channels, height, width] = input.dims();
    let plane = height * width;
    if !all_f32([&gradient]) || plane == 0 {
        return global_average_pool::composed_backward::<Flex>(gradient, input);
    }
    note_taken();
    assert_shape("the gradient", &gradient, &[batch, channels]);
    let gradient = contiguous(gradient);
    let mut output = recycled::floats(input);
    let (source, maps) = (elements(&gradient), maps_of_task(plane));
    parallel::chunks(output.storage_mut::<f32>(), maps * plane, |number, target, _| {
        for (map, gradient) in target.chunks_exact_mut(plane).zip(&source[number * maps..]) {
            map.fill(gradient / plane as f32);
        }
    });
    output
}

fn maps_of_task(plane: usize) -> usize {
    (TASK / plane).max(1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::flex::testing::{assert_close, normal};

    #[test]
    #[should_panic(expected = "fewer elements than addresses")]
    fn a_tensor_whose_size_overflows_is_refused() {
        use burn::tensor::ops::FloatTensorOps;
        let shape = [1_usize << (usize::BITS - 2), 4, 1, 1];
        forward(Flex::float_expand(normal([1, 4, 1, 1], 1), shape.into()));
    }

    #[test]
    fn both_halves_equal_the_default_bodies() {
        for shape in [[128, 64, 8, 8], [1, 1, 1, 1], [3, 5, 7, 9], [2, 70, 33, 31]] {
            let (input, gradient) = (normal(shape, 1), normal([shape[0], shape[1]], 2));
            let what = format!("{shape:?}");
            let reference = global_average_pool::composed::<Flex>(input.clone());
            assert_close(&what, forward(input), reference, 1e-5);
            let reference =
                global_average_pool::composed_backward::<Flex>(gradient.clone(), shape.into());
            assert_close(&what, backward(gradient, shape.into()), reference, 1e-6);
        }
    }
}
