//! Images, measured.

use std::sync::Arc;

use backend::device::Device;
use base64::{Engine, prelude::BASE64_STANDARD};
use data::{
    DataError, ImageSource, ImagesInMemory, Parts, Relabelled, Shared,
    cifar10::{read_cifar10, read_cifar10_test},
    hold_out,
    idx::{read_idx, read_idx_test},
    image_folder::{
        ImageFolder, ImageFolderOptions, ImageFolderSplits, MeasuredImages, OnBadImage,
        note_on_known_images, open_image_folder, open_measured_images, shared_images,
    },
    note_on_known_pixels, picture,
};
use inference::IMAGES_AT_A_TIME;
use rayon::prelude::*;
use training::Group;

use super::{
    Each, Evaluated, EvaluationReport, Examined, GIVEN, Measured, mistakes::Sample, tally::Tally,
};
use crate::{
    Failure,
    config::{ImageConfig, ImageData, ImageOrigin},
    inputs::{
        image_set::{
            Found, IN_MEMORY_BYTES, ImageSet, bytes, decode, fit, hash, hashes, note_on_cache,
            notes_on_skipped, side_of,
        },
        initial_weights::OnlyWeights,
    },
    measure::images::ImageEvaluation,
    run::{directory::MODEL, start::WorkProgress},
};

type Source = Arc<dyn ImageSource>;

pub(super) fn examine(
    evaluated: &Evaluated<'_>,
    mut config: ImageConfig<OnlyWeights>,
    device: &Device,
    progress: &mut WorkProgress<'_>,
) -> Result<Examined, Failure> {
    let (model, preprocessing) = (evaluated.model, evaluated.model.description().image()?);
    let classes = &model.description().classes;
    let Measured { split, given_split, samples, notes } =
        to_measure(evaluated, &mut config, progress)?;
    let source = Arc::new(Relabelled::new(samples, classes)?);
    let images = Arc::clone(&source);
    let evaluation = ImageEvaluation::new(images, &config, preprocessing, &Group::alone(), device)?;
    let mut tally = Tally::new(classes.len());
    let mut metrics = evaluation.measure_each(
        |images| model.image_logits(images).expect("the model reads images"),
        |logits, labels| tally.add(logits, labels),
    )?;
    let per_class = tally.scores(classes);
    metrics.extend(tally.metrics());
    let shown = |index| {
        let mut pixels = vec![0; source.shape().bytes()];
        source.read(index, &mut pixels)?;
        let png = BASE64_STANDARD.encode(picture(source.shape(), &[vec![pixels]], 1));
        Ok::<_, DataError>(Sample::Image { png, name: source.name(index) })
    };
    Ok(Examined {
        values: Vec::new(),
        mistakes: tally.mistakes(classes, shown)?,
        report: EvaluationReport {
            classes: classes.clone(),
            per_class,
            confusion: tally.counts,
            given_split: given_split.map(Into::into),
            notes,
            ..EvaluationReport::of(split, source.labels().len(), metrics)
        },
        unknown_words: None,
        beginning: None,
    })
}

/// Predicts each image; returns the split of the given data, as in [`EvaluationReport`], and notes to the
/// user.
///
/// - `each`: is given what an image is called, its class, and the prediction
pub(super) fn predict_each(
    evaluated: &Evaluated<'_>,
    mut config: ImageConfig<OnlyWeights>,
    progress: &mut WorkProgress<'_>,
    each: Each<'_>,
) -> Result<(Option<&'static str>, Vec<String>), Failure> {
    let classes = &evaluated.model.description().classes;
    let measured = to_measure(evaluated, &mut config, progress)?;
    let source = Relabelled::new(Arc::clone(&measured.samples), classes)?;
    let (bytes, indices) = (source.shape().bytes(), Vec::from_iter(0..source.labels().len()));
    for indices in indices.chunks(IMAGES_AT_A_TIME) {
        let mut pixels = vec![0; indices.len() * bytes];
        let read = |(pixels, &index): (&mut [u8], &usize)| source.read(index, pixels);
        pixels.par_chunks_exact_mut(bytes).zip(indices).try_for_each(read)?;
        for (&index, prediction) in indices.iter().zip(&evaluated.model.predict_images(&pixels)?) {
            let name = source.name(index).unwrap_or_else(|| measured.place(index));
            each(name, classes[source.labels()[index] as usize].clone(), prediction)?;
        }
    }
    Ok((measured.given_split, measured.notes))
}

