//! Images drawn from a seed, so that an image recipe runs with no file.
//!
//! A sample is a function of its seed and its number alone: it stays the same however many are
//! asked for, and by however many threads. So different ranges of one seed are a training and a
//! test split.
//!
//! ```
//! use data::{ImageSource, drawn};
//!
//! let train = drawn::digits(0..600, 7);
//! let test = drawn::digits(600..700, 7);
//! assert_eq!((train.labels().len(), test.labels().len()), (600, 100));
//! ```

mod digits;
mod shapes;

// What they are drawn with.
mod canvas;
mod draws;
mod geometry;
mod paint;
mod skeletons;

use std::ops::Range;

use backend::random::{Purpose, Random, stream_of};
use rayon::prelude::*;

use self::draws::Draws;
pub use self::{digits::digits, shapes::shapes};
use crate::{ImageShape, ImagesInMemory};

/// The number of classes of every kind of image here.
const CLASSES: usize = 10;

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
    fn draw(&self, samples: Range<usize>, seed: u64) -> ImagesInMemory {
        let bytes = self.shape.bytes();
        let random = Random::new(seed, Purpose::Synthetic, stream_of(self.name));
        let class = |sample: usize| sample % CLASSES;
        let mut pixels = vec![0; samples.len() * bytes];
        pixels.par_chunks_exact_mut(bytes).zip(samples.clone()).for_each(|(pixels, sample)| {
            (self.draw)(class(sample), &mut Draws::new(random, sample), pixels);
        });
        ImagesInMemory {
            shape: self.shape,
            pixels,
            labels: samples.map(|sample| class(sample) as u32).collect(),
            classes: self.classes.map(str::to_owned).to_vec(),
        }
    }
}

/// The byte of a brightness, where 0 is black and 1 white.
fn byte(brightness: f32) -> u8 {
    (brightness.clamp(0.0, 1.0) * 255.0).round() as u8
}

#[cfg(test)]
mod scratch {
    #[test]
    fn dump() {
        for (name, images) in [("digits", super::digits(0..120, 1)), ("shapes", super::shapes(0..120, 1))] {
            let s = images.shape;
            let (h, w, c) = (s.height, s.width, s.channels);
            let mut out = image::RgbImage::new((12 * (w + 2) * 3) as u32, (10 * (h + 2) * 3) as u32);
            for i in 0..120 {
                let (row, col) = (i % 10, i / 10);
                for y in 0..h * 3 {
                    for x in 0..w * 3 {
                        let at = |ch: usize| images.pixels[i * s.bytes() + (ch % c) * h * w + (y / 3) * w + x / 3];
                        out.put_pixel((col * (w + 2) * 3 + x) as u32, (row * (h + 2) * 3 + y) as u32, image::Rgb([at(0), at(1), at(2)]));
                    }
                }
            }
            out.save(format!("/tmp/{name}.png")).unwrap();
        }
        let t = std::time::Instant::now();
        let d = super::digits(0..70_000, 1);
        eprintln!("digits/s {}", 70_000.0 / t.elapsed().as_secs_f64());
        std::fs::write("/tmp/digits.bin", d.pixels).unwrap();
        let t = std::time::Instant::now();
        let d = super::shapes(0..20_000, 1);
        eprintln!("shapes/s {}", 20_000.0 / t.elapsed().as_secs_f64());
        std::fs::write("/tmp/shapes.bin", d.pixels).unwrap();
    }
}
