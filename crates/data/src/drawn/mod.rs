//! Images drawn from a seed, so that an image recipe runs with no file.
//!
//! A sample is a function of its seed and its number alone: it stays the same however many are
//! asked for, and by however many threads. So different ranges of one seed are a training and a
//! test split.
//!
//! ```
//! use data::{ImageSource, drawn};
//!
//! let train = drawn::digits(0..600, 7)?;
//! let test = drawn::digits(600..700, 7)?;
//! assert_eq!((train.labels().len(), test.labels().len()), (600, 100));
//! # Ok::<(), data::DataError>(())
//! ```

mod digits;
mod shapes;

// What they are drawn with.
mod canvas;
mod draws;
mod geometry;
mod outlines;
mod paint;
mod skeletons;

use std::ops::Range;

use backend::random::{Purpose, Random, stream_of};
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

pub use self::{digits::digits, shapes::shapes};
use self::{
    draws::Draws,
    geometry::{Point, bounds},
};
use crate::{
    DataError, ImageShape, ImagesInMemory,
    images::allocate,
    progress::{Progress, go_on},
};

/// The number of classes of every kind of image here.
const CLASSES: usize = 10;

/// Samples that a thread draws before it is told how many there are.
const BLOCK_PER_THREAD: usize = 256;

/// What is drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Drawing {
    /// As [`digits`] draws them.
    Digits,
    /// As [`shapes`] draws them.
    Shapes,
}

impl Drawing {
    /// Draws the samples of a range.
    ///
    /// - `progress`: receives how many were drawn
    ///
    /// # Errors
    ///
    /// If the images do not fit in memory, or `progress` asks to stop.
    pub fn draw(
        self,
        samples: Range<usize>,
        seed: u64,
        progress: &mut Progress<'_>,
    ) -> Result<ImagesInMemory, DataError> {
        let kind = match self {
            Self::Digits => digits::kind(),
            Self::Shapes => shapes::kind(),
        };
        kind.draw(samples, seed, progress)
    }
}

/// A kind of image.
struct Kind {
    /// Tells its random values from those of other kinds.
    name: &'static str,
    shape: ImageShape,
    classes: [&'static str; CLASSES],
    /// Draws one image of a class into zeroed pixels.
    draw: fn(class: usize, draws: &mut Draws, pixels: &mut [u8]),
}

impl Kind {
    /// Draws the samples of a range, the classes taking turns.
    fn draw(
        &self,
        samples: Range<usize>,
        seed: u64,
        progress: &mut Progress<'_>,
    ) -> Result<ImagesInMemory, DataError> {
        let bytes = self.shape.bytes();
        let random = Random::new(seed, Purpose::Synthetic, stream_of(self.name));
        let class = |sample: usize| sample % CLASSES;
        let mut pixels = allocate(samples.len(), bytes)?;
        let block = BLOCK_PER_THREAD * rayon::current_num_threads();
        for (pixels, start) in pixels.chunks_mut(block * bytes).zip(samples.clone().step_by(block))
        {
            pixels.par_chunks_exact_mut(bytes).zip(start..samples.end).for_each(
                |(pixels, sample)| {
                    (self.draw)(class(sample), &mut Draws::new(random, sample), pixels);
                },
            );
            go_on(progress((start + block).min(samples.end) - samples.start, samples.len()))?;
        }
        Ok(ImagesInMemory {
            shape: self.shape,
            pixels,
            labels: samples.map(|sample| class(sample) as u32).collect(),
            classes: self.classes.map(str::to_owned).to_vec(),
        })
    }
}

/// Where a drawing may stand in an image.
struct Placing {
    /// The pixels along a side of the image.
    side: usize,
    /// The drawing's width or height, whichever is greater, in pixels.
    size: f32,
    /// The least number of pixels to leave on every side of the drawing.
    margin: f32,
    /// How far the drawing's middle may be from the image's, along each axis.
    shift: f32,
}

impl Placing {
    /// Scales a drawing and moves it to a random place.
    fn place(&self, curves: &mut [Vec<Point>], draws: &mut Draws) {
        let (low, high) = bounds(curves.iter().flatten());
        let (middle, extent) = ((low + high) * 0.5, high - low);
        let scale = self.size / extent.x.max(extent.y);
        let side = self.side as f32;
        let mut coordinate = |extent: f32| {
            let shift = (0.5 * (side - scale * extent) - self.margin).clamp(0.0, self.shift);
            0.5 * side + draws.uniform(-shift..shift)
        };
        let centre = Point::new(coordinate(extent.x), coordinate(extent.y));
        for point in curves.iter_mut().flatten() {
            *point = centre + (*point - middle) * scale;
        }
    }
}

/// The byte of a brightness, where 0 is black and 1 white.
fn byte(brightness: f32) -> u8 {
    (brightness.clamp(0.0, 1.0) * 255.0).round() as u8
}

#[cfg(test)]
mod tests {
    use std::ops::ControlFlow;

