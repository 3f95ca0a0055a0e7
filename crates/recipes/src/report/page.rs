//! The report as a page: what its template shows.

use std::path::Path;

use askama::Template;
use serde_json::Value;

use super::{
    changes::{Change, changes},
    curves::{curves, values},
    facts::facts,
    held_out::{HeldOut, Written},
    matrix::{Matrix, pairs},
    times::{Spent, times},
    verdict::Verdict,
};
use crate::{
    Failure,
    chart::{self, Chart},
    evaluation::{ClassScores, Mistake, Sample},
    names::{LONGEST_NAME, shortened},
    numbers::{in_words, metric, ordered, percent},
    run::{directory::CONFIG, environment::Environment, event_lines::SampleRecord, record::Record},
    settings,
    shell::{command, quoted, quoted_path},
};

/// The most epochs whose generated text is shown.
const MOST_SAMPLES: usize = 8;

#[derive(Template)]
#[template(path = "report.html")]
struct Page<'a> {
    style: &'static str,
    title: String,
    sentence: &'a str,
    /// The further sentences of the verdict.
    notes: &'a [String],
    facts: Vec<(&'static str, String)>,
    charts: Vec<String>,
    held_out: Option<Measures<'a>>,
    /// Why there are no results on held-out data.
    unmeasured: Option<String>,
    /// The text generated in some of the epochs, including the first and the last.
    samples: Vec<&'a SampleRecord>,
    times: Vec<Spent>,
    changes: Vec<Change>,
    /// The run's own.
    warnings: &'a [String],
    config: &'a str,
    environment: Vec<(String, String)>,
    /// The command that evaluates it.
    evaluation: String,
    command: String,
    /// Why the command does not quite repeat the run.
    deviates: Option<String>,
}

/// A text in pieces, and whether each is code, which stands in backticks. One within a word is of the word,
/// such as a path.
pub(crate) fn pieces(text: &str) -> Vec<(bool, &str)> {
    let opens = |&place: &usize| !text[..place].ends_with(char::is_alphanumeric);
    let closes = |&place: &usize| !text[place + 1..].starts_with(char::is_alphanumeric);
    let mut marks = text.match_indices('`').map(|(place, _)| place);
    let (mut pieces, mut told) = (Vec::new(), 0);
    while let Some(open) = marks.find(opens)
        && let Some(close) = marks.find(closes)
    {
        pieces.extend([(false, &text[told..open]), (true, &text[open + 1..close])]);
        told = close + 1;
    }
    pieces.push((false, &text[told..]));
    pieces
}

/// What was measured on held-out data.
struct Measures<'a> {
    heading: String,
    metrics: Vec<(String, String)>,
    classes: &'a [ClassScores],
    matrix: Matrix,
    pairs: Vec<String>,
    pictures: Vec<Picture<'a>>,
    /// The chart of a regression's values.
    values: Option<String>,
    rows: Option<Rows<'a>>,
    text: Option<&'a Written>,
}

struct Picture<'a> {
    base64: &'a str,
    /// The file's, or a description.
    path: String,
    /// Its last part; empty without a file.
    file: String,
    truth: &'a str,
    prediction: &'a str,
    sure: String,
}

struct Rows<'a> {
    columns: Vec<&'a str>,
    rows: Vec<Vec<String>>,
}

impl Rows<'_> {
    /// The class of a column in CSS: `long` if a value is longer than numbers and categories are.
    fn class(&self, column: usize) -> &'static str {
        const LONG: usize = 40;
        let is_long = |row: &Vec<String>| row.get(column).is_some_and(|value| value.len() > LONG);
        if self.rows.iter().any(is_long) { "long" } else { "" }
    }
}

/// The page, whole.
///
/// - `measured`: the run evaluated again, or why it was not
pub(super) fn page(
    record: &Record,
    verdict: &Verdict,
    measured: Option<&Result<HeldOut, Failure>>,
) -> String {
    let held_out = measured.and_then(|measured| measured.as_ref().ok());
    let shown = record.directory.display();
    let unmeasured = match measured {
        Some(Ok(_)) => None,
        Some(Err(failure)) => Some(format!("Not evaluated again: {failure}.")),
        None => super::measurable(record).map(|_| {
            format!(
                "Evaluating the model again for its mistakes would take long; \
                 `recipes report {}` does so.",
                quoted_path(&record.directory)
            )
        }),
    };
    let page = Page {
        style: chart::STYLE,
        title: format!("{} in {shown}", record.recipe),
        sentence: &verdict.sentence,
        notes: &verdict.notes,
        facts: facts(record),
        charts: curves(record).iter().map(Chart::inline).collect(),
        held_out: held_out.map(measures),
        unmeasured,
        samples: evenly(&record.samples, MOST_SAMPLES),
        times: times(record),
        changes: changes(record),
        warnings: &record.warnings,
        config: &record.config,
        environment: environment(&record.environment),
        evaluation: command("eval", &record.directory) + " --json",
        command: command("train", &record.directory.join(CONFIG)),
        deviates: record.followed_lengths().map(|lengths| {
            format!(
                "This trains the final length from the start. The learning rates of this run \
                 followed other lengths before ({lengths}), so the result will differ."
            )
        }),
    };
    page.render().expect("a template fails only where its writer does, and a string does not")
}

