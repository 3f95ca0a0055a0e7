//! Rows taken from a table; backward each task adds up some columns of it, entry by entry in the order
//! of the indices.

use burn::backend::Flex;
use burn_flex::FlexTensor;

use super::{
    all_f32, assert_shape, contiguous, dimensions, elements,
    indices::indices_below,
    parallel::{self, Shared},
    recycled,
};
use crate::{embedding, overrides::note_taken};

/// The fewest values of a task.
const TASK_VALUES: usize = 1 << 14;
/// Rows that are summed before they are added to a total: one sum of a million values would
/// lose the third digit.
const PLACES: usize = 512;

pub(super) fn forward(table: FlexTensor, indices: FlexTensor) -> FlexTensor {
    let [batch, time] = dimensions(&indices);
    let [entries, width] = dimensions(&table);
    let indices = match (all_f32([&table]), indices_below(entries, &indices)) {
        (true, Some(indices)) => indices,
        _ => return embedding::composed::<Flex>(table, indices),
    };
    note_taken();
    let table = contiguous(table);
    let mut result = recycled::floats([batch, time, width]);
    let (table, rows) = (elements(&table), TASK_VALUES.div_ceil(width.max(1)));
    parallel::chunks(result.storage_mut::<f32>(), rows * width, |number, target, _| {
        for (target, index) in target.chunks_exact_mut(width).zip(&indices[number * rows..]) {
            target.copy_from_slice(&table[index * width..][..width]);
        }
    });
    result
}

pub(super) fn backward(entries: usize, indices: FlexTensor, gradient: FlexTensor) -> FlexTensor {
    let [batch, time] = dimensions(&indices);
    let indices = match (all_f32([&gradient]), indices_below(entries, &indices)) {
        (true, Some(indices)) => indices,
        _ => return embedding::composed_backward::<Flex>(entries, indices, gradient),
    };
    note_taken();
    let gradient = contiguous(gradient);
    let [_, _, width] = dimensions(&gradient);
    assert_shape("the gradient", &gradient, &[batch, time, width]);
    let gradient = elements(&gradient);
    sums_of_entries([entries, width], 0, &indices, |place| &gradient[place * width..][..width])
}

/// For each entry of a table from `first` on, the sum of the rows of its places among the indices; zeros for
/// the entries before.
pub(super) fn sums_of_entries<'a>(
    [entries, width]: [usize; 2],
    first: usize,
    indices: &[usize],
    row: impl Fn(usize) -> &'a [f32] + Sync,
) -> FlexTensor {
    let mut table = recycled::floats([entries, width]);
    let target = Shared::new(table.storage_mut::<f32>());
    let places = Places::new(entries, indices);
    // Whole cache lines, and not too thin.
    let band = (TASK_VALUES / indices.len().max(1)).next_multiple_of(32).max(32);
    parallel::ranges(width, band, |columns, scratch| {
        let [sums] = scratch.slices([columns.len()]);
        for entry in 0..entries {
            // SAFETY: each task has columns of its own.
            let totals = unsafe { target.slice(entry * width + columns.start, columns.len()) };
            totals.fill(0.0);
            if entry < first {
                continue;
            }
            add_rows(totals, sums, places.of(entry), |place| Some(&row(place)[columns.clone()]));
        }
    });
    table
}

/// Adds the row of each place, if it has one, to `totals`, some of them at a time.
///
/// - `sums`: room for a row
pub(super) fn add_rows<'a>(
    totals: &mut [f32],
    sums: &mut [f32],
    places: &[usize],
    row: impl Fn(usize) -> Option<&'a [f32]>,
) {
    for places in places.chunks(PLACES) {
        sums.fill(0.0);
        for source in places.iter().filter_map(|place| row(*place)) {
            sums.iter_mut().zip(source).for_each(|(sum, value)| *sum += value);
        }
        totals.iter_mut().zip(&*sums).for_each(|(total, sum)| *total += sum);
    }
}

/// The places of each entry among the indices, in their order.
struct Places {
    places: Vec<usize>,
    /// Where the places of each entry end.
    ends: Vec<usize>,
}

impl Places {
    fn new(entries: usize, indices: &[usize]) -> Self {
        // At first where those of each entry begin.
        let mut ends = vec![0; entries + 1];
        indices.iter().for_each(|entry| ends[entry + 1] += 1);
        (0..entries).for_each(|entry| ends[entry + 1] += ends[entry]);
        let mut places = vec![0; indices.len()];
        for (place, entry) in indices.iter().enumerate() {
            places[ends[*entry]] = place;
            ends[*entry] += 1;
        }
        Self { places, ends }
    }

    fn of(&self, entry: usize) -> &[usize] {
        let start = if entry == 0 { 0 } else { self.ends[entry - 1] };
        &self.places[start..self.ends[entry]]
    }
}

#[cfg(test)]
mod tests {
    use burn::tensor::ops::ModuleOps;

    use super::*;
    use crate::flex::testing::{assert_close, indices, normal, on_1_2_and_3_threads, values};

    /// Batch, time, entries, width.
    const SHAPES: [[usize; 4]; 5] =
        [[1, 1, 1, 1], [3, 4, 5, 7], [40, 20, 30, 65], [64, 9, 11, 128], [0, 3, 4, 5]];

    #[test]
    fn forward_equals_burns() {
        for [batch, time, entries, width] in SHAPES {
            let [table, indices] =
                [normal([entries, width], 1), indices([batch, time], entries, 2)];
            let ours = forward(table.clone(), indices.clone());
            assert_close("rows", ours, Flex::embedding(table, indices), 0.0);
        }
    }

    #[test]
    fn backward_equals_the_default_body() {
        for [batch, time, entries, width] in SHAPES {
            let indices = indices([batch, time], entries, 2);
            let gradient = normal([batch, time, width], 3);
            let ours = backward(entries, indices.clone(), gradient.clone());
            let reference = embedding::composed_backward::<Flex>(entries, indices, gradient);
            assert_close("table", ours, reference, 1e-6);
        }
    }

    #[test]
    fn a_million_gradients_of_an_entry_add_up() {
        let count = 1 << 20;
        let entries = burn::tensor::TensorData::new(vec![1_i64; count], [count, 1]);
        let gradient = burn::tensor::TensorData::new(vec![0.1_f32; count], [count, 1, 1]);
        let [entries, gradient] = [entries, gradient].map(FlexTensor::from_data);
        let table = values(backward(3, entries, gradient));
        assert_eq!([table[0], table[2]], [0.0; 2]);
        assert!((table[1] / (0.1 * count as f32) - 1.0).abs() < 1e-4);
    }

    #[test]
    #[should_panic(expected = "index 4 is not in 0..3")]
    fn an_index_beyond_the_table_is_not_followed() {
        let index = FlexTensor::from_data(burn::tensor::TensorData::new(vec![4_i64], [1, 1]));
        forward(normal([3, 2], 1), index);
    }

    #[test]
    fn the_number_of_threads_changes_no_bit() {
        let [one, two, three] = on_1_2_and_3_threads(|| {
            let gradient = normal([64, 9, 128], 3);
            values(backward(11, indices([64, 9], 11, 2), gradient))
        });
        assert_eq!(one, two);
        assert_eq!(one, three);
    }
}
