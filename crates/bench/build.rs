//! Records which compiler builds, for the results: there may be none where they are measured.

use std::process::Command;

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    let compiler = std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let version = Command::new(compiler).arg("--version").output().ok();
    let version = version
        .filter(|output| output.status.success())
        .and_then(|output| String::from_utf8(output.stdout).ok());
    println!("cargo:rustc-env=BUILD_COMPILER={}", version.as_deref().unwrap_or("unknown").trim());
}
