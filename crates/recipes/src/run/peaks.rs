//! The peak speed of devices, measured once and remembered.

use std::{collections::BTreeMap, fs};

use backend::{NAME, Peaks, Selected, device::Device};
use store::{StoreError, create_directory, write_whole};

use crate::{cache_folder::cache_folder, console::Console};

/// In the cache folder.
const FILE: &str = "peaks.json";

/// Measures a device, and stores the result, if there is a writable cache folder. What was faster before
/// stays: the device may be busy now.
///
/// - `name`: the device's own
/// - `console`: receives a note if the result cannot be stored
pub(crate) fn measure(device: &Device, name: &str, console: &Console) -> Peaks {
    let peaks = Peaks::measure::<Selected>(device);
    let peaks = known_peaks(name).map_or(peaks, |known| peaks.or_faster(known));
    if let Err(error) = keep(name, peaks) {
        console.note(&format!("the measured peaks could not be stored: {error}"));
    }
    if cfg!(debug_assertions) {
        console.note(
            "this program is only partly optimised, so the device may do better: build it with `--release`",
        );
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

/// The device's peaks, if they were measured before.
pub(crate) fn known_peaks(name: &str) -> Option<Peaks> {
    read().remove(&key(name))
}

/// By device; empty if nothing was measured, or the file cannot be read any more.
fn read() -> BTreeMap<String, Peaks> {
    let text = cache_folder().and_then(|folder| fs::read(folder.join(FILE)).ok());
    text.and_then(|text| serde_json::from_slice(&text).ok()).unwrap_or_default()
}

/// The same device counts as another one on another backend, and in a program that is not optimised.
fn key(name: &str) -> String {
    let unoptimised = if cfg!(debug_assertions) { ", unoptimised" } else { "" };
    format!("{NAME}, {name}{unoptimised}")
}
