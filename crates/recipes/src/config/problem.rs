//! Mistakes in a configuration, as told to the user.

use std::fmt;

pub use data::nearest;

/// One mistake: what is wrong and where, and what to do about it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// What is wrong; ends with the place, such as `my.toml:12` or `--set data.sorce=csv`.
    pub message: String,
    /// What to do, where there is more to say than the message already does.
    pub help: Option<String>,
}

impl Problem {
    /// A problem without help.
    pub fn new(message: impl Into<String>) -> Self {
        Self { message: message.into(), help: None }
    }

    /// The same problem with a line of help.
    pub fn with_help(self, help: impl Into<String>) -> Self {
        Self { help: Some(help.into()), ..self }
    }
}

/// All mistakes found in a configuration: one or more.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problems(Vec<Problem>);

impl Problems {
    /// An error if anything was found.
    pub(super) fn none_in(found: Vec<Problem>) -> Result<(), Self> {
        if found.is_empty() { Ok(()) } else { Err(Self(found)) }
    }

    /// The problems, layer by layer, in the order of the lines in each.
    pub fn iter(&self) -> std::slice::Iter<'_, Problem> {
        self.0.iter()
    }
}

impl From<Problem> for Problems {
    fn from(problem: Problem) -> Self {
        Self(vec![problem])
    }
}

impl fmt::Display for Problems {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (position, problem) in self.iter().enumerate() {
            if position > 0 {
                f.write_str("\n")?;
            }
            f.write_str(&problem.message)?;
        }
        Ok(())
    }
}

impl std::error::Error for Problems {}

/// The key that users of other programs call `word`, or its last part; other words as they are.
pub(crate) fn usual_name(word: &str) -> &str {
    match word {
        "lr" | "lr0" => "learning_rate",
        "batch" => "batch_size",
        "num_epochs" | "num_train_epochs" | "max_epochs" => "epochs",
        "min_delta" => "minimum_improvement",
        "random_state" | "random_seed" => "seed",
        "accumulate"
        | "accumulation_steps"
        | "gradient_accumulation"
        | "gradient_accumulation_steps" => "micro_batch",
        "data" | "data_dir" => "path",
        "num_workers" => "workers",
        "imgsz" | "img_size" | "image_size" => "size",
        "val_split" | "validation_split" | "val_size" => "validation",
        "test_split" | "test_size" | "test_fraction" => "test",
        "train_size" | "train_fraction" | "train_split" | "subset" | "limit" => "fraction",
        "seq_len" | "block_size" | "max_seq_len" => "sequence_length",
        "target_column" | "label_column" => "target",
        "hflip" | "fliplr" => "horizontal_flip",
        "vflip" | "flipud" => "vertical_flip",
        "degrees" => "rotate",
        "amp" | "mixed_precision" | "dtype" | "fp16" | "bf16" => "precision",
        "grad_clip" | "max_grad_norm" | "gradient_clip" | "gradient_clipping" => "clip_norm",
        "warmup" => "warmup_steps",
        "eta_min" => "minimum",
        "num_layers" => "layers",
        "save_period" => "every_epochs",
        "early_stopping" => "training.patience",
        "units" | "hidden_size" => "hidden",
        "optimizer" | "optim" => "optimizer.kind",
        "scheduler" | "lr_scheduler" => "schedule.kind",
        word => word,
    }
}

/// Whether other programs choose the device by a setting of this name.
pub(crate) fn is_device(word: &str) -> bool {
    ["device", "gpu", "gpus", "cuda", "backend"].contains(&word)
}

/// What to do instead of setting a device.
pub(crate) const DEVICE: &str = "the device is chosen when the program is built, as with `--features cuda`, and \
     one of several GPUs by `CUDA_VISIBLE_DEVICES` or `CUBECL_WGPU_DEFAULT_DEVICE`; see `recipes devices`";

/// In what the key of another program that [`usual_name`] gives for `word` differs from it.
pub(crate) fn difference(word: &str) -> &'static str {
    match usual_name(word) {
        name if name == word => "",
        "micro_batch" => ", which is how many samples of the batch are computed at a time",
        _ => "",
    }
}

/// The choice that users of other programs, or of a data set, call `word`.
pub(crate) fn usual_choice(word: &str) -> Option<&'static str> {
    Some(match word {
        "mnist" | "fashion-mnist" => "idx",
        "cifar" | "cifar-10" => "cifar10",
        "imagefolder" | "images" | "pictures" | "folder" => "image-folder",
        "table" | "pandas" | "tsv" => "csv",
        "numpy" => "npy",
        "text" | "texts" | "textfolder" | "text-directory" => "text-folder",
        "fp32" | "float32" => "f32",
        "fp16" | "float16" | "half" => "f16",
        "bfloat16" | "mixed" | "amp" | "mixed_bfloat16" => "bf16",
        "letterbox" => "pad",
        "cosine_annealing" => "cosine",
        "reduce_on_plateau" => "plateau",
        // The lower the loss, the lower these, which follow from it.
        "val_loss" | "perplexity" | "val_perplexity" | "mse" | "rmse" => "loss",
        "acc" | "val_acc" | "val_accuracy" | "top1" => "accuracy",
        "f1" | "f1_macro" | "val_f1" => "macro_f1",
        _ => return None,
    })
}
