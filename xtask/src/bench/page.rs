//! The page that explains results, and README's table.

use std::{collections::BTreeSet, fmt::Write as _};

use super::{
    Machine,
    entry::{Entry, peers, time},
};

/// The page: the results' limits first, the command last.
pub(super) fn page(
    date: &str,
    machine: &Machine,
    entries: &[Entry],
    charts: &[String],
    command: &str,
) -> String {
    let Machine { cpu, cores, rustc, commit } = machine;
    let versions: BTreeSet<String> = entries
        .iter()
        .flat_map(|entry| &entry.peers)
        .filter(|peer| !peer.version.is_empty())
        .map(|peer| format!("- {}: {}\n", peer.name, peer.version))
        .collect();
    let versions: String = versions.into_iter().collect();
    let charts: String = charts
        .iter()
        .map(|file| format!("![{}]({file})\n\n", file.trim_end_matches(".svg")))
        .collect();
    let table = table(entries);
    format!(
        "# Results of {date}\n\
         \n\
         Measured on one machine, at one commit; another machine gives other numbers and other\n\
         ratios. `results.json` beside this page holds every number.\n\
         \n\
         - processor: {cpu}, {cores} cores\n\
         - compiler: {rustc}\n\
         - commit: {commit}\n\
         {versions}\
         \n\
         A time is the median with its spread, of a step where nothing else is said; a ratio is the\n\
         peer's time divided by ours, so above 1 ours is the faster. Peers begin with our weights,\n\
         are given our batches ready in memory, and their first losses are ours; our time includes\n\
         what brings the batches there. The peak is what the processor multiplied and added at best\n\
         in a loop of its own; operations are counted as plain sums of products, of which\n\
         convolutions by Winograd's algorithm need fewer, so they can pass it. The parts of a step\n\
         are differences of medians, and those that come out below nothing are left out.\n\
         \n\
         {charts}\
         {table}\n\
         ```\n\
         {command}\n\
         ```\n"
    )
}

fn table(entries: &[Entry]) -> String {
    let mut table = "| name | backend | threads | batch | median | spread | samples/s | of peak | memory | peers: time, ratio |\n\
                     |---|---|--:|--:|--:|--:|--:|--:|--:|---|\n"
        .to_owned();
    for entry in entries.iter().filter(|entry| entry.median_seconds > 0.0) {
        let peers: Vec<String> = entry
            .peers
            .iter()
            .map(|peer| format!("{} {}, {:.2}", peer.name, time(peer.median_seconds), peer.ratio))
            .collect();
        let cells = [
            entry.name.clone(),
            entry.backend.clone(),
            cell(entry.threads, |threads| threads.to_string()),
            cell(entry.batch, |batch| batch.to_string()),
            time(entry.median_seconds),
            time(entry.spread),
            cell(entry.samples_per_second, |rate| format!("{rate:.0}")),
            cell(entry.percent_of_peak, |percent| format!("{percent:.1} %")),
            cell(entry.peak_memory_bytes, |bytes| format!("{:.0} MB", bytes / 1e6)),
            peers.join("; "),
        ];
        // Writing to a `String` cannot fail.
        let _ = writeln!(table, "| {} |", cells.join(" | "));
    }
    table
}

/// What README shows: the entries that have peers, a column each.
pub(super) fn summary(date: &str, machine: &Machine, entries: &[Entry], folder: &str) -> String {
    let compared: Vec<&Entry> = entries
        .iter()
        .filter(|entry| entry.peers.iter().any(|peer| !peer.version.is_empty()))
        .collect();
    let names: Vec<&str> = peers(entries)
        .into_iter()
        .filter(|name| {
            let versioned = |entry: &&Entry| {
                entry.peers.iter().any(|peer| peer.name == *name && !peer.version.is_empty())
            };
            compared.iter().any(versioned)
        })
        .collect();
    let mut text = format!(
        "{date}, {}, {} cores: median time, and in brackets the peer's time divided by ours.\n\n\
         | what | ours | {} |\n|---|--:|{}\n",
        machine.cpu,
        machine.cores,
        names.join(" | "),
        "--:|".repeat(names.len()),
    );
    for entry in compared {
        let of = |name: &&str| {
            let peer = entry.peers.iter().find(|peer| peer.name == *name);
            cell(peer, |peer| format!("{} ({:.2})", time(peer.median_seconds), peer.ratio))
        };
        let cells: Vec<String> = names.iter().map(of).collect();
        let _ = writeln!(
            text,
            "| {} | {} | {} |",
            entry.name,
            time(entry.median_seconds),
            cells.join(" | ")
        );
    }
    let _ = writeln!(text, "\nEverything that was measured: [{folder}]({folder}/README.md).");
    text
}

