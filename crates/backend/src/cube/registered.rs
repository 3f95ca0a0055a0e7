//! Kernels as operations of Burn's fusion, which keeps them in order with those that it fuses.

use std::fmt;

use burn::tensor::{DType, Shape, TensorMetadata};
use burn_cubecl::{CubeBackend, CubeRuntime, fusion::FusionCubeRuntime, tensor::CubeTensor};
use burn_cubecl_fusion::CubeFusionHandle;
use burn_fusion::{
    FusionTensor,
    stream::{Operation, OperationStreams},
};
use burn_ir::{CustomOpIr, HandleContainer, OperationIr, TensorIr};

/// A tensor that may not have been computed yet.
pub(super) type Lazy<R> = FusionTensor<FusionCubeRuntime<R>>;

/// What a kernel will return.
pub(super) struct Described {
    shape: Shape,
    dtype: DType,
}

impl Described {
    pub(super) fn new(shape: impl Into<Shape>, dtype: DType) -> Self {
        Self { shape: shape.into(), dtype }
    }

    pub(super) fn like<R: CubeRuntime>(tensor: &Lazy<R>) -> Self {
        Self::new(tensor.shape(), tensor.dtype())
    }
}

/// Calls `kernel` with `inputs`, of which there is at least one, in its turn.
pub(super) fn register<R, K, const INPUTS: usize, const OUTPUTS: usize>(
    name: &'static str,
    inputs: [Lazy<R>; INPUTS],
    outputs: [Described; OUTPUTS],
    kernel: K,
) -> [Lazy<R>; OUTPUTS]
where
    R: CubeRuntime,
    K: Fn([CubeTensor<R>; INPUTS]) -> [CubeTensor<R>; OUTPUTS] + Send + Sync + 'static,
{
    let client = inputs[0].client.clone();
    let streams = OperationStreams::with_inputs(&inputs);
    let inputs = inputs.map(FusionTensor::into_ir);
    let outputs = outputs.map(|Described { shape, dtype }| {
        TensorIr::uninit(client.create_empty_handle(), shape, dtype)
    });
    let description = CustomOpIr::new(name, &inputs, &outputs);
    let operation = Registered::<K, INPUTS, OUTPUTS> { description: description.clone(), kernel };
    let outputs = client.register(streams, OperationIr::Custom(description), operation);
    let Ok(outputs) = outputs.try_into() else { unreachable!("as many as were described") };
    outputs
}

struct Registered<K, const INPUTS: usize, const OUTPUTS: usize> {
    description: CustomOpIr,
    kernel: K,
}

impl<R, K, const INPUTS: usize, const OUTPUTS: usize> Operation<FusionCubeRuntime<R>>
    for Registered<K, INPUTS, OUTPUTS>
where
    R: CubeRuntime,
    K: Fn([CubeTensor<R>; INPUTS]) -> [CubeTensor<R>; OUTPUTS] + Send + Sync,
{
    fn execute(&self, handles: &mut HandleContainer<CubeFusionHandle<R>>) {
        // A handle knows neither kind nor type of element, so one backend's methods serve for all.
        type Any<R> = CubeBackend<R, f32, i32, u8>;
        let (inputs, outputs) = self.description.as_fixed::<INPUTS, OUTPUTS>();
        let inputs = inputs.each_ref().map(|input| handles.get_float_tensor::<Any<R>>(input));
        for (described, output) in outputs.iter().zip((self.kernel)(inputs)) {
            handles.register_float_tensor::<Any<R>>(&described.id, output);
        }
    }
}

impl<K, const INPUTS: usize, const OUTPUTS: usize> fmt::Debug for Registered<K, INPUTS, OUTPUTS> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.description.id)
    }
}
