//! `model.weights` of a network that is trained as a whole: trained weights that it begins with.
//!
//! What belongs to them comes along: the normalisation and the size of pictures, the vocabulary of a
//! text.

use std::path::{Path, PathBuf};

use backend::{Backend, device};
use burn::module::Module;
use data::{ImagePreprocessing, ImageShape, Resize, Vocabulary};
use inference::{Preprocessing, metadata};
use models::{
    Architecture, Initializer, import,
    weights::{self, WeightsError},
};
use serde::{Deserialize, Serialize};
use serde_json::json;
use store::TensorFile;

use crate::{
    ExitCode, Failure,
    config::{Check, Checker, ImageConfig, SettingsLayer, TextData},
    inputs::{
        image_set::side_of,
        weights_file::{WeightsFile, note_on_division, note_on_unfinished_of},
    },
    numbers::counted,
    paths::last_named,
    run::{
        directory::{INITIAL, newest_step},
        environment::DataHashes,
    },
    settings::{NO_FILE, WEIGHTS, another_run, leaves},
};

/// The value of `model.weights`: `none`, a run, or a file of weights.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct InitialWeights(String);

impl Default for InitialWeights {
    fn default() -> Self {
        Self("none".to_owned())
    }
}

impl InitialWeights {
    /// Whether the network begins with weights that are drawn from the seed.
    pub(crate) fn are_drawn(&self) -> bool {
        *self == Self::default()
    }
}

impl Check for InitialWeights {
    fn check(&self, checker: &mut Checker<'_>) {
        checker.require(WEIGHTS, !self.0.is_empty(), "`none`, a run, or a file of weights");
        if !self.are_drawn() && NO_FILE.contains(&self.0.as_str()) {
            checker.conflict(
                WEIGHTS,
                format!("there are no `{}` weights of this network", self.0),
                "name a run or a file of weights, or train the recipe `vgg`",
            );
        }
    }
}

/// The table `[model]` of a recipe whose network has no sizes to choose.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FixedNetwork {
    /// The weights that training begins with.
    pub weights: InitialWeights,
}

impl Check for FixedNetwork {
    fn check(&self, checker: &mut Checker<'_>) {
        self.weights.check(checker);
    }
}

/// The table `[model]` of any recipe, of which only the weights count.
#[derive(Deserialize)]
pub(crate) struct OnlyWeights {
    #[serde(default)]
    pub(crate) weights: InitialWeights,
}

impl Check for OnlyWeights {
    fn check(&self, _: &mut Checker<'_>) {}
}

/// A table `[model]` whose network may begin with trained weights.
pub trait Initialised {
    /// The weights that training begins with.
    fn weights(&self) -> &InitialWeights;
}

impl Initialised for FixedNetwork {
    fn weights(&self) -> &InitialWeights {
        &self.weights
    }
}

impl<Model: Initialised> ImageConfig<Model> {
    /// Reads the weights that the network begins with; none if they are drawn. Size and colours of the
    /// images, where they were left open, become those that the weights were trained on.
    ///
    /// - `kept`: those that the run has kept, if it has
    pub(crate) fn open_weights(
        &mut self,
        kept: Option<KeptWeights>,
    ) -> Result<Option<TrainedWeights>, Failure> {
        let mut weights = TrainedWeights::open(self.model.weights(), kept)?;
        if let Some(weights) = &mut weights
            && let Some(images) = weights.images()
        {
            let (size, channels) = (side_of(images, &weights.file.origin)?, images.channels);
            weights.size = self.data.size.is_none().then_some(size);
            weights.channels = self.data.channels.is_none().then_some(channels);
            self.data.size.get_or_insert(size);
            self.data.channels.get_or_insert(channels);
        }
        Ok(weights)
    }
}

/// Refuses to resume a run with other weights than it began with. It goes on from those that it has
/// kept, so nothing else would notice.
///
/// - `settings`: those that are to change
pub(crate) fn refuse_others(run: &Path, settings: &[SettingsLayer]) -> Result<(), Failure> {
    let kept = run.join(INITIAL);
    let Some(named) = last_named(settings, WEIGHTS).filter(|_| kept.is_file()) else {
        return Ok(());
    };
    if fingerprint_of(&named)? == fingerprint_of(&kept)? {
        return Ok(());
    }
    Err(Failure::new(
        ExitCode::UserData,
        format!("the run did not begin with the weights in `{}`", named.display()),
        format!(
            "leave `model.weights` as it was, or begin another run: {}",
            another_run(run, [(WEIGHTS, &named.display().to_string().into())])
        ),
    ))
}

/// The weights that a run began with, as a setting in place of those that its settings name, if these are
/// others by now or gone.
///
/// - `settings`: of the run
pub(crate) fn kept_instead(run: &Path, settings: &[SettingsLayer]) -> Option<SettingsLayer> {
    let kept = run.join(INITIAL);
    let named = last_named(settings, WEIGHTS).filter(|_| kept.is_file())?;
    let own = fingerprint_of(&kept).ok()?;
    let are_same = fingerprint_of(&named).is_ok_and(|named| named == own);
    (!are_same).then(|| SettingsLayer::path(run, WEIGHTS, &kept.display().to_string()))
}

/// A hash of all weights of the file or run at a path.
fn fingerprint_of(path: &Path) -> Result<String, Failure> {
    WeightsFile::read(path, |_| true).map(|file| fingerprint(&file))
}

/// A hash of all weights of a file.
fn fingerprint(file: &WeightsFile) -> String {
    weights::fingerprint(&file.tensors)
}

/// The weights that a run began with, as it has kept them.
pub(crate) struct KeptWeights {
    pub(crate) path: PathBuf,
    /// The content of the file.
    pub(crate) bytes: Vec<u8>,
}

/// Trained weights.
pub(crate) struct TrainedWeights {
    file: WeightsFile,
    /// As the settings name them, wherever they were read.
    named: String,
    /// Whether the run has kept them.
    is_kept: bool,
    /// Whether the user was told of them: the run goes on from a checkpoint.
    is_told: bool,
    /// The side and the channels that images get from them.
    size: Option<usize>,
    channels: Option<usize>,
}

impl TrainedWeights {
    /// Reads them; none if the weights are drawn.
    ///
    /// - `kept`: those that the run has kept, if it has
    pub(crate) fn open(
        weights: &InitialWeights,
        kept: Option<KeptWeights>,
    ) -> Result<Option<Self>, Failure> {
        if weights.are_drawn() {
            return Ok(None);
        }
        let is_kept = kept.is_some();
        let run = kept.as_ref().and_then(|kept| kept.path.parent());
        let is_told = run.is_some_and(|run| newest_step(run).is_some());
        let file = match kept {
            Some(KeptWeights { path, bytes }) => {
                let tensors = import::of_safetensors(&bytes, &path)?;
                WeightsFile::new(path, tensors)?
            }
            None => WeightsFile::read(weights.0.as_ref(), |_| true)?,
        };
        let named = weights.0.clone();
        Ok(Some(Self { file, named, is_kept, is_told, size: None, channels: None }))
    }

