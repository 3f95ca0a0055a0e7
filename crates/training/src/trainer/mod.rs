//! The trainer: the state of a run, and the methods that a recipe's loop calls.

mod checkpoints;
mod checks;
mod predictions;
mod processes;
mod report;

use std::{cell::Cell, fmt, rc::Rc, time::Instant};

use backend::{AutodiffBackend, Part};
use burn::{module::AutodiffModule, tensor::Tensor};

use crate::{
    Best, EndStatus, Epoch, Event, Metrics, Observer, Stop, TrainError, TrainerConfig,
    parameters::{Parameter, are_trained, not_finite, sums},
    state::State,
    timing::{Interval, Timing, Tuning},
};

pub use self::report::TUNING_UPDATES;
use self::{checkpoints::Saving, checks::Checks, predictions::Predictions};

/// A trained model, and how its training went.
#[derive(Debug)]
pub struct Trained<M> {
    /// The model, without gradients: of the best epoch so far with
    /// [`keep_best`](TrainerConfig::keep_best), however the run ended.
    pub model: M,
    /// How training ended.
    pub status: EndStatus,
    /// Epochs begun.
    pub epochs: usize,
    /// Updates made.
    pub steps: u64,
    /// Samples seen, repetitions included.
    pub samples: u64,
    /// The number of trained values.
    pub trainable_parameters: usize,
    /// Seconds of training: data and logging included, validation and preparation excluded.
    pub seconds_training: f64,
    /// The part in which a GPU tuned kernels.
    pub tuning: Tuning,
    /// The mean loss over the last epoch's samples, as far as it went; NaN where there were none.
    pub train_loss: f64,
    /// The share of its correct predictions, where they were [counted](Trainer::count_correct).
    pub train_accuracy: Option<f64>,
    /// What validation measured of this model; none if it was not validated, like the last of a run
    /// interrupted within an epoch.
    pub validation: Option<Metrics>,
    /// The best epoch, where there is a validation split.
    pub best: Option<Best>,
    /// The epoch, counted from 1, whose model this is, where a better one than the last was kept.
    pub kept_epoch: Option<usize>,
}

/// The state of a training run; see the [crate documentation](crate) for the loop around it.
pub struct Trainer<'run, B: AutodiffBackend, M: AutodiffModule<B>> {
    config: TrainerConfig,
    parameters: Vec<Parameter>,
    state: State<B, M>,
    observer: &'run mut dyn Observer,
    stops: Stops,
    began_at: u64, // updates made before this process took over
    in_epoch: bool,
    in_update: Rc<Cell<bool>>, // between the parts of an update
    in_parts: [usize; 2],      // samples of these parts, and of the whole update
    predictions: Option<Predictions<B::InnerBackend>>, // of the part that is next
    shown: Vec<Event>,         // samples of this epoch, told once it has ended
    diverged: bool,
    timing: Timing,
    saving: Saving,
    checks: Checks,
}

/// What ends training.
struct Stops {
    interrupt: Stop, // asked of this process
    agreed: Stop,    // by all processes
    done: Stop,      // requested with it, and once all updates are made
}

impl Stops {
    fn new(interrupt: Stop, is_shared: bool) -> Self {
        let agreed = if is_shared { Stop::default() } else { interrupt.clone() };
        Self { interrupt, done: agreed.inner(), agreed }
    }
}

impl<B: AutodiffBackend, M: AutodiffModule<B>> fmt::Debug for Trainer<'_, B, M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut parts = f.debug_struct("Trainer");
        parts.field("config", &self.config).field("step", &self.step_number());
        parts.finish_non_exhaustive()
    }
}

