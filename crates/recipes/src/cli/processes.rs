//! The processes that an MPI launcher started together: `mpirun -n 4 recipes train cnn`.

use std::{env, fs, path::PathBuf};

use training::Group;

use crate::{COMMIT, Failure, config::SettingsLayer};

/// Refuses commands that run as a single process.
pub(super) fn refuse_group(group: &Group) -> Result<(), Failure> {
    if !group.is_shared() {
        return Ok(());
    }
    Err(Failure::new(
        crate::ExitCode::Usage,
        format!("this command runs as one process, but {} were started", group.share().of),
        "start it without `mpirun`; only `train`, `resume` and `verify-resume` run as several",
    ))
}

/// Checks that all processes run the same program with the same settings.
pub(super) fn check_alike(group: &Group, layers: &[SettingsLayer]) -> Result<(), Failure> {
    if !group.is_shared() {
        return Ok(());
    }
    let bytes = env::current_exe().and_then(fs::metadata).map_or(0, |program| program.len());
    let program = format!("{} {COMMIT} {bytes}", env!("CARGO_PKG_VERSION"));
    group.check_same("another program", &program)?;
    Ok(group.check_same("another configuration", &format!("{layers:?}"))?)
}

/// The directory that the first process chose.
pub(super) fn of_first(group: &Group, directory: PathBuf) -> Result<PathBuf, Failure> {
    if !group.is_shared() {
        return Ok(directory);
    }
    let chosen = group.broadcast(directory.to_string_lossy().into_owned().into_bytes())?;
    if group.is_rank_zero() {
        return Ok(directory); // which need not be Unicode; the others only name it
    }
    Ok(PathBuf::from(String::from_utf8_lossy(&chosen).into_owned()))
}
