//! Separates Rust code from comments and literals, so that a check that looks for a word does not find
//! it in a sentence or in a test's sample.

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Kind {
    Code,
    Comment,
    Literal,
}

/// `source` with its comments and literals blanked; every byte stays at its offset.
pub(crate) fn code(source: &str) -> String {
    only(Kind::Code, source)
}

/// `source` with all but its comments blanked; every byte stays at its offset.
pub(crate) fn comments(source: &str) -> String {
    only(Kind::Comment, source)
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

/// The number of the line, counted from 1, that holds the byte at `offset`.
pub(crate) fn line_at(text: &str, offset: usize) -> usize {
    1 + text[..offset].matches('\n').count()
}

fn only(wanted: Kind, source: &str) -> String {
    let mut view = String::with_capacity(source.len());
    let mut rest = source;
    while !rest.is_empty() {
        let (kind, length) = next_token(rest);
        let (token, after) = rest.split_at(length);
        if kind == wanted {
            view.push_str(token);
        } else {
            for c in token.chars() {
                match c {
                    '\n' => view.push('\n'),
                    _ => view.extend(std::iter::repeat_n(' ', c.len_utf8())),
                }
            }
        }
        rest = after;
    }
    view
}

/// The kind and length of what `source`, which is not empty, begins with: a whole comment, a whole
/// literal, or one character of code.
fn next_token(source: &str) -> (Kind, usize) {
    if source.starts_with("//") {
        let length = source.find('\n').unwrap_or(source.len());
        return (Kind::Comment, length);
    }
    if source.starts_with("/*") {
        return (Kind::Comment, block_comment_length(source));
    }
    if let Some(length) = raw_string_length(source) {
        return (Kind::Literal, length);
    }
    if source.starts_with('"') {
        return (Kind::Literal, quoted_length(source, '"'));
    }
    // A quote is a character if it is escaped or closed after one character, else a lifetime.
    let mut characters = source.chars();
    let first = characters.next();
    if first == Some('\'') && (characters.next() == Some('\\') || characters.next() == Some('\'')) {
        return (Kind::Literal, quoted_length(source, '\''));
    }
    (Kind::Code, first.map_or(0, char::len_utf8))
}

/// Block comments nest in Rust.
fn block_comment_length(source: &str) -> usize {
    let mut depth = 0;
    let mut at = 0;
    while at < source.len() {
        let rest = &source.as_bytes()[at..];
        if rest.starts_with(b"/*") {
            depth += 1;
            at += 2;
        } else if rest.starts_with(b"*/") {
            depth -= 1;
            at += 2;
            if depth == 0 {
                break;
            }
        } else {
            at += 1;
        }
    }
    at
}

/// `r"..."`, `r#"..."#` and so on: it ends at a quote followed by as many `#` as it began with.
fn raw_string_length(source: &str) -> Option<usize> {
    let after_r = source.strip_prefix('r')?;
    let content = after_r.trim_start_matches('#').strip_prefix('"')?;
    let hashes = after_r.len() - content.len() - 1;
    let end = format!("\"{}", "#".repeat(hashes));
    let length = content.find(&end).map(|offset| offset + end.len());
    Some(source.len() - content.len() + length.unwrap_or(content.len()))
}

fn quoted_length(source: &str, quote: char) -> usize {
    let mut escaped = false;
    for (offset, c) in source.char_indices().skip(1) {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            _ if c == quote => return offset + 1,
            _ => {}
        }
    }
    source.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Compares the views word by word; how wide the blanks are is a test of its own.
    #[track_caller]
    fn check(source: &str, code_words: &str, comment_words: &str) {
        let words = |view: String| view.split_whitespace().collect::<Vec<_>>().join(" ");
        assert_eq!(words(code(source)), code_words, "code");
        assert_eq!(words(comments(source)), comment_words, "comments");
    }

    #[test]
    fn comments_end_with_their_line_or_their_last_closing_mark() {
        check("a // b\nc", "a c", "// b");
        check("a /* /* b */ */ c", "a c", "/* /* b */ */");
        check("a /* b", "a", "/* b");
    }

    #[test]
    fn literals_end_at_their_own_quote() {
        check(r#"f("a\"//b") // c"#, "f( )", "// c");
        check(r##"r#"a"b"# x"##, "x", "");
        check(r#"r"\" x br"y" z"#, "x b z", "");
        check(r#"x "a"#, "x", "");
    }

    #[test]
    fn a_lifetime_is_code_and_a_character_is_not() {
        check("&'a str", "&'a str", "");
        check(r"'a' '\'' '\u{41}' 'é' x", "x", "");
        check("f::<'a>('\"') // b", "f::<'a>( )", "// b");
    }

    #[test]
    fn every_byte_stays_at_its_offset() {
        let source = "let é = \"é\nß\"; // ü";
        assert_eq!(code(source).len(), source.len());
        assert_eq!(code(source).find(';'), source.find(';'));
        assert_eq!(code(source).lines().count(), 2);
    }

    #[test]
    fn a_word_is_not_found_inside_a_longer_one() {
        assert_eq!(word_offsets("unsafe_code unsafe unsafer", "unsafe"), [12]);
    }

    #[test]
    fn lines_are_counted_from_one() {
        assert_eq!(line_at("a\nb", 0), 1);
        assert_eq!(line_at("a\nb", 2), 2);
    }
}
