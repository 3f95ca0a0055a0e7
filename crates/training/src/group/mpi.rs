//! The processes of an MPI job.

use std::{
    hash::{DefaultHasher, Hash as _, Hasher as _},
    thread::sleep,
    time::{Duration, Instant},
};

use backend::Share;
use mpi::{
    Threading,
    environment::{Universe, initialize_with_threading},
    request::{StaticScope, scope},
    topology::SimpleCommunicator,
    traits::{Communicator, CommunicatorCollectives, Root},
};

use super::Processes;

/// Bytes of one message; MPI counts them in 32 bits.
const MOST_AT_ONCE: usize = 1 << 30;

/// All processes of the job. Where one of them is lost, MPI ends the others.
pub(super) struct World {
    world: SimpleCommunicator,
    /// Finalises MPI when it is dropped, last of all.
    _universe: Universe,
}

impl World {
    /// Also returns which process this is of all, of those on its host, and of those on its cores.
    pub(super) fn begin() -> Result<(Self, [Share; 3]), &'static str> {
        let (universe, threading) =
            initialize_with_threading(Threading::Funneled).ok_or("it was initialised before")?;
        if threading < Threading::Funneled {
            return Err("it does not support programs with several threads");
        }
        let world = universe.world();
        let host = world.split_shared(world.rank());
        let shares = [share_of(&world), share_of(&host), share_of_cores(&host)];
        Ok((Self { world, _universe: universe }, shares))
    }
}

/// This process's share of the cores that it may use, among the processes on the host that may use the
/// same ones, according to Linux. A launcher may have bound each to some.
fn share_of_cores(host: &SimpleCommunicator) -> Share {
    const ALLOWED: &str = "Cpus_allowed:";
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let allowed = status.lines().find_map(|line| line.strip_prefix(ALLOWED)).unwrap_or_default();
    let mut hasher = DefaultHasher::new();
    allowed.hash(&mut hasher);
    let own = hasher.finish();
    let Share { rank, of } = share_of(host);
    let mut of_all = vec![0u64; of];
    host.all_gather_into(&own, &mut of_all[..]);
    let same = |hashes: &[u64]| hashes.iter().filter(|&&hash| hash == own).count();
    Share { rank: same(&of_all[..rank]), of: same(&of_all) }
}

fn share_of(communicator: &SimpleCommunicator) -> Share {
    Share { rank: communicator.rank() as usize, of: communicator.size() as usize }
}

impl Processes for World {
    fn words(&self, word: u32) -> Vec<u32> {
        let mut words = vec![0; share_of(&self.world).of];
        scope(|scope| {
            // The same kind of call as in `last_words`, since different kinds do not match.
            self.world
                .immediate_all_gather_into(scope, &word, &mut words[..])
                .wait_without_status();
        });
        words
    }

    fn last_words(&self, word: u32, patience: Duration) -> Option<&'static [u32]> {
        // MPI may still write here after the deadline, so the memory is never freed.
        let word = Box::leak(Box::new(word));
        let words = vec![0; share_of(&self.world).of].leak();
        let mut request = self.world.immediate_all_gather_into(StaticScope, word, words);
        let deadline = Instant::now() + patience;
        loop {
            match request.test_with_data() {
                Ok((_, words)) => return Some(words),
                Err(pending) => request = pending,
            }
            if Instant::now() > deadline {
                std::mem::forget(request);
                return None;
            }
            sleep(Duration::from_millis(5));
        }
    }

    fn exchange(&self, pieces: &[f32], received: &mut [f32]) {
        self.world.all_to_all_into(pieces, received);
    }

    fn join(&self, piece: &[f32], joined: &mut [f32]) {
        self.world.all_gather_into(piece, joined);
    }

    fn join_f64(&self, piece: &[f64], joined: &mut [f64]) {
        self.world.all_gather_into(piece, joined);
    }

    fn broadcast(&self, rank: usize, mut bytes: Vec<u8>) -> Vec<u8> {
        let from = self.world.process_at_rank(rank as i32);
        let mut length = bytes.len() as u64;
        from.broadcast_into(&mut length);
        bytes.resize(length as usize, 0);
        for bytes in bytes.chunks_mut(MOST_AT_ONCE) {
            from.broadcast_into(bytes);
        }
        bytes
    }

    fn abort(&self, exit_code: u8) -> ! {
        self.world.abort(i32::from(exit_code))
    }
}
