//! Mean and standard deviation of each channel of a split's images.

use rayon::prelude::*;

use crate::{
    DataError, ImagePreprocessing, ImageSource, Resize,
    images::check_not_empty,
    progress::{Progress, go_on},
};

/// Images that a thread reads at a time.
const CHUNK: usize = 16;
/// Of these, so many for each thread before it is told how many were read.
const CHUNKS_PER_THREAD: usize = 8;

/// The sum of a channel's bytes and of their squares: whole numbers, so that the result does not
/// depend on the order in which threads finish.
#[derive(Clone, Copy, Default)]
struct Sums {
    bytes: u64,
    squares: u64,
}

/// The preprocessing with the statistics of all images of a source, the training split; each is read once.
///
/// A channel that is the same everywhere is only shifted: its deviation is given as 1.
///
/// - `progress`: receives how many images were read
///
/// # Errors
///
/// Where there is no image, or none with a pixel; where one cannot be read, or `progress` asks to stop.
pub fn measure_images(
    source: &dyn ImageSource,
    resize: Resize,
    progress: &mut Progress<'_>,
) -> Result<ImagePreprocessing, DataError> {
    check_not_empty(source)?;
    let shape = source.shape();
    let images: Vec<usize> = (0..source.labels().len()).collect();
    let none = || vec![Sums::default(); shape.channels];
    let both = |a: Vec<Sums>, b: Vec<Sums>| a.into_iter().zip(b).map(|(a, b)| a.and(b)).collect();
    let sums_of = |chunk: &[usize]| {
        let (mut sums, mut pixels) = (none(), vec![0; shape.bytes()]);
        for &image in chunk {
            source.read(image, &mut pixels)?;
            let planes = pixels.chunks_exact(shape.height * shape.width);
            sums.iter_mut().zip(planes).for_each(|(sums, plane)| sums.add(plane));
        }
        Ok::<_, DataError>(sums)
    };
    let (mut sums, mut done) = (none(), 0);
    for block in images.chunks(CHUNK * CHUNKS_PER_THREAD * rayon::current_num_threads()) {
        let chunks = block.par_chunks(CHUNK).map(sums_of);
        sums = both(sums, chunks.try_reduce(none, |a, b| Ok(both(a, b)))?);
        done += block.len();
        go_on(progress(done, images.len()))?;
    }
    let count = images.len() * shape.height * shape.width;
    let (mean, deviation) = sums.iter().map(|sums| sums.mean_and_deviation(count)).unzip();
    Ok(ImagePreprocessing::new(shape, resize, mean, deviation))
}

impl Sums {
    fn add(&mut self, plane: &[u8]) {
        for &byte in plane {
            self.bytes += u64::from(byte);
            self.squares += u64::from(byte) * u64::from(byte);
        }
    }

    fn and(self, other: Self) -> Self {
        Self { bytes: self.bytes + other.bytes, squares: self.squares + other.squares }
    }

    /// Of the population of `count` bytes, as numbers between 0 and 1.
    fn mean_and_deviation(self, count: usize) -> (f64, f64) {
        if count == 0 {
            return (0.0, 1.0);
        }
        let (count, bytes, squares) =
            (count as u128, u128::from(self.bytes), u128::from(self.squares));
        let mean = bytes as f64 / count as f64 / 255.0;
        // The difference is exact, since it is one of whole numbers; it is rounded once.
        let spread = (count * squares - bytes * bytes) as f64;
        let deviation = spread.sqrt() / count as f64 / 255.0;
        (mean, if deviation > 0.0 { deviation } else { 1.0 })
    }
}

#[cfg(test)]
mod tests {
    use std::{ops::ControlFlow, sync::Arc};

    use super::*;
    use crate::{ImageShape, ImagesInMemory, Subset, drawn, silent};

    #[test]
    fn statistics_are_those_of_each_channel() {
        let images = ImagesInMemory {
            shape: ImageShape { channels: 3, height: 1, width: 2 },
            pixels: vec![0, 255, 7, 7, 0, 0, 0, 255, 7, 7, 0, 51],
            labels: vec![0, 1],
            classes: vec!["a".into(), "b".into()],
        };
        let measured = measure_images(&images, Resize::Stretch, &mut silent).unwrap();
        assert_eq!(measured.mean, [0.5, 7.0 / 255.0, 0.05]);
        assert_eq!(measured.deviation[..2], [0.5, 1.0]);
        assert!((measured.deviation[2] - 0.0075f64.sqrt()).abs() < 1e-15);
        assert_eq!((measured.size, measured.resize), ([1, 2], Resize::Stretch));
    }

    #[test]
    fn progress_is_told_and_may_stop() {
        let images = drawn::digits(0..1000, 1).unwrap();
        let mut told = Vec::new();
        let mut progress = |done, of| {
            told.push((done, of));
            ControlFlow::Break(())
        };
        let stopped = measure_images(&images, Resize::Crop, &mut progress);
        let error = stopped.unwrap_err();
        assert!(matches!(error, DataError::Stopped), "{error}");
        assert!(matches!(told[..], [(1..=1000, 1000)]), "{told:?}");
    }

    #[test]
    fn normalised_images_have_mean_0_and_deviation_1() {
        let images: Arc<dyn ImageSource> = Arc::new(drawn::shapes(0..200, 1).unwrap());
        let (train, held_out) = Subset::divide(&images, 0.2, 3).unwrap();
        assert_eq!((train.labels().len(), held_out.labels().len()), (160, 40));
        let measured = measure_images(&train, Resize::Crop, &mut silent).unwrap();

        let bytes = train.shape().bytes();
        let mut pixels = vec![0; 160 * bytes];
        let chunks = pixels.chunks_exact_mut(bytes).enumerate();
        chunks.for_each(|(index, pixels)| train.read(index, pixels).unwrap());
        let inputs = measured.normalise(&pixels);
        for channel in 0..3 {
            let of_channel = inputs.chunks_exact(bytes / 3).skip(channel).step_by(3).flatten();
            let values: Vec<f64> = of_channel.map(|&value| f64::from(value)).collect();
            let mean = values.iter().sum::<f64>() / values.len() as f64;
            let square =
                values.iter().map(|value| value * value).sum::<f64>() / values.len() as f64;
            assert!(mean.abs() < 1e-6 && (square - 1.0).abs() < 1e-6, "{mean} {square}");
        }
        assert_ne!(measured, measure_images(&held_out, Resize::Crop, &mut silent).unwrap());
    }
}
