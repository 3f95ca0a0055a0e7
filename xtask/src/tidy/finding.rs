//! A violation of a convention: where it is, what it is, and how to fix it.

use std::fmt;

#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct Finding {
    /// From the repository's root.
    pub(crate) path: String,
    /// Counted from 1.
    pub(crate) line: usize,
    pub(crate) problem: String,
    pub(crate) remedy: String,
}

impl fmt::Display for Finding {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(formatter, "{}:{}: {}", self.path, self.line, self.problem)?;
        write!(formatter, "  help: {}", self.remedy)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_finding_names_file_line_and_remedy() {
        let finding = Finding {
            path: "crates/data/src/lib.rs".to_owned(),
            line: 7,
            problem: "501 lines; the limit is 500".to_owned(),
            remedy: "move its second idea to a file of its own".to_owned(),
        };
        assert_eq!(
            finding.to_string(),
            "crates/data/src/lib.rs:7: 501 lines; the limit is 500\n  \
             help: move its second idea to a file of its own"
        );
    }
}
