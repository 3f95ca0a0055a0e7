//! The state as files, and back, by two functions that nothing may bypass.

use std::{collections::BTreeMap, path::Path};

use backend::{
    AutodiffBackend, Backend,
    primitive::{primitive, tensor},
};
use burn::{
    module::AutodiffModule,
    tensor::{ElementConversion, Tensor, TensorMetadata, ops::FloatTensor},
};
use serde::{Deserialize, Serialize};
use store::{StoredTensor, TensorFile};

use crate::{
    Group, GroupError, TrainError, TrainerConfig,
    correct::{Correct, CorrectOnDevice},
    loss_scale::LossScale,
    lossless,
    optimizer::Slots,
    parameters::Parameter,
    state::{Record, State},
    values::{from_host, to_host, trainable_with_values, values, with_values},
};

pub(crate) type Tensors = BTreeMap<String, StoredTensor>;

const STATE: &str = "state.json";

/// What a checkpoint holds.
#[derive(Debug)]
pub(crate) struct Contents {
    files: BTreeMap<&'static str, TensorFile>,
    pub(crate) state: SavedState,
}

const MODEL: &str = "model.safetensors";
const OPTIMIZER: &str = "optimizer.safetensors";
const AVERAGE: &str = "average.safetensors";
const BEST: &str = "best.safetensors";
const CARRIED: &str = "carried.safetensors";
const TENSOR_FILES: [&str; 5] = [MODEL, OPTIMIZER, AVERAGE, BEST, CARRIED];

/// The content of `state.json`.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct SavedState {
    pub(crate) record: Record,
    steps_per_epoch: usize,
    /// Whether the best epoch's model was kept.
    keep_best: bool,
    /// As in [`TrainerConfig`].
    fingerprints: BTreeMap<String, String>,
    /// Those on which an update depends, by name.
    settings: BTreeMap<String, serde_json::Value>,
    /// Sums on the device, which are f32 and therefore exact as f64.
    #[serde(with = "lossless")]
    interval_loss: f64,
    #[serde(with = "lossless")]
    update_loss: f64,
    correct: Correct,
    /// Of the last update's gradients; none where it is not finite.
    gradient_norm: Option<f64>,
    /// Where losses are scaled.
    #[serde(skip_serializing_if = "Option::is_none")]
    loss_scale: Option<[f64; 2]>,
    /// What [`CheckpointStore::mark`](crate::CheckpointStore::mark) returned.
    pub(crate) mark: serde_json::Value,
}

impl<B: AutodiffBackend, M: AutodiffModule<B>> State<B, M> {
    /// The carried state of all processes; none between two epochs, as each begins without.
    pub(crate) fn carried_by_all(&self, group: &Group) -> Result<Tensors, GroupError> {
        if self.record.position == 0 {
            return Ok(Tensors::new());
        }
        let gather = |(name, rows): (&String, &Tensor<B::InnerBackend, 2>)| {
            let [_, width] = rows.dims();
            let counts = self.last_counts;
            let rows = if counts {
                to_host::<B::InnerBackend>(primitive(rows.clone()))
            } else {
                Vec::new()
            };
            let all = group.all_gather(rows)?;
            let shape = vec![all.len() / width.max(1), width];
            let tensor = StoredTensor::new(shape, all).expect("the rows are of one width");
            Ok((name.clone(), tensor))
        };
        self.carried.iter().map(gather).collect()
    }

