//! Products of matrices, written without gaps between rows, so that what reads them copies nothing.
//!
//! On tensor cores autotune chooses among a few of cubek's kernels, not among all of them as Burn's does:
//! each takes half a second to compile, and of the other twenty none is faster by more than some percent
//! (46 shapes of the recipes on an H200). They round f32 to TF32, so where sums are to be exact
//! ([`Arithmetic::Exact`]) products are by units. Elsewhere they are Burn's, except where some of its
//! kernels would read beyond the matrices, or would add up a part of the numbers.
//!
//! Some kernels of cubek 0.2 are double-buffered and so process an even number of stages. Where the inner
//! dimension fills an odd number, they also multiply what follows the matrices in memory, since they check
//! bounds only in a stage that is not full.
//!
//! Its kernels for vectors divide the numbers among as many units as the device's largest plane has, and
//! add up those of a plane. On devices whose driver chooses the size of planes, as Intel's, a plane may
//! have fewer.
//!
//! Small ones are by one kernel: to choose one, all would be compiled and tried before the first
//! product, of which none takes much longer than its start.

use std::fmt;

use burn::tensor::{DType, Shape};
use burn_cubecl::{
    CubeRuntime, CubeTuneId,
    cubecl::{
        ir::{ElemType, FloatKind, StorageType},
        tune::{AutotuneKey, LocalTuner, Tunable, TunableSet, TuneGroup, anchor},
        zspace::metadata::Metadata,
    },
    kernel::matmul::{MatmulStrategy, matmul},
    ops::reshape,
    tensor::CubeTensor,
};
use cubek::{
    matmul::{
        components::tile::TileMatmulKind::{Cmma, Mma},
        definition::{MatmulElems, MatmulGlobalElems},
        launch::{Strategy, launch_ref},
        routines::{
            BlueprintStrategy::Inferred, ordered_double_buffering::OrderedSelectionArgs,
            simple::SimpleArgs,
        },
    },
    std::InputBinding,
};
use serde::{Deserialize, Serialize};

use super::{buffers::empty, column_sums::column_sums};
use crate::{Arithmetic, arithmetic};

/// Multiplications of a product that is not worth a choice of kernels: 64 rows by 64 columns of 64.
const SMALL: usize = 1 << 18;

/// `[.., rows, inner]` by `[.., inner, columns]`, pair by pair.
pub(super) fn product<R: CubeRuntime>(left: CubeTensor<R>, right: CubeTensor<R>) -> CubeTensor<R> {
    let shape = shape(&left, &right);
    let last = shape.num_dims() - 1;
    let inner = left.meta.shape()[last];
    let multiplications = shape.num_elements() * inner;
    let on_tensor_cores = multiplications > 0 && has_tensor_cores(&left);
    // Of vectors, too, Burn's autotune would try kernels that round.
    let would_round = on_tensor_cores && is_exact(&left);
    if (1..=SMALL).contains(&multiplications) || would_round {
        return by_units([left, right]);
    }
    let by_vector = shape[last - 1] == 1 || shape[last] == 1;
    if !by_vector && on_tensor_cores {
        return match parts(&shape, inner, left.dtype) {
            1 => by_tensor_cores([left, right]),
            parts => in_parts(left, right, parts),
        };
    }
    if !burn_is_right(&left, [shape[last - 1], inner, shape[last]]) {
        return by_units([left, right]);
    }
    let (product, dtype) = (empty(&left, shape), left.dtype);
    matmul(left, right, Some(product), MatmulStrategy::Autotune, dtype)
        .expect("autotune has a kernel for matrices of any shape")
}

/// Whether the device has tensor cores for numbers of this type.
pub(super) fn has_tensor_cores<R: CubeRuntime>(tensor: &CubeTensor<R>) -> bool {
    let element = match tensor.dtype {
        DType::F32 => StorageType::Scalar(ElemType::Float(FloatKind::TF32)),
        dtype => dtype.into(),
    };
    let features = &tensor.client.properties().features.matmul;
    features.cmma.iter().chain(&features.mma).any(|config| config.a_type == element)
}

/// Whether no operand may be rounded.
pub(super) fn is_exact<R: CubeRuntime>(values: &CubeTensor<R>) -> bool {
    arithmetic() == Arithmetic::Exact && values.dtype == DType::F32
}

