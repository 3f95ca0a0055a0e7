//! The frameworks that ours is compared with, as scripts for an installed Python.

use std::{path::Path, process::Command};

use anyhow::Context;
use tempfile::TempDir;

use crate::{ON_GPU, child::Child};

const EXCHANGE: &str = include_str!("../peers/exchange.py");
const PYTORCH: &str = include_str!("../peers/pytorch.py");
const TENSORFLOW: &str = include_str!("../peers/tensorflow.py");

/// Looks for modules without importing them, which would take seconds, and for a compiler and what it
/// needs to build a module.
const LOOK: &str = "from importlib.util import find_spec
from os.path import exists
from shutil import which
from sysconfig import get_path
import json, sys
found = [name for name in sys.argv[1:] if find_spec(name)]
if which('g++'): found.append('g++')
if exists(get_path('include') + '/Python.h'): found.append('Python.h')
print(json.dumps(found))";

/// Fails where PyTorch has no GPU.
const LOOK_FOR_GPU: &str = "import torch
torch.zeros(1, device='cuda')";

/// A framework, and how it is run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Peer {
    /// In eager mode.
    Pytorch,
    /// In eager mode, images with the channels last.
    PytorchChannelsLast,
    /// By `torch.compile`, with the optimizer's update as one kernel.
    PytorchCompiled,
    /// In eager mode, products in bf16, on a GPU.
    PytorchBf16,
    /// A Keras network in a compiled graph, on the CPU.
    Tensorflow,
}

use Peer::{Pytorch, PytorchBf16, PytorchChannelsLast, PytorchCompiled, Tensorflow};

/// For networks on images.
pub(crate) const ALL: &[Peer] = &[Pytorch, PytorchChannelsLast, Tensorflow];
/// For networks without images.
pub(crate) const WITHOUT_IMAGES: &[Peer] = &[Pytorch, Tensorflow];
/// For networks on images that the script for TensorFlow does not have.
pub(crate) const PYTORCH_ONLY: &[Peer] = &[Pytorch, PytorchChannelsLast];
/// The same three for training steps, of which PyTorch has more variants.
pub(crate) const STEP: &[Peer] =
    &[Pytorch, PytorchChannelsLast, PytorchCompiled, PytorchBf16, Tensorflow];
pub(crate) const STEP_WITHOUT_IMAGES: &[Peer] =
    &[Pytorch, PytorchCompiled, PytorchBf16, Tensorflow];
pub(crate) const STEP_PYTORCH_ONLY: &[Peer] =
    &[Pytorch, PytorchChannelsLast, PytorchCompiled, PytorchBf16];

/// The Python that runs the peers, and what it has.
#[derive(Debug)]
pub struct Peers {
    python: String,
    /// Modules, and of `g++` and `Python.h` what is there; none where Python does not run.
    found: Option<Vec<String>>,
    /// Whether there is a PyTorch that cannot compute where ours does.
    lacks_gpu: bool,
    scripts: Option<TempDir>,
}

impl Peers {
    /// Looks for the modules of `python`. Where it cannot be run, there are no peers.
    ///
    /// # Errors
    ///
    /// Where the scripts cannot be written to a temporary folder.
    pub fn find(python: &str) -> anyhow::Result<Self> {
        let wanted = ["numpy", "safetensors", "torch", "tensorflow", "keras"];
        let output = Command::new(python).args(["-c", LOOK]).args(wanted).output().ok();
        let output = output.filter(|output| output.status.success());
        let found: Option<Vec<String>> = output.and_then(|output| {
            // The last line: a Python may print more as it starts.
            let said = String::from_utf8_lossy(&output.stdout);
            serde_json::from_str(said.lines().last()?).ok()
        });
        let has_torch = found.iter().flatten().any(|module| module == "torch");
        let sees_gpu = || {
            let looked = Command::new(python).args(["-c", LOOK_FOR_GPU]).output();
            looked.is_ok_and(|output| output.status.success())
        };
        let lacks_gpu = ON_GPU && has_torch && !sees_gpu();
        let folder = tempfile::tempdir()
            .context("cannot create a temporary folder for the peers' scripts")?;
        for (name, text) in
            [("exchange", EXCHANGE), ("pytorch", PYTORCH), ("tensorflow", TENSORFLOW)]
        {
            store::write_whole(&folder.path().join(format!("{name}.py")), text.as_bytes())?;
        }
        Ok(Self { python: python.to_owned(), found, lacks_gpu, scripts: Some(folder) })
    }