    /// Everything that determines the rest of the run, between two updates.
    ///
    /// - `carried`: from [`carried_by_all`](Self::carried_by_all)
    pub(crate) fn save(
        &self,
        carried: Tensors,
        parameters: &[Parameter],
        config: &TrainerConfig,
        mark: serde_json::Value,
    ) -> Contents {
        let names = config.optimizer.slot_names();
        let store = stored::<B::InnerBackend>;
        let by_path = |model: &M::InnerModule| {
            parameters.iter().zip(values(model)).map(|(p, value)| (p.path.clone(), store(value)))
        };
        let slots = parameters.iter().zip(&self.slots);
        let slots = slots.filter_map(|(parameter, slots)| Some((&parameter.path, slots.as_ref()?)));
        let slots = slots.flat_map(|(path, slots)| {
            assert_eq!(slots.len(), names.len(), "the optimizer's tensors for `{path}`");
            let named = names.iter().zip(slots);
            named.map(move |(name, slot)| (format!("{path}.{name}"), store(slot.clone())))
        });
        let averages = parameters.iter().zip(&self.average.0).filter_map(|(parameter, average)| {
            Some((parameter.path.clone(), store(average.clone()?)))
        });
        let best = self.best_model.as_ref().map(|model| by_path(model).collect());
        let tensors: [(_, Tensors); 5] = [
            (MODEL, by_path(&self.model().valid()).collect()),
            (OPTIMIZER, slots.collect()),
            (AVERAGE, averages.collect()),
            (BEST, best.unwrap_or_default()),
            (CARRIED, carried),
        ];
        let file = |(name, tensors)| (name, TensorFile::of_checkpoint(tensors));
        Contents {
            files: tensors.into_iter().map(file).collect(),
            state: SavedState {
                record: self.record.clone(),
                steps_per_epoch: config.steps_per_epoch,
                keep_best: config.keep_best,
                fingerprints: config.fingerprints.clone(),
                settings: config.of_updates(),
                interval_loss: self.interval_loss.clone().into_scalar().elem(),
                update_loss: self.update_loss.clone().into_scalar().elem(),
                correct: self.correct.read(),
                gradient_norm: Some(self.gradient_norm()).filter(|norm| norm.is_finite()),
                loss_scale: self.loss_scale.as_ref().map(LossScale::values),
                mark,
            },
        }
    }

    /// Replaces this state by the saved one.
    ///
    /// # Errors
    ///
    /// Names the first tensor that is missing, has another shape, or does not belong, or how the data or
    /// the settings differ. The state is then unusable.
    pub(crate) fn restore(
        &mut self,
        contents: Contents,
        parameters: &[Parameter],
        config: &TrainerConfig,
    ) -> Result<(), String> {
        let Contents { mut files, state } = contents;
        state.check(config)?;
        let device = self.diverged.device();
        let mut file = |name| files.remove(name).unwrap_or_default().tensors;
        let mut model = file(MODEL);
        let weights = all::<B::InnerBackend>(&mut model, parameters, &device)?;
        let mut best = file(BEST);
        let best_weights = (!best.is_empty())
            .then(|| all::<B::InnerBackend>(&mut best, parameters, &device))
            .transpose()?;
        let (mut optimizer, mut average) = (file(OPTIMIZER), file(AVERAGE));
        for (parameter, slots) in parameters.iter().zip(&mut self.slots) {
            let names = config.optimizer.slot_names();
            *slots = slots_of::<B::InnerBackend>(parameter, names, &mut optimizer, &device)?;
        }
        if config.ema.is_some() {
            let of = |parameter: &Parameter| {
                let average = parameter
                    .trained
                    .then(|| one::<B::InnerBackend>(&mut average, parameter, &device));
                // As the weights, of which each update would otherwise copy those of convolutions.
                Ok(average.transpose()?.map(B::InnerBackend::laid_out))
            };
            self.average.0 = parameters.iter().map(of).collect::<Result<_, String>>()?;
        }
        for (name, rows) in file(CARRIED) {
            let rows = own_rows::<B::InnerBackend>(&name, rows, &config.group, &device)?;
            self.carried.insert(name, rows);
        }
        for (name, left) in
            [(MODEL, model), (BEST, best), (OPTIMIZER, optimizer), (AVERAGE, average)]
        {
            if let Some(unknown) = left.keys().next() {
                return Err(format!("`{unknown}` of `{name}` is not part of this network"));
            }
        }

        let best_model = best_weights
            .map(|weights| with_values(self.model().valid(), weights.into_iter().map(Some)));
        self.best_model = best_model;
        self.map_model(|model| trainable_with_values(&model, weights, parameters));
        let scalar = |value: f64| Tensor::from_floats([value as f32], &device);
        self.interval_loss = scalar(state.interval_loss);
        self.update_loss = scalar(state.update_loss);
        // What one process counted alone: several sum theirs at each update.
        let counts = config.group.is_rank_zero();
        let correct = if counts { state.correct } else { Correct::default() };
        self.correct = CorrectOnDevice::new(correct, &device);
        self.norm_before = state.gradient_norm.unwrap_or(f64::NAN);
        self.loss_scale = state.loss_scale.map(|values| LossScale::restored(values, &device));
        self.record = state.record;
        Ok(())
    }

    /// Lays the model out in memory as if it came from a checkpoint, since the order of a sum may depend
    /// on the layout of a matrix.
    pub(crate) fn lay_out_as_restored(&mut self, parameters: &[Parameter]) {
        let device = self.diverged.device();
        let weights = values(&self.model().valid());
        let weights = weights
            .into_iter()
            .map(|value| loaded::<B::InnerBackend>(stored::<B::InnerBackend>(value), &device));
        self.map_model(|model| trainable_with_values(&model, weights, parameters));
    }
}

