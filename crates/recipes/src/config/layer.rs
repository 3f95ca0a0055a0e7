//! One source of settings: a recipe's own TOML, a user's file, or an option of the command line.

use std::{fs, io, path::Path, rc::Rc};

use data::toml_key;
use toml::de::{DeTable, DeValue};

use super::{
    mismatch::{LONGEST, RECIPE, must_be},
    problem::{Problem, Problems},
    tree::{Node, Origin, Table, Value},
};
use crate::{names::shortened, shell::quoted_path};

/// Settings from one source, with the place of each, not yet checked against any configuration.
///
/// A source that cannot be read or parsed becomes a layer too. It keeps its problems until
/// [`resolve`](super::resolve) reports those of all layers together.
#[derive(Clone, Debug)]
pub struct SettingsLayer {
    place: Rc<str>,
    table: Table,
    problems: Vec<Problem>,
}

impl SettingsLayer {
    /// A recipe's own TOML, which holds every default.
    pub fn recipe(name: &str, text: &str) -> Self {
        Self::document(&format!("{RECIPE}{name}"), text)
    }

    /// Where it is from, such as a file's path.
    pub(super) fn place(&self) -> Rc<str> {
        Rc::clone(&self.place)
    }

    /// A user's file, or the `config.toml` of a run.
    pub fn file(path: &Path) -> Self {
        let place = path.display().to_string();
        match fs::read_to_string(path) {
            Ok(text) => Self::document(&place, &text),
            Err(error) => {
                let problem = Problem::new(format!("cannot read {place}: {error}"));
                Self::unusable(&place, problem.with_help(Self::help_to_read(path, &error)))
            }
        }
    }

    /// The argument of `--set`: `key=value`, the key dotted, the value in TOML.
    ///
    /// A value that is not TOML is a string, and so is any value where a string is expected:
    /// `data.path=2024` names a file. Nothing after the `=` (or `""`, here and in files) unsets an
    /// optional key.
    pub fn set(argument: &str) -> Self {
        let form = "`--set key=value`, such as `--set training.epochs=5`";
        Self::assigned(&format!("--set {argument}"), argument, form)
    }

    /// An argument of `--augment`: as that of `--set`, its key one of the table `[augment]`.
    pub(crate) fn augment(argument: &str) -> Self {
        let form = "`--augment key=value`, such as `--augment rotate=15`";
        let key = argument.strip_prefix("augment.").unwrap_or(argument);
        let prefix = if key.starts_with('=') { "" } else { "augment." }; // a missing key is told
        Self::assigned(&format!("--augment {argument}"), &format!("{prefix}{key}"), form)
    }

    /// Each of these arguments of `--set`.
    pub fn sets<S: AsRef<str>>(arguments: &[S]) -> Vec<Self> {
        arguments.iter().map(|argument| Self::set(argument.as_ref())).collect()
    }

    /// The option `--seed`.
    pub fn seed(seed: u64) -> Self {
        Self::option(&format!("--seed {seed}"), &["training", "seed"], &seed.to_string())
    }

    /// The option `--max-steps`.
    pub fn max_steps(steps: u64) -> Self {
        Self::option(
            &format!("--max-steps {steps}"),
            &["training", "max_steps"],
            &steps.to_string(),
        )
    }

    /// A path that a run's own settings name otherwise.
    ///
    /// - `place`: what tells it
    pub(crate) fn path(place: &Path, key: &str, path: &str) -> Self {
        let steps: Vec<&str> = key.split('.').collect();
        Self::option(&place.display().to_string(), &steps, path)
    }

    /// The layer with only one of its tables.
    pub(crate) fn only(mut self, table: &str) -> Self {
        self.table.0.retain(|key, _| key == table);
        self
    }

    /// A value that the layer sets, unchecked, as text.
    pub(crate) fn value(&self, key: &str) -> Option<String> {
        let node = self.table.given(key)?;
        Some(node.text().map_or_else(|| node.value.to_string(), ToOwned::to_owned))
    }

    /// Whether the layer sets a key.
    pub(crate) fn has(&self, key: &str) -> bool {
        self.keys().iter().any(|own| own == key)
    }

    /// The keys that the layer sets; none where it cannot be read.
    pub(crate) fn keys(&self) -> Vec<String> {
        fn add(table: &Table, before: &str, keys: &mut Vec<String>) {
            for (name, node) in &table.0 {
                let key = format!("{before}{}", toml_key(name));
                match &node.value {
                    Value::Table(inner) if !inner.0.is_empty() => {
                        add(inner, &format!("{key}."), keys);
                    }
                    _ => keys.push(key),
                }
            }
        }
        let mut keys = Vec::new();
        add(&self.table, "", &mut keys);
        keys
    }

