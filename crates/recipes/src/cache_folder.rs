//! The cache folder: data sets, features of frozen networks, and measurements of devices.

use std::path::PathBuf;

use etcetera::BaseStrategy;

/// Names the folder, instead of the platform's.
const VARIABLE: &str = "BURN_RECIPES_DATA";

/// The folder named by `BURN_RECIPES_DATA`, or else `burn-recipes` in the platform's cache folder,
/// if it has one.
pub fn cache_folder() -> Option<PathBuf> {
    if let Some(folder) = std::env::var_os(VARIABLE).filter(|name| !name.is_empty()) {
        return Some(folder.into());
    }
    let platform = etcetera::choose_base_strategy().ok()?;
    Some(platform.cache_dir().join("burn-recipes"))
}
