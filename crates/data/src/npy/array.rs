//! The array of an NPY file.

use std::path::{Path, PathBuf};

use super::{
    error::NpyError,
    header::{self, Dtype, Header},
};
use crate::{DataError, Moments, files::BinaryFile};

/// An array of at least one row, each of at least one value.
#[derive(Debug)]
pub(super) struct Array {
    pub(super) path: PathBuf,
    /// As in the file: rows, then any dimensions.
    pub(super) shape: Vec<u64>,
    pub(super) rows: usize,
    /// Values of each row, trailing dimensions being flattened.
    pub(super) width: usize,
    dtype: Dtype,
    /// The values as in the file, row by row.
    bytes: Vec<u8>,
}

impl Array {
    pub(super) fn read(path: &Path) -> Result<Self, DataError> {
        let mut file = BinaryFile::open(path)?;
        let Header { dtype, shape, fortran_order } = header::read(&mut file, path)?;
        let length = shape.iter().fold(dtype.bytes(), |bytes, size| bytes.saturating_mul(*size));
        let bytes = file.take(length)?;
        file.end()?;

        let rows = shape.first().map_or(0, |&rows| rows as usize);
        if bytes.is_empty() || rows == 0 {
            return Err(NpyError::Empty { path: path.to_owned(), shape }.into());
        }
        let width = bytes.len() / dtype.bytes() as usize / rows;
        let bytes = match fortran_order {
            true => in_c_order(&bytes, &shape, dtype.bytes() as usize),
            false => bytes,
        };
        Ok(Self { path: path.to_owned(), shape, rows, width, dtype, bytes })
    }

    /// Checks that all values are finite, as 32-bit floats too.
    pub(super) fn check_finite(&self) -> Result<(), DataError> {
        self.not_finite().next().map_or(Ok(()), |(_, error)| Err(error))
    }

    /// The rows with a value that is not finite, as a 32-bit float, and what is wrong with each.
    pub(super) fn not_finite(&self) -> impl Iterator<Item = (usize, DataError)> {
        let mut numbers = vec![0.0; self.width];
        (0..self.rows).filter_map(move |row| {
            self.read_row(row, &mut numbers);
            let column = numbers.iter().position(|&number| !(number as f32).is_finite())?;
            let (path, value) = (self.path.clone(), numbers[column]);
            Some((row, NpyError::Value { path, row, column, value }.into()))
        })
    }

    /// Writes the values of a row, [`width`](Self::width) of them.
    pub(super) fn read_row(&self, row: usize, numbers: &mut [f64]) {
        let length = self.width * self.dtype.bytes() as usize;
        let bytes = &self.bytes[row * length..][..length];
        match self.dtype {
            Dtype::U8 => fill(numbers, values(bytes, |[byte]| f64::from(byte))),
            Dtype::I32 => {
                fill(numbers, values(bytes, |bytes| f64::from(i32::from_le_bytes(bytes))))
            }
            Dtype::I64 => fill(numbers, values(bytes, |bytes| i64::from_le_bytes(bytes) as f64)),
            Dtype::F32 => {
                fill(numbers, values(bytes, |bytes| f64::from(f32::from_le_bytes(bytes))))
            }
            Dtype::F64 => fill(numbers, values(bytes, f64::from_le_bytes)),
        }
    }

    /// The moments of each column in these rows, read in the order in which they lie.
    pub(super) fn moments(&self, rows: &[usize]) -> Vec<Moments> {
        let mut numbers = vec![0.0; self.width];
        let mut moments = vec![Moments::default(); self.width];
        for &row in rows {
            self.read_row(row, &mut numbers);
            moments.iter_mut().zip(&numbers).for_each(|(moments, &number)| moments.add(number));
        }
        moments
    }

    /// The values if they are integers, or floats that are whole: losses take 0 and 1 as floats.
    pub(super) fn integers(&self) -> Option<Vec<i64>> {
        let bytes = &self.bytes;
        match self.dtype {
            Dtype::U8 => Some(values(bytes, |[byte]| i64::from(byte)).collect()),
            Dtype::I32 => {
                Some(values(bytes, |bytes| i64::from(i32::from_le_bytes(bytes))).collect())
            }
            Dtype::I64 => Some(values(bytes, i64::from_le_bytes).collect()),
            Dtype::F32 => values(bytes, |bytes| whole(f32::from_le_bytes(bytes).into())).collect(),
            Dtype::F64 => values(bytes, |bytes| whole(f64::from_le_bytes(bytes))).collect(),
        }
    }
}

/// The values of an array in Fortran order, `size` bytes each, in C order: as pandas saves tables.
fn in_c_order(bytes: &[u8], shape: &[u64], size: usize) -> Vec<u8> {
    let mut ordered = Vec::with_capacity(bytes.len());
    for place in 0..bytes.len() / size {
        let (mut rest, mut from, mut stride) = (place, 0, bytes.len() / size);
        for &length in shape.iter().rev() {
            stride /= length as usize;
            from += rest % length as usize * stride;
            rest /= length as usize;
        }
        ordered.extend_from_slice(&bytes[from * size..][..size]);
    }
    ordered
}

fn whole(number: f64) -> Option<i64> {
    /// From here on different integers share a float.
    const EXACT: f64 = (1u64 << 53) as f64;
    (number.fract() == 0.0 && number.abs() < EXACT).then_some(number as i64)
}

/// The values that lie in `bytes`, `SIZE` bytes each.
fn values<const SIZE: usize, T>(
    bytes: &[u8],
    value: impl Fn([u8; SIZE]) -> T,
) -> impl Iterator<Item = T> {
    bytes.as_chunks().0.iter().map(move |&bytes| value(bytes))
}

fn fill(numbers: &mut [f64], values: impl Iterator<Item = f64>) {
    numbers.iter_mut().zip(values).for_each(|(number, value)| *number = value);
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `np.arange(12).reshape(2, 2, 3).ravel("F")`
    #[test]
    fn the_last_index_changes_fastest() {
        let fortran = [0, 6, 3, 9, 1, 7, 4, 10, 2, 8, 5, 11];
        assert_eq!(in_c_order(&fortran, &[2, 2, 3], 1), (0..12).collect::<Vec<u8>>());
        assert_eq!(in_c_order(&[1, 10, 2, 20], &[2], 2), [1, 10, 2, 20]);
        assert_eq!(in_c_order(&[0, 0, 4, 4, 2, 2, 6, 6], &[2, 2], 2), [0, 0, 2, 2, 4, 4, 6, 6]);
    }
}
