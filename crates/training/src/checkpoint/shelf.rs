//! The directory of a run's checkpoints: writing one, choosing one, and removing old ones.

use std::{
    collections::BTreeSet,
    fs, io,
    path::{Path, PathBuf},
};

use store::{FileLock, create_directory, is_unfinished, previous_name, remove, write_directory};

use super::{
    CheckpointConfig, Contents,
    manifest::{Fault, MANIFEST, Manifest, signature},
};
use crate::{TrainError, parameters::Parameter};

/// The directory `checkpoints` of a run.
pub(crate) struct Shelf {
    lock: Option<FileLock>, // none before the directory is there
    directory: PathBuf,
    config: CheckpointConfig,
    steps_per_epoch: u64,
    signature: String,
    damaged: BTreeSet<PathBuf>, // checkpoints that were found to be
    stuck: BTreeSet<PathBuf>,   // what could not be removed, and was told
}

/// A checkpoint to resume from, and warnings about newer ones.
#[derive(Debug, Default)]
pub(crate) struct Newest {
    pub(crate) found: Option<(PathBuf, Contents)>,
    /// How its parameters differ from those of the model, if they do.
    pub(crate) difference: Option<String>,
    /// Why each newer one cannot be used, a sentence each.
    pub(crate) damaged: Vec<String>,
}

/// The name of a directory on the shelf.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Name {
    step: u64,
    is_current: bool, // rather than one that is being replaced
}

/// The name of the lock in the directory.
const LOCK: &str = ".lock";

impl Shelf {
    /// The directory, locked where it is there.
    ///
    /// # Errors
    ///
    /// [`TrainError::InUse`] where another trainer has it, and where the system refuses.
    pub(crate) fn open(
        directory: PathBuf,
        config: CheckpointConfig,
        steps_per_epoch: u64,
        parameters: &[Parameter],
    ) -> Result<Self, TrainError> {
        let mut shelf = Self {
            lock: None,
            directory,
            config,
            steps_per_epoch,
            signature: signature(parameters),
            damaged: BTreeSet::new(),
            stuck: BTreeSet::new(),
        };
        if shelf.directory.is_dir() {
            shelf.create()?;
        }
        Ok(shelf)
    }

    /// Creates the directory where it is missing, and locks it.
    ///
    /// # Errors
    ///
    /// As [`open`](Self::open), and [`TrainError::Gone`] where it was there before, and so was the folder that
    /// it was in.
    pub(crate) fn create(&mut self) -> Result<(), TrainError> {
        if !self.directory.is_dir() {
            if self.lock.take().is_some() && self.is_gone() {
                return Err(TrainError::Gone { path: self.directory.clone() });
            }
            create_directory(&self.directory)?;
        }
        if self.lock.is_none() {
            self.lock = FileLock::take(&self.directory.join(LOCK))?;
        }
        match self.lock {
            Some(_) => Ok(()),
            None => Err(TrainError::InUse { path: self.directory.clone() }),
        }
    }

    /// The newest checkpoint that verifies; none where there are no checkpoints.
    ///
    /// # Errors
    ///
    /// Where the directory, or a checkpoint that may be whole, cannot be read; where all are damaged;
    /// and where the newest whole one is of another version. Only damaged ones are skipped.
    pub(crate) fn newest(&mut self, parameters: &[Parameter]) -> Result<Newest, TrainError> {
        let mut damaged = Vec::new();
        for (_, path) in self.checkpoints()? {
            let (manifest, files) = match Manifest::verified(&path) {
                Ok(verified) => verified,
                Err(Fault::Damaged(reason)) => {
                    let shown = path.display();
                    damaged.push(format!("the checkpoint `{shown}` cannot be used: {reason}"));
                    self.damaged.insert(path);
                    continue;
                }
                Err(fault) => return Err(fault.at(path)),
            };
            let contents = Contents::from_files(files, &path);
            let contents = contents
                .map_err(|reason| TrainError::OtherVersion { path: path.clone(), reason })?;
            let differs = manifest.signature != self.signature;
            let difference = differs.then(|| contents.difference(parameters));
            return Ok(Newest { found: Some((path, contents)), difference, damaged });
        }
        if damaged.is_empty() {
            return Ok(Newest::default());
        }
        Err(TrainError::NoneUsable { damaged })
    }

    /// Writes a checkpoint, verifies it, and removes those that are not to be kept. Returns why some are
    /// still there, a sentence for each, once.
    ///
    /// # Errors
    ///
    /// Where the system refuses, or what was written does not read back; as [`create`](Self::create).
    pub(crate) fn write(&mut self, contents: Contents) -> Result<Vec<String>, TrainError> {
        self.create()?;
        self.write_here(contents).map_err(|error| match self.is_gone() {
            true => TrainError::Gone { path: self.directory.clone() },
            false => error,
        })
    }

