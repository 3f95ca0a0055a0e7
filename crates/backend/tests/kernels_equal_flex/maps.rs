//! Operations on pictures and maps.

use backend::{
    Backend, BatchNorm2d, BatchNorm2dSaved, BatchNorm2dWanted, DropoutMask, PlaneMap, Selected,
    functional::{self, PoolOptions},
    random::{Purpose, Random},
};
use burn::{
    backend::Flex,
    tensor::{Int, Tensor, TensorData, TensorMetadata, ops::FloatTensor},
};

use crate::{assert_close, by_kernels, device, normal, numbers, primitive};

#[derive(Clone, Copy, Debug)]
struct Norm {
    shape: [usize; 4],
    stored: bool,
    residual: bool,
    rectified: bool,
}

impl Norm {
    fn all() -> impl Iterator<Item = Self> {
        let shapes = [
            [1, 1, 1, 1],
            [2, 3, 1, 1],
            [3, 17, 2, 2],
            [4, 40, 5, 5],
            [9, 2, 31, 17],
            [3, 3, 130, 130],
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

    fn layer<B: Backend>(&self) -> BatchNorm2d<B> {
        let channels = [self.shape[1]];
        let variance = || normal::<B, 1>(channels, 5).powi_scalar(2);
        BatchNorm2d {
            input: primitive(normal::<B, 4>(self.shape, 1) + 3.0),
            scale: primitive(normal::<B, 1>(channels, 2)),
            shift: primitive(normal::<B, 1>(channels, 3)),
            stored: self.stored.then(|| [normal(channels, 4), variance()].map(primitive)),
            over_processes: None,
            residual: self.residual.then(|| primitive(normal::<B, 4>(self.shape, 6))),
            epsilon: 1e-3,
            rectified: self.rectified,
        }
    }

    fn saved<B: Backend>(&self) -> BatchNorm2dSaved<B> {
        let layer = self.layer::<B>();
        let normalized = B::fused_batch_norm2d(layer.clone());
        BatchNorm2dSaved {
            input: layer.input,
            scale: layer.scale,
            shift: layer.shift,
            mean: normalized.mean,
            variance: normalized.variance,
            of_batch: !self.stored,
            epsilon: layer.epsilon,
            rectified: self.rectified,
            output: (self.residual && self.rectified).then_some(normalized.output),
            wanted: BatchNorm2dWanted { input: true, affine: true, residual: self.residual },
        }
    }

    fn gradient<B: Backend>(&self) -> FloatTensor<B> {
        primitive(normal::<B, 4>(self.shape, 7))
    }
}

#[test]
fn batch_norm2d_forward() {
    for case in Norm::all() {
        let ours = by_kernels(|| Selected::fused_batch_norm2d(case.layer()));
        let reference = Flex::fused_batch_norm2d(case.layer());
        let what = |part| format!("{part} of {case:?}");
        assert_close(&what("output"), ours.output, reference.output, 5e-5);
        assert_close(&what("mean"), ours.mean, reference.mean, 1e-5);
        assert_close(&what("variance"), ours.variance, reference.variance, 1e-5);
    }
}

#[test]
fn batch_norm2d_backward() {
    for case in Norm::all() {
        let ours = by_kernels(|| {
            Selected::fused_batch_norm2d_backward(case.saved(), case.gradient::<Selected>())
        });
        let gradient = case.gradient::<Flex>();
        let reference = Flex::fused_batch_norm2d_backward(case.saved(), gradient);
        let what = |part| format!("{part} of {case:?}");
        let (input, expected) = (ours.input.unwrap(), reference.input.unwrap());
        assert_close(&what("input"), input, expected, 2e-4);
        let affine = ours.affine.unwrap().into_iter().zip(reference.affine.unwrap());
        for (name, (ours, reference)) in ["scale", "shift"].into_iter().zip(affine) {
            assert_close(&what(name), ours, reference, 1e-4);
        }
        assert_eq!(ours.residual.is_some(), case.residual);
        if let (Some(ours), Some(reference)) = (ours.residual, reference.residual) {
            assert_close(&what("residual"), ours, reference, 0.0);
        }
    }
}

#[test]
fn batch_norm2d_backward_for_some_parts() {
    for case in Norm::all().filter(|case| case.shape[1] == 17) {
        for bits in 1..8 {
            let wanted = BatchNorm2dWanted {
                input: bits & 1 != 0,
                affine: bits & 2 != 0,
                residual: case.residual && bits & 4 != 0,
            };
            let saved = BatchNorm2dSaved { wanted, ..case.saved() };
            let ours = Selected::fused_batch_norm2d_backward(saved, case.gradient::<Selected>());
            let all =
                Selected::fused_batch_norm2d_backward(case.saved(), case.gradient::<Selected>());
            let parts = [
                (wanted.input, ours.input, all.input),
                (wanted.residual, ours.residual, all.residual),
            ];
            for (wanted, part, of_all) in parts {
                assert_eq!(part.is_some(), wanted, "{case:?}");
                if let (Some(part), Some(of_all)) = (part, of_all) {
                    assert_eq!(numbers::<Selected>(part), numbers::<Selected>(of_all), "{case:?}");
                }
            }
            let [part, of_all] = [ours.affine, all.affine]
                .map(|affine| affine.map(|affine| affine.map(numbers::<Selected>)));
            assert_eq!(part, of_all.filter(|_| wanted.affine), "{case:?}");
        }
    }
}

/// The maximum of each window of 2x2, and the gradient of the maps.
fn maxima<B: Backend>(maps: Tensor<B, 4>) -> [FloatTensor<B>; 2] {
    let (shape, options) = (maps.shape(), PoolOptions::square(2));
    let (output, winners) = B::fused_max_pool2d(primitive(maps), &options);
    let gradient = primitive(normal::<B, 4>(output.shape().dims(), 2));
    let of_maps = B::fused_max_pool2d_backward(winners, gradient, shape, &options);
    [output, of_maps]
}

#[test]
fn maxima_of_windows_and_the_gradient_of_the_first_of_them() {
    // Whole numbers, of which windows have several largest ones, most of them below zero.
    fn maps<B: Backend>(shape: [usize; 4]) -> Tensor<B, 4> {
        (normal::<B, 4>(shape, 1) - 1.0).round()
    }
    let shapes = [[1, 2, 2, 2], [2, 3, 5, 7], [3, 17, 8, 6]];
    // As they come from a user, and as a convolution returns them.
    let orders = [[0, 1, 2, 3], [0, 3, 1, 2]];
    for (shape, order) in shapes.into_iter().flat_map(|shape| orders.map(|order| (shape, order))) {
        let ours = by_kernels(|| maxima(maps::<Selected>(shape).permute(order)));
        let reference = maxima(maps::<Flex>(shape).permute(order));
        let parts = ["maxima", "gradient"].into_iter().zip(ours.into_iter().zip(reference));
        for (part, (ours, reference)) in parts {
            assert_close(&format!("{part} of {shape:?}, {order:?}"), ours, reference, 0.0);
        }
    }
}

/// Every so many rows and columns among maps of zeros, and the gradient of the maps.
fn subsampled<B: Backend>(
    maps: Tensor<B, 4>,
    stride: usize,
    channels: usize,
) -> [FloatTensor<B>; 2] {
    let shape = maps.shape();
    let output = B::fused_subsample(primitive(maps), stride, channels);
    let gradient = primitive(normal::<B, 4>(output.shape().dims(), 2));
    let of_maps = B::fused_subsample_backward(gradient, shape, stride);
    [output, of_maps]
}

#[test]
fn every_so_many_rows_and_columns() {
    // As they come from a user, and as a convolution returns them.
    let orders = [[0, 1, 2, 3], [0, 3, 1, 2]];
    for (shape, stride, channels) in
        [([2, 3, 8, 8], 2, 16), ([3, 4, 7, 10], 3, 11), ([1, 1, 1, 1], 2, 1)]
    {
        for order in orders {
            let maps = || normal::<Selected, 4>(shape, 1).permute(order);
            let ours = by_kernels(|| subsampled(maps(), stride, channels));
            let reference =
                subsampled(normal::<Flex, 4>(shape, 1).permute(order), stride, channels);
            for (ours, reference) in ours.into_iter().zip(reference) {
                assert_close(&format!("{shape:?}, {order:?}"), ours, reference, 0.0);
            }
        }
    }
}

#[test]
fn means_of_maps() {
    // As they come from a user, and as a convolution returns them.
    fn both<B: Backend>() -> [FloatTensor<B>; 2] {
        let returned = normal::<B, 4>([3, 5, 7, 6], 2).permute([0, 3, 1, 2]);
        [normal([3, 6, 5, 7], 1), returned].map(primitive)
    }
    for (ours, reference) in both::<Selected>().into_iter().zip(both::<Flex>()) {
        let means = Selected::fused_global_average_pool(ours);
        assert_close("means", means, Flex::fused_global_average_pool(reference), 1e-5);
    }
}

#[test]
fn channels_are_normalised() {
    fn of<B: Backend>() -> FloatTensor<B> {
        let both = [primitive(normal::<B, 1>([3], 2)), primitive(normal::<B, 1>([3], 3))];
        B::fused_normalized(primitive(normal::<B, 4>([5, 3, 7, 6], 1)), both)
    }
    assert_close("normalised", of::<Selected>(), of::<Flex>(), 1e-6);
}

#[test]
fn images_under_affine_maps() {
    fn of<B: Backend>(maps: &[PlaneMap]) -> FloatTensor<B> {
        B::fused_affine(primitive(normal::<B, 4>([5, 2, 21, 30], 1)), maps)
    }
    let whole = |matrix| PlaneMap { matrix, window: None };
    let turned = [[0.9, -0.4, 2.3], [0.3, 1.2, -5.1]];
    let maps = [
        whole([[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]]),
        whole([[-1.0, 0.0, 3.0], [0.0, 1.0, -2.0]]),
        whole(turned),
        PlaneMap { matrix: turned, window: Some([[-2, 20], [7, 15]]) },
        whole([[1.0, 0.0, 100.0], [0.0, 1.0, 0.0]]),
    ];
    let ours = by_kernels(|| of::<Selected>(&maps));
    assert_close("affine", ours, of::<Flex>(&maps), 1e-5);
}

#[test]
fn dropout_draws_the_same() {
    let random = Random::new(3, Purpose::Dropout, 1 << 40 | 7);
    fn dropped<B: Backend>(shape: [usize; 3], mask: &DropoutMask) -> FloatTensor<B> {
        B::fused_dropout(primitive(normal::<B, 3>(shape, 1)), mask)
    }
    for (shape, first_sample) in
        [([1, 1, 1], 0), ([3, 1, 7], 5), ([5, 8, 9], 70_000), ([3, 70, 100], 1)]
    {
        for probability in [0.1, 0.5, 1.0] {
            let mask = DropoutMask::new(probability, random, first_sample);
            let ours = by_kernels(|| dropped::<Selected>(shape, &mask));
            assert_close("dropout", ours, dropped::<Flex>(shape, &mask), 1e-7);
        }
    }
}

#[test]
fn images_from_bytes() {
    // 3 x 5 x 7 bytes leave one over after whole words.
    let (shape, image) = ([3, 5, 7], 105);
    let bytes: Vec<i64> = (0..4 * image).map(|i| (i * 37 + i / 256) % 256).collect();
    let word = |bytes: &[i64]| bytes.iter().rev().fold(0, |word, byte| word << 8 | byte) as i32;
    let words: Vec<i32> =
        bytes.chunks(image as usize).flat_map(|image| image.chunks(4).map(word)).collect();
    let words = TensorData::new(words, [4, 27]);
    let packed = Tensor::<Selected, 2, Int>::from_data(words, &device());
    for indices in [vec![3, 0, 3], vec![0, 1, 2, 3]] {
        let chosen = (indices != [0, 1, 2, 3])
            .then(|| Tensor::<Selected, 1, Int>::from_ints(indices.as_slice(), &device()));
        let images = by_kernels(|| functional::pixels(packed.clone(), chosen, shape)).into_data();
        assert_eq!(images.shape.to_vec(), [indices.len(), 3, 5, 7]);
        let bytes = indices.iter().flat_map(|&index| &bytes[(index * image) as usize..][..105]);
        for (index, (seen, byte)) in images.iter::<f32>().zip(bytes).enumerate() {
            assert!((seen - *byte as f32 / 255.0).abs() < 1e-6, "{seen} for {byte} at {index}");
        }
    }
}
