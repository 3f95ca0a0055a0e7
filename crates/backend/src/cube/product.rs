//! Products of matrices, written without gaps between rows, so that what reads them copies nothing.
//!
//! They are Burn's, except where some of its kernels would read beyond the matrices, or would add up a
//! part of the numbers.
//!
//! Some of cubek 0.2 multiply two stages of columns by turns, and so an even number of stages. Where the
//! columns fill an odd number, those kernels also multiply what follows them in memory: they look for the
//! end of the matrices only where a stage is not full. Its others multiply one stage after another.
//!
//! Its kernels for vectors divide the numbers among as many units as the device's largest plane has, and
//! add up those of a plane. On devices whose driver chooses the size of planes, as Intel's, a plane may
//! have fewer.
//!
//! Small ones are by one kernel: to choose one, all of Burn's would be compiled and tried before the first
//! product, of which none takes much longer than its start.

use burn::tensor::{DType, Shape};
use burn_cubecl::{
    CubeRuntime, CubeTuneId,
    cubecl::tune::{LocalTuner, Tunable, TunableSet, local_tuner},
    kernel::matmul::{MatmulStrategy, matmul},
    tensor::CubeTensor,
};
use cubek::{
    matmul::{
        components::tile::TileMatmulKind::{Cmma, Mma},
        definition::{MatmulElems, MatmulGlobalElems},
        launch::{Strategy, launch_ref},
        routines::{BlueprintStrategy::Inferred, simple::SimpleArgs},
    },
    std::InputBinding,
};

use super::buffers::empty;

/// Multiplications of a product that is not worth a choice of kernels: 64 rows by 64 columns of 64.
const SMALL: usize = 1 << 18;

/// `[.., rows, inner]` by `[.., inner, columns]`.
pub(super) fn product<R: CubeRuntime>(left: CubeTensor<R>, right: CubeTensor<R>) -> CubeTensor<R> {
    let shape = shape(&left, &right);
    let last = shape.num_dims() - 1;
    let inner = left.meta.shape()[last];
    if (1..=SMALL).contains(&(shape.num_elements() * inner)) {
        return by_units([left, right]);
    }
    let by_vector = shape[last - 1] == 1 || shape[last] == 1;
    let is_right = match by_vector {
        true => planes_are_equal::<R>(&left),
        false => !fills_an_odd_number(inner),
    };
    if is_right {
        let (product, dtype) = (empty(&left, shape), left.dtype);
        return matmul(left, right, Some(product), MatmulStrategy::Autotune, dtype)
            .expect("autotune has a kernel for matrices of any shape");
    }
    if by_vector { by_units([left, right]) } else { tuned([left, right]) }
}

/// Whether all planes of the device have one size.
fn planes_are_equal<R: CubeRuntime>(tensor: &CubeTensor<R>) -> bool {
    let hardware = &tensor.client.properties().hardware;
    hardware.plane_size_min == hardware.plane_size_max
}

/// By a kernel that knows no planes, on every device.
fn by_units<R: CubeRuntime>(inputs: [CubeTensor<R>; 2]) -> CubeTensor<R> {
    let strategy = Strategy::SimpleUnit(Default::default());
    launch(&strategy, inputs).expect("units multiply matrices of any shape")
}

/// Whether columns fill an odd number of stages, which have 8, 16 or 32 columns, as kernels go.
pub(super) fn fills_an_odd_number(columns: usize) -> bool {
    (3..=5).contains(&columns.trailing_zeros())
}

fn tuned<R: CubeRuntime>(inputs: [CubeTensor<R>; 2]) -> CubeTensor<R> {
    static TUNER: LocalTuner<String, CubeTuneId> = local_tuner!();
    let candidates = TUNER.init(|| {
        let key = |[left, right]: &[CubeTensor<R>; 2]| {
            let [left_lies, right_lies] =
                [left, right].map(|matrix| matrix.meta.strides().to_vec());
            let (rows, columns) = (left.meta.shape(), right.meta.shape());
            format!("{:?} {rows:?} {left_lies:?} {columns:?} {right_lies:?}", left.dtype)
        };
        let mut strategies = vec![Strategy::SimpleUnit(Default::default())];
        for multi_rows in [false, true] {
            let by = |tile_matmul| SimpleArgs { multi_rows, tile_matmul };
            strategies.extend([
                Strategy::SimpleCyclicCmma(Inferred(by(Cmma))),
                Strategy::SimpleCyclicMma(Inferred(by(Mma))),
                Strategy::SimpleTmaCmma(Inferred(by(Cmma))),
                Strategy::SimpleTmaMma(Inferred(by(Mma))),
            ]);
        }
        let set = TunableSet::new(key, |_: &String, inputs: &[CubeTensor<R>; 2]| inputs.clone());
        strategies.into_iter().fold(set, |set, strategy| {
            let name = strategy.to_string();
            let launch = move |inputs: [CubeTensor<R>; 2]| launch(&strategy, inputs);
            set.with(Tunable::new(&name, launch))
        })
    });
    let [left, _] = &inputs;
    let (id, client) = (CubeTuneId::new(&left.client, &left.device), left.client.clone());
    TUNER.execute(&id, &client, candidates, inputs)
}

fn launch<R: CubeRuntime>(
    strategy: &Strategy,
    [left, right]: [CubeTensor<R>; 2],
) -> Result<CubeTensor<R>, String> {
    let (client, dtype) = (left.client.clone(), left.dtype);
    let product = empty(&left, shape(&left, &right));
    let [left, right] =
        [left, right].map(|matrix| InputBinding::new(matrix.binding(), dtype.into()));
    let mut types = of_one_type(dtype);
    launch_ref(strategy, &client, left, right, product.clone().binding(), &mut types)
        .map_err(|error| format!("{error:?}"))?;
    Ok(product)
}

/// The shape of a product.
fn shape<R: CubeRuntime>(left: &CubeTensor<R>, right: &CubeTensor<R>) -> Shape {
    let (mut shape, of_right) = (left.meta.shape().clone(), right.meta.shape());
    let last = shape.num_dims() - 1;
    for axis in 0..last - 1 {
        shape[axis] = shape[axis].max(of_right[axis]);
    }
    shape[last] = of_right[last];
    shape
}

/// Operands and result of one type, with what products of them are summed in.
pub(super) fn of_one_type(dtype: DType) -> MatmulElems {
    let element = dtype.into();
    MatmulElems::from_globals(&MatmulGlobalElems { lhs: element, rhs: element, out: element })
}
