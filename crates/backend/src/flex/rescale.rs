//! Multiplication in place.

use burn_flex::FlexTensor;

use super::{all_f32, contiguous, elements};
use crate::{overrides::note_taken, rescale};

pub(super) fn by(values: FlexTensor, factor: FlexTensor) -> FlexTensor {
    if !all_f32([&values, &factor]) {
        return rescale::composed::<burn::backend::Flex>(vec![values], factor).remove(0);
    }
    note_taken();
    let factor = elements(&factor)[0];
    let mut values = contiguous(values);
    for value in values.storage_mut::<f32>() {
        *value *= factor;
    }
    values
}
