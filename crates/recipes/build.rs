//! Records which commit is built, for `environment.json`.

use std::{path::Path, process::Command};

fn main() {
    for file in ["HEAD", "logs/HEAD"] {
        // A path that does not exist would make every build run this script again.
        if let Some(path) =
            git(&["rev-parse", "--git-path", file]).filter(|it| Path::new(it).exists())
        {
            println!("cargo:rerun-if-changed={path}");
        }
    }
    println!("cargo:rerun-if-changed=build.rs");

    let commit = git(&["rev-parse", "HEAD"]);
    println!("cargo:rustc-env=BUILD_COMMIT={}", commit.as_deref().unwrap_or("unknown"));
}

/// The line that a command of Git prints; none where it fails, as outside of a repository.
fn git(arguments: &[&str]) -> Option<String> {
    let output = Command::new("git").args(arguments).output().ok()?;
    let line = output.status.success().then(|| String::from_utf8(output.stdout))?.ok()?;
    Some(line.trim().to_owned())
}
