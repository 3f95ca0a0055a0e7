//! Images, measured.

use std::{path::Path, sync::Arc};

use backend::{Selected, device::Device};
use data::{DataError, ImageShape, ImageSource, image_folder::note_on_known_images, picture};
use inference::Model;
use rayon::prelude::*;
use serde::de::IgnoredAny;
use training::Group;

use super::{
    Each, EvaluationReport, Examined, check_same_data, mistakes::Sample, nothing_held_out,
    or_elsewhere, tally::Tally,
};
use crate::{
    ExitCode, Failure,
    config::{ImageConfig, ImageOrigin},
    image_evaluation::ImageEvaluation,
    image_set::{GivenImages, Progress, read_given, read_held_out},
};

/// Images that are decoded and predicted at a time.
const IMAGES_AT_A_TIME: usize = 64;

pub(super) fn examine(
    run: &Path,
    mut config: ImageConfig<IgnoredAny>,
    model: &Model<Selected>,
    data: Option<&Path>,
    is_own: bool,
    device: &Device,
    progress: &mut Progress<'_>,
) -> Result<Examined, Failure> {
    let preprocessing = model.description().image()?;
    let classes = &model.description().classes;
    let (split, GivenImages { source, split: given_split, notes }) =
        to_measure(run, &mut config, model, data, is_own, progress)?;
    let source = Arc::new(Relabelled::new(source, classes)?);
    let samples = source.labels().len();
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
        let png = picture(source.shape(), &[vec![pixels]], 1);
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
            ..EvaluationReport::of(split, samples, metrics)
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
    run: &Path,
    mut config: ImageConfig<IgnoredAny>,
    model: &Model<Selected>,
    data: Option<&Path>,
    is_own: bool,
    progress: &mut Progress<'_>,
    each: Each<'_>,
) -> Result<(Option<&'static str>, Vec<String>), Failure> {
    let classes = &model.description().classes;
    let (split, GivenImages { source, split: given_split, notes }) =
        to_measure(run, &mut config, model, data, is_own, progress)?;
    let source = Relabelled::new(source, classes)?;
    let (bytes, indices) = (source.shape().bytes(), Vec::from_iter(0..source.labels().len()));
    for indices in indices.chunks(IMAGES_AT_A_TIME) {
        let mut pixels = vec![0; indices.len() * bytes];
        let read = |(pixels, &index): (&mut [u8], &usize)| source.read(index, pixels);
        pixels.par_chunks_exact_mut(bytes).zip(indices).try_for_each(read)?;
        for (&index, prediction) in indices.iter().zip(&model.predict_images(&pixels)?) {
            let place = || format!("{}[{index}]", given_split.unwrap_or(split));
            let name = source.name(index).unwrap_or_else(place);
            each(name, classes[source.labels()[index] as usize].clone(), prediction)?;
        }
    }
    Ok((given_split, notes))
}

/// The images to evaluate on, and the name of their split; `config` then asks for what the model reads.
fn to_measure(
    run: &Path,
    config: &mut ImageConfig<IgnoredAny>,
    model: &Model<Selected>,
    data: Option<&Path>,
    is_own: bool,
    progress: &mut Progress<'_>,
) -> Result<(&'static str, GivenImages), Failure> {
    backend::set_arithmetic(config.training.arithmetic);
    let preprocessing = model.description().image()?;
    config.data.size = Some(preprocessing.size[0]);
    config.data.channels = Some(preprocessing.channels);
    Ok(match data {
        Some(path) => {
            let is_folder = config.data.source == ImageOrigin::ImageFolder && !is_own;
            let own = config.data.path.replace(path.to_owned()).filter(|_| is_folder);
            config.data.cache = None; // of the run's own images
            if config.data.source == ImageOrigin::Synthetic {
                config.data.source = ImageOrigin::ImageFolder;
            }
            let mut given = read_given(&config.data, config.training.seed, progress)?;
            given.notes.extend(own.and_then(|own| note_on_known_images(&own, path)));
            ("given", given)
        }
        None => {
            let (images, fingerprint) = read_held_out(&config.data, config.training.seed, progress)
                .map_err(|error| or_elsewhere(run, error))?;
            check_same_data(run, &fingerprint, model)?;
            let images = images.ok_or_else(|| nothing_held_out(model.description()))?;
            (images.split.unwrap_or("validation"), GivenImages { split: None, ..images })
        }
    })
}

/// Images whose labels are those of the model's classes, found by name.
struct Relabelled {
    source: Arc<dyn ImageSource>,
    classes: Vec<String>,
    labels: Vec<u32>,
}

impl Relabelled {
    fn new(source: Arc<dyn ImageSource>, classes: &[String]) -> Result<Self, Failure> {
        let place = |name: &String| {
            let place = classes.iter().position(|class| class == name);
            place.map(|place| place as u32).ok_or_else(|| unknown(name, classes))
        };
        let places: Vec<u32> = source.classes().iter().map(place).collect::<Result<_, _>>()?;
        let labels = source.labels().iter().map(|&label| places[label as usize]).collect();
        Ok(Self { source, classes: classes.to_vec(), labels })
    }
}

impl ImageSource for Relabelled {
    fn shape(&self) -> ImageShape {
        self.source.shape()
    }

    fn classes(&self) -> &[String] {
        &self.classes
    }

    fn labels(&self) -> &[u32] {
        &self.labels
    }

    fn read(&self, index: usize, pixels: &mut [u8]) -> Result<(), DataError> {
        self.source.read(index, pixels)
    }

    fn name(&self, index: usize) -> Option<String> {
        self.source.name(index)
    }
}

fn unknown(class: &str, classes: &[String]) -> Failure {
    Failure::new(
        ExitCode::UserData,
        format!("the model does not know the class `{class}`"),
        format!("the classes are {}", classes.join(", ")),
    )
}