impl<'run, B: AutodiffBackend, M: AutodiffModule<B>> Trainer<'run, B, M> {
    /// A run from its first step, or from its newest checkpoint if the observer's
    /// [`CheckpointStore`](crate::CheckpointStore) has any.
    ///
    /// Parameters without gradients (`Module::no_grad` of Burn) are not trained, but saved with the rest; a
    /// [`ParameterGroup`](crate::ParameterGroup) gives some a learning rate of their own. Frozen batch
    /// normalisation still updates its running statistics from the batch: give a frozen part an evaluation
    /// pass of its own.
    ///
    /// Where the newest checkpoint is that of a finished run, nothing is trained: another loss or other
    /// data need another folder, or an entry in [`TrainerConfig::fingerprints`].
    ///
    /// - `device`: where the model is
    /// - `interrupt`: what ends the run after an update, for instance on a signal
    ///
    /// # Errors
    ///
    /// [`TrainError::Config`] where a setting is out of range; [`TrainError::NotFloat`] and
    /// [`TrainError::Tied`] where a parameter cannot be trained; [`TrainError::OtherRun`] where the
    /// checkpoint does not fit the model or its settings; [`TrainError::Passed`] where the run is to
    /// end before it; [`TrainError::Unreadable`] and [`TrainError::OtherVersion`] where it may be whole
    /// but cannot be read; [`TrainError::NoneUsable`] where all are damaged; [`TrainError::Store`]
    /// where the directory of checkpoints cannot be created; [`TrainError::InUse`] where another trainer
    /// has it; [`TrainError::Group`]; [`TrainError::Observer`].
    pub fn new(
        model: M,
        config: TrainerConfig,
        device: &B::Device,
        observer: &'run mut dyn Observer,
        interrupt: Stop,
    ) -> Result<Self, TrainError> {
        config.check()?;
        let parameters = Parameter::all(&model, &config)?;
        let not_finite_at_start = not_finite(&model, |position| !parameters[position].trained);
        let mut trainer = Self {
            state: State::new(model, parameters.len(), &config, device),
            parameters,
            observer,
            stops: Stops::new(interrupt, config.group.is_shared()),
            config,
            began_at: 0,
            in_epoch: false,
            in_update: Rc::default(),
            in_parts: [0; 2],
            predictions: None,
            shown: Vec::new(),
            diverged: false,
            timing: Timing::new(),
            saving: Saving::new(),
            checks: Checks::new(not_finite_at_start),
        };
        trainer.begin_or_resume()?;
        trainer.began_at = trainer.step_number();
        trainer.timing.tuned_until = trainer.timing.clock.seconds();
        trainer.checks.model_finite_until = trainer.began_at;
        let Self { parameters, state, .. } = &trainer;
        let is_running = |position: usize| parameters[position].is_running_statistic(parameters);
        trainer.checks.statistics_before = sums(state.model(), is_running);
        trainer.tell_of_tuning()?;
        Ok(trainer)
    }

    /// The model as it is now.
    pub fn model(&self) -> &M {
        self.state.model()
    }

    /// Replaces the model with the result of `map`, for instance to update running statistics. Its parameters
    /// must keep their number, order and shapes, and which of them are trained: to freeze or train others,
    /// begin another run with the weights of this one.
    ///
    /// To be called after [`step`](Self::step), as a checkpoint is written at the beginning of the next
    /// one: it must not hold what the next batch changed, or a resumed run changes that twice.
    ///
    /// With batch normalisation it is `trainer.map_model(|model| pass.update_statistics(model))`;
    /// without this call the network is evaluated with mean 0 and variance 1.
    ///
    /// # Panics
    ///
    /// If the set of trained parameters changes; between a batch and its [`step`](Self::step).
    #[track_caller]
    pub fn map_model(&mut self, map: impl FnOnce(M) -> M) {
        assert!(!self.timing.batches.holds_batch(), "`map_model` is to be called after `step`");
        self.state.map_model(map);
        let trained = self.parameters.iter().map(|parameter| parameter.trained);
        assert!(
            are_trained(self.state.model()).into_iter().eq(trained),
            "`map_model` changes which parameters are trained: begin another run for that"
        );
    }

    /// Updates made so far; the seed of a step's random numbers includes it.
    pub fn step_number(&self) -> u64 {
        self.state.record.step
    }

