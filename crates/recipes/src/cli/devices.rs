//! `recipes devices`.

use backend::device::{self, DeviceReport};

use super::output::Output;
use crate::Failure;

pub(super) fn run(output: &Output) -> Result<(), Failure> {
    output.result(&device::list(), |devices| devices.iter().map(line).collect());
    Ok(())
}

fn line(device: &DeviceReport) -> String {
    let state = match &device.reason {
        None => format!("usable: {}", device.name),
        Some(reason) => format!("not usable: {reason}"),
    };
    format!("{:<8} {state}\n", device.backend)
}
