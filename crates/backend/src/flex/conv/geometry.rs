//! The sizes of one convolution.

use burn_flex::FlexTensor;

use crate::{flex::dimensions, functional::Conv2dOptions};

/// The sizes of one convolution.
#[derive(Clone, Copy, Debug)]
pub(super) struct Geometry {
    pub(super) batch: usize,
    pub(super) inputs: usize,
    pub(super) outputs: usize,
    /// Height and width of the input.
    pub(super) input: [usize; 2],
    /// Height and width of the output.
    pub(super) output: [usize; 2],
    pub(super) kernel: [usize; 2],
    pub(super) stride: [usize; 2],
    pub(super) padding: [usize; 2],
}

impl Geometry {
    /// Nothing where the shapes do not fit together; Burn's own operation then says why.
    pub(super) fn new(
        input: &FlexTensor,
        weight: &FlexTensor,
        options: &Conv2dOptions,
    ) -> Option<Self> {
        let [batch, channels, height, width] = dimensions(input);
        let [outputs, inputs, kernel_height, kernel_width] = dimensions(weight);
        let Conv2dOptions { stride, padding } = *options;
        let kernel = [kernel_height, kernel_width];
        let fits = channels == inputs
            && [kernel, stride].iter().all(|sizes| !sizes.contains(&0))
            && ![outputs, inputs, height, width].contains(&0);
        let output = if fits { options.output_size([height, width], kernel) } else { [0, 0] };
        let geometry = Self {
            batch,
            inputs,
            outputs,
            input: [height, width],
            output,
            kernel,
            stride,
            padding,
        };
        (!output.contains(&0) && geometry.counts_do_not_wrap()).then_some(geometry)
    }

    /// Whether what is counted in an image with its padding is far from the largest number, so that no
    /// offset wraps: a stride and a padding may be of any size where they leave few positions. Where addresses
    /// have 32 bits, large images are counted as too many.
    fn counts_do_not_wrap(&self) -> bool {
        let [height, width] = [0, 1].map(|axis| self.input[axis] + 2 * self.padding[axis]);
        let [stride_y, stride_x] = self.stride;
        let sizes = [self.inputs.max(self.outputs), height, width, stride_y, stride_x];
        let most = sizes.iter().try_fold(16, |count: usize, size| count.checked_mul(*size));
        most.is_some_and(|most| isize::try_from(most).is_ok())
    }

    /// Numbers in a map of the input.
    pub(super) fn input_plane(&self) -> usize {
        self.input[0] * self.input[1]
    }

    /// Numbers in a map of the output.
    pub(super) fn output_plane(&self) -> usize {
        self.output[0] * self.output[1]
    }

    /// Taps of a kernel.
    pub(super) fn taps(&self) -> usize {
        self.kernel[0] * self.kernel[1]
    }

    pub(super) fn output_shape(&self) -> [usize; 4] {
        let [height, width] = self.output;
        [self.batch, self.outputs, height, width]
    }

    pub(super) fn input_shape(&self) -> [usize; 4] {
        let [height, width] = self.input;
        [self.batch, self.inputs, height, width]
    }

    pub(super) fn weight_shape(&self) -> [usize; 4] {
        let [height, width] = self.kernel;
        [self.outputs, self.inputs, height, width]
    }
}
