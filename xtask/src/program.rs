//! Where cargo puts what it builds.

use std::{
    env,
    path::{Path, PathBuf},
};

use anyhow::Context as _;
use xshell::Shell;

/// The program `recipes`, built before with `profile`.
pub(crate) fn recipes(shell: &Shell, profile: &str) -> anyhow::Result<PathBuf> {
    let target = env::var_os("CARGO_TARGET_DIR").map_or_else(|| "target".into(), PathBuf::from);
    let folder = if profile == "dev" { "debug" } else { profile };
    let name = format!("recipes{}", env::consts::EXE_SUFFIX);
    let program = target.join(folder).join(Path::new(&name));
    shell.current_dir().join(program).canonicalize().context("cargo built no program")
}
