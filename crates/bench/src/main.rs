//! The program `bench`.

use std::{
    path::{Path, PathBuf},
    process::ExitCode,
};

use anyhow::{Context, ensure};
use backend::{Peaks, device::Allocator};
use bench::{
    Bench, CASES, Case, Entry, Job, Options, PageOptions, Peers, Refused, Results, Trial, serve,
    time, write_page,
};
use clap::{Args, Parser, Subcommand, builder::RangedU64ValueParser};
use mimalloc::MiMalloc;
use signal_hook::{consts::SIGINT, flag};
use training::{Group, Stop};

#[global_allocator]
static ALLOCATOR: Allocator<MiMalloc> = Allocator(MiMalloc); // as in `recipes`

/// The exit code after Ctrl-C, as of `recipes`.
const INTERRUPTED: u8 = 130;

/// Measures what the recipes run.
#[derive(Parser)]
#[command(name = "bench")]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// List the benchmarks
    List,
    /// Run the named benchmarks; without names, all that are not marked `on request`
    Run(RunArguments),
    /// Write the page of results, as `cargo xtask bench` does
    #[command(hide = true)]
    Page(PageOptions),
    /// Measure in this process
    #[command(hide = true)]
    Child {
        /// The job, as JSON
        job: String,
        /// Where a GPU backend caches kernels
        #[arg(long)]
        kernels: Option<PathBuf>,
    },
}

#[derive(Args)]
struct RunArguments {
    /// The benchmarks to run
    names: Vec<String>,
    /// Rounds to measure of each
    #[arg(long, default_value_t = 5, value_parser = at_least_one())]
    rounds: usize,
    /// The Python that runs the peers, or `none`
    #[arg(long, default_value = "python3", value_name = "PYTHON")]
    peer: String,
    /// Threads that compute on the CPU, ours and the peers' [default: all]
    #[arg(long, value_name = "N", value_parser = at_least_one())]
    threads: Option<usize>,
    /// A folder with MNIST's files
    #[arg(long, value_name = "FOLDER")]
    data: Option<PathBuf>,
    /// A folder where a GPU backend caches kernels [default: that of `recipes`]
    #[arg(long, value_name = "FOLDER")]
    kernels: Option<PathBuf>,
    /// At most three steps each, and no compiled PyTorch: shows that everything runs; the times
    /// mean nothing
    #[arg(long)]
    quick: bool,
    /// Write the results to a file after each benchmark
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// The commit to record [default: that of the build]; `cargo xtask bench` adds whether files differ from it
    #[arg(long, hide = true)]
    commit: Option<String>,
}

fn at_least_one() -> RangedU64ValueParser<usize> {
    RangedU64ValueParser::new().range(1..)
}

fn main() -> anyhow::Result<ExitCode> {
    match Arguments::parse().command {
        Command::List => list(),
        Command::Run(arguments) => {
            let stop = Stop::default();
            let ended = run(&arguments, &stop);
            return if stop.requested() { Ok(interrupted()) } else { ended };
        }
        Command::Page(options) => write_page(Path::new(""), &options)?,
        Command::Child { job, kernels } => {
            let group = Group::from_launcher()?;
            backend::device::prepare_process(group.share_of_cores()); // as `recipes` does
            if let Some(folder) = kernels {
                backend::device::keep_kernels_in(folder);
            }
            let job = serde_json::from_str::<Job>(&job).context("not a job")?;
            let served = serve(job, &group);
            backend::set_sum_over_processes(None); // so that the last use of the group ends here
            if served.is_err() {
                group.fail(1, || ());
            }
            served?;
        }
    }
    Ok(ExitCode::SUCCESS)
}

#[allow(clippy::print_stdout)] // The program's results.
fn list() {
    for case in CASES {
        let note = if case.on_request() { " (on request)" } else { "" };
        println!("{:<18} {}{note}", case.name, case.summary);
    }
}

#[allow(clippy::print_stderr)] // Why there is no more.
fn interrupted() -> ExitCode {
    eprintln!("interrupted");
    ExitCode::from(INTERRUPTED)
}

