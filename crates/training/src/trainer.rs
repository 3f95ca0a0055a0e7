//! The trainer: the state of a run, and its step.

use std::sync::{Arc, atomic::AtomicU64};

use backend::{AutodiffBackend, Part};
use burn::{
    module::AutodiffModule,
    tensor::{ElementConversion, Tensor, TensorPrimitive},
};

use crate::{
    Best, EndStatus, Epoch, Event, Metrics, Observer, OptimizerConfig, ScheduleConfig, Stop,
    TrainError,
    gradients::{Gradients, update},
    optimizer::Slot,
    progress::{Clock, Span},
};

/// How a trainer runs.
#[derive(Clone, Debug)]
pub struct TrainerConfig {
    /// The rule of the updates.
    pub optimizer: OptimizerConfig,
    /// The course of the learning rate.
    pub schedule: ScheduleConfig,
    /// Passes over the training data.
    pub epochs: usize,
    /// Updates in each pass.
    pub steps_per_epoch: usize,
    /// The run is finished after so many updates, if that is sooner.
    pub max_steps: Option<u64>,
    /// Updates between two [`Event::Step`].
    pub log_every_steps: u64,
    /// Whether [`Trainer::finish`] returns the best epoch's model rather than the last one's.
    pub keep_best: bool,
}

/// A trained model and how it came about.
#[derive(Debug)]
pub struct Trained<M> {
    /// The model, without gradients.
    pub model: M,
    /// How training ended.
    pub status: EndStatus,
    /// Epochs begun.
    pub epochs: usize,
    /// Updates made.
    pub steps: u64,
    /// Samples seen, repetitions counted.
    pub samples: u64,
    /// Seconds of training: data and logging included, validation and preparation excluded.
    pub seconds_training: f64,
    /// The mean loss over the last epoch's samples.
    pub train_loss: f64,
    /// What validation measured of this model.
    pub validation: Option<Metrics>,
    /// The best epoch, where there is a validation split.
    pub best: Option<Best>,
}

/// The state of a training run; see the [crate documentation](crate) for the loop around it.
pub struct Trainer<'run, B: AutodiffBackend, M: AutodiffModule<B>> {
    config: TrainerConfig,
    observer: &'run mut dyn Observer,
    interrupt: Stop,
    done: Stop,

    model: Option<M>, // none only inside an update
    slots: Vec<Option<Slot<B::InnerBackend>>>,
    accumulated: Option<Gradients<B::InnerBackend>>,
    diverged: Tensor<B::InnerBackend, 1>, // not zero from the first value that is not finite
    finite_until: u64,
    epoch: usize,
    step: u64,

    interval_loss: Tensor<B::InnerBackend, 1>, // sum since the host last read it
    update_loss: Tensor<B::InnerBackend, 1>,   // sum over the current or last update
    update_samples: usize,
    clock: Clock,
    waited: Arc<AtomicU64>,
    interval_span: Span,
    epoch_span: Span,
    samples: u64,
    validation: Option<Metrics>,
    best: Option<(Best, Metrics, M::InnerModule)>,
}

impl<'run, B: AutodiffBackend, M: AutodiffModule<B>> Trainer<'run, B, M> {
    /// A run from its first step.
    ///
    /// # Errors
    ///
    /// Where the observer fails.
    pub fn new(
        model: M,
        config: TrainerConfig,
        device: &B::Device,
        observer: &'run mut dyn Observer,
        interrupt: Stop,
    ) -> Result<Self, TrainError> {
        let zero = || Tensor::zeros([1], device);
        let trainer = Self {
            interrupt,
            done: Stop::default(),
            slots: Vec::new(),
            accumulated: None,
            diverged: zero(),
            finite_until: 0,
            epoch: 0,
            step: 0,
            interval_loss: zero(),
            update_loss: zero(),
            update_samples: 0,
            clock: Clock::default(),
            waited: Arc::default(),
            interval_span: Span::default(),
            epoch_span: Span::default(),
            samples: 0,
            validation: None,
            best: None,
            model: Some(model),
            config,
            observer,
        };
        let start = Event::Start {
            epochs: trainer.config.epochs,
            steps: trainer.steps(),
            trainable_parameters: trainer.model().num_params(),
        };
        trainer.observer.observe(&start).map_err(TrainError::Observer)?;
        Ok(trainer)
    }

