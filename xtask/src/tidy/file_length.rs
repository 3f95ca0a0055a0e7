//! A file is short enough to read at once: one idea and its tests.

use crate::tidy::{Finding, Tree};

/// Tests included.
const LIMIT_LINES: usize = 500;

pub(crate) fn check(tree: &Tree) -> Vec<Finding> {
    tree.with_extension("rs")
        .filter_map(|file| {
            let lines = file.text.lines().count();
            (lines > LIMIT_LINES).then(|| Finding {
                path: file.path.clone(),
                line: LIMIT_LINES + 1,
                problem: format!("{lines} lines; the limit is {LIMIT_LINES}"),
                remedy: "move its second idea to a file of its own".to_owned(),
            })
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_may_reach_the_limit_but_not_pass_it() {
        let longest = "\n".repeat(LIMIT_LINES);
        let too_long = "\n".repeat(LIMIT_LINES + 1);
        let findings = check(&Tree::from([
            ("crates/data/src/csv.rs", &*longest),
            ("crates/data/src/split.rs", &*too_long),
            ("README.md", &*too_long),
        ]));
        assert_eq!(findings.len(), 1);
        assert_eq!(findings[0].path, "crates/data/src/split.rs");
        assert_eq!(findings[0].problem, "501 lines; the limit is 500");
    }
}
