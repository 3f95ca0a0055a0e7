//! The processes that train one model together, each on its share of every batch; or one alone.
//!
//! Every collective operation begins with a status word from each: whether it was asked to stop, whether it
//! is time for a checkpoint, and whether it failed. So all of them stop and save after the same update, and
//! when one fails, none waits for it.
//!
//! How it scales is a prediction, not a measurement. A sum over N ranks sends twice the gradient's bytes G
//! through each link, in 2 (N - 1) messages: about `2 G / bandwidth + 2 N latency` seconds, during which
//! nothing is computed, since the sum begins when the backward pass has ended. With links of 100 Gbit/s and 2
//! microseconds ResNet-20 (1.1 MB) takes 0.2 ms on 8 devices, and 4 ms on 1024, where latency dominates;
//! VGG-16 (553 MB) takes 90 ms on either. With steps of 50 ms, a device then computes 99 % and 92 % of the
//! time for the first, and 36 % for the second. The message also goes through the host's memory, which for
//! VGG-16 takes another 50 ms over PCIe. To change that, gradients would be summed layer by layer during the
//! backward pass, on the device, by NCCL, with messages in a tree or a hierarchy of hosts, not all to all.

#[cfg(feature = "mpi")]
mod mpi;

use std::{
    cell::{Cell, RefCell},
    fmt,
    rc::Rc,
    time::Duration,
};

use backend::Share;

use crate::Stop;

/// How long a failed process waits for the others to learn of it, before it ends them.
const PATIENCE: Duration = Duration::from_secs(8);

/// The processes that train together, as one of them sees them; copies are the same group.
#[derive(Clone, Default)]
pub struct Group {
    processes: Option<Rc<dyn Processes>>,
    share: Share,
    on_host: Share,
    share_of_cores: Share,
    state: Rc<State>,
}

/// The collective operations of a group; each must be called by all processes.
trait Processes {
    /// Exchanges one status word per process; returns those of all ranks, in order.
    fn words(&self, word: u32) -> Vec<u32>;

    /// As [`words`](Self::words), for the last word of a process; none if not all of them came within
    /// `patience`, after which no other operation is possible.
    fn last_words(&self, word: u32, patience: Duration) -> Option<&'static [u32]>;

    /// Sends the piece at each position, all of one length, to the process of that rank.
    fn exchange(&self, pieces: &[f32], received: &mut [f32]);

    /// Concatenates the pieces of all, of one length.
    fn join(&self, piece: &[f32], joined: &mut [f32]);

    /// As [`join`](Self::join).
    fn join_f64(&self, piece: &[f64], joined: &mut [f64]);

    /// Sends the bytes of that rank to all others, and returns them.
    fn broadcast(&self, rank: usize, bytes: Vec<u8>) -> Vec<u8>;

    /// Ends all of them at once.
    fn abort(&self, exit_code: u8) -> !;
}

#[derive(Default)]
struct State {
    /// What this process asks for: [`STOP`], [`SAVE`].
    asked: Cell<u32>,
    /// What any process has asked for.
    agreed: Cell<u32>,
    lost: Cell<Option<Lost>>,
    /// What ends measuring early.
    interrupt: RefCell<Stop>,
    /// What is received, kept from sum to sum.
    received: RefCell<Vec<f32>>,
}

/// The process that failed, and the exit code that it ends with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Lost {
    rank: usize,
    exit_code: u8,
}

/// The processes of a group can no longer train together.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[expect(missing_docs, reason = "the messages say what the fields are")]
pub enum GroupError {
    /// Another process failed, and reports why.
    #[error("rank {rank} failed")]
    Another { rank: usize, exit_code: u8 },
    /// Something of this process differs from rank 0's.
    #[error("rank {rank} has {what} than rank 0")]
    Differs {
        rank: usize,
        /// What it is that differs, such as `other data`.
        what: String,
    },
    /// A launcher started several processes of a program without MPI, which know nothing of each
    /// other.
    #[error(
        "started as one of {processes} processes by an MPI launcher, but built without MPI: each \
         would train by itself, into the same run directory"
    )]
    WithoutMpi { processes: usize },
    /// MPI would not start.
    #[error("MPI cannot be used: {reason}")]
    Unusable { reason: String },
}

