//! Images as a recipe trains on them: read, brought to one shape, split, and loaded.

use std::{collections::HashSet, path::PathBuf, sync::Arc};

use backend::AutodiffBackend;
use data::{
    DataError, Fitted, ImageLoader, ImagePreprocessing, ImageShape, ImageSource, ImageSplits,
    Named, Subset,
    augment::Augmentation,
    cifar10::read_cifar10,
    drawn::{digits, shapes},
    idx::read_idx,
    image_folder::{ImageFolder, ImageFolderOptions, open_image_folder},
};
use inference::{Description, Preprocessing};
use models::Architecture;
use store::sha256_hex;

use crate::{
    Failure, Start,
    config::{Drawing, ImageConfig, ImageData, ImageOrigin, Normalise},
    image_evaluation::ImageEvaluation,
    plan::{FrozenLayers, Outline, Plan},
};

/// Decoded images of a folder up to this size stay in memory.
const IN_MEMORY_BYTES: usize = 2 << 30;

type Source = Arc<dyn ImageSource>;

/// Hears what is done before the first step: the task, how much is done, and of how much.
pub type Progress<'a> = dyn FnMut(&str, usize, usize) + 'a;

/// Everything that a recipe needs to know about its images before the first step.
pub struct ImageSet {
    /// What is trained on.
    pub train: Source,
    /// What is held out.
    pub validation: Source,
    /// What the source keeps for the end, if it does.
    pub test: Option<Source>,
    /// From pixels to the network's input.
    pub preprocessing: ImagePreprocessing,
    /// A hash of all images and labels.
    pub fingerprint: String,
    /// What the user should know, a sentence each.
    pub notes: Vec<String>,
    /// Files that could not be decoded.
    pub skipped: usize,
}

impl ImageSet {
    /// Reads what the configuration names; `progress` is told what is done, and how far it is.
    ///
    /// # Errors
    ///
    /// Whatever is wrong with the data.
    pub fn read(data: &ImageData, seed: u64, progress: &mut Progress<'_>) -> Result<Self, Failure> {
        let found = Found::read(data, seed, progress)?;
        let fingerprint = found.fingerprint()?;
        let fit = |source| fit(source, data);
        let train = fit(found.train);
        let (train, validation) = match found.validation {
            Some(validation) => (train, fit(validation)),
            None => {
                let (train, held_out) = Subset::divide(&train, data.validation, seed)?;
                (Arc::new(train) as Source, Arc::new(held_out) as Source)
            }
        };
        Ok(Self {
            preprocessing: preprocessing(data, train.as_ref())?,
            train,
            validation,
            test: found.test.map(fit),
            fingerprint,
            notes: found.notes,
            skipped: found.skipped,
        })
    }

    /// The names of the classes, in the order of the labels.
    pub fn classes(&self) -> &[String] {
        self.train.classes()
    }

    /// What it would be to train a whole network on these images.
    pub(crate) fn plan<Model>(
        &self,
        config: &ImageConfig<Model>,
        architecture: Architecture,
    ) -> Result<Plan, Failure> {
        let ImageShape { channels, height, width } = self.train.shape();
        let sample = vec![channels, height, width];
        let samples = self.train.labels().len();
        Outline {
            recipe: &config.recipe,
            architecture,
            sample,
            frozen: FrozenLayers::default(),
            samples,
            training: &config.training,
            trainer: config.trainer(samples.div_ceil(config.training.batch_size)),
            validates: true,
            data_bytes: self.splits().map(|split| bytes_on_device(split, &config.data)).sum(),
            notes: self.notes.clone(),
        }
        .plan()
    }

    pub(crate) fn splits(&self) -> impl Iterator<Item = &Source> {
        [&self.train, &self.validation].into_iter().chain(&self.test)
    }
}