    /// What a recurrent network left under `name` after the last update of this epoch, one row for
    /// each stream of the data: `[streams, width]`.
    pub fn carried(&self, name: &str) -> Option<Tensor<B::InnerBackend, 2>> {
        self.state.carried.get(name).cloned()
    }

    /// Leaves `rows` for the next update of this epoch: `[streams, width]`. To be called after
    /// [`step`](Self::step), like [`map_model`](Self::map_model).
    ///
    /// # Panics
    ///
    /// Between a batch and its [`step`](Self::step).
    #[track_caller]
    pub fn carry(&mut self, name: &str, rows: Tensor<B::InnerBackend, 2>) {
        assert!(!self.timing.batches.holds_batch(), "`carry` is to be called after `step`");
        self.state.carried.insert(name.to_owned(), rows);
    }

    /// The next pass over the data, none when training is over or has diverged.
    ///
    /// # Panics
    ///
    /// If the last one was not ended by [`end_epoch`](Self::end_epoch).
    #[track_caller]
    pub fn next_epoch(&mut self) -> Option<Epoch> {
        if self.diverged || self.stops.agreed.requested() || self.state.is_over(&self.config) {
            return None;
        }
        let begun = self.state.record.epochs_ended + 1;
        assert!(!self.in_epoch, "epoch {begun} has begun: end it with `end_epoch` first");
        self.in_epoch = true;
        self.timing.clock.start();
        let record = &mut self.state.record;
        if record.position == 0 {
            record.epoch = Interval::from(self.timing.clock.seconds());
            self.state.carried.clear();
        }
        if record.step >= self.config.length().steps {
            self.stops.done.request(); // only the end of this epoch is left
        }
        Some(Epoch {
            index: record.epochs_ended,
            position: record.position,
            stop: self.stops.done.clone(),
            in_update: Rc::clone(&self.in_update),
            batch_timer: Rc::clone(&self.timing.batches),
        })
    }

    /// Learns from a batch: backward, and the update once `part` completes it.
    ///
    /// - `losses`: one for each of the part's samples, consumed, so that the graph is freed with them
    ///
    /// # Errors
    ///
    /// [`TrainError::NotDue`] outside of an epoch, and after the run's last step;
    /// [`TrainError::EpochLength`] after the epoch's last one; [`TrainError::Losses`]
    /// where there is not one for each sample; [`TrainError::Part`] where the parts up to this one have more
    /// samples than their update, or with the last one fewer and no other process has the rest, or where they
    /// do not agree on its samples; [`TrainError::NoGradients`] where
    /// no part of an update has losses that depend on the model; [`TrainError::Diverged`], on a GPU noticed
    /// at the log interval, though no update was made since the first value that was not finite;
    /// [`TrainError::Observer`]; [`TrainError::Store`] and [`TrainError::Unreadable`] where a checkpoint
    /// cannot be written; [`TrainError::Group`] where another process failed.
    pub fn step(&mut self, losses: Tensor<B, 1>, part: Part) -> Result<(), TrainError> {
        let ([given], samples) = (losses.dims(), part.samples);
        // Without samples, any losses are placeholders.
        if samples > 0 && given != samples {
            return Err(TrainError::Losses { losses: given, samples });
        }
        if !self.in_epoch || self.step_number() >= self.config.length().steps {
            return Err(TrainError::NotDue { step: self.step_number() });
        }
        if !self.in_update.get() && self.state.record.position >= self.config.steps_per_epoch {
            return Err(self.another_length(self.state.record.position + 1));
        }
        let [before, of] = if self.in_update.get() { self.in_parts } else { [0, part.of] };
        let samples = before + samples;
        // The rest may be the parts of other processes.
        let is_whole = samples == of || self.config.group.is_shared();
        if of == 0 || of != part.of || samples > of || (part.last && !is_whole) {
            return Err(TrainError::Part { samples, of: part.of });
        }
        self.in_parts = [samples, of];
        self.timing.spent.forward += self.timing.batches.take_since_batch();
        if !self.in_update.get() {
            // Only now is the previous update complete, with running statistics and carried state.
            self.checkpoint_in_epoch()?;
        }
        let start = Instant::now();
        self.note_predictions(part);
        self.timing.spent.forward += start.elapsed().as_secs_f64();
        let start = Instant::now();
        let gradients = self.state.accumulate(losses, part);
        self.timing.spent.backward += start.elapsed().as_secs_f64();
        self.in_update.set(!part.last);
        let Some(gradients) = gradients else { return Ok(()) };
        if gradients.is_empty() && self.trainable_parameters() > 0 {
            return Err(TrainError::NoGradients);
        }
        self.stops.interrupt.note(self.step_number() + 1);
        let gradients = self.sum_over_processes(gradients)?;
        let start = Instant::now();
        self.state.update(gradients, &self.parameters, &self.config);
        self.timing.spent.update += start.elapsed().as_secs_f64();
        self.tell_of_tuning()?;
        let step = self.step_number();
        if B::IS_SYNCHRONOUS {
            self.check_finite()?; // there is nothing to wait for
        }
        if step.is_multiple_of(self.config.log_every_steps) {
            self.log()?;
        } else {
            self.tell_of_progress()?;
        }
        if step == self.config.length().steps {
            self.stops.done.request();
        }
        Ok(())
    }

