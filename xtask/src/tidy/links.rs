//! Links in Markdown files to files of the repository, and to their headings, lead to existing ones.

use crate::tidy::{Finding, Tree, tree::File};

pub(crate) fn check(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for file in tree.with_extension("md") {
        for (line, target) in links(&file.text) {
            let Some(problem) = problem(tree, file, target) else {
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

/// What is wrong with a link in a file, if anything.
fn problem(tree: &Tree, file: &File, target: &str) -> Option<&'static str> {
    if target.contains("://") || target.starts_with("mailto:") {
        return None;
    }
    let (path, anchor) = target.split_once('#').unwrap_or((target, ""));
    let path = match path {
        "" => Some(file.path.clone()),
        path => resolve(file.folder(), path),
    };
    let Some(path) = path else { return Some("leaves the repository") };
    if !tree.contains(&path) {
        return Some("leads to no file");
    }
    let mut texts = tree.with_extension("md").filter(|other| other.path == path);
    let has_heading = |text: &str| headings(text).any(|heading| heading == anchor);
    let is_lost = !anchor.is_empty() && texts.any(|other| !has_heading(&other.text));
    is_lost.then_some("leads to no heading")
}

/// The headings of a Markdown file, as a link names them.
fn headings(text: &str) -> impl Iterator<Item = String> {
    let name = |line: &str| {
        let title = line.strip_prefix('#')?.trim_start_matches('#').strip_prefix(' ')?;
        let is_kept = |letter: &char| letter.is_alphanumeric() || " -_".contains(*letter);
        let letters: String = title.trim().to_lowercase().chars().filter(is_kept).collect();
        Some(letters.replace(' ', "-"))
    };
    prose(text).filter_map(move |(_, line)| name(line))
}

/// The lines that are not code, with their numbers.
fn prose(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut in_code = false;
    (1..).zip(text.lines()).filter(move |(_, line)| {
        let is_fence = line.trim_start().starts_with("```");
        in_code ^= is_fence;
        !in_code && !is_fence
    })
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
fn links(text: &str) -> impl Iterator<Item = (usize, &str)> {
    prose(text).flat_map(|(number, line)| {
        line_targets(line).into_iter().map(move |target| (number, target))
    })
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
            ("README.md", "# Project\n```\n# install\n```\n## On several devices, or `machines`\n"),
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
        let text = "[up](../../README.md#on-several-devices-or-machines), [code](src/lib.rs), [crate](../data/)\n\
                    # Below\n[here](#below) [web](https://example.org/x) [root](/README.md \"Title\")\n\
                    `[code](nowhere)`\n\
                    ```\n[more code](nowhere)\n```\n\
                    [label]: <src/lib.rs>\n";
        assert_eq!(problems(text), [""; 0]);
    }

    #[test]
    fn links_that_do_not() {
        let text = "![picture](loss.svg) and [data](../../../shared/data)\n\n[label]: gone.md\n\
                    [up](../../README.md#install) [here](#above)\n";
        assert_eq!(
            problems(text),
            [
                "1: the link to `loss.svg` leads to no file",
                "1: the link to `../../../shared/data` leaves the repository",
                "3: the link to `gone.md` leads to no file",
                "4: the link to `../../README.md#install` leads to no heading",
                "4: the link to `#above` leads to no heading",
            ]
        );
    }
}