impl Group {
    /// A process that trains by itself.
    pub fn alone() -> Self {
        Self::default()
    }

    /// The group of the processes that `mpirun` or `srun` started with this one, on the calling thread;
    /// a process that was started alone does not use MPI. To be called once.
    ///
    /// # Errors
    ///
    /// [`GroupError::WithoutMpi`] and [`GroupError::Unusable`].
    pub fn from_launcher() -> Result<Self, GroupError> {
        match launched_processes() {
            1 => Ok(Self::alone()),
            processes => Self::of_several(processes),
        }
    }

    #[cfg(not(feature = "mpi"))]
    fn of_several(processes: usize) -> Result<Self, GroupError> {
        Err(GroupError::WithoutMpi { processes })
    }

    #[cfg(feature = "mpi")]
    fn of_several(_: usize) -> Result<Self, GroupError> {
        let reason = |reason: &str| GroupError::Unusable { reason: reason.to_owned() };
        let (world, [share, on_host, share_of_cores]) = mpi::World::begin().map_err(reason)?;
        let processes: Option<Rc<dyn Processes>> = Some(Rc::new(world));
        Ok(Self { processes, share, on_host, share_of_cores, state: Rc::default() })
    }

    /// Which process this is, of how many.
    pub fn share(&self) -> Share {
        self.share
    }

    /// The same among the processes on this host; it gives each a device of its own.
    pub fn on_host(&self) -> Share {
        self.on_host
    }

    /// Its share of the cores that this process may use.
    pub fn share_of_cores(&self) -> Share {
        self.share_of_cores
    }

    /// Whether this is the process that writes and prints.
    pub fn is_rank_zero(&self) -> bool {
        self.share().rank == 0
    }

    /// Whether there are others.
    pub fn is_shared(&self) -> bool {
        self.share().of > 1
    }

    /// Asks all processes to stop; they agree on it in the next collective operation.
    pub(crate) fn ask_to_stop(&self) {
        self.ask(STOP);
    }

    /// Asks all processes for a checkpoint; they agree on it likewise.
    pub(crate) fn ask_to_save(&self) {
        self.ask(SAVE);
    }

    fn ask(&self, bit: u32) {
        self.state.asked.set(self.state.asked.get() | bit);
    }

    /// Clears the agreement on a checkpoint, which was written.
    pub(crate) fn has_saved(&self) {
        for bits in [&self.state.asked, &self.state.agreed] {
            bits.set(bits.get() & !SAVE);
        }
    }

    /// Clears what was agreed on, for another run of the same processes.
    pub(crate) fn begin(&self) {
        self.state.asked.set(0);
        self.state.agreed.set(0);
        self.measure_until(Stop::default());
    }

    /// What ends [`until_interrupted`](Self::until_interrupted) from now on.
    pub(crate) fn measure_until(&self, interrupt: Stop) {
        self.state.interrupt.replace(interrupt);
    }

    /// The batches of a split to measure on. They end early if the run is or was interrupted: what was
    /// measured is then not reported.
    pub fn until_interrupted<I: IntoIterator>(
        &self,
        batches: I,
    ) -> impl Iterator<Item = I::Item> + use<I> {
        let interrupt = self.state.interrupt.borrow().clone();
        let mut batches = batches.into_iter();
        // Looked at first: to read a batch takes time.
        std::iter::from_fn(move || if interrupt.requested() { None } else { batches.next() })
    }

