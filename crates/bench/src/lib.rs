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

// The work of a job, a kind a module.
mod work;

// Processes and what passes between them.
mod child;
mod exchange;
mod peers;
mod run;

pub use crate::{
    case::{CASES, Case},
    child::serve,
    entry::{Entry, PeerEntry},
    job::Job,
    peers::Peers,
    run::{Bench, Options},
};