    use rayon::ThreadPoolBuilder;

    use super::*;
    use crate::count_labels;

    type Draw = fn(Range<usize>, u64) -> Result<ImagesInMemory, DataError>;
    const KINDS: [Draw; 2] = [digits, shapes];

    #[test]
    fn a_sample_depends_on_its_number_and_the_seed_alone() {
        for draw in KINDS {
            let all = draw(0..50, 3).unwrap();
            let bytes = all.shape.bytes();
            for part in [0..50, 0..7, 13..50, 49..50] {
                let some = draw(part.clone(), 3).unwrap();
                assert_eq!(some.pixels, all.pixels[part.start * bytes..part.end * bytes]);
                assert_eq!(some.labels, all.labels[part]);
            }
            let one_thread = ThreadPoolBuilder::new().num_threads(1).build().unwrap();
            assert_eq!(one_thread.install(|| draw(0..50, 3)).unwrap(), all);
            assert_ne!(draw(0..50, 4).unwrap().pixels, all.pixels);
        }
    }

    #[test]
    fn no_two_samples_are_equal_and_none_is_blank() {
        for draw in KINDS {
            let images = draw(0..1000, 5).unwrap();
            let mut images: Vec<_> = images.pixels.chunks_exact(images.shape.bytes()).collect();
            for image in &images {
                let (darkest, brightest) = (image.iter().min(), image.iter().max());
                let contrast = brightest.unwrap() - darkest.unwrap();
                assert!(contrast > 80, "contrast {contrast}");
            }
            images.sort_unstable();
            images.dedup();
            assert_eq!(images.len(), 1000);
        }
    }

    #[test]
    fn classes_are_balanced_and_named() {
        for draw in KINDS {
            let images = draw(70..570, 1).unwrap();
            assert_eq!(count_labels(&images.labels, CLASSES), [50; CLASSES]);
            let mut names = images.classes;
            names.sort_unstable();
            names.dedup();
            assert_eq!(names.len(), CLASSES);
        }
    }

    #[test]
    fn progress_is_told_and_may_stop() {
        for drawing in [Drawing::Digits, Drawing::Shapes] {
            let mut told = Vec::new();
            let mut progress = |done, of| {
                told.push((done, of));
                ControlFlow::Continue(())
            };
            let one_thread = ThreadPoolBuilder::new().num_threads(1).build().unwrap();
            one_thread.install(|| drawing.draw(50..350, 3, &mut progress)).unwrap();
            assert_eq!(told, [(256, 300), (300, 300)]);
            let stopped = drawing.draw(0..50, 3, &mut |_, _| ControlFlow::Break(()));
            assert!(matches!(stopped, Err(DataError::Stopped)), "{stopped:?}");
        }
    }

    #[test]
    fn samples_beyond_memory_are_an_error() {
        for draw in KINDS {
            let error = draw(0..usize::MAX, 0).unwrap_err();
            assert!(matches!(error, DataError::ImagesOutOfMemory { .. }), "{error}");
            assert!(error.help().unwrap().contains("fewer images"));
        }
    }
}