    /// Whether the run has kept them already.
    pub(crate) fn are_kept(&self) -> bool {
        self.is_kept
    }

    /// As a file, for the run to keep.
    pub(crate) fn file(&self) -> TensorFile {
        let WeightsFile { tensors, description, .. } = &self.file;
        TensorFile {
            tensors: tensors.clone(),
            metadata: description.as_ref().map(metadata).unwrap_or_default(),
        }
    }

    /// What the user should know where they were trained on these data, divided otherwise.
    pub(crate) fn note_on_division(&self, data: &DataHashes) -> Option<String> {
        note_on_division(&self.file.origin, data)
    }

    /// A hash of them.
    pub(crate) fn hash(&self) -> String {
        fingerprint(&self.file)
    }

    /// The vocabulary that they were trained with.
    pub(crate) fn vocabulary(&self, data: &TextData) -> Result<Vocabulary, Failure> {
        let WeightsFile { origin, description, .. } = &self.file;
        let refused = |reason: String, help: &str| {
            let message = format!("the weights in `{}` {reason}", origin.display());
            Err(Failure::new(ExitCode::UserData, message, help))
        };
        match description.as_ref().map(|description| &description.preprocessing) {
            Some(Preprocessing::Text(their)) if their.kind() == data.tokens => Ok(their.clone()),
            Some(Preprocessing::Text(their)) => {
                let (their, own) = (json!(their.kind()), json!(data.tokens));
                let help = "train with the settings of that run, or leave out `model.weights`";
                refused(format!("are for {their}, and `data.tokens` is {own}"), help)
            }
            _ => {
                let help = "name a run of a text generator, or its `model.safetensors`";
                refused("name no vocabulary".to_owned(), help)
            }
        }
    }

    /// From pixels to the network's input as the weights were trained, if that is known and the images
    /// have as many channels.
    pub(crate) fn preprocessing(
        &self,
        shape: ImageShape,
        resize: Resize,
    ) -> Option<ImagePreprocessing> {
        let ImagePreprocessing { mean, deviation, channels, .. } = self.images()?;
        let own = || ImagePreprocessing::new(shape, resize, mean.clone(), deviation.clone());
        (*channels == shape.channels).then(own)
    }