    /// The whole number to which the layer sets a key, unchecked; none in it where the layer unsets the
    /// key.
    pub(crate) fn number(&self, key: &str) -> Option<Option<u64>> {
        self.table.named(key).map(|node| match node.value {
            Value::Integer(number) => u64::try_from(number).ok(),
            _ => None,
        })
    }

    /// The name of the recipe that a user's file is for.
    ///
    /// # Errors
    ///
    /// The file's problems, or that it names no recipe.
    pub fn recipe_name(&self) -> Result<&str, Problems> {
        match self.table.0.get("recipe") {
            Some(Node { value: Value::Text(name), .. }) => Ok(name),
            Some(node) => Err(must_be("recipe", "a string", Some(node), &Table::default()).into()),
            None => {
                Problems::none_in(self.problems.clone())?;
                let problem = Problem::new(format!("no recipe is named in {}", self.place));
                Err(problem
                    .with_help("begin the file with a line such as `recipe = \"mlp\"`")
                    .into())
            }
        }
    }
}

impl SettingsLayer {
    /// Whether it is an option of the command line.
    pub(super) fn is_option(&self) -> bool {
        self.place.starts_with("--")
    }

    pub(super) fn into_parts(self) -> (Table, Vec<Problem>) {
        (self.table, self.problems)
    }

    /// What to do about a file of settings that cannot be read.
    fn help_to_read(path: &Path, error: &io::Error) -> String {
        match error.kind() {
            io::ErrorKind::InvalidData => "settings are TOML: text in UTF-8".to_owned(),
            io::ErrorKind::NotFound if path.extension().is_some_and(|ending| ending == "toml") => {
                format!("`recipes copy mlp {}` writes a file to start from", quoted_path(path))
            }
            io::ErrorKind::NotFound => {
                "name a recipe, or a file of settings; data to train on are named by \
                 `--set data.path=PATH`"
                    .to_owned()
            }
            _ => "name a file that may be read".to_owned(),
        }
    }

    /// A layer of several settings.
    pub(crate) fn document(place: &str, text: &str) -> Self {
        let place: Rc<str> = place.into();
        let lines = Lines::new(text);
        let (parsed, errors) = DeTable::parse_recoverable(text);
        let mut table = Table::from_toml(parsed.into_inner(), &|position| Origin {
            place: Rc::clone(&place),
            line: Some(lines.number(position)),
        });

        let problems: Vec<Problem> = syntax_problem(&errors, &place, &lines).into_iter().collect();
        if !problems.is_empty() {
            // What the parser recovered of the rest is not worth further complaints.
            table.0.retain(|key, _| key == "recipe");
        }
        Self { place, table, problems }
    }

    /// A layer of one setting, written as an assignment.
    ///
    /// - `form`: how the option is written
    fn assigned(place: &str, argument: &str, form: &str) -> Self {
        match assignment(argument, place, form) {
            Ok((path, value)) => Self::option(place, &path, value),
            Err(problem) => Self::unusable(place, problem),
        }
    }

    /// A layer of one setting.
    fn option(place: &str, path: &[impl AsRef<str>], argument: &str) -> Self {
        let origin = Origin { place: place.into(), line: None };
        let value = match DeValue::parse(argument) {
            Ok(parsed) => Value::from_toml(parsed.into_inner(), &|_| origin.clone()),
            Err(_) => Value::Text(argument.to_owned()),
        };
        let leaf = Node { argument: Some(argument.to_owned()), ..Node::new(value, origin.clone()) };
        let root = path.iter().rev().fold(leaf, |inner, key| {
            let table = Table([(key.as_ref().to_owned(), inner)].into());
            Node::new(Value::Table(table), origin.clone())
        });
        let table = match root.value {
            Value::Table(table) => table,
            _ => Table::default(), // a path without a step sets nothing
        };
        Self { place: origin.place, table, problems: Vec::new() }
    }

    /// A layer that sets nothing, with the reason.
    fn unusable(place: &str, problem: Problem) -> Self {
        Self { place: place.into(), table: Table::default(), problems: vec![problem] }
    }
}

