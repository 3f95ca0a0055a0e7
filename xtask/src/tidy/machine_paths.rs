//! No file contains a path of the machine it was written on.

use crate::tidy::{Finding, Tree};

/// Folders in the root of a file system in which people keep their work.
const HOMES: [&str; 4] = ["Users", "home", "root", "work"];

pub(crate) fn check(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for file in &tree.files {
        for (line, text) in file.lines() {
            findings.extend(HOMES.into_iter().filter(|home| names(text, home)).map(|home| {
                Finding {
                    path: file.path.clone(),
                    line,
                    problem: format!("an absolute path under `{home}`"),
                    remedy: "name it relative to the repository, or take it from the environment"
                        .to_owned(),
                }
            }));
        }
    }
    findings
}

/// Whether `text` has an absolute path under `home`: one not preceded by the rest of a path.
fn names(text: &str, home: &str) -> bool {
    text.match_indices(&format!("/{home}/")).any(|(offset, _)| {
        !text[..offset].ends_with(|c: char| c.is_alphanumeric() || "._-~*{})]>$".contains(c))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_of_one_machine_is_found_in_any_file() {
        let script = format!("set -e\ncd \"/{}/me/project\"\n", "home");
        let findings = check(&Tree::from([(".ci/run", &*script)]));
        assert_eq!(findings.len(), 1);
        assert_eq!((&*findings[0].path, findings[0].line), (".ci/run", 2));
    }

    #[test]
    fn a_relative_path_or_an_address_is_none() {
        let text = "../work/a crates/work/a https://example.org/home/a ${HOME}/work/a <a>/work/a";
        assert_eq!(check(&Tree::from([("README.md", text)])), []);
    }
}
