//! What a trainer does together with the other processes' trainers.

use backend::AutodiffBackend;
use burn::module::AutodiffModule;

use crate::{
    Measured, Metrics, TrainError, Trainer,
    gradients::{Gradients, UpdateShare},
    parameters::Parameter,
    values::{from_host, to_host, trainable_with_values, values},
};

impl<B: AutodiffBackend, M: AutodiffModule<B>> Trainer<'_, B, M> {
    /// The sum of all processes' gradients, which makes those of the whole update; also learns whether
    /// any process was asked to stop, and whether it is time for a checkpoint.
    pub(super) fn sum_over_processes(
        &mut self,
        gradients: Gradients<B::InnerBackend>,
    ) -> Result<Gradients<B::InnerBackend>, TrainError> {
        if !self.config.group.is_shared() {
            return Ok(gradients);
        }
        self.learning_what_is_asked(|trainer| {
            let Trainer { state, parameters, config, timing, .. } = trainer;
            let (loss, correct) = (state.update_loss.clone(), state.correct.take());
            let share = UpdateShare { gradients, loss, correct };
            let (sum, seconds) = share.sum_over(parameters, &config.group, &mut state.message)?;
            state.update_loss = sum.loss;
            state.record.note_correct(sum.correct);
            timing.spent.communication += seconds;
            Ok(sum.gradients)
        })
    }

    /// Learns whether any process was asked to stop, and whether it is time for a checkpoint.
    pub(super) fn agree_to_stop(&mut self) -> Result<(), TrainError> {
        self.learning_what_is_asked(|trainer| Ok(trainer.config.group.barrier()?))
    }

    /// Runs a collective operation, in which all processes agree on whether to stop, and whether it is time
    /// for a checkpoint.
    fn learning_what_is_asked<T>(
        &mut self,
        act: impl FnOnce(&mut Self) -> Result<T, TrainError>,
    ) -> Result<T, TrainError> {
        let group = &self.config.group;
        if self.stops.interrupt.requested() {
            group.ask_to_stop();
        }
        if group.is_rank_zero() && self.has_waited_to_save() {
            group.ask_to_save();
        }
        let done = act(self)?;
        if self.config.group.stops() {
            self.stops.agreed.request();
        }
        Ok(done)
    }

    /// Takes over from the first process what is measured rather than trained, such as running
    /// statistics, of which each process has those of its own batches.
    pub(super) fn share_statistics(&mut self) -> Result<(), TrainError> {
        self.share_parameters(|parameter| !parameter.trained)
    }

    /// Takes over from the first process the values of these parameters.
    pub(super) fn share_parameters(
        &mut self,
        is_shared: impl Fn(&Parameter) -> bool,
    ) -> Result<(), TrainError> {
        let group = &self.config.group;
        if !group.is_shared() || !self.parameters.iter().any(&is_shared) {
            return Ok(());
        }
        let model = self.state.model().valid();
        let own = values(&model);
        let each = || self.parameters.iter().zip(&own);
        let mut measured = Vec::new();
        for (_, value) in each().filter(|(known, _)| group.is_rank_zero() && is_shared(known)) {
            let values = to_host::<B::InnerBackend>(value.clone());
            measured.extend(values.iter().flat_map(|value| value.to_le_bytes()));
        }
        let measured = group.broadcast(measured)?;
        if group.is_rank_zero() {
            return Ok(());
        }
        let (numbers, _) = measured.as_chunks();
        let mut numbers = numbers.iter().map(|number| f32::from_le_bytes(*number));
        let device = self.state.diverged.device();
        let taken = each().map(|(parameter, value)| {
            if !is_shared(parameter) {
                return value.clone();
            }
            let values = numbers.by_ref().take(parameter.elements()).collect();
            from_host::<B::InnerBackend>(values, parameter.shape.clone().into(), &device)
        });
        let taken: Vec<_> = taken.collect();
        self.state.map_model(|model| trainable_with_values(&model, taken, &self.parameters));
        Ok(())
    }

    /// What the first process measured, so that all compare epochs alike.
    pub(super) fn measured_by_first(
        &self,
        own: Option<Metrics>,
    ) -> Result<Option<Metrics>, TrainError> {
        let group = &self.config.group;
        if !group.is_shared() {
            return Ok(own);
        }
        let json = serde_json::to_vec(&own.map(Measured)).expect("metrics have a form in JSON");
        let measured: Option<Measured> = serde_json::from_slice(&group.broadcast(json)?)
            .expect("the first process wrote it likewise");
        Ok(measured.map(Metrics::from))
    }
}