/// The images to evaluate on; `config` then asks for what the model reads.
fn to_measure(
    evaluated: &Evaluated<'_>,
    config: &mut ImageConfig<OnlyWeights>,
    progress: &mut WorkProgress<'_>,
) -> Result<Measured<Source>, Failure> {
    backend::set_arithmetic(config.training.arithmetic);
    let preprocessing = evaluated.model.description().image()?;
    config.data.size = Some(side_of(preprocessing, &evaluated.run.join(MODEL))?);
    config.data.channels = Some(preprocessing.channels);
    let seed = config.training.seed;
    let Some(path) = evaluated.given else {
        let (images, fingerprint) = read_held_out(&config.data, seed, progress)
            .map_err(|error| evaluated.or_elsewhere(error))?;
        evaluated.check_same_data(&fingerprint)?;
        return images.ok_or_else(|| evaluated.nothing_held_out());
    };
    let source = config.data.source;
    let own = config.data.path.replace(path.to_owned()).filter(|_| !evaluated.is_own);
    config.data.cache = None; // of the run's own images
    let mut given = read_given(&mut config.data, seed, progress)?;
    let of_run = |train: ImagesInMemory| {
        note_on_known_pixels(&*fit(Arc::new(train), &config.data), &*given.samples)
    };
    let known = own.and_then(|own| match source {
        ImageOrigin::Synthetic => None,
        ImageOrigin::ImageFolder => note_on_known_images(&own, path),
        ImageOrigin::Idx => of_run(read_idx(&own).ok()?.train),
        ImageOrigin::Cifar10 => of_run(read_cifar10(&own).ok()?.train),
    });
    given.notes.extend(known);
    Ok(given)
}

/// The given images to measure on, of files as the run's own, or a folder of pictures: the test split, else
/// the validation split, else all there is.
fn read_given(
    data: &mut ImageData,
    seed: u64,
    progress: &mut WorkProgress<'_>,
) -> Result<Measured<Source>, Failure> {
    let of_files = match data.source {
        ImageOrigin::Synthetic | ImageOrigin::ImageFolder => None,
        ImageOrigin::Idx | ImageOrigin::Cifar10 => Some(read_given_files(data, seed, progress)),
    };
    if let Some(Ok(given)) = of_files {
        return Ok(given);
    }
    data.source = ImageOrigin::ImageFolder;
    let on_bad_image = OnBadImage::Skip; // as `predict` does
    let options = ImageFolderOptions { on_bad_image, ..data.folder_options() };
    let MeasuredImages { images, split: given_split, mut notes } =
        open_measured_images(&options).map_err(|error| match of_files {
            Some(Err(of_files)) => of_files,
            _ => error.into(),
        })?;
    let samples = read_folder(images, data, &mut notes, progress)?;
    Ok(Measured { split: GIVEN, given_split, samples, notes })
}

fn read_given_files(
    data: &ImageData,
    seed: u64,
    progress: &mut WorkProgress<'_>,
) -> Result<Measured<Source>, Failure> {
    // Those to train on need not be there.
    let path = data.path.clone().unwrap_or_default();
    let test = match data.source {
        ImageOrigin::Idx => read_idx_test(&path)?,
        ImageOrigin::Cifar10 => read_cifar10_test(&path)?,
        _ => None,
    };
    if let Some(test) = test {
        let samples = fit(Arc::new(test), data);
        let given_split = Some("test");
        return Ok(Measured { split: GIVEN, given_split, samples, notes: Vec::new() });
    }
    let in_memory = [IN_MEMORY_BYTES; 2];
    let Found { train, validation, test, notes, .. } =
        Found::read(data, seed, in_memory, progress)?;
    let (samples, given_split) = choose(train, validation, test);
    Ok(Measured { split: GIVEN, given_split, samples: fit(samples, data), notes })
}

/// The held-out images of a run's own data, its test split if it has one, none if nothing is held out,
/// and the hash of all of the data.
fn read_held_out(
    data: &ImageData,
    seed: u64,
    progress: &mut WorkProgress<'_>,
) -> Result<(Option<Measured<Source>>, String), Failure> {
    // Where no image is skipped, the hash of a folder needs none decoded.
    if data.source == ImageOrigin::ImageFolder && data.on_bad_image == OnBadImage::Error {
        let folder = open_image_folder(&data.folder_options())?;
        let (validation, test) = (folder.validation.as_ref(), folder.test.as_ref());
        let fractions = data.fractions(validation.is_some(), test.is_some());
        let parts = hold_out(folder.train.labels(), fractions, seed)?;
        // A cache has all images to train on, those among them that were held out included.
        let is_of_train = match (test, &parts.test, validation, &parts.validation) {
            (Some(_), ..) => false,
            (None, Some(_), ..) => true,
            (None, None, validation, held_out) => validation.is_none() && held_out.is_some(),
        };
        if !(is_of_train && data.cache.is_some()) {
            let splits = [Some(&folder.train), validation, test];
            for split in splits.into_iter().flatten() {
                hash(split, progress)?;
            }
            let hashes = hashes(&folder.train, [validation, test], data, &parts)?;
            let mut notes = Vec::from_iter(folder.note());
            notes.extend(shared_images(splits).iter().map(Shared::note));
            notes.extend(folder.train.note_on_labels());
            if fractions.hold_out() {
                notes.extend(folder.train.notes_on_copies(&parts));
            }
            let Some((folder, split)) = held_out(folder, parts) else {
                return Ok((None, hashes.samples));
            };
            notes.extend(folder.notes());
            let samples = read_folder(folder, data, &mut notes, progress)?;
            let measured = Measured { split, given_split: None, samples, notes };
            return Ok((Some(measured), hashes.samples));
        }
    }
    let ImageSet { test, validation, hashes, notes, .. } = ImageSet::read(data, seed, progress)?;
    let test = test.map(|test| (test, "test"));
    let held_out = test.or(validation.map(|validation| (validation, "validation")));
    let measured =
        held_out.map(|(samples, split)| Measured { split, given_split: None, samples, notes });
    Ok((measured, hashes.samples))
}

