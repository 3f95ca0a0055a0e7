//! Worker threads that read images ahead of the training thread.
//!
//! The threads live as long as the loader. A batch is divided among all of them, so the first is
//! there as soon as possible, and only a few batches are in flight, which bounds the memory. The
//! training thread takes them in order and makes the tensors: backends keep memory for each thread
//! that does.

use std::{
    any::Any,
    collections::VecDeque,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
        mpsc::{self, Receiver},
    },
};

use backend::Part;
use rayon::{ThreadPool, ThreadPoolBuilder};

use crate::{DataError, ImageSource, contained::contain, images::allocate};

/// Batches that are read ahead of the one that is next.
const AHEAD: usize = 2;

/// The images of a batch, read: `[samples, channels, height, width]`.
pub(super) struct ReadBatch {
    pub(super) samples: Vec<usize>,
    pub(super) part: Part,
    pub(super) pixels: Vec<u8>,
}

/// What reads the images of a source.
pub(super) struct Pipeline {
    source: Arc<dyn ImageSource>,
    /// None where the thread that waits for a batch reads it.
    workers: Option<ThreadPool>,
}

impl Pipeline {
    /// Starts the workers. Without any, the thread that waits for a batch reads it.
    pub(super) fn new(source: Arc<dyn ImageSource>, workers: usize) -> Result<Self, DataError> {
        let start = || {
            ThreadPoolBuilder::new()
                .num_threads(workers)
                .thread_name(|worker| format!("images-{worker}"))
                // A piece that panics never comes, which `wait` notices. By default rayon aborts.
                .panic_handler(|_| ())
                .build()
        };
        let workers = (workers > 0).then(start).transpose();
        Ok(Self { source, workers: workers.map_err(|reason| DataError::Worker { reason })? })
    }

    /// Reads batches in their order; after an error there are no more.
    pub(super) fn read<I>(&self, batches: I) -> Reading<'_, I::IntoIter>
    where
        I: IntoIterator<Item = (Vec<usize>, Part)>,
    {
        Reading {
            pipeline: self,
            batches: batches.into_iter(),
            pending: VecDeque::new(),
            abandoned: Arc::default(),
        }
    }

    /// Divides a batch among the workers, which take the pieces of all batches in their order.
    fn submit(
        &self,
        workers: &ThreadPool,
        (samples, part): (Vec<usize>, Part),
        abandoned: &Arc<AtomicBool>,
    ) -> Pending {
        let (done, pieces) = mpsc::channel();
        let length = samples.len().div_ceil(workers.current_num_threads()).max(1);
        for (piece, samples) in samples.chunks(length).enumerate() {
            let (source, samples) = (Arc::clone(&self.source), samples.to_vec());
            let (abandoned, done) = (Arc::clone(abandoned), done.clone());
            workers.spawn(move || {
                let pixels = read_images(&*source, &samples, &abandoned);
                drop(source); // before anyone hears that the piece is done
                // Nobody listens where the batches were given up.
                let _ = done.send((piece, pixels));
            });
        }
        Pending { samples, part, pieces, image_bytes: self.source.shape().bytes() }
    }
}

/// The pixels of images, one after the other.
fn read_images(
    source: &dyn ImageSource,
    samples: &[usize],
    abandoned: &AtomicBool,
) -> Result<Vec<u8>, DataError> {
    let bytes = source.shape().bytes();
    let mut pixels = allocate(samples.len(), bytes)?;
    for (&image, pixels) in samples.iter().zip(pixels.chunks_exact_mut(bytes)) {
        if abandoned.load(Ordering::Relaxed) {
            break;
        }
        read_contained(source, image, pixels)?;
    }
    Ok(pixels)
}

/// Reads an image; a panic of its source is an error like others.
pub(super) fn read_contained(
    source: &dyn ImageSource,
    image: usize,
    pixels: &mut [u8],
) -> Result<(), DataError> {
    contain(|| source.read(image, pixels))
        .unwrap_or_else(|payload| Err(DataError::Panic { image, message: message(&*payload) }))
}

/// What a panic said.
fn message(payload: &(dyn Any + Send)) -> String {
    let text = payload.downcast_ref::<String>().map(String::as_str);
    let text = text.or_else(|| payload.downcast_ref::<&str>().copied());
    text.unwrap_or("it gave no reason").to_owned()
}

/// A batch that the workers read.
struct Pending {
    samples: Vec<usize>,
    part: Part,
    pieces: Receiver<(usize, Result<Vec<u8>, DataError>)>,
    image_bytes: usize,
}

