//! Transfer learning: a new head on the frozen features of a pretrained VGG network.

use std::{mem, sync::Arc};

use backend::{AutodiffBackend, Backend, Selected, device};
use burn::backend::Autodiff;
use data::{ImageSource, augment::AugmentOptions, refuse_shared};
use inference::{Description, InputKind, Preprocessing};
use models::{
    Architecture, Initializer, Layer, Pass, Vgg, VggClassifier, VggClassifierConfig, VggConfig,
    weights,
};
use training::{Group, Metrics, Trained, Trainer};

use crate::{
    ExitCode, Failure, Summary,
    config::ImageConfig,
    inputs::{
        backbone::Model,
        features::{Features, Frozen, FrozenSplits},
        image_set::{ImageSet, bytes_on_device},
        pretrained::Pretrained,
        run_inputs::RunInputs,
        weights_file::note_on_division,
    },
    measure::images::{ImageLoss, measure_batches},
    planning::{
        memory::Divides,
        plan::{FrozenLayers, Outline, Plan},
    },
    registry::Recipe,
    run::start::{Begun, WorkProgress},
};

/// The recipe, as listed in [`crate::registry`].
pub static RECIPE: Recipe = Recipe {
    name: "vgg",
    summary: "transfer learning: a new head on a pretrained network, for few pictures",
    input: InputKind::Images,
    divides: Divides::Features,
    toml: include_str!("vgg.toml"),
    train: |layers, start| RECIPE.train_here(layers, start, train::<Autodiff<Selected>>),
    plan: |layers, progress| plan(RECIPE.resolve(layers)?, progress),
};

/// By what name a run records whether it keeps features.
const KEEPS: &str = "the features that it keeps";

/// Trains on the configured data, and leaves a run directory.
fn train<B: AutodiffBackend>(
    mut config: ImageConfig<Model>,
    mut begun: Begun<'_>,
    device: &B::Device,
) -> Result<Summary, Failure> {
    // The data, in the size and the colours that the network takes.
    let (backbone, note) = fitted_backbone(&mut config)?;
    let ImageConfig { data, model: settings, training, .. } = &config;
    let seed = training.seed;
    let mut images = begun.do_first(|progress| ImageSet::read(data, seed, progress))?;
    begun.keep_apart(&images.shared)?;

    // Steps 1 and 2: choose a pretrained backbone, and freeze it.
    let (frozen, tail) =
        frozen_and_trained::<B>(&config, &backbone, &mut images, &mut begun, device)?;

    // Step 3: add a new head.
    let mut notes = mem::take(&mut images.notes);
    notes.extend(note);
    // In a run that resumes as when it began: features computed in other batches may be rounded otherwise.
    let kept_before = begun.recorded(KEEPS)?.map(|keeps| keeps == true.to_string());
    let processes = begun.group().share().of;
    let Transfer { network, sample, frozen_blocks, frozen_layers, keeps, .. } =
        Transfer::new(&config, backbone, &images, kept_before, processes, &mut notes);
    let model = VggClassifier::new(tail, network.head.init::<B>(seed, device));
    let description = Description {
        recipe: RECIPE.name.to_owned(),
        architecture: Architecture::Vgg(network),
        classes: images.classes().to_vec(),
        preprocessing: Preprocessing::Image(frozen.preprocessing.clone()),
    };

    // The features that cannot change are computed once.
    let loss = ImageLoss::new(&config, &*images.train, device);
    let (hashes, skipped) = (images.hashes.clone(), images.skipped);
    let keeps_each = [frozen_layers.kept, keeps];
    let FrozenSplits { train, validation, test, note } =
        FrozenSplits::<B>::open(&frozen, images, &config, keeps_each, &mut begun)?;
    notes.extend(note);

    // Step 4: train the head; step 5, where it is asked for: with it the last block, at a lower rate.
    let inputs = RunInputs { weights: None, hashes, notes, skipped };
    let mut run = begun.open(&config, &inputs)?;
    if frozen_blocks > 0 {
        run.record_fingerprint("its frozen weights", frozen.hash.clone());
        run.record_fingerprint(KEEPS, keeps.to_string());
    }
    let (interrupt, group) = (run.interrupt(), run.group());
    let trainer_config = config.trainer(train.steps_per_epoch()).keep_best_if(validation.is_some());
    run.freezes(frozen_layers);
    let mut trainer_config = run.complete(trainer_config, &description, &sample);
    trainer_config.parameter_groups = settings.parameter_groups(frozen_blocks);
    let macro_f1_of = training.monitor.macro_f1_of(description.classes.len());
    let mut trainer = Trainer::new(model, trainer_config, device, &mut run, interrupt)?;
    while let Some(epoch) = trainer.next_epoch() {
        for batch in epoch.batches(train.batches(epoch.index, epoch.position)) {
            let batch = batch?();
            let mut pass = training.pass(trainer.step_number(), batch.part);
            let logits = trainer.model().forward(batch.images.clone(), &mut pass);
            trainer.count_correct(&logits, &batch.main_labels());
            trainer.step(loss.of_each(logits, &batch), batch.part)?;
            trainer.map_model(|model| pass.update_statistics(model));
        }
        trainer.try_end_epoch(|model| {
            let measure = |split| measure(model, split, macro_f1_of, &group, device);
            validation.as_ref().map(measure).transpose()
        })?;
    }
    let trained = trainer.finish()?;
    let measure = |split| measure(&trained.model, &split, macro_f1_of, &group, device);
    let test = test.map(measure).transpose()?;
    drop((train, validation));
    let front = frozen.into_network();
    let trained = Trained { model: trained.model.after(front), ..trained };
    run.finish(trained, &description, test)
}

