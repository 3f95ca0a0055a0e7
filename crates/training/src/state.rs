//! Everything that determines the rest of a run, as one value.

use std::collections::BTreeMap;

use backend::{
    AutodiffBackend, Backend, Part,
    functional::sum,
    primitive::{primitive, tensor},
};
use burn::{
    module::AutodiffModule,
    tensor::{ElementConversion, Tensor},
};
use serde::{Deserialize, Serialize};

use crate::{
    Best, Measured, Metrics, Monitor, TrainError, TrainerConfig,
    average::Average,
    correct::{Correct, CorrectOnDevice},
    gradients::{Gradients, SquareSums, update},
    loss_scale::LossScale,
    optimizer::Slots,
    parameters::Parameter,
    patience::Patience,
    schedule::Plateau,
    timing::{Interval, PhaseTimes, Tuning},
};

/// The state of a run: the part on the device, and in [`Record`] that on the host.
pub(crate) struct State<B: AutodiffBackend, M: AutodiffModule<B>> {
    pub(crate) model: Option<M>, // none only while it is being replaced
    pub(crate) slots: Vec<Option<Slots<B::InnerBackend>>>,
    pub(crate) average: Average<B::InnerBackend>,
    /// The model of the best epoch, where it is to be kept.
    pub(crate) best_model: Option<M::InnerModule>,
    /// What a recurrent network carries from one update to the next: `[streams, width]` each.
    pub(crate) carried: BTreeMap<String, Tensor<B::InnerBackend, 2>>,
    /// Where losses are scaled.
    pub(crate) loss_scale: Option<LossScale<B::InnerBackend>>,
    /// Nonzero once a value was not finite.
    pub(crate) diverged: Tensor<B::InnerBackend, 1>,
    /// The sum of the losses since the host last read it.
    pub(crate) interval_loss: Tensor<B::InnerBackend, 1>,
    /// The sum of the losses of the current or last update.
    pub(crate) update_loss: Tensor<B::InnerBackend, 1>,
    /// The correct predictions of this process since the host last read them.
    pub(crate) correct: CorrectOnDevice<B::InnerBackend>,
    /// Whether this process had a share of the last update.
    pub(crate) last_counts: bool,
    /// The message that processes exchange for an update.
    pub(crate) message: Vec<f32>,
    /// The gradients of an incomplete update.
    accumulated: Option<Gradients<B::InnerBackend>>,
    /// Of the last update's gradients, before they were clipped.
    squares: SquareSums<B::InnerBackend>,
    /// Their norm where another process made the last update; NaN where it is unknown.
    pub(crate) norm_before: f64,
    zero: Tensor<B::InnerBackend, 1>,
    pub(crate) record: Record,
}

/// A value that is not finite.
pub(crate) enum NotFinite {
    Loss,
    /// Of the parameter at this position.
    Gradient(usize),
}

/// The part of the state on the host.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Record {
    /// Updates made.
    pub(crate) step: u64,
    /// Epochs that have ended.
    pub(crate) epochs_ended: usize,
    /// Updates made in the epoch that follows.
    pub(crate) position: usize,
    /// Samples seen, repetitions counted.
    pub(crate) samples: u64,
    /// Samples of the current or last update.
    pub(crate) update_samples: usize,
    /// The learning rate of the last update.
    pub(crate) learning_rate: f64,
    /// Of each parameter, in the order in which the model is visited; empty before the first update.
    pub(crate) updates_of: Vec<UpdatesOf>,
    pub(crate) plateau: Plateau,
    pub(crate) early_stopping: Patience,
    /// Sums since the last log line, and since the epoch began.
    pub(crate) interval: Interval,
    pub(crate) epoch: Interval,
    /// Seconds of training.
    pub(crate) seconds: f64,
    pub(crate) tuning: Tuning,
    /// The last measurement.
    pub(crate) validation: Option<Measured>,
    /// The best epoch, and all that was measured then.
    pub(crate) best: Option<(Best, Measured)>,
}

/// The updates of a parameter: those for which it had a gradient.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct UpdatesOf {
    /// How many there were.
    pub(crate) count: u64,
    /// The product of NAdam's momenta over them.
    pub(crate) momentum_product: f64,
}

impl Default for UpdatesOf {
    fn default() -> Self {
        Self { count: 0, momentum_product: 1.0 }
    }
}

impl Record {
    /// Epochs that have ended, and the current one.
    pub(crate) fn epochs_begun(&self) -> usize {
        self.epochs_ended + usize::from(self.position > 0)
    }

