//! Worker threads that read images ahead of the training thread.
//!
//! The threads live as long as the loader. A batch is divided among all of them, so the first is
//! there as soon as possible, and only a few batches are in flight, which bounds the memory. The
//! training thread takes them in order and makes the tensors: backends keep memory for each thread
//! that does.

use std::{
    any::Any,
    collections::VecDeque,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, Ordering},
        mpsc::{self, Receiver, Sender},
    },
    thread::{self, JoinHandle},
};

use backend::Part;

use crate::{DataError, ImageSource, images::allocate};

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
    /// None once the workers are to end.
    jobs: Option<Sender<Job>>,
    workers: Vec<JoinHandle<()>>,
}

/// A piece of a batch, to be read by one worker.
struct Job {
    samples: Vec<usize>,
    piece: usize,
    /// Set once nobody waits any more.
    abandoned: Arc<AtomicBool>,
    done: Sender<(usize, Result<Vec<u8>, DataError>)>,
}

impl Pipeline {
    /// Starts the workers. Without any, the thread that waits for a batch reads it.
    pub(super) fn new(source: Arc<dyn ImageSource>, workers: usize) -> Result<Self, DataError> {
        let (jobs, queue) = mpsc::channel();
        let queue = Arc::new(Mutex::new(queue));
        // Those that did start end with `pipeline`, should one fail to.
        let mut pipeline = Self { source, jobs: Some(jobs), workers: Vec::new() };
        for worker in 0..workers {
            let (source, queue) = (Arc::clone(&pipeline.source), Arc::clone(&queue));
            let started = thread::Builder::new()
                .name(format!("images-{worker}"))
                .spawn(move || work(&*source, &queue))
                .map_err(|source| DataError::Worker { source })?;
            pipeline.workers.push(started);
        }
        Ok(pipeline)
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

    /// Divides a batch among the workers.
    fn submit(&self, samples: Vec<usize>, part: Part, abandoned: &Arc<AtomicBool>) -> Pending {
        let (done, pieces) = mpsc::channel();
        if let Some(jobs) = &self.jobs {
            let length = samples.len().div_ceil(self.workers.len().max(1)).max(1);
            for (piece, samples) in samples.chunks(length).enumerate() {
                let (samples, abandoned, done) =
                    (samples.to_vec(), Arc::clone(abandoned), done.clone());
                // The result of a job that no worker takes never comes, which `wait` notices.
                let _ = jobs.send(Job { samples, piece, abandoned, done });
            }
        }
        Pending { samples, part, pieces, image_bytes: self.source.shape().bytes() }
    }
}

impl Drop for Pipeline {
    fn drop(&mut self) {
        self.jobs = None;
        for worker in self.workers.drain(..) {
            // The worker caught every panic of a source.
            let _ = worker.join();
        }
    }
}

fn work(source: &dyn ImageSource, queue: &Mutex<Receiver<Job>>) {
    loop {
        let next = queue.lock().unwrap_or_else(PoisonError::into_inner).recv();
        let Ok(Job { samples, piece, abandoned, done }) = next else { return };
        let pixels = read_images(source, &samples, &abandoned);
        // Nobody listens where the batches were given up.
        let _ = done.send((piece, pixels));
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
        catch_unwind(AssertUnwindSafe(|| source.read(image, pixels))).unwrap_or_else(
            |payload| Err(DataError::Panic { image, message: message(&*payload) }),
        )?;
    }
    Ok(pixels)
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
        if pipeline.workers.is_empty() {
            let (samples, part) = batches.next()?;
            let pixels = read_images(&*pipeline.source, &samples, abandoned);
            return Some(pixels.map(|pixels| ReadBatch { samples, part, pixels }));
        }
        let missing = (1 + AHEAD).saturating_sub(pending.len());
        let submit = |(samples, part)| pipeline.submit(samples, part, abandoned);
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
    /// Nobody waits for the batches still in flight.
    fn drop(&mut self) {
        self.abandoned.store(true, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
