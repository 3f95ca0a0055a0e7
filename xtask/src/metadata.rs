//! What `cargo metadata` reports about the workspace and everything it is built from.

use std::collections::BTreeMap;

use anyhow::Context as _;
use serde::Deserialize;
use xshell::{Shell, cmd};

/// The platforms that are built and tested; crates that only others need are not fetched.
const PLATFORMS: [&str; 4] = [
    "--filter-platform",
    "x86_64-unknown-linux-gnu",
    "--filter-platform",
    "wasm32-unknown-unknown",
];

/// The features that choose a backend.
pub(crate) const BACKEND_FEATURES: [&str; 4] = ["cpu", "ndarray", "wgpu", "cuda"];

#[derive(Deserialize)]
pub(crate) struct Metadata {
    pub(crate) packages: Vec<Package>,
}

#[derive(Deserialize)]
pub(crate) struct Package {
    pub(crate) name: String,
    pub(crate) version: String,
    /// An SPDX expression; some old crates write `/` for `OR`.
    pub(crate) license: Option<String>,
    /// Where the package was fetched from; none for members of the workspace.
    pub(crate) source: Option<String>,
    #[serde(default)]
    pub(crate) dependencies: Vec<Dependency>,
    #[serde(default)]
    pub(crate) features: BTreeMap<String, Vec<String>>,
}

#[derive(Deserialize)]
pub(crate) struct Dependency {
    pub(crate) name: String,
    /// `None` for a normal dependency, else `dev` or `build`.
    pub(crate) kind: Option<String>,
    pub(crate) uses_default_features: bool,
    pub(crate) features: Vec<String>,
}

impl Metadata {
    /// The members of the workspace and every package that any of their features can bring in.
    pub(crate) fn read(shell: &Shell) -> anyhow::Result<Self> {
        let json =
            cmd!(shell, "cargo metadata --format-version 1 --locked --all-features {PLATFORMS...}")
                .quiet()
                .read()?;
        serde_json::from_str(&json).context("xtask cannot read what `cargo metadata` printed")
    }

    pub(crate) fn members(&self) -> impl Iterator<Item = &Package> {
        self.packages.iter().filter(|package| package.source.is_none())
    }

    pub(crate) fn member(&self, name: &str) -> Option<&Package> {
        self.members().find(|package| package.name == name)
    }
}