    /// Adds correct predictions.
    pub(crate) fn note_correct(&mut self, correct: Correct) {
        self.interval.correct += correct;
        self.epoch.correct += correct;
    }

    /// Notes that the last update tuned, from one of the clock's seconds to another; an interval may have begun
    /// between them.
    pub(crate) fn note_tuning(&mut self, from: f64, until: f64) {
        let samples = self.update_samples as u64;
        self.tuning += Tuning { samples, seconds: until - from };
        for interval in [&mut self.interval, &mut self.epoch] {
            interval.tuning += Tuning { samples, seconds: until - from.max(interval.since) };
        }
    }

    /// Checks that the run has not passed its end; at its end, it is over at once.
    ///
    /// # Errors
    ///
    /// [`TrainError::Passed`].
    pub(crate) fn check_end(&self, config: &TrainerConfig) -> Result<(), TrainError> {
        let epochs = ("training.epochs", config.epochs as u64, self.epochs_begun() as u64);
        let steps = ("training.max_steps", config.max_steps.unwrap_or(u64::MAX), self.step);
        for (key, value, done) in [epochs, steps] {
            if value < done {
                return Err(TrainError::Passed { key, value, done });
            }
        }
        Ok(())
    }
}

impl<B: AutodiffBackend, M: AutodiffModule<B>> State<B, M> {
    /// The state before the first step.
    pub(crate) fn new(
        model: M,
        parameters: usize,
        config: &TrainerConfig,
        device: &B::Device,
    ) -> Self {
        let zero = || Tensor::zeros([1], device);
        Self {
            model: Some(model),
            slots: std::iter::repeat_with(|| None).take(parameters).collect(),
            average: Average(Vec::new()),
            best_model: None,
            carried: BTreeMap::new(),
            loss_scale: config.loss_scaling.then(|| LossScale::new(device)),
            diverged: zero(),
            interval_loss: zero(),
            update_loss: zero(),
            correct: CorrectOnDevice::new(Correct::default(), device),
            last_counts: true,
            message: Vec::new(),
            accumulated: None,
            squares: SquareSums::none(),
            norm_before: 0.0,
            zero: zero(),
            record: Record::default(),
        }
    }

    /// The model as it is now.
    pub(crate) fn model(&self) -> &M {
        self.model.as_ref().expect("the model is put back by whatever takes it")
    }

    /// Replaces the model by what `map` makes of it.
    pub(crate) fn map_model(&mut self, map: impl FnOnce(M) -> M) {
        let model = self.model.take().expect("the model is put back by whatever takes it");
        self.model = Some(map(model));
    }

    /// The model to evaluate: without gradients, and with the averages where they are taken.
    pub(crate) fn evaluated(&self) -> M::InnerModule {
        self.average.apply(self.model().valid())
    }

    /// Runs the backward pass of a part of an update; the last part returns the gradients of all.
    pub(crate) fn accumulate(
        &mut self,
        losses: Tensor<B, 1>,
        part: Part,
    ) -> Option<Gradients<B::InnerBackend>> {
        self.last_counts = part.samples > 0;
        let losses = if self.last_counts { losses } else { losses * 0.0 };
        let seen = sum(losses.clone().inner());
        let losses = tensor(B::gradient_divided(primitive(losses), part.of));
        let losses = match &self.loss_scale {
            None => losses,
            Some(scale) => losses * Tensor::from_inner(scale.factor.clone()),
        };
        let gradients = Gradients::of(&losses, self.model());
        self.record.update_samples = part.of;
        let gradients = match self.accumulated.take() {
            None => {
                self.update_loss = seen;
                gradients
            }
            Some(before) => {
                self.update_loss = self.update_loss.clone() + seen;
                before.add(gradients)
            }
        };
        if part.last {
            return Some(gradients);
        }
        self.accumulated = Some(gradients);
        None
    }

