//! JSON numbers that may be infinite or NaN, for `#[serde(with = "..")]`: JSON has only finite ones; others
//! are written as text, like `"inf"`.

use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error};

pub(crate) fn serialize<S: Serializer>(value: &f64, serializer: S) -> Result<S::Ok, S::Error> {
    if value.is_finite() { serializer.serialize_f64(*value) } else { serializer.collect_str(value) }
}

pub(crate) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<f64, D::Error> {
    match Written::deserialize(deserializer)? {
        Written::Number(value) => Ok(value),
        Written::Text(text) => text.parse().map_err(D::Error::custom),
        Written::Null(()) => Ok(f64::NAN),
    }
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Written {
    Number(f64),
    Text(String),
    /// As JSON has them otherwise.
    Null(()),
}

/// Such a number.
#[derive(Clone, Copy, Serialize, Deserialize)]
#[serde(transparent)]
pub(crate) struct Lossless(#[serde(with = "self")] pub(crate) f64);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_survive_json() {
        for value in [0.1, -0.0, 2e300, f64::INFINITY, f64::NEG_INFINITY, f64::NAN] {
            let json = serde_json::to_string(&Lossless(value)).unwrap();
            let Lossless(read) = serde_json::from_str(&json).unwrap();
            assert!(read == value || read.is_nan() && value.is_nan(), "{json}");
        }
        assert!(serde_json::from_str::<Lossless>("null").unwrap().0.is_nan());
        assert!(serde_json::from_str::<Lossless>("\"one\"").is_err());
    }
}
