//! Runs the trials of cases: processes take turns, and losses are compared before times count.

use std::path::{Path, PathBuf};

use anyhow::{Context, bail, ensure};
use backend::{Peaks, Precision, device::cores};
use training::Stop;

use crate::{
    Entry, Job, Machine, ON_GPU, Peers, Refused, Trial,
    case::{Kernels, What},
    child::Child,
    entry::Rounds,
    exchange::Exchange,
    job::{Measured, Ready},
    peers::Peer,
};

/// How far apart first losses may be.
#[derive(Clone, Copy)]
struct Tolerance {
    /// The first steps that are compared.
    steps: usize,
    /// The difference relative to ours.
    relative: f64,
}

impl Tolerance {
    /// On a CPU the two sides sum in different orders, which makes a difference of 1e-7 in the first
    /// step and up to 4e-5 in the twentieth; another network, optimizer or batch makes more than 1e-2.
    ///
    /// On a GPU the peer computes these losses in f32, a compiled one in TF32, and ours in its training
    /// precision. Rounding a factor to TF32 is off by up to 5e-4, to bf16 by up to 4e-3, and updates
    /// carry that on, so few steps are compared.
    fn of(precision: Precision) -> Self {
        match precision {
            _ if !ON_GPU => Self { steps: usize::MAX, relative: 1e-3 },
            Precision::F32 => Self { steps: 3, relative: 5e-3 },
            Precision::Bf16 | Precision::F16 => Self { steps: 3, relative: 2e-2 },
        }
    }
}

/// How long a round on a GPU lasts; the number of steps follows from it, and is the same for all.
const ROUND_SECONDS: f64 = 1.0;

/// How to measure.
#[derive(Clone, Debug)]
pub struct Options {
    /// This program, which is started again for each measurement.
    pub program: PathBuf,
    /// Threads that compute on the CPU, ours and a peer's; at least one.
    pub threads: usize,
    /// Measured rounds of each entry; at least one.
    pub rounds: usize,
    /// A folder with MNIST's files.
    pub data: Option<PathBuf>,
    /// A folder for files that trials are given.
    pub scratch: PathBuf,
    /// Where a GPU backend caches kernels, if anywhere.
    pub kernels: Option<PathBuf>,
    /// At most three steps a round, and no compiled PyTorch: shows that everything runs; the times
    /// mean nothing.
    pub quick: bool,
    /// Once requested, no round is begun.
    pub stop: Stop,
}

/// Measures cases.
#[derive(Debug)]
pub struct Bench {
    options: Options,
    peers: Peers,
    machine: Machine,
    peaks: Peaks,
}

/// A process that is measured for comparison.
struct Other {
    name: &'static str,
    /// Empty for another way of ours.
    version: String,
    /// Between a peer's first losses and ours.
    difference: Option<f64>,
    child: Child,
    rounds: Rounds,
}

impl Bench {
    /// # Errors
    ///
    /// Where it is to stop.
    fn go_on(&self) -> anyhow::Result<()> {
        ensure!(!self.options.stop.requested(), "interrupted");
        Ok(())
    }

    /// Measures the device's peaks, with which speeds are compared.
    ///
    /// # Errors
    ///
    /// Where there is no usable device.
    pub fn new(options: Options, peers: Peers) -> anyhow::Result<Self> {
        let folder = tempfile::tempdir().context("cannot create a temporary folder")?;
        let kernels = options.kernels.as_deref();
        let (program, threads) = (&options.program, options.threads);
        let mut child = Child::ours(program, &Job::Peaks, threads, None, folder.path(), kernels)?;
        let (ready, _) = child.ready()?;
        let (device, peaks) = ready.peaks.context("no peaks were measured")?;
        Ok(Self { options, peers, machine: Machine::read(&device), peaks })
    }

    /// What results hold for.
    pub fn machine(&self) -> &Machine {
        &self.machine
    }

    /// The device's peaks.
    pub fn peaks(&self) -> &Peaks {
        &self.peaks
    }

    /// Measures the trials of a case, and reports each: what was measured, or what went wrong.
    ///
    /// # Errors
    ///
    /// Where `report` fails. A peer that fails, or whose losses differ from ours, is an entry's
    /// [`Refused`].
    pub fn run(
        &self,
        trials: &[Trial],
        report: &mut dyn FnMut(anyhow::Result<&Entry>) -> anyhow::Result<()>,
    ) -> anyhow::Result<()> {
        let mut entries = Vec::new();
        for trial in trials {
            match self.trial(trial).with_context(|| trial.name.clone()) {
                Ok(mut entry) => {
                    entry.efficiency = efficiency(&entry, &entries);
                    report(Ok(&entry))?;
                    entries.push(entry);
                }
                Err(error) => report(Err(error))?,
            }
        }
        Ok(())
    }

