//! The page that explains results, and README's table.

use std::{collections::BTreeSet, fmt::Write as _};

use super::{
    entry::{Entry, Peer, beside_frameworks, label, peers, time},
    results::{Machine, Results},
};

/// The page: the results' limits first, the command last.
///
/// - `command`: the one that measures again, or one for each machine
/// - `charts`: the files of the charts beside it
/// - `shown`: the entries of each
pub(super) fn text(
    date: &str,
    command: &str,
    charts: &[String],
    all: &[Results],
    shown: &[Vec<Entry>],
) -> String {
    let entries = &shown.concat();
    let versions: BTreeSet<String> = entries
        .iter()
        .flat_map(|entry| &entry.peers)
        .filter(|peer| !peer.version.is_empty())
        .map(|peer| format!("- {}: {}\n", peer.name, peer.version))
        .collect();
    let versions: String = versions.into_iter().collect();
    let devices: String = all.iter().map(device).collect();
    let charts =
        charts.iter().map(|file| format!("![{}]({file})\n\n", file.trim_end_matches(".svg")));
    let charts: String = charts.collect();
    let (refused, against, table) = (refused(entries), against_cpu(all, shown), table(entries));
    format!(
        "# Results of {date}\n\
         \n\
         Measured on the devices below, each at one commit. On other devices the numbers and the\n\
         ratios differ. `results.json` beside this page holds every number.\n\
         \n\
         {devices}\
         {versions}\
         \n\
         A time is the median with its spread, of a step unless stated otherwise. A ratio is the\n\
         peer's time divided by ours: above 1, ours is faster. Peers start from our weights, find our\n\
         batches ready in memory, on a GPU in the GPU's, and their first losses equal ours; our time\n\
         includes bringing the batches there. On a GPU a peer computes its first losses in f32, a\n\
         compiled one in TF32, and is timed with TF32, which our products on CUDA use too; the\n\
         first three steps of a round are not timed on either side. The peak is that of products of\n\
         large matrices by the same backend. Operations are counted as plain sums of products;\n\
         convolutions by Winograd's algorithm need fewer, so they can exceed it. The bandwidth is\n\
         that of a copy. Bytes are counted as if each layer's result were written once and read by\n\
         each layer that needs it; what stays in caches can exceed it, too. Memory is that of the\n\
         process, on a GPU what the framework reserved there. `-latency`, `-throughput` and `-forward` time the forward pass\n\
         alone, on random inputs that are ready on the device: no preprocessing, and no outputs\n\
         read back. Of the parts of a step, `update` is a difference of medians: that of a step\n\
         without its forward pass minus that of a backward pass; it is omitted where it is negative.\n\
         \n\
         {charts}\
         {against}\
         {refused}\
         {table}\n\
         ```\n\
         {command}\n\
         ```\n"
    )
}

/// A device and its peaks.
fn device(results: &Results) -> String {
    let Machine { device, driver, processor, cores, commit, compiler, date, backend } =
        &results.machine;
    let driver = driver.as_ref().map_or_else(String::new, |driver| format!(", driver {driver}"));
    let peaks = &results.peaks;
    let billions = |number: f64| format!("{:.0}", number / 1e9);
    let bf16 =
        cell(peaks.bf16_multiply_adds_per_second, |speed| format!(", {} of bf16", billions(speed)));
    format!(
        "- {backend}: {device}{driver}; processor: {processor}, {cores} cores; commit: {commit};\n  \
         measured on {date}; compiler: {compiler};\n  \
         peak: {} billion multiply-adds a second{bf16}; copies: {} GB/s\n",
        billions(peaks.multiply_adds_per_second),
        billions(peaks.copy_bytes_per_second),
    )
}

/// Peers that were rejected, and why.
fn refused(entries: &[Entry]) -> String {
    let lines: String = entries
        .iter()
        .flat_map(|entry| entry.refused.iter().map(move |refused| (entry, refused)))
        .map(|(entry, refused)| {
            let name = label(entry, entries);
            format!("- {name}: {} was rejected: {}\n", refused.name, refused.reason)
        })
        .collect();
    if lines.is_empty() { lines } else { lines + "\n" }
}

