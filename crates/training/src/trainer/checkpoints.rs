//! When the trainer writes a checkpoint, and how it goes on from one.

use backend::AutodiffBackend;
use burn::module::AutodiffModule;

use crate::{Event, TrainError, Trainer, checkpoint::Shelf, progress::Clock};

impl<B: AutodiffBackend, M: AutodiffModule<B>> Trainer<'_, B, M> {
    /// Goes on where the newest checkpoint stopped, if the observer keeps any; else begins.
    pub(super) fn begin_or_resume(&mut self) -> Result<(), TrainError> {
        let length = self.config.length();
        let Some(keeper) = self.observer.keeper() else { return self.begin() };
        let directory = keeper.checkpoints();
        let config = self.config.checkpoint.clone();
        let shelf = Shelf::new(directory, config, length.steps_per_epoch, &self.parameters);
        let newest = shelf.newest()?;
        let mark = newest.found.as_ref().map(|(_, contents)| contents.state.mark.clone());
        match newest.found {
            None => self.state.lay_out_as_restored(&self.parameters),
            Some((path, contents)) => self
                .state
                .restore(contents, &self.parameters, &self.config)
                .map_err(|reason| TrainError::OtherRun { path, reason })?,
        }
        keeper.return_to(mark.as_ref()).map_err(TrainError::Observer)?;
        self.shelf = Some(shelf);
        for message in newest.damaged {
            self.tell(&Event::Warning { message })?;
        }
        if mark.is_none() {
            return self.begin();
        }
        self.clock = Clock::at(self.state.record.seconds);
        self.finite_until = self.step_number();
        self.kept = Some(self.place());
        self.tell(&Event::Resume {
            epochs: self.config.epochs,
            steps: length.steps,
            epoch: self.epochs_begun(),
            step: self.step_number(),
        })
    }

    fn begin(&mut self) -> Result<(), TrainError> {
        self.tell(&Event::Start {
            epochs: self.config.epochs,
            steps: self.config.length().steps,
            trainable_parameters: self.trainable_parameters(),
        })
    }

    /// Writes a checkpoint between two updates of an epoch where one is due. What is due at the
    /// epoch's last update waits for its validation.
    pub(super) fn checkpoint_in_epoch(&mut self) -> Result<(), TrainError> {
        let within = self.state.record.position > 0;
        if within && self.is_due_by_steps() { self.checkpoint() } else { Ok(()) }
    }

    /// Writes a checkpoint between two epochs where one is due, and at the end of the run.
    pub(super) fn checkpoint_after_epoch(&mut self) -> Result<(), TrainError> {
        let epochs = self.state.record.epochs_ended;
        let by_epochs =
            self.config.checkpoint.every_epochs.is_some_and(|every| epochs.is_multiple_of(every));
        let due = by_epochs || self.is_due_by_steps() || self.state.is_over(&self.config);
        if due { self.checkpoint() } else { Ok(()) }
    }

    /// Writes a checkpoint, unless this very state is in the last one or is the initial one.
    pub(super) fn checkpoint(&mut self) -> Result<(), TrainError> {
        if self.kept == Some(self.place()) || self.step_number() == 0 {
            return Ok(());
        }
        let Some(shelf) = self.shelf.take() else { return Ok(()) };
        let clock_ran = self.clock.stop();
        let written = self.write_checkpoint(&shelf);
        self.shelf = Some(shelf);
        written?;
        self.kept = Some(self.place());
        self.tell(&Event::Checkpoint { epoch: self.epochs_begun(), step: self.step_number() })?;
        if clock_ran {
            self.clock.start();
        }
        Ok(())
    }

    fn write_checkpoint(&mut self, shelf: &Shelf) -> Result<(), TrainError> {
        self.check_finite()?;
        let Some(keeper) = self.observer.keeper() else { return Ok(()) };
        let mark = keeper.mark().map_err(TrainError::Observer)?;
        self.state.record.seconds = self.clock.seconds();
        shelf.write(&self.state.save(&self.parameters, &self.config, mark))
    }

    fn is_due_by_steps(&self) -> bool {
        let step = self.step_number();
        self.config.checkpoint.every_steps.is_some_and(|every| step.is_multiple_of(every))
    }

    /// By what one state of a run differs from all others: updates made, epochs ended.
    fn place(&self) -> (u64, usize) {
        (self.step_number(), self.state.record.epochs_ended)
    }
}