    /// Makes an update, unless a value is or was not finite.
    pub(crate) fn update(
        &mut self,
        gradients: Gradients<B::InnerBackend>,
        parameters: &[Parameter],
        config: &TrainerConfig,
    ) {
        let learning_rate = self.next_learning_rate(config);
        let record = &mut self.record;
        record.learning_rate = learning_rate;
        record.step += 1;
        record.position += 1;
        let samples = record.update_samples as u64;
        record.samples += samples;
        record.interval.samples += samples;
        record.epoch.samples += samples;
        record.updates_of.resize(parameters.len(), UpdatesOf::default());
        for (updates, is_there) in record.updates_of.iter_mut().zip(gradients.are_there()) {
            if is_there {
                updates.count += 1;
                updates.momentum_product *= config.optimizer.momentum_of_nadam(updates.count);
            }
        }
        self.interval_loss = self.interval_loss.clone() + self.update_loss.clone();

        let gradients = match &self.loss_scale {
            None => gradients,
            Some(scale) => gradients.rescaled(scale.inverse()),
        };
        self.squares = gradients.square_sums();
        let squares = match config.group.is_shared() {
            true => self.squares.total_in_order(),
            false => self.squares.of_each(),
        };
        let squares = squares.unwrap_or_else(|| self.zero.clone());
        let [factor, skips] = self.note_whether_finite(squares, config.clip_norm);
        let gradients = match config.clip_norm {
            None => gradients,
            Some(_) => gradients.rescaled(factor),
        };

        let record = &self.record;
        let update_number = record.step;
        let rule = |position: usize| {
            let known: &Parameter = &parameters[position];
            let rule = config.optimizer.rule(learning_rate, &record.updates_of[position]);
            rule.of(known.factor, known.decays)
        };
        let model = self.model.take().expect("the model is put back by whatever takes it");
        let model = update(model, gradients, &mut self.slots, primitive(skips), rule);
        if let Some(decay) = config.ema {
            self.average.note(&model, parameters, decay, update_number);
        }
        self.model = Some(model);
    }

    /// Notes whether an update with these sums of squares is finite; returns the factor that limits the norm of
    /// its gradients to `clip_norm`, and whether to skip the update, zero if not: `[1]` each.
    fn note_whether_finite(
        &mut self,
        square_sums: Tensor<B::InnerBackend, 1>,
        clip_norm: Option<f64>,
    ) -> [Tensor<B::InnerBackend, 1>; 2] {
        let judged = |square_sums, loss, diverged, clip_norm| {
            let [square_sums, loss, diverged] = [square_sums, loss, diverged].map(primitive);
            B::InnerBackend::fused_divergence(square_sums, loss, diverged, clip_norm).map(tensor)
        };
        let loss = self.update_loss.clone();
        let Some(scale) = &mut self.loss_scale else {
            let [factor, diverged] = judged(square_sums, loss, self.diverged.clone(), clip_norm);
            self.diverged = diverged.clone();
            return [factor, diverged];
        };
        // Scaled gradients may overflow; a loss, which is not scaled, may not.
        let zero = || self.zero.clone();
        let [factor, overflowed] = judged(square_sums, zero(), zero(), clip_norm);
        let [_, lost] = judged(zero(), loss, scale.note(overflowed.clone()), None);
        self.diverged = self.diverged.clone().max_pair(lost);
        [factor, self.diverged.clone().max_pair(overflowed)]
    }

    /// Where the model is.
    pub(crate) fn device(&self) -> B::Device {
        self.diverged.device()
    }

    /// Waits for the device. Here alone WGPU reports kernels that did not run.
    pub(crate) fn wait(&self) -> Result<(), TrainError> {
        B::sync(&self.device())
            .map_err(|error| TrainError::DeviceFailed { reason: error.to_string() })
    }

    /// Whether a value was not finite; waits for the device.
    pub(crate) fn has_diverged(&self) -> bool {
        let diverged: f32 = self.diverged.clone().into_scalar().elem();
        diverged != 0.0
    }

    /// What was not finite in the last update: the loss, or the first such gradient; none where only an
    /// earlier update had such a value. Waits for the device.
    pub(crate) fn not_finite(&self) -> Option<NotFinite> {
        if !self.last_loss().is_finite() {
            return Some(NotFinite::Loss);
        }
        self.squares.first_not_finite().map(NotFinite::Gradient)
    }

    /// The norm of the last update's gradients, before they were clipped; waits for the device.
    pub(crate) fn gradient_norm(&self) -> f64 {
        let squares = self.squares.of_each();
        let squares = squares.map(|squares| sum(squares).into_scalar().elem::<f64>());
        squares.map_or(self.norm_before, f64::sqrt)
    }

    /// Reads what was summed on the device since the last call; waits for the device.
    pub(crate) fn read_sums(&mut self) {
        self.record.note_correct(self.correct.take().read());
        let loss: f64 = self.interval_loss.clone().into_scalar().elem();
        self.interval_loss = self.interval_loss.zeros_like();
        for interval in [&mut self.record.interval, &mut self.record.epoch] {
            interval.loss_sum += loss;
        }
    }

