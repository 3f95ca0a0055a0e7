//! What the operations require of shapes, since a kernel that is given something else panics obscurely or
//! computes garbage. Checked here for all backends, with texts for users; Flex asserts once more what its
//! unsafe kernels rely on.

use burn::tensor::{Int, Tensor};

use super::{Conv2dOptions, LstmState, LstmWeights, PoolOptions};
use crate::Backend;

/// - `what`: the operation and the operand
/// - `given`: what the expected shape follows from
#[track_caller]
pub(super) fn shape<const D: usize>(
    what: &str,
    found: [usize; D],
    expected: [usize; D],
    given: &str,
) {
    assert!(found == expected, "{what} of {found:?} must be {expected:?} by {given}");
}

/// Of indices on the CPU: a GPU would have to be waited for.
///
/// - `what`: the operation and what is indexed: `the target`
/// - `of`: what it is an index of
#[track_caller]
pub(super) fn indices<B: Backend, const D: usize>(
    what: &str,
    indices: &Tensor<B, D, Int>,
    count: usize,
    of: &str,
) {
    if !B::IS_SYNCHRONOUS {
        return;
    }
    let indices = indices.to_data();
    if let Some(other) = indices.iter::<i64>().find(|index| !(0..count as i64).contains(index)) {
        panic!("{what} {other} is none of {count} {of}, which count from 0");
    }
}

#[track_caller]
pub(super) fn conv2d(
    input: [usize; 4],
    weight: [usize; 4],
    bias: Option<[usize; 1]>,
    options: &Conv2dOptions,
) {
    let Conv2dOptions { stride, padding } = *options;
    let [outputs, inputs, height, width] = weight;
    let [_, channels, rows, columns] = input;
    assert!(!stride.contains(&0), "conv2d: the stride {stride:?} must be at least 1");
    assert!(
        channels == inputs,
        "conv2d: the input {input:?} has {channels} channels, and the weight {weight:?} reads {inputs}"
    );
    if let Some(bias) = bias {
        shape("conv2d: the bias", bias, [outputs], "the outputs of the weight");
    }
    assert!(
        height > 0
            && width > 0
            && !options.output_size([rows, columns], [height, width]).contains(&0),
        "conv2d: the kernel of {height} x {width} does not fit into the input of {rows} x {columns} \
         with the padding {padding:?}"
    );
}

#[track_caller]
pub(super) fn max_pool2d([_, _, rows, columns]: [usize; 4], options: &PoolOptions) {
    let PoolOptions { kernel, stride, padding } = *options;
    assert!(
        [kernel, stride].iter().flatten().all(|&step| step > 0),
        "max_pool2d: the kernel {kernel:?} and the stride {stride:?} must be at least 1"
    );
    assert!(rows > 0 && columns > 0, "max_pool2d: the input of {rows} x {columns} holds no value");
    // With more, a window would hold nothing but padding.
    assert!(
        padding.iter().zip(kernel).all(|(&padding, kernel)| padding <= kernel / 2),
        "max_pool2d: the padding {padding:?} must be at most half of the kernel {kernel:?}"
    );
    assert!(
        !options.output_size([rows, columns]).contains(&0),
        "max_pool2d: the kernel {kernel:?} does not fit into the input of {rows} x {columns} with \
         the padding {padding:?}"
    );
}

#[track_caller]
pub(super) fn lstm<B: Backend>(
    [batch, _, inputs]: [usize; 3],
    state: Option<&LstmState<B>>,
    weights: &LstmWeights<B>,
) {
    let [_, hidden] = weights.hidden.dims();
    assert!(hidden > 0, "lstm: the hidden weight has no columns");
    let gates = 4 * hidden;
    let given = "the input and the columns of the hidden weight";
    shape("lstm: the hidden weight", weights.hidden.dims(), [gates, hidden], "its columns");
    shape("lstm: the input weight", weights.input.dims(), [gates, inputs], given);
    shape("lstm: the bias", weights.bias.dims(), [gates], "the columns of the hidden weight");
    if let Some(LstmState { cell, hidden: outputs }) = state {
        shape("lstm: the state's cells", cell.dims(), [batch, hidden], given);
        shape("lstm: the state's outputs", outputs.dims(), [batch, hidden], given);
    }
}

#[track_caller]
pub(super) fn product<const D: usize>(left: [usize; D], right: [usize; D]) {
    let fit = D >= 2 && left[D - 1] == right[D - 2] && left[..D - 2] == right[..D - 2];
    assert!(fit, "product: {left:?} cannot be multiplied by {right:?}");
}
