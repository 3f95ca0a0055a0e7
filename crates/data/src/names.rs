//! Names in the help of errors.

/// The candidate that `name` most likely misspells, if one is near.
pub(crate) fn nearest<'a>(name: &str, candidates: &'a [String]) -> Option<&'a str> {
    let name = name.to_lowercase();
    candidates
        .iter()
        .map(|candidate| (strsim::jaro_winkler(&name, &candidate.to_lowercase()), candidate))
        .filter(|(likeness, _)| *likeness > 0.8)
        .max_by(|(a, _), (b, _)| a.total_cmp(b))
        .map(|(_, candidate)| candidate.as_str())
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