/// Whether Burn's kernels are right for products of so many rows by so many columns: they neither read beyond
/// the matrices nor, where one is a vector, add up a part of the numbers.
///
/// - `tensor`: on the device
pub(super) fn burn_is_right<R: CubeRuntime>(
    tensor: &CubeTensor<R>,
    [rows, inner, columns]: [usize; 3],
) -> bool {
    let hardware = &tensor.client.properties().hardware;
    match rows == 1 || columns == 1 {
        true => hardware.plane_size_min == hardware.plane_size_max,
        false => !fills_an_odd_number(inner),
    }
}

/// By a kernel that knows no planes, on every device.
fn by_units<R: CubeRuntime>(inputs: [CubeTensor<R>; 2]) -> CubeTensor<R> {
    let strategy = Strategy::SimpleUnit(Default::default());
    launch(&strategy, inputs).expect("units multiply matrices of any shape")
}

/// Whether columns fill an odd number of stages, which have 8, 16 or 32 columns, as kernels go.
fn fills_an_odd_number(columns: usize) -> bool {
    (3..=5).contains(&columns.trailing_zeros())
}

/// Into how many parts the inner columns are divided: a product of few results and many of them, such as
/// the gradient of a layer's weight, would leave most of a GPU idle.
fn parts(shape: &Shape, inner: usize, dtype: DType) -> usize {
    const FEW: usize = 1 << 17;
    const MANY: usize = 1000;
    let is_divided = dtype == DType::F32
        && shape.num_dims() == 2
        && shape.num_elements() <= FEW
        && inner >= MANY;
    // The kernels take eight columns at a time.
    let is_one = |&parts: &usize| inner.is_multiple_of(8 * parts) && inner / parts >= 128;
    (2..=32).rev().filter(|_| is_divided).find(is_one).unwrap_or(1)
}

/// The products of so many parts of the inner columns, added up.
fn in_parts<R: CubeRuntime>(
    left: CubeTensor<R>,
    right: CubeTensor<R>,
    parts: usize,
) -> CubeTensor<R> {
    let (shape, dtype) = (shape(&left, &right), left.dtype);
    let products = by_tensor_cores([divided(left, 1, parts), divided(right, 0, parts)]);
    let products = reshape(products, Shape::new([parts, shape.num_elements()]));
    reshape(column_sums(products, dtype), shape)
}

/// A view of a matrix as several, `[parts, rows, columns]`, each a part of its rows (0) or columns (1).
fn divided<R: CubeRuntime>(matrix: CubeTensor<R>, axis: usize, parts: usize) -> CubeTensor<R> {
    let (mut shape, mut strides) = (matrix.meta.shape().to_vec(), matrix.meta.strides().to_vec());
    shape[axis] /= parts;
    let step = shape[axis] * strides[axis];
    shape.insert(0, parts);
    strides.insert(0, step);
    let CubeTensor { client, handle, device, dtype, .. } = matrix;
    CubeTensor::new(client, handle, Metadata::new(shape, strides), device, dtype)
}

/// What the choice of a kernel depends on; sizes up to the next power of two.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
struct Key {
    dtype: DType,
    matrices: usize,
    rows: usize,
    inner: usize,
    columns: usize,
    /// Of each operand, whether its rows lie one after another, and the power of two that divides the
    /// distance between them, or between its columns.
    lie: [(bool, u32); 2],
    /// Whether double-buffered kernels are right.
    double_buffered: bool,
}

impl AutotuneKey for Key {}

impl fmt::Display for Key {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{self:?}")
    }
}

impl Key {
    fn of<R: CubeRuntime>([left, right]: &[CubeTensor<R>; 2]) -> Self {
        let about = |count: usize| anchor(count, None, None, None);
        let shape = shape(left, right);
        let last = shape.num_dims() - 1;
        let inner = left.meta.shape()[last];
        let lie = [left, right].map(|matrix| {
            let [row, column] = [1, 0].map(|side| matrix.meta.strides()[last - side]);
            (column == 1, row.max(column).trailing_zeros().min(4))
        });
        Self {
            dtype: left.dtype,
            matrices: about(shape.iter().take(last - 1).product()),
            rows: about(shape[last - 1]),
            inner: about(inner),
            columns: about(shape[last]),
            lie,
            double_buffered: !fills_an_odd_number(inner),
        }
    }