    fn trial(&self, trial: &Trial) -> anyhow::Result<Entry> {
        let scratch = tempfile::tempdir().context("cannot create a temporary folder")?;
        let folder = scratch.path();
        let exchange = trial.exchange(self.options.quick)?;
        let cost = exchange.as_ref().map(Exchange::cost);
        let comparable = exchange.is_some();
        let threads = trial.threads.unwrap_or(self.options.threads);
        if let Some(exchange) = exchange {
            exchange.write(folder, threads)?;
        }
        let job = trial.job(folder, self.options.quick)?;
        self.go_on()?;
        // Compiling takes longer than all else of a quick run.
        let left_out = |peer| self.options.quick && peer == Peer::PytorchCompiled;
        let peers: Vec<Peer> = trial
            .peers
            .iter()
            .copied()
            .filter(|&peer| comparable && self.peers.has(peer) && !left_out(peer))
            .collect();
        let mut entry = match trial.what {
            What::FirstStep(_, kernels) => {
                self.first_steps(trial, &job, &peers, folder, kernels)?
            }
            _ => self.rounds(trial, &job, &peers, folder)?,
        };
        let of_a_step = !matches!(trial.what, What::FirstStep(..) | What::Reach(_));
        if let Some(cost) = cost.filter(|_| of_a_step) {
            // The peak is that of all threads that were asked for; a GPU's is its own.
            let most = cores().max(self.options.threads);
            let threads = (threads * trial.ranks.unwrap_or(1)).min(most);
            let share = threads as f64 / self.options.threads as f64;
            entry.count(cost, &self.peaks, if ON_GPU { 1.0 } else { share });
        }
        if !of_a_step {
            (entry.batch, entry.samples_per_second) = (None, None);
        }
        Ok(entry)
    }

    /// All processes stay alive and take turns.
    fn rounds(
        &self,
        trial: &Trial,
        job: &Job,
        peers: &[Peer],
        folder: &Path,
    ) -> anyhow::Result<Entry> {
        let threads = trial.threads.unwrap_or(self.options.threads);
        let mut ours = self.ours(job, threads, trial.ranks, folder)?;
        let (ready, _) = ours.ready()?;
        let (mut others, mut refused) = (Vec::new(), Vec::new());
        for &peer in peers {
            match self.beside(peer, &ready, trial.precision(), folder) {
                Ok(other) => others.push(other),
                Err(error) => refused.push(refusal(peer.name(), &error)),
            }
        }
        if let Some((name, job)) = trial.against(folder, self.options.quick) {
            let mut child = self.ours(&job, threads, None, folder)?;
            child.ready()?;
            let rounds = Rounds::default();
            others.push(Other { name, version: String::new(), difference: None, child, rounds });
        }
        let steps = self.steps(trial, &mut ours)?;
        let count = match &trial.what {
            // These take minutes, or are the same in each round.
            What::Reach(_) => 1,
            What::Train(job) if job.watches_memory => 1,
            _ => self.options.rounds,
        };
        let mut rounds = Rounds::default();
        for _ in 0..count {
            self.go_on()?;
            rounds.0.push(ours.round(steps)?);
            let mut able = Vec::new();
            for mut other in others {
                match other.child.round(steps) {
                    Ok(round) => {
                        other.rounds.0.push(round);
                        able.push(other);
                    }
                    Err(error) if other.difference.is_some() => {
                        refused.push(refusal(other.name, &error));
                    }
                    Err(error) => return Err(error.context(other.name)),
                }
            }
            others = able;
        }
        let mut entry = Entry::new(&trial.name, threads, &rounds);
        entry.precision = trial.precision();
        entry.ranks = trial.ranks;
        entry.refused = refused;
        for Other { name, version, difference, rounds, .. } in others {
            entry.add(name, version, difference, &rounds);
        }
        Ok(entry)
    }

    /// A peer whose first losses equal ours.
    fn beside(
        &self,
        peer: Peer,
        ours: &Ready,
        precision: Precision,
        folder: &Path,
    ) -> anyhow::Result<Other> {
        let mut child = self.peers.start(peer, folder)?;
        let (its, _) = child.ready()?;
        let difference = Some(compare(ours, &its, Tolerance::of(precision))?);
        let (name, version) = (peer.name(), its.version);
        Ok(Other { name, version, difference, child, rounds: Rounds::default() })
    }

    /// The steps of a round on a GPU, from a round that does not count.
    fn steps(&self, trial: &Trial, ours: &mut Child) -> anyhow::Result<Option<u64>> {
        if !ON_GPU || self.options.quick || !trial.is_of_steps() {
            return Ok(None);
        }
        let seconds = ours.round(None)?.seconds;
        Ok(Some((ROUND_SECONDS / seconds).clamp(4.0, 50_000.0) as u64))
    }

