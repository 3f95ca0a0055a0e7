//! `[model]` of the recipe `vgg`: which pretrained network, and what is put on top of it.

use std::path::Path;

use backend::Backend;
use data::ImagePreprocessing;
use inference::{Description, Preprocessing};
use models::{
    Initializer, Vgg, VggConfig, import,
    weights::{self, WeightsError},
};
use serde::{Deserialize, Serialize};
use store::TensorFile;

use crate::{
    ExitCode, Failure,
    config::{Check, Checker},
};

/// The table `[model]`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Model {
    /// The network whose features are used.
    pub backbone: Backbone,
    /// A file of its weights; `none` to train everything from the beginning.
    pub weights: String,
    /// Units of each hidden layer of the head.
    pub hidden: Vec<usize>,
    /// The share of each hidden layer's output that is dropped while training.
    pub dropout: f64,
    /// Whether the last block is trained too.
    pub fine_tune: bool,
    /// What the learning rate of that block is multiplied by.
    pub fine_tune_factor: f64,
    /// Features of an image up to this number are computed once and kept.
    pub most_kept: usize,
}

/// The value of `model.backbone`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Backbone {
    /// Seven convolutions with batch normalisation, for pictures of 32x32.
    #[serde(rename = "vgg-small")]
    Small,
    /// VGG of depth 11.
    #[serde(rename = "vgg11")]
    Vgg11,
    /// VGG of depth 11 with batch normalisation.
    #[serde(rename = "vgg11-bn")]
    Vgg11Bn,
    /// VGG of depth 13.
    #[serde(rename = "vgg13")]
    Vgg13,
    /// VGG of depth 13 with batch normalisation.
    #[serde(rename = "vgg13-bn")]
    Vgg13Bn,
    /// VGG of depth 16.
    #[serde(rename = "vgg16")]
    Vgg16,
    /// VGG of depth 16 with batch normalisation.
    #[serde(rename = "vgg16-bn")]
    Vgg16Bn,
    /// VGG of depth 19.
    #[serde(rename = "vgg19")]
    Vgg19,
    /// VGG of depth 19 with batch normalisation.
    #[serde(rename = "vgg19-bn")]
    Vgg19Bn,
}

impl Check for Model {
    fn check(&self, checker: &mut Checker<'_>) {
        checker.require("model.weights", !self.weights.is_empty(), "a file, or `none`");
        checker.require("model.hidden", !self.hidden.contains(&0), "widths of at least 1");
        let share = (0.0..1.0).contains(&self.dropout);
        checker.require("model.dropout", share, "at least 0 and below 1");
        let factor = self.fine_tune_factor > 0.0 && self.fine_tune_factor.is_finite();
        checker.require("model.fine_tune_factor", factor, "above 0");
    }
}

/// A backbone with the weights of a file.
pub(crate) struct Pretrained<B: Backend> {
    pub(crate) network: Vgg<B>,
    /// What it was trained to take, where the file is of this project.
    preprocessing: Option<ImagePreprocessing>,
}

impl Model {
    /// The backbone, for pictures of `size` or of its usual one.
    pub(crate) fn network(&self, size: Option<usize>) -> Result<VggConfig, Failure> {
        let (depth, batch_norm) = match self.backbone {
            Backbone::Small => (0, true),
            Backbone::Vgg11 => (11, false),
            Backbone::Vgg11Bn => (11, true),
            Backbone::Vgg13 => (13, false),
            Backbone::Vgg13Bn => (13, true),
            Backbone::Vgg16 => (16, false),
            Backbone::Vgg16Bn => (16, true),
            Backbone::Vgg19 => (19, false),
            Backbone::Vgg19Bn => (19, true),
        };
        let usual = match depth {
            0 => VggConfig::small(),
            depth => VggConfig::imagenet(depth, batch_norm)?,
        };
        let network = VggConfig { size: size.unwrap_or(usual.size), ..usual };
        network.check()?;
        Ok(network)
    }

    /// The backbone with the weights that are named, none where everything is trained.
    ///
    /// # Errors
    ///
    /// Where the file is no file of weights, or of another network.
    pub(crate) fn pretrained<B: Backend>(
        &self,
        backbone: &VggConfig,
        device: &B::Device,
    ) -> Result<Option<Pretrained<B>>, Failure> {
        if self.weights == "none" {
            return Ok(None);
        }
        let path = Path::new(&self.weights);
        let tensors = import::read_where(path, import::is_vgg_feature)?;
        let blank = backbone.build(&Initializer::blank(device));
        let network = weights::load(blank, tensors)
            .map_err(|error| unfitting(path, self.backbone, &error))?;
        Ok(Some(Pretrained { network, preprocessing: preprocessing_of(path) }))
    }
}

impl<B: Backend> Pretrained<B> {
    /// What the backbone takes: as in its own training, with ImageNet's statistics where the file
    /// says nothing. Size and colours are those of `images`.
    pub(crate) fn preprocessing(&self, images: &ImagePreprocessing) -> ImagePreprocessing {
        use data::preprocess::{IMAGENET_DEVIATION, IMAGENET_MEAN};
        let (mean, deviation) = match &self.preprocessing {
            Some(own) => (own.mean.clone(), own.deviation.clone()),
            None => (IMAGENET_MEAN.to_vec(), IMAGENET_DEVIATION.to_vec()),
        };
        ImagePreprocessing::new(images.shape(), images.resize, mean, deviation)
    }
}

/// What a model file of this project says about its images.
fn preprocessing_of(path: &Path) -> Option<ImagePreprocessing> {
    let file = TensorFile::read_where(path, |_| false).ok()?;
    let description: Description = serde_json::from_value(file.metadata).ok()?;
    match description.preprocessing {
        Preprocessing::Image(image) if image.channels == 3 => Some(image),
        _ => None,
    }
}

fn unfitting(path: &Path, backbone: Backbone, error: &WeightsError) -> Failure {
    Failure::new(
        ExitCode::UserData,
        format!("`{}` is not of the backbone {backbone:?}: {error}", path.display()),
        "name the backbone that the file is of: `--set model.backbone=..`",
    )
}
