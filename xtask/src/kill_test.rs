//! Kills training at random moments, resumes it, and compares the result with an undisturbed run. Of
//! several ranks one is killed, and the others must end by themselves.

use std::{
    fs,
    io::Read as _,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    thread,
    time::{Duration, Instant, SystemTime, UNIX_EPOCH},
};

use anyhow::{Context as _, ensure};
use clap::Args;
use fastrand::Rng;
use serde_json::Value;
use xshell::Shell;

use crate::program;

#[derive(Args)]
pub(crate) struct Options {
    /// How many times to kill
    #[arg(long, default_value_t = 100)]
    pub(crate) times: usize,
    /// The program `recipes` to kill [default: one is built]
    #[arg(long, value_name = "FILE")]
    pub(crate) program: Option<PathBuf>,
    /// The Cargo profile to build it with
    #[arg(long, value_name = "PROFILE", default_value = "release")]
    pub(crate) profile: String,
    /// The seed of the random moments [default: the time]
    #[arg(long, value_name = "N")]
    pub(crate) seed: Option<u64>,
    /// Ranks of each run, one of which is killed [default: one process without MPI]
    #[arg(long, value_name = "N")]
    pub(crate) ranks: Option<usize>,
}

/// Everything that a resume could forget: order, schedule, average, best epoch, partial sums; and
/// enough checkpoints that many kills hit one.
const TRAIN: &str = "train mlp --progress quiet --run-dir run --set data.labels=linear \
    --set data.order=shuffled --set training.batch_size=30 \
    --set training.micro_batch=20 --set training.ema=0.9 --set training.clip_norm=1.0 \
    --set schedule.kind=one_cycle --set checkpoint.every_steps=31 \
    --set checkpoint.every_minutes=1e-3";
const RESUME: &str = "resume run --progress quiet";

/// The last columns of `metrics.csv`, which hold times.
const TIME_COLUMNS: usize = 3;

/// Kills until `options.times` is reached; an error if a killed run ends differently from one that
/// was not killed.
pub(crate) fn run(shell: &Shell, options: &Options) -> anyhow::Result<()> {
    let feature = options.ranks.map(|_| "mpi");
    let program = match &options.program {
        Some(program) => program.canonicalize().context("cannot find the program")?,
        None => program::build(shell, "recipes", &options.profile, feature)?,
    };
    let job = Job { program, ranks: options.ranks };
    let now = || SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
    let seed = options.seed.unwrap_or_else(now);
    println!("kills {} times, with --seed {seed}", options.times);
    let mut moments = Moments(Rng::with_seed(seed));

    let folder = program::Folder::empty(shell, "kill-test")?;
    let folder = folder.path();
    let alone = shell.create_dir(folder.join("undisturbed"))?;
    let began = Instant::now();
    ended(&mut job.spawn(&alone, &job.train())?)?;
    let length = began.elapsed();
    let expected = Left::read(&alone)?;
    println!("an undisturbed run takes {:.2} s", length.as_secs_f64());

    let mut tally = Tally::default();
    while tally.kills < options.times {
        let killed = folder.join("killed");
        shell.remove_path(&killed)?;
        shell.create_dir(&killed)?;
        let kills_left = options.times - tally.kills;
        run_to_the_end(&job, &killed, length, kills_left, &mut moments, &mut tally)
            .and_then(|()| Left::read(&killed))
            .and_then(|left| {
                ensure!(left == expected, "a killed run ended differently");
                Ok(())
            })
            .with_context(|| {
                format!("the run is in `{}`, until the next kill-test", killed.display())
            })?;
    }
    println!(
        "{} kills, {} of them before the run began and {} before its first checkpoint; \
         {} runs ended, all bit for bit like the undisturbed one",
        tally.kills, tally.before_run, tally.before_checkpoint, tally.runs
    );
    Ok(())
}

#[derive(Default)]
struct Tally {
    kills: usize,
    before_run: usize,
    before_checkpoint: usize,
    runs: usize,
}