    /// No peers, as asked.
    pub fn none() -> Self {
        Self { python: String::new(), found: None, lacks_gpu: false, scripts: None }
    }

    /// Which peers are not measured because a module or a device is missing, as a sentence.
    pub fn missing(&self) -> Option<String> {
        self.scripts.as_ref()?;
        let python = &self.python;
        if self.lacks_gpu {
            return Some(format!("the PyTorch of `{python}` finds no GPU: only ours is measured"));
        }
        if self.found.is_none() {
            return Some(format!("`{python}` does not run: only ours is measured"));
        }
        let named = [
            ("PyTorch", Pytorch),
            ("compiled PyTorch", PytorchCompiled),
            ("TensorFlow", Tensorflow),
        ];
        let unusable = named.into_iter().filter(|&(_, peer)| peer.runs_here() && !self.has(peer));
        let (names, peers): (Vec<&str>, Vec<Peer>) = unusable.unzip();
        let mut lacks: Vec<String> = Vec::new();
        for module in peers.into_iter().flat_map(|peer| self.lacks(peer)) {
            let module = format!("`{module}`");
            if !lacks.contains(&module) {
                lacks.push(module);
            }
        }
        let (names, lacks) = (names.join(", "), lacks.join(", "));
        (!names.is_empty()).then(|| format!("`{python}` lacks {lacks}; not measured: {names}"))
    }

    pub(crate) fn has(&self, peer: Peer) -> bool {
        peer.runs_here() && !self.lacks_gpu && self.lacks(peer).next().is_none()
    }

    /// What of that which a peer needs is not there.
    fn lacks(&self, peer: Peer) -> impl Iterator<Item = &'static str> {
        let needs: &[&'static str] = match peer {
            Tensorflow => &["numpy", "safetensors", "tensorflow", "keras"],
            // On a GPU it may have another compiler; where it has none, that is its error.
            PytorchCompiled if !ON_GPU => &["numpy", "safetensors", "torch", "g++", "Python.h"],
            _ => &["numpy", "safetensors", "torch"],
        };
        needs.iter().copied().filter(|need| !self.found.iter().flatten().any(|found| found == need))
    }

    /// Starts a peer on the case in `folder`.
    pub(crate) fn start(&self, peer: Peer, folder: &Path) -> anyhow::Result<Child> {
        let scripts = self.scripts.as_ref().context("there are no peers")?;
        let mut command = Command::new(&self.python);
        let (script, variant) = match peer {
            Pytorch => ("pytorch.py", None),
            PytorchChannelsLast => ("pytorch.py", Some("channels-last")),
            PytorchCompiled => ("pytorch.py", Some("compiled")),
            PytorchBf16 => ("pytorch.py", Some("bf16")),
            Tensorflow => ("tensorflow.py", None),
        };
        command.arg(scripts.path().join(script)).arg(folder).args(variant);
        Child::spawn(command, scripts.path())
    }
}

impl Peer {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Pytorch => "pytorch",
            Self::PytorchChannelsLast => "pytorch channels-last",
            Self::PytorchCompiled => "pytorch compiled",
            Self::PytorchBf16 => "pytorch bf16",
            Self::Tensorflow => "tensorflow",
        }
    }

    /// Whether it runs on our device. The script for TensorFlow runs on the CPU only.
    fn runs_here(self) -> bool {
        match self {
            Self::Pytorch | Self::PytorchChannelsLast | Self::PytorchCompiled => true,
            Self::PytorchBf16 => ON_GPU,
            Self::Tensorflow => !ON_GPU,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_python_lacks_is_named_with_the_peers_that_need_it() {
        let told = |found: &str| {
            let found = Some(found.split(' ').map(str::to_owned).collect());
            let scripts = Some(tempfile::tempdir().unwrap());
            Peers { python: "py".to_owned(), found, lacks_gpu: false, scripts }.missing()
        };
        let check = |found, expected: Option<&str>| assert_eq!(told(found).as_deref(), expected);
        check("numpy safetensors torch g++ Python.h tensorflow keras", None);
        if ON_GPU {
            return; // TensorFlow runs on the CPU only, and PyTorch may have another compiler
        }
        check(
            "numpy torch g++ Python.h tensorflow keras",
            Some("`py` lacks `safetensors`; not measured: PyTorch, compiled PyTorch, TensorFlow"),
        );
        check(
            "numpy safetensors torch g++",
            Some(
                "`py` lacks `Python.h`, `tensorflow`, `keras`; not measured: compiled PyTorch, TensorFlow",
            ),
        );
    }
}
