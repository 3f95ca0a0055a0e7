//! A value that does not fit the configuration's types, and its message.

use std::fmt;

use serde::de::{Error, Expected, Unexpected};

use super::{
    problem::{DEVICE, Problem, difference, is_device, nearest, usual_choice, usual_name},
    tree::{Node, Step, Table, Value, dotted},
};
use crate::{names::shortened, shell::set};

/// The most letters of a value or a line that are quoted.
pub(super) const LONGEST: usize = 60;

/// What serde found wrong, and the path to it from the top of the configuration.
#[derive(Debug)]
pub(super) struct Mismatch {
    fault: Fault,
    path: Vec<Step>,
}

#[derive(Debug)]
enum Fault {
    /// The path ends in a key that its table does not have.
    UnknownKey { known: &'static [&'static str] },
    /// The path ends in a table that lacks a key.
    MissingKey,
    /// The path ends in a value of the wrong type, or in a word that is none of the choices.
    WrongValue { expected: String, choices: &'static [&'static str] },
    /// Refused by a type's own check, with its message.
    Other(String),
}

impl Mismatch {
    /// A value that is not what its key takes.
    pub(super) fn wrong(expected: impl Into<String>) -> Self {
        Fault::WrongValue { expected: expected.into(), choices: &[] }.into()
    }

    /// The same mismatch, seen from the enclosing table or list.
    pub(super) fn within(mut self, step: Step) -> Self {
        self.path.insert(0, step);
        self
    }

    /// The path to what must be removed for the rest to fit.
    pub(super) fn path(&self) -> &[Step] {
        &self.path
    }

    /// The mismatch as a message; `configuration` is what was read, `recipe` supplies examples.
    pub(super) fn problem(&self, configuration: &Table, recipe: &Table) -> Problem {
        let key = dotted(&self.path);
        let node = configuration.at(&self.path);
        match &self.fault {
            Fault::UnknownKey { known } => {
                Problem::new(placed(format!("unknown key `{key}`"), node))
                    .with_help(self.known_keys(known, recipe))
            }
            Fault::MissingKey => Problem::new(format!("`{key}` is missing")),
            Fault::WrongValue { expected, choices } => {
                let problem = must_be(&key, expected, node, recipe);
                let meant = |word: &str| {
                    let usual = usual_choice(word).filter(|usual| choices.contains(usual));
                    usual.or_else(|| nearest(word, choices.iter().copied()))
                };
                match node.and_then(|node| meant(node.text()?)) {
                    Some(choice) => problem.with_help(format!("did you mean `{choice:?}`?")),
                    None => problem,
                }
            }
            Fault::Other(message) => Problem::new(placed(format!("`{key}`: {message}"), node)),
        }
    }

    /// Help for an unknown key: the key that was meant, or else all keys.
    fn known_keys(&self, known: &[&str], recipe: &Table) -> String {
        let Some((Step::Key(word), parents)) = self.path.split_last() else {
            return in_backticks(known, "and");
        };
        let near = nearest(word, known.iter().copied()).map(|key| {
            let key = Step::Key(key.to_owned());
            dotted(&[parents, &[key]].concat())
        });
        match near.or_else(|| recipe.find(usual_name(word))) {
            None if is_device(word) => DEVICE.to_owned(),
            Some(meant) => format!("did you mean `{meant}`{}?", difference(word)),
            None if parents.is_empty() => format!("the keys are {}", in_backticks(known, "and")),
            None if known.is_empty() => {
                format!("this recipe has nothing to set in `[{}]`", dotted(parents))
            }
            None => format!("`[{}]` has the keys {}", dotted(parents), in_backticks(known, "and")),
        }
    }
}

impl From<Fault> for Mismatch {
    fn from(fault: Fault) -> Self {
        Self { fault, path: Vec::new() }
    }
}

/// How serde's visitors report what they find.
impl Error for Mismatch {
    fn custom<T: fmt::Display>(message: T) -> Self {
        Fault::Other(message.to_string()).into()
    }

    fn invalid_type(_found: Unexpected<'_>, expected: &dyn Expected) -> Self {
        Self::wrong(expected.to_string())
    }