/// A value that an entry may be without.
fn cell<T>(value: Option<T>, show: impl FnOnce(T) -> String) -> String {
    value.map_or_else(String::new, show)
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    pub(crate) const RESULTS: &str = r#"[
        {"name": "mlp-step", "backend": "cpu", "threads": 2, "batch": 40,
         "median_seconds": 5.61e-5, "spread": 2e-6, "samples_per_second": 713012.5, "flops": 20000,
         "percent_of_peak": 3.25, "peak_memory_bytes": 30000000, "peers": [
         {"name": "pytorch", "version": "2.15", "median_seconds": 1e-4, "ratio": 1.783},
         {"name": "tensorflow", "version": "2.21", "median_seconds": 2e-4, "ratio": 3.565}]},
        {"name": "start", "backend": "cpu", "median_seconds": 1.5, "spread": 0.04},
        {"name": "scaling-batch/mlp/batch=1", "backend": "cpu", "median_seconds": 1e-5, "spread": 0.0},
        {"name": "scaling-batch/mlp/batch=64", "backend": "cpu", "median_seconds": 4e-5, "spread": 0.0}
    ]"#;

    fn machine() -> Machine {
        Machine {
            cpu: "AMD EPYC 7B13".to_owned(),
            cores: 2,
            rustc: "rustc 1.95.0".to_owned(),
            commit: "0123abc".to_owned(),
        }
    }

    #[test]
    fn an_entry_is_a_row_and_what_it_lacks_stays_empty() {
        let entries: Vec<Entry> = serde_json::from_str(RESULTS).unwrap();
        let table = table(&entries);
        let rows: Vec<_> = table.lines().skip(2).take(2).collect();
        assert_eq!(
            rows,
            [
                "| mlp-step | cpu | 2 | 40 | 56.1 µs | 2.0 µs | 713012 | 3.2 % | 30 MB | \
                 pytorch 100.0 µs, 1.78; tensorflow 200.0 µs, 3.56 |",
                "| start | cpu |  |  | 1.50 s | 40.00 ms |  |  |  |  |",
            ]
        );
    }

    #[test]
    fn the_page_ends_with_the_command_that_was_given() {
        let entries: Vec<Entry> = serde_json::from_str(RESULTS).unwrap();
        let page = page(
            "2026-11-21",
            &machine(),
            &entries,
            &["ratios.svg".to_owned()],
            "cargo xtask bench",
        );
        assert!(page.starts_with("# Results of 2026-11-21\n"));
        assert!(page.contains("- processor: AMD EPYC 7B13, 2 cores\n"));
        assert!(page.contains("- pytorch: 2.15\n- tensorflow: 2.21\n"));
        assert!(page.contains("![ratios](ratios.svg)"));
        assert!(page.ends_with("```\ncargo xtask bench\n```\n"));
    }

    #[test]
    fn readme_shows_what_has_peers() {
        let entries: Vec<Entry> = serde_json::from_str(RESULTS).unwrap();
        let summary = summary("2026-11-21", &machine(), &entries, "crates/bench/results/x");
        let rows: Vec<&str> = summary.lines().skip(2).take(3).collect();
        assert_eq!(
            rows,
            [
                "| what | ours | pytorch | tensorflow |",
                "|---|--:|--:|--:|",
                "| mlp-step | 56.1 µs | 100.0 µs (1.78) | 200.0 µs (3.56) |",
            ]
        );
        assert!(!summary.contains("start"));
    }
}
