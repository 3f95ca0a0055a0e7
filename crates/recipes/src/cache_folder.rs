//! Where things are kept from run to run: data sets, the features of frozen networks, and what was
//! found out about devices.

use std::path::PathBuf;

use etcetera::BaseStrategy;

/// Names the folder, in place of the platform's own.
const VARIABLE: &str = "BURN_RECIPES_DATA";

/// What `BURN_RECIPES_DATA` names, else `burn-recipes` in the platform's folder for caches, if it
/// has one.
pub fn cache_folder() -> Option<PathBuf> {
    if let Some(folder) = std::env::var_os(VARIABLE).filter(|name| !name.is_empty()) {
        return Some(folder.into());
    }
    let platform = etcetera::choose_base_strategy().ok()?;
    Some(platform.cache_dir().join("burn-recipes"))
}
