//! `[model]` of the recipe `vgg`: which pretrained network, and what is put on top of it.

use std::fmt;

use backend::device::takes_tensor_of;
use data::Residency;
use models::{HeadConfig, VggConfig};
use serde::{Deserialize, Serialize};
use training::ParameterGroup;

use crate::{
    Failure,
    config::{Check, Checker, check_dropout, check_widths},
    numbers::{grouped, size},
};

/// Features up to this size in all are kept, unless the user says otherwise.
const MOST_KEPT_BYTES: usize = 4 << 30;

/// The table `[model]`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Model {
    /// The network whose features are used.
    pub(crate) backbone: Backbone,
    /// A file of its weights; `shipped` for those that come with this program, `imagenet` for
    /// torchvision's, `none` to train everything from the beginning.
    pub(crate) weights: String,
    /// Units of each hidden layer of the head.
    pub(crate) hidden: Vec<usize>,
    /// The share of each hidden layer's output that is dropped while training.
    pub(crate) dropout: f64,
    /// Whether the last block is trained too.
    pub(crate) fine_tune: bool,
    /// What the learning rate of that block is multiplied by.
    pub(crate) fine_tune_factor: f64,
    /// Features of an image up to this number are computed once and kept, unless all together are
    /// too large.
    pub(crate) most_kept: usize,
}

/// The value of `model.backbone`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Backbone {
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
        let (named, small) = (!self.weights.is_empty(), self.backbone == Backbone::Small);
        let rule = "`shipped`, `imagenet`, `none` or a file";
        checker.require("model.weights", named, rule);
        let backbone = self.backbone;
        if self.weights == "shipped" && !small {
            checker.conflict(
                "model.backbone",
                format!("no weights of `{backbone}` are shipped"),
                "set `model.weights=imagenet` to have them downloaded, or name a file of them",
            );
        }
        if self.weights == "imagenet" && small {
            checker.conflict(
                "model.weights",
                format!("there are no weights of `{backbone}` that were trained on ImageNet"),
                "set `model.weights=shipped`, or another `model.backbone`, such as `vgg16`",
            );
        }
        check_widths("model.hidden", &self.hidden, checker);
        check_dropout(self.dropout, Some(&self.hidden), checker);
        let factor = self.fine_tune_factor > 0.0 && self.fine_tune_factor <= 1e3;
        checker.require("model.fine_tune_factor", factor, "above 0 and at most 1000");
        self.check_norms(checker);
        if self.weights == "none" {
            let pretrained = if small { "shipped" } else { "imagenet" };
            let of_weights = ["model.fine_tune", "model.fine_tune_factor", "model.most_kept"];
            checker.only_with("model.weights", pretrained, &of_weights);
            return;
        }
        // Pixels are brought to what the weights were trained on.
        checker.only_with("model.weights", "none", &["data.normalise"]);
        if !self.fine_tune {
            checker.only_with("model.fine_tune", "true", &["model.fine_tune_factor"]);
        }
    }
}

impl Backbone {
    /// The depth, 0 for the small one, and whether there is batch normalisation.
    fn depth_and_norms(self) -> (usize, bool) {
        match self {
            Self::Small => (0, true),
            Self::Vgg11 => (11, false),
            Self::Vgg11Bn => (11, true),
            Self::Vgg13 => (13, false),
            Self::Vgg13Bn => (13, true),
            Self::Vgg16 => (16, false),
            Self::Vgg16Bn => (16, true),
            Self::Vgg19 => (19, false),
            Self::Vgg19Bn => (19, true),
        }
    }
}

impl fmt::Display for Backbone {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.serialize(f)
    }
}

impl Model {
    /// Refuses norms over the whole batch where none is trained.
    fn check_norms(&self, checker: &mut Checker<'_>) {
        if !checker.is_changed("training.sync_batch_norm") {
            return;
        }
        let (backbone, (_, has_norms)) = (self.backbone, self.backbone.depth_and_norms());
        if !has_norms {
            checker.conflict(
                "training.sync_batch_norm",
                format!(
                    "`training.sync_batch_norm` has no effect: `{backbone}` has no batch \
                     normalisation"
                ),
                format!("leave it out, or set `model.backbone = \"{backbone}-bn\"`"),
            );
        } else if self.weights != "none" && !self.fine_tune {
            checker.conflict(
                "training.sync_batch_norm",
                "`training.sync_batch_norm` has no effect with `model.fine_tune = false`: all \
                 norms are frozen",
                "leave it out, or set `model.fine_tune = true`",
            );
        }
    }

    /// How many blocks of a backbone are frozen, the first ones.
    pub(crate) fn frozen_blocks(&self, backbone: &VggConfig) -> usize {
        match (self.weights.as_str(), self.fine_tune) {
            ("none", _) => 0,
            (_, true) => backbone.blocks.len() - 1,
            (_, false) => backbone.blocks.len(),
        }
    }