/// The test split, else the validation split, whether these have folders of their own or not.
fn held_out(folder: ImageFolderSplits, parts: Parts) -> Option<(ImageFolder, &'static str)> {
    let ImageFolderSplits { train, validation, test, .. } = folder;
    match (test, parts.test, validation, parts.validation) {
        (Some(test), ..) => Some((test, "test")),
        (_, Some(indices), ..) => Some((train.only(&indices), "test")),
        (_, _, Some(validation), _) => Some((validation, "validation")),
        (.., Some(indices)) => Some((train.only(&indices), "validation")),
        _ => None,
    }
}

/// Decodes images to measure on, and adds to the notes to the user.
fn read_folder(
    folder: ImageFolder,
    data: &ImageData,
    notes: &mut Vec<String>,
    progress: &mut WorkProgress<'_>,
) -> Result<Source, Failure> {
    let (source, skipped) = decode(folder, data, IN_MEMORY_BYTES, progress)?;
    notes.extend(note_on_cache(bytes(&*source), data.cache.is_some()));
    notes.extend(notes_on_skipped(&skipped));
    Ok(fit(source, data))
}

/// The split to measure on and its name, none where it is all there is.
fn choose<T>(train: T, validation: Option<T>, test: Option<T>) -> (T, Option<&'static str>) {
    match (test, validation) {
        (Some(test), _) => (test, Some("test")),
        (None, Some(validation)) => (validation, Some("validation")),
        (None, None) => (train, None),
    }
}

#[cfg(test)]
mod tests {
    use std::{fs, ops::ControlFlow};

    use backend::Selected;
    use data::{ImagePreprocessing, ImageShape, Resize};
    use inference::{Description, Model, Preprocessing, model_file};
    use models::{Architecture, ResNetConfig, Shortcut};
    use tempfile::TempDir;

    use super::*;
    use crate::{ExitCode, cnn, config::SettingsLayer, resnet, run::directory::CONFIG};

    /// A folder of pictures, each of another grey, and settings of a run on it.
    fn pictures(paths: &[&str], settings: &[&str]) -> (TempDir, ImageConfig<cnn::Model>) {
        let folder = tempfile::tempdir().unwrap();
        let shape = ImageShape { channels: 3, height: 8, width: 8 };
        for (index, path) in paths.iter().enumerate() {
            let path = folder.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            let png = picture(shape, &[vec![vec![index as u8; shape.bytes()]]], 1);
            fs::write(path, png).unwrap();
        }
        let path = format!("data.path={}", folder.path().display());
        let own = ["data.source=image-folder", &path, "data.size=8"];
        let layers = SettingsLayer::sets(&[&own[..], settings].concat());
        let config = cnn::RECIPE.resolve(layers).unwrap();
        (folder, config)
    }

    #[test]
    fn a_model_of_pictures_that_are_not_square_is_refused() {
        let run = tempfile::tempdir().unwrap();
        fs::write(run.path().join(CONFIG), resnet::RECIPE.toml).unwrap();
        let (device, _) = backend::device::open().unwrap();
        let shape = ImageShape { channels: 1, height: 8, width: 12 };
        let network = ResNetConfig { depth: 8, shortcut: Shortcut::Zeros, channels: 1, classes: 2 };
        let weights = network.init::<Selected>(0, &device);
        let description = Description {
            recipe: "resnet".to_owned(),
            architecture: Architecture::ResNet(network),
            classes: ["no", "yes"].map(str::to_owned).to_vec(),
            preprocessing: Preprocessing::Image(ImagePreprocessing::identity(shape, Resize::Crop)),
        };
        let path = run.path().join(MODEL);
        model_file(&weights, &description).write(&path).unwrap();
        let model = Model::<Selected>::read(&path, &device).unwrap();
        let evaluated = Evaluated::open(run.path(), &model, None).unwrap();
        let mut progress = |_: &str, _, _| ControlFlow::Continue(());
        let refused = evaluated.examine(&device, &mut progress).unwrap_err();
        assert_eq!(refused.exit_code, ExitCode::UserData);
        let told = format!("the model in `{}` reads pictures of 8x12", path.display());
        assert_eq!(refused.to_string(), told);
    }

