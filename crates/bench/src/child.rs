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
    time::Instant,
};

use anyhow::{Context, anyhow};
use serde::{Serialize, de::DeserializeOwned};
use training::Group;

use crate::{
    job::{Job, Measured, Ready},
    work,
};

/// Lines of a failed process's stderr that are shown.
const LAST_WORDS: usize = 5;

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
        if let Some(kernels) = kernels {
            command.arg("--kernels").arg(kernels);
            let driver = kernels.join("driver"); // what the driver compiles
            // Where it cannot be created, the driver caches nothing.
            let _ = std::fs::create_dir_all(&driver);
            command.env("CUDA_CACHE_PATH", driver);
        }
        command.env("RAYON_NUM_THREADS", threads.to_string());
        command.env("BURN_RECIPES_DATA", folder); // for cached features
        Self::spawn(command, folder)
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
        Ok(Self { process, asks, answers, began, errors })
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

    fn last_words(&self) -> anyhow::Error {
        let errors = std::fs::read_to_string(&self.errors).unwrap_or_default();
        let lines: Vec<&str> = errors.lines().collect();
        let last = &lines[lines.len().saturating_sub(LAST_WORDS)..];
        anyhow!("the process ended early: {}", last.join(" | "))
    }
}

impl Drop for Child {
    fn drop(&mut self) {
        drop(self.asks.take());
        // Nothing more is wanted of it; an error means that it has ended already.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