    /// Ends an epoch: measures the model with `validate`, which returns none without a validation split, and
    /// informs the observer. After an interruption nothing is measured; one during `validate` drops its
    /// result, and the resumed run validates again. To end early, `validate` takes its batches from
    /// [`Group::until_interrupted`](crate::Group::until_interrupted).
    ///
    /// # Errors
    ///
    /// As [`Trainer::step`]; [`TrainError::NoEpoch`] where none has begun; [`TrainError::NoLastPart`] where
    /// the last update is incomplete; [`TrainError::EpochLength`] where updates are missing;
    /// [`TrainError::NotMeasured`] where what is monitored is not among what was measured.
    ///
    /// # Panics
    ///
    /// If predictions were [counted](Self::count_correct) after the last [`step`](Self::step).
    #[track_caller]
    pub fn end_epoch(
        &mut self,
        validate: impl FnOnce(&M::InnerModule) -> Option<Metrics>,
    ) -> Result<(), TrainError> {
        self.try_end_epoch(|model| Ok(validate(model)))
    }

    /// [`end_epoch`](Self::end_epoch) for a validation that may fail.
    ///
    /// # Errors
    ///
    /// As [`end_epoch`](Self::end_epoch), and the error of `validate`.
    ///
    /// # Panics
    ///
    /// As [`end_epoch`](Self::end_epoch).
    #[track_caller]
    pub fn try_end_epoch<E: From<TrainError>>(
        &mut self,
        validate: impl FnOnce(&M::InnerModule) -> Result<Option<Metrics>, E>,
    ) -> Result<(), E> {
        if !self.in_epoch {
            return Err(TrainError::NoEpoch { ended: self.state.record.epochs_ended }.into());
        }
        if self.in_update.get() {
            return Err(TrainError::NoLastPart { step: self.step_number() }.into());
        }
        assert!(self.predictions.is_none(), "`count_correct` is to be called before `step`");
        self.in_epoch = false;
        if self.stops.agreed.requested() {
            self.stop_clock();
            return Ok(());
        }
        let cut = self.checkpoint_in_cut_epoch()?;
        let updates = self.state.record.position;
        if !cut && updates != self.config.steps_per_epoch {
            return Err(self.another_length(updates).into());
        }
        self.read_sums()?; // waits for the device, so it is part of the epoch's time
        self.timing.clock.stop();
        self.share_statistics()?;
        self.warn_of_unmoved_statistics()?;
        let model = self.state.evaluated();
        let start = Instant::now();
        let validation = self.measure(&model, validate)?;
        let validation_seconds = validation.is_some().then(|| start.elapsed().as_secs_f64());
        self.agree_to_stop()?;
        if self.stops.agreed.requested() {
            return Ok(());
        }
        let validation = self.measured_by_first(validation)?;
        self.check_monitored(validation.as_ref())?;
        for sample in std::mem::take(&mut self.shown) {
            self.tell(&sample)?;
        }
        self.state.end_epoch(validation, model, &self.config);
        self.report_epoch(validation_seconds)?;
        if !cut {
            self.checkpoint_after_epoch()?;
        }
        Ok(())
    }

