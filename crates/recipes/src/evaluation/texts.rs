//! Evaluation on a text.

use backend::{Share, device::Device};
use data::{
    DataError, Shared, TokenLoader, Vocabulary,
    text::{Tokens, Windows, note_on_known_text, read_text, read_tokens},
};
use models::{Architecture, Network, Positions};
use training::Group;

use super::{Evaluated, EvaluationReport, Examined, GIVEN};
use crate::{
    Failure,
    config::{Config, TextData},
    inputs::initial_weights::OnlyWeights,
    measure::texts::{beginning, evaluation_streams, measure},
    numbers::{grouped, percent},
};

/// The share of unknown words that is told.
const MANY_UNKNOWN: f64 = 0.1;

pub(super) fn examine(
    evaluated: &Evaluated<'_>,
    config: Config<TextData, OnlyWeights>,
    device: &Device,
) -> Result<Examined, Failure> {
    backend::set_arithmetic(config.training.arithmetic);
    let model = evaluated.model;
    let vocabulary = model.description().vocabulary()?;
    let (Network::TextLstm(network), Architecture::TextLstm(architecture)) =
        (model.network(), &model.description().architecture)
    else {
        unreachable!("a file of another network that reads a text is refused");
    };
    let length = config.data.sequence_length;
    let mut notes = Vec::new();
    let (split, tokens) = match evaluated.given {
        Some(path) => {
            let (tokens, told) = read_tokens(path, vocabulary, length)?;
            notes = told;
            if !evaluated.is_own {
                notes.extend(note_on_known_text(path, &config.data.options()));
            }
            (GIVEN, tokens)
        }
        None => {
            let mut options = config.data.options();
            options.known = (!config.model.weights.are_drawn()).then(|| vocabulary.clone());
            let corpus = read_text(&options).map_err(|error| evaluated.or_elsewhere(error))?;
            evaluated.check_same_data(&corpus.fingerprint)?;
            notes.extend(corpus.shared.iter().map(Shared::note));
            let test = corpus.test.map(|tokens| ("test", tokens));
            test.or(corpus.validation.map(|tokens| ("validation", tokens)))
                .ok_or_else(|| evaluated.nothing_held_out())?
        }
    };
    let beginning = beginning(&tokens, vocabulary);
    let unknown_words = note_on_unknown_words(&tokens, vocabulary);
    notes.extend(unknown_words.clone());
    let loader = match architecture.predict {
        Positions::Last => {
            let windows = Windows::new(tokens, length).map_err(DataError::from)?;
            let batching = config.training.evaluation_batching();
            TokenLoader::windows(windows, batching, device)?
        }
        Positions::All => TokenLoader::streams(evaluation_streams(tokens)?, Share::WHOLE, device),
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
        unknown_words,
        beginning: Some(beginning),
    })
}

/// What the user should know where much of a text is words that the vocabulary lacks.
fn note_on_unknown_words(tokens: &Tokens, vocabulary: &Vocabulary) -> Option<String> {
    let unknown = vocabulary.unknown()?;
    let mut ids = vec![0; tokens.len()];
    tokens.read(0, &mut ids);
    let count = ids.iter().filter(|&&id| id == unknown).count();
    let share = count as f64 / tokens.len() as f64;
    (share >= MANY_UNKNOWN).then(|| {
        format!(
            "{} of the tokens are words that the vocabulary of {} lacks: they count as one and the same \
             word, so perplexity and accuracy say little of the words that it has; \
             `data.vocabulary` sets its size",
            percent(share),
            grouped(vocabulary.len())
        )
    })
}
