//! The gradient of a table of vectors: the sums of those rows of the gradient that came from the same
//! entry, without one unit that goes through all of them.
//!
//! The rows are cut into segments. In each the first row of an entry sums the others of the segment;
//! then the first of all sums those of the segments. So no sum is longer than a segment or than their
//! number.

use burn::tensor::DType;
use burn_cubecl::{
    CubeRuntime,
    cubecl::{self, prelude::*},
    kernel::into_contiguous,
    tensor::CubeTensor,
};

use super::{
    buffers::{cubes, elementwise, empty, empty_of, writable},
    lanes::{UNITS, largest_of_lane},
};

/// For each row: the row of the next segment in which its entry stands, the first of that entry there;
/// `rows` if there is none, and for rows that are not the first of their entry in their segment.
/// `is_first`: 2 for the first row of an entry, 1 for the first of its segment only, else 0.
///
/// A cube looks for a row's equals among all others.
#[cube(launch)]
fn link_rows<I: Int>(
    indices: &Array<I>,
    next: &mut Array<u32>,
    is_first: &mut Array<u32>,
    segment: usize,
    #[define(I)] _index: StorageType,
) {
    let row = CUBE_POS;
    let rows = indices.len();
    // 1 where an equal stands before the segment, 2 where one stands in it before the row.
    let mut before = 0u32;
    // How far the next equal after the segment is from the end.
    let mut from_end = 0u32;
    if row < rows {
        let entry = indices[row];
        let begin = row - row % segment;
        for other in range_stepped(UNIT_POS as usize, row, UNITS) {
            if indices[other] == entry {
                before = clamp_min(before, 1 + (other >= begin) as u32);
            }
        }
        for other in range_stepped(begin + segment + UNIT_POS as usize, rows, UNITS) {
            if indices[other] == entry {
                from_end = clamp_min(from_end, (rows - other) as u32);
            }
        }
    }
    let before = largest_of_lane::<u32>(before, 1usize);
    let from_end = largest_of_lane::<u32>(from_end, 1usize);
    if UNIT_POS == 0 && row < rows {
        is_first[row] = 2 - before;
        next[row] = rows as u32;
        if before < 2 {
            next[row] = rows as u32 - from_end;
        }
    }
}

/// The sums within segments, at the first row of each entry.
#[cube(launch)]
fn sum_rows<I: Int>(
    indices: &Array<I>,
    is_first: &Array<u32>,
    gradient: &Array<f32>,
    sums: &mut Array<f32>,
    segment: usize,
    width: usize,
    #[define(I)] _index: StorageType,
) {
    let i = ABSOLUTE_POS;
    let (row, column) = (i / width, i % width);
    if i < sums.len() && is_first[row] > 0 {
        let entry = indices[row];
        let end = clamp_max(row - row % segment + segment, indices.len());
        let mut sum = gradient[i];
        for other in row + 1..end {
            if indices[other] == entry {
                sum += gradient[other * width + column];
            }
        }
        sums[i] = sum;
    }
}

/// The sums of those of the segments, to the entries of the table, which begins with zeros.
#[cube(launch)]
fn sum_entries<I: Int>(
    indices: &Array<I>,
    next: &Array<u32>,
    is_first: &Array<u32>,
    sums: &Array<f32>,
    table: &mut Array<f32>,
    width: usize,
    #[define(I)] _index: StorageType,
) {
    let i = ABSOLUTE_POS;
    let (row, column) = (i / width, i % width);
    if i < sums.len() && is_first[row] == 2 {
        let mut sum = sums[i];
        let mut other = next[row] as usize;
        while other < indices.len() {
            sum += sums[other * width + column];
            other = next[other] as usize;
        }
        let entry = usize::cast_from(indices[row]);
        table[entry * width + column] = sum;
    }
}

/// Adds up in `table`, `[entries, width]` of zeros.
pub(super) fn backward<R: CubeRuntime>(
    table: CubeTensor<R>,
    indices: CubeTensor<R>,
    gradient: CubeTensor<R>,
) -> CubeTensor<R> {
    let table = writable(table);
    let [indices, gradient] = [indices, gradient].map(into_contiguous);
    let [_, width] = table.meta.shape().dims();
    let rows = indices.meta.num_elements();
    // The lengths of both sums, together the smallest.
    let segment = (rows as f64).sqrt().ceil() as usize;
    let client = table.client.clone();
    let links = || empty_of(DType::U32, &table, [rows]);
    let (next, is_first, sums) = (links(), links(), empty(&table, [rows, width]));
    let index = indices.dtype.into();

    let (count, cube) = cubes(&client, rows);
    link_rows::launch::<R>(
        &client,
        count,
        cube,
        indices.clone().into_array_arg(),
        next.clone().into_array_arg(),
        is_first.clone().into_array_arg(),
        segment,
        index,
    );
    let (count, cube) = elementwise(&client, rows * width);
    sum_rows::launch::<R>(
        &client,
        count.clone(),
        cube,
        indices.clone().into_array_arg(),
        is_first.clone().into_array_arg(),
        gradient.into_array_arg(),
        sums.clone().into_array_arg(),
        segment,
        width,
        index,
    );
    sum_entries::launch::<R>(
        &client,
        count,
        cube,
        indices.into_array_arg(),
        next.into_array_arg(),
        is_first.into_array_arg(),
        sums.into_array_arg(),
        table.clone().into_array_arg(),
        width,
        index,
    );
    table
}
