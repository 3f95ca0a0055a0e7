//! Runs the trials of cases: processes take turns, and losses are compared before times are told.

use std::path::{Path, PathBuf};

use anyhow::{Context, bail, ensure};
use backend::Peaks;

use crate::{
    Case, Entry, Job, Peers,
    case::{Trial, What},
    child::Child,
    entry::Rounds,
    exchange::Exchange,
    job::{Measured, Ready},
    peers::Peer,
};

/// How far apart the first losses may be, relative to ours. The two sides add in another order, which
/// makes a difference of 1e-7 in the first step and up to 4e-5 in the twentieth; another network,
/// optimizer or batch is off by more than 1e-2.
const TOLERANCE: f64 = 1e-3;

/// How to measure.
#[derive(Clone, Debug)]
pub struct Options {
    /// This program, which is started again for each measurement.
    pub program: PathBuf,
    /// Threads that compute on the CPU, ours and a peer's.
    pub threads: usize,
    /// Measured rounds of each entry.
    pub rounds: usize,
    /// A folder with data sets, MNIST's in `mnist`.
    pub data: Option<PathBuf>,
    /// At most three steps a round: shows that everything runs, and no speed worth telling.
    pub quick: bool,
}

/// Measures cases.
#[derive(Debug)]
pub struct Bench {
    options: Options,
    peers: Peers,
    peaks: Peaks,
}

impl Bench {
    /// Measures the device's peaks, which speeds are set against.
    ///
    /// # Errors
    ///
    /// Where there is no usable device.
    pub fn new(options: Options, peers: Peers) -> anyhow::Result<Self> {
        let folder = tempfile::tempdir().context("no temporary folder")?;
        let mut child =
            Child::ours(&options.program, &Job::Peaks, options.threads, None, folder.path())?;
        let (ready, _) = child.ready()?;
        let peaks = ready.peaks.context("no peaks were measured")?;
        Ok(Self { options, peers, peaks })
    }

    /// The device's peaks.
    pub fn peaks(&self) -> &Peaks {
        &self.peaks
    }

    /// Measures a case.
    ///
    /// # Errors
    ///
    /// Where something fails, or the losses of a peer are not ours.
    pub fn run(&self, case: &Case, told: &mut dyn FnMut(&Entry)) -> anyhow::Result<Vec<Entry>> {
        let mut entries = Vec::new();
        for trial in (case.trials)(&self.options)? {
            let mut entry = self.trial(&trial).with_context(|| trial.name.clone())?;
            entry.efficiency = efficiency(&entry, &entries);
            told(&entry);
            entries.push(entry);
        }
        Ok(entries)
    }

    fn trial(&self, trial: &Trial) -> anyhow::Result<Entry> {
        let scratch = tempfile::tempdir().context("no temporary folder")?;
        let folder = scratch.path();
        let (exchange, steps, compared) = trial.exchange(self.options.quick)?;
        let flops = exchange.as_ref().map(Exchange::flops);
        let comparable = exchange.is_some();
        let threads = trial.threads.unwrap_or(self.options.threads);
        if let Some(exchange) = exchange {
            exchange.write(folder, steps, compared, threads)?;
        }
        let job = trial.job(folder, self.options.quick)?;
        let peers: Vec<Peer> = trial
            .peers
            .iter()
            .copied()
            .filter(|&peer| comparable && self.peers.has(peer))
            .collect();
        let mut entry = match &trial.what {
            What::FirstStep(_) => self.first_steps(trial, &job, &peers, folder)?,
            _ => self.rounds(trial, &job, &peers, folder)?,
        };
        let of_a_step = !matches!(trial.what, What::FirstStep(_) | What::Reach(_));
        if let Some(flops) = flops.filter(|_| of_a_step) {
            // The peak is that of all threads that were asked for.
            let threads = threads * trial.ranks.unwrap_or(1);
            let share = threads.min(self.options.threads) as f64 / self.options.threads as f64;
            entry.count(flops, self.peaks.multiply_adds_per_second * share);
        }
        Ok(entry)
    }

