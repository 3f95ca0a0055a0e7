//! What the trainer checks, now and then: that all numbers are finite, and that the loop does its part.

use std::collections::{BTreeMap, BTreeSet};

use backend::{AutodiffBackend, device::refused_bytes};
use burn::module::AutodiffModule;

use crate::{
    EndStatus, Event, Metrics, TrainError, Trainer,
    parameters::{not_finite, sums},
    state::NotFinite,
};

/// What is known of the model, and what was told.
#[derive(Default)]
pub(super) struct Checks {
    /// The step until which losses and gradients were finite.
    pub(super) updates_finite_until: u64,
    /// The same of what else the model holds.
    pub(super) model_finite_until: u64,
    /// Of the parameters that are not trained.
    pub(super) not_finite_at_start: BTreeSet<usize>,
    /// Sums of the running statistics before the first epoch of this process.
    pub(super) statistics_before: BTreeMap<usize, f32>,
    warned_of_no_number: bool,
    warned_of_no_validation: bool,
}

impl Checks {
    pub(super) fn new(not_finite_at_start: BTreeSet<usize>) -> Self {
        Self { not_finite_at_start, ..Self::default() }
    }
}

impl<B: AutodiffBackend, M: AutodiffModule<B>> Trainer<'_, B, M> {
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
            return Err(self.diverged(self.checks.updates_finite_until, what));
        }
        self.checks.updates_finite_until = step;
        Ok(())
    }

    /// Fails if a parameter that was finite at the start, such as a running statistic, is not, though all
    /// losses and gradients were; waits for the device.
    pub(super) fn check_model(&mut self, model: &M::InnerModule) -> Result<(), TrainError> {
        let not_finite =
            not_finite(model, |position| !self.checks.not_finite_at_start.contains(&position));
        match not_finite.first() {
            None => {
                self.checks.model_finite_until = self.step_number();
                Ok(())
            }
            Some(&position) => {
                let what = format!("`{}`", self.parameters[position].path);
                Err(self.diverged(self.checks.model_finite_until, what))
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

    /// Fails if what is monitored was not measured; warns of what cannot be monitored.
    pub(super) fn check_monitored(
        &mut self,
        validation: Option<&Metrics>,
    ) -> Result<(), TrainError> {
        let Some(metrics) = validation else { return self.warn_of_no_validation() };
        let monitored = &self.config.monitor.metric;
        let Some(&value) = metrics.get(monitored) else {
            let (monitored, metrics) = (monitored.clone(), metrics.keys().cloned().collect());
            return Err(TrainError::NotMeasured { monitored, metrics });
        };
        self.warn_of_no_number(value)
    }

    /// Warns, after the first epoch of this process, of settings that need a validation loss where there is
    /// none.
    fn warn_of_no_validation(&mut self) -> Result<(), TrainError> {
        if std::mem::replace(&mut self.checks.warned_of_no_validation, true) {
            return Ok(());
        }
        for message in self.config.notes_without_validation() {
            self.tell(&Event::Warning { message })?;
        }
        Ok(())
    }

    /// Warns of the first epoch in which validation measured no number.
    fn warn_of_no_number(&mut self, monitored: f64) -> Result<(), TrainError> {
        if !monitored.is_nan() || std::mem::replace(&mut self.checks.warned_of_no_number, true) {
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
        if self.checks.statistics_before.is_empty() || self.step_number() == self.began_at {
            return Ok(());
        }
        let before = std::mem::take(&mut self.checks.statistics_before);
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
}
