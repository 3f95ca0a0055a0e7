//! Images as a recipe trains on them: read, brought to one shape, and split.

use std::{path::Path, sync::Arc};

use data::{
    DataError, Fitted, ImagePreprocessing, ImageSource, ImageSplits, Parts, Shared, Subset,
    cifar10::read_cifar10,
    classes_without_validation, hold_out,
    idx::read_idx,
    image_folder::{ImageFolder, SkippedImage, open_image_folder, shared_images},
    measure_images,
};
use store::sha256_hex;

use crate::{
    ExitCode, Failure,
    config::{FOLDER_SIDE, ImageData, ImageOrigin, Normalise},
    inputs::data_notes::notes_on_own_splits,
    run::{environment::DataHashes, start::WorkProgress},
};

/// Decoded images of a folder up to this size stay in memory.
pub(crate) const IN_MEMORY_BYTES: usize = 2 << 30;

type Source = Arc<dyn ImageSource>;

/// The side of the pictures that a model reads, which for recipes are square. A program of the user's own may
/// have written a model of others.
///
/// - `file`: of the model
pub(crate) fn side_of(images: &ImagePreprocessing, file: &Path) -> Result<usize, Failure> {
    let [height, width] = images.size;
    if height == width {
        return Ok(height);
    }
    Err(Failure::new(
        ExitCode::UserData,
        format!("the model in `{}` reads pictures of {height}x{width}", file.display()),
        "name a model of square pictures: recipes read no others",
    ))
}

/// Everything that a recipe needs to know about its images before the first step.
pub struct ImageSet {
    /// What is trained on.
    pub train: Source,
    /// What is held out; none where all is trained on.
    pub validation: Option<Source>,
    /// What the source keeps for the end, if it does.
    pub test: Option<Source>,
    /// Hashes of all images and labels.
    pub hashes: DataHashes,
    /// What the user should know, a sentence each.
    pub notes: Vec<String>,
    /// Files or images that are in two splits.
    pub shared: Vec<Shared>,
    /// Files that could not be decoded.
    pub skipped: usize,
}

impl ImageSet {
    /// Reads what the configuration names; `progress` receives the task and how far it is.
    ///
    /// # Errors
    ///
    /// Any problem with the data.
    pub fn read(
        data: &ImageData,
        seed: u64,
        progress: &mut WorkProgress<'_>,
    ) -> Result<Self, Failure> {
        let found = Found::read(data, seed, [IN_MEMORY_BYTES; 2], progress)?;
        let (has_validation, has_test) = (found.validation.is_some(), found.test.is_some());
        let parts = hold_out(found.train.labels(), data.fractions(has_validation, has_test), seed)?;
        let hashes = found.hashes(data, &parts)?;
        let fit = |source| fit(source, data);
        let mut notes = Vec::from_iter(data.note_on_size(FOLDER_SIDE));
        notes.extend(found.notes);
        notes.extend(found.notes_on_cache);
        notes.extend(notes_on_skipped(&found.skipped));
        notes.extend(notes_on_own_splits([
            (has_validation && data.validation.is_some(), "data.validation", "validation"),
            (has_test && data.test != 0.0, "data.test", "test"),
        ]));
        let all = fit(found.train);
        let part = |indices| Arc::new(Subset::new(Arc::clone(&all), indices)) as Source;
        let validation = found.validation.map(fit).or_else(|| parts.validation.map(part));
        let test = found.test.map(fit).or_else(|| parts.test.map(part));
        let train = if parts.train.len() == all.labels().len() { all } else { part(parts.train) };
        notes.extend(validation.as_ref().and_then(|validation| {
            classes_without_validation(train.classes(), train.labels(), validation.labels())
        }));
        Ok(Self {
            train,
            validation,
            test,
            hashes,
            notes,
            shared: found.shared,
            skipped: found.skipped.len(),
        })
    }

    /// From pixels to the network's input; reads all training images if statistics are measured.
    ///
    /// # Errors
    ///
    /// Where an image can no longer be read, or `progress` asks to stop.
    pub fn preprocessing(
        &self,
        data: &ImageData,
        progress: &mut WorkProgress<'_>,
    ) -> Result<ImagePreprocessing, DataError> {
        match data.normalise {
            Normalise::Measured => {
                let mut progress = |done, of| progress("measuring images", done, of);
                measure_images(&*self.train, data.resize, &mut progress)
            }
            Normalise::Unit => Ok(ImagePreprocessing::identity(self.train.shape(), data.resize)),
        }
    }

