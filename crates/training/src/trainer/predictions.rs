//! The predictions of a batch, from which the training accuracy is computed.

use backend::{AutodiffBackend, Part};
use burn::{
    module::AutodiffModule,
    tensor::{Int, Tensor},
};

use crate::Trainer;

/// The logits `[batch, classes]` and the targets `[batch]`.
pub(super) type Predictions<B> = (Tensor<B, 2>, Tensor<B, 1, Int>);

impl<B: AutodiffBackend, M: AutodiffModule<B>> Trainer<'_, B, M> {
    /// Counts how many predictions of a part are correct, for the training accuracy; to be called before the
    /// part's [`step`](Self::step), for each part or for none. The accuracy is that of the model in training,
    /// with dropout, on augmented samples, and while it changes: as in Keras's progress bar.
    ///
    /// - `logits`: `[batch, classes]`; a single logit of two classes predicts 1 where it is positive, else 0
    /// - `targets`: `[batch]`
    ///
    /// # Panics
    ///
    /// Where there is not one target for each sample; if it is called twice before a step.
    #[track_caller]
    pub fn count_correct(&mut self, logits: &Tensor<B, 2>, targets: &Tensor<B, 1, Int>) {
        assert_eq!(targets.dims(), [logits.dims()[0]], "a target for each sample");
        // A checkpoint may be written at the beginning of the step, which must not hold what comes after.
        let predictions = (logits.clone().inner(), targets.clone().inner());
        let before = self.predictions.replace(predictions);
        assert!(before.is_none(), "`count_correct` is to be called once before each `step`");
    }

    /// Counts the predictions of the part, if they are there.
    pub(super) fn note_predictions(&mut self, part: Part) {
        // Without samples, predictions are placeholders.
        if let Some((logits, targets)) = self.predictions.take()
            && part.samples > 0
        {
            let state = &mut self.state;
            if state.correct.may_be_inexact(targets.dims()[0]) {
                state.record.note_correct(state.correct.take().read());
            }
            state.correct.add(logits, targets);
        }
    }
}