/// Starts a run, and kills and resumes it until it ends by itself.
fn run_to_the_end(
    job: &Job,
    folder: &Path,
    length: Duration,
    kills_left: usize,
    moments: &mut Moments,
    tally: &mut Tally,
) -> anyhow::Result<()> {
    let mut kills = 0;
    loop {
        let begun = folder.join("run/config.toml").exists();
        // One that was killed after its end has nothing to go on with.
        let is_finished = folder.join("run/summary.json").exists();
        let newest = if is_finished { 0 } else { newest_checkpoint(folder) };
        let train = job.train();
        let mut child = job.spawn(folder, if begun { RESUME } else { &train })?;
        if kills < kills_left {
            thread::sleep(match job.ranks {
                None => moments.next(length, begun),
                Some(_) => moments.anywhere(length),
            });
            if child.0.try_wait()?.is_none() {
                job.kill(&mut child, moments)?;
                kills += 1;
                tally.kills += 1;
                tally.before_run += usize::from(!folder.join("run/config.toml").exists());
                tally.before_checkpoint += usize::from(newest_checkpoint(folder) == 0);
                continue;
            }
        }
        ended(&mut child)?;
        let from = resumed_from(folder)?;
        ensure!(
            from >= newest,
            "a run with a checkpoint of step {newest} went on from step {from}"
        );
        tally.runs += 1;
        return Ok(());
    }
}

/// The step of the newest checkpoint of a run; 0 without one.
fn newest_checkpoint(folder: &Path) -> u64 {
    let entries = fs::read_dir(folder.join("run/checkpoints")).into_iter().flatten().flatten();
    let names = entries.map(|entry| entry.file_name().to_string_lossy().into_owned());
    names.filter_map(|name| name.strip_prefix("step-")?.parse().ok()).max().unwrap_or(0)
}

/// The step from which a run last went on; 0 where it began anew.
fn resumed_from(folder: &Path) -> anyhow::Result<u64> {
    let events = fs::read_to_string(folder.join("run/events.jsonl")).context("no events.jsonl")?;
    let events = events.lines().map(serde_json::from_str::<Value>);
    let events = events.collect::<Result<Vec<_>, _>>().context("events.jsonl")?;
    let resumed = events.iter().rev().find(|event| event["kind"] == "resume");
    Ok(resumed.and_then(|event| event["step"].as_u64()).unwrap_or(0))
}

/// What is run and killed.
struct Job {
    program: PathBuf,
    ranks: Option<usize>,
}

/// How soon the other ranks of a job must end after one was killed.
const SOON: Duration = Duration::from_secs(10);

impl Job {
    /// Ranks take most of a second to connect, so they train for longer.
    fn train(&self) -> String {
        let epochs = if self.ranks.is_some() { 80 } else { 40 };
        format!("{TRAIN} --set training.epochs={epochs}")
    }

    fn spawn(&self, folder: &Path, arguments: &str) -> anyhow::Result<Started> {
        let mut command = match self.ranks {
            None => Command::new(&self.program),
            Some(ranks) => {
                let mut command = Command::new("mpirun");
                command.args(["--oversubscribe", "-n", &ranks.to_string()]).arg(&self.program);
                command.env("OMPI_ALLOW_RUN_AS_ROOT", "1");
                command.env("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1");
                command
            }
        };
        let child = command
            .current_dir(folder)
            .args(arguments.split_whitespace())
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .with_context(|| format!("`{}` does not start", self.program.display()))?;
        Ok(Started(child))
    }

    /// By SIGKILL, which the program cannot handle.
    fn kill(&self, Started(child): &mut Started, moments: &mut Moments) -> anyhow::Result<()> {
        let ranks = if self.ranks.is_some() { living_children(child.id())? } else { Vec::new() };
        if ranks.is_empty() {
            child.kill()?; // the process itself, or a launcher that has not started any rank yet
        } else {
            let rank = ranks[moments.0.usize(..ranks.len())];
            kill_one(rank)?;
            others_end(child)?;
        }
        child.wait()?;
        Ok(())
    }
}

/// A process of a run. Dropping this kills it, and the ranks that it started.
struct Started(Child);