    /// The model as it is now.
    pub fn model(&self) -> &M {
        self.model.as_ref().expect("only an update takes the model, and puts it back")
    }

    /// The next pass over the data, none when training is over.
    pub fn next_epoch(&mut self) -> Option<Epoch> {
        if self.stopping() || self.epoch == self.config.epochs || self.step == self.steps() {
            return None;
        }
        let index = self.epoch;
        self.epoch += 1;
        self.clock.start();
        self.epoch_span = Span { since: self.clock.seconds(), ..Span::default() };
        Some(Epoch {
            index,
            position: 0,
            stops: [self.interrupt.clone(), self.done.clone()],
            waited_nanoseconds: Arc::clone(&self.waited),
        })
    }

    /// Learns from a batch: backward, and the update once `part` completes it.
    ///
    /// - `losses`: `[samples]`, consumed, so that the graph goes with them
    ///
    /// # Errors
    ///
    /// [`TrainError::Diverged`], noticed at the log interval, though no update was made from the
    /// first value on that was not finite; [`TrainError::Observer`].
    pub fn step(&mut self, losses: Tensor<B, 1>, part: Part) -> Result<(), TrainError> {
        let sum = losses.sum();
        let seen = sum.clone().inner();
        let gradients = Gradients::of(&(sum / part.of as f64), self.model());
        let gradients = match self.accumulated.take() {
            None => {
                self.update_loss = seen;
                self.update_samples = part.samples;
                gradients
            }
            Some(before) => {
                self.update_loss = self.update_loss.clone() + seen;
                self.update_samples += part.samples;
                before.add(gradients)
            }
        };
        if !part.last {
            self.accumulated = Some(gradients);
            return Ok(());
        }
        self.update(gradients);
        if self.step.is_multiple_of(self.config.log_every_steps) {
            self.log()?;
        }
        if self.step == self.steps() {
            self.done.request();
        }
        Ok(())
    }

    /// Ends a pass: measures the model by `validate`, which returns none where there is no
    /// validation split, and tells the observer. After an interruption nothing is measured.
    ///
    /// # Errors
    ///
    /// As [`Trainer::step`].
    pub fn end_epoch(
        &mut self,
        validate: impl FnOnce(&M::InnerModule) -> Option<Metrics>,
    ) -> Result<(), TrainError> {
        self.read_losses()?;
        self.clock.stop();
        if self.interrupt.requested() {
            return Ok(());
        }
        let model = self.model().valid();
        self.validation = validate(&model);
        self.note_best(model);
        let (now, span) = (self.clock.seconds(), self.epoch_span);
        let last_loss: f64 = self.update_loss.clone().into_scalar().elem();
        let event = Event::Epoch {
            epoch: self.epoch,
            step: self.step,
            train_loss: span.mean_loss(),
            last_loss: last_loss / self.update_samples.max(1) as f64,
            validation: self.validation.clone(),
            learning_rate: self.learning_rate(),
            seconds: now - span.since,
            samples_per_second: span.samples_per_second(now),
            data_wait: span.data_wait(now),
        };
        self.tell(&event)
    }

