//! The array of an NPY file.

use std::path::{Path, PathBuf};

use super::{
    error::NpyError,
    header::{self, Dtype, Header},
};
use crate::{DataError, files::BinaryFile, table::matrix};

/// An array of at least one row, each of at least one value.
#[derive(Debug)]
pub(super) struct Array {
    pub(super) path: PathBuf,
    /// As in the file: rows, then any dimensions.
    pub(super) shape: Vec<u64>,
    pub(super) rows: usize,
    /// Values of each row, trailing dimensions being flattened.
    pub(super) width: usize,
    pub(super) values: Values,
}

/// The values of an array, row by row.
#[derive(Debug)]
pub(super) enum Values {
    U8(Vec<u8>),
    I32(Vec<i32>),
    I64(Vec<i64>),
    F32(Vec<f32>),
    F64(Vec<f64>),
}

impl Array {
    pub(super) fn read(path: &Path) -> Result<Self, DataError> {
        let mut file = BinaryFile::open(path)?;
        let Header { dtype, shape } = header::read(&mut file, path)?;
        let length = shape.iter().fold(dtype.bytes(), |bytes, size| bytes.saturating_mul(*size));
        let bytes = file.take(length)?;
        file.end()?;

        let values = Values::decode(dtype, bytes);
        let rows = shape.first().map_or(0, |&rows| rows as usize);
        if values.len() == 0 || rows == 0 {
            return Err(NpyError::Empty { path: path.to_owned(), shape }.into());
        }
        let width = values.len() / rows;
        Ok(Self { path: path.to_owned(), shape, rows, width, values })
    }

    /// The values as features.
    pub(super) fn to_floats(&self) -> Result<Vec<f32>, DataError> {
        let mut floats = matrix(self.rows, self.width)?;
        for index in 0..self.values.len() {
            let value = self.values.number(index);
            if !(value as f32).is_finite() {
                let (row, column) = (index / self.width, index % self.width);
                let path = self.path.clone();
                return Err(NpyError::Value { path, row, column, value }.into());
            }
            floats.push(value as f32);
        }
        Ok(floats)
    }
}

impl Values {
    fn decode(dtype: Dtype, bytes: Vec<u8>) -> Self {
        match dtype {
            Dtype::U8 => Self::U8(bytes),
            Dtype::I32 => Self::I32(decode(&bytes, i32::from_le_bytes)),
            Dtype::I64 => Self::I64(decode(&bytes, i64::from_le_bytes)),
            Dtype::F32 => Self::F32(decode(&bytes, f32::from_le_bytes)),
            Dtype::F64 => Self::F64(decode(&bytes, f64::from_le_bytes)),
        }
    }

    fn len(&self) -> usize {
        match self {
            Self::U8(values) => values.len(),
            Self::I32(values) => values.len(),
            Self::I64(values) => values.len(),
            Self::F32(values) => values.len(),
            Self::F64(values) => values.len(),
        }
    }

    fn number(&self, index: usize) -> f64 {
        match self {
            Self::U8(values) => values[index].into(),
            Self::I32(values) => values[index].into(),
            Self::I64(values) => values[index] as f64,
            Self::F32(values) => values[index].into(),
            Self::F64(values) => values[index],
        }
    }

    /// The values if they are integers.
    pub(super) fn integers(&self) -> Option<Vec<i64>> {
        match self {
            Self::U8(values) => Some(values.iter().copied().map(i64::from).collect()),
            Self::I32(values) => Some(values.iter().copied().map(i64::from).collect()),
            Self::I64(values) => Some(values.clone()),
            Self::F32(_) | Self::F64(_) => None,
        }
    }
}

fn decode<const SIZE: usize, T>(bytes: &[u8], value: fn([u8; SIZE]) -> T) -> Vec<T> {
    let (values, _) = bytes.as_chunks();
    values.iter().map(|&bytes| value(bytes)).collect()
}
