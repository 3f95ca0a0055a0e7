//! Processes that measure: how this program serves as one, and how it talks to them.
//!
//! A process prints a line of JSON when it is ready, then one for each line on its stdin, and ends when
//! there are no more.

use std::{
    fs::File,
    io::{BufRead, BufReader, Lines, Write, stdin, stdout},
    path::{Path, PathBuf},
    process::{Child as Process, ChildStdin, ChildStdout, Command, Stdio},
    sync::atomic::{AtomicUsize, Ordering},
    thread::sleep,
    time::{Duration, Instant},
};

use anyhow::{Context, anyhow};
use serde::{Serialize, de::DeserializeOwned};
use training::Group;

use crate::{
    ON_GPU,
    job::{Job, Measured, Ready},
    work,
};

/// Lines of a failed process's stderr that are shown.
const LAST_WORDS: usize = 5;
/// How long a process has to end by itself.
const PATIENCE: Duration = Duration::from_secs(10);

/// Does the work of a job, a round for each line on stdin, and prints what it measured to stdout. Of
/// several processes only the first reads and prints.
///
/// # Errors
///
/// Where the work fails, or the process that asked for it is gone.
pub fn serve(job: Job, group: &Group) -> anyhow::Result<()> {
    let mut work = work::open(job, group)?;
    let ready = work.prepare()?;
    if !group.is_rank_zero() {
        loop {
            let line = group.broadcast(Vec::new())?;
            if line.is_empty() {
                return Ok(());
            }
            work.round(steps(&String::from_utf8_lossy(&line))?)?;
        }
    }
    say(&ready)?;
    for line in stdin().lines() {
        let line = line?;
        let steps = steps(&line)?;
        group.broadcast(line.into_bytes())?;
        say(&work.round(steps)?)?;
    }
    group.broadcast(Vec::new())?;
    Ok(())
}

/// The request for a round: `round`, or `round 500` for 500 steps.
const ROUND: &str = "round";

/// The steps that a line asks for; none where it leaves them to the job.
fn steps(line: &str) -> anyhow::Result<Option<u64>> {
    let rest = line.strip_prefix(ROUND).with_context(|| format!("not a request: {line}"))?.trim();
    Ok(if rest.is_empty() { None } else { Some(rest.parse()?) })
}

fn say(answer: &impl Serialize) -> anyhow::Result<()> {
    let mut stdout = stdout().lock();
    writeln!(stdout, "{}", serde_json::to_string(answer)?)?;
    Ok(stdout.flush()?)
}

/// A process that measures.
pub(crate) struct Child {
    process: Process,
    asks: Option<ChildStdin>,
    answers: Lines<BufReader<ChildStdout>>,
    began: Instant,
    errors: PathBuf,
    /// Whether it starts others, which would outlive it if it were killed.
    is_launcher: bool,
}

impl Child {
    /// This program as the process of a job, or as several.
    ///
    /// - `threads`: of each process
    /// - `ranks`: how many there are, under `mpirun`
    /// - `folder`: where its stderr goes
    /// - `kernels`: where a GPU backend caches kernels, if anywhere
    pub(crate) fn ours(
        program: &Path,
        job: &Job,
        threads: usize,
        ranks: Option<usize>,
        folder: &Path,
        kernels: Option<&Path>,
    ) -> anyhow::Result<Self> {
        let mut command = match ranks {
            None => Command::new(program),
            Some(ranks) => {
                let mut command = Command::new("mpirun");
                for allowed in ["OMPI_ALLOW_RUN_AS_ROOT", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM"] {
                    command.env(allowed, "1");
                }
                command.args(["--oversubscribe", "-n", &ranks.to_string()]).arg(program);
                command
            }
        };
        command.arg("child").arg(serde_json::to_string(job)?);
        if let Some(kernels) = kernels.filter(|_| ON_GPU) {
            command.arg("--kernels").arg(kernels);
            let driver = kernels.join("driver"); // what the driver compiles
            // Where it cannot be created, the driver caches nothing.
            let _ = std::fs::create_dir_all(&driver);
            command.env("CUDA_CACHE_PATH", driver);
        }
        command.env("RAYON_NUM_THREADS", threads.to_string());
        command.env("BURN_RECIPES_DATA", folder); // for its runs, and cached features
        let mut child = Self::spawn(command, folder)?;
        child.is_launcher = ranks.is_some();
        Ok(child)
    }

