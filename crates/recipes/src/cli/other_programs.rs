//! The words of other programs, and what stands for them here.

use super::misuse::TAKE_RECIPES;
use crate::config::{DEVICE, is_device};

/// The command that users of other programs call `word`.
pub(super) fn command(word: &str) -> Option<&'static str> {
    Some(match word {
        "fit" | "run" | "start" | "finetune" => "train",
        "val" | "validate" | "test" | "evaluate" => "eval",
        "infer" | "inference" | "detect" | "classify" => "predict",
        "summary" | "summarize" => "plan",
        "convert" | "save" => "export",
        "ls" => "list",
        "cp" | "init" | "new" => "copy",
        "inspect" => "data inspect",
        "verify" => "verify-resume",
        "get" | "download" => "data get",
        _ => return None,
    })
}

/// What to do instead of a command of other programs that there is not here.
pub(super) fn without(word: &str) -> Option<&'static str> {
    Some(match word {
        "tune" | "sweep" | "search" | "hpo" => {
            "there is no search for settings: `recipes lr-find RECIPE` finds a learning rate, and runs that \
             a shell's loop begins with different `--set KEY=VALUE` are compared by `recipes compare RUN..`"
        }
        "serve" | "deploy" => {
            "there is no server: `recipes export RUN --format onnx` writes the model for one, and the \
             crate `inference` runs it in a program of yours"
        }
        _ => return None,
    })
}

/// The commands on which an option of other programs, which is neither an option nor a setting here, has
/// this in its place; all commands where none is named.
pub(super) fn instead_of(option: &str) -> Option<(&'static [&'static str], &'static str)> {
    Some(match option {
        option if option.strip_prefix("--").is_some_and(is_device) => (&[], DEVICE),
        "--name" | "--project" | "--output-dir" | "--save-dir" | "--output" | "--out" | "-o" => {
            (&["train"], "name the run directory: `--run-dir DIR`")
        }
        "--resume" => (&["train"], "to go on with a run: `recipes resume RUN`"),
        "--config" | "--cfg" => {
            (&TAKE_RECIPES, "name the file, such as `my.toml`, in place of the recipe")
        }
        "--accumulate" | "--gradient-accumulation-steps" => (
            &TAKE_RECIPES,
            "`--set training.micro_batch=N` computes at most N samples at a time: the batch size divided by \
             the number of steps",
        ),
        _ => return None,
    })
}
