//! Names as people read them.

/// The most letters of a name in a table.
pub(crate) const LONGEST_NAME: usize = 40;

/// The name on one line, or its two ends, of so many letters at most: names that are long often begin, or
/// end, alike.
pub(crate) fn shortened(name: &str, most: usize) -> String {
    let name = name.replace('\n', "\\n");
    let letters: Vec<char> = name.chars().collect();
    if letters.len() <= most {
        return name;
    }
    let (first, last) = (most / 2, most.saturating_sub(1) / 2);
    let (first, last) = (&letters[..first], &letters[letters.len() - last..]);
    first.iter().chain(&['…']).chain(last).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_name_keeps_both_its_ends() {
        let long = "a class whose name would fill a line of its own, or at least one half of it";
        assert_eq!(shortened(long, 40), "a class whose name w…east one half of it");
        assert_eq!(["ünï", "ab…de"].map(|name| shortened(name, 5)), ["ünï", "ab…de"]);
        assert_eq!(shortened("a\nb", 40), "a\\nb");
        assert_eq!([0, 1, 2, 3].map(|most| shortened("abcd", most)), ["…", "…", "a…", "a…d"]);
    }
}