    /// Ends the run.
    ///
    /// # Errors
    ///
    /// Where the observer fails.
    pub fn finish(mut self) -> Result<Trained<M::InnerModule>, TrainError> {
        let status =
            if self.interrupt.requested() { EndStatus::Interrupted } else { EndStatus::Finished };
        self.tell(&Event::End { status, epoch: self.epoch, step: self.step })?;
        let last = (self.model().valid(), self.validation);
        let (best, of_best) =
            self.best.map(|(best, metrics, model)| (best, (model, Some(metrics)))).unzip();
        let (model, validation) = of_best.filter(|_| self.config.keep_best).unwrap_or(last);
        Ok(Trained {
            model,
            status,
            epochs: self.epoch,
            steps: self.step,
            samples: self.samples,
            seconds_training: self.clock.seconds(),
            train_loss: self.epoch_span.mean_loss(),
            validation,
            best,
        })
    }

    /// Updates of the whole run.
    fn steps(&self) -> u64 {
        let all = (self.config.epochs * self.config.steps_per_epoch) as u64;
        self.config.max_steps.map_or(all, |max_steps| max_steps.min(all))
    }

    fn stopping(&self) -> bool {
        self.interrupt.requested() || self.done.requested()
    }

    /// The learning rate of the last step.
    fn learning_rate(&self) -> f64 {
        let base = self.config.optimizer.learning_rate;
        self.config.schedule.learning_rate(base, self.step.saturating_sub(1))
    }

    fn update(&mut self, gradients: Gradients<B::InnerBackend>) {
        self.step += 1;
        let samples = self.update_samples as u64;
        self.samples += samples;
        self.interval_span.samples += samples;
        self.epoch_span.samples += samples;
        self.interval_loss = self.interval_loss.clone() + self.update_loss.clone();

        let squares = self.update_loss.clone().abs().into_primitive().tensor();
        let squares = TensorPrimitive::Float(gradients.square_sum(squares));
        let finite = Tensor::<_, 1>::from_primitive(squares).lower_equal_elem(f32::MAX);
        self.diverged = self.diverged.clone().max_pair(finite.bool_not().float());

        let rule = self.config.optimizer.rule(self.learning_rate(), self.step);
        let diverged = self.diverged.clone().into_primitive().tensor();
        let model = self.model.take().expect("only this method takes the model");
        self.model = Some(update(model, gradients, &mut self.slots, diverged, &rule));
    }

    /// Reads from the device what was summed there since the last time.
    fn read_losses(&mut self) -> Result<(), TrainError> {
        let diverged: f64 = self.diverged.clone().into_scalar().elem();
        if diverged != 0.0 {
            return Err(TrainError::Diverged {
                after: self.finite_until,
                step: self.step,
                learning_rate: self.learning_rate(),
            });
        }
        self.finite_until = self.step;
        let loss: f64 = self.interval_loss.clone().into_scalar().elem();
        self.interval_loss = self.interval_loss.zeros_like();
        let waited = Epoch::waited(&self.waited).as_secs_f64();
        for span in [&mut self.interval_span, &mut self.epoch_span] {
            span.loss_sum += loss;
            span.waited += waited;
        }
        Ok(())
    }

    fn log(&mut self) -> Result<(), TrainError> {
        self.read_losses()?;
        let (now, span) = (self.clock.seconds(), self.interval_span);
        self.interval_span = Span { since: now, ..Span::default() };
        self.tell(&Event::Step {
            epoch: self.epoch,
            step: self.step,
            loss: span.mean_loss(),
            learning_rate: self.learning_rate(),
            samples_per_second: span.samples_per_second(now),
            data_wait: span.data_wait(now),
        })
    }

    fn note_best(&mut self, model: M::InnerModule) {
        let Some(metrics) = &self.validation else { return };
        let Some(&value) = metrics.get("loss") else { return };
        if self.best.as_ref().is_none_or(|(best, ..)| value < best.value) {
            let best = Best { epoch: self.epoch, metric: "loss".to_owned(), value };
            self.best = Some((best, metrics.clone(), model));
        }
    }

    fn tell(&mut self, event: &Event) -> Result<(), TrainError> {
        self.observer.observe(event).map_err(TrainError::Observer)
    }
}
