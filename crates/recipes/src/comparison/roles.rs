//! What the settings on the data mean to a comparison of runs.

/// What a setting on the data decides.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Role {
    /// What is learnt.
    Task,
    /// Where the data are.
    Place,
    /// Which samples there are, and which of them are held out; equal hashes of the samples say it better.
    Choice,
    /// What is read or made of them. It changes their hash too.
    Contents,
    /// What changes no hash of the samples, so that it may differ where hashes are compared.
    Beside,
}

/// The settings on the data, but for the interpretation of single columns.
const ROLES: [(&str, Role); 35] = [
    ("data.cache", Role::Beside),
    ("data.channels", Role::Beside),
    ("data.class_weights", Role::Beside),
    ("data.drawing", Role::Task),
    ("data.features", Role::Choice),
    ("data.fraction", Role::Contents),
    ("data.group", Role::Choice),
    ("data.header", Role::Choice),
    ("data.hold_out", Role::Choice),
    ("data.labels", Role::Task),
    ("data.missing", Role::Choice),
    ("data.normalise", Role::Beside),
    ("data.on_bad_image", Role::Contents),
    ("data.on_missing_target", Role::Choice),
    ("data.order", Role::Beside),
    ("data.path", Role::Place),
    ("data.residency", Role::Beside),
    ("data.resize", Role::Beside),
    ("data.samples", Role::Choice),
    ("data.sequence_length", Role::Beside),
    ("data.size", Role::Beside),
    ("data.source", Role::Task),
    ("data.target", Role::Task),
    ("data.target_scale", Role::Contents),
    ("data.task", Role::Task),
    ("data.test", Role::Choice),
    ("data.test_path", Role::Place),
    ("data.text_length", Role::Contents),
    ("data.text_vocabulary", Role::Contents),
    ("data.tokens", Role::Task),
    ("data.validation", Role::Choice),
    ("data.validation_path", Role::Place),
    ("data.vocabulary", Role::Task),
    ("data.workers", Role::Beside),
    // It decides how categories become features, which are hashed.
    ("model.embedding", Role::Contents),
];

/// That of a setting, if it is about the data. What is not in the table is of single columns, or of another
/// version of this program.
pub(super) fn role(key: &str) -> Option<Role> {
    let known = ROLES.iter().find(|(name, _)| *name == key).map(|&(_, role)| role);
    known.or_else(|| key.starts_with("data.").then_some(Role::Contents))
}

/// The settings of this role.
pub(super) fn keys(role: Role) -> impl Iterator<Item = &'static str> {
    ROLES.iter().filter(move |&&(_, of)| of == role).map(|&(key, _)| key)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::registry::{RECIPES, Recipe};

    #[test]
    fn each_setting_on_the_data_has_a_role() {
        let settings = RECIPES.iter().flat_map(|recipe| Recipe::settings(recipe).into_keys());
        let of_data: BTreeSet<String> = settings.filter(|key| key.starts_with("data.")).collect();
        let has_role = |key: &&String| ROLES.iter().any(|(name, _)| name == key);
        let without: Vec<&String> = of_data.iter().filter(|key| !has_role(key)).collect();
        assert!(without.is_empty(), "{without:?}");
        let is_known = |key: &str| key == "model.embedding" || of_data.contains(key);
        let unknown: Vec<&str> =
            ROLES.iter().map(|&(key, _)| key).filter(|key| !is_known(key)).collect();
        assert!(unknown.is_empty(), "{unknown:?}");
    }
}