    /// At which rate the last block of a pretrained backbone is trained, if it is.
    pub(crate) fn parameter_groups(&self, frozen_blocks: usize) -> Vec<ParameterGroup> {
        if !self.fine_tune || frozen_blocks == 0 {
            return Vec::new();
        }
        let prefix = "features".to_owned();
        vec![ParameterGroup { prefix, learning_rate_factor: self.fine_tune_factor }]
    }

    /// Whether the features of so many images, each of this shape, are computed once and kept on the
    /// device, where nothing is random. Notes it if only their total size prevents that.
    ///
    /// - `kept_before`: whether a run that resumes has kept them, and so does
    pub(crate) fn keeps(
        &self,
        shape: [usize; 3],
        images: usize,
        residency: Residency,
        kept_before: Option<bool>,
        notes: &mut Vec<String>,
    ) -> bool {
        if let Some(kept) = kept_before {
            if kept != self.keeps(shape, images, residency, None, &mut Vec::new()) {
                let are = if kept { "kept" } else { "computed again in each epoch" };
                notes.push(format!(
                    "the features of the frozen layers are {are}, as since the run began, whatever \
                     `data.residency` is now"
                ));
            }
            return kept;
        }
        let values = shape.iter().product::<usize>();
        let bytes = images.saturating_mul(values * size_of::<f32>());
        if values > self.most_kept {
            return false;
        }
        let would_take = format!("the features of {} images would take", grouped(images));
        let size = size(bytes as f64);
        let again = if !takes_tensor_of(bytes) {
            ", and the device takes no tensor so large, so each epoch computes them again"
        } else if residency == Residency::Device || bytes <= MOST_KEPT_BYTES {
            return true;
        } else {
            ", so each epoch computes them again; `data.residency = \"device\"` keeps them on the device \
             all the same"
        };
        notes.push(format!("{would_take} {size}{again}"));
        false
    }

    /// What the user should know of features that are kept, where images are to stay on the host.
    pub(crate) fn note_on_kept(residency: Residency) -> Option<String> {
        let is_host = residency == Residency::Host;
        is_host.then(|| {
            "the features of the frozen layers are kept on the device all the same; \
             `model.most_kept = 0` computes them again in each epoch"
                .to_owned()
        })
    }

    /// What is put on top of a backbone.
    pub(crate) fn head(&self, backbone: &VggConfig, classes: usize) -> HeadConfig {
        HeadConfig {
            inputs: backbone.features(),
            hidden: self.hidden.clone(),
            outputs: classes,
            dropout: self.dropout,
        }
    }

    /// The backbone, for pictures of `size` or of its usual one.
    pub(crate) fn network(&self, size: Option<usize>) -> Result<VggConfig, Failure> {
        let (depth, batch_norm) = self.backbone.depth_and_norms();
        let usual = match depth {
            0 => VggConfig::small(),
            depth => VggConfig::imagenet(depth, batch_norm)?,
        };
        let network = VggConfig { size: size.unwrap_or(usual.size), ..usual };
        network.check()?;
        Ok(network)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn features_are_kept_up_to_a_size_of_each_and_of_all() {
        let model = Model {
            backbone: Backbone::Vgg16,
            weights: "imagenet".to_owned(),
            hidden: vec![],
            dropout: 0.0,
            fine_tune: false,
            fine_tune_factor: 0.1,
            most_kept: 100_000,
        };
        let check = |shape: [usize; 3], images, residency, expected, noted: usize| {
            let mut notes = Vec::new();
            let keeps = model.keeps(shape, images, residency, None, &mut notes);
            assert_eq!((keeps, notes.len()), (expected, noted), "{images} of {shape:?}: {notes:?}");
        };
        let shape = [512, 7, 7]; // 100 kB an image
        check(shape, 40_000, Residency::Auto, true, 0);
        check(shape, 50_000, Residency::Auto, false, 1);
        check(shape, 50_000, Residency::Host, false, 1);
        check(shape, 50_000, Residency::Device, true, 0);
        check([512, 14, 15], 10, Residency::Auto, false, 0);

        let resumed = |residency, kept_before| {
            let mut notes = Vec::new();
            let keeps = model.keeps(shape, 50_000, residency, Some(kept_before), &mut notes);
            assert_eq!(keeps, kept_before, "{residency:?}");
            notes.join("; ")
        };
        assert_eq!(resumed(Residency::Auto, false), "");
        assert_eq!(resumed(Residency::Device, true), "");
        assert!(resumed(Residency::Device, false).contains("are computed again in each epoch, as"));
        assert!(resumed(Residency::Auto, true).contains("are kept, as since the run began"));
    }
}
