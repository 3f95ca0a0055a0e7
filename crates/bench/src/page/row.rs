//! The rows of a page: entries with what tells their machine from the others.

use crate::{Entry, Results};

/// An entry on a page.
#[derive(Clone, Debug)]
pub(super) struct Row {
    /// The backend, or the machine's title where another has the same backend.
    pub(super) machine: String,
    pub(super) entry: Entry,
}

/// The rows of each machine.
pub(super) fn rows(all: &[Results]) -> Vec<Vec<Row>> {
    let rows = |results: &Results| {
        let backend = &results.machine.backend;
        let sharing = all.iter().filter(|other| other.machine.backend == *backend).count();
        let machine = if sharing == 1 { backend.clone() } else { results.machine.title() };
        let row = |entry: &Entry| Row { machine: machine.clone(), entry: entry.clone() };
        results.entries.iter().map(row).collect()
    };
    all.iter().map(rows).collect()
}

/// An entry's name, with its machine where there are several.
pub(super) fn label(row: &Row, rows: &[Row]) -> String {
    if is_alone(row, rows) {
        row.entry.name.clone()
    } else {
        format!("{} {}", row.machine, row.entry.name)
    }
}

/// Whether all rows are of its machine.
pub(super) fn is_alone(row: &Row, rows: &[Row]) -> bool {
    rows.iter().all(|other| other.machine == row.machine)
}

/// The rows that frameworks were measured beside, without other ways of ours.
pub(super) fn beside_frameworks(rows: &[Row]) -> Vec<Row> {
    let mut compared = rows.to_vec();
    for row in &mut compared {
        row.entry.peers.retain(|peer| !peer.version.is_empty());
    }
    compared.retain(|row| !row.entry.peers.is_empty());
    compared
}

/// The names of all peers, in the order in which they first appear.
pub(super) fn peers(rows: &[Row]) -> Vec<&str> {
    let mut names: Vec<&str> = Vec::new();
    for peer in rows.iter().flat_map(|row| &row.entry.peers) {
        if !names.contains(&peer.name.as_str()) {
            names.push(&peer.name);
        }
    }
    names
}