    /// The names of the classes, in the order of the labels.
    pub fn classes(&self) -> &[String] {
        self.train.classes()
    }

    /// How many images are held out to validate and to test on, if any are.
    pub(crate) fn held_out(&self) -> [Option<usize>; 2] {
        [&self.validation, &self.test].map(|split| split.as_ref().map(|split| split.labels().len()))
    }

    /// The number of images in all splits.
    pub(crate) fn samples(&self) -> usize {
        self.splits().map(|split| split.labels().len()).sum()
    }

    pub(crate) fn splits(&self) -> impl Iterator<Item = &Source> {
        [&self.train].into_iter().chain(&self.validation).chain(&self.test)
    }
}

/// Bytes of decoded images.
pub(crate) fn bytes(images: &dyn ImageSource) -> usize {
    images.labels().len() * images.shape().bytes()
}

/// Bytes of a split's images, if they are to lie on the device.
pub(crate) fn bytes_on_device(split: &Source, data: &ImageData) -> usize {
    let is_on_device = data.residency.is_on_device(split.labels().len(), split.shape().bytes());
    if is_on_device { bytes(&**split) } else { 0 }
}

/// Hashes of all images and labels, and of the split that each is in; validation comes before test.
///
/// - `parts`: what is held out of those to train on
pub(crate) fn hashes<S: ImageSource + ?Sized>(
    train: &S,
    others: [Option<&S>; 2],
    data: &ImageData,
    Parts { validation: held_out, test: held_out_to_test, .. }: &Parts,
) -> Result<DataHashes, DataError> {
    let of = |split: Option<&S>| split.map(|split| split.fingerprint()).transpose();
    let [validation, test] = others;
    let splits: [Option<String>; 3] = [of(Some(train))?, of(validation)?, of(test)?];
    let also = held_out_to_test.as_ref().map(|held_out| format!(" {held_out:?}"));
    let is_drawn = data.source == ImageOrigin::Synthetic;
    let source = || sha256_hex(format!("{splits:?}").as_bytes());
    Ok(DataHashes {
        samples: sha256_hex(
            format!("{splits:?} {held_out:?}{}", also.unwrap_or_default()).as_bytes(),
        ),
        source: (!is_drawn).then(source),
    })
}

/// The splits as the source has them.
pub(crate) struct Found {
    pub(crate) train: Source,
    pub(crate) validation: Option<Source>,
    pub(crate) test: Option<Source>,
    pub(crate) notes: Vec<String>,
    notes_on_cache: Vec<String>,
    shared: Vec<Shared>,
    /// Of all splits.
    pub(crate) skipped: Vec<SkippedImage>,
}

impl Found {
    fn hashes(&self, data: &ImageData, parts: &Parts) -> Result<DataHashes, DataError> {
        let others = [self.validation.as_deref(), self.test.as_deref()];
        hashes(&*self.train, others, data, parts)
    }

    /// As [`ImageSet::read`], but nothing is resized, unless it is a picture of a folder, nor held out.
    ///
    /// - `in_memory`: bytes up to which decoded images of a folder stay in memory, of those to train on
    ///   and of each split of others
    pub(crate) fn read(
        data: &ImageData,
        seed: u64,
        in_memory: [usize; 2],
        progress: &mut WorkProgress<'_>,
    ) -> Result<Self, Failure> {
        let path = data.path.clone().unwrap_or_default();
        let splits = match data.source {
            ImageOrigin::Synthetic => {
                let samples = data.samples;
                let mut progress = |done, of| progress("drawing images", done, of);
                let mut draw = |samples| data.drawing.draw(samples, seed, &mut progress);
                ImageSplits {
                    train: draw(0..samples)?,
                    test: Some(draw(samples..samples + samples.div_ceil(5))?),
                }
            }
            ImageOrigin::Idx => read_idx(&path)?,
            ImageOrigin::Cifar10 => read_cifar10(&path)?,
            ImageOrigin::ImageFolder => {
                return Self::read_folder(data, seed, in_memory, progress);
            }
        };
        let is_drawn = data.source == ImageOrigin::Synthetic; // each split anew
        let shared = if is_drawn { Vec::new() } else { Vec::from_iter(splits.shared()) };
        Ok(Self {
            train: Arc::new(splits.train),
            validation: None,
            test: splits.test.map(|test| Arc::new(test) as Source),
            notes: shared.iter().map(Shared::note).collect(),
            notes_on_cache: Vec::new(),
            shared,
            skipped: Vec::new(),
        })
    }