/// What the settings and the pictures of a run make of the network.
struct Transfer {
    network: VggClassifierConfig,
    /// The shape of a picture: `[channels, height, width]`.
    sample: [usize; 3],
    frozen_blocks: usize,
    /// The layers of those blocks, and whether their features of the training pictures are computed once.
    frozen_layers: FrozenLayers,
    /// The shape of a picture's features, `[channels, height, width]`.
    features: [usize; 3],
    /// Whether those of pictures that are held out are computed once.
    keeps: bool,
}

impl Transfer {
    /// - `kept_before`: whether a run that resumes has kept features
    /// - `processes`: how many train together
    fn new(
        config: &ImageConfig<Model>,
        backbone: VggConfig,
        images: &ImageSet,
        kept_before: Option<bool>,
        processes: usize,
        notes: &mut Vec<String>,
    ) -> Self {
        let ImageConfig { data, augment, model: settings, .. } = config;
        notes.extend(config.notes(&*images.train, images.held_out(), processes));
        let sample = [backbone.channels, backbone.size, backbone.size];
        let frozen_blocks = settings.frozen_blocks(&backbone);
        let head = settings.head(&backbone, images.classes().len());
        let network = VggClassifierConfig { features: backbone, head };
        let layers = Architecture::Vgg(network.clone()).layers(&sample);
        let count = blocks(&layers, frozen_blocks);
        let features = network.features.shape_after(frozen_blocks);
        let keeps = frozen_blocks > 0
            && settings.keeps(features, images.samples(), data.residency, kept_before, notes);
        let kept = keeps && !changes_images(augment);
        notes.extend(Model::note_on_kept(data.residency).filter(|_| kept && kept_before.is_none()));
        let frozen_layers = FrozenLayers { count, kept };
        Self { network, sample, frozen_blocks, frozen_layers, features, keeps }
    }
}

/// The pretrained backbone in two: what is frozen, which stays outside the trainer on the backend that
/// records nothing, and what is trained, which is the last block if that is to be tuned.
fn frozen_and_trained<B: AutodiffBackend>(
    config: &ImageConfig<Model>,
    backbone: &VggConfig,
    images: &mut ImageSet,
    begun: &mut Begun<'_>,
    device: &B::Device,
) -> Result<(Frozen<B::InnerBackend>, Vgg<B>), Failure> {
    let ImageConfig { data, model: settings, training, .. } = config;
    let group = begun.group().clone();
    let pretrained = begun.do_first(|progress| {
        group.first_of_host_first(|| {
            Pretrained::<B::InnerBackend>::open(settings, backbone, progress, device)
        })
    })?;
    let Some(pretrained) = pretrained else {
        let blank = backbone.build::<B::InnerBackend>(&Initializer::blank(device));
        let preprocessing = begun.do_first(|progress| images.preprocessing(data, progress))?;
        let frozen = Frozen::new(blank.split(0).0, backbone.shape_after(0), preprocessing, device);
        return Ok((frozen, backbone.init::<B>(training.seed, device)));
    };
    images.notes.extend(pretrained.notes.clone());
    images.notes.extend(note_on_division(&pretrained.origin, &images.hashes));
    let preprocessing = pretrained.preprocessing(images.train.shape(), data.resize);
    let frozen_blocks = settings.frozen_blocks(backbone);
    let (front, tail) = pretrained.network.split(frozen_blocks);
    let recorded = backbone.build::<B>(&Initializer::blank(device)).split(frozen_blocks).1;
    let trained = weights::load(recorded, weights::to_tensors(&tail))?;
    let shape = backbone.shape_after(frozen_blocks);
    Ok((Frozen::new(front, shape, preprocessing, device), trained))
}