    /// What the user should know of a run that begins, a sentence each.
    pub(crate) fn notes(&self, classes: &[String]) -> Vec<String> {
        if self.is_told {
            return Vec::new();
        }
        let last_layer = match &self.file.description {
            Some(_) if classes.is_empty() => "",
            Some(their) if their.classes == classes => {
                "; its classes have the same names, so the last layer is kept"
            }
            Some(_) => "; its classes differ, so the last layer starts untrained",
            None => "; a last layer for another number of classes starts untrained",
        };
        let taken = [
            self.size.map(|side| format!("{side}x{side}")),
            self.channels.map(|channels| counted(channels, "channel")),
        ];
        let taken = Vec::from_iter(taken.into_iter().flatten()).join(" and ");
        let images = match taken.is_empty() {
            true => String::new(),
            false => format!("; pictures are brought to {taken}, as those of the weights were"),
        };
        let named = &self.named;
        let begins = format!("training begins with the weights in `{named}`{last_layer}{images}");
        [begins].into_iter().chain(note_on_unfinished_of(&self.file.origin)).collect()
    }

    /// The network with these weights. Its last layer keeps its own if its classes are others.
    pub(crate) fn load<B: Backend, M: Module<B>>(
        &self,
        network: M,
        architecture: &Architecture,
        classes: &[String],
    ) -> Result<M, Failure> {
        let WeightsFile { origin, tensors, description } = &self.file;
        if let Some(their) = description {
            let differ = differences(&their.architecture, architecture);
            if !differ.is_empty() {
                return Err(Failure::new(
                    ExitCode::UserData,
                    format!(
                        "the weights in `{}` are another network's: {differ}",
                        origin.display()
                    ),
                    "train with the settings of that run, or leave out `model.weights`",
                ));
            }
        }
        let last = format!("{}.", architecture.last_layer());
        let keeps_last = match description {
            Some(their) => their.classes == classes,
            None => {
                let mut own = weights::shapes(&network).into_iter();
                own.all(|(name, shape)| {
                    !name.starts_with(&last)
                        || tensors.get(&name).is_some_and(|found| found.shape() == shape)
                })
            }
        };
        let is_wanted = |name: &str| keeps_last || !name.starts_with(&last);
        weights::load_part(network, tensors.clone(), is_wanted).map_err(|error: WeightsError| {
            let message = format!("`{}`: {error}", origin.display());
            Failure::new(ExitCode::UserData, message, error.help())
        })
    }

    /// Whether a network of this architecture could begin with them.
    pub(crate) fn check(
        &self,
        architecture: &Architecture,
        classes: &[String],
    ) -> Result<(), Failure> {
        let (device, _) = device::open()?;
        let network = architecture.build::<backend::Selected>(&Initializer::blank(&device));
        self.load(network, architecture, classes).map(drop)
    }

    fn images(&self) -> Option<&ImagePreprocessing> {
        match &self.file.description.as_ref()?.preprocessing {
            Preprocessing::Image(images) => Some(images),
            Preprocessing::Table(_) | Preprocessing::Text(_) => None,
        }
    }
}

/// What no weight before the last layer depends on.
const INDEPENDENT: [&str; 6] =
    ["classes", "head.outputs", "head.dropout", "dropout", "predict", "initialization"];

/// How a network differs from another in what the weights before the last layer depend on; empty where
/// it does not.
fn differences(their: &Architecture, own: &Architecture) -> String {
    let sizes = |architecture: &Architecture| {
        let mut sizes = leaves(&json!(architecture));
        sizes.retain(|key, _| !INDEPENDENT.contains(&key.as_str()));
        sizes
    };
    let (their, own) = (sizes(their), sizes(own));
    let differ = |key: &String| {
        let (their, own) = (their.get(key)?, own.get(key)?);
        (their != own).then(|| format!("`{key}` is {their} there and {own} here"))
    };
    let network = differ(&"network".to_owned()); // other networks have other sizes
    network.unwrap_or_else(|| own.keys().filter_map(differ).collect::<Vec<_>>().join(", "))
}

#[cfg(test)]
mod tests {
    use inference::Description;
    use models::SimpleNetConfig;

    use super::*;
    use crate::simplenet;

    #[test]
    fn weights_of_pictures_that_are_not_square_are_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("wide.safetensors");
        let shape = ImageShape { channels: 1, height: 28, width: 32 };
        let network = SimpleNetConfig { channels: 1, size: 28, classes: 2 };
        let description = Description {
            recipe: "simplenet".to_owned(),
            architecture: Architecture::SimpleNet(network),
            classes: ["no", "yes"].map(str::to_owned).to_vec(),
            preprocessing: Preprocessing::Image(ImagePreprocessing::identity(shape, Resize::Crop)),
        };
        let file = TensorFile { tensors: [].into(), metadata: metadata(&description) };
        file.write(&path).unwrap();
        let weights = SettingsLayer::path(folder.path(), WEIGHTS, &path.display().to_string());
        let mut config: ImageConfig<FixedNetwork> =
            simplenet::RECIPE.resolve(vec![weights]).unwrap();
        let refused = config.open_weights(None).err().unwrap();
        assert_eq!(refused.exit_code, ExitCode::UserData);
        let told = format!("the model in `{}` reads pictures of 28x32", path.display());
        assert_eq!(refused.to_string(), told);
    }
}