/// The first of the parser's complaints, by line: one slip leads to many.
fn syntax_problem(errors: &[toml::de::Error], place: &str, lines: &Lines<'_>) -> Option<Problem> {
    let complaints =
        errors.iter().map(|error| (error.span().map_or(0, |span| span.start), error.message()));
    let (position, message) = complaints.min_by_key(|&(position, _)| lines.number(position))?;
    let (line, column) = (lines.number(position), lines.column(position));
    let problem = Problem::new(format!("not valid TOML: {message}, in {place}:{line}:{column}"));
    Some(match lines.text(position).trim() {
        "" => problem,
        text => {
            let line = format!("the line is `{}`", shortened(text, LONGEST));
            problem.with_help(line + usual_slip(text).unwrap_or_default())
        }
    })
}

/// What to do about the usual slips in a line of TOML.
fn usual_slip(line: &str) -> Option<&'static str> {
    let (_, value) = line.split_once('=')?;
    let value = value.split('#').next()?.trim();
    let is_boolean = |text: &str| {
        let word = text.split(|letter: char| !letter.is_alphanumeric()).next();
        word.is_some_and(|word| ["true", "false"].contains(&word))
    };
    let is_number = |text: &str| text.replacen(',', ".", 1).parse::<f64>().is_ok();
    match value {
        text if text.starts_with('"') && text.contains('\\') => {
            Some("; in single quotes a `\\` stands for itself, as in 'C:\\table.csv'")
        }
        number if number.contains(',') && is_number(number) => {
            Some("; numbers have a decimal point, not a comma")
        }
        // Which the parser takes for a wrong boolean.
        text if text.starts_with(['t', 'f']) && !is_boolean(text) => {
            Some("; a text is written in quotes, as in \"fraud\"")
        }
        _ => None,
    }
}

/// Splits `key=value` into a path and the text of a value.
///
/// - `place`: the option
/// - `form`: how it is written
fn assignment<'a>(
    argument: &'a str,
    place: &str,
    form: &str,
) -> Result<(Vec<String>, &'a str), Problem> {
    let wrong =
        |what: &str, help: &str| Err(Problem::new(format!("{what}, in {place}")).with_help(help));
    let Some((key, _)) = argument.split_once('=') else {
        return wrong("`=` is missing", &format!("write {form}"));
    };
    if key.trim().is_empty() {
        return wrong("a key is missing", &format!("write {form}"));
    }
    // A quoted name may have a `=` of its own, before which the key is not whole.
    let mut splits = argument.match_indices('=').map(|(at, _)| argument.split_at(at));
    let whole = splits.find_map(|(key, value)| Some((key_path(key)?, value[1..].trim())));
    match whole {
        None => wrong(
            &format!("`{}` is not a key", key.trim()),
            "a key consists of the letters A to Z, digits, `_` and `-`, with dots between tables; \
             quote other names: `data.columns.\"my column\"`",
        ),
        Some((path, value)) if path == ["recipe"] => {
            let named = if value.is_empty() { "RECIPE" } else { value };
            wrong(
                "`recipe` cannot be set",
                &format!("name the recipe instead: `recipes train {named}`"),
            )
        }
        Some(assignment) => Ok(assignment),
    }
}

/// The parts of a dotted key, quoted ones included; none if it is not valid TOML.
fn key_path(key: &str) -> Option<Vec<String>> {
    let document = format!("{key} = 0");
    let mut table = DeTable::parse(&document).ok()?.into_inner();
    let mut path = Vec::new();
    // One assignment makes tables of one entry each, down to its value.
    while let Some((key, value)) = table.into_iter().next() {
        path.push(key.into_inner().into_owned());
        match value.into_inner() {
            DeValue::Table(inner) => table = inner,
            _ => return Some(path),
        }
    }
    None
}

/// Lines and columns of a text, both counted from 1.
struct Lines<'a> {
    text: &'a str,
    /// Where each line begins.
    starts: Vec<usize>,
}

impl<'a> Lines<'a> {
    fn new(text: &'a str) -> Self {
        let after_breaks = text.match_indices('\n').map(|(position, _)| position + 1);
        Self { text, starts: std::iter::once(0).chain(after_breaks).collect() }
    }

    fn number(&self, position: usize) -> usize {
        self.starts.partition_point(|&start| start <= position)
    }

    fn column(&self, position: usize) -> usize {
        let before = self.text.get(self.starts[self.number(position) - 1]..position);
        before.map_or(1, |before| before.chars().count() + 1)
    }

    fn text(&self, position: usize) -> &'a str {
        self.text.lines().nth(self.number(position) - 1).unwrap_or_default()
    }
}