    /// Whether an interruption may have ended [`until_interrupted`](Self::until_interrupted) early, in
    /// any of the processes.
    ///
    /// # Errors
    ///
    /// [`GroupError::Another`], as for every collective operation.
    pub fn was_interrupted(&self) -> Result<bool, GroupError> {
        let interrupted = self.state.interrupt.borrow().requested();
        if interrupted {
            self.ask_to_stop();
        }
        self.barrier()?;
        Ok(interrupted || self.stops())
    }

    /// Whether they agreed to stop.
    pub(crate) fn stops(&self) -> bool {
        self.state.agreed.get() & STOP != 0
    }

    /// Whether they agreed on a checkpoint that is not written yet.
    pub(crate) fn saves(&self) -> bool {
        self.state.agreed.get() & SAVE != 0
    }

    /// Waits until all processes have called it.
    ///
    /// # Errors
    ///
    /// [`GroupError::Another`], as for every collective operation.
    pub fn barrier(&self) -> Result<(), GroupError> {
        self.together(|_| ())
    }

    /// Lets the first process on each host act before the others, which may then find the work done.
    ///
    /// # Errors
    ///
    /// Those of `act` and [`barrier`](Self::barrier).
    pub fn first_of_host_first<T, E: From<GroupError>>(
        &self,
        act: impl FnOnce() -> Result<T, E>,
    ) -> Result<T, E> {
        let is_first = self.on_host().rank == 0;
        if !is_first {
            self.barrier()?;
        }
        let done = act()?;
        if is_first {
            self.barrier()?;
        }
        Ok(done)
    }

    /// Adds up the values of all processes, in the order of their ranks.
    ///
    /// Each process sums one piece for all, so that each value is sent twice, however many processes
    /// there are.
    ///
    /// # Errors
    ///
    /// As [`barrier`](Self::barrier).
    pub(crate) fn all_reduce(&self, values: &mut Vec<f32>) -> Result<(), GroupError> {
        let (count, of) = (values.len(), self.share().of);
        if count == 0 {
            return Ok(());
        }
        self.together(|processes| {
            let received = &mut *self.state.received.borrow_mut();
            let length = count.div_ceil(of);
            for pieces in [&mut *values, received] {
                pieces.resize(length * of, 0.0);
            }
            processes.exchange(values, received);
            let (sum, others) = received.split_at_mut(length);
            for other in others.chunks_exact(length) {
                for (sum, value) in sum.iter_mut().zip(other) {
                    *sum += value;
                }
            }
            processes.join(sum, values);
            values.truncate(count);
        })
    }

    /// Adds up the values of all processes, in the order of their ranks.
    ///
    /// # Errors
    ///
    /// As [`barrier`](Self::barrier).
    pub fn all_reduce_f64(&self, values: &mut [f64]) -> Result<(), GroupError> {
        let of = self.share().of;
        self.together(|processes| {
            let mut joined = vec![0.0; values.len() * of];
            processes.join_f64(values, &mut joined);
            for (index, value) in values.iter_mut().enumerate() {
                *value = joined[index..].iter().step_by(joined.len() / of).sum();
            }
        })
    }

    /// The values of all processes, one after another.
    ///
    /// # Errors
    ///
    /// As [`barrier`](Self::barrier).
    pub fn all_gather(&self, values: Vec<f32>) -> Result<Vec<f32>, GroupError> {
        if !self.is_shared() {
            return Ok(values);
        }
        let Share { rank, of } = self.share();
        let mut own: Vec<u8> = values.iter().flat_map(|value| value.to_le_bytes()).collect();
        let mut all = Vec::new();
        self.together(|processes| {
            for from in 0..of {
                let bytes = if from == rank { std::mem::take(&mut own) } else { Vec::new() };
                let bytes = processes.broadcast(from, bytes);
                let (numbers, _) = bytes.as_chunks();
                all.extend(numbers.iter().map(|number| f32::from_le_bytes(*number)));
            }
        })?;
        Ok(all)
    }

