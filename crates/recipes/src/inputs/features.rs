//! The features of a frozen network: computed once and kept, or batch by batch.

use std::{path::Path, sync::Arc, time::Instant};

use backend::{AutodiffBackend, Backend, NAME, arithmetic};
use burn::tensor::Tensor;
use data::{
    Batching, DataError, ImageLoader, ImagePreprocessing, ImageSource, Residency, Table,
    TableBatch, TableLoader, Targets, Task,
    augment::{AugmentOptions, Augmentation, Augmented},
};
use inference::IMAGES_AT_A_TIME;
use models::{Pass, Vgg, weights};
use serde_json::Value;
use store::{StoredTensor, TensorFile, create_directory, sha256_hex, sha256_hex_of_values};

use crate::{
    Failure,
    cache_folder::cache_folder,
    config::{ImageConfig, ImageData},
    inputs::image_set::ImageSet,
    run::start::Begun,
};

/// To be raised whenever the same images and weights would give other features.
const VERSION: u32 = 2;

/// A network that is not trained: on the inner backend, in inference mode.
pub(crate) struct Frozen<B: Backend> {
    network: Vgg<B>,
    pub(crate) preprocessing: ImagePreprocessing,
    /// Of an image's features: `[channels, height, width]`.
    pub(crate) shape: [usize; 3],
    /// The hash of its weights.
    pub(crate) hash: String,
    device: B::Device,
}

impl<B: Backend> Frozen<B> {
    /// - `shape`: of an image's features, `[channels, height, width]`
    pub(crate) fn new(
        network: Vgg<B>,
        shape: [usize; 3],
        preprocessing: ImagePreprocessing,
        device: &B::Device,
    ) -> Self {
        let hash = hash_of(&network);
        Self { network, preprocessing, shape, hash, device: device.clone() }
    }

    /// - `images`: normalised, `[batch, channels, height, width]`
    /// - returns features: `[batch, channels, height, width]`
    pub(crate) fn forward(&self, images: Tensor<B, 4>) -> Tensor<B, 4> {
        self.network.forward(images, &mut Pass::evaluation())
    }

    pub(crate) fn into_network(self) -> Vgg<B> {
        self.network
    }

