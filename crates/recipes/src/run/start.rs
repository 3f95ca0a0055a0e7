//! What a recipe needs to begin a run, or to resume one.

use std::{
    collections::BTreeMap,
    ops::ControlFlow,
    path::{Path, PathBuf},
    rc::Rc,
    time::Instant,
};

use backend::{
    device::{self, Device},
    set_sum_over_processes,
};
use data::{Batching, Shared, refuse_shared};
use models::import;
use serde::Serialize;
use serde_json::Value;
use training::{Event, Group, Observer, Stop};

use crate::{
    ExitCode, Failure,
    inputs::initial_weights::KeptWeights,
    paths::of_same_name,
    registry::Recipe,
    run::{
        directory::INITIAL,
        environment::Environment,
        record::{config_if_there, content_of, settings_of},
    },
    settings::{Resolved, leaves, on_other_data, refuse_changed_choices, refuse_changes_of_file},
    shell::command,
};

/// Receives the progress of work that takes a while: the task, how much of it is done, and of how much; returns
/// whether to go on.
pub(crate) type WorkProgress<'a> = dyn FnMut(&str, usize, usize) -> ControlFlow<()> + 'a;

/// What a recipe needs for a run.
pub struct Start<'a> {
    /// Receives the events, besides the run's own files.
    pub observer: &'a mut dyn Observer,
    /// Asks the run to stop after its current step.
    pub interrupt: Stop,
    /// The run directory.
    pub directory: PathBuf,
    /// Whether to resume the run there; otherwise there is nothing, or an empty directory.
    pub resumes: bool,
    /// When the command began.
    pub began: Instant,
    /// The processes that train together; the first one writes and prints.
    pub group: Group,
}

/// A run whose settings and device are known, before its data are read.
pub(crate) struct Begun<'a> {
    pub(super) start: Start<'a>,
    pub(super) recipe: &'static Recipe,
    pub(super) device_name: String,
    /// The configuration, before the recipe chooses what that leaves open.
    pub(crate) given: Resolved,
    /// Of a run that resumes, where this process sees its directory.
    pub(super) before: Option<Before>,
}

/// What a run has on file.
pub(super) struct Before {
    /// The settings that it began with, with what the recipe chose then.
    pub(super) settings: BTreeMap<String, Value>,
    /// When it was started or last resumed.
    pub(super) environment: Option<Environment>,
}

impl Before {
    fn of(run: &Path) -> Result<Option<Self>, Failure> {
        let Some(config) = config_if_there(run)? else { return Ok(None) };
        let environment = Environment::of(run)?;
        let settings = settings_of(run, &config, &environment.clone().unwrap_or_default())?;
        Ok(Some(Self { settings, environment }))
    }
}

impl<'a> Start<'a> {
    /// A new run of one process, which nothing interrupts.
    pub fn new(directory: PathBuf, observer: &'a mut dyn Observer) -> Self {
        Self {
            observer,
            interrupt: Stop::default(),
            directory,
            resumes: false,
            began: Instant::now(),
            group: Group::alone(),
        }
    }

    /// Opens the device of this process, and so begins. A run does not go on under other settings than it has on
    /// file: this is the first check, as all else may be other only because of them.
    ///
    /// - `config`: the configuration, before the recipe chooses what that leaves open
    pub(crate) fn begin(
        self,
        recipe: &'static Recipe,
        config: &impl Serialize,
    ) -> Result<(Begun<'a>, Device), Failure> {
        let given = Resolved::of(config)?;
        let before = if self.resumes { Before::of(&self.directory)? } else { None };
        if let Some(Before { settings, .. }) = &before {
            let now = leaves(&given.settings);
            refuse_changes_of_file(&self.directory, &recipe.settings(), settings.clone(), now)?;
        }
        if self.group.is_shared() {
            let group = self.group.clone();
            set_sum_over_processes(Some(Rc::new(move |numbers: &mut [f64]| {
                // Where another process failed, the sum of the gradients fails next, and says so.
                let _ = group.all_reduce_f64(numbers);
            })));
        }
        let (device, device_name) = device::open_for(self.group.on_host())?;
        Ok((Begun { start: self, recipe, device_name, given, before }, device))
    }
}