    /// All processes stay and take turns.
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
        let mut others = Vec::new();
        for &peer in peers {
            let mut child = self.peers.start(peer, folder)?;
            let (its, _) = child.ready().context(peer.name())?;
            let difference = compare(&ready, &its).context(peer.name())?;
            others.push((peer.name(), its.version, Some(difference), child, Rounds::default()));
        }
        if let Some((name, job)) = trial.against(folder, self.options.quick) {
            let mut child = self.ours(&job, threads, None, folder)?;
            child.ready()?;
            others.push((name, String::new(), None, child, Rounds::default()));
        }
        let mut rounds = Rounds::default();
        let count = match &trial.what {
            // A minute or more; and memory is the same in each round.
            What::Reach(_) => 1,
            What::Train(job) if job.watches_memory => 1,
            _ => self.options.rounds.max(1),
        };
        for _ in 0..count {
            rounds.0.push(ours.round()?);
            for (name, _, _, child, rounds) in &mut others {
                rounds.0.push(child.round().context(*name)?);
            }
        }
        let mut entry = Entry::new(&trial.name, threads, &rounds);
        entry.ranks = trial.ranks;
        for (name, version, difference, _, rounds) in others {
            entry.add(name, version, difference, &rounds);
        }
        Ok(entry)
    }

    /// Each round is a process of its own, from its start to the end of its first step.
    fn first_steps(
        &self,
        trial: &Trial,
        job: &Job,
        peers: &[Peer],
        folder: &Path,
    ) -> anyhow::Result<Entry> {
        let threads = self.options.threads;
        let mut rounds = Rounds::default();
        let mut others: Vec<_> =
            peers.iter().map(|&peer| (peer, String::new(), 0.0, Rounds::default())).collect();
        let measured = |seconds| Measured { seconds, samples: 1, ..Measured::default() };
        for _ in 0..self.options.rounds.clamp(1, 3) {
            let (ready, seconds) = self.ours(job, threads, None, folder)?.ready()?;
            rounds.0.push(measured(seconds));
            for (peer, version, difference, rounds) in &mut others {
                let (its, seconds) = self.peers.start(*peer, folder)?.ready()?;
                *difference = compare(&ready, &its).context(peer.name())?;
                *version = its.version;
                rounds.0.push(measured(seconds));
            }
        }
        let mut entry = Entry::new(&trial.name, threads, &rounds);
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
        Child::ours(&self.options.program, job, threads, ranks, folder)
    }
}

/// Of each of several ranks, against the rank by itself that was measured before.
fn efficiency(entry: &Entry, before: &[Entry]) -> Option<f64> {
    let series = |entry: &Entry| entry.name.rsplit_once('/').map(|(series, _)| series.to_owned());
    let is_one = |other: &&Entry| other.ranks == Some(1) && series(other) == series(entry);
    let one = before.iter().find(is_one)?;
    Some(entry.samples_per_second / one.samples_per_second / entry.ranks? as f64)
}

/// The largest difference of the losses, relative to ours.
///
/// # Errors
///
/// Names the first step at which they are too far apart.
fn compare(ours: &Ready, its: &Ready) -> anyhow::Result<f64> {
    ensure!(
        ours.losses.len() == its.losses.len(),
        "{} losses instead of {}",
        its.losses.len(),
        ours.losses.len()
    );
    let mut largest = 0.0f64;
    for (step, (ours, its)) in ours.losses.iter().zip(&its.losses).enumerate() {
        let difference = (ours - its).abs() / ours.abs().max(1e-12);
        if difference.is_nan() || difference > TOLERANCE {
            let step = step + 1;
            bail!("it computes something else: in step {step} its loss is {its} and ours {ours}");
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
        let ours = ready(&[2.0, 1.0]);
        assert_eq!(compare(&ours, &ours).unwrap(), 0.0);
        assert!(compare(&ours, &ready(&[2.0, 1.0005])).is_ok());
        let error = compare(&ours, &ready(&[2.0, 1.01])).unwrap_err().to_string();
        assert!(error.contains("in step 2 its loss is 1.01 and ours 1"), "{error}");
        assert!(compare(&ours, &ready(&[2.0, f64::NAN])).is_err());
        assert!(compare(&ours, &ready(&[2.0])).is_err());
    }
}
