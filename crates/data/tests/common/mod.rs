//! The real data sets, which lie beside the project and are no part of it.

use std::path::PathBuf;

/// The path of a file of the shared data sets.
///
/// Where it is absent, says aloud that the test skips and returns `None`; panics instead where
/// `REQUIRE_ALL` asks for every test.
#[expect(clippy::print_stderr, reason = "a skipped test says so")]
pub(crate) fn shared_data(file: &str) -> Option<PathBuf> {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data").join(file);
    if path.exists() {
        return Some(path);
    }
    assert!(std::env::var_os("REQUIRE_ALL").is_none_or(|value| value != "1"), "{path:?} is absent");
    eprintln!("SKIPPED: {path:?} is absent");
    None
}
