//! A benchmark's result as `bench run --json` writes it, without the keys that no page shows.

use serde::Deserialize;

#[derive(Clone, Debug, Deserialize)]
pub(super) struct Entry {
    pub(super) name: String,
    /// What tells its machine from the others that were measured.
    #[serde(skip)]
    pub(super) machine: String,
    pub(super) threads: Option<u64>,
    pub(super) batch: Option<u64>,
    pub(super) median_seconds: f64,
    /// In seconds.
    pub(super) spread: f64,
    pub(super) samples_per_second: Option<f64>,
    pub(super) percent_of_peak: Option<f64>,
    pub(super) percent_of_bandwidth: Option<f64>,
    pub(super) peak_memory_bytes: Option<f64>,
    pub(super) memory_growth_bytes: Option<f64>,
    /// A share of the time.
    pub(super) data_wait: Option<f64>,
    /// Of each of several ranks.
    pub(super) efficiency: Option<f64>,
    /// A share of the time.
    pub(super) communication_wait: Option<f64>,
    #[serde(default)]
    pub(super) peers: Vec<Peer>,
    #[serde(default)]
    pub(super) refused: Vec<Refused>,
}

/// A peer that was rejected.
#[derive(Clone, Debug, Deserialize)]
pub(super) struct Refused {
    pub(super) name: String,
    pub(super) reason: String,
}

#[derive(Clone, Debug, Deserialize)]
pub(super) struct Peer {
    pub(super) name: String,
    #[serde(default)]
    pub(super) version: String,
    pub(super) median_seconds: f64,
    /// The peer's time divided by ours.
    pub(super) ratio: f64,
    pub(super) peak_memory_bytes: Option<f64>,
}

/// An entry's name, with its machine where there are several.
pub(super) fn label(entry: &Entry, entries: &[Entry]) -> String {
    if is_alone(entry, entries) {
        entry.name.clone()
    } else {
        format!("{} {}", entry.machine, entry.name)
    }
}

/// Whether all entries are of its machine.
pub(super) fn is_alone(entry: &Entry, entries: &[Entry]) -> bool {
    entries.iter().all(|other| other.machine == entry.machine)
}

/// The entries that frameworks were measured beside, without other ways of ours.
pub(super) fn beside_frameworks(entries: &[Entry]) -> Vec<Entry> {
    let mut compared = entries.to_vec();
    for entry in &mut compared {
        entry.peers.retain(|peer| !peer.version.is_empty());
    }
    compared.retain(|entry| !entry.peers.is_empty());
    compared
}

/// The names of all peers, in the order in which they first appear.
pub(super) fn peers(entries: &[Entry]) -> Vec<&str> {
    let mut names: Vec<&str> = Vec::new();
    for peer in entries.iter().flat_map(|entry| &entry.peers) {
        if !names.contains(&peer.name.as_str()) {
            names.push(&peer.name);
        }
    }
    names
}

/// Seconds in a readable unit.
pub(super) fn time(seconds: f64) -> String {
    match seconds {
        s if s < 1e-3 => format!("{:.1} µs", s * 1e6),
        s if s < 1.0 => format!("{:.2} ms", s * 1e3),
        s => format!("{s:.2} s"),
    }
}