    /// Any command that follows the protocol.
    pub(crate) fn spawn(mut command: Command, folder: &Path) -> anyhow::Result<Self> {
        static SPAWNED: AtomicUsize = AtomicUsize::new(0);
        let number = SPAWNED.fetch_add(1, Ordering::Relaxed);
        let errors = folder.join(format!("errors-{number}.txt"));
        let began = Instant::now();
        let mut process = command
            .env("RUST_BACKTRACE", "0") // its last words are the error
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(File::create(&errors)?)
            .spawn()
            .with_context(|| format!("cannot start {}", command.get_program().display()))?;
        let asks = process.stdin.take();
        let answers = process.stdout.take().context("a process without an output")?;
        let answers = BufReader::new(answers).lines();
        Ok(Self { process, asks, answers, began, errors, is_launcher: false })
    }

    /// Waits until the process is ready. Also returns the seconds from its start to the end of its
    /// first step.
    pub(crate) fn ready(&mut self) -> anyhow::Result<(Ready, f64)> {
        let ready: Ready = self.answer()?;
        let first_step = self.began.elapsed().as_secs_f64() - ready.since_first_step;
        Ok((ready, first_step))
    }

    /// Lets the process measure once.
    ///
    /// - `steps`: how many; by default the job's
    pub(crate) fn round(&mut self, steps: Option<u64>) -> anyhow::Result<Measured> {
        let line = steps.map_or_else(|| ROUND.to_owned(), |steps| format!("{ROUND} {steps}"));
        let asked = self.asks.as_mut().map(|asks| writeln!(asks, "{line}"));
        match asked {
            Some(Ok(())) => self.answer(),
            _ => Err(self.last_words()),
        }
    }

    fn answer<T: DeserializeOwned>(&mut self) -> anyhow::Result<T> {
        match self.answers.next() {
            Some(Ok(line)) => {
                serde_json::from_str(&line).with_context(|| format!("not an answer: {line}"))
            }
            _ => Err(self.last_words()),
        }
    }

    /// How a process ended that should have gone on, and what it said last.
    fn last_words(&mut self) -> anyhow::Error {
        self.let_it_end();
        let _ = self.process.kill();
        let status = match self.process.wait() {
            Ok(status) => status.to_string(),
            Err(error) => error.to_string(),
        };
        let errors = std::fs::read_to_string(&self.errors).unwrap_or_default();
        let lines: Vec<&str> = errors.lines().collect();
        let last = lines[lines.len().saturating_sub(LAST_WORDS)..].join(" | ");
        let last = if last.is_empty() { "it said nothing" } else { &last };
        anyhow!("the process ended early ({status}): {last}")
    }

    /// Asks it for nothing more, and waits for its end, but not for ever.
    fn let_it_end(&mut self) {
        drop(self.asks.take());
        let asked = Instant::now();
        while asked.elapsed() < PATIENCE && matches!(self.process.try_wait(), Ok(None)) {
            sleep(Duration::from_millis(10));
        }
    }
}

impl Drop for Child {
    fn drop(&mut self) {
        if self.is_launcher {
            self.let_it_end();
        }
        // Nothing more is wanted of it; an error means that it has ended already.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

#[cfg(unix)]
#[cfg(test)]
mod tests {
    use super::*;

    /// A process that runs a script of the shell.
    fn child(script: &str, folder: &Path) -> Child {
        let mut command = Command::new("sh");
        command.args(["-c", script]);
        Child::spawn(command, folder).unwrap()
    }

    #[test]
    fn an_early_end_is_told_with_how_it_came() {
        let folder = tempfile::tempdir().unwrap();
        let told = |script| child(script, folder.path()).ready().unwrap_err().to_string();
        assert_eq!(
            told("kill -9 $$"),
            "the process ended early (signal: 9 (SIGKILL)): it said nothing"
        );
        let said = "the process ended early (exit status: 3): one | two";
        assert_eq!(told("echo one >&2; echo two >&2; exit 3"), said);
    }

    #[test]
    fn a_launcher_may_end_by_itself() {
        let folder = tempfile::tempdir().unwrap();
        let ended = folder.path().join("ended");
        let script = format!("cat; sleep 0.1; : > '{}'", ended.display());
        for (is_launcher, expected) in [(false, false), (true, true)] {
            let mut child = child(&script, folder.path());
            child.is_launcher = is_launcher;
            drop(child);
            assert_eq!(ended.exists(), expected);
        }
    }
}