    /// Opens a split whose features are `network`'s, and which is kept or computed; also returns a
    /// sentence on where kept ones came from.
    fn open<'a, C: Backend<Device = B::Device>>(
        &self,
        split: Split<C>,
        network: Forward<'a, C>,
        data: &ImageData,
        begun: &mut Begun<'_>,
    ) -> Result<(Features<'a, C>, Option<String>), Failure> {
        let Split { images, batching, augmentation, keeps, at_a_time } = split;
        let batching = begun.shared(batching);
        if keeps {
            let directory = cache_folder().map(|folder| folder.join("features"));
            let (table, note) = self.features(&images, at_a_time, directory.as_deref(), begun)?;
            drop(images); // and their pixels with them
            let rows = TableLoader::new(table, Task::Multiclass, batching, &self.device)?;
            return Ok((Features::Kept { rows, shape: self.shape }, Some(note)));
        }
        let (residency, workers) = (data.residency, data.workers);
        let images = ImageLoader::new(images, batching, residency, workers, &self.device)?;
        Ok((Features::Computed { images: Box::new(images), augmentation, network }, None))
    }

    /// The features of all images of a split in their order: read from `directory`, or computed and,
    /// if possible, kept there. Also returns a sentence on where they came from.
    ///
    /// - `at_a_time`: of how many images they are computed at a time
    fn features(
        &self,
        split: &Arc<dyn ImageSource>,
        at_a_time: usize,
        directory: Option<&Path>,
        begun: &mut Begun<'_>,
    ) -> Result<(Table, String), Failure> {
        let began = Instant::now();
        let key = self.key(split.as_ref(), at_a_time)?;
        let path = directory.map(|directory| directory.join(format!("{key}.safetensors")));
        let images = split.labels().len();
        let count = self.shape.iter().product();
        let group = begun.group().clone();
        group.check_same("other data", &key)?;
        let found = path.as_ref().and_then(|path| Some((read(path, images, count)?, path)));
        let mut lacking = [if found.is_some() { 0.0 } else { 1.0 }];
        group.all_reduce_f64(&mut lacking)?;
        if lacking == [0.0]
            && let Some((features, path)) = found
        {
            let note = format!("the features of {images} images come from `{}`", path.display());
            return Ok((table(features, split.as_ref())?, note));
        }
        let features = group.all_gather(self.compute(split, at_a_time, begun)?)?;
        if !group.is_rank_zero() {
            return Ok((table(features, split.as_ref())?, String::new()));
        }
        let metadata = Value::String(sha256_hex_of_values(&features));
        let features = StoredTensor::new(vec![images, count], features)?;
        let tensors = [("features".to_owned(), features)].into();
        let mut file = TensorFile { tensors, metadata };
        // They have been computed, so the run goes on even where they cannot be kept.
        let kept = match (directory, &path) {
            (Some(directory), Some(path)) => {
                match create_directory(directory).and_then(|()| file.write(path)) {
                    Ok(()) => format!("and are kept in `{}`", path.display()),
                    Err(error) => format!("and could not be kept: {error}"),
                }
            }
            _ => "and could not be kept: name a folder in `BURN_RECIPES_DATA`".to_owned(),
        };
        let features = file.tensors.remove("features").expect("just put there").into_parts().1;
        let seconds = began.elapsed().as_secs_f64();
        let note = format!("the features of {images} images took {seconds:.1} s, {kept}");
        Ok((table(features, split.as_ref())?, note))
    }

    /// The features of this process's share of the images.
    fn compute(
        &self,
        split: &Arc<dyn ImageSource>,
        at_a_time: usize,
        begun: &mut Begun<'_>,
    ) -> Result<Vec<f32>, Failure> {
        let batching = Batching::evaluation(at_a_time);
        let workers = backend::device::threads();
        let split = Arc::clone(split);
        let loader = ImageLoader::new(split, batching, Residency::Host, workers, &self.device)?;
        let nothing = AugmentOptions::default();
        let augmentation = Augmentation::new(&nothing, &self.preprocessing, 0, &self.device);
        // Whole batches, so that each image goes through beside the same ones.
        let own = begun.group().share().range(0..loader.steps_per_epoch());
        let images_before = |batch: usize| loader.samples().min(batch * at_a_time);
        let of = images_before(own.end) - images_before(own.start);
        let mut features = Vec::new();
        let mut read = |computed: Tensor<B, 4>| features.extend(computed.into_data().iter::<f32>());
        let mut done = 0;
        // A GPU goes on with the next batch while one is read.
        let mut computed = None;
        for batch in loader.batches(0, own.start).take(own.len()) {
            let images = augmentation.normalise(batch?.images);
            done += images.dims()[0];
            if let Some(before) = computed.replace(self.forward(images)) {
                read(before);
            }
            begun.prepare("computing features", done, of);
            begun.stop_if_asked()?;
        }
        computed.into_iter().for_each(read);
        Ok(features)
    }

    /// A hash of what the features follow from: the images, their shape and preprocessing, the
    /// weights, the arithmetic, and how many are computed at a time, on which rounding may depend.
    fn key(&self, split: &dyn ImageSource, at_a_time: usize) -> Result<String, DataError> {
        let Self { preprocessing, hash, .. } = self;
        let (shape, images) = (split.shape(), split.fingerprint()?);
        let arithmetic = (NAME, arithmetic(), VERSION);
        let mut text = format!("{images} {shape:?}\n{preprocessing:?}\n{hash}\n{arithmetic:?}");
        if at_a_time != IMAGES_AT_A_TIME {
            text += &format!("\n{at_a_time}"); // earlier versions knew no other number
        }
        Ok(sha256_hex(text.as_bytes()))
    }
}

/// From images to features.
type Forward<'a, B> = Box<dyn Fn(Tensor<B, 4>) -> Tensor<B, 4> + 'a>;

/// Images of which features are needed.
struct Split<B: Backend> {
    images: Arc<dyn ImageSource>,
    batching: Batching,
    /// What is done to the images first, unless features are kept: then nothing is random.
    augmentation: Augmentation<B>,
    /// Whether their features are computed once and kept on the device.
    keeps: bool,
    /// Of how many images such features are computed at a time.
    at_a_time: usize,
}

/// The features to train on, and those that are held out.
pub(crate) struct FrozenSplits<'a, B: AutodiffBackend> {
    pub(crate) train: Features<'a, B>,
    pub(crate) validation: Option<Features<'a, B::InnerBackend>>,
    pub(crate) test: Option<Features<'a, B::InnerBackend>>,
    /// Where those to train on came from, if they are kept.
    pub(crate) note: Option<String>,
}

