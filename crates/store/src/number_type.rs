//! Numbers of fewer bits than f32, in which a trained network is stored for other devices.

use std::fmt;

use crate::{StoreError, StoredTensor};

/// The largest i8 of either sign.
const LARGEST: f32 = 127.0;

/// The type of a file's numbers.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum NumberType {
    /// As they are computed with.
    #[default]
    F32,
    /// Half the size; rounded to 11 significant bits.
    F16,
    /// A quarter of the size: multiples of a scale from -127 to 127, with a scale for each index of the
    /// first dimension, which for weights is the output. Vectors remain f32.
    I8,
}

/// A tensor as it is stored.
#[derive(Debug)]
pub struct Narrow {
    /// The type of its numbers.
    pub numbers: NumberType,
    /// The size of each dimension.
    pub shape: Vec<usize>,
    /// The numbers in row-major order, little-endian.
    pub bytes: Vec<u8>,
    /// What numbers of i8 are to be multiplied by: as many dimensions, all but one of size 1.
    pub scale: Option<StoredTensor>,
}

impl StoredTensor {
    /// The tensor, which errors call `name`, with numbers of another type.
    ///
    /// # Errors
    ///
    /// Where one of its numbers is beyond the range of f16, or is not finite for i8.
    pub fn narrowed(&self, name: &str, numbers: NumberType) -> Result<Narrow, StoreError> {
        let (shape, values) = (self.shape(), self.values());
        let beyond = || StoreError::Range { tensor: name.to_owned(), numbers };
        if numbers == NumberType::I8 && values.iter().any(|value| !value.is_finite()) {
            return Err(beyond());
        }
        let whole = |numbers, bytes| Narrow { numbers, shape: shape.to_vec(), bytes, scale: None };
        Ok(match (numbers, scaled_dimension(shape)) {
            (NumberType::F16, _) => {
                let mut bytes = Vec::with_capacity(values.len() * size_of::<half::f16>());
                for &value in values {
                    let half = half::f16::from_f32(value);
                    if half.is_infinite() && value.is_finite() {
                        return Err(beyond());
                    }
                    bytes.extend(half.to_le_bytes());
                }
                whole(numbers, bytes)
            }
            (NumberType::I8, Some(dimension)) => {
                let row = shape[dimension + 1..].iter().product();
                let scales: Vec<f32> = values.chunks_exact(row).map(scale).collect();
                let multiples = values.chunks_exact(row).zip(&scales).flat_map(|(row, scale)| {
                    row.iter().map(move |value| (value / scale).round() as i8 as u8)
                });
                let bytes = multiples.collect();
                let mut sizes = vec![1; shape.len()];
                sizes[dimension] = scales.len();
                let scale = StoredTensor::new(sizes, scales).expect("each row has a scale");
                Narrow { scale: Some(scale), ..whole(numbers, bytes) }
            }
            (NumberType::F32, _) | (NumberType::I8, None) => {
                let bytes = values.iter().flat_map(|value| value.to_le_bytes()).collect();
                whole(NumberType::F32, bytes)
            }
        })
    }
}

/// The numbers of a tensor of i8, if its scales fit it.
pub(crate) fn scaled(shape: &[usize], bytes: &[u8], scales: &[f32]) -> Option<Vec<f32>> {
    let dimension = scaled_dimension(shape)?;
    let row: usize = shape[dimension + 1..].iter().product();
    let rows = bytes.chunks_exact(row);
    (scales.len() == rows.len()).then(|| {
        rows.zip(scales)
            .flat_map(|(row, scale)| row.iter().map(move |&byte| f32::from(byte as i8) * scale))
            .collect()
    })
}

/// The first dimension longer than 1, unless it is the only one or there are no numbers.
fn scaled_dimension(shape: &[usize]) -> Option<usize> {
    // Otherwise a file may name sizes whose product is 0 while that of the last ones overflows.
    let first = shape.iter().position(|&size| size > 1).filter(|_| !shape.contains(&0))?;
    (shape[first + 1..].iter().product::<usize>() > 1).then_some(first)
}

/// The largest magnitude divided by 127, or 1 where all numbers are 0.
fn scale(values: &[f32]) -> f32 {
    let largest = values.iter().fold(0.0f32, |largest, value| largest.max(value.abs()));
    if largest > 0.0 { largest / LARGEST } else { 1.0 }
}

impl fmt::Display for NumberType {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::F32 => "f32",
            Self::F16 => "f16",
            Self::I8 => "i8",
        })
    }
}