    /// Whether the tensor memory accelerator may pay.
    fn is_accelerated(&self) -> bool {
        const LARGE: usize = 512;
        self.double_buffered && self.rows.min(self.inner).min(self.columns) >= LARGE
    }
}

/// Whether a kernel is worth a try.
type IsTried = fn(&Key) -> bool;

/// The kernels for tensor cores.
fn strategies() -> [(Strategy, IsTried); 7] {
    let simple = |tile_matmul, multi_rows| Inferred(SimpleArgs { multi_rows, tile_matmul });
    let ordered = OrderedSelectionArgs {
        partition_k: Some(2),
        row_count: Some(8),
        rows_per_plane: Some(2),
        tile_matmul: Mma,
    };
    [
        (Strategy::SimpleCyclicMma(simple(Mma, false)), |_| true),
        (Strategy::SimpleCyclicMma(simple(Mma, true)), |_| true),
        (Strategy::SimpleCyclicCmma(simple(Cmma, false)), |key| !key.double_buffered),
        (Strategy::SimpleCyclicCmma(simple(Cmma, true)), |key| !key.double_buffered),
        (Strategy::SpecializedCyclicMma(Inferred(().into())), |key| key.double_buffered),
        (Strategy::OrderedDoubleMma(Inferred(ordered)), |key| key.double_buffered),
        (Strategy::SpecializedTmaMma(Inferred(().into())), Key::is_accelerated),
    ]
}

/// The product by each kernel for tensor cores that would be tried, with its name, or why it does not run:
/// for tests.
pub fn by_each<R: CubeRuntime>(
    left: CubeTensor<R>,
    right: CubeTensor<R>,
) -> Vec<(String, Result<CubeTensor<R>, String>)> {
    if !has_tensor_cores(&left) {
        return Vec::new();
    }
    let inputs = [left, right];
    let key = Key::of(&inputs);
    let tried = strategies().into_iter().filter(|(_, is_tried)| is_tried(&key));
    let by = |(strategy, _)| (Strategy::to_string(&strategy), launch(&strategy, inputs.clone()));
    tried.map(by).collect()
}

/// A tuner by its name in a module. Each state of this project's kernels has a file of choices: in one file
/// CubeCL would take old choices for new ones, find them to be old, and neither use nor replace them.
macro_rules! tuner {
    ($name:literal) => {
        LocalTuner::new(concat!(module_path!(), "-", $name, "-", env!("KERNELS_DIGEST")))
    };
}
pub(super) use tuner;

fn by_tensor_cores<R: CubeRuntime>(inputs: [CubeTensor<R>; 2]) -> CubeTensor<R> {
    static TUNER: LocalTuner<Key, CubeTuneId> = tuner!("product");
    let candidates = TUNER.init(|| {
        let on_tensor_cores = TuneGroup::new("tensor cores", |_: &Key| 1);
        // Only where none of the others runs.
        let otherwise = TuneGroup::new("units", |_: &Key| 0);
        let inputs = |_: &Key, inputs: &[CubeTensor<R>; 2]| inputs.clone();
        let mut set = TunableSet::new(Key::of::<R>, inputs);
        for (strategy, is_tried) in strategies() {
            let name = strategy.to_string();
            let by = move |inputs: [CubeTensor<R>; 2]| launch(&strategy, inputs);
            set = set.with(Tunable::new(&name, by).group(&on_tensor_cores, only(is_tried)));
        }
        let units = |inputs: [CubeTensor<R>; 2]| Ok::<_, String>(by_units(inputs));
        set.with(Tunable::new("units", units).group(&otherwise, |_| 1))
    });
    let [left, _] = &inputs;
    let (id, client) = (CubeTuneId::new(&left.client, &left.device), left.client.clone());
    TUNER.execute(&id, &client, candidates, inputs)
}

/// The priority, in a group for autotune, of what is tried only where it is worth that.
pub(super) fn only<K>(is_tried: fn(&K) -> bool) -> impl Fn(&K) -> i8 {
    move |key| if is_tried(key) { 1 } else { -1 }
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
    let mut shape = left.meta.shape().clone();
    let last = shape.num_dims() - 1;
    shape[last] = right.meta.shape()[last];
    shape
}

/// Operands and result of one type, with what products of them are summed in.
pub(super) fn of_one_type(dtype: DType) -> MatmulElems {
    let element = dtype.into();
    MatmulElems::from_globals(&MatmulGlobalElems { lhs: element, rhs: element, out: element })
}
