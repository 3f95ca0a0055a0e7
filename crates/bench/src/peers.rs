//! The frameworks that are measured beside ours, as scripts for a Python that is there.

use std::{path::Path, process::Command};

use anyhow::Context;
use tempfile::TempDir;

use crate::child::Child;

const EXCHANGE: &str = include_str!("../peers/exchange.py");
const PYTORCH: &str = include_str!("../peers/pytorch.py");
const TENSORFLOW: &str = include_str!("../peers/tensorflow.py");

/// Looks for modules without importing them, which would take seconds.
const LOOK: &str = "from importlib.util import find_spec
import sys
print(*(name for name in sys.argv[1:] if find_spec(name)))";

/// A framework, and how it is run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Peer {
    /// In eager mode.
    Pytorch,
    /// In eager mode, the channels of images innermost.
    PytorchChannelsLast,
    /// A Keras network in a compiled graph.
    Tensorflow,
}

/// For networks on images.
pub(crate) const ALL: &[Peer] = &[Peer::Pytorch, Peer::PytorchChannelsLast, Peer::Tensorflow];
/// For networks without images.
pub(crate) const WITHOUT_IMAGES: &[Peer] = &[Peer::Pytorch, Peer::Tensorflow];
/// For networks on images that the script for TensorFlow does not have.
pub(crate) const PYTORCH_ONLY: &[Peer] = &[Peer::Pytorch, Peer::PytorchChannelsLast];

/// The Python that runs the peers, and what it has.
#[derive(Debug)]
pub struct Peers {
    python: String,
    modules: Vec<String>,
    scripts: Option<TempDir>,
}

impl Peers {
    /// What `python` has. Where it cannot be run, there are no peers.
    ///
    /// # Errors
    ///
    /// Where the scripts cannot be written to a temporary folder.
    pub fn find(python: &str) -> anyhow::Result<Self> {
        let wanted = ["numpy", "safetensors", "torch", "tensorflow", "keras"];
        let found = Command::new(python).args(["-c", LOOK]).args(wanted).output().ok();
        let found = found.filter(|output| output.status.success());
        let modules = found.map(|output| String::from_utf8_lossy(&output.stdout).into_owned());
        let modules: Vec<String> =
            modules.unwrap_or_default().split_whitespace().map(str::to_owned).collect();
        let folder = tempfile::tempdir().context("no temporary folder for the peers' scripts")?;
        for (name, text) in
            [("exchange", EXCHANGE), ("pytorch", PYTORCH), ("tensorflow", TENSORFLOW)]
        {
            store::write_whole(&folder.path().join(format!("{name}.py")), text.as_bytes())?;
        }
        Ok(Self { python: python.to_owned(), modules, scripts: Some(folder) })
    }

    /// No peers, as asked.
    pub fn none() -> Self {
        Self { python: String::new(), modules: Vec::new(), scripts: None }
    }

    /// What is not measured for want of a module, as a sentence.
    pub fn missing(&self) -> Option<String> {
        let missing: Vec<&str> = [("PyTorch", Peer::Pytorch), ("TensorFlow", Peer::Tensorflow)]
            .into_iter()
            .filter(|&(_, peer)| !self.has(peer))
            .map(|(name, _)| name)
            .collect();
        self.scripts.as_ref()?;
        (!missing.is_empty()).then(|| {
            format!(
                "`{}` has no usable {}: ours alone is measured",
                self.python,
                missing.join(", ")
            )
        })
    }

    pub(crate) fn has(&self, peer: Peer) -> bool {
        let modules: &[&str] = match peer {
            Peer::Pytorch | Peer::PytorchChannelsLast => &["numpy", "safetensors", "torch"],
            Peer::Tensorflow => &["numpy", "safetensors", "tensorflow", "keras"],
        };
        modules.iter().all(|module| self.modules.iter().any(|found| found == module))
    }

    /// Starts a peer on the case in `folder`.
    pub(crate) fn start(&self, peer: Peer, folder: &Path) -> anyhow::Result<Child> {
        let scripts = self.scripts.as_ref().context("there are no peers")?;
        let mut command = Command::new(&self.python);
        let (script, variant) = match peer {
            Peer::Pytorch => ("pytorch.py", None),
            Peer::PytorchChannelsLast => ("pytorch.py", Some("channels-last")),
            Peer::Tensorflow => ("tensorflow.py", None),
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
            Self::Tensorflow => "tensorflow",
        }
    }
}