    /// Records the time spent on the steps since the last call.
    pub(crate) fn spend(&mut self, spent: PhaseTimes) {
        for interval in [&mut self.record.interval, &mut self.record.epoch] {
            interval.spent += spent;
        }
    }

    /// The mean loss of the last update, NaN before the first; waits for the device.
    pub(crate) fn last_loss(&self) -> f64 {
        let sum: f64 = self.update_loss.clone().into_scalar().elem();
        sum / self.record.update_samples as f64
    }

    /// Ends an epoch with what validation measured of `model`.
    pub(crate) fn end_epoch(
        &mut self,
        validation: Option<Metrics>,
        model: M::InnerModule,
        config: &TrainerConfig,
    ) {
        let record = &mut self.record;
        record.epochs_ended += 1;
        record.position = 0;
        record.validation = validation.map(Measured);
        let Some(measured) = &record.validation else { return };
        let Monitor { metric, .. } = &config.monitor;
        let Some(&value) = measured.0.get(metric) else { return };
        let error = config.monitor.error(value);
        record.plateau.note(error, &config.schedule);
        record.early_stopping.note(error, |best| best - config.minimum_improvement);
        // Of tied epochs, common with few samples, the one with the lower loss is better.
        let loss = |measured: &Measured| measured.0.get("loss").copied().unwrap_or(f64::INFINITY);
        let is_best = match &record.best {
            None => error < f64::INFINITY,
            Some((best, of_best)) => {
                let best = config.monitor.error(best.value);
                error < best || error == best && loss(measured) < loss(of_best)
            }
        };
        if is_best {
            let best = Best { epoch: record.epochs_ended, metric: metric.clone(), value };
            record.best = Some((best, measured.clone()));
            self.best_model = config.keep_best.then_some(model);
        }
    }

    /// Whether the run has come to its end.
    pub(crate) fn is_over(&self, config: &TrainerConfig) -> bool {
        let complete = self.is_complete(config) || self.stops_early(config);
        self.record.position == 0 && complete
    }

    /// Whether all epochs or updates were made.
    pub(crate) fn is_complete(&self, config: &TrainerConfig) -> bool {
        let Record { step, epochs_ended, .. } = self.record;
        epochs_ended >= config.epochs || step >= config.length().steps
    }

    /// Whether the run ends within an epoch.
    pub(crate) fn is_cut(&self, config: &TrainerConfig) -> bool {
        let Record { step, position, .. } = self.record;
        step >= config.length().steps && (1..config.steps_per_epoch).contains(&position)
    }

    /// Whether validation has not improved for too long.
    fn stops_early(&self, config: &TrainerConfig) -> bool {
        let epochs = self.record.early_stopping.epochs_since();
        config.patience.is_some_and(|patience| epochs >= patience)
    }

    /// The learning rate of the next update.
    pub(crate) fn next_learning_rate(&self, config: &TrainerConfig) -> f64 {
        let base = config.optimizer.learning_rate;
        let rate = config.schedule.learning_rate(base, self.record.step, config.length());
        self.record.plateau.lower(rate, &config.schedule)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_interval_leaves_out_no_seconds_from_before_it_began() {
        let mut record = Record { update_samples: 32, ..Record::default() };
        (record.interval.since, record.epoch.since) = (3.0, 1.0);
        record.note_tuning(2.0, 7.0);
        let tuning = |seconds| Tuning { samples: 32, seconds };
        let intervals = [record.interval.tuning, record.epoch.tuning];
        assert_eq!((intervals, record.tuning), ([tuning(4.0), tuning(5.0)], tuning(5.0)));
    }

    /// A perfect reconstruction has an infinite signal-to-noise ratio, a loss of 0 or more an infinite sum.
    #[test]
    fn infinite_numbers_are_saved() {
        let measured = Measured([("psnr".to_owned(), f64::INFINITY)].into());
        let best = Best { epoch: 1, metric: "psnr".to_owned(), value: f64::INFINITY };
        let mut record = Record {
            validation: Some(measured.clone()),
            best: Some((best, measured)),
            ..Record::default()
        };
        record.early_stopping.note(f64::NEG_INFINITY, |best| best);
        record.epoch.loss_sum = f64::INFINITY;
        let json = serde_json::to_string(&record).unwrap();
        assert_eq!(serde_json::from_str::<Record>(&json).unwrap(), record);
    }
}
