//! The gradient of a table of vectors: the sums of those rows of the gradient that came from the same
//! entry, without one unit that goes through all of them. Indices may share a row, as those of a mean do.
//!
//! The rows are taken some at a time, and these are cut into segments. In each the first row of an entry sums
//! the others of the segment; then the first of all sums those of the segments, and adds the sum to those of
//! the rows before. So no sum is much longer than the root of the number of rows.

use burn::tensor::DType;
use burn_cubecl::{
    CubeRuntime,
    cubecl::{self, prelude::*},
    kernel::into_contiguous,
    ops::{numeric::zeros_client, reshape},
    tensor::CubeTensor,
};

use super::{
    buffers::{cubes, elementwise, empty, empty_of},
    lanes::{UNITS, largest_of_lane},
};

/// Rows that are looked through for equals at a time, because that takes the square of their number.
const AT_A_TIME: usize = 1 << 14;

/// For each of `rows` from `from` on: the row of the next segment in which its entry stands, the first of that
/// entry there; `rows` if there is none, and for rows that are not the first of their entry in their segment.
/// `is_first`: 2 for the first row of an entry, 1 for the first of its segment only, else 0.
/// The entries before `first` have no rows.
///
/// A cube looks for a row's equals in its segment, and if it is the first one there, among all others.
#[cube(launch)]
fn link_rows<I: Int>(
    indices: &Array<I>,
    next: &mut Array<u32>,
    is_first: &mut Array<u32>,
    from: usize,
    rows: usize,
    segment: usize,
    first: u32,
    #[define(I)] _index: StorageType,
) {
    let row = CUBE_POS;
    let unit = UNIT_POS as usize;
    let begin = row - row % segment;
    // 2 where the row is none of the first, 1 where an equal stands before the segment.
    let mut before = 0u32;
    if row < rows {
        if u32::cast_from(indices[from + row]) < first {
            before = 2;
        }
        for other in range_stepped(begin + unit, row, UNITS) {
            if indices[from + other] == indices[from + row] {
                before = 2;
            }
        }
    }
    let mut before = largest_of_lane::<u32>(before, 1usize);
    // How far the next equal after the segment is from the end.
    let mut from_end = 0u32;
    if row < rows && before == 0 {
        for other in range_stepped(unit, begin, UNITS) {
            if indices[from + other] == indices[from + row] {
                before = 1;
            }
        }
        for other in range_stepped(begin + segment + unit, rows, UNITS) {
            if indices[from + other] == indices[from + row] {
                from_end = clamp_min(from_end, (rows - other) as u32);
            }
        }
    }
    let before = largest_of_lane::<u32>(before, 1usize);
    let from_end = largest_of_lane::<u32>(from_end, 1usize);
    if unit == 0 && row < rows {
        is_first[row] = 2 - before;
        next[row] = rows as u32 - from_end;
    }
}

/// The sums within segments, at the first row of each entry.
#[cube(launch)]
fn sum_rows<I: Int>(
    indices: &Array<I>,
    is_first: &Array<u32>,
    gradient: &Array<f32>,
    sums: &mut Array<f32>,
    from: usize,
    rows: usize,
    segment: usize,
    width: usize,
    sharing: usize,
    #[define(I)] _index: StorageType,
) {
    let i = ABSOLUTE_POS;
    let (row, column) = (i / width, i % width);
    if row < rows && is_first[row] > 0 {
        let entry = indices[from + row];
        let end = clamp_max(row - row % segment + segment, rows);
        let mut sum = gradient[(from + row) / sharing * width + column];
        for other in row + 1..end {
            if indices[from + other] == entry {
                sum += gradient[(from + other) / sharing * width + column];
            }
        }
        sums[i] = sum;
    }
}

/// Adds the sums of those of the segments to the entries of the table.
#[cube(launch)]
fn sum_entries<I: Int>(
    indices: &Array<I>,
    next: &Array<u32>,
    is_first: &Array<u32>,
    sums: &Array<f32>,
    table: &mut Array<f32>,
    from: usize,
    rows: usize,
    width: usize,
    #[define(I)] _index: StorageType,
) {
    let i = ABSOLUTE_POS;
    let (row, column) = (i / width, i % width);
    if row < rows && is_first[row] == 2 {
        let mut sum = sums[i];
        let mut other = next[row] as usize;
        while other < rows {
            sum += sums[other * width + column];
            other = next[other] as usize;
        }
        let entry = usize::cast_from(indices[from + row]);
        table[entry * width + column] += sum;
    }
}

/// The gradient of a table, `[entries, width]`.
///
/// - `indices`: of any shape
/// - `gradient`: `[.., width]`; each row is shared by `sharing` successive indices
/// - `first`: the first entry that has a gradient; those before get zeros
pub(super) fn backward<R: CubeRuntime>(
    entries: usize,
    indices: CubeTensor<R>,
    gradient: CubeTensor<R>,
    width: usize,
    sharing: usize,
    first: u32,
) -> CubeTensor<R> {
    let [indices, gradient] = [indices, gradient].map(into_contiguous);
    let rows = indices.meta.num_elements();
    let (client, device) = (gradient.client.clone(), gradient.device.clone());
    // Made as one row, which no padding divides.
    let table = zeros_client(client.clone(), device, [entries * width].into(), DType::F32);
    let at_a_time = rows.min(AT_A_TIME);
    // The lengths of both sums, together the smallest.
    let segment = (at_a_time as f64).sqrt().ceil() as usize;
    let links = || empty_of(DType::U32, &table, [at_a_time]);
    let (next, is_first, sums) = (links(), links(), empty(&table, [at_a_time, width]));
    let index = indices.dtype.into();

    for from in (0..rows).step_by(at_a_time) {
        let rows = at_a_time.min(rows - from);
        let (count, cube) = cubes(&client, rows);
        link_rows::launch::<R>(
            &client,
            count,
            cube,
            indices.clone().into_array_arg(),
            next.clone().into_array_arg(),
            is_first.clone().into_array_arg(),
            from,
            rows,
            segment,
            first,
            index,
        );
        let (count, cube) = elementwise(&client, rows * width);
        sum_rows::launch::<R>(
            &client,
            count.clone(),
            cube,
            indices.clone().into_array_arg(),
            is_first.clone().into_array_arg(),
            gradient.clone().into_array_arg(),
            sums.clone().into_array_arg(),
            from,
            rows,
            segment,
            width,
            sharing,
            index,
        );
        sum_entries::launch::<R>(
            &client,
            count,
            cube,
            indices.clone().into_array_arg(),
            next.clone().into_array_arg(),
            is_first.clone().into_array_arg(),
            sums.clone().into_array_arg(),
            table.clone().into_array_arg(),
            from,
            rows,
            width,
            index,
        );
    }
    reshape(table, [entries, width].into())
}
