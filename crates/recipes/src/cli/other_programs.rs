//! The words of other programs, and what stands for them here.

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
        "get" | "download" => "data get",
        _ => return None,
    })
}

/// What to do instead of giving an option of other programs that is neither an option nor a setting
/// here.
pub(super) fn instead_of(option: &str) -> Option<&'static str> {
    Some(match option {
        "--device" | "--gpu" | "--gpus" | "--cuda" => {
            "the device is chosen when the program is built; see `recipes devices`"
        }
        "--name" | "--project" | "--output-dir" | "--save-dir" => {
            "name the run directory: `--run-dir DIR`"
        }
        "--resume" => "to go on with a run: `recipes resume RUN`",
        "--config" | "--cfg" => "name the file in place of the recipe: `recipes train my.toml`",
        _ => return None,
    })
}