impl Begun<'_> {
    /// The processes that train together.
    pub(crate) fn group(&self) -> &Group {
        &self.start.group
    }

    /// Reports the progress of work before the first step.
    pub(crate) fn prepare(&mut self, task: &str, done: usize, of: usize) {
        if !self.start.group.is_rank_zero() {
            return;
        }
        let event = Event::Preparation { task: task.to_owned(), done, of };
        // If the observer is gone, the run itself will report that.
        let _ = self.start.observer.observe(&event);
    }

    /// Fails if the user asked to stop before the first step.
    ///
    /// # Errors
    ///
    /// [`ExitCode::Interrupted`].
    pub(crate) fn stop_if_asked(&self) -> Result<(), Failure> {
        if !self.start.interrupt.requested() {
            return Ok(());
        }
        let help = match self.start.resumes {
            true => format!("to resume it: {}", command("resume", &self.start.directory)),
            false => "run the command again".to_owned(),
        };
        Err(Failure::new(ExitCode::Interrupted, "interrupted before the first step", help))
    }

    /// Refuses to begin with splits that share many of their samples; a run that exists goes on.
    pub(crate) fn keep_apart(&self, shared: &[Shared]) -> Result<(), Failure> {
        let shared = if self.start.resumes { &[] } else { shared };
        Ok(refuse_shared(shared)?)
    }

    /// The weights that a run which resumes began with, if it has kept some; the first process reads them, for
    /// all.
    pub(crate) fn kept_weights(&self) -> Result<Option<KeptWeights>, Failure> {
        let path = self.start.directory.join(INITIAL);
        let reads = self.start.resumes && self.start.group.is_rank_zero();
        let kept = if reads { content_of(&path)? } else { None };
        if kept.as_ref().is_some_and(Vec::is_empty) {
            import::of_safetensors(&[], &path)?; // refused, since to the others it would be none
        }
        let bytes = self.start.group.broadcast(kept.unwrap_or_default())?;
        Ok((!bytes.is_empty()).then_some(KeptWeights { path, bytes }))
    }

    /// This process's share of the batches.
    pub(crate) fn shared(&self, batching: Batching) -> Batching {
        batching.shared(self.start.group.share())
    }

    /// Does work before the first step that reports its [progress](Self::prepare) and stops if the user
    /// asks.
    pub(crate) fn do_first<T, E: Into<Failure>>(
        &mut self,
        work: impl FnOnce(&mut WorkProgress<'_>) -> Result<T, E>,
    ) -> Result<T, Failure> {
        let result = work(&mut |task, done, of| {
            self.prepare(task, done, of);
            match self.start.interrupt.requested() {
                true => ControlFlow::Break(()),
                false => ControlFlow::Continue(()),
            }
        });
        self.stop_if_asked()?; // says more than the error of work that was stopped
        result.map_err(Into::into)
    }

    /// What a run that resumes has recorded besides its settings and its data; the first process reads it,
    /// for all.
    pub(crate) fn recorded(&self, what: &str) -> Result<Option<String>, Failure> {
        let before = self.before.as_ref().filter(|_| self.start.group.is_rank_zero());
        let environment = before.and_then(|before| before.environment.as_ref());
        let found = environment.and_then(|before| before.fingerprints.get(what).cloned());
        let found = self.start.group.broadcast(found.unwrap_or_default().into_bytes())?;
        let found = String::from_utf8(found).expect("it was text");
        Ok((!found.is_empty()).then_some(found))
    }

    /// Refuses to go on where the recipe chooses otherwise than the run has on file, or with other data than it
    /// began with.
    ///
    /// - `now`: the settings with all choices made
    /// - `data`: the hash of the samples
    pub(super) fn refuse_changes(
        &self,
        now: &BTreeMap<String, Value>,
        data: &str,
    ) -> Result<(), Failure> {
        let Some(Before { settings: began_with, environment }) = &self.before else {
            return Ok(());
        };
        let run = &self.start.directory;
        // First, since the data may be other only because of them.
        refuse_changed_choices(run, began_with.clone(), now.clone())?;
        let before = environment.as_ref().and_then(|environment| environment.data.as_ref());
        if before.is_none_or(|before| before.samples == data) {
            return Ok(());
        }
        if began_with.get("data.path") == now.get("data.path")
            && let Some(failure) = of_same_name(run)
        {
            return Err(failure);
        }
        Err(Failure::new(
            ExitCode::UserData,
            format!("the data of `{}` have changed since it began", run.display()),
            format!(
                "resume with the data that it began with, and with that version of this program; to train \
                 on these data: {}",
                on_other_data(run, began_with, now)
            ),
        ))
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use data::csv_table::{CsvOptions, TargetColumn, read_csv};

    use super::*;

    #[test]
    fn a_run_that_exists_may_share_files() {
        let mut nobody = ();
        let (mut begun, _) = Start::new("run".into(), &mut nobody)
            .begin(&crate::mlp::RECIPE, &serde_json::json!({}))
            .unwrap();
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.csv");
        fs::write(&path, "x,y\n1,0\n2,1\n").unwrap();
        let options = CsvOptions::new(path.clone(), TargetColumn::Index(-1));
        let options = CsvOptions { test_path: Some(path), ..options };
        let shared = read_csv(&options, 0).unwrap().shared;
        assert_eq!(begun.keep_apart(&shared).unwrap_err().exit_code, ExitCode::UserData);
        begun.start.resumes = true;
        begun.keep_apart(&shared).unwrap();
    }
}
