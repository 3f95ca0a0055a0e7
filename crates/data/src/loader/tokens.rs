//! Batches of token ids.

use backend::{Backend, Part, Share};
use burn::tensor::{Int, Tensor, TensorData};

use super::{
    Batching,
    batching::{Loaded, loaded},
};
use crate::{
    DataError,
    text::{Streams, Windows},
};

/// A text, and its batches.
#[derive(Debug)]
pub struct TokenLoader<B: Backend> {
    source: Source,
    device: B::Device,
}

#[derive(Debug)]
enum Source {
    Windows(Windows, Batching),
    Streams(Streams, Share),
}

/// A part of an update, on the device.
#[derive(Clone, Debug)]
pub struct TokenBatch<B: Backend> {
    /// `[batch, time]`
    pub inputs: Tensor<B, 2, Int>,
    /// The token that follows each input, `[batch, time]`, or the last one, `[batch, 1]`
    pub targets: Tensor<B, 2, Int>,
    /// Whether the recurrent state starts anew; if not, each row continues where it ended.
    pub starts: bool,
    /// Rows of the update that come before this batch.
    pub first_row: usize,
    /// The share of the update. Its samples are the targets, each of which has a loss.
    pub part: Part,
}

impl<B: Backend> TokenLoader<B> {
    /// Independent windows, in the order and batches of `batching`.
    ///
    /// # Errors
    ///
    /// Where a size of `batching` is 0.
    pub fn windows(
        windows: Windows,
        batching: Batching,
        device: &B::Device,
    ) -> Result<Self, DataError> {
        batching.check()?;
        Ok(Self { source: Source::Windows(windows, batching), device: device.clone() })
    }

    /// Streams in the order of the text, so that a recurrent state can be carried. A batch has a
    /// row per stream, and is this process's part of an update: `share` of the streams.
    pub fn streams(streams: Streams, share: Share, device: &B::Device) -> Self {
        Self { source: Source::Streams(streams, share), device: device.clone() }
    }

    /// Targets in an epoch, each of which has a loss.
    pub fn samples(&self) -> usize {
        match &self.source {
            Source::Windows(windows, _) => windows.len(),
            Source::Streams(streams, _) => {
                streams.len() * streams.streams() * streams.sequence_length()
            }
        }
    }

    /// Updates in an epoch.
    pub fn steps_per_epoch(&self) -> usize {
        match &self.source {
            Source::Windows(windows, batching) => batching.steps_per_epoch(windows.len()),
            Source::Streams(streams, _) => streams.len(),
        }
    }

    /// The batches of an epoch, from its update number `first_step` on.
    pub fn batches(
        &self,
        epoch: usize,
        first_step: usize,
    ) -> Box<dyn Iterator<Item = TokenBatch<B>> + '_> {
        match &self.source {
            Source::Windows(windows, batching) => {
                let parts = batching.samples(windows.len(), epoch, first_step);
                Box::new(parts.map(move |(rows, part)| self.gather(windows, &rows, part)))
            }
            Source::Streams(streams, share) => {
                let steps = first_step..streams.len();
                Box::new(steps.map(move |step| self.slice(streams, *share, step)))
            }
        }
    }

    fn gather(&self, windows: &Windows, rows: &[usize], part: Part) -> TokenBatch<B> {
        let time = windows.sequence_length();
        let mut inputs = vec![0; rows.len() * time];
        let slices = rows.iter().zip(inputs.chunks_exact_mut(time));
        let targets: Vec<u32> = slices.map(|(&row, inputs)| windows.read(row, inputs)).collect();
        TokenBatch {
            inputs: self.upload(&inputs, [rows.len(), time]),
            targets: self.upload(&targets, [rows.len(), 1]),
            starts: true,
            first_row: part.first,
            part,
        }
    }

    fn slice(&self, streams: &Streams, share: Share, step: usize) -> TokenBatch<B> {
        let (rows, time) = (streams.streams(), streams.sequence_length());
        let (mut inputs, mut targets) = (vec![0; rows * time], vec![0; rows * time]);
        streams.read(step, &mut inputs, &mut targets);
        let Loaded { range, counts } = loaded(share, 0..rows);
        let (shape, tokens) = ([range.len(), time], range.start * time..range.end * time);
        TokenBatch {
            inputs: self.upload(&inputs[tokens.clone()], shape),
            targets: self.upload(&targets[tokens.clone()], shape),
            starts: step == 0,
            first_row: range.start,
            part: Part {
                first: tokens.start,
                samples: if counts { tokens.len() } else { 0 },
                of: rows * time,
                last: true,
            },
        }
    }

    fn upload(&self, ids: &[u32], shape: [usize; 2]) -> Tensor<B, 2, Int> {
        // A vocabulary is far smaller than the range of an `i32`.
        let ids: Vec<i32> = ids.iter().map(|&id| id as i32).collect();
        Tensor::from_data(TensorData::new(ids, shape), &self.device)
    }
}

