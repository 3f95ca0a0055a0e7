//! Each algorithm, at each level, against plain loops in f64.

use super::super::{
    simd::{Kernel, Vector},
    testing::{self, assert_close_to_largest},
};
use super::{
    Epilogue, Geometry, Level, Source, Target, direct,
    tile::{Products, Put, VECTORS, most_rows, strides, tile},
    weight_gradient,
    winograd::{self, Kernels, Maps},
};
use crate::functional::Conv2dOptions;

struct Case {
    geometry: Geometry,
    input: Vec<f32>,
    weight: Vec<f32>,
    bias: Vec<f32>,
    gradient: Vec<f32>,
}

fn values(stream: u64, count: usize) -> Vec<f32> {
    testing::values(testing::normal([count], stream))
}

impl Case {
    fn new(
        batch: usize,
        [inputs, outputs]: [usize; 2],
        input: [usize; 2],
        kernel: [usize; 2],
        [stride, padding]: [[usize; 2]; 2],
    ) -> Self {
        let output = std::array::from_fn(|axis| {
            (input[axis] + 2 * padding[axis] - kernel[axis]) / stride[axis] + 1
        });
        let geometry = Geometry { batch, inputs, outputs, input, output, kernel, stride, padding };
        let count = |shape: [usize; 4]| shape.iter().product();
        Self {
            geometry,
            input: values(1, count(geometry.input_shape())),
            weight: values(2, count(geometry.weight_shape())),
            bias: values(3, outputs),
            gradient: values(4, count(geometry.output_shape())),
        }
    }

    /// Calls `each` with the indices of input, weight and output that meet.
    fn meetings(&self, mut each: impl FnMut(usize, usize, usize)) {
        let Geometry { batch, inputs, outputs, input, output, kernel, stride, padding } =
            self.geometry;
        let place = |position: usize, tap: usize, axis: usize| {
            (position * stride[axis] + tap)
                .checked_sub(padding[axis])
                .filter(|place| *place < input[axis])
        };
        for image in 0..batch {
            for (output_channel, channel) in
                (0..outputs).flat_map(|output| (0..inputs).map(move |input| (output, input)))
            {
                let input_plane = image * inputs + channel;
                let output_plane = image * outputs + output_channel;
                for index in 0..output[0] * output[1] * kernel[0] * kernel[1] {
                    let (position, tap) =
                        (index / (kernel[0] * kernel[1]), index % (kernel[0] * kernel[1]));
                    let y = place(position / output[1], tap / kernel[1], 0);
                    let x = place(position % output[1], tap % kernel[1], 1);
                    if let (Some(y), Some(x)) = (y, x) {
                        each(
                            (input_plane * input[0] + y) * input[1] + x,
                            (output_channel * inputs + channel) * kernel[0] * kernel[1] + tap,
                            output_plane * output[0] * output[1] + position,
                        );
                    }
                }
            }
        }
    }

    /// The output, the gradient of the weight, and that of the input.
    fn reference(&self, relu: bool) -> [Vec<f64>; 3] {
        let plane = self.geometry.output_plane();
        let mut output: Vec<f64> = (0..self.gradient.len())
            .map(|index| f64::from(self.bias[index / plane % self.bias.len()]))
            .collect();
        let mut weight = vec![0.0; self.weight.len()];
        let mut input = vec![0.0; self.input.len()];
        self.meetings(|i, w, o| {
            let (x, y) = (f64::from(self.input[i]), f64::from(self.weight[w]));
            let gradient = f64::from(self.gradient[o]);
            output[o] += x * y;
            weight[w] += x * gradient;
            input[i] += y * gradient;
        });
        if relu {
            output.iter_mut().for_each(|value| *value = value.max(0.0));
        }
        [output, weight, input]
    }
}

fn cases() -> Vec<Case> {
    let plain = [[1, 1], [0, 0]];
    let padded = [[1, 1], [1, 1]];
    let halved = [[2, 2], [1, 1]];
    vec![
        Case::new(3, [1, 32], [28, 28], [3, 3], plain),
        Case::new(2, [5, 7], [9, 6], [3, 3], plain),
        Case::new(1, [3, 20], [16, 16], [3, 3], padded),
        Case::new(2, [17, 40], [5, 5], [3, 3], padded),
        Case::new(9, [6, 33], [5, 4], [3, 3], plain),
        Case::new(2, [16, 9], [11, 13], [3, 3], halved),
        Case::new(2, [4, 18], [8, 7], [1, 1], [[2, 2], [0, 0]]),
        Case::new(2, [8, 16], [32, 32], [1, 1], plain),
        Case::new(1, [3, 64], [30, 31], [7, 7], [[2, 2], [3, 3]]),
        Case::new(2, [5, 6], [12, 9], [5, 2], [[3, 1], [2, 0]]),
        Case::new(2, [4, 5], [9, 9], [3, 3], [[2, 1], [1, 2]]),
        Case::new(2, [3, 11], [6, 5], [6, 5], plain),
        Case::new(1, [2, 3], [1, 1], [1, 1], plain),
        Case::new(1, [2, 3], [2, 2], [3, 3], [[1, 1], [3, 3]]),
        Case::new(2, [2, 3], [5, 5], [2, 2], [[3, 4], [0, 0]]),
        Case::new(0, [2, 3], [5, 5], [3, 3], padded),
        Case::new(1, [70, 50], [40, 40], [3, 3], padded),
    ]
}

/// Tiles of every size, with sums of small whole numbers, which are exact.
struct EveryTile;

impl Kernel for EveryTile {
    type Output = ();

