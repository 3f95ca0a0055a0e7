//! No test is ignored.

use crate::tidy::{Finding, Tree, rust_text, tree::File};

pub(crate) fn check(tree: &Tree) -> Vec<Finding> {
    tree.sources().flat_map(ignored).collect()
}

/// Tests that do not run: by the attribute, or as an example in a comment.
fn ignored(file: &File) -> impl Iterator<Item = Finding> {
    let lines = file.lines().filter(|(_, text)| {
        let (code, comment) = rust_text::code_and_comment(text);
        let example = comment.split_once("```");
        code.contains("#[ignore") || example.is_some_and(|(_, tags)| tags.contains("ignore"))
    });
    lines.map(move |(line, _)| Finding {
        path: file.path.clone(),
        line,
        problem: "a test that never runs".to_owned(),
        remedy: "make it run, let it print when it skips, or delete it".to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn by_the_attribute_or_in_a_comment() {
        let text = "\
            /// ```ignore\n\
            /// train();\n\
            /// ```\n\
            #[test]\n\
            #[ignore = \"slow\"]\n\
            fn trains() {}\n";
        let findings = check(&Tree::from([("crates/data/src/lib.rs", text)]));
        let lines: Vec<_> = findings.iter().map(|finding| finding.line).collect();
        assert_eq!(lines, [1, 5]);
    }
}
