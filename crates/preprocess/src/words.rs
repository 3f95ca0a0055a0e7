//! How a text is cut into words, and how words become a text again.
//!
//! The tutorial's tokenizer lower-cases a text and throws its punctuation away, so that what a
//! model writes has neither sentences nor paragraphs. Here, too, words are in lower case, but each
//! punctuation mark and each blank line is a word of its own, and `Joiner` puts spaces and
//! capitals where they are usual. Cutting what was joined gives the same words.

use std::borrow::Cow;

/// The word that stands for one or more blank lines.
pub(crate) const PARAGRAPH: &str = "\n\n";

/// The words of a text.
///
/// A word is a run of letters and digits in lower case. An apostrophe before a letter belongs to it
/// (`don't`, `'tis`), as does a point, comma or colon between two digits (`1,024.5`). Any other
/// character that is not white space is a word by itself, so `re-read` is three. What follows a
/// word is cut without regard to what precedes it.
///
/// Scripts that write no spaces, and those whose vowels are combining marks, do better with
/// characters or bytes.
pub struct Words<'a> {
    rest: &'a str,
}

impl<'a> Words<'a> {
    /// The words of a text.
    pub fn of(text: &'a str) -> Self {
        Self { rest: text }
    }

    /// What is not cut yet.
    pub fn rest(&self) -> &'a str {
        self.rest
    }

    fn split_off(&mut self, length: usize) -> &'a str {
        let (taken, rest) = self.rest.split_at(length);
        self.rest = rest;
        taken
    }
}

impl<'a> Iterator for Words<'a> {
    type Item = Cow<'a, str>;

    fn next(&mut self) -> Option<Self::Item> {
        let space = self.split_off(self.rest.len() - self.rest.trim_start().len());
        if space.matches('\n').nth(1).is_some() {
            return Some(PARAGRAPH.into());
        }
        let first = self.rest.chars().next()?;
        match word_length(self.rest) {
            0 => Some(self.split_off(first.len_utf8()).into()),
            length => Some(lower_case(self.split_off(length))),
        }
    }
}

/// The bytes of the word that a text begins with; 0 where it begins with punctuation.
fn word_length(text: &str) -> usize {
    let mut length = 0;
    let mut previous = None;
    let mut characters = text.chars().peekable();
    while let Some(character) = characters.next() {
        let next = characters.peek().copied();
        let digit = |neighbour: Option<char>| neighbour.is_some_and(|c| c.is_ascii_digit());
        let belongs = match character {
            '\'' | '’' => next.is_some_and(is_letter),
            '.' | ',' | ':' => digit(previous) && digit(next),
            _ => is_letter(character),
        };
        if !belongs {
            break;
        }
        length += character.len_utf8();
        previous = Some(character);
    }
    length
}

/// Letters, digits, and the accents of letters that are written decomposed.
pub(super) fn is_letter(character: char) -> bool {
    character.is_alphanumeric() || ('\u{300}'..='\u{36f}').contains(&character)
}

fn lower_case(word: &str) -> Cow<'_, str> {
    let lower = |letter: char| letter.to_lowercase().eq([letter]);
    if word.chars().all(lower) { word.into() } else { word.to_lowercase().into() }
}

/// Puts words together, one at a time, so that text can be shown while it is written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Joiner {
    /// Whether a space follows what was written last.
    space: bool,
    /// Whether a sentence begins.
    sentence: bool,
    /// Whether a straight quotation mark is open.
    quoted: bool,
}

impl Joiner {
    /// At the beginning of a text.
    pub(crate) fn new() -> Self {
        Self { space: false, sentence: true, quoted: false }
    }

    /// Appends a word, with the space and the capital that are due.
    pub(crate) fn push(&mut self, word: &str, text: &mut String) {
        let (before, after) = self.spaces(word);
        if self.space && before {
            text.push(' ');
        }
        self.space = after;
        if self.sentence {
            push_capitalised(word, text);
        } else {
            text.push_str(word);
        }
        self.sentence = match word {
            "." | "!" | "?" | "…" | PARAGRAPH => true,
            "\"" | "'" | "“" | "”" | "‘" | "’" | "(" | ")" | "[" | "]" | "¿" | "¡" => {
                self.sentence
            }
            _ => false,
        };
    }

    /// Whether a word takes a space before and after it.
    fn spaces(&mut self, word: &str) -> (bool, bool) {
        match word {
            "." | "," | ";" | ":" | "!" | "?" | "…" | "%" => (false, true),
            ")" | "]" | "}" | "”" | "’" | "»" | "'" => (false, true),
            "(" | "[" | "{" | "“" | "‘" | "«" | "¿" | "¡" | "$" | "£" | "€" | "#" => {
                (true, false)
            }
            "-" | "–" | "—" | "/" | "\\" | "_" | "@" | "^" => (false, false),
            "\"" => {
                self.quoted = !self.quoted;
                (self.quoted, !self.quoted)
            }
            PARAGRAPH => {
                self.quoted = false; // a forgotten one would reverse all that follow
                (false, false)
            }
            _ => (true, true),
        }
    }
}