impl Drop for Started {
    fn drop(&mut self) {
        // Of one that has ended the number may be another's by now.
        if matches!(self.0.try_wait(), Ok(None)) {
            for rank in living_children(self.0.id()).unwrap_or_default() {
                let _ = kill_one(rank);
            }
        }
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn kill_one(process: u32) -> anyhow::Result<()> {
    Command::new("kill").args(["-KILL", &process.to_string()]).status()?;
    Ok(())
}

/// Waits until no rank is left. Open MPI's launcher itself may still hang then, if a rank was killed
/// before it had registered.
fn others_end(launcher: &mut Child) -> anyhow::Result<()> {
    let killed = Instant::now();
    while launcher.try_wait()?.is_none() {
        if killed.elapsed() > SOON {
            let left = living_children(launcher.id())?.len();
            ensure!(left == 0, "{left} ranks hang after one of them was killed");
            println!("no rank was left, but `mpirun` hung");
            launcher.kill()?;
            break;
        }
        thread::sleep(Duration::from_millis(10));
    }
    Ok(())
}

/// The child processes that have not ended, according to Linux.
fn living_children(parent: u32) -> anyhow::Result<Vec<u32>> {
    let mut children = Vec::new();
    for entry in fs::read_dir("/proc")? {
        let Ok(id) = entry?.file_name().to_string_lossy().parse() else { continue };
        // `1234 (the name) S parent ...`; a process may have ended by now.
        let Ok(stat) = fs::read_to_string(format!("/proc/{id}/stat")) else { continue };
        let fields = stat.rsplit_once(')').map(|(_, fields)| fields).unwrap_or_default();
        let fields: Vec<&str> = fields.split_whitespace().take(2).collect();
        let [state, its_parent] = fields[..] else { continue };
        if state != "Z" && its_parent == parent.to_string() {
            children.push(id);
        }
    }
    children.sort_unstable();
    Ok(children)
}

/// Waits for the end of a run that is not killed.
fn ended(Started(child): &mut Started) -> anyhow::Result<()> {
    let mut said = Vec::new();
    child.stderr.take().context("stderr is not a pipe")?.read_to_end(&mut said)?;
    let status = child.wait()?;
    ensure!(status.success(), "a run failed: {status}\n{}", String::from_utf8_lossy(&said));
    Ok(())
}

/// What a run leaves, without times.
#[derive(PartialEq)]
struct Left {
    model: Vec<u8>,
    metrics: String,
}

impl Left {
    fn read(folder: &Path) -> anyhow::Result<Self> {
        let run = folder.join("run");
        let metrics = fs::read_to_string(run.join("metrics.csv")).context("no metrics.csv")?;
        let untimed = |line: &str| {
            line.rsplitn(TIME_COLUMNS + 1, ',').last().unwrap_or_default().to_owned() + "\n"
        };
        Ok(Self {
            model: fs::read(run.join("model.safetensors")).context("no model.safetensors")?,
            metrics: metrics.lines().map(untimed).collect(),
        })
    }
}

/// Random moments to kill at.
struct Moments(Rng);

impl Moments {
    /// Half of them while a run starts or resumes; the others in its first half, so that it ends
    /// nevertheless.
    fn next(&mut self, length: Duration, begun: bool) -> Duration {
        let share = match (self.0.bool(), begun) {
            (true, false) => 0.02,
            (true, true) => 0.1,
            (false, _) => 0.5,
        };
        length.mul_f64(share * self.0.f64())
    }

    /// At any time of a run.
    fn anywhere(&mut self, length: Duration) -> Duration {
        length.mul_f64(self.0.f64())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[cfg(target_os = "linux")]
    #[test]
    fn no_rank_is_left_of_a_run_that_is_given_up() {
        let launcher = Command::new("sh").args(["-c", "sleep 100 & wait"]).spawn().unwrap();
        let launcher = Started(launcher);
        let began = Instant::now();
        let rank = loop {
            if let [rank] = living_children(launcher.0.id()).unwrap()[..] {
                break rank;
            }
            assert!(began.elapsed() < SOON, "no process was started");
            thread::sleep(Duration::from_millis(10));
        };
        // That of a process that has ended, but that nobody waits for, is empty.
        let lives = || {
            let command = fs::read(format!("/proc/{rank}/cmdline"));
            command.is_ok_and(|command| !command.is_empty())
        };
        assert!(lives());
        drop(launcher);
        let killed = Instant::now();
        while lives() {
            assert!(killed.elapsed() < SOON, "process {rank} is left");
            thread::sleep(Duration::from_millis(10));
        }
    }

    #[test]
    fn moments_follow_from_the_seed_and_lie_in_the_first_half() {
        let seeded = || Moments(Rng::with_seed(7));
        let mut moments = seeded();
        let drawn: Vec<_> = (0..100).map(|_| moments.next(Duration::from_secs(10), true)).collect();
        assert!(drawn.iter().all(|moment| *moment < Duration::from_secs(5)));
        assert!(drawn.iter().any(|moment| *moment > Duration::from_secs(3)));
        assert!(drawn.iter().filter(|moment| **moment < Duration::from_secs(1)).count() > 40);
        assert_eq!(seeded().next(Duration::from_secs(10), true), drawn[0]);
    }
}