impl<'a, B: AutodiffBackend> FrozenSplits<'a, B> {
    /// Opens all splits, and computes the features that are kept; to be called by all processes.
    ///
    /// - `keeps`: whether the features to train on, and those that are held out, are computed once and kept on
    ///   the device
    pub(crate) fn open<Model>(
        frozen: &'a Frozen<B::InnerBackend>,
        images: ImageSet,
        config: &ImageConfig<Model>,
        keeps: [bool; 2],
        begun: &mut Begun<'_>,
    ) -> Result<Self, Failure> {
        let ImageConfig { data, augment, training, .. } = config;
        let (preprocessing, device) = (&frozen.preprocessing, &frozen.device);
        let at_a_time = training.features_at_a_time();
        let split = Split {
            images: images.train,
            batching: training.batching(data.order),
            augmentation: Augmentation::new(augment, preprocessing, training.seed, device),
            keeps: keeps[0],
            at_a_time,
        };
        let forward = |images: Tensor<B, 4>| Tensor::from_inner(frozen.forward(images.inner()));
        let (train, note) = frozen.open(split, Box::new(forward), data, begun)?;
        let mut held_out = |images| {
            let nothing = AugmentOptions::default();
            let split = Split {
                images,
                batching: training.evaluation_batching(),
                augmentation: Augmentation::new(&nothing, preprocessing, 0, device),
                keeps: keeps[1],
                at_a_time,
            };
            let forward = Box::new(|images| frozen.forward(images));
            Ok::<_, Failure>(frozen.open(split, forward, data, begun)?.0)
        };
        let validation = images.validation.map(&mut held_out).transpose()?;
        let test = images.test.map(&mut held_out).transpose()?;
        Ok(Self { train, validation, test, note })
    }
}

/// Where features come from while a head is trained on them.
pub(crate) enum Features<'a, B: Backend> {
    /// They lie on the device.
    Kept {
        /// The features as rows.
        rows: TableLoader<B>,
        /// `[channels, height, width]`
        shape: [usize; 3],
    },
    /// They are computed from each batch of images.
    Computed {
        /// The images.
        images: Box<ImageLoader<B>>,
        /// What is done to the images first.
        augmentation: Augmentation<B>,
        /// The frozen network.
        network: Forward<'a, B>,
    },
}

/// A loaded batch. The call computes its features, which stand in place of the images: that is part of
/// the step, not of the wait for data.
type Loaded<'a, B> = Box<dyn FnOnce() -> Augmented<B> + 'a>;

impl<B: Backend> Features<'_, B> {
    pub(crate) fn steps_per_epoch(&self) -> usize {
        match self {
            Self::Kept { rows, .. } => rows.steps_per_epoch(),
            Self::Computed { images, .. } => images.steps_per_epoch(),
        }
    }

    /// The batches of an epoch.
    pub(crate) fn batches(
        &self,
        epoch: usize,
        first_step: usize,
    ) -> Box<dyn Iterator<Item = Result<Loaded<'_, B>, DataError>> + '_> {
        match self {
            &Self::Kept { ref rows, shape } => {
                Box::new(rows.batches(epoch, first_step).map(move |batch| {
                    Ok(Box::new(move || from_rows(batch, shape)) as Loaded<'_, B>)
                }))
            }
            Self::Computed { images, augmentation, network } => {
                Box::new(images.batches(epoch, first_step).map(move |batch| {
                    let batch = batch?;
                    let features = move || {
                        let batch = augmentation.apply(batch, epoch);
                        Augmented { images: network(batch.images), ..batch }
                    };
                    Ok(Box::new(features) as Loaded<'_, B>)
                }))
            }
        }
    }
}

fn from_rows<B: Backend>(batch: TableBatch<B>, shape: [usize; 3]) -> Augmented<B> {
    let [channels, height, width] = shape;
    let images = batch.features.reshape([-1, channels as i32, height as i32, width as i32]);
    let labels = batch.targets.classes(); // as `open` made them
    Augmented { images, labels, mixed: None, part: batch.part }
}

fn table(features: Vec<f32>, split: &dyn ImageSource) -> Result<Table, DataError> {
    let labels = Targets::Classes(split.labels().to_vec());
    Table::new(features, labels, split.classes().len())
}

/// The features in a file; a damaged file counts as none.
fn read(path: &Path, images: usize, count: usize) -> Option<Vec<f32>> {
    let mut file = TensorFile::read(path).ok()?;
    let (shape, features) = file.tensors.remove("features")?.into_parts();
    let is_whole = shape == [images, count] && file.metadata == sha256_hex_of_values(&features);
    is_whole.then_some(features)
}

fn hash_of<B: Backend>(network: &Vgg<B>) -> String {
    weights::fingerprint(&weights::to_tensors(network))
}