/// How much faster each GPU is than the CPU beside it, where both were measured.
fn against_cpu(all: &[Results], shown: &[Vec<Entry>]) -> String {
    let mut rows = String::new();
    for (gpu, on_gpu) in all.iter().zip(shown).filter(|(results, _)| results.machine.on_gpu()) {
        let place = |machine: &Machine| (machine.processor.clone(), machine.cores);
        let is_beside = |(results, _): &(&Results, &Vec<Entry>)| {
            results.machine.backend == "cpu" && place(&results.machine) == place(&gpu.machine)
        };
        let Some((_, on_cpu)) = all.iter().zip(shown).find(is_beside) else { continue };
        for entry in on_gpu {
            let same = |other: &&Entry| other.name == entry.name && other.batch == entry.batch;
            let Some(cpu) = on_cpu.iter().find(same) else { continue };
            let ratio = cpu.median_seconds / entry.median_seconds.max(1e-9);
            let (of_cpu, of_gpu) = (time(cpu.median_seconds), time(entry.median_seconds));
            // Writing to a `String` cannot fail.
            let _ = writeln!(
                rows,
                "| {} | {} | {of_gpu} | {of_cpu} | {ratio:.1} |",
                entry.name, entry.machine
            );
        }
    }
    if rows.is_empty() {
        return rows;
    }
    format!("| name | machine | GPU | CPU | CPU / GPU |\n|---|---|--:|--:|--:|\n{rows}\n")
}

fn table(entries: &[Entry]) -> String {
    let mut table = "| name | machine | threads | batch | median | spread | samples/s | of peak | of bandwidth | memory | also | peers: time, ratio, memory |\n\
                     |---|---|--:|--:|--:|--:|--:|--:|--:|--:|---|---|\n"
        .to_owned();
    let megabytes = |bytes: f64| format!("{:.0} MB", bytes / 1e6);
    for entry in entries.iter().filter(|entry| entry.median_seconds > 0.0) {
        let of = |peer: &Peer| {
            let memory = cell(peer.peak_memory_bytes, |bytes| format!(", {}", megabytes(bytes)));
            format!("{} {}, {:.2}{memory}", peer.name, time(peer.median_seconds), peer.ratio)
        };
        let peers: Vec<String> = entry.peers.iter().map(of).collect();
        let cells = [
            entry.name.clone(),
            entry.machine.clone(),
            cell(entry.threads, |threads| threads.to_string()),
            cell(entry.batch, |batch| batch.to_string()),
            time(entry.median_seconds),
            time(entry.spread),
            cell(entry.samples_per_second, |rate| format!("{rate:.0}")),
            cell(entry.percent_of_peak, |percent| format!("{percent:.1} %")),
            cell(entry.percent_of_bandwidth, |percent| format!("{percent:.1} %")),
            cell(entry.peak_memory_bytes, megabytes),
            also(entry),
            peers.join("; "),
        ];
        // Writing to a `String` cannot fail.
        let _ = writeln!(table, "| {} |", cells.join(" | "));
    }
    table
}

/// What is measured beside the time in some benchmarks.
fn also(entry: &Entry) -> String {
    let percent = |share: f64| format!("{:.1} %", 100.0 * share);
    let told = [
        entry.memory_growth_bytes.map(|bytes| format!("memory grew by {:.1} MB", bytes / 1e6)),
        entry.data_wait.map(|share| format!("data wait {}", percent(share))),
        entry.efficiency.map(|share| format!("efficiency {}", percent(share))),
        entry.communication_wait.map(|share| format!("communication wait {}", percent(share))),
    ];
    told.into_iter().flatten().collect::<Vec<_>>().join(", ")
}

