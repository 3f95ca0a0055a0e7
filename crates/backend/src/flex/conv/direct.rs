//! Forward pass and input gradient of any convolution, by correlations.

use std::ops::Range;

use super::{
    super::{
        parallel::{self, Shared},
        parts::part,
        simd::Level,
    },
    correlation::{Correlation, Epilogue, TASKS, Tap, Weights},
    geometry::Geometry,
    pooled::{PoolRows, Target},
};

/// The output of a convolution, with bias and ReLU.
pub(super) fn forward(
    level: Level,
    geometry: &Geometry,
    input: &[f32],
    weight: &[f32],
    epilogue: Epilogue<'_>,
    output: Target<'_>,
) {
    let Geometry { batch, inputs, outputs, .. } = *geometry;
    let plane = geometry.input_plane();
    let weights = Weights {
        values: weight,
        output_stride: inputs * geometry.taps(),
        channel_stride: geometry.taps(),
        kernel: geometry.taps(),
    };
    let correlation = Correlation::new(
        level,
        [inputs, outputs],
        [geometry.input, geometry.output],
        geometry.stride,
        forward_taps(geometry),
        batch,
        weights,
    );
    let source = |image: usize| &input[image * inputs * plane..];
    match output {
        Target::Maps(output) => run(&correlation, batch, epilogue, source, output),
        Target::Pooled(output, places) => {
            // Rows of whole windows; one without a partner is left out.
            let [height, width] = geometry.output;
            let most = (correlation.rows / 2 * 2).max(2);
            let parts = (height / 2 * 2).div_ceil(most);
            parallel::run(batch * parts, |task, scratch| {
                let (image, first) = (task / parts, task % parts * most);
                let end = (first + most).min(height / 2 * 2);
                let size = (end - first) * width;
                let [scratch, maps] = scratch.slices([correlation.scratch(), outputs * size]);
                for start in (first..end).step_by(correlation.rows) {
                    let rows = start..end.min(start + correlation.rows);
                    let blocks = 0..correlation.blocks();
                    let target = maps[(start - first) * width..].as_mut_ptr();
                    // SAFETY: `maps` is this task's own, with room for these rows.
                    unsafe {
                        let source = source(image);
                        correlation.strip(source, rows, blocks, epilogue, scratch, target, size);
                    }
                }
                let planes = image * outputs..(image + 1) * outputs;
                // SAFETY: rows of one image are one task's alone.
                level.run(unsafe {
                    PoolRows::new(maps, planes, first, geometry.output, (output, places))
                });
            });
        }
    }
}

/// Computes the maps of all images.
///
/// - `source`: where an image's maps begin
fn run<'a>(
    correlation: &Correlation,
    images: usize,
    epilogue: Epilogue<'_>,
    source: impl Fn(usize) -> &'a [f32] + Sync,
    output: Shared<'_, f32>,
) {
    let [height, width] = correlation.output;
    assert_eq!(output.len(), images * correlation.outputs * height * width, "room for all maps");
    let tasks = Tasks::new(correlation, images);
    parallel::run(tasks.count(), |task, scratch| {
        let (image, rows, blocks) = tasks.get(task);
        let [scratch] = scratch.slices([correlation.scratch()]);
        let (source, plane) = (source(image), height * width);
        let target = output.pointer(image * correlation.outputs * plane + rows.start * width);
        // SAFETY: rows and blocks of channels of one image are one task's alone.
        unsafe { correlation.strip(source, rows, blocks, epilogue, scratch, target, plane) };
    });
}

/// Where the taps of a kernel read, from the output's position times the stride.
pub(super) fn forward_taps(geometry: &Geometry) -> Vec<Tap> {
    let Geometry { kernel, padding, .. } = *geometry;
    (0..geometry.taps())
        .map(|index| {
            let place = [index / kernel[1], index % kernel[1]];
            let offset = std::array::from_fn(|axis| place[axis] as isize - padding[axis] as isize);
            Tap { offset, index }
        })
        .collect()
}

