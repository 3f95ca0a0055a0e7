//! Index tensors, whose type depends on where they come from.

use burn::tensor::DType;
use burn_flex::FlexTensor;

/// The indices of a tensor in the order of its shape; `None` if their type is neither i32 nor i64.
///
/// All must be below `end`: that is checked where data enter, so a larger one is a bug.
pub(super) fn indices_below(end: usize, tensor: &FlexTensor) -> Option<Vec<usize>> {
    let checked = |index: i64| {
        let valid = usize::try_from(index).ok().filter(|index| *index < end);
        valid.unwrap_or_else(|| panic!("index {index} is not in 0..{end}"))
    };
    let tensor = tensor.to_contiguous();
    match tensor.dtype() {
        DType::I32 => {
            Some(tensor.storage::<i32>().iter().map(|index| checked((*index).into())).collect())
        }
        DType::I64 => Some(tensor.storage::<i64>().iter().map(|index| checked(*index)).collect()),
        _ => None,
    }
}