/// At most so many of all, from the first to the last.
fn evenly<T>(all: &[T], most: usize) -> Vec<&T> {
    let count = all.len().min(most);
    let last = all.len().saturating_sub(1);
    (0..count).map(|index| &all[index * last / (count - 1).max(1)]).collect()
}

fn measures(held_out: &HeldOut) -> Measures<'_> {
    let report = held_out.report();
    let mistakes = &held_out.examined.mistakes;
    Measures {
        heading: format!("On the {} split, {}", report.split, held_out.samples()),
        metrics: ordered(&report.metrics)
            .into_iter()
            .map(|(name, value)| (in_words(name), metric(name, value)))
            .collect(),
        classes: &report.per_class,
        matrix: Matrix::of(report),
        pairs: pairs(report),
        pictures: mistakes.iter().filter_map(picture).collect(),
        values: values(&held_out.examined.values, report.samples).map(|chart| chart.inline()),
        rows: rows(mistakes),
        text: held_out.text.as_ref(),
    }
}

fn picture(mistake: &Mistake) -> Option<Picture<'_>> {
    let Sample::Image { png, name } = &mistake.sample else { return None };
    let path = name.clone().unwrap_or_else(|| format!("a sample of {}", mistake.truth));
    let file = name.as_ref().and_then(|name| Path::new(name).file_name());
    Some(Picture {
        base64: png,
        path,
        file: file.map(|file| file.to_string_lossy().into_owned()).unwrap_or_default(),
        truth: &mistake.truth,
        prediction: &mistake.prediction,
        sure: sure(mistake),
    })
}

fn sure(mistake: &Mistake) -> String {
    mistake.probability.map(|share| percent(f64::from(share))).unwrap_or_default()
}

/// The mistaken rows as a table, where the samples are rows.
fn rows(mistakes: &[Mistake]) -> Option<Rows<'_>> {
    let Sample::Row(first) = &mistakes.first()?.sample else { return None };
    let mut columns = vec!["true", "predicted"];
    let classes = mistakes.iter().any(|mistake| mistake.probability.is_some());
    if classes {
        columns.push("probability");
    }
    columns.extend(first.iter().map(|(name, _)| name.as_str()));
    let row = |mistake: &Mistake| {
        let mut cells = vec![mistake.truth.clone(), mistake.prediction.clone()];
        if classes {
            cells.push(sure(mistake));
        }
        if let Sample::Row(values) = &mistake.sample {
            cells.extend(values.iter().map(|(_, value)| value.clone()));
        }
        cells
    };
    Some(Rows { columns, rows: mistakes.iter().map(row).collect() })
}

