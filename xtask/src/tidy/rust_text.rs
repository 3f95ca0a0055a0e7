//! Rust as lines of code and comments, well enough for the checks: in a literal, too, `//` begins a
//! comment, and any other word is code.

/// The code of a line, and the comment after it.
pub(crate) fn code_and_comment(line: &str) -> (&str, &str) {
    line.split_once("//").unwrap_or((line, ""))
}

/// The offsets of `word` in `text` where it is not part of a longer name.
pub(crate) fn word_offsets(text: &str, word: &str) -> Vec<usize> {
    let is_name = |c: char| c == '_' || c.is_alphanumeric();
    text.match_indices(word)
        .map(|(offset, _)| offset)
        .filter(|&offset| {
            !text[..offset].ends_with(is_name) && !text[offset + word.len()..].starts_with(is_name)
        })
        .collect()
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

    #[test]
    fn a_word_is_not_found_inside_a_longer_one() {
        assert_eq!(word_offsets("unsafe_code unsafe unsafer", "unsafe"), [12]);
    }
}
