//! `unsafe` occurs only in the kernels of `crates/backend`, and each use states why it is sound.

use crate::tidy::{Finding, Tree, rust_text, tree::File};

/// The CPU's kernels, the GPUs' kernels, and the driver that cudarc probes for.
const PLACES: [&str; 3] =
    ["crates/backend/src/flex", "crates/backend/src/cube", "crates/backend/src/device"];

pub(crate) fn check(tree: &Tree) -> Vec<Finding> {
    tree.sources().flat_map(check_file).collect()
}

fn check_file(file: &File) -> Vec<Finding> {
    let lines: Vec<_> = file.text.lines().collect();
    let may_be_unsafe = PLACES.iter().any(|place| is_within(&file.path, place));
    file.lines()
        .filter(|(_, text)| {
            let (code, _) = rust_text::code_and_comment(text);
            !rust_text::word_offsets(code, "unsafe").is_empty()
        })
        .filter_map(|(line, _)| {
            let (problem, remedy) = if !may_be_unsafe {
                (
                    "`unsafe` outside the kernels",
                    "write it in safe Rust, or move it under crates/backend/src/flex or cube",
                )
            } else if !is_explained(&lines, line - 1) {
                (
                    "`unsafe` without a reason",
                    "state why it is sound in a `// SAFETY:` comment above it, or what the caller \
                     must ensure under `# Safety`",
                )
            } else {
                return None;
            };
            Some(Finding {
                path: file.path.clone(),
                line,
                problem: problem.to_owned(),
                remedy: remedy.to_owned(),
            })
        })
        .collect()
}

/// Whether `path` is the module `place`: its file, or a file of its folder.
fn is_within(path: &str, place: &str) -> bool {
    path.strip_prefix(place).is_some_and(|rest| rest == ".rs" || rest.starts_with('/'))
}

/// Whether the comments above the statement or item that holds `lines[index]` give a reason.
fn is_explained(lines: &[&str], index: usize) -> bool {
    lines[..index]
        .iter()
        .rev()
        .map(|line| line.trim())
        .take_while(|line| is_comment(line) || !ends_before(line))
        .any(|line| is_comment(line) && (line.contains("SAFETY:") || line.contains("# Safety")))
}

fn is_comment(line: &str) -> bool {
    line.starts_with("//")
}

/// Whether `line` ends a statement or item, so that another follows.
fn ends_before(line: &str) -> bool {
    line.is_empty() || line.ends_with([';', '{', '}', ','])
}

#[cfg(test)]
mod tests {
    use super::*;

    const EXPLAINED: &str = "
// SAFETY: the lengths are equal (asserted above).
let sum =
    unsafe { dot(a, b) };
/// # Safety
///
/// The processor has AVX2.
#[target_feature(enable = \"avx2\")]
unsafe fn dot_avx2() {}
";

    #[track_caller]
    fn check_lines(path: &str, text: &str, lines: &[usize]) {
        let findings = check(&Tree::from([(path, text)]));
        let found: Vec<_> = findings.iter().map(|finding| finding.line).collect();
        assert_eq!(found, lines, "{findings:?}");
    }

    #[test]
    fn kernels_may_be_unsafe_if_they_state_why() {
        check_lines("crates/backend/src/flex/dot.rs", EXPLAINED, &[]);
        check_lines("crates/backend/src/cube.rs", EXPLAINED, &[]);
    }

    #[test]
    fn a_reason_counts_only_for_the_statement_below_it() {
        let text = "// SAFETY: holds.\nlet a = 1;\nlet b = unsafe { f(a) };\n\nunsafe fn g() {}\n";
        check_lines("crates/backend/src/flex/dot.rs", text, &[3, 5]);
    }

    #[test]
    fn other_code_must_be_safe() {
        check_lines("crates/data/src/lib.rs", EXPLAINED, &[4, 9]);
        check_lines("crates/backend/src/flexible.rs", EXPLAINED, &[4, 9]);
    }

    #[test]
    fn only_the_keyword_counts() {
        let text = "#![deny(unsafe_code)]\n// Not unsafe.\nlet safe = 1; // not unsafe\n";
        check_lines("crates/data/src/lib.rs", text, &[]);
    }
}
