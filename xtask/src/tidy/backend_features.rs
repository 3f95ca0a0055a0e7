//! Only `crates/backend` asks which backend is built; all other code is the same on every backend.

use crate::{
    metadata::BACKEND_FEATURES,
    tidy::{Finding, Tree, rust_text},
};

pub(crate) fn check(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for file in tree.sources().filter(|file| !file.path.starts_with("crates/backend/")) {
        for (line, text) in file.lines() {
            let backends = features(text).filter(|name| BACKEND_FEATURES.contains(name));
            findings.extend(backends.map(|name| {
                Finding {
                    path: file.path.clone(),
                    line,
                    problem: format!("`cfg(feature = \"{name}\")` outside crates/backend"),
                    remedy:
                        "let `backend` export what differs, and stay generic over `Backend` here"
                            .to_owned(),
                }
            }));
        }
    }
    findings
}

/// Every `name` in a `feature = "name"` of a line's code.
fn features(line: &str) -> impl Iterator<Item = &str> {
    let (code, _) = rust_text::code_and_comment(line);
    let is_name = |c: char| c == '_' || c.is_alphanumeric();
    let begins =
        code.match_indices("feature").filter(move |(at, _)| !code[..*at].ends_with(is_name));
    begins.filter_map(move |(at, word)| {
        let value = code[at + word.len()..].trim_start();
        let literal = value.strip_prefix('=')?.trim_start().strip_prefix('"')?;
        literal.split_once('"').map(|(name, _)| name)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const SAMPLE: &str = r#"
// A cfg(feature = "cuda") in a comment decides nothing.
#[cfg(feature = "mpi")]
mod mpi;
#[cfg(any(test, not(feature="cuda")))]
fn host() {}
fn device() -> bool { cfg!(feature = "wgpu") }
fn other() { main_feature = "cuda"; feature_of = "cuda" }
"#;

    #[test]
    fn a_cfg_on_a_backend_outside_its_crate_is_found() {
        let findings = check(&Tree::from([("crates/data/src/lib.rs", SAMPLE)]));
        let lines: Vec<_> = findings.iter().map(|finding| finding.line).collect();
        assert_eq!(lines, [5, 7]);
        assert!(findings[0].problem.contains("cuda"));
        assert!(findings[1].problem.contains("wgpu"));
    }

    #[test]
    fn the_backend_crate_may_have_them() {
        assert_eq!(check(&Tree::from([("crates/backend/src/lib.rs", SAMPLE)])), []);
    }
}
