//! The two ways of the forward pass against each other.

use super::*;
use crate::flex::testing;

#[test]
fn blocks_of_outputs_give_the_bits_of_rows_of_tiles() {
    let (size, padding) = ([9, 14], [1, 1]);
    let maps = Maps { batch: 3, inputs: 32, outputs: 48, input: size, output: size, padding };
    let values = |stream, count| testing::values(testing::normal([count], stream));
    let (input, weight) = (values(1, 3 * 32 * 9 * 14), values(2, 48 * 32 * 9));
    for level in Level::all() {
        for kernels in [Kernels::Forward, Kernels::Turned] {
            let find = |rows: usize, run: fn(&Job<'_>)| {
                let mut output = vec![f32::NAN; 3 * 48 * 9 * 14];
                run(&Job {
                    level,
                    maps: &maps,
                    input: Source::Maps(&input),
                    weight: &weight,
                    kernels,
                    epilogue: Epilogue { bias: Some(&values(3, 48)), relu: true },
                    output: Target::maps(&mut output),
                    rows,
                    tiles: strides(rows * maps.tiles(1), maps.inputs),
                    channels: strides(maps.inputs, 1),
                });
                output
            };
            let expected = find(2, |job| job.run_by_rows());
            for rows in [1, 4, 9] {
                let ours = find(rows, |job| job.run_by_blocks());
                assert!(ours == expected, "{rows} rows at {level:?}, {kernels:?}");
            }
        }
    }
}
