//! Runs that leave nothing.

use tempfile::TempDir;

use crate::{ExitCode, Failure};

/// A folder for temporary runs, deleted on drop.
pub(crate) fn temporary_folder() -> Result<TempDir, Failure> {
    tempfile::tempdir().map_err(|error| {
        Failure::new(
            ExitCode::Unexpected,
            format!("a temporary folder cannot be created: {error}"),
            "set the environment variable TMPDIR, on Windows TMP, to a writable folder",
        )
    })
}

/// The user stopped a command whose runs are temporary.
pub(crate) fn nothing_kept() -> Failure {
    Failure::new(ExitCode::Interrupted, "interrupted; nothing was kept", "run the command again")
}
