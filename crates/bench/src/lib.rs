//! Benchmarks of what the recipes run, not of a copy of it.
//!
//! A [`Case`] is a list of trials, and a trial becomes an [`Entry`]. What a trial measures runs in a
//! process of its own, ours as a child of this program and each peer as a Python script, so that
//! memory, threads and the time from the start of the process are those of the one thing measured.
//! The processes stay, and take turns: a round of ours, a round of each peer, and again (`run.rs`).
//!
//! Peers are given the weights and the batches of the very run that is measured (`exchange`), and
//! no time is told before their losses are ours.

// What is measured.
mod case;
mod entry;
mod job;
mod results;

// The work of a job, a kind a module.
mod work;

// Processes and what passes between them.
mod child;
mod exchange;
mod peers;
mod run;

/// Whether the backend is a GPU's, which is told what to do and waited for.
const ON_GPU: bool = !backend::device::COMPUTES_AT_ONCE;
/// The first steps of a round on a GPU are not timed, ours and a peer's: the trainer waits for the
/// device after each of its first three updates, and PyTorch looks for the fastest convolutions.
const WARM: u64 = if ON_GPU { 3 } else { 0 };

pub use crate::{
    case::{CASES, Case},
    child::serve,
    entry::{Entry, PeerEntry, Refused},
    job::Job,
    peers::Peers,
    results::{Machine, Results},
    run::{Bench, Options},
};
