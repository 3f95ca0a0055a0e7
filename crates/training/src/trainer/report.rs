//! What the trainer reads from the device from time to time, and reports to its observer.

use std::time::{Duration, Instant};

use backend::AutodiffBackend;
use burn::module::AutodiffModule;

use crate::{
    EpochReport, Event, Metrics, StepReport, TrainError, Trainer,
    loss_scale::LossScale,
    timing::{Interval, PhaseTimes},
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
        if self.stops.agreed.requested() || !is_heard {
            return;
        }
        let clock_ran = self.stop_clock();
        let text = write(&self.state.evaluated());
        if clock_ran {
            self.timing.clock.start();
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
        let now = self.timing.clock.seconds();
        let before = std::mem::replace(&mut self.timing.tuned_until, now);
        self.state.record.note_tuning(before, now);
        self.timing.spent = PhaseTimes::default();
        self.timing.batches.take_waited();
    }

    /// Reports how far the run is, now and then, without waiting for the device.
    pub(super) fn tell_of_progress(&mut self) -> Result<(), TrainError> {
        if self.timing.progress_told.elapsed() < PROGRESS_EVERY {
            return Ok(());
        }
        self.timing.progress_told = Instant::now();
        let (epoch, step) = (self.state.record.epochs_begun(), self.step_number());
        self.tell(&Event::Progress { epoch, step })
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
        let spent = std::mem::take(&mut self.timing.spent);
        self.state.spend(PhaseTimes { waited: self.timing.batches.take_waited(), ..spent });
    }

    /// Stops the clock once the device has done what was asked of it, which is what the clock measures;
    /// returns whether it ran.
    pub(super) fn stop_clock(&mut self) -> bool {
        if !B::IS_SYNCHRONOUS {
            let _ = self.state.has_diverged(); // waits; those who ask for it report it
        }
        self.timing.clock.stop()
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
        let now = self.timing.clock.seconds();
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
        let now = self.timing.clock.seconds();
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
