//! The golden values of the tests: regenerates them, to show that they still come from their scripts.

use anyhow::ensure;
use xshell::{Shell, cmd};

/// The scripts that make golden values, each beside its own, as a git pathspec.
const GENERATORS: &str = ":(glob)crates/*/tests/golden/**/*.py";
/// Everything beside them.
const FIXTURES: [&str; 2] = [":(glob)crates/*/tests/golden/**", ":(exclude)*.py"];

/// The tests that compare operations, networks and augmentation with PyTorch's values.
pub(crate) const TESTS: [&str; 3] =
    ["operations_equal_pytorch", "networks_equal_pytorch", "augment_equals_torchvision"];

/// Runs every generator in its own folder; an error if a fixture then differs from the last commit.
pub(crate) fn run(shell: &Shell) -> anyhow::Result<()> {
    let listed = cmd!(shell, "git ls-files --cached --others --exclude-standard -- {GENERATORS}")
        .quiet()
        .read()?;
    ensure!(!listed.is_empty(), "there are no generators at {GENERATORS}");
    for generator in listed.lines() {
        let (folder, script) = generator.rsplit_once('/').unwrap_or((".", generator));
        println!("{generator}");
        let _there = shell.push_dir(folder);
        cmd!(shell, "python3 {script}")
            // Its cache would lie among the fixtures.
            .env("PYTHONDONTWRITEBYTECODE", "1")
            .quiet()
            .run()?;
    }

    let changed = cmd!(shell, "git status --short -- {FIXTURES...}").quiet().read()?;
    if !changed.is_empty() {
        println!("{changed}");
        cmd!(shell, "git --no-pager diff --stat -- {FIXTURES...}").quiet().run()?;
    }
    ensure!(changed.is_empty(), "golden values differ from the last commit: see the list above");
    println!("golden values are as committed");
    Ok(())
}
