//! When the trainer writes a checkpoint, and how it resumes from one.

use std::time::Instant;

use backend::AutodiffBackend;
use burn::module::AutodiffModule;
use serde_json::json;

use crate::{
    Event, TrainError, Trainer,
    checkpoint::{Contents, Newest, Shelf, Tensors},
    error::in_digits,
    timing::Clock,
};

/// A learning rate higher by this factor is reported.
const MUCH: f64 = 1.5;

/// How the first process writes checkpoints.
pub(super) struct Saving {
    /// Whether it does, as all processes know.
    is_on: bool,
    shelf: Option<Shelf>,
    /// The [place](Trainer::place) of the last.
    last: Option<(u64, usize)>,
    /// When that was written, or the trainer began.
    since: Instant,
}

impl Saving {
    pub(super) fn new() -> Self {
        Self { is_on: false, shelf: None, last: None, since: Instant::now() }
    }
}

impl<B: AutodiffBackend, M: AutodiffModule<B>> Trainer<'_, B, M> {
    /// Resumes from the newest checkpoint, if the observer keeps any; else begins.
    pub(super) fn begin_or_resume(&mut self) -> Result<(), TrainError> {
        let group = self.config.group.clone();
        group.begin();
        let text = |value| serde_json::to_string(&value).expect("plain data has a form in JSON");
        let data = json!([self.config.steps_per_epoch, self.config.fingerprints]);
        group.check_same("other data", &text(data))?;
        group.check_same("other settings", &text(json!(self.config.of_updates())))?;

        let newest = self.open_shelf()?;
        self.saving.is_on = group.broadcast(vec![u8::from(self.saving.shelf.is_some())])? == [1];
        if !self.saving.is_on {
            self.begin_alike()?;
            return self.begin();
        }
        let (path, found) = newest.found.unzip();
        let found = Contents::of_first(found, &group)?;
        let mark = found.as_ref().map(|contents| contents.state.mark.clone());
        // First, since a network or data that differ may only follow from a setting that does.
        if let (Some(store), Some(mark)) = (self.observer.checkpoint_store(), &mark) {
            store.check(mark).map_err(TrainError::Observer)?;
        }
        if let Some(reason) = newest.difference {
            return Err(TrainError::OtherRun { path: path.unwrap_or_default(), reason });
        }
        match found {
            None => self.begin_alike()?,
            Some(contents) => {
                self.state.restore(contents, &self.parameters, &self.config).map_err(|reason| {
                    TrainError::OtherRun { path: path.unwrap_or_default(), reason }
                })?
            }
        }
        self.state.record.check_end(&self.config)?;
        if let Some(store) = self.observer.checkpoint_store() {
            store.rewind_to(mark.as_ref()).map_err(TrainError::Observer)?;
        }
        if let Some(shelf) = &mut self.saving.shelf {
            shelf.create()?; // rather than fail after an epoch's work
        }
        for message in newest.damaged {
            self.tell(&Event::Warning { message })?;
        }
        if mark.is_none() {
            return self.begin();
        }
        self.timing.clock = Clock::at(self.state.record.seconds);
        self.checks.updates_finite_until = self.step_number();
        self.saving.last = Some(self.place());
        self.tell(&Event::Resume {
            epochs: self.config.epochs,
            steps: self.config.length().steps,
            epoch: self.epochs_begun(),
            step: self.step_number(),
        })?;
        self.warn_of_higher_rate()
    }

    /// Warns where the schedule of a run of this length has a much higher learning rate for the last update
    /// than it had.
    fn warn_of_higher_rate(&mut self) -> Result<(), TrainError> {
        let (schedule, length) = (&self.config.schedule, self.config.length());
        let (step, before) = (self.step_number(), self.state.record.learning_rate);
        if !schedule.kind.depends_on_length() || !(1..length.steps).contains(&step) {
            return Ok(());
        }
        let rate = |step| schedule.learning_rate(self.config.optimizer.learning_rate, step, length);
        if rate(step - 1).min(rate(step)) <= MUCH * before {
            return Ok(());
        }
        let [before, next] = [before, rate(step)].map(|rate| in_digits(rate, 2));
        let message = format!(
            "the learning rate goes up from {before} to {next}: the schedule follows the run's new length"
        );
        self.tell(&Event::Warning { message })
    }

    /// Begins with the weights of the first process, laid out as those of a run that resumes.
    fn begin_alike(&mut self) -> Result<(), TrainError> {
        self.share_parameters(|_| true)?;
        self.state.lay_out_as_restored(&self.parameters);
        Ok(())
    }

    /// Opens the observer's checkpoints, if it keeps any.
    fn open_shelf(&mut self) -> Result<Newest, TrainError> {
        let Some(store) = self.observer.checkpoint_store() else { return Ok(Newest::default()) };
        let directory = store.checkpoints();
        let config = self.config.checkpoint.clone();
        let steps_per_epoch = self.config.length().steps_per_epoch;
        let mut shelf = Shelf::open(directory, config, steps_per_epoch, &self.parameters)?;
        let newest = shelf.newest(&self.parameters)?;
        self.saving.shelf = Some(shelf);
        Ok(newest)
    }

    fn begin(&mut self) -> Result<(), TrainError> {
        self.tell(&Event::Start {
            epochs: self.config.epochs,
            steps: self.config.length().steps,
            trainable_parameters: self.trainable_parameters(),
        })
    }

    /// Writes a checkpoint between two updates of an epoch if one is due. One that is due after the
    /// epoch's last update waits for its validation.
    pub(super) fn checkpoint_in_epoch(&mut self) -> Result<(), TrainError> {
        let within = self.state.record.position > 0;
        let is_due = self.is_due_by_steps() || self.is_due_by_time();
        if within && is_due { self.checkpoint() } else { Ok(()) }
    }

    /// Writes a checkpoint between two epochs if one is due, and at the end of the run.
    pub(super) fn checkpoint_after_epoch(&mut self) -> Result<(), TrainError> {
        let epochs = self.state.record.epochs_ended;
        let config = &self.config.checkpoint;
        let by_epochs = [config.every_epochs, config.keep_every_epochs]
            .into_iter()
            .flatten()
            .any(|every| epochs.is_multiple_of(every));
        let is_due = by_epochs
            || self.is_due_by_steps()
            || self.is_due_by_time()
            || self.state.is_over(&self.config);
        if is_due { self.checkpoint() } else { Ok(()) }
    }

    /// Writes a checkpoint, unless the last one holds this state or it is the initial one.
    pub(super) fn checkpoint(&mut self) -> Result<(), TrainError> {
        if !self.saving.is_on || self.saving.last == Some(self.place()) || self.step_number() == 0 {
            return Ok(());
        }
        let clock_ran = self.stop_clock();
        self.check_finite()?;
        // Other processes' models are not kept, nor that of a last epoch if a better one is.
        let outlived = self.state.best_model.is_some() && self.state.is_over(&self.config);
        if self.config.group.is_rank_zero() && !outlived {
            self.check_model(&self.state.model().valid())?;
        }
        let carried = self.state.carried_by_all(&self.config.group)?;
        if let Some(mut shelf) = self.saving.shelf.take() {
            let written = self.write_checkpoint(&mut shelf, carried);
            self.saving.shelf = Some(shelf);
            for message in written? {
                self.tell(&Event::Warning { message })?;
            }
        }
        // It counts once all processes know of it.
        self.config.group.barrier()?;
        self.config.group.has_saved();
        (self.saving.last, self.saving.since) = (Some(self.place()), Instant::now());
        self.tell(&Event::Checkpoint { epoch: self.epochs_begun(), step: self.step_number() })?;
        if clock_ran {
            self.timing.clock.start();
        }
        Ok(())
    }

    /// Returns what to warn of.
    fn write_checkpoint(
        &mut self,
        shelf: &mut Shelf,
        carried: Tensors,
    ) -> Result<Vec<String>, TrainError> {
        let Some(store) = self.observer.checkpoint_store() else { return Ok(Vec::new()) };
        let mark = store.mark().map_err(TrainError::Observer)?;
        self.record_time();
        self.state.record.seconds = self.timing.clock.seconds();
        shelf.write(self.state.save(carried, &self.parameters, &self.config, mark))
    }

    fn is_due_by_steps(&self) -> bool {
        let step = self.step_number();
        self.config.checkpoint.every_steps.is_some_and(|every| step.is_multiple_of(every))
    }

    /// Whether it is time; of several processes that of the first counts, and all know of it after the same
    /// update.
    fn is_due_by_time(&self) -> bool {
        let group = &self.config.group;
        if group.is_shared() { group.saves() } else { self.has_waited_to_save() }
    }

    pub(super) fn has_waited_to_save(&self) -> bool {
        let waited = self.saving.since.elapsed().as_secs_f64();
        self.saving.is_on
            && self.config.checkpoint.every_minutes.is_some_and(|every| waited >= 60.0 * every)
    }

    /// What identifies a state within its run: updates made, epochs ended.
    fn place(&self) -> (u64, usize) {
        (self.step_number(), self.state.record.epochs_ended)
    }
}
