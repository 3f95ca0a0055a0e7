//! The means of rows taken from a table, some means by each task, and their gradient.

use burn::backend::Flex;
use burn_flex::FlexTensor;

use super::{
    all_f32, assert_shape, contiguous, dimensions, elements,
    embedding::{add_rows, sums_of_entries},
    indices::indices_below,
    parallel, recycled,
};
use crate::{embedding_mean, overrides::note_taken};

/// The fewest values that a task reads.
const TASK_VALUES: usize = 1 << 14;

pub(super) fn forward(table: FlexTensor, indices: FlexTensor) -> FlexTensor {
    let [batch, time] = dimensions(&indices);
    let [entries, width] = dimensions(&table);
    let indices = match (all_f32([&table]), indices_below(entries, &indices)) {
        (true, Some(indices)) => indices,
        _ => return embedding_mean::composed::<Flex>(table, indices),
    };
    note_taken();
    let table = contiguous(table);
    let mut result = recycled::floats([batch, width]);
    let (table, samples) = (elements(&table), TASK_VALUES.div_ceil((time * width).max(1)));
    parallel::chunks(result.storage_mut::<f32>(), samples * width, |number, target, scratch| {
        let [sums] = scratch.slices([width]);
        for (sample, mean) in target.chunks_exact_mut(width).enumerate() {
            let indices = &indices[(number * samples + sample) * time..][..time];
            mean.fill(0.0);
            add_rows(mean, sums, indices, |index| {
                (index > 0).then(|| &table[index * width..][..width])
            });
            let rows = rows_of(indices);
            mean.iter_mut().for_each(|sum| *sum /= rows);
        }
    });
    result
}

pub(super) fn backward(entries: usize, indices: FlexTensor, gradient: FlexTensor) -> FlexTensor {
    let [batch, time] = dimensions(&indices);
    let indices = match (all_f32([&gradient]), indices_below(entries, &indices)) {
        (true, Some(indices)) => indices,
        _ => return embedding_mean::composed_backward::<Flex>(entries, indices, gradient),
    };
    note_taken();
    let [_, width] = dimensions(&gradient);
    assert_shape("the gradient", &gradient, &[batch, width]);
    let gradient = contiguous(gradient);
    let mut of_rows = elements(&gradient).to_vec();
    for (sample, gradient) in of_rows.chunks_exact_mut(width.max(1)).enumerate() {
        let rows = rows_of(&indices[sample * time..][..time]);
        gradient.iter_mut().for_each(|gradient| *gradient /= rows);
    }
    sums_of_entries([entries, width], 1, &indices, |place| {
        &of_rows[place / time * width..][..width]
    })
}

/// How many rows a mean is of, but at least one.
fn rows_of(indices: &[usize]) -> f32 {
    indices.iter().filter(|index| **index > 0).count().max(1) as f32
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::flex::testing::{assert_close, indices, normal, on_1_2_and_3_threads, values};

    /// Batch, time, entries, width.
    const SHAPES: [[usize; 4]; 6] = [
        [1, 1, 1, 1],
        [3, 4, 5, 7],
        [40, 20, 30, 65],
        [4, 1030, 11, 128],
        [0, 3, 4, 5],
        [3, 0, 4, 5],
    ];

    #[test]
    fn both_equal_the_default_bodies() {
        for [batch, time, entries, width] in SHAPES {
            let indices = indices([batch, time], entries, 2);
            let table = normal([entries, width], 1);
            let ours = forward(table.clone(), indices.clone());
            let reference = embedding_mean::composed::<Flex>(table, indices.clone());
            assert_close("means", ours, reference, 1e-5);

            let gradient = normal([batch, width], 3);
            let ours = backward(entries, indices.clone(), gradient.clone());
            let reference = embedding_mean::composed_backward::<Flex>(entries, indices, gradient);
            assert_close("table", ours, reference, 1e-6);
        }
    }

    #[test]
    fn the_number_of_threads_changes_no_bit() {
        let [one, two, three] = on_1_2_and_3_threads(|| {
            let indices = || indices([64, 90], 11, 2);
            let means = values(forward(normal([11, 128], 1), indices()));
            [means, values(backward(11, indices(), normal([64, 128], 3)))]
        });
        assert_eq!(one, two);
        assert_eq!(one, three);
    }
}