impl Pending {
    /// Waits for all pieces. Of several errors that of the first sample counts.
    fn wait(self) -> Result<ReadBatch, DataError> {
        let Self { samples, part, pieces, image_bytes } = self;
        let mut pieces: Vec<_> = pieces.into_iter().collect();
        pieces.sort_by_key(|&(piece, _)| piece);
        let pixels = pieces.into_iter().map(|(_, pixels)| pixels).collect::<Result<Vec<_>, _>>()?;
        let pixels = pixels.concat();
        if pixels.len() != samples.len() * image_bytes {
            let image = samples.first().copied().unwrap_or(0);
            let message = "the threads that read its batch ended".to_owned();
            return Err(DataError::Panic { image, message });
        }
        Ok(ReadBatch { samples, part, pixels })
    }
}

/// The batches of a part of an epoch, as they are read.
pub(super) struct Reading<'a, I> {
    pipeline: &'a Pipeline,
    batches: I,
    pending: VecDeque<Pending>,
    abandoned: Arc<AtomicBool>,
}

impl<I: Iterator<Item = (Vec<usize>, Part)>> Reading<'_, I> {
    fn next_batch(&mut self) -> Option<Result<ReadBatch, DataError>> {
        let Self { pipeline, batches, pending, abandoned } = self;
        let Some(workers) = &pipeline.workers else {
            let (samples, part) = batches.next()?;
            let pixels = read_images(&*pipeline.source, &samples, abandoned);
            return Some(pixels.map(|pixels| ReadBatch { samples, part, pixels }));
        };
        let missing = (1 + AHEAD).saturating_sub(pending.len());
        let submit = |batch| pipeline.submit(workers, batch, abandoned);
        pending.extend(batches.take(missing).map(submit));
        Some(pending.pop_front()?.wait())
    }
}

impl<I: Iterator<Item = (Vec<usize>, Part)>> Iterator for Reading<'_, I> {
    type Item = Result<ReadBatch, DataError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.abandoned.load(Ordering::Relaxed) {
            return None;
        }
        let batch = self.next_batch();
        if matches!(batch, Some(Err(_))) {
            self.abandoned.store(true, Ordering::Relaxed);
        }
        batch
    }
}

impl<I> Drop for Reading<'_, I> {
    /// Gives up the batches still in flight, and waits for the images that are being read: then no
    /// worker holds the source any more.
    fn drop(&mut self) {
        self.abandoned.store(true, Ordering::Relaxed);
        for Pending { pieces, .. } in self.pending.drain(..) {
            pieces.into_iter().for_each(drop);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::thread;

    use super::*;
    use crate::ImageShape;

    /// Panics in a worker before an image is read.
    struct Shapeless;

    impl ImageSource for Shapeless {
        fn shape(&self) -> ImageShape {
            let in_worker =
                thread::current().name().is_some_and(|name| name.starts_with("images-"));
            assert!(!in_worker, "a bug");
            ImageShape { channels: 1, height: 1, width: 1 }
        }

        fn classes(&self) -> &[String] {
            &[]
        }

        fn labels(&self) -> &[u32] {
            &[0; 4]
        }

        fn read(&self, _index: usize, _pixels: &mut [u8]) -> Result<(), DataError> {
            Ok(())
        }
    }

    #[test]
    fn a_panic_beside_the_reading_of_an_image_is_an_error_too() {
        let pipeline = Pipeline::new(Arc::new(Shapeless), 2).unwrap();
        let part = Part { first: 0, samples: 2, of: 2, last: true };
        let mut batches = pipeline.read([(vec![0, 1], part), (vec![2, 3], part)]);
        let error = batches.next().unwrap().err().unwrap().to_string();
        assert_eq!(error, "reading image 0 broke down: the threads that read its batch ended");
        assert!(batches.next().is_none());
    }

    #[test]
    fn a_batch_of_which_a_piece_never_comes_is_an_error() {
        let (done, pieces) = mpsc::channel();
        done.send((0, Ok(vec![1, 2, 3]))).unwrap();
        drop(done);
        let part = Part { first: 0, samples: 2, of: 2, last: true };
        let pending = Pending { samples: vec![7, 4], part, pieces, image_bytes: 3 };
        let error = pending.wait().err().unwrap().to_string();
        assert_eq!(error, "reading image 7 broke down: the threads that read its batch ended");
    }
}