#[cfg(test)]
mod tests {
    use backend::{Selected, device::Device};

    use super::*;
    use crate::{
        Order,
        text::{Tokens, tokens::Ids},
    };

    /// Inputs, targets, whether states begin, and the part of each batch.
    type Seen = Vec<(Vec<i64>, Vec<i64>, bool, Part)>;

    fn tokens(count: u16) -> Tokens {
        Tokens { name: "a text".into(), ids: Ids::U16((0..count).collect()) }
    }

    fn seen(loader: &TokenLoader<Selected>, epoch: usize, first_step: usize) -> Seen {
        let ids = |tensor: Tensor<Selected, 2, Int>| tensor.into_data().iter().collect();
        let read = |batch: TokenBatch<Selected>| {
            (ids(batch.inputs), ids(batch.targets), batch.starts, batch.part)
        };
        loader.batches(epoch, first_step).map(read).collect()
    }

    fn windows(order: Order, micro_batch: usize) -> TokenLoader<Selected> {
        let windows = Windows::new(tokens(13), 3).unwrap();
        let batching = Batching { micro_batch, ..Batching::new(order, 5, 4) };
        TokenLoader::windows(windows, batching, &Device::default()).unwrap()
    }

    #[test]
    fn windows_come_once_an_epoch_in_another_order() {
        let loader = windows(Order::Shuffled, 4);
        assert_eq!((loader.samples(), loader.steps_per_epoch()), (10, 3));
        let targets = |epoch| -> Vec<i64> {
            seen(&loader, epoch, 0).into_iter().flat_map(|batch| batch.1).collect()
        };
        let mut first = targets(0);
        assert_ne!(first, targets(1));
        assert_ne!(first, (3..13).collect::<Vec<_>>());
        first.sort_unstable();
        assert_eq!(first, (3..13).collect::<Vec<_>>());
        assert_eq!(seen(&loader, 1, 2), seen(&loader, 1, 0)[2..]);
        for (inputs, targets, starts, _) in seen(&loader, 0, 0) {
            assert!(starts);
            for (window, target) in inputs.chunks_exact(3).zip(targets) {
                assert_eq!(window, [target - 3, target - 2, target - 1]);
            }
        }
    }

    #[test]
    fn a_part_counts_targets() {
        let part = |first, samples, of, last| Part { first, samples, of, last };
        let loader = windows(Order::File, 3);
        let parts: Vec<Part> = seen(&loader, 0, 0).into_iter().map(|batch| batch.3).collect();
        let [a, b] = [part(0, 2, 4, false), part(2, 2, 4, true)];
        assert_eq!(parts, [a, b, a, b, part(0, 2, 2, true)]);
    }

    /// What dropout draws from, which counts rows where a part counts targets.
    #[test]
    fn a_batch_knows_the_rows_before_it() {
        let loader = windows(Order::File, 3);
        let first_rows: Vec<_> = loader.batches(0, 0).map(|batch| batch.first_row).collect();
        assert_eq!(first_rows, [0, 2, 0, 2, 0]);
        let (streams, device) = (Streams::new(tokens(13), 2, 3).unwrap(), Device::default());
        let loader = TokenLoader::<Selected>::streams(streams, Share { rank: 1, of: 2 }, &device);
        let batch = loader.batches(0, 0).next().unwrap();
        assert_eq!((batch.first_row, batch.part.first), (1, 3));
        assert_eq!(batch.inputs.into_data().iter::<i64>().collect::<Vec<_>>(), [6, 7, 8]);
    }

    #[test]
    fn streams_go_on_and_say_where_they_begin() {
        let streams = Streams::new(tokens(13), 2, 3).unwrap();
        let loader = TokenLoader::<Selected>::streams(streams, Share::WHOLE, &Device::default());
        assert_eq!((loader.samples(), loader.steps_per_epoch()), (12, 2));
        let first = (vec![0, 1, 2, 6, 7, 8], vec![1, 2, 3, 7, 8, 9], true, Part::whole(6));
        let second = (vec![3, 4, 5, 9, 10, 11], vec![4, 5, 6, 10, 11, 12], false, Part::whole(6));
        assert_eq!(seen(&loader, 0, 0), [first, second.clone()]);
        assert_eq!(seen(&loader, 1, 1), [second]);
    }

    #[test]
    fn a_process_without_a_stream_has_one_that_does_not_count() {
        let parts = [0, 1, 2].map(|rank| {
            let streams = Streams::new(tokens(13), 2, 3).unwrap();
            let loader = TokenLoader::streams(streams, Share { rank, of: 3 }, &Device::default());
            let (inputs, _, _, part) = seen(&loader, 0, 0).swap_remove(0);
            assert_eq!((inputs.len(), part.of), (3, 6));
            part.samples
        });
        assert_eq!(parts.iter().sum::<usize>(), 6, "{parts:?}");
    }
}
