//! Which settings may change between the start of a run and its resumption.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::{ExitCode, Failure};

/// What no result depends on: when checkpoints are written, how many threads read, and who is told.
const FREE: [&str; 3] = ["checkpoint.", "data.workers", "output.tensorboard"];
/// What may grow, so that a run goes on beyond its end.
const MAY_GROW: [&str; 2] = ["training.epochs", "training.max_steps"];

/// Refuses to resume a run under settings that would change its result.
///
/// # Errors
///
/// Names each such setting, its value at the start, and now.
pub(crate) fn refuse_changes(began_with: &Value, now: &Value) -> Result<(), Failure> {
    let (began_with, now) = (leaves(began_with), leaves(now));
    let keys = began_with.keys().chain(now.keys().filter(|key| !began_with.contains_key(*key)));
    let none = Value::Null;
    let refused: Vec<String> = keys
        .filter_map(|key| {
            let then = began_with.get(key).unwrap_or(&none);
            let now = now.get(key).unwrap_or(&none);
            let free = FREE.iter().any(|free| key.starts_with(free));
            let grows = MAY_GROW.contains(&key.as_str()) && grows(then, now);
            (then != now && !free && !grows).then(|| format!("`{key}` was {then} and is {now}"))
        })
        .collect();
    if refused.is_empty() {
        return Ok(());
    }
    Err(Failure::new(
        ExitCode::Usage,
        format!("a resumed run cannot change its settings: {}", refused.join(", ")),
        "leave them as they were, or begin another run: `recipes train RUN/config.toml`; \
         only `training.epochs` and `training.max_steps` may grow",
    ))
}

fn grows(then: &Value, now: &Value) -> bool {
    match (then.as_u64(), now.as_u64()) {
        (Some(then), Some(now)) => now > then,
        (Some(_), None) => now.as_str() == Some(""), // a limit that is taken away
        _ => false,
    }
}

/// The values that are not tables, by dotted key.
pub(crate) fn leaves(value: &Value) -> BTreeMap<String, Value> {
    let mut found = BTreeMap::new();
    let mut open = vec![(String::new(), value)];
    while let Some((key, value)) = open.pop() {
        match value {
            Value::Object(table) => {
                let inner = table.iter().map(|(name, value)| match key.as_str() {
                    "" => (name.clone(), value),
                    key => (format!("{key}.{name}"), value),
                });
                open.extend(inner);
            }
            value => {
                found.insert(key, value.clone());
            }
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn settings(epochs: u64, max_steps: Value, rate: f64) -> Value {
        json!({
            "recipe": "mlp",
            "checkpoint": { "keep": epochs },
            "optimizer": { "learning_rate": rate },
            "training": { "epochs": epochs, "max_steps": max_steps },
        })
    }

    #[test]
    fn a_run_may_grow_and_change_nothing_else() {
        let began_with = settings(5, json!(10), 0.1);
        let check = |now: Value| {
            refuse_changes(&began_with, &now).map_err(|failure| failure.problems[0].message.clone())
        };
        assert_eq!(check(settings(5, json!(10), 0.1)), Ok(()));
        assert_eq!(check(settings(6, json!(11), 0.1)), Ok(()));
        assert_eq!(check(settings(5, json!(""), 0.1)), Ok(()));
        assert_eq!(
            check(settings(4, json!(9), 0.2)).unwrap_err(),
            "a resumed run cannot change its settings: `optimizer.learning_rate` was 0.1 and is \
             0.2, `training.epochs` was 5 and is 4, `training.max_steps` was 10 and is 9"
        );
        let no_limit = settings(5, json!(""), 0.1);
        assert!(refuse_changes(&no_limit, &began_with).is_err(), "a limit is no growth");
    }

    #[test]
    fn what_is_new_or_gone_is_a_change() {
        let (with, without) = (json!({"data": {"seed": 1}}), json!({"data": {}}));
        assert!(refuse_changes(&with, &without).is_err());
        assert!(refuse_changes(&without, &with).is_err());
    }
}
