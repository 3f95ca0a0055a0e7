//! Charts written as files.

use std::path::Path;

use crate::{ExitCode, Failure, chart::Chart};

/// That a chart may be written there; to be asked before the work that it shows.
pub(super) fn refuse_existing(file: Option<&Path>, force: bool) -> Result<(), Failure> {
    match file {
        Some(file) if file.exists() && !force => Err(Failure::new(
            ExitCode::UserData,
            format!("`{}` exists", file.display()),
            "name another file, or replace it by `--force`",
        )),
        _ => Ok(()),
    }
}

pub(super) fn write(file: &Path, chart: &Chart) -> Result<(), Failure> {
    store::write_whole(file, chart.svg().as_bytes()).map_err(Failure::user_data)
}
