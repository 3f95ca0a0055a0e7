//! Benchmarks of what the recipes run, not of a copy of it.
//!
//! A [`Case`] is a list of trials, and a trial becomes an [`Entry`]. What a trial measures runs in a
//! process of its own, ours as a child of this program and each peer as a Python script, so that
//! memory, threads and the time from the start of the process belong to it alone. The processes stay
//! alive and take turns: a round of ours, a round of each peer, and so on (`run.rs`).
//!
//! Peers get the weights and batches of the run that is measured (`exchange`), and no time counts
//! before their losses equal ours.

// What is measured.
mod case;
mod entry;
mod job;
mod results;

// What is shown of it.
mod page;

// The work of a job, a kind a module.
mod work;

// Processes and what passes between them.
mod child;
mod exchange;
mod peers;
mod run;

/// Whether the backend is a GPU's, which computes asynchronously.
const ON_GPU: bool = !<backend::Selected as backend::Backend>::IS_SYNCHRONOUS;
/// The first steps of a round on a GPU are not timed, ours and a peer's: the trainer waits for the
/// device after each, and PyTorch looks for the fastest convolutions.
const WARM: u64 = if ON_GPU { training::TUNING_UPDATES } else { 0 };

pub use crate::{
    case::{CASES, Case, Trial},
    child::serve,
    entry::{Entry, PeerEntry, Refused, time},
    job::Job,
    page::{PageOptions, write_page},
    peers::Peers,
    results::{Machine, Results},
    run::{Bench, Options},
};