    fn invalid_value(_found: Unexpected<'_>, expected: &dyn Expected) -> Self {
        Self::wrong(expected.to_string())
    }

    fn unknown_variant(_found: &str, choices: &'static [&'static str]) -> Self {
        Fault::WrongValue { expected: one_of(choices), choices }.into()
    }

    /// Raised while the key is read, so its table adds the path to it.
    fn unknown_field(_found: &str, known: &'static [&'static str]) -> Self {
        Fault::UnknownKey { known }.into()
    }

    fn missing_field(name: &'static str) -> Self {
        Self::from(Fault::MissingKey).within(Step::Key(name.to_owned()))
    }
}

/// Required by serde; users see [`Mismatch::problem`].
impl fmt::Display for Mismatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {:?}", dotted(&self.path), self.fault)
    }
}

impl std::error::Error for Mismatch {}

/// The message for a wrong value, with the usual one as an example: the recipe's, or that of a file on
/// top of it.
pub(super) fn must_be(key: &str, expected: &str, node: Option<&Node>, usual: &Table) -> Problem {
    let found = match node.map(|node| &node.value) {
        Some(Value::Table(_)) => ", found a table".to_owned(),
        Some(value) => format!(", found `{}`", shortened(&value.to_string(), LONGEST)),
        None => String::new(),
    };
    let problem = Problem::new(placed(format!("`{key}` must be {expected}{found}"), node));
    if let (Some(Value::Table(inner)), Some(column)) =
        (node.map(|node| &node.value), key.strip_prefix("data.columns."))
        && let Some((rest, kind)) = first_leaf(inner)
    {
        let example = set(&format!("data.columns.'{column}.{rest}'={kind}"));
        return problem.with_help(format!("put a name that contains a dot in quotes:{example}"));
    }
    // As other programs take lists.
    let listed = node.and_then(Node::text).filter(|text| text.contains(',') && !text.contains('['));
    if let Some(text) = listed.filter(|_| expected.starts_with("a list")) {
        return problem.with_help(format!("put a list in brackets: `{key}=[{text}]`"));
    }
    match usual.given(key) {
        Some(Node { value: Value::Table(_), .. }) | None => problem,
        Some(Node { value, origin, .. }) => {
            let place = match origin.place.strip_prefix(RECIPE) {
                Some(_) => "the recipe".to_owned(),
                None => format!("`{}`", origin.place),
            };
            problem.with_help(format!("{place} has `{key} = {value}`"))
        }
    }
}

/// The first value of a table that is none itself, and its path.
fn first_leaf(table: &Table) -> Option<(String, String)> {
    let (name, node) = table.0.iter().next()?;
    match &node.value {
        Value::Table(inner) => {
            first_leaf(inner).map(|(rest, value)| (format!("{name}.{rest}"), value))
        }
        value => Some((name.clone(), value.to_string().replace('"', ""))),
    }
}

/// A message with the place it is about.
pub(super) fn placed(message: String, node: Option<&Node>) -> String {
    match node {
        Some(node) => format!("{message}, in {}", node.origin),
        None => message,
    }
}

/// What the place of a recipe's own settings begins with, before its name.
pub(super) const RECIPE: &str = "recipe ";

/// A choice that is not offered: the schedule of `recipes lr-find`.
const NOT_OFFERED: &str = "range";

/// The choices of an enum, quoted as in TOML.
pub(super) fn one_of(choices: &[&str]) -> String {
    let offered = choices.iter().filter(|choice| **choice != NOT_OFFERED);
    let quoted: Vec<String> = offered.map(|choice| format!("{choice:?}")).collect();
    let quoted: Vec<&str> = quoted.iter().map(String::as_str).collect();
    in_backticks(&quoted, "or")
}

/// `a`, `b` and `c`.
pub(crate) fn in_backticks(words: &[&str], conjunction: &str) -> String {
    let quoted: Vec<String> = words.iter().map(|word| format!("`{word}`")).collect();
    match quoted.as_slice() {
        [first @ .., last] if !first.is_empty() => {
            format!("{} {conjunction} {last}", first.join(", "))
        }
        _ => quoted.concat(),
    }
}
