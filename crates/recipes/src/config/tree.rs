//! Values of a configuration as written, each with its place.

use std::{collections::BTreeMap, fmt, rc::Rc};

use data::toml_key;
use toml::de::{DeTable, DeValue};

/// The place a value was written at.
#[derive(Clone, Debug)]
pub(super) struct Origin {
    /// A file's path, or the whole option of the command line.
    pub(super) place: Rc<str>,
    /// Counted from 1; none on the command line.
    pub(super) line: Option<usize>,
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            Some(line) => write!(f, "{}:{line}", self.place),
            None => f.write_str(&self.place),
        }
    }
}

/// A value with its place. Two nodes are equal if their values are, `0` and `0.0` among them, and two NaN.
#[derive(Clone, Debug)]
pub(super) struct Node {
    pub(super) value: Value,
    pub(super) origin: Origin,
    /// The text on the command line, for keys that take a string: a file may be called `2024`.
    pub(super) argument: Option<String>,
}

impl Node {
    /// A value from a file, or from inside another value.
    pub(super) fn new(value: Value, origin: Origin) -> Self {
        Self { value, origin, argument: None }
    }

    /// The value as a string, if it has one.
    pub(super) fn text(&self) -> Option<&str> {
        match &self.value {
            Value::Text(text) => Some(text),
            _ => self.argument.as_deref(),
        }
    }
}

impl PartialEq for Node {
    fn eq(&self, other: &Self) -> bool {
        match (&self.value, &other.value) {
            (Value::Integer(integer), Value::Float(float))
            | (Value::Float(float), Value::Integer(integer)) => *integer as f64 == *float,
            (Value::Float(one), Value::Float(other)) if one.is_nan() => other.is_nan(),
            (one, other) => one == other,
        }
    }
}

/// A TOML value. Integers are wider than TOML's own, since seeds take all 64 bits.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Value {
    Text(String),
    Integer(i128),
    Float(f64),
    Boolean(bool),
    Date(String),
    List(Vec<Node>),
    Table(Table),
}

impl Value {
    /// Converts a parsed value; `at` gives the origin of a position in the text.
    pub(super) fn from_toml(parsed: DeValue<'_>, at: &impl Fn(usize) -> Origin) -> Self {
        match parsed {
            DeValue::String(text) => Self::Text(text.into_owned()),
            DeValue::Integer(integer) => {
                i128::from_str_radix(integer.as_str(), integer.radix()).map_or_else(
                    // Too wide for any key; its message need not be exact.
                    |_| Self::Float(integer.as_str().parse().unwrap_or(f64::INFINITY)),
                    Self::Integer,
                )
            }
            DeValue::Float(float) => Self::Float(float.as_str().parse().unwrap_or(f64::NAN)),
            DeValue::Boolean(boolean) => Self::Boolean(boolean),
            DeValue::Datetime(date) => Self::Date(date.to_string()),
            DeValue::Array(elements) => Self::List(
                elements
                    .into_iter()
                    .map(|element| {
                        let origin = at(element.span().start);
                        Node::new(Self::from_toml(element.into_inner(), at), origin)
                    })
                    .collect(),
            ),
            DeValue::Table(table) => Self::Table(Table::from_toml(table, at)),
        }
    }

    /// Whether this is the empty string, which unsets an optional key.
    pub(super) fn is_unset(&self) -> bool {
        matches!(self, Self::Text(text) if text.is_empty())
    }
}

/// The value in TOML's notation; tables are abbreviated, since no message needs more.
impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Text(text) => write!(f, "{text:?}"),
            Self::Integer(integer) => write!(f, "{integer}"),
            Self::Float(float) if float.is_nan() => f.write_str("nan"),
            Self::Float(float) => write!(f, "{float:?}"),
            Self::Boolean(boolean) => write!(f, "{boolean}"),
            Self::Date(date) => f.write_str(date),
            Self::List(elements) => {
                f.write_str("[")?;
                for (position, element) in elements.iter().enumerate() {
                    let comma = if position > 0 { ", " } else { "" };
                    write!(f, "{comma}{}", element.value)?;
                }
                f.write_str("]")
            }
            Self::Table(_) => f.write_str("{ .. }"),
        }
    }
}

