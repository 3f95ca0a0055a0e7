//! Where the weights of a pretrained network come from, and the images that they were trained on.

use std::path::{Path, PathBuf};

use backend::Backend;
use data::{IMAGENET_DEVIATION, IMAGENET_MEAN, ImagePreprocessing, ImageShape, Resize};
use inference::{Description, Preprocessing};
use models::{
    Architecture, Initializer, Vgg, VggConfig, import,
    weights::{self, WeightsError},
};
use store::TensorFile;

use crate::{
    ExitCode, Failure,
    inputs::{
        backbone::{Backbone, Model},
        weights_file::{WeightsFile, note_on_unfinished_of},
    },
    numbers::counted,
    run::start::WorkProgress,
};

/// `vgg-small` as the recipe `vgg-pretrain` trained it on CIFAR-10; see the README beside the file.
static SHIPPED: &[u8] = include_bytes!("../../assets/vgg-small.safetensors");

/// A backbone with its weights.
pub(crate) struct Pretrained<B: Backend> {
    pub(crate) network: Vgg<B>,
    /// The file of its weights.
    pub(crate) origin: PathBuf,
    /// The preprocessing it was trained with, if the weights are of this project.
    preprocessing: Option<ImagePreprocessing>,
    /// What the user should know, a sentence each.
    pub(crate) notes: Vec<String>,
}

impl<B: Backend> Pretrained<B> {
    /// The backbone with the weights named by the settings; none if everything is trained.
    pub(crate) fn open(
        settings: &Model,
        backbone: &VggConfig,
        progress: &mut WorkProgress<'_>,
        device: &B::Device,
    ) -> Result<Option<Self>, Failure> {
        let file = match settings.weights.as_str() {
            "none" => return Ok(None),
            "shipped" => {
                let origin = Path::new("the shipped weights");
                WeightsFile::new(origin.to_owned(), TensorFile::from_bytes(SHIPPED, origin)?)?
            }
            "imagenet" => {
                let origin = imagenet(settings.backbone, progress)?;
                let file = import::read_where(&origin, import::is_vgg_feature)?;
                WeightsFile::new(origin, file)?
            }
            path => WeightsFile::read(Path::new(path), import::is_vgg_feature)?,
        };
        let WeightsFile { origin, mut tensors, description } = file;
        if let Some(other) = description.as_ref().filter(|description| !is_vgg(description)) {
            return Err(another(&origin, other));
        }
        let has_head = description.as_ref().is_some_and(|description| description.recipe == "vgg");
        let note = has_head.then(|| {
            format!(
                "only the backbone of `{}` is used; the head starts untrained",
                settings.weights
            )
        });
        let preprocessing = description.and_then(preprocessing_of);
        if let Some(own) = preprocessing.as_ref().filter(|own| own.channels != backbone.channels) {
            return Err(of_other_channels(&origin, own.channels, backbone.channels));
        }
        let notes = note.into_iter().chain(note_on_size(preprocessing.as_ref(), backbone.size));
        let notes = notes.chain(note_on_unfinished_of(&origin)).collect();
        tensors.retain(|name, _| import::is_vgg_feature(name));
        let blank = backbone.build(&Initializer::blank(device));
        let network = weights::load(blank, tensors)
            .map_err(|error| unfitting(&origin, settings.backbone, &error))?;
        Ok(Some(Self { network, origin, preprocessing, notes }))
    }

    /// The backbone's preprocessing: that of its own training, with ImageNet's statistics if the file
    /// has none.
    pub(crate) fn preprocessing(&self, shape: ImageShape, resize: Resize) -> ImagePreprocessing {
        let (mean, deviation) = match &self.preprocessing {
            Some(own) => (own.mean.clone(), own.deviation.clone()),
            None => (IMAGENET_MEAN.to_vec(), IMAGENET_DEVIATION.to_vec()),
        };
        ImagePreprocessing::new(shape, resize, mean, deviation)
    }
}

fn is_vgg(description: &Description) -> bool {
    matches!(description.architecture, Architecture::Vgg(_))
}

/// The error for a model of this project that is not a VGG network.
fn another(origin: &Path, description: &Description) -> Failure {
    Failure::new(
        ExitCode::UserData,
        format!(
            "`{}` is a model of the recipe `{}`, not a VGG network",
            origin.display(),
            description.recipe
        ),
        "name a run of `vgg-pretrain`, or a file of a VGG network's weights",
    )
}

fn of_other_channels(origin: &Path, channels: usize, takes: usize) -> Failure {
    Failure::new(
        ExitCode::UserData,
        format!(
            "the weights in `{}` are for pictures of {}, and a backbone takes {takes}",
            origin.display(),
            counted(channels, "channel")
        ),
        format!(
            "train `vgg-pretrain` with `data.channels={takes}`, which brings grey pictures to them"
        ),
    )
}

/// What the user should know where the weights were trained on pictures of another size.
fn note_on_size(trained_on: Option<&ImagePreprocessing>, size: usize) -> Option<String> {
    let [height, width] = trained_on?.size;
    let told = format!(
        "the weights were trained on pictures of {height}x{width}, and these are {size}x{size}"
    );
    match [height, width] {
        trained_on if trained_on == [size; 2] => None,
        [side, other] if side == other => {
            Some(format!("{told}; `--set data.size={side}` makes them alike"))
        }
        _ => Some(told),
    }
}

/// What a model file of this project says about its images.
fn preprocessing_of(description: Description) -> Option<ImagePreprocessing> {
    match description.preprocessing {
        Preprocessing::Image(image) => Some(image),
        _ => None,
    }
}

fn unfitting(origin: &Path, backbone: Backbone, error: &WeightsError) -> Failure {
    if let WeightsError::NotFinite { .. } = error {
        let message = format!("`{}`: {error}", origin.display());
        return Failure::new(ExitCode::UserData, message, error.help());
    }
    Failure::new(
        ExitCode::UserData,
        format!("`{}` does not fit the backbone `{backbone}`: {error}", origin.display()),
        "name the file's backbone: `--set model.backbone=..`",
    )
}

/// The file of torchvision's weights, downloaded if it is not there.
#[cfg(feature = "download")]
fn imagenet(backbone: Backbone, progress: &mut WorkProgress<'_>) -> Result<PathBuf, Failure> {
    use std::slice;

    use crate::download::{self, DownloadError, imagenet};

    let name = backbone.to_string();
    let file = imagenet::file_of(&name).expect("the configuration was checked");
    let failed = |error: DownloadError, folder: &Path| {
        error.failure(slice::from_ref(file), imagenet::BASE, folder)
    };
    let folder = download::folder().map_err(|error| failed(error, Path::new("")))?.join("weights");
    let task = format!("downloading {}", file.name);
    let mut progress = |have, of| progress(&task, have as usize, of as usize);
    imagenet::get(file, imagenet::BASE, &folder, &download::agent(), &mut progress)
        .map_err(|error| failed(error, &folder))
}

#[cfg(not(feature = "download"))]
fn imagenet(backbone: Backbone, _: &mut WorkProgress<'_>) -> Result<PathBuf, Failure> {
    Err(Failure::new(
        ExitCode::Usage,
        format!("this program was built without downloads, so it cannot get `{backbone}`"),
        "build it with the feature `download`, or name a file with `model.weights`",
    ))
}
