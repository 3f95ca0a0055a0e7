//! Index tensors, whose type depends on where they come from.

use burn::tensor::DType;
use burn_flex::FlexTensor;

/// The indices of a tensor in the order of its shape.
pub(super) enum Indices {
    I32(FlexTensor),
    I64(FlexTensor),
}

impl Indices {
    /// Nothing if they are of another type than i32 or i64.
    pub(super) fn of(tensor: FlexTensor) -> Option<Self> {
        match tensor.dtype() {
            DType::I32 => Some(Self::I32(tensor.to_contiguous())),
            DType::I64 => Some(Self::I64(tensor.to_contiguous())),
            _ => None,
        }
    }

    /// The index at a place, which must be below `end`: it is checked where data enter, so a larger
    /// one is a mistake in the program.
    #[inline]
    pub(super) fn at(&self, place: usize, end: usize) -> usize {
        let index = match self {
            Self::I32(tensor) => i64::from(tensor.storage::<i32>()[place]),
            Self::I64(tensor) => tensor.storage::<i64>()[place],
        };
        let valid = usize::try_from(index).ok().filter(|index| *index < end);
        valid.unwrap_or_else(|| panic!("index {index} is not in 0..{end}"))
    }
}