    /// Whether the folder of the directory is not there.
    fn is_gone(&self) -> bool {
        self.directory
            .parent()
            .is_some_and(|above| !above.as_os_str().is_empty() && !above.is_dir())
    }

    fn write_here(&mut self, contents: Contents) -> Result<Vec<String>, TrainError> {
        let step = contents.state.record.step;
        let path = self.directory.join(format!("step-{step}"));
        let mut files = contents.into_files(&path)?;
        let manifest = Manifest::of(&files, &self.signature);
        let manifest = serde_json::to_vec_pretty(&manifest).expect("it has a form in JSON");
        files.push((MANIFEST, manifest));
        write_directory(&path, &files)?;
        drop(files); // they may take most of the memory
        Manifest::verify(&path).map_err(|fault| fault.at(path.clone()))?;
        self.damaged.remove(&path); // it was written anew
        self.clear(step)
    }

    /// Removes what `step`, the one just verified, makes superfluous; returns why it could not remove
    /// something, unless it was told before.
    fn clear(&mut self, step: u64) -> Result<Vec<String>, TrainError> {
        let mut reasons = Vec::new();
        let mut clear = |path: &Path, stuck: &mut BTreeSet<PathBuf>| {
            if let Err(error) = remove(path)
                && stuck.insert(path.to_owned())
            {
                reasons.push(format!("{error}; the run goes on beside it"));
            }
        };
        for path in self.entries()?.iter().filter(|path| is_unfinished(path)) {
            clear(path, &mut self.stuck);
        }
        let for_good = |name: Name| {
            let steps = |epochs| (epochs as u64).saturating_mul(self.steps_per_epoch);
            let epochs = self.config.keep_every_epochs;
            epochs.is_some_and(|epochs| name.step.is_multiple_of(steps(epochs)))
        };
        let (current, mut superfluous): (Vec<_>, Vec<_>) =
            self.checkpoints()?.into_iter().partition(|(name, path)| {
                name.is_current && name.step <= step && !self.damaged.contains(path)
            });
        let old = current.into_iter().skip(self.config.keep);
        superfluous.extend(old.filter(|&(name, _)| !for_good(name)));
        for (_, path) in superfluous {
            clear(&path, &mut self.stuck);
        }
        Ok(reasons)
    }

    /// All checkpoints, the newest first.
    fn checkpoints(&self) -> Result<Vec<(Name, PathBuf)>, TrainError> {
        let named = |path: PathBuf| Some((Name::of(&path)?, path));
        let mut checkpoints: Vec<_> = self.entries()?.into_iter().filter_map(named).collect();
        checkpoints.sort();
        checkpoints.reverse();
        Ok(checkpoints)
    }

    fn entries(&self) -> Result<Vec<PathBuf>, TrainError> {
        let unreadable = |error: io::Error| TrainError::Unreadable {
            path: self.directory.clone(),
            reason: error.to_string(),
        };
        match fs::read_dir(&self.directory) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
            Err(error) => Err(unreadable(error)),
            Ok(entries) => {
                entries.map(|entry| entry.map(|entry| entry.path()).map_err(unreadable)).collect()
            }
        }
    }
}

/// The number of updates at the newest checkpoint in a directory, unverified; `None` if there are no
/// checkpoints.
pub fn newest_step(checkpoints: &Path) -> Option<u64> {
    let entries = fs::read_dir(checkpoints).ok()?;
    entries.filter_map(|entry| Some(Name::of(&entry.ok()?.path())?.step)).max()
}

impl Fault {
    /// The error of the checkpoint at `path`.
    fn at(self, path: PathBuf) -> TrainError {
        match self {
            Self::Damaged(reason) | Self::Unreadable(reason) => {
                TrainError::Unreadable { path, reason }
            }
            Self::OtherVersion(reason) => TrainError::OtherVersion { path, reason },
        }
    }
}

impl Name {
    /// None for what is not a checkpoint.
    fn of(path: &Path) -> Option<Self> {
        let current = path.with_extension("");
        let step = current.file_name()?.to_str()?.strip_prefix("step-")?.parse().ok()?;
        let is_current = current == path;
        (is_current || previous_name(&current) == path).then_some(Self { step, is_current })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_checkpoints_are_taken_for_checkpoints() {
        let name = |text: &str| {
            Name::of(Path::new(text)).map(|Name { step, is_current }| (step, is_current))
        };
        assert_eq!(name("c/step-12"), Some((12, true)));
        assert_eq!(name("c/step-12.previous"), Some((12, false)));
        for other in ["step-12.partial", "step-", "step-x", "step-12.previous.partial", "notes"] {
            assert_eq!(name(other), None, "{other}");
        }
    }
}
