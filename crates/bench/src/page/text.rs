//! The text of the page, which explains results, and README's table.

use std::{collections::BTreeSet, fmt::Write as _};

use super::row::{Row, beside_frameworks, label, peers};
use crate::{Entry, Machine, PeerEntry, Results, time};

/// The page: the results' limits first, the command last.
///
/// - `command`: the one that measures again, or one for each machine
/// - `charts`: the files of the charts beside it
/// - `rows`: those of each machine
pub(super) fn page(
    date: &str,
    command: &str,
    charts: &[String],
    all: &[Results],
    rows: &[Vec<Row>],
) -> String {
    let joined = &rows.concat();
    let versions: BTreeSet<String> = joined
        .iter()
        .flat_map(|row| &row.entry.peers)
        .filter(|peer| !peer.version.is_empty())
        .map(|peer| format!("- {}: {}\n", peer.name, peer.version))
        .collect();
    let versions: String = versions.into_iter().collect();
    let devices: String = all.iter().map(device).collect();
    let charts =
        charts.iter().map(|file| format!("![{}]({file})\n\n", file.trim_end_matches(".svg")));
    let charts: String = charts.collect();
    let (refused, against, table) = (refused(joined), against_cpu(all, rows), table(joined));
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
fn refused(rows: &[Row]) -> String {
    let lines: String = rows
        .iter()
        .flat_map(|row| row.entry.refused.iter().map(move |refused| (row, refused)))
        .map(|(row, refused)| {
            let name = label(row, rows);
            format!("- {name}: {} was rejected: {}\n", refused.name, refused.reason)
        })
        .collect();
    if lines.is_empty() { lines } else { lines + "\n" }
}

/// How much faster each GPU is than the CPU beside it, where both were measured.
fn against_cpu(all: &[Results], rows: &[Vec<Row>]) -> String {
    let mut text = String::new();
    for (gpu, on_gpu) in all.iter().zip(rows).filter(|(results, _)| results.machine.on_gpu()) {
        let place = |machine: &Machine| (machine.processor.clone(), machine.cores);
        let is_beside = |(results, _): &(&Results, &Vec<Row>)| {
            results.machine.backend == "cpu" && place(&results.machine) == place(&gpu.machine)
        };
        let Some((_, on_cpu)) = all.iter().zip(rows).find(is_beside) else { continue };
        for Row { machine, entry } in on_gpu {
            let same = |other: &&Entry| other.name == entry.name && other.batch == entry.batch;
            let mut on_cpu = on_cpu.iter().map(|row| &row.entry);
            let Some(cpu) = on_cpu.find(same) else { continue };
            let ratio = cpu.median_seconds / entry.median_seconds.max(1e-9);
            let (of_cpu, of_gpu) = (time(cpu.median_seconds), time(entry.median_seconds));
            // Writing to a `String` cannot fail.
            let _ =
                writeln!(text, "| {} | {machine} | {of_gpu} | {of_cpu} | {ratio:.1} |", entry.name);
        }
    }
    if text.is_empty() {
        return text;
    }
    format!("| name | machine | GPU | CPU | CPU / GPU |\n|---|---|--:|--:|--:|\n{text}\n")
}

fn table(rows: &[Row]) -> String {
    let mut table = "| name | machine | threads | batch | median | spread | samples/s | of peak | of bandwidth | memory | also | peers: time, ratio, memory |\n\
                     |---|---|--:|--:|--:|--:|--:|--:|--:|--:|---|---|\n"
        .to_owned();
    let megabytes = |bytes: u64| format!("{:.0} MB", bytes as f64 / 1e6);
    for Row { machine, entry } in rows.iter().filter(|row| row.entry.median_seconds > 0.0) {
        let of = |peer: &PeerEntry| {
            let memory = cell(peer.peak_memory_bytes, |bytes| format!(", {}", megabytes(bytes)));
            format!("{} {}, {:.2}{memory}", peer.name, time(peer.median_seconds), peer.ratio)
        };
        let peers: Vec<String> = entry.peers.iter().map(of).collect();
        let cells = [
            entry.name.clone(),
            machine.clone(),
            entry.threads.to_string(),
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
        entry
            .memory_growth_bytes
            .map(|bytes| format!("memory grew by {:.1} MB", bytes as f64 / 1e6)),
        entry.data_wait.map(|share| format!("data wait {}", percent(share))),
        entry.efficiency.map(|share| format!("efficiency {}", percent(share))),
        entry.communication_wait.map(|share| format!("communication wait {}", percent(share))),
    ];
    told.into_iter().flatten().collect::<Vec<_>>().join(", ")
}

/// README's table of a device, with a column for each peer: the entries that have peers and were
/// measured with all cores, but no series; none where there are no such entries.
pub(super) fn summary(machine: &Machine, rows: &[Row], folder: &str) -> Option<String> {
    let mut compared = beside_frameworks(rows);
    compared.retain(|Row { entry, .. }| {
        !entry.name.starts_with("scaling-") && entry.threads == machine.cores
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
    for Row { entry, .. } in &compared {
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
    use super::{super::row::rows, *};
    use crate::results::tests::{gpu, machine, results};

    pub(crate) const RESULTS: &str = r#"[
        {"name": "mlp-step", "backend": "cpu", "threads": 2, "batch": 40,
         "median_seconds": 5.61e-5, "spread": 2e-6, "samples_per_second": 713012.5, "flops": 20000,
         "percent_of_peak": 3.25, "percent_of_bandwidth": 1.5, "peak_memory_bytes": 30000000,
         "memory_growth_bytes": -65536, "data_wait": 0.042, "efficiency": 0.9, "peers": [
         {"name": "pytorch", "version": "2.15", "median_seconds": 1e-4, "spread": 0, "ratio": 1.783,
         "peak_memory_bytes": 60000000},
         {"name": "tensorflow", "version": "2.21", "median_seconds": 2e-4, "spread": 0,
         "ratio": 3.565}]},
        {"name": "start", "backend": "cpu", "threads": 2, "median_seconds": 1.5, "spread": 0.04,
         "refused": [{"name": "pytorch bf16", "reason": "it computes something else"}]},
        {"name": "scaling-batch/mlp/batch=1", "backend": "cpu", "threads": 2,
         "median_seconds": 1e-5, "spread": 0},
        {"name": "scaling-batch/mlp/batch=64", "backend": "cpu", "threads": 2,
         "median_seconds": 4e-5, "spread": 0}
    ]"#;

    #[test]
    fn an_entry_is_a_row_and_what_it_lacks_stays_empty() {
        let table = table(&rows(&[results(machine(), RESULTS)]).concat());
        let rows: Vec<_> = table.lines().skip(2).take(2).collect();
        assert_eq!(
            rows,
            [
                "| mlp-step | cpu | 2 | 40 | 56.1 µs | 2.0 µs | 713012 | 3.2 % | 1.5 % | 30 MB | \
                 memory grew by -0.1 MB, data wait 4.2 %, efficiency 90.0 % | pytorch 100.0 µs, 1.78, 60 MB; tensorflow 200.0 µs, 3.56 |",
                "| start | cpu | 2 |  | 1.50 s | 40.00 ms |  |  |  |  |  |  |",
            ]
        );
    }

    #[test]
    fn the_page_ends_with_the_command_that_was_given() {
        let results = results(machine(), RESULTS);
        let charts = ["ratios.svg".to_owned()];
        let command = "cargo xtask bench";
        let all = [results];
        let page = page("2026-11-21", command, &charts, &all, &rows(&all));
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
        let against = against_cpu(&all, &rows(&all));
        assert!(against.contains("| mlp-step | cuda | 11.2 µs | 56.1 µs | 5.0 |\n"), "{against}");
    }

    #[test]
    fn readme_shows_what_has_peers() {
        let measured = &rows(&[results(machine(), RESULTS)])[0];
        let folder = "crates/bench/results/x";
        let text = summary(&machine(), measured, folder).unwrap();
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
        let of_gpu = summary(&gpu(), measured, folder).unwrap();
        assert!(of_gpu.starts_with("2026-11-21, NVIDIA H200, cuda, driver 580.65, commit 0123abc"));
        assert!(summary(&machine(), &measured[1..], folder).is_none());
        // Times of 2 threads say nothing about a machine of 4 cores.
        let larger = Machine { cores: 4, ..machine() };
        assert!(summary(&larger, measured, folder).is_none());
    }
}
