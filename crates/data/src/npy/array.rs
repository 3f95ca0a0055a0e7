//! The array of an NPY file.

use std::path::{Path, PathBuf};

use super::{
    error::NpyError,
    header::{self, Dtype, Header},
};
use crate::{DataError, files::BinaryFile};

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

    /// Checks that all values are finite, as 32-bit floats too.
    pub(super) fn check_finite(&self) -> Result<(), DataError> {
        let mut numbers = vec![0.0; self.width];
        for row in 0..self.rows {
            self.read_row(row, &mut numbers);
            if let Some(column) = numbers.iter().position(|&number| !(number as f32).is_finite()) {
                let (path, value) = (self.path.clone(), numbers[column]);
                return Err(NpyError::Value { path, row, column, value }.into());
            }
        }
        Ok(())
    }

    /// Writes the values of a row, [`width`](Self::width) of them.
    pub(super) fn read_row(&self, row: usize, numbers: &mut [f64]) {
        let range = row * self.width..(row + 1) * self.width;
        match &self.values {
            Values::U8(values) => convert(&values[range], numbers, f64::from),
            Values::I32(values) => convert(&values[range], numbers, f64::from),
            Values::I64(values) => convert(&values[range], numbers, |value| value as f64),
            Values::F32(values) => convert(&values[range], numbers, f64::from),
            Values::F64(values) => convert(&values[range], numbers, |value| value),
        }
    }

    /// Mean and deviation of each column in these rows, read in the order in which they lie.
    pub(super) fn moments(&self, rows: &[usize]) -> Vec<(f64, f64)> {
        let mut numbers = vec![0.0; self.width];
        let mut first = vec![0.0; self.width];
        if let Some(&row) = rows.first() {
            self.read_row(row, &mut first);
        }
        let (mut means, mut equal) = (vec![0.0; self.width], vec![true; self.width]);
        for &row in rows {
            self.read_row(row, &mut numbers);
            for (column, number) in numbers.iter().enumerate() {
                means[column] += number;
                equal[column] &= *number == first[column];
            }
        }
        let count = rows.len().max(1) as f64;
        means.iter_mut().for_each(|mean| *mean /= count);

        let mut variances = vec![0.0; self.width];
        for &row in rows {
            self.read_row(row, &mut numbers);
            for (column, number) in numbers.iter().enumerate() {
                variances[column] += (number - means[column]).powi(2);
            }
        }
        // Of equal numbers the sum's rounding would else leave a tiny deviation to divide by.
        let of = |column: usize| match equal[column] {
            true => (first[column], 0.0),
            false => (means[column], (variances[column] / count).sqrt()),
        };
        (0..self.width).map(of).collect()
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

fn convert<T: Copy>(values: &[T], numbers: &mut [f64], number: impl Fn(T) -> f64) {
    numbers.iter_mut().zip(values).for_each(|(to, &value)| *to = number(value));
}

fn decode<const SIZE: usize, T>(bytes: &[u8], value: fn([u8; SIZE]) -> T) -> Vec<T> {
    let (values, _) = bytes.as_chunks();
    values.iter().map(|&bytes| value(bytes)).collect()
}
