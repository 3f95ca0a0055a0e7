//! The images of a recipe whose whole network is trained, what training begins with, and its plan.

use backend::AutodiffBackend;
use data::{ImageLoader, ImagePreprocessing, ImageShape, augment::Augmentation, refuse_shared};
use inference::{Description, Preprocessing};
use models::Architecture;

use crate::{
    Failure,
    config::{ImageConfig, Normalise},
    inputs::{
        image_set::{ImageSet, bytes_on_device},
        initial_weights::Initialised,
        run_inputs::RunInputs,
    },
    measure::images::{ImageEvaluation, ImageLoss},
    planning::plan::{FrozenLayers, Outline, Plan},
    registry::Recipe,
    run::start::{Begun, WorkProgress},
};

/// Images ready for a loop, and what training begins with.
pub(crate) struct TrainingImages<B: AutodiffBackend> {
    pub(crate) train: ImageLoader<B>,
    pub(crate) augmentation: Augmentation<B>,
    pub(crate) loss: ImageLoss<B>,
    pub(crate) validation: Option<ImageEvaluation<B::InnerBackend>>,
    pub(crate) test: Option<ImageEvaluation<B::InnerBackend>>,
    pub(crate) preprocessing: ImagePreprocessing,
    pub(crate) classes: Vec<String>,
    pub(crate) inputs: RunInputs,
}

impl<B: AutodiffBackend> TrainingImages<B> {
    /// Reads what the configuration names, and brings to the device what is to lie there. What the
    /// configuration left open is set in it.
    pub(crate) fn open<Model: Initialised>(
        config: &mut ImageConfig<Model>,
        begun: &mut Begun<'_>,
        device: &B::Device,
    ) -> Result<Self, Failure> {
        let weights = config.open_weights(begun.kept_weights()?)?;
        let images = begun
            .do_first(|progress| ImageSet::read(&config.data, config.training.seed, progress))?;
        config.data.choose_size();
        let config = &*config;
        let ImageConfig { data, augment, training, .. } = config;
        begun.keep_apart(&images.shared)?;
        let classes = images.classes().to_vec();
        let shape = images.train.shape();
        let own = weights.as_ref().and_then(|weights| weights.preprocessing(shape, data.resize));
        let plain = ImagePreprocessing::identity(shape, data.resize);
        let differs =
            |own: &ImagePreprocessing| data.normalise == Normalise::Measured || *own != plain;
        let note = "pixels are normalised as for these weights";
        let normalised = own.as_ref().is_some_and(differs).then(|| note.to_owned());
        let preprocessing = match own {
            Some(own) => own,
            None => begun.do_first(|progress| images.preprocessing(data, progress))?,
        };
        let held_out = images.held_out();
        let ImageSet { hashes, mut notes, skipped, .. } = images;
        notes.extend(config.notes(&*images.train, held_out, begun.group().share().of));
        notes.extend(weights.iter().flat_map(|weights| weights.notes(&classes)));
        notes.extend(normalised);
        let loss = ImageLoss::new(config, &*images.train, device);
        let evaluation =
            |split| ImageEvaluation::new(split, config, &preprocessing, begun.group(), device);
        let batching = begun.shared(training.batching(data.order));
        Ok(Self {
            train: ImageLoader::new(images.train, batching, data.residency, data.workers, device)?,
            augmentation: Augmentation::new(augment, &preprocessing, training.seed, device),
            loss,
            validation: images.validation.map(evaluation).transpose()?,
            test: images.test.map(evaluation).transpose()?,
            preprocessing,
            classes,
            inputs: RunInputs { weights, hashes, notes, skipped },
        })
    }

    /// The shape of an image: `[channels, height, width]`.
    pub(crate) fn sample(&self) -> [usize; 3] {
        let ImageShape { channels, height, width } = self.preprocessing.shape();
        [channels, height, width]
    }

    /// The description of a network that is trained on these images.
    pub(crate) fn describe(&self, recipe: &str, architecture: Architecture) -> Description {
        Description {
            recipe: recipe.to_owned(),
            architecture,
            classes: self.classes.clone(),
            preprocessing: Preprocessing::Image(self.preprocessing.clone()),
        }
    }
}

impl<Model: Initialised> ImageConfig<Model> {
    /// Describes the training of a whole network, without training.
    ///
    /// - `network`: the one for images of this shape and so many classes
    pub(crate) fn plan(
        mut self,
        recipe: &'static Recipe,
        progress: &mut WorkProgress<'_>,
        network: impl Fn(&Self, ImageShape, usize) -> Result<Architecture, Failure>,
    ) -> Result<Plan, Failure> {
        self.check_size(&network)?;
        let weights = self.open_weights(None)?;
        let images = ImageSet::read(&self.data, self.training.seed, progress)?;
        let (shape, classes) = (images.train.shape(), images.classes());
        let architecture = network(&self, shape, classes.len())?;
        refuse_shared(&images.shared)?;
        let mut notes = images.notes.clone();
        notes.extend(self.notes(&*images.train, images.held_out(), 1));
        if let Some(weights) = weights {
            weights.check(&architecture, classes)?;
            notes.extend(weights.notes(classes));
        }
        let samples = images.train.labels().len();
        Outline {
            recipe,
            architecture,
            sample: vec![shape.channels, shape.height, shape.width],
            frozen: FrozenLayers::default(),
            samples,
            training: &self.training,
            trainer: self.trainer(samples.div_ceil(self.training.batch_size)),
            validates: images.validation.is_some(),
            data_bytes: images.splits().map(|split| bytes_on_device(split, &self.data)).sum(),
            notes,
        }
        .plan()
    }
}

impl<Model> ImageConfig<Model> {
    /// Refuses a size that the network does not take, where one is given, before any picture is read.
    ///
    /// - `network`: the one for images of this shape and so many classes
    pub(crate) fn check_size<N>(
        &self,
        network: impl Fn(&Self, ImageShape, usize) -> Result<N, Failure>,
    ) -> Result<(), Failure> {
        const CLASSES: usize = 2; // any number
        let Some(side) = self.data.size else { return Ok(()) };
        let channels = self.data.channels.unwrap_or(3);
        network(self, ImageShape { channels, height: side, width: side }, CLASSES).map(drop)
    }
}
