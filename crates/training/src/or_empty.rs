//! Optional settings, with `""` for none; for use as `#[serde(default, with = "training::or_empty")]`.
//!
//! A key that is left out would get the recipe's own value when the settings are read again.

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// Writes the value, or `""`.
///
/// # Errors
///
/// Those of the serializer.
pub fn serialize<T: Serialize, S: Serializer>(
    value: &Option<T>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    match value {
        Some(value) => value.serialize(serializer),
        None => serializer.serialize_str(""),
    }
}

/// Reads a value, or none from `""` or null.
///
/// # Errors
///
/// Where there is anything else.
pub fn deserialize<'de, T: Deserialize<'de>, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<T>, D::Error> {
    #[derive(Deserialize)]
    enum Empty {
        #[serde(rename = "")]
        Empty,
    }
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum Read<T> {
        Unset(Empty),
        Value(Option<T>),
    }
    // A format that is not text, such as the tree that recipes read, marks absent values itself and
    // has better error messages.
    if !deserializer.is_human_readable() {
        return Option::deserialize(deserializer);
    }
    Ok(match Read::deserialize(deserializer)? {
        Read::Unset(Empty::Empty) => None,
        Read::Value(value) => value,
    })
}

#[cfg(test)]
mod tests {
    use crate::{CheckpointConfig, ScheduleConfig, ScheduleKind};

    #[test]
    fn what_is_written_is_read_again() {
        let new = || ScheduleConfig::new(ScheduleKind::Step);
        let schedules = [new(), ScheduleConfig { gamma: Some(0.5), ..new() }];
        for schedule in schedules {
            let text = serde_json::to_string(&schedule).unwrap();
            assert_eq!(serde_json::from_str::<ScheduleConfig>(&text).unwrap(), schedule, "{text}");
        }
        let none = CheckpointConfig {
            every_steps: None,
            every_epochs: None,
            every_minutes: None,
            keep: 1,
            keep_every_epochs: None,
        };
        let some = CheckpointConfig {
            every_steps: Some(u64::MAX),
            every_minutes: Some(2.5),
            keep_every_epochs: Some(3),
            ..none.clone()
        };
        for checkpoint in [none.clone(), some] {
            let text = serde_json::to_string(&checkpoint).unwrap();
            assert!(text.contains(r#""every_epochs":"""#), "{text}");
            let read: CheckpointConfig = serde_json::from_str(&text).unwrap();
            assert_eq!(read, checkpoint, "{text}");
        }
        let null: CheckpointConfig =
            serde_json::from_str(r#"{"every_epochs": null, "every_minutes": "", "keep": 1}"#)
                .unwrap();
        assert_eq!(null, none);
        let left_out: CheckpointConfig = serde_json::from_str("{}").unwrap();
        assert_eq!(left_out, CheckpointConfig::default());
        assert!(serde_json::from_str::<CheckpointConfig>(r#"{"every_steps": "x"}"#).is_err());
    }
}