    /// Each round is a process of its own, from its start to the end of its first step.
    fn first_steps(
        &self,
        trial: &Trial,
        job: &Job,
        peers: &[Peer],
        folder: &Path,
        kernels: Kernels,
    ) -> anyhow::Result<Entry> {
        let threads = self.options.threads;
        let begin = |round: usize| {
            let none = folder.join(format!("kernels-{round}"));
            let kernels = match kernels {
                Kernels::None => Some(none.as_path()),
                Kernels::Kept => self.options.kernels.as_deref(),
            };
            Child::ours(&self.options.program, job, threads, None, folder, kernels)?.ready()
        };
        if ON_GPU && kernels == Kernels::Kept {
            begin(0)?; // so that they are cached
        }
        let count = match kernels {
            Kernels::None => 1, // it may take minutes
            Kernels::Kept => self.options.rounds.min(3),
        };
        let mut rounds = Rounds::default();
        let mut others: Vec<_> =
            peers.iter().map(|&peer| (peer, String::new(), 0.0, Rounds::default())).collect();
        let mut refused = Vec::new();
        let measured = |seconds| Measured { seconds, samples: 1, ..Measured::default() };
        for round in 0..count {
            self.go_on()?;
            let (ready, seconds) = begin(round)?;
            rounds.0.push(measured(seconds));
            others.retain_mut(|(peer, version, difference, rounds)| {
                let mut other = || {
                    let (its, seconds) = self.peers.start(*peer, folder)?.ready()?;
                    *difference = compare(&ready, &its, Tolerance::of(trial.precision()))?;
                    *version = its.version;
                    rounds.0.push(measured(seconds));
                    Ok(())
                };
                let told = other();
                refused.extend(told.as_ref().err().map(|error| refusal(peer.name(), error)));
                told.is_ok()
            });
        }
        let mut entry = Entry::new(&trial.name, threads, &rounds);
        entry.refused = refused;
        for (peer, version, difference, rounds) in others {
            entry.add(peer.name(), version, Some(difference), &rounds);
        }
        Ok(entry)
    }

    fn ours(
        &self,
        job: &Job,
        threads: usize,
        ranks: Option<usize>,
        folder: &Path,
    ) -> anyhow::Result<Child> {
        let kernels = self.options.kernels.as_deref();
        Child::ours(&self.options.program, job, threads, ranks, folder, kernels)
    }
}

fn refusal(name: &str, error: &anyhow::Error) -> Refused {
    Refused { name: name.to_owned(), reason: format!("{error:#}") }
}

/// Of each of several ranks, relative to the single rank that was measured before.
fn efficiency(entry: &Entry, before: &[Entry]) -> Option<f64> {
    let series = |entry: &Entry| entry.name.rsplit_once('/').map(|(series, _)| series.to_owned());
    let is_one = |other: &&Entry| other.ranks == Some(1) && series(other) == series(entry);
    let one = before.iter().find(is_one)?;
    Some(entry.samples_per_second? / one.samples_per_second? / entry.ranks? as f64)
}

/// The largest difference of the losses, relative to ours.
fn compare(ours: &Ready, its: &Ready, tolerance: Tolerance) -> anyhow::Result<f64> {
    ensure!(
        ours.losses.len() == its.losses.len(),
        "{} losses instead of {}",
        its.losses.len(),
        ours.losses.len()
    );
    let mut largest = 0.0f64;
    let pairs = ours.losses.iter().zip(&its.losses).take(tolerance.steps);
    for (step, (ours, its)) in pairs.enumerate() {
        let difference = (ours - its).abs() / ours.abs().max(1e-12);
        if difference.is_nan() || difference > tolerance.relative {
            let step = step + 1;
            bail!(
                "it computes something else: in step {step} its loss is {its} and ours {ours}, a \
                 difference of {difference:.0e}"
            );
        }
        largest = largest.max(difference);
    }
    Ok(largest)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ready(losses: &[f64]) -> Ready {
        Ready { losses: losses.to_vec(), ..Ready::default() }
    }

    #[test]
    fn losses_that_differ_are_an_error_that_names_the_step() {
        let tolerance = Tolerance { steps: 2, relative: 1e-3 };
        let compare = |ours: &Ready, its: &Ready| super::compare(ours, its, tolerance);
        let ours = ready(&[2.0, 1.0, 3.0]);
        assert_eq!(compare(&ours, &ours).unwrap(), 0.0);
        assert!(compare(&ours, &ready(&[2.0, 1.0005, 3.0])).is_ok());
        let error = compare(&ours, &ready(&[2.0, 1.01, 3.0])).unwrap_err().to_string();
        assert!(error.contains("in step 2 its loss is 1.01 and ours 1, a difference"), "{error}");
        assert!(error.ends_with("1e-2"), "{error}");
        assert!(compare(&ours, &ready(&[2.0, f64::NAN, 3.0])).is_err());
        assert!(compare(&ours, &ready(&[2.0, 1.0])).is_err());
        // The third step is not compared.
        assert_eq!(compare(&ours, &ready(&[2.0, 1.0, 9.0])).unwrap(), 0.0);
    }
}
