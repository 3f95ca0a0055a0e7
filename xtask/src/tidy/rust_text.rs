//! Rust as lines of code and comments, well enough for the checks: in a literal, too, `//` begins a
//! comment, and any other word is code.

/// The code of a line, and the comment after it.
pub(crate) fn code_and_comment(line: &str) -> (&str, &str) {
    line.split_once("//").unwrap_or((line, ""))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_comment_ends_the_code_of_its_line() {
        assert_eq!(code_and_comment("a // b // c"), ("a ", " b // c"));
        assert_eq!(code_and_comment("/// a"), ("", "/ a"));
        assert_eq!(code_and_comment("a / b"), ("a / b", ""));
    }
}