/// The backbone; from now on `config` asks for images of the size and colours that it takes, which is
/// noted where the size was left open.
fn fitted_backbone(
    config: &mut ImageConfig<Model>,
) -> Result<(VggConfig, Option<String>), Failure> {
    let backbone = config.model.network(config.data.size)?;
    let (name, channels) = (config.model.backbone, backbone.channels);
    if let Some(given) = config.data.channels.filter(|&given| given != channels) {
        return Err(Failure::new(
            ExitCode::Usage,
            format!("`data.channels` is {given}, and the backbone `{name}` takes {channels}"),
            "leave it out: grey pictures are brought to as many channels",
        ));
    }
    let note = config.data.note_on_size(backbone.size);
    let note = note.map(|note| match config.model.weights.as_str() {
        "shipped" | "imagenet" => {
            format!("pictures are resized to {0}x{0}, as those of the weights were", backbone.size)
        }
        _ => note,
    });
    config.data.size = Some(backbone.size);
    config.data.channels = Some(backbone.channels);
    Ok((backbone, note))
}

/// The layers of the first so many blocks, each of which ends with a pool.
fn blocks(layers: &[Layer], blocks: usize) -> usize {
    let pools = layers.iter().enumerate().filter(|(_, layer)| layer.name == "max_pool");
    pools.map(|(index, _)| index + 1).take(blocks).last().unwrap_or(0)
}

/// Whether augmentation changes images from epoch to epoch.
fn changes_images(augment: &AugmentOptions) -> bool {
    AugmentOptions { label_smoothing: 0.0, ..augment.clone() } != AugmentOptions::default()
}

/// Describes a run without training. Weights that would have to be downloaded are not looked at.
fn plan(mut config: ImageConfig<Model>, progress: &mut WorkProgress<'_>) -> Result<Plan, Failure> {
    let (backbone, note) = fitted_backbone(&mut config)?;
    let ImageConfig { data, model: settings, training, .. } = &config;
    let images = ImageSet::read(data, training.seed, progress)?;
    refuse_shared(&images.shared)?;
    let mut notes = images.notes.clone();
    if settings.weights != "imagenet" {
        let (device, _) = device::open()?;
        let pretrained = Pretrained::<Selected>::open(settings, &backbone, progress, &device)?;
        notes.extend(pretrained.into_iter().flat_map(|pretrained| pretrained.notes));
    }
    notes.extend(note);
    let Transfer { network, sample, frozen_layers, features, keeps, .. } =
        Transfer::new(&config, backbone, &images, None, 1, &mut notes);

    let samples = images.train.labels().len();
    let row = features.iter().product::<usize>() + 1; // and the label
    let bytes = |split: &Arc<dyn ImageSource>| {
        let is_trained_on = Arc::ptr_eq(split, &images.train);
        let computed_once = if is_trained_on { frozen_layers.kept } else { keeps };
        if computed_once {
            split.labels().len() * row * size_of::<f32>()
        } else {
            bytes_on_device(split, data)
        }
    };
    let outline = Outline {
        recipe: &RECIPE,
        architecture: Architecture::Vgg(network),
        sample: sample.to_vec(),
        frozen: frozen_layers,
        samples,
        training,
        trainer: config.trainer(samples.div_ceil(training.batch_size)),
        validates: images.validation.is_some(),
        data_bytes: images.splits().map(bytes).sum(),
        notes,
    };
    outline.plan()
}

/// The mean loss and the accuracy, and what is monitored, on a split.
fn measure<B: Backend>(
    model: &VggClassifier<B>,
    split: &Features<'_, B>,
    macro_f1_of: Option<usize>,
    group: &Group,
    device: &B::Device,
) -> Result<Metrics, Failure> {
    let batches = split.batches(0, 0).map(|batch| Ok(batch?()));
    let forward = |features| model.forward(features, &mut Pass::evaluation());
    measure_batches(batches, forward, |_, _| (), macro_f1_of, group, device)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::SettingsLayer;

    #[test]
    fn norms_that_are_trained_may_use_the_whole_batch() {
        for settings in [&["model.fine_tune=true"][..], &["model.weights=none"]] {
            let layers =
                SettingsLayer::sets(&[settings, &["training.sync_batch_norm=true"]].concat());
            let config: ImageConfig<Model> = RECIPE.resolve(layers).unwrap();
            assert!(config.training.sync_batch_norm, "{settings:?}");
        }
    }

    #[test]
    fn a_folder_is_read_in_the_size_of_the_backbone() {
        let size = |settings: &[&str]| {
            let folder = ["data.source=image-folder", "data.path=photos", "model.weights=none"];
            let layers = SettingsLayer::sets(&[&folder[..], settings].concat());
            let mut config: ImageConfig<Model> = RECIPE.resolve(layers).unwrap();
            fitted_backbone(&mut config).unwrap();
            config.data.size
        };
        assert_eq!(size(&[]), Some(32));
        assert_eq!(size(&["model.backbone=vgg16"]), Some(224));
        assert_eq!(size(&["model.backbone=vgg16", "data.size=64"]), Some(64));
    }
}
