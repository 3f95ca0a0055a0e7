//! Records which commit is built, for `environment.json`.

use std::{path::Path, process::Command};

fn main() {
    let repository = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../.git");
    // A path that does not exist would make every build run this script again.
    for file in ["HEAD", "logs/HEAD"].map(|file| repository.join(file)) {
        if file.exists() {
            println!("cargo:rerun-if-changed={}", file.display());
        }
    }
    println!("cargo:rerun-if-changed=build.rs");

    let commit = Command::new("git").args(["rev-parse", "HEAD"]).output().ok();
    let commit = commit
        .filter(|output| output.status.success())
        .and_then(|output| String::from_utf8(output.stdout).ok());
    println!("cargo:rustc-env=BUILD_COMMIT={}", commit.as_deref().unwrap_or("unknown").trim());
}