/// - `stop`: requested by Ctrl-C
#[allow(clippy::print_stdout, clippy::print_stderr)] // The program's results, and what went wrong.
fn run(arguments: &RunArguments, stop: &Stop) -> anyhow::Result<ExitCode> {
    let cases = chosen(&arguments.names)?;
    if let Some(path) = &arguments.json {
        check_writable(path)?;
    }
    let peers = match arguments.peer.as_str() {
        "none" => Peers::none(),
        python => Peers::find(python)?,
    };
    if let Some(missing) = peers.missing() {
        eprintln!("{missing}");
    }
    // A terminal's Ctrl-C ends the processes that measure. This one then removes their folders; a second Ctrl-C
    // ends it at once.
    flag::register_conditional_shutdown(SIGINT, INTERRUPTED.into(), stop.flag())?;
    flag::register(SIGINT, stop.flag())?;
    let scratch = tempfile::tempdir().context("cannot create a temporary folder")?;
    let kernels = arguments.kernels.clone();
    let kernels = kernels.or_else(|| Some(recipes::cache_folder()?.join("kernels")));
    // The peers' batches are made in this process.
    if let Some(folder) = kernels.clone() {
        backend::device::keep_kernels_in(folder);
    }
    backend::device::open()?;
    let options = Options {
        program: std::env::current_exe().context("cannot find this program's own file")?,
        threads: arguments.threads.unwrap_or_else(backend::device::threads),
        rounds: arguments.rounds,
        data: arguments.data.clone(),
        scratch: scratch.path().to_owned(),
        kernels,
        quick: arguments.quick,
        stop: stop.clone(),
    };
    // What one of them lacks is said before the others are measured.
    let trials = cases.iter().map(|case| case.trials(&options));
    let trials: Vec<Vec<Trial>> = trials.collect::<Result<_, _>>()?;
    let bench = Bench::new(options, peers)?;
    tell_of(&bench);
    let (mut machine, peaks) = (bench.machine().clone(), *bench.peaks());
    machine.commit = arguments.commit.clone().unwrap_or(machine.commit);
    let benchmarks: Vec<String> = cases.iter().map(|case| case.name.to_owned()).collect();
    let (commands, quick) = (vec![again(arguments, &benchmarks)], arguments.quick);
    let mut results = Results { machine, peaks, benchmarks, commands, quick, entries: Vec::new() };
    let mut failed = false;
    for trials in trials {
        bench.run(&trials, &mut |entry| {
            // What was interrupted is no result.
            ensure!(!stop.requested(), "interrupted");
            let entry = match entry {
                Ok(entry) => entry,
                Err(error) => {
                    eprintln!("error: {error:#}");
                    failed = true;
                    return Ok(());
                }
            };
            println!("{}", describe(entry));
            for Refused { name, reason } in &entry.refused {
                eprintln!("error: {}: {name}: {reason}", entry.name);
                failed = true;
            }
            results.entries.push(entry.clone());
            // Each time, so that nothing is lost if this process is killed.
            arguments.json.as_ref().map_or(Ok(()), |path| results.write(path))
        })?;
    }
    Ok(if failed { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

#[allow(clippy::print_stderr)] // What the results are measured on.
fn tell_of(bench: &Bench) {
    let Peaks {
        multiply_adds_per_second,
        bf16_multiply_adds_per_second,
        copy_bytes_per_second,
        ..
    } = bench.peaks();
    eprintln!("device: {}", bench.machine().device);
    eprint!("peak: {:.1} billion multiply-adds a second", multiply_adds_per_second / 1e9);
    if let Some(bf16) = bf16_multiply_adds_per_second {
        eprint!(", {:.1} of bf16", bf16 / 1e9);
    }
    eprintln!(", {:.1} GB/s", copy_bytes_per_second / 1e9);
}

/// Whether results can be written to the file, which stays as it is; a measurement may take hours.
fn check_writable(path: &Path) -> anyhow::Result<()> {
    let shown = path.display();
    ensure!(!path.is_dir(), "cannot write results to `{shown}`: it is a folder");
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    tempfile::tempfile_in(folder.unwrap_or(Path::new(".")))
        .with_context(|| format!("cannot write results to `{shown}`"))?;
    Ok(())
}

/// The arguments that measure the same again, on any machine: without the paths of this one.
fn again(arguments: &RunArguments, names: &[String]) -> String {
    let RunArguments { rounds, peer, threads, data, quick, .. } = arguments;
    let peer = Path::new(peer).file_name().unwrap_or_default().display();
    let mut again = format!("run {} --rounds {rounds} --peer {peer}", names.join(" "));
    again.extend(threads.map(|threads| format!(" --threads {threads}")));
    again.extend(data.is_some().then_some(" --data FOLDER"));
    again.extend(quick.then_some(" --quick"));
    again
}

fn chosen(names: &[String]) -> anyhow::Result<Vec<&'static Case>> {
    if names.is_empty() {
        return Ok(CASES.iter().filter(|case| !case.on_request()).collect());
    }
    let find = |name: &String| {
        CASES
            .iter()
            .find(|case| case.name == name)
            .with_context(|| format!("there is no benchmark `{name}`; `bench list` names them"))
    };
    names.iter().map(find).collect()
}

fn describe(entry: &Entry) -> String {
    let mut line = format!(
        "{:<28} {:>10} ± {:>9}",
        entry.name,
        time(entry.median_seconds),
        time(entry.spread / 2.0),
    );
    if let Some(rate) = entry.samples_per_second {
        line += &format!("  {rate:>10.0} samples/s");
    }
    if let Some(percent) = entry.percent_of_peak {
        line += &format!("  {percent:.0} % of peak");
    }
    if let Some(percent) = entry.percent_of_bandwidth {
        line += &format!("  {percent:.0} % of bandwidth");
    }
    if let Some(bytes) = entry.peak_memory_bytes {
        line += &format!("  {:.0} MB", bytes as f64 / 1e6);
    }
    if let Some(wait) = entry.data_wait.filter(|&wait| wait > 0.005) {
        line += &format!("  data wait {:.1} %", 100.0 * wait);
    }
    if let Some(efficiency) = entry.efficiency {
        line += &format!("  efficiency {:.0} %", 100.0 * efficiency);
    }
    if let Some(wait) = entry.communication_wait {
        line += &format!("  communication wait {:.1} %", 100.0 * wait);
    }
    if let Some(growth) = entry.memory_growth_bytes {
        line += &format!("  memory grew by {growth} bytes");
    }
    for peer in &entry.peers {
        line += &format!(
            "\n    {:<24} {:>10}  ratio {:.2}",
            peer.name,
            time(peer.median_seconds),
            peer.ratio
        );
        if let Some(memory) = peer.memory_ratio {
            line += &format!("  memory {memory:.2}");
        }
        if let Some(difference) = peer.largest_difference {
            line += &format!("  losses within {difference:.0e}");
        }
    }
    line
}
