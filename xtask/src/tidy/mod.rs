//! The conventions of this project that neither the compiler nor Clippy checks: one file each.
//!
//! A check is a function from the [`Tree`] (and, for some, the [`Metadata`]) to [`Finding`]s. To
//! add one, add its file here, a line to [`check_all`], and a test with a sample that fails.

// What a check reads and what it reports.
mod finding;
mod rust_text;
mod tree;

// The checks.
mod backend_features;
mod crate_edges;
mod file_length;
mod golden_scripts;
mod ignored_tests;
mod licences;
mod links;
mod machine_paths;
mod module_docs;

use anyhow::ensure;
use xshell::Shell;

use crate::{
    metadata::Metadata,
    tidy::{finding::Finding, tree::Tree},
};

/// Prints all findings; an error if there are any.
pub(crate) fn run(shell: &Shell) -> anyhow::Result<()> {
    let tree = Tree::read(shell)?;
    let metadata = Metadata::read(shell)?;
    let mut findings = check_all(&tree, &metadata);
    findings.sort();
    for finding in &findings {
        println!("{finding}");
    }
    ensure!(findings.is_empty(), "tidy: {} to fix", findings.len());
    Ok(())
}

fn check_all(tree: &Tree, metadata: &Metadata) -> Vec<Finding> {
    [
        backend_features::check(tree),
        crate_edges::check(tree, metadata),
        file_length::check(tree),
        golden_scripts::check(tree),
        ignored_tests::check(tree),
        licences::check(tree, metadata),
        links::check(tree),
        machine_paths::check(tree),
        module_docs::check(tree),
    ]
    .concat()
}