/// README's table of a device, with a column for each peer: the entries that have peers and were
/// measured with all cores, but no series; none where there are no such entries.
pub(super) fn summary(machine: &Machine, entries: &[Entry], folder: &str) -> Option<String> {
    let mut compared = beside_frameworks(entries);
    compared.retain(|entry| {
        !entry.name.starts_with("scaling-")
            && entry.threads.is_none_or(|threads| threads == machine.cores as u64)
    });
    if compared.is_empty() {
        return None;
    }
    let names = peers(&compared);
    let mut text = format!(
        "{}, {}{}, commit {}: median time, and in brackets the peer's time divided by ours.\n\n\
         | what | ours | {} |\n|---|--:|{}\n",
        machine.date,
        machine.title(),
        cell(machine.driver.as_ref(), |driver| format!(", driver {driver}")),
        machine.short_commit(),
        names.join(" | "),
        "--:|".repeat(names.len()),
    );
    for entry in &compared {
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
    Some(text)
}

/// A value that an entry may lack.
fn cell<T>(value: Option<T>, show: impl FnOnce(T) -> String) -> String {
    value.map_or_else(String::new, show)
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::bench::results::{
        shown,
        tests::{gpu, machine, results},
    };

    pub(crate) const RESULTS: &str = r#"[
        {"name": "mlp-step", "threads": 2, "batch": 40,
         "median_seconds": 5.61e-5, "spread": 2e-6, "samples_per_second": 713012.5, "flops": 20000,
         "percent_of_peak": 3.25, "percent_of_bandwidth": 1.5, "peak_memory_bytes": 30000000,
         "memory_growth_bytes": -65536, "data_wait": 0.042, "efficiency": 0.9, "peers": [
         {"name": "pytorch", "version": "2.15", "median_seconds": 1e-4, "ratio": 1.783,
         "peak_memory_bytes": 60000000},
         {"name": "tensorflow", "version": "2.21", "median_seconds": 2e-4, "ratio": 3.565}]},
        {"name": "start", "median_seconds": 1.5, "spread": 0.04,
         "refused": [{"name": "pytorch bf16", "reason": "it computes something else"}]},
        {"name": "scaling-batch/mlp/batch=1", "median_seconds": 1e-5, "spread": 0.0},
        {"name": "scaling-batch/mlp/batch=64", "median_seconds": 4e-5, "spread": 0.0}
    ]"#;

    #[test]
    fn an_entry_is_a_row_and_what_it_lacks_stays_empty() {
        let table = table(&shown(&[results(machine(), RESULTS)]).unwrap().concat());
        let rows: Vec<_> = table.lines().skip(2).take(2).collect();
        assert_eq!(
            rows,
            [
                "| mlp-step | cpu | 2 | 40 | 56.1 µs | 2.0 µs | 713012 | 3.2 % | 1.5 % | 30 MB | \
                 memory grew by -0.1 MB, data wait 4.2 %, efficiency 90.0 % | pytorch 100.0 µs, 1.78, 60 MB; tensorflow 200.0 µs, 3.56 |",
                "| start | cpu |  |  | 1.50 s | 40.00 ms |  |  |  |  |  |  |",
            ]
        );
    }

    #[test]
    fn the_page_ends_with_the_command_that_was_given() {
        let results = results(machine(), RESULTS);
        let charts = ["ratios.svg".to_owned()];
        let command = "cargo xtask bench";
        let all = [results];
        let page = text("2026-11-21", command, &charts, &all, &shown(&all).unwrap());
        assert!(page.starts_with("# Results of 2026-11-21\n"));
        let device = "- cpu: AMD EPYC(TM) 7B13 (2 threads); processor: AMD EPYC(TM) 7B13, 2 cores;";
        assert!(page.contains(device), "{page}");
        assert!(page.contains("  measured on 2026-11-21; compiler: rustc 1.95.0;\n"), "{page}");
        assert!(page.contains("  peak: 200 billion multiply-adds a second; copies: 10 GB/s\n"));
        assert!(page.contains("- pytorch: 2.15\n- tensorflow: 2.21\n"));
        assert!(page.contains("![ratios](ratios.svg)"));
        let refused = "- start: pytorch bf16 was rejected: it computes something else\n";
        assert!(page.contains(refused), "{page}");
        assert!(!page.contains("CPU / GPU"));
        assert!(page.ends_with("```\ncargo xtask bench\n```\n"));
    }

    #[test]
    fn a_gpu_is_set_against_the_cpu() {
        let on_gpu = RESULTS.replace("5.61e-5", "1.122e-5");
        let elsewhere = Machine { cores: 64, ..machine() };
        let all = [gpu(), elsewhere.clone(), machine()].map(|machine| {
            results(machine.clone(), if machine.on_gpu() { &on_gpu } else { RESULTS })
        });
        let against = against_cpu(&all, &shown(&all).unwrap());
        assert!(against.contains("| mlp-step | cuda | 11.2 µs | 56.1 µs | 5.0 |\n"), "{against}");
    }

    #[test]
    fn readme_shows_what_has_peers() {
        let entries: Vec<Entry> = serde_json::from_str(RESULTS).unwrap();
        let folder = "crates/bench/results/x";
        let text = summary(&machine(), &entries, folder).unwrap();
        let begins = "2026-11-21, AMD EPYC(TM) 7B13, 2 cores, commit 0123abc: median time";
        assert!(text.starts_with(begins), "{text}");
        let rows: Vec<&str> = text.lines().skip(2).take(3).collect();
        assert_eq!(
            rows,
            [
                "| what | ours | pytorch | tensorflow |",
                "|---|--:|--:|--:|",
                "| mlp-step | 56.1 µs | 100.0 µs (1.78) | 200.0 µs (3.56) |",
            ]
        );
        assert!(!text.contains("start"));
        let of_gpu = summary(&gpu(), &entries, folder).unwrap();
        assert!(of_gpu.starts_with("2026-11-21, NVIDIA H200, cuda, driver 580.65, commit 0123abc"));
        assert!(summary(&machine(), &entries[1..], folder).is_none());
        // Times of 2 threads say nothing about a machine of 4 cores.
        let larger = Machine { cores: 4, ..machine() };
        assert!(summary(&larger, &entries, folder).is_none());
    }
}
