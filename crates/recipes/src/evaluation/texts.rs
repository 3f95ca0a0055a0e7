//! Evaluation on a text.

use std::path::Path;

use backend::{Selected, Share, device::Device};
use data::{
    DataError, SharedFiles, TokenLoader,
    text::{Predict, Windows, read_text, read_tokens},
};
use inference::Model;
use models::{Architecture, Network, Positions};
use training::Group;

use super::{EvaluationReport, Examined, check_same_data, nothing_held_out, or_elsewhere};
use crate::{
    Failure,
    config::{Config, TextData},
    initial_weights::OnlyWeights,
    text_evaluation::{EVALUATION_BATCH, beginning, evaluation_streams, measure},
};

pub(super) fn examine(
    run: &Path,
    config: Config<TextData, OnlyWeights>,
    model: &Model<Selected>,
    data: Option<&Path>,
    device: &Device,
) -> Result<Examined, Failure> {
    backend::set_arithmetic(config.training.arithmetic);
    let vocabulary = model.description().vocabulary()?;
    let (Network::TextLstm(network), Architecture::TextLstm(architecture)) =
        (model.network(), &model.description().architecture)
    else {
        unreachable!("a file of another network that reads a text is refused");
    };
    let length = config.data.sequence_length;
    let mut notes = Vec::new();
    let (split, tokens) = match data {
        Some(path) => {
            let (tokens, told) = read_tokens(path, vocabulary, length)?;
            notes = told;
            ("given", tokens)
        }
        None => {
            let mut options = config.data.options();
            options.known = (!config.model.weights.are_drawn()).then(|| vocabulary.clone());
            let corpus = read_text(&options).map_err(|error| or_elsewhere(run, error))?;
            check_same_data(run, &corpus.fingerprint(), model)?;
            notes.extend(corpus.shared.iter().map(SharedFiles::note));
            let test = corpus.test.map(|tokens| ("test", tokens));
            test.or(corpus.validation.map(|tokens| ("validation", tokens)))
                .ok_or_else(|| nothing_held_out(model.description()))?
        }
    };
    let beginning = beginning(&tokens, vocabulary);
    let loader = match architecture.predict {
        Positions::Last => {
            let windows = Windows::new(tokens, length, Predict::Last).map_err(DataError::from)?;
            let batching = config.training.evaluation_batching(EVALUATION_BATCH);
            TokenLoader::windows(windows, batching, device)?
        }
        Positions::All => {
            let rows = config.training.batch_size;
            let streams = evaluation_streams(tokens, rows, length)?;
            TokenLoader::streams(streams, Share::WHOLE, device)
        }
    };
    Ok(Examined {
        values: Vec::new(),
        report: EvaluationReport {
            notes,
            ..EvaluationReport::of(
                split,
                loader.samples(),
                measure(network, &loader, &Group::alone(), device)?,
            )
        },
        mistakes: Vec::new(),
        beginning: Some(beginning),
    })
}
