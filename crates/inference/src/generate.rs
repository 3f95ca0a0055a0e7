//! Text from a trained language model, token by token.

use std::fmt;

use backend::Backend;
use backend::functional::LstmState;
use burn::tensor::{Tensor, TensorData};
use models::{Pass, TextLstm};
use preprocess::{Decoder, Vocabulary};

use crate::{InferenceError, Sampling, model::finite};

/// How many words a note names.
const NAMED_WORDS: usize = 10;
/// Tokens of a prompt that are read at a time, which bounds the memory for long ones.
const READ_AT_A_TIME: usize = 256;

/// Continues a prompt: an endless iterator over pieces of text.
///
/// The state is carried from token to token, so each takes the same time and nothing is read twice.
pub struct Generator<'a, B: Backend> {
    network: &'a TextLstm<B>,
    vocabulary: &'a Vocabulary,
    sampling: Sampling,
    device: B::Device,
    decoder: Decoder<'a>,
    state: Option<Vec<LstmState<B>>>,
    /// Those of the next token, `[vocabulary]`; none where they are not finite.
    logits: Option<Vec<f32>>,
    position: u64,
}

impl<B: Backend> fmt::Debug for Generator<'_, B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut parts = f.debug_struct("Generator");
        parts.field("sampling", &self.sampling).field("position", &self.position);
        parts.finish_non_exhaustive()
    }
}

impl<'a, B: Backend> Generator<'a, B> {
    /// Reads the prompt.
    ///
    /// # Errors
    ///
    /// If the prompt is empty, or has characters that the model does not know, or `sampling` is out of
    /// its range. Words that it does not know are read as one unknown word.
    ///
    /// # Panics
    ///
    /// Where the network has another number of tokens than the vocabulary.
    #[track_caller]
    pub fn new(
        network: &'a TextLstm<B>,
        vocabulary: &'a Vocabulary,
        prompt: &str,
        sampling: Sampling,
        device: &B::Device,
    ) -> Result<Self, InferenceError> {
        let [tokens, known] = [network.vocabulary(), vocabulary.len()];
        assert!(tokens == known, "the network has {tokens} tokens, and the vocabulary {known}");
        sampling.check()?;
        let ids = prompt_ids(prompt, vocabulary)?;
        let mut generator = Self {
            network,
            vocabulary,
            sampling,
            device: device.clone(),
            decoder: Decoder::new(vocabulary),
            state: None,
            logits: None,
            position: 0,
        };
        for &id in &ids {
            generator.decoder.push(id); // so that the text that follows is spaced correctly
        }
        ids.chunks(READ_AT_A_TIME).for_each(|ids| generator.read(ids));
        Ok(generator)
    }

    /// The next `tokens` tokens as text, with its [rest](Self::finish).
    ///
    /// # Errors
    ///
    /// If the outputs are not finite.
    pub fn write(mut self, tokens: usize) -> Result<String, InferenceError> {
        let text = self.by_ref().take(tokens).collect::<Result<String, _>>()?;
        Ok(text + &self.finish())
    }

    /// The rest of the text: U+FFFD, the replacement character, where it ends within a character.
    pub fn finish(mut self) -> String {
        self.decoder.finish()
    }

    /// Reads tokens and keeps the logits after the last.
    fn read(&mut self, ids: &[u32]) {
        let values: Vec<i32> = ids.iter().map(|&id| id as i32).collect();
        let tokens = Tensor::from_data(TensorData::new(values, [1, ids.len()]), &self.device);
        let state = self.state.take();
        let (logits, state) = self.network.forward(tokens, state, &mut Pass::evaluation());
        let [_, positions, width] = logits.dims();
        let last = logits.narrow(1, positions - 1, 1).reshape([width]);
        self.logits = finite(last).ok();
        self.state = Some(state);
        if let (Some(logits), Some(unknown)) = (&mut self.logits, self.vocabulary.unknown()) {
            logits[unknown as usize] = f32::NEG_INFINITY; // there is no text for it
        }
    }
}

impl<B: Backend> Iterator for Generator<'_, B> {
    type Item = Result<String, InferenceError>;

    /// The text of one more token; empty for a byte within a character, of which [`Self::finish`] tells
    /// where it is the last. An error, then and ever after, where the outputs are not finite.
    fn next(&mut self) -> Option<Self::Item> {
        let Some(logits) = &self.logits else { return Some(Err(InferenceError::Outputs)) };
        let token = self.sampling.choose(logits, self.position);
        self.position += 1;
        self.read(&[token]);
        Some(Ok(self.decoder.push(token)))
    }
}

fn prompt_ids(prompt: &str, vocabulary: &Vocabulary) -> Result<Vec<u32>, InferenceError> {
    // As in the texts that models are trained on.
    let prompt = prompt.replace("\r\n", "\n");
    let ids = vocabulary.encode(&prompt).map_err(InferenceError::Prompt)?;
    match ids.is_empty() {
        true => Err(InferenceError::EmptyPrompt),
        false => Ok(ids),
    }
}

/// What the user should know of words in a prompt that the model does not tell apart.
pub(crate) fn note_on_words(prompt: &str, vocabulary: &Vocabulary) -> Option<String> {
    let words = vocabulary.unknown_words(prompt);
    let known = vocabulary.len() - 1; // without the unknown one
    let named = words.iter().take(NAMED_WORDS).map(|word| match word.trim() {
        "" => "a blank line",
        word => word,
    });
    let mut named: Vec<&str> = named.collect();
    if words.len() > named.len() {
        named.push("...");
    }
    (!named.is_empty()).then(|| {
        format!(
            "the prompt has words outside the {known} that the model knows, which it reads as one \
             unknown word: {}; for more, train on a text that has them, with a larger \
             `data.vocabulary` where that is full",
            named.join(", ")
        )
    })
}