    fn read_folder(
        data: &ImageData,
        seed: u64,
        [trained, others]: [usize; 2],
        progress: &mut WorkProgress<'_>,
    ) -> Result<Self, Failure> {
        let folder = open_image_folder(&data.folder_options())?;
        let mut notes = Vec::from_iter(folder.note());
        let (mut notes_on_cache, mut skipped) = (Vec::new(), Vec::new());
        let mut decode = |folder: ImageFolder, in_memory| {
            notes.extend(folder.notes());
            let (source, bad) = decode(folder, data, in_memory, progress)?;
            notes_on_cache.extend(note_on_cache(bytes(&*source), data.cache.is_some()));
            skipped.extend(bad);
            Ok::<_, Failure>(source)
        };
        let train = decode(folder.train, trained)?;
        let mut other = |folder| decode(folder, others);
        let validation = folder.validation.map(&mut other).transpose()?;
        let test = folder.test.map(other).transpose()?;
        let shared = shared_images([Some(&train), validation.as_deref(), test.as_deref()]);
        notes.extend(shared.iter().map(Shared::note));
        notes.extend(train.note_on_labels());
        let fractions = data.fractions(validation.is_some(), test.is_some());
        if fractions.hold_out() {
            notes.extend(train.notes_on_copies(&hold_out(train.labels(), fractions, seed)?));
        } else if validation.is_none() {
            notes.extend(train.note_on_repeats());
        }
        let source = |split| split as Source;
        let (validation, test) = (validation.map(source), test.map(source));
        Ok(Self { train, validation, test, notes, notes_on_cache, shared, skipped })
    }
}

/// Reads the files of a split for their hashes, unless they are known.
pub(crate) fn hash(folder: &ImageFolder, progress: &mut WorkProgress<'_>) -> Result<(), DataError> {
    folder.hash(&mut |done, of| progress("reading images", done, of))
}

/// Decodes the images of a folder into memory where they fit, and otherwise once to find the bad ones,
/// unless they are cached. Also returns the bad ones.
pub(crate) fn decode(
    folder: ImageFolder,
    data: &ImageData,
    in_memory: usize,
    progress: &mut WorkProgress<'_>,
) -> Result<(Arc<ImageFolder>, Vec<SkippedImage>), Failure> {
    if data.cache.is_some() {
        hash(&folder, progress)?;
    }
    let mut progress = |done, of| progress("decoding images", done, of);
    let (images, skipped) = match data.cache {
        None if bytes(&folder) <= in_memory => folder.load(&mut progress)?,
        _ => folder.prepare(&mut progress)?,
    };
    Ok((Arc::new(images), skipped))
}

/// What is wrong with an image that was skipped.
pub(crate) fn problem_with(SkippedImage { path, reason }: &SkippedImage) -> String {
    format!("`{}`: {reason}", path.display())
}

pub(crate) fn notes_on_skipped(images: &[SkippedImage]) -> impl Iterator<Item = String> {
    images.iter().map(|image| format!("skipped {}", problem_with(image)))
}

/// What to do about a folder's images of so many bytes that stay neither in memory nor in a cache.
pub(crate) fn note_on_cache(bytes: usize, is_cached: bool) -> Option<String> {
    (!is_cached && bytes > IN_MEMORY_BYTES).then(|| {
        format!(
            "images of {:.1} GB are decoded again whenever they are read; name a folder to keep \
             them in: `data.cache`",
            bytes as f64 / 1e9
        )
    })
}

pub(crate) fn fit(source: Source, data: &ImageData) -> Source {
    let shape = data.fitted(source.shape());
    if shape == source.shape() { source } else { Arc::new(Fitted::new(source, shape, data.resize)) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_large_folder_without_a_cache_is_told_of_it() {
        assert_eq!(note_on_cache(IN_MEMORY_BYTES, false), None);
        assert_eq!(note_on_cache(IN_MEMORY_BYTES + 1, true), None);
        let note = note_on_cache(IN_MEMORY_BYTES + 1, false).unwrap();
        assert!(
            note.starts_with("images of 2.1 GB are ") && note.contains("`data.cache`"),
            "{note}"
        );
    }
}