    #[test]
    fn only_the_held_out_images_of_a_folder_are_decoded_to_measure_them() {
        let paths = ["train/a/1.png", "train/b/1.png", "val/a/1.png", "val/b/1.png"];
        let (_folder, config) = pictures(&paths, &[]);
        let all =
            ImageSet::read(&config.data, 0, &mut |_, _, _| ControlFlow::Continue(())).unwrap();
        let mut decoded = 0;
        let (images, fingerprint) = read_held_out(&config.data, 0, &mut |_, done, _| {
            decoded = decoded.max(done);
            ControlFlow::Continue(())
        })
        .unwrap();
        let images = images.unwrap();
        assert_eq!((images.split, decoded), ("validation", 2));
        assert_eq!(images.samples.labels(), [0, 1]);
        assert_eq!(fingerprint, all.hashes.samples);
    }

    #[test]
    fn what_is_held_out_beside_splits_of_a_folder_is_measured() {
        let train: Vec<String> = ["a", "b"]
            .iter()
            .flat_map(|class| (0..4).map(move |i| format!("train/{class}/{i}.png")))
            .collect();
        for (split, measured, images) in [("val", "test", 2), ("test", "test", 2)] {
            let held_out = ["a", "b"].map(|class| format!("{split}/{class}/1.png"));
            let paths: Vec<&str> = train.iter().chain(&held_out).map(String::as_str).collect();
            let (_folder, config) = pictures(&paths, &["data.test=0.25", "data.validation=0.25"]);
            let mut decoded = 0;
            let mut progress = |task: &str, done, _| {
                decoded = if task == "decoding images" { done } else { 0 };
                ControlFlow::Continue(())
            };
            let all = ImageSet::read(&config.data, 0, &mut progress).unwrap();
            let (found, fingerprint) = read_held_out(&config.data, 0, &mut progress).unwrap();
            assert_eq!(decoded, images, "{split}");
            let found = found.unwrap();
            assert_eq!((found.split, found.samples.labels().len()), (measured, images), "{split}");
            assert_same(&*found.samples, &**all.test.as_ref().unwrap());
            assert_eq!(fingerprint, all.hashes.samples, "{split}");
            assert_eq!((all.train.labels().len(), all.notes.len()), (6, 1), "{:?}", all.notes);
        }
    }

    /// The same images in the same order.
    fn assert_same(found: &dyn ImageSource, expected: &dyn ImageSource) {
        assert_eq!(found.labels(), expected.labels());
        let image = |source: &dyn ImageSource, index| {
            let mut pixels = vec![0; source.shape().bytes()];
            source.read(index, &mut pixels).unwrap();
            (source.name(index), pixels)
        };
        for index in 0..found.labels().len() {
            assert_eq!(image(found, index), image(expected, index));
        }
    }

    #[test]
    fn what_is_held_out_of_a_folder_without_splits_is_measured() {
        let paths: Vec<String> = ["a", "b"]
            .iter()
            .flat_map(|class| (0..4).map(move |i| format!("{class}/{i}.png")))
            .collect();
        let paths: Vec<&str> = paths.iter().map(String::as_str).collect();
        let cache = tempfile::tempdir().unwrap();
        let cached = format!("data.cache={}", cache.path().display());
        for (settings, expected) in [
            (&["data.validation=0.25"][..], Some(("validation", 2))),
            (&["data.validation=0.25", &cached], Some(("validation", 8))),
            (&["data.validation=0.25", "data.test=0.5"], Some(("test", 4))),
            (&["data.validation=0"], None),
            (&["data.validation=0", &cached], None),
        ] {
            let (_folder, config) = pictures(&paths, settings);
            let mut decoded = 0;
            let mut progress = |task: &str, done, _| {
                decoded = if task == "decoding images" { done } else { 0 };
                ControlFlow::Continue(())
            };
            let all =
                ImageSet::read(&config.data, 0, &mut |_, _, _| ControlFlow::Continue(())).unwrap();
            let (found, fingerprint) = read_held_out(&config.data, 0, &mut progress).unwrap();
            assert_eq!(fingerprint, all.hashes.samples, "{settings:?}");
            let split = found.as_ref().map(|found| (found.split, decoded));
            assert_eq!(split, expected, "{settings:?}");
            if let Some(found) = found {
                assert_same(&*found.samples, &**all.test.or(all.validation).as_ref().unwrap());
            }
        }
    }
}
