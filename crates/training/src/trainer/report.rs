//! What the trainer reads from the device from time to time, and reports to its observer.

use std::time::{Duration, Instant};

use backend::{AutodiffBackend, device::refused_bytes};
use burn::module::AutodiffModule;

use crate::{
    EndStatus, EpochReport, Event, Metrics, StepReport, TrainError, Trainer,
    loss_scale::LossScale,
    parameters::{not_finite, sums},
    progress::{Interval, PhaseTimes},
    state::NotFinite,
};

/// How many first updates of a process the trainer waits for on a GPU: they run all operations that later
/// ones do, though a last batch of fewer samples may tune its own kernels.
pub const TUNING_UPDATES: u64 = 3;
/// Between two reports of progress.
const PROGRESS_EVERY: Duration = Duration::from_millis(100);

impl<B: AutodiffBackend, M: AutodiffModule<B>> Trainer<'_, B, M> {
    /// Generates text with `write` from `prompt`, to show the model's progress; to be called before the end
    /// of an epoch, which reports it. After an interruption nothing is generated; one during validation
    /// discards the text: the resumed run ends that epoch again.
    pub fn show(&mut self, prompt: &str, write: impl FnOnce(&M::InnerModule) -> String) {
        let is_heard = self.config.group.is_rank_zero() && self.observer.validates();
        if self.stop.requested() || !is_heard {
            return;
        }
        let clock_ran = self.stop_clock();
        let text = write(&self.state.evaluated());
        if clock_ran {
            self.clock.start();
        }
        let (epoch, step) = (self.state.record.epochs_ended + 1, self.step_number());
        self.shown.push(Event::Sample { epoch, step, prompt: prompt.to_owned(), text });
    }

    pub(super) fn tell(&mut self, event: &Event) -> Result<(), TrainError> {
        self.observer.observe(event).map_err(TrainError::Observer)
    }

    /// Reports the progress of the first updates, during which a GPU backend tries several kernels for
    /// each operation, which may take minutes.
    pub(super) fn tell_of_tuning(&mut self) -> Result<(), TrainError> {
        let done = self.step_number() - self.began_at;
        let of = TUNING_UPDATES.min(self.config.length().steps.saturating_sub(self.began_at));
        if B::IS_SYNCHRONOUS || done > of || of == 0 {
            return Ok(());
        }
        self.check_finite()?; // waits for the device
        if done > 0 {
            self.leave_out_of_throughput();
        }
        let task = "first updates, which compile kernels and may tune them for minutes".to_owned();
        let [done, of] = [done, of].map(|updates| updates as usize);
        self.tell(&Event::Preparation { task, done, of })
    }

    /// Records the last update as one that tuned.
    fn leave_out_of_throughput(&mut self) {
        let now = self.clock.seconds();
        let before = std::mem::replace(&mut self.tuned_until, now);
        self.state.record.note_tuning(before, now);
        self.spent = PhaseTimes::default();
        self.batch_timer.take_waited();
    }

    /// Reports how far the run is, now and then, without waiting for the device.
    pub(super) fn tell_of_progress(&mut self) -> Result<(), TrainError> {
        if self.progress_told.elapsed() < PROGRESS_EVERY {
            return Ok(());
        }
        self.progress_told = Instant::now();
        let (epoch, step) = (self.state.record.epochs_begun(), self.step_number());
        self.tell(&Event::Progress { epoch, step })
    }

    /// Fails where training has diverged, and reports it, or where the device lacked memory or failed;
    /// waits for the device.
    pub(super) fn check_finite(&mut self) -> Result<(), TrainError> {
        let step = self.step_number();
        let done = self.state.wait();
        let diverged = self.state.has_diverged();
        if let Some(bytes) = refused_bytes() {
            return Err(TrainError::OutOfMemory { bytes });
        }
        done?;
        if diverged {
            let what = match self.state.not_finite() {
                Some(NotFinite::Loss) => "the loss".to_owned(),
                Some(NotFinite::Gradient(position)) => {
                    format!("the gradient of `{}`, or its square,", self.parameters[position].path)
                }
                None => "the loss or a gradient".to_owned(),
            };
            return Err(self.diverged(self.updates_finite_until, what));
        }
        self.updates_finite_until = step;
        Ok(())
    }

    /// Fails if a parameter that was finite at the start, such as a running statistic, is not, though all
    /// losses and gradients were; waits for the device.
    pub(super) fn check_model(&mut self, model: &M::InnerModule) -> Result<(), TrainError> {
        let not_finite =
            not_finite(model, |position| !self.not_finite_at_start.contains(&position));
        match not_finite.first() {
            None => {
                self.model_finite_until = self.step_number();
                Ok(())
            }
            Some(&position) => {
                let what = format!("`{}`", self.parameters[position].path);
                Err(self.diverged(self.model_finite_until, what))
            }
        }
    }

    /// Reports that a run diverged.
    ///
    /// - `after`: the last step after which all was known to be finite
    fn diverged(&mut self, after: u64, what: String) -> TrainError {
        let step = self.step_number();
        let epoch = self.state.record.epochs_begun();
        let is_told = std::mem::replace(&mut self.diverged, true);
        let end = Event::End { status: EndStatus::Diverged, epoch, step };
        if !is_told && let Err(error) = self.tell(&end) {
            return error;
        }
        TrainError::Diverged {
            what,
            after,
            step,
            learning_rate: self.state.record.learning_rate,
            clip_norm: self.config.clip_norm,
        }
    }

    /// Reads from the device what was summed there since the last call.
    pub(super) fn read_sums(&mut self) -> Result<(), TrainError> {
        self.check_finite()?;
        self.state.read_sums();
        self.record_time();
        Ok(())
    }

    /// Records the time spent since the last call.
    pub(super) fn record_time(&mut self) {
        let spent = std::mem::take(&mut self.spent);
        self.state.spend(PhaseTimes { waited: self.batch_timer.take_waited(), ..spent });
    }

    /// Stops the clock once the device has done what was asked of it, which is what the clock measures;
    /// returns whether it ran.
    pub(super) fn stop_clock(&mut self) -> bool {
        if !B::IS_SYNCHRONOUS {
            let _ = self.state.has_diverged(); // waits; those who ask for it report it
        }
        self.clock.stop()
    }

    /// Reports the log interval that ends with this step.
    pub(super) fn log(&mut self) -> Result<(), TrainError> {
        self.read_sums()?;
        self.report_interval()
    }

    /// Reports the steps since the last log interval, if there are any. To be called after the last
    /// checkpoint, so that a run that is made longer reports the interval as a whole instead.
    pub(super) fn report_rest(&mut self) -> Result<(), TrainError> {
        if self.state.record.interval.samples == 0 {
            return Ok(());
        }
        self.report_interval()
    }

    /// Reports what was read of the steps since the last report.
    fn report_interval(&mut self) -> Result<(), TrainError> {
        let gradient_norm = self.state.gradient_norm();
        let loss_scale = self.state.loss_scale.as_ref().map(LossScale::read_factor);
        let now = self.clock.seconds();
        let record = &mut self.state.record;
        let interval = std::mem::replace(&mut record.interval, Interval::from(now));
        let report = StepReport {
            epoch: record.epochs_begun(),
            step: record.step,
            loss: interval.mean_loss(),
            accuracy: interval.accuracy(),
            learning_rate: record.learning_rate,
            gradient_norm,
            loss_scale,
            throughput: interval.throughput::<B>(now, self.config.work, &self.state.device()),
        };
        self.tell(&Event::Step(report))
    }

    /// Reports the epoch that has just ended.
    pub(super) fn report_epoch(
        &mut self,
        validation_seconds: Option<f64>,
    ) -> Result<(), TrainError> {
        let now = self.clock.seconds();
        let record = &self.state.record;
        let interval = record.epoch;
        let report = EpochReport {
            epoch: record.epochs_ended,
            step: record.step,
            train_loss: interval.mean_loss(),
            train_accuracy: interval.accuracy(),
            last_loss: self.state.last_loss(),
            validation: record.validation.clone().map(Metrics::from),
            learning_rate: record.learning_rate,
            seconds: interval.seconds(now),
            validation_seconds,
            throughput: interval.throughput::<B>(now, self.config.work, &self.state.device()),
        };
        self.tell(&Event::Epoch(report))
    }

    /// Warns, after the first epoch of this process, of settings that need a validation loss where there is
    /// none.
    pub(super) fn warn_of_no_validation(&mut self) -> Result<(), TrainError> {
        if std::mem::replace(&mut self.warned_of_no_validation, true) {
            return Ok(());
        }
        for message in self.config.without_validation() {
            self.tell(&Event::Warning { message })?;
        }
        Ok(())
    }

    /// Warns of the first epoch in which validation measured no number.
    pub(super) fn warn_of_no_number(&mut self, monitored: f64) -> Result<(), TrainError> {
        if !monitored.is_nan() || std::mem::replace(&mut self.warned_of_no_number, true) {
            return Ok(());
        }
        let message = format!(
            "the validation's `{}` is not a number, so this epoch is not taken for a better one",
            self.config.monitor.metric
        );
        self.tell(&Event::Warning { message })
    }

    /// Warns after the first epoch if all running statistics are those from before it. A few may be, such as
    /// those of a layer that no batch reached.
    pub(super) fn warn_of_unmoved_statistics(&mut self) -> Result<(), TrainError> {
        if self.statistics.is_empty() || self.step_number() == self.began_at {
            return Ok(());
        }
        let before = std::mem::take(&mut self.statistics);
        let now = sums(self.state.model(), |position| before.contains_key(&position));
        let first = before.first_key_value().filter(|_| now == before);
        let Some((&position, _)) = first else { return Ok(()) };
        let message = format!(
            "`{}` is what it was before the epoch, as are all running statistics, and validation normalises by \
             them: after each step call `trainer.map_model(|model| pass.update_statistics(model))`",
            self.parameters[position].path
        );
        self.tell(&Event::Warning { message })
    }

    /// The error of an epoch with that many updates.
    pub(super) fn another_length(&self, updates: usize) -> TrainError {
        let record = &self.state.record;
        TrainError::EpochLength {
            epoch: record.epochs_ended + 1,
            updates,
            promised: self.config.steps_per_epoch,
            resumed: self.began_at > record.step.saturating_sub(record.position as u64),
        }
    }
}