impl SavedState {
    fn from_bytes(bytes: &[u8]) -> Result<Self, String> {
        serde_json::from_slice(bytes).map_err(|error| format!("`{STATE}`: {error}"))
    }

    /// Checks that the run continues as it began.
    fn check(&self, config: &TrainerConfig) -> Result<(), String> {
        let names = self.fingerprints.keys().chain(config.fingerprints.keys());
        for name in names {
            if self.fingerprints.get(name) != config.fingerprints.get(name) {
                return Err(format!("{name} have changed since it began"));
            }
        }
        let (then, now) = (self.steps_per_epoch, config.steps_per_epoch);
        if then != now {
            return Err(format!(
                "its epochs have {then} updates instead of {now}, so its batch size or the number of its \
                 samples is different"
            ));
        }
        let best = self.record.best.as_ref().map(|(best, _)| &best.metric);
        let now = &config.monitor.metric;
        if let Some(then) = best.filter(|&then| then != now) {
            return Err(format!("its epochs were compared by `{then}` and would be by `{now}`"));
        }
        // Without a validation so far there is no best model, whether it would be kept or not.
        let keeps = |keep_best| keep_best && self.record.best.is_some();
        for (what, then, now) in [
            ("loss scaling", self.loss_scale.is_some(), config.loss_scaling),
            ("keeping the best model", keeps(self.keep_best), keeps(config.keep_best)),
        ] {
            if then != now {
                let [then, now] = [then, now].map(|there| if there { "with" } else { "without" });
                return Err(format!("it began {then} {what} and would continue {now}"));
            }
        }
        let now = config.of_updates();
        let changed = self.settings.iter().find(|&(name, then)| now.get(name) != Some(then));
        match changed.map(|(name, then)| (name, then, now.get(name))) {
            Some((name, then, Some(now))) => {
                let [then, now] = [then, now].map(|value| match value {
                    serde_json::Value::Null => "unset".to_owned(),
                    value => value.to_string(),
                });
                Err(format!("its `{name}` was {then} and is {now}"))
            }
            Some((name, then, None)) => {
                Err(format!("its `{name}` was {then}, which this program does not know"))
            }
            None => Ok(()),
        }
    }
}

impl Contents {
    /// How the parameters of the saved model differ from these: the first that does.
    pub(super) fn difference(&self, parameters: &[Parameter]) -> String {
        let saved = self.files.get(MODEL).map(|file| &file.tensors);
        let shape_of = |path: &str| Some(saved?.get(path)?.shape());
        for Parameter { path, shape, .. } in parameters {
            match shape_of(path) {
                None => return format!("it has no parameter `{path}` {shape:?}"),
                Some(then) if then != shape => {
                    return format!("its parameter `{path}` is {then:?} instead of {shape:?}");
                }
                Some(_) => {}
            }
        }
        let is_known = |path: &str| parameters.iter().any(|known| known.path == path);
        let mut paths = saved.into_iter().flat_map(|tensors| tensors.keys());
        match paths.find(|path| !is_known(path)) {
            Some(path) => format!("its parameter `{path}` is no part of this model"),
            None => {
                "its parameters come in another order, or different ones are trained".to_owned()
            }
        }
    }

    /// Sends what the first process of a group found to all of them.
    ///
    /// # Errors
    ///
    /// Where a process fails.
    pub(crate) fn of_first(found: Option<Self>, group: &Group) -> Result<Option<Self>, TrainError> {
        if !group.is_shared() {
            return Ok(found);
        }
        let directory = Path::new("the checkpoint of rank 0");
        let mut files = BTreeMap::new();
        if let Some(found) = found {
            files.extend(found.into_files(directory)?);
        }
        let mut received = BTreeMap::new();
        for name in TENSOR_FILES.into_iter().chain([STATE]) {
            let bytes = group.broadcast(files.remove(name).unwrap_or_default())?;
            if !bytes.is_empty() {
                received.insert(name.to_owned(), bytes);
            }
        }
        if received.is_empty() {
            return Ok(None);
        }
        let path = directory.to_owned();
        let contents = Self::from_files(received, directory);
        contents.map(Some).map_err(|reason| TrainError::Unreadable { path, reason })
    }

