//! Links in Markdown files to other files of the repository lead to existing ones.

use crate::tidy::{Finding, Tree};

pub(crate) fn check(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for file in tree.with_extension("md") {
        for (line, target) in links(&file.text) {
            let Some(problem) = problem(tree, file.folder(), target) else {
                continue;
            };
            findings.push(Finding {
                path: file.path.clone(),
                line,
                problem: format!("the link to `{target}` {problem}"),
                remedy: format!("name a file of the repository, relative to {}", file.path),
            });
        }
    }
    findings
}

/// What is wrong with a link from a file in `folder`, if anything.
fn problem(tree: &Tree, folder: &str, target: &str) -> Option<&'static str> {
    let path = target.split(['#', '?']).next().unwrap_or_default();
    let is_elsewhere = target.contains("://") || target.starts_with("mailto:");
    if is_elsewhere || path.is_empty() {
        return None;
    }
    match resolve(folder, path) {
        None => Some("leaves the repository"),
        Some(path) if !tree.contains(&path) => Some("leads to no file"),
        Some(_) => None,
    }
}

/// `path` from the repository's root; `None` where it leaves the repository.
fn resolve(folder: &str, path: &str) -> Option<String> {
    let start = if path.starts_with('/') { "" } else { folder };
    let mut parts = Vec::new();
    for part in start.split('/').chain(path.split('/')) {
        match part {
            "" | "." => {}
            ".." => {
                parts.pop()?;
            }
            _ => parts.push(part),
        }
    }
    Some(parts.join("/"))
}

/// The targets of the inline links `[text](target)` and the definitions `[label]: target`, with
/// their lines; code is skipped.
fn links(text: &str) -> Vec<(usize, &str)> {
    let mut found = Vec::new();
    let mut in_code = false;
    for (number, line) in (1..).zip(text.lines()) {
        if line.trim_start().starts_with("```") {
            in_code = !in_code;
        } else if !in_code {
            found.extend(line_targets(line).into_iter().map(|target| (number, target)));
        }
    }
    found
}

fn line_targets(line: &str) -> Vec<&str> {
    let definition =
        line.strip_prefix('[').and_then(|rest| rest.split_once("]: ")).map(|(_, target)| target);
    let inline = line.match_indices("](").filter_map(|(offset, mark)| {
        let is_code = line[..offset].matches('`').count() % 2 == 1;
        let (target, _) = line[offset + mark.len()..].split_once(')')?;
        (!is_code).then_some(target)
    });
    definition
        .into_iter()
        .chain(inline)
        // A title may follow the target, and angle brackets may enclose it.
        .filter_map(|target| target.split_whitespace().next())
        .map(|target| target.trim_matches(['<', '>']))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn problems(text: &str) -> Vec<String> {
        let findings = check(&Tree::from([
            ("README.md", ""),
            ("crates/data/src/lib.rs", ""),
            ("crates/data/README.md", text),
        ]));
        findings
            .into_iter()
            .map(|finding| format!("{}: {}", finding.line, finding.problem))
            .collect()
    }

    #[test]
    fn links_that_lead_somewhere() {
        let text = "[up](../../README.md#install), [code](src/lib.rs), [crate](../data/)\n\
                    [here](#below) [web](https://example.org/x) [root](/README.md \"Title\")\n\
                    `[code](nowhere)`\n\
                    ```\n[more code](nowhere)\n```\n\
                    [label]: <src/lib.rs>\n";
        assert_eq!(problems(text), [""; 0]);
    }

    #[test]
    fn links_that_do_not() {
        let text = "![picture](loss.svg) and [data](../../../shared/data)\n\n[label]: gone.md\n";
        assert_eq!(
            problems(text),
            [
                "1: the link to `loss.svg` leads to no file",
                "1: the link to `../../../shared/data` leaves the repository",
                "3: the link to `gone.md` leads to no file",
            ]
        );
    }
}
