//! Shapes that do not fit together are refused with a text, whatever the backend.

use backend::{
    Backend, PlaneMap, Selected,
    functional::{
        Conv2dOptions, LstmState, LstmWeights, Normalization, PoolOptions, affine, batch_norm2d,
        binary_cross_entropy, conv2d, conv2d_relu_max_pool, cross_entropy, embedding,
        embedding_mean, linear, lstm, max_pool2d, normalized, pixels, product, subsample,
    },
};
use burn::tensor::{Int, Tensor};

fn zeros<const D: usize>(shape: [usize; D]) -> Tensor<Selected, D> {
    Tensor::zeros(shape, &Default::default())
}

fn indices(count: usize) -> Tensor<Selected, 1, Int> {
    Tensor::zeros([count], &Default::default())
}

#[test]
#[should_panic(expected = "conv2d: the input [2, 1, 32, 32] has 1 channels, and the weight \
                           [4, 3, 3, 3] reads 3")]
fn a_convolution_of_other_channels() {
    conv2d(zeros([2, 1, 32, 32]), zeros([4, 3, 3, 3]), None, &Conv2dOptions::default(), false);
}

#[test]
#[should_panic(expected = "conv2d: the bias of [3] must be [4]")]
fn a_convolution_with_another_bias() {
    let bias = Some(zeros([3]));
    conv2d(zeros([2, 3, 8, 8]), zeros([4, 3, 3, 3]), bias, &Conv2dOptions::default(), false);
}

#[test]
#[should_panic(expected = "conv2d: the stride [1, 0] must be at least 1")]
fn a_convolution_that_does_not_move() {
    let options = Conv2dOptions { stride: [1, 0], ..Default::default() };
    conv2d(zeros([2, 3, 8, 8]), zeros([4, 3, 3, 3]), None, &options, false);
}

#[test]
#[should_panic(expected = "conv2d: the kernel of 3 x 7 does not fit into the input of 8 x 4 with \
                           the padding [1, 1]")]
fn a_kernel_that_is_too_wide() {
    let options = Conv2dOptions { padding: [1; 2], ..Default::default() };
    conv2d(zeros([2, 1, 8, 4]), zeros([4, 1, 3, 7]), None, &options, false);
}

#[test]
fn a_padding_that_overflows_leaves_no_output() {
    // Twice half of all addresses come to 0.
    let options = Conv2dOptions { padding: [0, 1 << (usize::BITS - 1)], ..Default::default() };
    assert_eq!(options.output_size([8, 8], [1, 1]), [8, 0]);
}

#[test]
#[should_panic(expected = "max_pool2d: the kernel [2, 2] does not fit into the input of 1 x 6")]
fn a_convolution_whose_result_is_smaller_than_a_window() {
    let [input, weight] = [[2, 1, 3, 8], [4, 1, 3, 3]].map(zeros);
    conv2d_relu_max_pool(input, weight, zeros([4]), &Conv2dOptions::default());
}

#[test]
#[should_panic(
    expected = "max_pool2d: the padding [2, 1] must be at most half of the kernel [3, 3]"
)]
fn a_window_of_nothing_but_padding() {
    let options = PoolOptions { kernel: [3; 2], stride: [1; 2], padding: [2, 1] };
    max_pool2d(zeros([1, 1, 8, 8]), &options);
}

#[test]
#[should_panic(expected = "subsample: 4 maps do not fit among 3 channels")]
fn more_maps_than_channels() {
    subsample(zeros([1, 4, 8, 8]), 2, 3);
}

#[test]
#[should_panic(expected = "pixels: the packed images of [2, 5] must be [2, ")]
fn images_of_other_sizes() {
    let packed = Tensor::<Selected, 2, Int>::zeros([2, 5], &Default::default());
    pixels(packed, None, [3, 4, 4]);
}

#[test]
#[should_panic(expected = "normalized: the factors or summands of [1] must be [3]")]
fn factors_of_other_channels() {
    normalized(zeros([2, 3, 4, 4]), [zeros([3]), zeros([1])]);
}

#[test]
#[should_panic(expected = "affine: there are 1 maps for 2 images")]
fn maps_of_some_images() {
    let map = PlaneMap { matrix: [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]], window: None };
    affine(zeros([2, 3, 4, 4]), &[map]);
}