/// Keys and their values.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Table(pub(super) BTreeMap<String, Node>);

impl Table {
    /// Converts a parsed table; `at` gives the origin of a position in the text.
    pub(super) fn from_toml(parsed: DeTable<'_>, at: &impl Fn(usize) -> Origin) -> Self {
        let entries = parsed.into_iter().map(|(key, value)| {
            let origin = at(key.span().start);
            let value = Value::from_toml(value.into_inner(), at);
            (key.into_inner().into_owned(), Node::new(value, origin))
        });
        Self(entries.collect())
    }

    /// Puts `upper` on top: tables merge key by key, other values are replaced.
    pub(super) fn overlay(&mut self, upper: &Self) {
        for (key, above) in &upper.0 {
            match (self.0.get_mut(key).map(|below| &mut below.value), &above.value) {
                (Some(Value::Table(below)), Value::Table(above)) => below.overlay(above),
                _ => {
                    self.0.insert(key.clone(), above.clone());
                }
            }
        }
    }

    /// The value at a path.
    pub(super) fn at(&self, path: &[Step]) -> Option<&Node> {
        let [Step::Key(first), rest @ ..] = path else {
            return None;
        };
        rest.iter().try_fold(self.0.get(first)?, |node, step| match (&node.value, step) {
            (Value::Table(table), Step::Key(key)) => table.0.get(key),
            (Value::List(elements), Step::Index(index)) => elements.get(*index),
            _ => None,
        })
    }

    /// The value of a key such as `training.seed`; the empty string counts as none.
    pub(super) fn given(&self, key: &str) -> Option<&Node> {
        self.named(key).filter(|node| !node.value.is_unset())
    }

    /// As [`Table::given`], also where it is the empty string.
    pub(super) fn named(&self, key: &str) -> Option<&Node> {
        let path: Vec<Step> = key.split('.').map(|name| Step::Key(name.to_owned())).collect();
        self.at(&path)
    }

    /// Removes the value at a path, or the list that contains it; `false` if there is none.
    pub(super) fn remove(&mut self, path: &[Step]) -> bool {
        let [Step::Key(key), rest @ ..] = path else {
            return false;
        };
        match (self.0.get_mut(key).map(|node| &mut node.value), rest) {
            (Some(Value::Table(inner)), [Step::Key(_), ..]) => inner.remove(rest),
            _ => self.0.remove(key).is_some(),
        }
    }

    /// The full name of a key in some table below this one.
    ///
    /// - `wanted`: that name or its last part
    pub(super) fn find(&self, wanted: &str) -> Option<String> {
        if let Some((table, key)) = wanted.split_once('.') {
            let Value::Table(inner) = &self.0.get(table)?.value else { return None };
            return inner.0.contains_key(key).then(|| wanted.to_owned());
        }
        self.0.iter().find_map(|(name, node)| match &node.value {
            Value::Table(inner) if inner.0.contains_key(wanted) => Some(format!("{name}.{wanted}")),
            Value::Table(inner) => Some(format!("{name}.{}", inner.find(wanted)?)),
            _ => None,
        })
    }
}

/// One step from a table or list to a value in it.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Step {
    Key(String),
    Index(usize),
}

/// A path as a user would type it: `model.hidden[1]`, `data.columns."sepal length"`.
pub(super) fn dotted(path: &[Step]) -> String {
    let mut name = String::new();
    for step in path {
        match step {
            Step::Index(index) => name += &format!("[{index}]"),
            Step::Key(key) => {
                if !name.is_empty() {
                    name.push('.');
                }
                name += &toml_key(key);
            }
        }
    }
    name
}
