//! What types cannot express: ranges, and keys that depend on each other.

use super::{
    mismatch::{must_be, placed},
    problem::Problem,
    tree::{Node, Table},
};

/// A configuration, or a table of one, that can check its values.
pub trait Check {
    /// Reports every value that is out of range and every combination that makes no sense.
    fn check(&self, checker: &mut Checker<'_>);
}

/// Turns failed checks into problems that name the key, its value and where it was written.
///
/// Keys are given in full, such as `training.batch_size`.
#[derive(Debug)]
pub struct Checker<'a> {
    recipe: &'a Table,
    /// Without the options of the command line.
    usual: &'a Table,
    merged: &'a Table,
    /// Whether no key of any layer was refused before the checks.
    complete: bool,
    problems: Vec<Problem>,
}

impl<'a> Checker<'a> {
    pub(super) fn new([recipe, usual]: [&'a Table; 2], merged: &'a Table, complete: bool) -> Self {
        Self { recipe, usual, merged, complete, problems: Vec::new() }
    }

    pub(super) fn into_problems(self) -> Vec<Problem> {
        self.problems
    }

    /// Requires something of one value: `` `key` must be {rule}, found .. ``.
    pub fn require(&mut self, key: &str, holds: bool, rule: &str) {
        if !holds {
            let node = self.merged.given(key);
            let is_usual = node == self.usual.given(key);
            let example = if is_usual { self.recipe } else { self.usual };
            let mut problem = must_be(key, rule, node, example);
            let leave_out = || format!("omit `{key}` for the recipe's default");
            problem.help.get_or_insert_with(leave_out);
            self.problems.push(problem);
        }
    }

    /// Refuses a combination of keys; `key` is the one whose place is shown.
    ///
    /// Suppressed if some key was refused for its name or type, since that key may be the cause.
    pub fn conflict(&mut self, key: &str, message: impl Into<String>, help: impl Into<String>) {
        if self.complete {
            let message = placed(message.into(), self.merged.given(key));
            self.problems.push(Problem::new(message).with_help(help));
        }
    }

    /// Requires a key that the value of `chooser` cannot do without.
    pub fn needs(&mut self, chooser: &str, key: &str, help: &str) {
        if let Some(chosen) = self.merged.given(chooser)
            && self.merged.given(key).is_none()
        {
            let message = format!("`{chooser} = {}` needs `{key}`", chosen.value);
            self.conflict(chooser, message, help);
        }
    }

    /// Whether the recipe gives the key a value.
    pub fn is_in_recipe(&self, key: &str) -> bool {
        self.recipe.given(key).is_some()
    }

    /// Whether a layer gave the key another value than the recipe's.
    pub fn is_changed(&self, key: &str) -> bool {
        let given = self.merged.given(key);
        given.is_some() && given != self.recipe.given(key)
    }

    /// Whether the key has this text as its value.
    pub fn is(&self, key: &str, value: &str) -> bool {
        self.merged.given(key).and_then(Node::text) == Some(value)
    }

    /// Refuses values for keys that nothing reads unless `chooser` is `choice`.
    ///
    /// Only values that differ from the recipe's are refused: a recipe has the keys of all its
    /// choices, and so does the configuration of a run.
    pub fn only_with(&mut self, chooser: &str, choice: &str, keys: &[&str]) {
        let Some(chosen) = self.merged.given(chooser).map(|node| &node.value) else {
            return;
        };
        for key in keys {
            if self.is_changed(key) {
                let choice = match choice {
                    "true" => choice.to_owned(),
                    text => format!("{text:?}"),
                };
                self.conflict(
                    key,
                    format!("`{key}` has no effect with `{chooser} = {chosen}`"),
                    format!("leave it out, or set `{chooser} = {choice}`"),
                );
            }
        }
    }
}
