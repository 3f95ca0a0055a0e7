//! The gradient of a weight on tensor cores, by those of Burn's kernels that read through the tensor memory
//! accelerator, which GPUs have from Hopper on.
//!
//! The others of cubek 0.2 look for the end of the kernel's places and channels where the outputs may end
//! and the reverse: where as many outputs as a cube computes at once fill it, but not the places, zeros
//! behind the last are written over the first. And those that copy asynchronously lose channels whose
//! number is no multiple of four.

use burn::tensor::Shape;
use burn_cubecl::{
    CubeRuntime,
    ops::{numeric::empty_device_dtype, permute_nchw_to_nhwc, permute_nhwc_to_nchw},
    tensor::CubeTensor,
};
use cubek::{
    convolution::{
        AcceleratedTileKind, ConvAlgorithm, ConvolutionArgs, ConvolutionInputs, Strategy,
        launch_ref,
    },
    std::InputBinding,
};

use crate::{cube::product::of_one_type, functional::Conv2dOptions};

/// The gradient of a weight of the shape `size`; an error where the device or the shape does not allow it.
pub(super) fn launch<R: CubeRuntime>(
    tile_kind: AcceleratedTileKind,
    input: CubeTensor<R>,
    gradient: CubeTensor<R>,
    [outputs, channels, rows, columns]: [usize; 4],
    options: &Conv2dOptions,
) -> Result<CubeTensor<R>, String> {
    let (client, dtype) = (input.client.clone(), input.dtype);
    let of_weight = empty_device_dtype(
        client.clone(),
        input.device.clone(),
        Shape::new([outputs, rows, columns, channels]),
        dtype,
    );
    let [input, out_grad] = [input, gradient]
        .map(|maps| InputBinding::new(permute_nchw_to_nhwc(maps).binding(), dtype.into()));
    let Conv2dOptions { stride, padding, dilation, .. } = *options;
    let strategy = Strategy::Inferred { algorithm: ConvAlgorithm::SimpleAsyncTma, tile_kind };
    let inputs = ConvolutionInputs::BackwardWeight {
        input,
        out_grad,
        weight_grad: of_weight.clone().binding(),
    };
    launch_ref(
        &strategy,
        &client,
        inputs,
        ConvolutionArgs { stride, padding, dilation },
        of_one_type(dtype),
    )
    .map_err(|error| format!("{error:?}"))?;
    Ok(permute_nhwc_to_nchw(of_weight))
}