/// Bytes of a split's images, if they are to lie on the device.
pub(crate) fn bytes_on_device(split: &Source, data: &ImageData) -> usize {
    let bytes = split.labels().len() * split.shape().bytes();
    if data.residency.is_on_device(bytes) { bytes } else { 0 }
}

/// The images of a recipe whose whole network is trained, ready for its loop.
pub(crate) struct TrainingImages<B: AutodiffBackend> {
    pub(crate) train: ImageLoader<B>,
    pub(crate) augmentation: Augmentation<B>,
    pub(crate) validation: ImageEvaluation<B::InnerBackend>,
    pub(crate) test: Option<ImageEvaluation<B::InnerBackend>>,
    pub(crate) preprocessing: ImagePreprocessing,
    pub(crate) classes: Vec<String>,
    /// A hash of all images and labels.
    pub(crate) fingerprint: String,
    /// What the user should know, a sentence each.
    pub(crate) notes: Vec<String>,
    /// Files that could not be decoded.
    pub(crate) skipped: usize,
}

impl<B: AutodiffBackend> TrainingImages<B> {
    /// Reads what the configuration names, and brings to the device what is to lie there.
    ///
    /// # Errors
    ///
    /// Whatever is wrong with the data.
    pub(crate) fn open<Model>(
        config: &ImageConfig<Model>,
        start: &mut Start<'_>,
        device: &B::Device,
    ) -> Result<Self, Failure> {
        let ImageConfig { data, augment, training, .. } = config;
        let images = ImageSet::read(data, training.seed, &mut start.progress())?;
        start.stop_if_asked()?;
        let classes = images.classes().to_vec();
        let ImageSet { preprocessing, fingerprint, mut notes, skipped, .. } = images;
        notes.extend(config.note_on_cutout(preprocessing.shape()));
        let evaluation =
            |split| ImageEvaluation::new(split, data, &preprocessing, &start.group, device);
        let batching = start.shared(training.batching(data.order));
        Ok(Self {
            train: ImageLoader::new(images.train, batching, data.residency, data.workers, device)?,
            augmentation: Augmentation::new(augment, &preprocessing, training.seed, device),
            validation: evaluation(images.validation)?,
            test: images.test.map(evaluation).transpose()?,
            preprocessing,
            classes,
            fingerprint,
            notes,
            skipped,
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

/// Images to measure on.
pub(crate) struct GivenImages {
    pub(crate) source: Source,
    /// Which split of the data they are; none where they are all of it.
    pub(crate) split: Option<&'static str>,
    /// What the user should know, a sentence each.
    pub(crate) notes: Vec<String>,
}

/// The images to measure on: the source's test split, else its validation split, else all it has.
///
/// # Errors
///
/// Whatever is wrong with the data.
pub(crate) fn read_given(
    data: &ImageData,
    seed: u64,
    progress: &mut Progress<'_>,
) -> Result<GivenImages, Failure> {
    let Found { train, validation, test, notes, .. } = match data.source {
        ImageOrigin::ImageFolder => {
            let options = ImageFolderOptions { one_class: true, ..data.folder_options() };
            Found::read_folder(&options, data, progress)?
        }
        _ => Found::read(data, seed, progress)?,
    };
    let (source, split) = match (test, validation) {
        (Some(test), _) => (test, Some("test")),
        (None, Some(validation)) => (validation, Some("validation")),
        (None, None) => (train, None),
    };
    Ok(GivenImages { source: fit(source, data), split, notes })
}

/// The splits as the source has them.
struct Found {
    train: Source,
    validation: Option<Source>,
    test: Option<Source>,
    notes: Vec<String>,
    skipped: usize,
}

impl Found {
    fn fingerprint(&self) -> Result<String, DataError> {
        let splits = [Some(&self.train), self.validation.as_ref(), self.test.as_ref()];
        let splits = splits.into_iter().flatten().map(|split| split.fingerprint());
        Ok(sha256_hex(splits.collect::<Result<Vec<_>, _>>()?.join("\n").as_bytes()))
    }

    fn read(data: &ImageData, seed: u64, progress: &mut Progress<'_>) -> Result<Self, Failure> {
        let path = data.path.clone().unwrap_or_default();
        let splits = match data.source {
            ImageOrigin::Synthetic => {
                let samples = data.samples;
                let draw = match data.drawing {
                    Drawing::Digits => digits,
                    Drawing::Shapes => shapes,
                };
                ImageSplits {
                    train: draw(0..samples, seed)?,
                    test: Some(draw(samples..samples + samples.div_ceil(5), seed)?),
                }
            }
            ImageOrigin::Idx => read_idx(&path)?,
            ImageOrigin::Cifar10 => read_cifar10(&path)?,
            ImageOrigin::ImageFolder => {
                return Self::read_folder(&data.folder_options(), data, progress);
            }
        };
        Ok(Self {
            train: Arc::new(splits.train),
            validation: None,
            test: splits.test.map(|test| Arc::new(test) as Source),
            notes: Vec::new(),
            skipped: 0,
        })
    }

    fn read_folder(
        options: &ImageFolderOptions,
        data: &ImageData,
        progress: &mut Progress<'_>,
    ) -> Result<Self, Failure> {
        let folder = open_image_folder(options)?;
        let (mut notes, mut skipped) = (Vec::from_iter(folder.note()), 0);
        let mut decode = |folder: ImageFolder| {
            let (source, bad) = decode(folder, data, progress, &mut notes)?;
            skipped += bad;
            Ok::<_, Failure>(source)
        };
        let train = decode(folder.train)?;
        let validation = folder.validation.map(&mut decode).transpose()?;
        let test = folder.test.map(&mut decode).transpose()?;
        Ok(Self { train, validation, test, notes, skipped })
    }
}

/// Decodes the images of a folder: into memory where they fit, otherwise once to know the bad ones.
/// Returns how many were bad.
fn decode(
    folder: ImageFolder,
    data: &ImageData,
    progress: &mut Progress<'_>,
    notes: &mut Vec<String>,
) -> Result<(Source, usize), Failure> {
    if let Some(first) = folder.first_ignored() {
        let what = match folder.ignored() {
            1 => format!("`{}`", first.display()),
            count => format!("{count} files, as `{}`", first.display()),
        };
        notes.push(format!("passed over {what}: only files named as images are read"));
    }
    let bytes = folder.shape().bytes() * folder.labels().len();
    let mut progress = |done, of| progress("decoding images", done, of);
    let (source, report): (Source, _) = if data.cache.is_none() && bytes <= IN_MEMORY_BYTES {
        let paths = (0..folder.labels().len()).map(|index| folder.path(index).to_owned());
        let mut paths: Vec<PathBuf> = paths.collect();
        let (images, report) = folder.load(&mut progress)?;
        let skipped: HashSet<&PathBuf> = report.skipped.iter().map(|image| &image.path).collect();
        paths.retain(|path| !skipped.contains(path));
        let names = paths.iter().map(|path| path.display().to_string()).collect();
        (Arc::new(Named::new(Arc::new(images), names)), report)
    } else {
        let (images, report) = folder.prepare(&mut progress)?;
        (Arc::new(images), report)
    };
    for image in &report.skipped {
        notes.push(format!("skipped `{}`: {}", image.path.display(), image.reason));
    }
    Ok((source, report.skipped.len()))
}

fn fit(source: Source, data: &ImageData) -> Source {
    let shape = data.fitted(source.shape());
    if shape == source.shape() { source } else { Arc::new(Fitted::new(source, shape, data.resize)) }
}

fn preprocessing(data: &ImageData, train: &dyn ImageSource) -> Result<ImagePreprocessing, Failure> {
    let shape = train.shape();
    Ok(match data.normalise {
        Normalise::Measured => ImagePreprocessing::measured(train, data.resize)?,
        Normalise::Unit => ImagePreprocessing::identity(shape, data.resize),
    })
}
