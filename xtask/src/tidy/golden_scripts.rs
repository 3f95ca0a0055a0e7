//! Golden values lie beside the script that makes them, so that anyone can regenerate them.

use crate::tidy::{Finding, Tree, tree::File};

pub(crate) fn check(tree: &Tree) -> Vec<Finding> {
    tree.files
        .iter()
        .filter(|file| is_golden_value(file) && !has_script(tree, file))
        .map(|file| Finding {
            path: file.path.clone(),
            line: 1,
            problem: "a golden value without the script that makes it".to_owned(),
            remedy: format!("add a Python script that writes it to {}", file.folder()),
        })
        .collect()
}

fn is_golden_value(file: &File) -> bool {
    let in_crate = file.path.strip_prefix("crates/");
    in_crate
        .and_then(|path| path.split_once('/'))
        .is_some_and(|(_, path)| path.starts_with("tests/golden/"))
        && !matches!(file.extension(), Some("md" | "py"))
}

fn has_script(tree: &Tree, value: &File) -> bool {
    tree.with_extension("py").any(|script| script.folder() == value.folder())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_needs_a_script_in_its_own_folder() {
        let findings = check(&Tree::from([
            ("crates/data/tests/golden/numpy/randn.csv", ""),
            ("crates/data/tests/golden/numpy/README.md", ""),
            ("crates/data/tests/golden/numpy/make.py", ""),
            ("crates/models/tests/golden/cnn.json", ""),
        ]));
        assert_eq!(findings.len(), 1);
        assert_eq!(findings[0].path, "crates/models/tests/golden/cnn.json");
        assert!(findings[0].remedy.ends_with("crates/models/tests/golden"));
    }

    #[test]
    fn other_data_of_the_tests_needs_none() {
        assert_eq!(check(&Tree::from([("crates/data/tests/ragged.csv", "")])), []);
    }
}
