//! Which operands the kernels take; the others are left to Burn's operations.

use burn::tensor::{DType, Shape, TensorMetadata};

use crate::overrides::note_taken;

/// Whether kernels take the values; else Burn's operations take them.
pub(super) fn takes(values: &impl TensorMetadata) -> bool {
    values.dtype() == DType::F32 && can_be_counted(values.shape().num_elements())
}

/// The same of the kernels that also read and write floats of 16 bits.
pub(super) fn takes_any_float(values: &impl TensorMetadata) -> bool {
    matches!(values.dtype(), DType::F32 | DType::BF16 | DType::F16)
        && can_be_counted(values.shape().num_elements())
}

/// Whether kernels take all of these values, and notes that they do.
pub(super) fn taken<'a, T: TensorMetadata + 'a>(values: impl IntoIterator<Item = &'a T>) -> bool {
    noted(values.into_iter().all(takes))
}

/// Notes whether kernels take an operation.
pub(super) fn noted(is_taken: bool) -> bool {
    if is_taken {
        note_taken();
    }
    is_taken
}

/// Whether kernels pool maps of the shape `maps`, made of these values, by windows of 2x2 side by
/// side, and notes that they do.
pub(super) fn pooled<'a, T: TensorMetadata + 'a>(
    maps: &Shape,
    values: impl IntoIterator<Item = &'a T>,
) -> bool {
    let [_, _, height, width] = maps.dims();
    noted(
        height > 1
            && width > 1
            && can_be_counted(maps.num_elements())
            && values.into_iter().all(takes_any_float),
    )
}

/// Whether there are elements, and so few that kernels can count beyond them in 32 bits.
pub(super) fn can_be_counted(elements: usize) -> bool {
    (1..=i32::MAX as usize).contains(&elements)
}
