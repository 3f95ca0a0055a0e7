//! How a cell of a column of texts becomes tokens.

use std::iter::repeat_n;

use unicode_normalization::UnicodeNormalization;

use super::{cell::Cell, vocabulary::Vocabulary, words::is_letter};

/// A text prepared for [`Words`](super::words::Words), so that it has the same words whatever program wrote it:
/// characters are composed, apostrophes are straight, and one that does not follow a letter or digit stands alone,
/// like a quotation mark. Characters of scripts that put no spaces between words are words. Line breaks are spaces,
/// as cells are read in one line.
pub fn plain(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut is_in_word = false;
    for character in text.nfc() {
        match character {
            '\'' | '’' if is_in_word => plain.push('\''),
            '\'' | '’' | '‘' => plain.push_str(" ' "),
            _ if character.is_control() => plain.push(' '),
            _ if stands_alone(character) => {
                plain.push(' ');
                plain.push(character);
                plain.push(' ');
            }
            _ => plain.push(character),
        }
        is_in_word = is_letter(character) && !stands_alone(character);
    }
    plain
}

/// Whether a character is a word, as of a script without spaces between words: Thai, Lao, Burmese, Khmer, Japanese
/// kana, and Chinese characters.
fn stands_alone(character: char) -> bool {
    matches!(
        character,
        '\u{e00}'..='\u{eff}'
            | '\u{1000}'..='\u{109f}'
            | '\u{1780}'..='\u{17ff}'
            | '\u{3040}'..='\u{30ff}'
            | '\u{3400}'..='\u{9fff}'
            | '\u{f900}'..='\u{faff}'
            | '\u{20000}'..='\u{3ffff}'
    )
}

/// The ids of a cell's tokens, of which there are none where it is missing.
pub(crate) fn token_ids(vocabulary: &Vocabulary, text: &str) -> Vec<u32> {
    match Cell::parse(text) {
        Cell::Missing => Vec::new(),
        _ => ids_of_plain(vocabulary, &plain(text)),
    }
}

/// The ids of the tokens of a [`plain`] text.
pub fn ids_of_plain(vocabulary: &Vocabulary, plain: &str) -> Vec<u32> {
    let mut ids = Vec::new();
    vocabulary.each_id(plain, |id| ids.extend(id)); // without characters that have none
    ids
}

/// Appends the features of a text of these tokens, `length` of them.
pub fn encode_tokens(ids: &[u32], length: usize, out: &mut Vec<f32>) {
    let read = &ids[ids.len().saturating_sub(length)..];
    out.extend(repeat_n(0.0, length - read.len()));
    out.extend(read.iter().map(|&id| (id + 1) as f32));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::words::Words;

    #[test]
    fn one_text_has_the_same_words_whatever_wrote_it() {
        let words = |text: &str| Words::of(&plain(text)).collect::<Vec<_>>().join("|");
        let check = |text: &str, expected: &str| assert_eq!(words(text), expected, "{text:?}");
        check("Don’t say 'ok', it's 1,024.5", "don't|say|'|ok|'|,|it's|1,024.5");
        check("the dogs' bone, ‘quoted’", "the|dogs|'|bone|,|'|quoted|'");
        check("Scho\u{308}n, U\u{308}ber", "schön|,|über");
        check("x\u{304}'s", "x\u{304}'s");
        check("one\n\ntwo\tthree", "one|two|three");
        check("今天喜欢 the 電影。", "今|天|喜|欢|the|電|影|。");
        check("今'x'", "今|'|x|'");
        check("ありがとう!", "あ|り|が|と|う|!");
        check("한국어 영화", "한국어|영화");
        check("", "");
    }
}
