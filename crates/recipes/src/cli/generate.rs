//! `recipes generate`.

use std::{
    io::{self, IsTerminal},
    path::PathBuf,
};

use backend::{Selected, device};
use clap::ValueHint;
use inference::{Model, Sampling};
use serde::Serialize;

use super::{
    arguments::at_least,
    model::{compute_as, model_at},
    output::{Output, print, print_note},
};
use crate::{Failure, console::printable};

#[derive(Debug, clap::Args)]
pub(super) struct GenerateArguments {
    /// The run directory, or a `model.safetensors`
    #[arg(value_hint = ValueHint::AnyPath)]
    run: PathBuf,
    /// The text to continue
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
    prompt: String,
    /// How many tokens to generate: characters, bytes or words, as the model was trained
    #[arg(long, value_name = "N", default_value_t = 200, allow_negative_numbers = true,
        value_parser = at_least::<0>)]
    length: u64,
    /// Lower values favour likely tokens; 0 always takes the likeliest
    #[arg(long, value_name = "T", default_value_t = 0.8, allow_negative_numbers = true)]
    temperature: f64,
    /// Sample from the N likeliest tokens only, at least 1
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = at_least::<1>)]
    top_k: Option<u64>,
    /// Sample from the likeliest tokens only, which together have this probability
    #[arg(long, value_name = "P", allow_negative_numbers = true)]
    top_p: Option<f64>,
    /// Random seed for sampling
    #[arg(long, value_name = "N", default_value_t = 0, allow_negative_numbers = true,
        value_parser = at_least::<0>)]
    seed: u64,
}

/// The result.
#[derive(Serialize)]
struct Generated<'a> {
    prompt: &'a str,
    text: String,
}

pub(super) fn run(arguments: &GenerateArguments, output: &Output) -> Result<(), Failure> {
    let sampling = arguments.sampling();
    sampling.check()?;
    let path = model_at(&arguments.run)?;
    compute_as(&path);
    let (device, _) = device::open()?;
    let model = Model::<Selected>::read(&path, &device)?;
    if let Some(note) = model.note_on_prompt(&arguments.prompt)? {
        print_note(&note);
    }
    let mut generator = model.generate(&arguments.prompt, sampling)?;
    let length = usize::try_from(arguments.length).unwrap_or(usize::MAX);
    if output.json {
        let text = generator.write(length)?;
        let generated = Generated { prompt: &arguments.prompt, text };
        return output.result(&generated, |_| String::new());
    }
    // What a text taught may command the terminal.
    let is_terminal = io::stdout().is_terminal();
    let show = |text: &str| if is_terminal { print(&printable(text)) } else { print(text) };
    show(&arguments.prompt)?;
    for piece in generator.by_ref().take(length) {
        show(&piece?)?;
    }
    show(&generator.finish())?;
    print("\n")
}

impl GenerateArguments {
    fn sampling(&self) -> Sampling {
        Sampling {
            temperature: self.temperature,
            top_k: self.top_k.map(|tokens| usize::try_from(tokens).unwrap_or(usize::MAX)),
            top_p: self.top_p,
            seed: self.seed,
        }
    }
}