fn environment(environment: &Environment) -> Vec<(String, String)> {
    let shown = |value: &Value| match value {
        Value::String(text) => text.clone(),
        Value::Array(words) => {
            words.iter().filter_map(Value::as_str).map(quoted).collect::<Vec<_>>().join(" ")
        }
        Value::Object(named) => {
            let told = |(what, value)| format!("{what}: {}", settings::shown(value));
            named.iter().map(told).collect::<Vec<_>>().join(", ")
        }
        value => value.to_string(),
    };
    let environment = serde_json::to_value(environment).unwrap_or_default();
    let entries = environment.as_object().into_iter().flatten();
    let is_recorded =
        |value: &Value| ![Value::Null, "".into(), Value::Array(Vec::new())].contains(value);
    entries
        .filter(|(_, value)| is_recorded(value))
        .map(|(key, value)| (key.replace('_', " "), shown(value)))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::{record::EarlierLength, summary::example};

    #[test]
    fn an_environment_that_was_not_recorded_is_not_shown() {
        assert_eq!(environment(&Environment::default()), []);
        let some = crate::run::environment::example(&serde_json::json!({"device": "a CPU"}));
        assert_eq!(environment(&some), [("device".to_owned(), "a CPU".to_owned())]);
    }

    #[test]
    fn choices_of_any_kind_are_shown() {
        let chosen =
            serde_json::json!({"data.order": "file", "model.hidden": [10], "data.test": 0.5});
        let of_run = crate::run::environment::example(&serde_json::json!({"chosen": chosen}));
        let [(_, shown)] = &environment(&of_run)[..] else { panic!("one entry") };
        assert_eq!(shown, "data.order: file, data.test: 0.5, model.hidden: [10]");
        let weights = serde_json::json!({"fingerprints": {"its initial weights": "12ab"}});
        let shown = environment(&crate::run::environment::example(&weights));
        assert_eq!(shown, [("fingerprints".to_owned(), "its initial weights: 12ab".to_owned())]);
    }

    #[test]
    fn rows_are_shown_with_their_columns() {
        let mistake = Mistake {
            truth: "yes".to_owned(),
            prediction: "no".to_owned(),
            probability: Some(0.987),
            sample: Sample::Row(vec![("age".to_owned(), "41".to_owned())]),
        };
        let mistakes = [mistake];
        let shown = rows(&mistakes).unwrap();
        assert_eq!(shown.columns, ["true", "predicted", "probability", "age"]);
        assert_eq!(shown.rows, [["yes", "no", "98.7 %", "41"]]);
        assert!(rows(&[]).is_none());
    }

    #[test]
    fn a_picture_is_known_by_its_file() {
        let mistake = |name: Option<&str>| Mistake {
            truth: "cat".to_owned(),
            prediction: "dog".to_owned(),
            probability: None,
            sample: Sample::Image { png: "AQ==".to_owned(), name: name.map(str::to_owned) },
        };
        let told = |mistake: &Mistake| picture(mistake).map(|found| (found.path, found.file));
        let expected = ("photos/cat/<1>.png".to_owned(), "<1>.png".to_owned());
        assert_eq!(told(&mistake(Some("photos/cat/<1>.png"))), Some(expected));
        assert_eq!(told(&mistake(None)), Some(("a sample of cat".to_owned(), String::new())));
    }

    #[test]
    fn a_page_promises_mistakes_only_of_what_was_held_out() {
        let verdict = Verdict { sentence: String::new(), notes: Vec::new() };
        let shown = |validation: Value| {
            let summary = example(&serde_json::json!({ "validation": validation }));
            let record = Record { summary: Some(summary), ..Record::default() };
            page(&record, &verdict, None).contains("for its mistakes would take long")
        };
        assert!(shown(serde_json::json!({"loss": 0.5})) && !shown(Value::Null));
    }

    #[test]
    fn a_command_that_does_not_quite_repeat_the_run_says_so() {
        let verdict = Verdict { sentence: String::new(), notes: Vec::new() };
        let shown = |kind: &str| {
            let record = Record {
                settings: [("schedule.kind".to_owned(), Value::from(kind))].into(),
                earlier_lengths: vec![EarlierLength { steps: 100, until: 60 }],
                ..Record::default()
            };
            page(&record, &verdict, None).contains("before (100 steps, until step 60), so")
        };
        assert!(shown("one_cycle") && !shown("step"));
    }

    #[test]
    fn a_backtick_within_a_word_is_no_mark_of_code() {
        let code = |text| {
            let pieces = pieces(text).into_iter();
            let all: String = pieces.clone().map(|(_, piece)| piece).collect();
            let code = pieces.filter(|(is_code, _)| *is_code).map(|(_, piece)| piece);
            (code.collect::<Vec<_>>(), all)
        };
        assert_eq!(code("run `a b`, or `c`."), (vec!["a b", "c"], "run a b, or c.".to_owned()));
        assert_eq!(code("`a`b.csv` is no file; `c`").0, ["a`b.csv", "c"]);
        assert_eq!(code("a`b.csv is no file; `c`").0, ["c"]);
        assert_eq!(code("of `a"), (vec![], "of `a".to_owned()));
    }

    #[test]
    fn a_page_escapes_what_is_not_its_own() {
        let verdict =
            Verdict { sentence: "a <b> & c.".to_owned(), notes: vec!["<i> `<u>` x".to_owned()] };
        let record = Record {
            directory: "runs/<x>".into(),
            recipe: "cnn".to_owned(),
            config: "path = \"</pre><script>\"".to_owned(),
            warnings: vec!["`a` < b".to_owned()],
            ..Record::default()
        };
        let page = page(&record, &verdict, None);
        assert!(!page.contains("<script>") && !page.contains("<i>"), "{page}");
        assert!(page.contains("runs/&#60;x&#62;"), "{page}");
        assert!(page.contains("<li>&#60;i&#62; <code>&#60;u&#62;</code> x</li>"), "{page}");
        assert!(page.contains("<li><code>a</code> &#60; b</li>"), "{page}");
    }
}
