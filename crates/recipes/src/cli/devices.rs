//! `recipes devices`.

use backend::{
    Peaks,
    device::{self, DeviceReport},
};
use clap::Args;
use serde::Serialize;

use super::output::Output;
use crate::{
    ExitCode, Failure,
    console::{Console, ProgressMode},
    run::peaks,
};

/// The arguments of `recipes devices`.
#[derive(Debug, Args)]
pub(super) struct DevicesArguments {
    /// Measure the peak speed of the usable device; takes a few seconds, on a slow one minutes. Runs then
    /// report what percentage of it they reach
    #[arg(long)]
    bench: bool,
}

/// A device, and its peaks where they were measured.
#[derive(Serialize)]
struct Line {
    #[serde(flatten)]
    device: DeviceReport,
    #[serde(skip_serializing_if = "Option::is_none")]
    peaks: Option<Peaks>,
}

pub(super) fn run(
    options: &DevicesArguments,
    progress: ProgressMode,
    output: &Output,
) -> Result<(), Failure> {
    let console = Console::new(progress);
    let line = |device: DeviceReport| {
        let peaks = if options.bench && device.usable {
            let (opened, name) = device::open()?;
            Some(peaks::measure(&opened, &name, &console))
        } else {
            None
        };
        Ok::<_, Failure>(Line { device, peaks })
    };
    let lines = device::list().into_iter().map(line).collect::<Result<Vec<_>, _>>()?;
    output.result(&lines, |lines| lines.iter().map(text).collect())?;
    if lines.iter().any(|line| line.device.usable) {
        return Ok(());
    }
    // Why not was printed with each device.
    Err(Failure { exit_code: ExitCode::Device, problems: Vec::new() })
}

fn text(line: &Line) -> String {
    let DeviceReport { backend, name, reason, kernels, .. } = &line.device;
    let state = match reason {
        None => match device::caution(name) {
            Some(caution) => format!("usable: {name}\n{:<8} {caution}", ""),
            None => format!("usable: {name}"),
        },
        Some(reason) => format!("not usable: {reason}"),
    };
    let peaks = line.peaks.as_ref().map(|peaks| {
        let gigabytes = |bytes: f64| format!("{:.1} GB/s", bytes / 1e9);
        let billions = |speed: f64| format!("{:.1} billion/s", speed / 1e9);
        let lines = [
            ("multiply-adds", Some(billions(peaks.multiply_adds_per_second))),
            ("  in bf16", peaks.bf16_multiply_adds_per_second.map(billions)),
            ("memory copy", Some(gigabytes(peaks.copy_bytes_per_second))),
            ("host to device", Some(gigabytes(peaks.upload_bytes_per_second))),
            ("device to host", Some(gigabytes(peaks.download_bytes_per_second))),
        ];
        let line = |(what, speed): (&str, Option<String>)| {
            speed.map(|speed| format!("{:<8} {what:<15} {speed:>16}\n", "")).unwrap_or_default()
        };
        lines.map(line).concat()
    });
    let kernels = kernels.as_ref().map(|folder| {
        format!("{:<8} the fastest kernels are remembered in {}\n", "", folder.display())
    });
    format!("{backend:<8} {state}\n{}{}", kernels.unwrap_or_default(), peaks.unwrap_or_default())
}
