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
    let kernel = move |inputs: Vec<CubeTensor<R>>| {
        let Ok(inputs) = inputs.try_into() else { unreachable!("as many as were registered") };
        kernel(inputs).into()
    };
    let outputs = register_many(name, inputs.into(), outputs.into(), kernel);
    let Ok(outputs) = outputs.try_into() else { unreachable!("as many as were described") };
    outputs
}

/// [`register`] for a number of tensors that is not known before.
pub(super) fn register_many<R, K>(
    name: &'static str,
    inputs: Vec<Lazy<R>>,
    outputs: Vec<Described>,
    kernel: K,
) -> Vec<Lazy<R>>
where
    R: CubeRuntime,
    K: Fn(Vec<CubeTensor<R>>) -> Vec<CubeTensor<R>> + Send + Sync + 'static,
{
    let client = inputs[0].client.clone();
    let streams = OperationStreams::with_inputs(&inputs);
    let inputs: Vec<_> = inputs.into_iter().map(FusionTensor::into_ir).collect();
    let described = outputs.into_iter().map(|Described { shape, dtype }| {
        TensorIr::uninit(client.create_empty_handle(), shape, dtype)
    });
    let outputs: Vec<_> = described.collect();
    let description = CustomOpIr::new(name, &inputs, &outputs);
    let operation = Registered { description: description.clone(), kernel };
    client.register(streams, OperationIr::Custom(description), operation).into_iter().collect()
}

struct Registered<K> {
    description: CustomOpIr,
    kernel: K,
}

impl<R, K> Operation<FusionCubeRuntime<R>> for Registered<K>
where
    R: CubeRuntime,
    K: Fn(Vec<CubeTensor<R>>) -> Vec<CubeTensor<R>> + Send + Sync,
{
    fn execute(&self, handles: &mut HandleContainer<CubeFusionHandle<R>>) {
        // A handle knows neither kind nor type of element, so one backend's methods serve for all.
        type Any<R> = CubeBackend<R, f32, i32, u8>;
        let CustomOpIr { inputs, outputs, .. } = &self.description;
        let inputs = inputs.iter().map(|input| handles.get_float_tensor::<Any<R>>(input));
        let found = (self.kernel)(inputs.collect());
        for (described, output) in outputs.iter().zip(found) {
            handles.register_float_tensor::<Any<R>>(&described.id, output);
        }
    }
}

impl<K> fmt::Debug for Registered<K> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.description.id)
    }
}