    /// The files of the checkpoint at `directory`, without the manifest. The tensors of each are freed
    /// once it is serialised.
    ///
    /// # Errors
    ///
    /// Where a tensor's name does not fit the format, or the state would not be readable.
    pub(super) fn into_files(
        self,
        directory: &Path,
    ) -> Result<Vec<(&'static str, Vec<u8>)>, TrainError> {
        let mut files = Vec::new();
        for (name, file) in self.files.into_iter().filter(|(_, file)| !file.tensors.is_empty()) {
            files.push((name, file.to_bytes(&directory.join(name))?));
        }
        let state = serde_json::to_vec_pretty(&self.state).expect("plain data has a form in JSON");
        SavedState::from_bytes(&state)
            .map_err(|reason| TrainError::Unreadable { path: directory.to_owned(), reason })?;
        files.push((STATE, state));
        Ok(files)
    }

    /// The contents of verified files, each freed as soon as it is parsed.
    ///
    /// # Errors
    ///
    /// Where one of them is missing or is not what its name says.
    pub(super) fn from_files(
        mut files: BTreeMap<String, Vec<u8>>,
        directory: &Path,
    ) -> Result<Self, String> {
        let state = files.remove(STATE).ok_or_else(|| format!("`{STATE}` is missing"))?;
        let state = SavedState::from_bytes(&state)?;
        let mut tensor_files = BTreeMap::new();
        for name in TENSOR_FILES {
            let Some(bytes) = files.remove(name) else { continue };
            let file = TensorFile::from_bytes(&bytes, &directory.join(name));
            tensor_files.insert(name, file.map_err(|error| error.to_string())?);
        }
        Ok(Self { files: tensor_files, state })
    }
}

/// The tensors of all parameters, in their order.
fn all<B: Backend>(
    tensors: &mut Tensors,
    parameters: &[Parameter],
    device: &B::Device,
) -> Result<Vec<FloatTensor<B>>, String> {
    parameters.iter().map(|parameter| one::<B>(tensors, parameter, device)).collect()
}

/// The tensor of a parameter.
fn one<B: Backend>(
    tensors: &mut Tensors,
    Parameter { path, shape, .. }: &Parameter,
    device: &B::Device,
) -> Result<FloatTensor<B>, String> {
    match take(tensors, path, shape)? {
        None => Err(format!("`{path}` {shape:?} is missing")),
        Some(tensor) => Ok(loaded::<B>(tensor, device)),
    }
}

/// The optimizer's state for a parameter; none for one that never had a gradient.
fn slots_of<B: Backend>(
    Parameter { path, shape, .. }: &Parameter,
    names: &[&str],
    tensors: &mut Tensors,
    device: &B::Device,
) -> Result<Option<Slots<B>>, String> {
    let names = names.iter().map(|name| format!("{path}.{name}"));
    let mut missing = None;
    let mut slots = Vec::new();
    for name in names {
        match take(tensors, &name, shape)? {
            None => missing = Some(name),
            Some(tensor) => slots.push(loaded::<B>(tensor, device)),
        }
    }
    match missing {
        _ if slots.is_empty() => Ok(None),
        Some(name) => Err(format!("`{name}` {shape:?} is missing")),
        None => Ok(Some(slots)),
    }
}

/// The tensor of that name, if there is one.
fn take(
    tensors: &mut Tensors,
    name: &str,
    shape: &[usize],
) -> Result<Option<StoredTensor>, String> {
    match tensors.remove(name) {
        Some(tensor) if tensor.shape() != shape => {
            Err(format!("`{name}` has the shape {:?} instead of {shape:?}", tensor.shape()))
        }
        found => Ok(found),
    }
}

/// This process's rows of the carried state: `[streams, width]`.
fn own_rows<B: Backend>(
    name: &str,
    carried: StoredTensor,
    group: &Group,
    device: &B::Device,
) -> Result<Tensor<B, 2>, String> {
    let all = match carried.shape() {
        &[all, _] if all > 0 => all,
        shape => {
            return Err(format!("`{name}` has the shape {shape:?}, which has no rows for streams"));
        }
    };
    let own = group.share().range(0..all);
    let rows = tensor::<B, 2>(loaded::<B>(carried, device));
    // A process without rows takes any one as a placeholder, as in its batches.
    Ok(rows.narrow(0, own.start.min(all - 1), own.len().max(1)))
}

fn stored<B: Backend>(primitive: FloatTensor<B>) -> StoredTensor {
    let shape = primitive.shape().to_vec();
    StoredTensor::new(shape, to_host::<B>(primitive)).expect("a tensor fills its shape")
}

/// The reverse of [`stored`].
fn loaded<B: Backend>(tensor: StoredTensor, device: &B::Device) -> FloatTensor<B> {
    let (shape, values) = tensor.into_parts();
    from_host::<B>(values, shape.into(), device)
}