    /// Measures the model with `validate`, which an interruption may end early.
    fn measure<E: From<TrainError>>(
        &mut self,
        model: &M::InnerModule,
        validate: impl FnOnce(&M::InnerModule) -> Result<Option<Metrics>, E>,
    ) -> Result<Option<Metrics>, E> {
        self.tell(&Event::Validating)?;
        self.config.group.measure_until(self.stops.interrupt.clone());
        let validation = if self.observer.validates() { validate(model)? } else { None };
        self.check_finite()?; // what a device measured that lacked memory or failed is wrong
        self.config.group.measure_until(Stop::default());
        Ok(validation)
    }

    /// Ends the run; one that was interrupted leaves a checkpoint.
    ///
    /// # Errors
    ///
    /// As [`Trainer::step`]; [`TrainError::NoLastPart`] where the last update is incomplete.
    pub fn finish(mut self) -> Result<Trained<M::InnerModule>, TrainError> {
        if self.in_update.get() {
            return Err(TrainError::NoLastPart { step: self.step_number() });
        }
        let status = if !self.state.is_over(&self.config) {
            EndStatus::Interrupted
        } else if self.state.is_complete(&self.config) {
            EndStatus::Finished
        } else {
            EndStatus::StoppedEarly
        };
        if status == EndStatus::Interrupted {
            self.checkpoint()?;
            self.read_sums()?; // which fails where training has diverged
            self.config.group.measure_until(self.stops.agreed.clone());
        } else {
            self.config.group.measure_until(self.stops.interrupt.clone());
        }
        self.share_statistics()?;
        self.report_rest()?;
        let keeps = self.state.best_model.is_some();
        let model = self.state.best_model.take().unwrap_or_else(|| self.state.evaluated());
        self.check_model(&model)?;
        let epochs = self.epochs_begun();
        let steps = self.step_number();
        self.tell(&Event::End { status, epoch: epochs, step: steps })?;

        let trainable_parameters = self.trainable_parameters();
        let record = self.state.record;
        let (best, of_best) = record.best.unzip();
        let kept_epoch =
            best.as_ref().map(|best| best.epoch).filter(|&epoch| keeps && epoch != epochs);
        let validation = match keeps {
            true => of_best,
            // Within an epoch the last validation measured another model.
            false if record.position > 0 => None,
            false => record.validation,
        };
        Ok(Trained {
            model,
            status,
            epochs,
            steps,
            samples: record.samples,
            trainable_parameters,
            seconds_training: self.timing.clock.seconds(),
            tuning: record.tuning,
            train_loss: record.epoch.mean_loss(),
            train_accuracy: record.epoch.accuracy(),
            validation: validation.map(Metrics::from),
            best,
            kept_epoch,
        })
    }

    /// Writes the checkpoint of a run that ends within an epoch; returns whether it does. If the run is
    /// extended it continues there, as if the epoch had not ended.
    fn checkpoint_in_cut_epoch(&mut self) -> Result<bool, TrainError> {
        let cut = self.state.is_cut(&self.config);
        if cut {
            self.checkpoint()?;
        }
        Ok(cut)
    }

    fn epochs_begun(&self) -> usize {
        self.state.record.epochs_begun()
    }

    fn trainable_parameters(&self) -> usize {
        let trained = self.parameters.iter().filter(|parameter| parameter.trained);
        trained.map(Parameter::elements).sum()
    }
}