    /// The first process's bytes.
    ///
    /// # Errors
    ///
    /// As [`barrier`](Self::barrier).
    pub fn broadcast(&self, bytes: Vec<u8>) -> Result<Vec<u8>, GroupError> {
        let mut bytes = Some(bytes);
        self.together(|processes| bytes = bytes.take().map(|bytes| processes.broadcast(0, bytes)))?;
        Ok(bytes.unwrap_or_default())
    }

    /// Checks that `value` is the same as in the first process.
    ///
    /// - `other`: what this process has if not, such as `other data`
    ///
    /// # Errors
    ///
    /// [`GroupError::Differs`], and as [`barrier`](Self::barrier).
    pub fn check_same(&self, other: &str, value: &str) -> Result<(), GroupError> {
        if self.broadcast(value.as_bytes().to_vec())? == value.as_bytes() {
            return Ok(());
        }
        Err(GroupError::Differs { rank: self.share().rank, what: other.to_owned() })
    }

    /// Informs the others that this process failed, and reports why with `tell`, unless another process
    /// reports its own failure. Does not return where the others do not respond.
    ///
    /// To be called before a process ends with an error: the others would wait for it.
    pub fn fail(&self, exit_code: u8, tell: impl FnOnce()) {
        let Some(processes) = &self.processes else { return tell() };
        if self.state.lost.get().is_some() {
            return;
        }
        match processes.last_words(u32::from(exit_code), PATIENCE) {
            None => {
                tell();
                processes.abort(exit_code)
            }
            Some(words) => {
                let lost = lost(words);
                self.state.lost.set(lost);
                if lost.is_some_and(|lost| lost.rank == self.share().rank) {
                    tell();
                }
            }
        }
    }

    /// Runs a collective operation, if no process has failed.
    fn together(&self, act: impl FnOnce(&dyn Processes)) -> Result<(), GroupError> {
        let state = &*self.state;
        let Some(processes) = &self.processes else { return Ok(()) };
        if state.lost.get().is_none() {
            let words = processes.words(state.asked.get());
            state.lost.set(lost(&words));
            let asked = words.iter().fold(0, |all, word| all | word) & (STOP | SAVE);
            state.agreed.set(state.agreed.get() | asked);
        }
        if let Some(Lost { rank, exit_code }) = state.lost.get() {
            return Err(GroupError::Another { rank, exit_code });
        }
        act(&**processes);
        Ok(())
    }
}

/// The bit of a word that asks to stop. The bits below are the exit code of a failed process.
const STOP: u32 = 1 << 8;
/// The bit of a word that asks for a checkpoint.
const SAVE: u32 = 1 << 9;

/// The first process that failed.
fn lost(words: &[u32]) -> Option<Lost> {
    let codes = words.iter().map(|word| (word % STOP) as u8);
    let (rank, exit_code) = codes.enumerate().find(|&(_, exit_code)| exit_code != 0)?;
    Some(Lost { rank, exit_code })
}

/// How many processes an MPI launcher started together, this one included, according to the
/// environment variables that launchers set.
fn launched_processes() -> usize {
    // Open MPI; MPICH, Intel MPI and Slurm's PMI-2; Slurm.
    let variables = ["OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "SLURM_STEP_NUM_TASKS"];
    let told = |variable| std::env::var(variable).ok()?.parse().ok();
    variables.into_iter().find_map(told).unwrap_or(1)
}

impl fmt::Debug for Group {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Share { rank, of } = self.share();
        write!(f, "Group({rank} of {of})")
    }
}

impl GroupError {
    /// What to do about it.
    pub fn help(&self) -> Option<String> {
        match self {
            Self::Another { .. } => None,
            Self::Differs { .. } => Some(
                "start all ranks from one command, with one program and the same data".to_owned(),
            ),
            Self::WithoutMpi { .. } => {
                Some("build with `--features mpi`, or start it without the launcher".to_owned())
            }
            Self::Unusable { .. } => Some(
                "start the program with the `mpirun` of the library that it was built with"
                    .to_owned(),
            ),
        }
    }
}

#[cfg(test)]
mod tests;