/// The gradient of the input.
///
/// An input at `i` met the output at `o` by the tap `k` if `i + padding = o * stride + k`. So for all
/// inputs with one remainder by the stride, a *phase*, the gradient is a correlation of the output's
/// with the taps that leave no remainder.
pub(super) fn input_gradient(
    level: Level,
    geometry: &Geometry,
    gradient: &[f32],
    weight: &[f32],
    output: &mut [f32],
) {
    let Geometry { batch, inputs, outputs, stride, .. } = *geometry;
    let [source_plane, plane] = [geometry.output_plane(), geometry.input_plane()];
    let output = Shared::new(output);
    let weights = Weights {
        values: weight,
        output_stride: geometry.taps(),
        channel_stride: inputs * geometry.taps(),
        kernel: geometry.taps(),
    };
    // Inputs beyond the last row or column of a phase do not exist.
    let phases: Vec<_> = (0..stride[0].min(geometry.input[0]))
        .flat_map(|y| (0..stride[1].min(geometry.input[1])).map(move |x| [y, x]))
        .map(|phase| {
            let size = std::array::from_fn(|axis| {
                (geometry.input[axis] - phase[axis]).div_ceil(stride[axis])
            });
            let correlation = Correlation::new(
                level,
                [outputs, inputs],
                [geometry.output, size],
                [1, 1],
                phase_taps(geometry, phase),
                batch,
                weights,
            );
            Phase { phase, size, correlation }
        })
        .collect();
    let epilogue = Epilogue { bias: None, relu: false };
    let source = |image: usize| &gradient[image * outputs * source_plane..];
    if let [Phase { correlation, .. }] = phases.as_slice() {
        run(correlation, batch, epilogue, source, output);
        return;
    }
    let rows = phases.iter().map(|phase| phase.correlation.rows).min().unwrap_or(1);
    let strips = phases[0].size[0].div_ceil(rows);
    let strip_scratch = phases.iter().map(|phase| phase.correlation.scratch()).max().unwrap_or(0);
    let phase_scratch = inputs * rows * phases[0].size[1];
    parallel::run(batch * strips, |task, scratch| {
        let (image, first) = (task / strips, task % strips * rows);
        let [strip, maps] = scratch.slices([strip_scratch, phase_scratch]);
        for Phase { phase, size, correlation } in &phases {
            let rows = first..(first + rows).min(size[0]);
            if rows.is_empty() {
                continue;
            }
            let map = rows.len() * size[1];
            let (blocks, target) = (0..correlation.blocks(), maps.as_mut_ptr());
            // SAFETY: `maps` is this task's own, with room for all inputs of a phase.
            unsafe {
                let (source, rows) = (source(image), rows.clone());
                correlation.strip(source, rows, blocks, epilogue, strip, target, map);
            }
            for (channel, map) in maps.chunks_exact(map).take(inputs).enumerate() {
                let plane = (image * inputs + channel) * plane;
                for (row, values) in rows.clone().zip(map.chunks_exact(size[1])) {
                    let row = row * stride[0] + phase[0];
                    // SAFETY: these rows of one image are one task's alone.
                    let target =
                        unsafe { output.slice(plane + row * geometry.input[1], geometry.input[1]) };
                    let target = target[phase[1]..].iter_mut().step_by(stride[1]);
                    target.zip(values).for_each(|(target, value)| *target = *value);
                }
            }
        }
    });
}

/// The inputs with one remainder by the stride.
struct Phase {
    phase: [usize; 2],
    size: [usize; 2],
    correlation: Correlation,
}

/// The taps by which the inputs of a phase met outputs, and how far from their own place.
fn phase_taps(geometry: &Geometry, phase: [usize; 2]) -> Vec<Tap> {
    let Geometry { kernel, padding, stride, .. } = *geometry;
    (0..geometry.taps())
        .filter_map(|index| {
            let place = [index / kernel[1], index % kernel[1]];
            let distance: [isize; 2] = std::array::from_fn(|axis| {
                (phase[axis] + padding[axis]) as isize - place[axis] as isize
            });
            let meets = (0..2).all(|axis| distance[axis].rem_euclid(stride[axis] as isize) == 0);
            let offset =
                std::array::from_fn(|axis| distance[axis].div_euclid(stride[axis] as isize));
            meets.then_some(Tap { offset, index })
        })
        .collect()
}

/// Images by strips of rows, and by blocks of channels where that would be too few tasks.
struct Tasks {
    rows: usize,
    height: usize,
    strips: usize,
    images: usize,
    blocks: usize,
    parts: usize,
}

impl Tasks {
    fn new(correlation: &Correlation, images: usize) -> Self {
        let (rows, blocks) = (correlation.rows, correlation.blocks());
        let height = correlation.output[0];
        let strips = height.div_ceil(rows);
        let parts = (TASKS / (images * strips).max(1)).clamp(1, blocks);
        Self { rows, height, strips, images, blocks, parts }
    }

    fn count(&self) -> usize {
        self.images * self.strips * self.parts
    }

    /// Image, rows of the output, blocks of channels.
    fn get(&self, task: usize) -> (usize, Range<usize>, Range<usize>) {
        let start = task / self.parts % self.strips * self.rows;
        (
            task / (self.parts * self.strips),
            start..(start + self.rows).min(self.height),
            part(self.blocks, self.parts, task % self.parts),
        )
    }
}
