//! How fast devices are at best, measured once and kept from run to run.

use std::{collections::BTreeMap, fs, path::PathBuf};

use backend::{NAME, Peaks, Selected, device::Device};
use store::{create_directory, write_whole};

use crate::{Failure, cache_folder::cache_folder};

/// Measures a device and keeps the result, where there is a folder for it.
///
/// - `name`: the device's own
///
/// # Errors
///
/// Where the system refuses to write there.
pub(crate) fn measure(device: &Device, name: &str) -> Result<Peaks, Failure> {
    let peaks = Peaks::measure::<Selected>(device);
    let Some(file) = file() else { return Ok(peaks) };
    let mut known = read();
    known.insert(key(name), peaks);
    let folder = file.parent().expect("the file lies in the cache folder");
    create_directory(folder).map_err(Failure::user_data)?;
    let text = serde_json::to_string_pretty(&known).expect("plain data has a form in JSON");
    write_whole(&file, text.as_bytes()).map_err(Failure::user_data)?;
    Ok(peaks)
}

/// What was measured of the device before, if anything was.
pub(crate) fn known_peaks(name: &str) -> Option<Peaks> {
    read().remove(&key(name))
}

/// By device; empty where nothing was measured, or what was cannot be read any more.
fn read() -> BTreeMap<String, Peaks> {
    let text = file().and_then(|file| fs::read(file).ok());
    text.and_then(|text| serde_json::from_slice(&text).ok()).unwrap_or_default()
}

fn file() -> Option<PathBuf> {
    Some(cache_folder()?.join("peaks.json"))
}

/// A device is another one on another backend.
fn key(name: &str) -> String {
    format!("{NAME}, {name}")
}
