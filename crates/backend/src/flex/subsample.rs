//! Every so many rows and columns of maps, among maps of zeros.

use burn::{backend::Flex, tensor::Shape};
use burn_flex::FlexTensor;

use super::{all_f32, assert_shape, contiguous, dimensions, elements, parallel, recycled};
use crate::{overrides::note_taken, subsample};

pub(super) fn forward(maps: FlexTensor, stride: usize, channels: usize) -> FlexTensor {
    let [batch, inputs, height, width] = dimensions(&maps);
    if !all_f32([&maps]) || height * width == 0 {
        return subsample::composed::<Flex>(maps, stride, channels);
    }
    note_taken();
    let maps = contiguous(maps);
    let [rows, columns] = [height, width].map(|side| side.div_ceil(stride));
    let mut output = recycled::floats([batch, channels, rows, columns]);
    let (source, plane, places) = (elements(&maps), height * width, rows * columns);
    let middle = subsample::middle(inputs, channels);
    parallel::chunks(output.storage_mut::<f32>(), channels * places, |image, target, _| {
        let (before, others) = target.split_at_mut(middle.start * places);
        let (chosen, after) = others.split_at_mut(inputs * places);
        before.fill(0.0);
        after.fill(0.0);
        let source = source[image * inputs * plane..].chunks_exact(plane);
        for (chosen, map) in chosen.chunks_exact_mut(places).zip(source) {
            let rows = map.chunks_exact(width).step_by(stride);
            for (chosen, row) in chosen.chunks_exact_mut(columns).zip(rows) {
                for (chosen, value) in chosen.iter_mut().zip(row.iter().step_by(stride)) {
                    *chosen = *value;
                }
            }
        }
    });
    output
}

pub(super) fn backward(gradient: FlexTensor, input: Shape, stride: usize) -> FlexTensor {
    let [batch, inputs, height, width] = input.dims();
    if !all_f32([&gradient]) || height * width == 0 {
        return subsample::composed_backward::<Flex>(gradient, input, stride);
    }
    note_taken();
    let [_, channels, ..] = dimensions::<4>(&gradient);
    let [rows, columns] = [height, width].map(|side| side.div_ceil(stride));
    assert_shape("the gradient", &gradient, &[batch, channels, rows, columns]);
    let gradient = contiguous(gradient);
    let mut output = recycled::floats(input);
    let (source, plane, places) = (elements(&gradient), height * width, rows * columns);
    let middle = subsample::middle(inputs, channels);
    parallel::chunks(output.storage_mut::<f32>(), inputs * plane, |image, target, _| {
        target.fill(0.0);
        let source = source[(image * channels + middle.start) * places..].chunks_exact(places);
        for (map, chosen) in target.chunks_exact_mut(plane).zip(source) {
            let rows = map.chunks_exact_mut(width).step_by(stride);
            for (row, chosen) in rows.zip(chosen.chunks_exact(columns)) {
                for (value, chosen) in row.iter_mut().step_by(stride).zip(chosen) {
                    *value = *chosen;
                }
            }
        }
    });
    output
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::flex::testing::{assert_close, normal};

    #[test]
    fn both_halves_equal_the_default_bodies() {
        for (shape, stride, channels) in [
            ([3, 4, 8, 8], 2, 8),
            ([1, 1, 1, 1], 2, 4),
            ([2, 3, 7, 10], 3, 6),
            ([2, 2, 5, 4], 1, 2),
        ] {
            let what = format!("{shape:?} by {stride} to {channels}");
            let maps = normal(shape, 1);
            let reference = subsample::composed::<Flex>(maps.clone(), stride, channels);
            let gradient = normal(dimensions::<4>(&reference), 2);
            assert_close(&what, forward(maps, stride, channels), reference, 0.0);
            let reference =
                subsample::composed_backward::<Flex>(gradient.clone(), shape.into(), stride);
            assert_close(&what, backward(gradient, shape.into(), stride), reference, 0.0);
        }
    }
}
