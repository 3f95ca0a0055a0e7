//! Names in the help of errors.

/// The known word that `word` was probably meant to be.
///
/// A third of its letters may differ, ignoring case; beyond that a guess misleads more often than
/// it helps.
pub fn nearest<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let word = word.to_lowercase();
    let letters = word.chars().count();
    let sensible = (letters / 3).max(1);
    known
        .into_iter()
        .map(|candidate| (strsim::damerau_levenshtein(&word, &candidate.to_lowercase()), candidate))
        .filter(|&(distance, _)| distance <= sensible && distance < letters)
        .min_by_key(|&(distance, _)| distance)
        .map(|(_, candidate)| candidate)
}

/// The first names of a list, quoted.
pub(crate) fn list(names: &[String]) -> String {
    const SHOWN: usize = 10;
    let mut list: Vec<String> = names.iter().take(SHOWN).map(|name| format!("`{name}`")).collect();
    if names.len() > SHOWN {
        list.push(format!("and {} more", names.len() - SHOWN));
    }
    list.join(", ")
}

#[cfg(test)]
mod tests {
    use super::nearest;

    #[test]
    fn nearest_knows_slips_of_the_pen_and_does_not_guess_beyond() {
        let known = ["source", "samples", "features", "kind"];
        assert_eq!(nearest("sorce", known), Some("source"));
        assert_eq!(nearest("smaples", known), Some("samples"));
        assert_eq!(nearest("Kind", known), Some("kind"));
        assert_eq!(nearest("adamW", ["adam", "adamw"]), Some("adamw"));
        assert_eq!(nearest("CNN", ["rnn", "cnn"]), Some("cnn"));
        assert_eq!(nearest("rows", known), None);
        assert_eq!(nearest("k", known), None);
        assert_eq!(nearest("", known), None);
    }
}