/// Appends a word with a capital, unless lower-casing would then give another word.
fn push_capitalised(word: &str, text: &mut String) {
    let start = word.len() - word.trim_start_matches(['\'', '’']).len();
    let (apostrophe, letters) = word.split_at(start);
    text.push_str(apostrophe);
    let mut rest = letters.chars();
    let Some(first) = rest.next() else { return };
    let mut upper = first.to_uppercase();
    match (upper.next(), upper.next()) {
        (Some(capital), None) if capital.to_lowercase().eq([first]) => text.push(capital),
        _ => text.push(first),
    }
    text.push_str(rest.as_str());
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn cut(text: &str) -> Vec<String> {
        Words::of(text).map(Cow::into_owned).collect()
    }

    fn join(words: &[String]) -> String {
        let (mut joiner, mut text) = (Joiner::new(), String::new());
        words.iter().for_each(|word| joiner.push(word, &mut text));
        text
    }

    #[test]
    fn words_are_cut_at_spaces_and_punctuation() {
        let check = |text: &str, expected: &str| {
            assert_eq!(cut(text).join("|").replace(PARAGRAPH, "PARAGRAPH"), expected, "{text:?}");
        };
        check("", "");
        check(" \n\t", "");
        check("The GPU waits.", "the|gpu|waits|.");
        check("Don't! 'Tis the dogs' - it’s", "don't|!|'tis|the|dogs|'|-|it’s");
        check("1,024.5 at 10:30, 3. Then v1.2", "1,024.5|at|10:30|,|3|.|then|v1.2");
        check("re-read (twice)", "re|-|read|(|twice|)");
        check("one\ntwo\r\n \r\n\nthree\n\n", "one|two|PARAGRAPH|three|PARAGRAPH");
        check("ÄRGER Ǆ İ e\u{301}t\u{e9}", "ärger|ǆ|i\u{307}|e\u{301}té");
    }

    #[test]
    fn joined_words_read_well() {
        let check = |text: &str| assert_eq!(join(&cut(text)), text);
        check("A warp has 32 threads; a block (often 256 of them) has more.");
        check("\"Is it fast?\" It was (mostly). \"Yes,\" she said.");
        check("Two-thirds, 1,024.5 bytes, 50%, $3 and/or don't.\n\n'Tis \"so\".");
        check("“Quoted,” he said—‘twice’.");
        check("A forgotten \"quote.\n\n\"Whole,\" it said.");
    }

    #[test]
    fn words_are_lower_case_and_stay_whole_in_it() {
        for letter in ('\0'..=char::MAX).filter(|&letter| is_letter(letter)) {
            let word = lower_case(letter.encode_utf8(&mut [0; 4])).into_owned();
            assert!(word.chars().all(is_letter), "{letter:?}");
            assert_eq!(lower_case(&word), word, "{letter:?}");
        }
    }

    /// Text with all that the rules speak of.
    fn text() -> impl Strategy<Value = String> {
        let piece = prop_oneof![
            3 => prop::sample::select(vec!["a", "Be", "7", "I", " ", " ", "\n", "\n\n"]),
            1 => prop::sample::select(vec!["ß", "Σ", "ǅ", "İ", "e\u{301}", "\u{301}", "…", "—"]),
            3 => prop::sample::select(vec![
                "'", "’", "‘", "\"", "“", "”", ".", ",", ":", "-", "(", ")", "$", "%", "<", "&",
            ]),
        ];
        prop_oneof![
            prop::collection::vec(piece, 0..12).prop_map(|pieces| pieces.concat()),
            any::<String>(),
        ]
    }

    proptest! {
        #[test]
        fn joined_words_are_cut_into_the_same(text in text()) {
            let words = cut(&text);
            let joined = join(&words);
            prop_assert_eq!(cut(&joined), words, "{:?}", joined);
        }

        #[test]
        fn a_text_can_be_divided_behind_any_word(text in text(), at in 0usize..12) {
            let mut words = Words::of(&text);
            words.by_ref().take(at).for_each(drop);
            let (front, back) = text.split_at(text.len() - words.rest.len());
            prop_assert_eq!(cut(front).len(), at.min(cut(&text).len()));
            prop_assert_eq!([cut(front), cut(back)].concat(), cut(&text));
        }
    }
}