#[test]
#[should_panic(expected = "batch_norm2d: the variance of [1] must be [3]")]
fn statistics_of_other_channels() {
    let by = Normalization::Stored { mean: zeros([3]), variance: zeros([1]) };
    batch_norm2d(zeros([2, 3, 4, 4]), [zeros([3]), zeros([3])], by, 1e-5, None, false);
}

#[test]
#[should_panic(expected = "batch_norm2d: the residual of [2, 3, 4, 1] must be")]
fn a_residual_of_another_size() {
    let (affine, residual) = ([zeros([3]), zeros([3])], Some(zeros([2, 3, 4, 1])));
    batch_norm2d(zeros([2, 3, 4, 4]), affine, Normalization::Batch, 1e-5, residual, false);
}

fn weights(inputs: usize) -> LstmWeights<Selected> {
    LstmWeights { input: zeros([8, inputs]), hidden: zeros([8, 2]), bias: zeros([8]) }
}

#[test]
#[should_panic(expected = "lstm: the input weight of [8, 5] must be [8, 3]")]
fn a_sequence_of_another_width() {
    lstm(zeros([1, 4, 3]), None, &weights(5));
}

#[test]
#[should_panic(expected = "lstm: the state's cells of [1, 2] must be [4, 2]")]
fn a_state_of_another_batch() {
    let state = LstmState { cell: zeros([1, 2]), hidden: zeros([4, 2]) };
    lstm(zeros([4, 1, 3]), Some(state), &weights(3));
}

#[test]
#[should_panic(expected = "product: [2, 3, 4] cannot be multiplied by [2, 3, 4]")]
fn matrices_that_do_not_fit() {
    product(zeros([2, 3, 4]), zeros([2, 3, 4]));
}

#[test]
#[should_panic(expected = "product: [1, 3, 4] cannot be multiplied by [2, 4, 3]")]
fn not_as_many_matrices() {
    product(zeros([1, 3, 4]), zeros([2, 4, 3]));
}

#[test]
#[should_panic(expected = "linear: the input of [5, 4] must be [5, 3]")]
fn a_dense_layer_of_other_inputs() {
    linear(zeros([5, 4]), zeros([3, 2]), zeros([2]), false);
}

#[test]
#[should_panic(expected = "linear: the bias of [1] must be [2]")]
fn a_dense_layer_with_another_bias() {
    linear(zeros([5, 4]), zeros([4, 2]), zeros([1]), false);
}

#[test]
#[should_panic(expected = "binary_cross_entropy: the targets of [3] must be [1]")]
fn labels_of_other_samples() {
    binary_cross_entropy(zeros([1]), zeros([3]));
}

#[test]
#[should_panic(expected = "cross_entropy: the targets of [1] must be [2]")]
fn targets_of_some_samples() {
    cross_entropy(zeros([2, 3]), indices(1));
}

#[test]
fn an_index_of_nothing() {
    if !Selected::IS_SYNCHRONOUS {
        return; // what a GPU computes then is undefined
    }
    let told = |act: fn(i64)| {
        [-1, 3].map(|index| {
            let panic = std::panic::catch_unwind(move || act(index)).unwrap_err();
            panic.downcast_ref::<String>().unwrap().clone()
        })
    };
    let targets = told(|index| drop(cross_entropy(zeros([2, 3]), indices(2) + index)));
    let rows = told(|index| {
        let indices = (indices(2) + index).unsqueeze::<2>();
        drop(embedding(zeros([3, 4]), indices));
    });
    let means = told(|index| {
        let indices = (indices(2) + index).unsqueeze::<2>();
        drop(embedding_mean(zeros([3, 4]), indices));
    });
    for (place, index) in [-1, 3].into_iter().enumerate() {
        let target = format!("cross_entropy: the target {index} is none of 3 classes");
        assert!(targets[place].starts_with(&target), "{targets:?}");
        let row = format!("embedding: the index {index} is none of 3 rows");
        assert!(rows[place].starts_with(&row), "{rows:?}");
        let mean = format!("embedding_mean: the index {index} is none of 3 rows");
        assert!(means[place].starts_with(&mean), "{means:?}");
    }
}