    #[inline(always)]
    fn run<V: Vector>(self) {
        let source: Vec<f32> = (0..64).map(|index| (index % 7) as f32).collect();
        for vectors in 1..=VECTORS {
            let width = vectors * V::LANES;
            let weights: Vec<f32> = (0..6 * width).map(|index| (index % 5) as f32).collect();
            for count in 1..=most_rows(V::LANES, vectors) {
                let products = Products {
                    source: source.as_ptr(),
                    rows: &strides(count, 3),
                    table: &strides(3, 2),
                    weights: weights.as_ptr(),
                    weight_step: width,
                    outer: 2,
                    outer_source: 1,
                    outer_weight: 3 * width,
                };
                let mut sums = vec![f32::NAN; count * width];
                let put = Put::<false> { sums: sums.as_mut_ptr(), stride: width };
                // SAFETY: the last row and step read number 38 of the source, the weights have six
                // steps, and the sums a row for each row.
                unsafe { tile::<V>(vectors, &products, &put) };
                for (index, sum) in sums.iter().enumerate() {
                    let (row, lane) = (index / width, index % width);
                    let product = |step: usize| {
                        source[3 * row + 2 * (step % 3) + step / 3] * weights[step * width + lane]
                    };
                    let expected: f32 = (0..6).map(product).sum();
                    assert_eq!(*sum, expected, "row {row} of {count}, {vectors} vectors");
                }
            }
        }
    }
}

#[test]
fn tiles_of_every_size_equal_plain_sums() {
    for level in Level::all() {
        level.run(EveryTile);
    }
}

/// Times the four columns of a strip this stride is zero in as many bits as an index has.
#[test]
fn a_stride_by_which_offsets_would_wrap_is_left_to_the_default_body() {
    let quarter = 1 << (usize::BITS - 2);
    let options = Conv2dOptions { stride: [quarter, 1], padding: [quarter - 100, 1] };
    assert_eq!(options.output_size([114, 2], [8, 1]), [2, 4]);
    let (input, weight) = (testing::normal([32, 1, 114, 2], 1), testing::normal([1, 1, 8, 1], 2));
    assert!(Geometry::new(&input, &weight, &options).is_none());
}

#[test]
fn direct_convolution_equals_plain_loops() {
    for case in cases() {
        let geometry = &case.geometry;
        let [output, weight, input] = case.reference(true);
        for level in Level::all() {
            let close = |part: &str, ours: &[f32], reference: &[f64]| {
                let what = format!("{part}, {geometry:?} at {level:?}");
                assert_close_to_largest(&what, ours, reference, 1e-5);
            };
            let mut ours = vec![f32::NAN; output.len()];
            let epilogue = Epilogue { bias: Some(&case.bias), relu: true };
            let target = Target::maps(&mut ours);
            direct::forward(level, geometry, &case.input, &case.weight, epilogue, target);
            close("output", &ours, &output);

            let mut ours = vec![f32::NAN; weight.len()];
            weight_gradient::weight_gradient(
                level,
                geometry,
                &case.input,
                Source::Maps(&case.gradient),
                &mut ours,
            );
            close("gradient of the weight", &ours, &weight);

            let mut ours = vec![f32::NAN; input.len()];
            direct::input_gradient(level, geometry, &case.gradient, &case.weight, &mut ours);
            close("gradient of the input", &ours, &input);
        }
    }
}

#[test]
fn winograds_algorithm_equals_plain_loops() {
    let padded = |side: usize| [[1, 1], [side, side]];
    let cases = [
        Case::new(3, [16, 16], [9, 14], [3, 3], padded(1)),
        Case::new(2, [32, 48], [13, 13], [3, 3], padded(0)),
        Case::new(1, [16, 32], [4, 4], [3, 3], padded(2)),
        Case::new(40, [48, 16], [8, 6], [3, 3], padded(0)),
        Case::new(2, [80, 80], [8, 8], [3, 3], padded(1)),
        Case::new(0, [16, 16], [8, 8], [3, 3], padded(1)),
        Case::new(2, [16, 32], [7, 7], [3, 3], padded(4)), // the last tiles see padding alone
        Case::new(2, [16, 16], [5, 6], [3, 3], padded(7)), // and the first ones
        Case::new(2, [336, 368], [8, 7], [3, 3], padded(1)), // too many kernels for each task
    ];
    for case in cases {
        let geometry = &case.geometry;
        let [output, weight, input] = case.reference(true);
        for level in Level::all() {
            let close = |part: &str, ours: &[f32], reference: &[f64]| {
                let what = format!("{part}, {geometry:?} at {level:?}");
                assert_close_to_largest(&what, ours, reference, 1e-4);
            };
            let mut ours = vec![f32::NAN; output.len()];
            let epilogue = Epilogue { bias: Some(&case.bias), relu: true };
            let maps = Maps::forward(geometry).unwrap();
            let kernels = Kernels::Forward;
            winograd::correlate(
                level,
                &maps,
                Source::Maps(&case.input),
                &case.weight,
                kernels,
                epilogue,
                Target::maps(&mut ours),
            );
            close("output", &ours, &output);

            let mut ours = vec![f32::NAN; weight.len()];
            let gradient = Source::Maps(&case.gradient);
            winograd::weight_gradient(level, &maps, &case.input, gradient, &mut ours);
            close("gradient of the weight", &ours, &weight);

            let Some(maps) = Maps::input_gradient(geometry) else {
                assert!(geometry.padding[0] > 2, "{geometry:?} at {level:?}");
                continue;
            };
            let mut ours = vec![f32::NAN; input.len()];
            let epilogue = Epilogue { bias: None, relu: false };
            let kernels = Kernels::Rotated;
            winograd::correlate(
                level,
                &maps,
                Source::Maps(&case.gradient),
                &case.weight,
                kernels,
                epilogue,
                Target::maps(&mut ours),
            );
            close("gradient of the input", &ours, &input);
        }
    }
}
