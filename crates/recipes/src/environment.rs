//! Where a run ran: `environment.json`.

use std::path::PathBuf;

use serde::Serialize;

/// The commit that was built, or `unknown`.
pub const COMMIT: &str = env!("BUILD_COMMIT");

/// Burn's version, as the lock file of the workspace has it.
const BURN: &str = "0.21.0";

/// Versions, machine and command of a run.
#[derive(Debug, Serialize)]
pub(crate) struct Environment {
    version: &'static str,
    burn: &'static str,
    commit: &'static str,
    backend: &'static str,
    device: String,
    /// The hash of all samples.
    data: String,
    ranks: usize,
    threads: usize,
    operating_system: &'static str,
    architecture: &'static str,
    optimized: bool,
    /// Invalid Unicode is replaced.
    command_line: Vec<String>,
    /// The folder in which the command was given, from which relative paths count; none if unknown.
    folder: Option<PathBuf>,
    started: String,
}

impl Environment {
    pub(crate) fn new(device: &str, data: &str, ranks: usize) -> Self {
        let arguments = std::env::args_os();
        let command_line = arguments.map(|argument| argument.to_string_lossy().into_owned());
        Self {
            version: env!("CARGO_PKG_VERSION"),
            burn: BURN,
            commit: COMMIT,
            backend: backend::NAME,
            device: device.to_owned(),
            data: data.to_owned(),
            ranks,
            threads: backend::device::threads(),
            operating_system: std::env::consts::OS,
            architecture: std::env::consts::ARCH,
            optimized: !cfg!(debug_assertions),
            command_line: command_line.collect(),
            folder: std::env::current_dir().ok().filter(|folder| folder.to_str().is_some()),
            started: crate::time::now(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_version_of_burn_is_the_one_that_is_built() {
        let locked = include_str!("../../../Cargo.lock");
        let entry = format!("name = \"burn\"\nversion = \"{BURN}\"");
        assert!(locked.replace("\r\n", "\n").contains(&entry));
    }
}
