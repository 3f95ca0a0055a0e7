//! How fast devices are at best, measured once and kept from run to run.

use std::{collections::BTreeMap, fs};

use backend::{NAME, Peaks, Selected, device::Device};
use store::{StoreError, create_directory, write_whole};

use crate::{Console, cache_folder::cache_folder};

/// In the cache folder.
const FILE: &str = "peaks.json";

/// Measures a device and keeps the result, where there is a folder for it that can be written to.
///
/// - `name`: the device's own
/// - `console`: is told where the result could not be kept
pub(crate) fn measure(device: &Device, name: &str, console: &Console) -> Peaks {
    let peaks = Peaks::measure::<Selected>(device);
    if let Err(error) = keep(name, peaks) {
        console.note(&format!("what was measured could not be kept: {error}"));
    }
    peaks
}

fn keep(name: &str, peaks: Peaks) -> Result<(), StoreError> {
    let Some(folder) = cache_folder() else { return Ok(()) };
    create_directory(&folder)?;
    let mut known = read();
    known.insert(key(name), peaks);
    let text = serde_json::to_string_pretty(&known).expect("plain data has a form in JSON");
    write_whole(&folder.join(FILE), text.as_bytes())
}

/// What was measured of the device before, if anything was.
pub(crate) fn known_peaks(name: &str) -> Option<Peaks> {
    read().remove(&key(name))
}

/// By device; empty where nothing was measured, or what was cannot be read any more.
fn read() -> BTreeMap<String, Peaks> {
    let text = cache_folder().and_then(|folder| fs::read(folder.join(FILE)).ok());
    text.and_then(|text| serde_json::from_slice(&text).ok()).unwrap_or_default()
}

/// A device is another one on another backend.
fn key(name: &str) -> String {
    format!("{NAME}, {name}")
}
