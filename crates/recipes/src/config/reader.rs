//! From a tree of values to a typed configuration, through serde.
//!
//! `toml` has its own deserializer, but its errors are plain text. Here an error has the key it is
//! about and what that key takes, so that a message can name the nearest key, and the wrong value can
//! be removed to look for more mistakes.

use std::collections::btree_map;

use serde::{
    de::{
        DeserializeOwned, DeserializeSeed, Deserializer, Error, IntoDeserializer, MapAccess,
        SeqAccess, Unexpected, Visitor, value::MapAccessDeserializer,
    },
    forward_to_deserialize_any,
};

use super::{
    mismatch::{Mismatch, one_of},
    tree::{Node, Step, Table, Value},
};

/// Reads a whole configuration; stops at the first value that does not fit.
pub(super) fn read<C: DeserializeOwned>(table: &Table) -> Result<C, Mismatch> {
    C::deserialize(MapAccessDeserializer::new(Entries::new(table)))
}

impl<'de> Deserializer<'de> for &'de Node {
    type Error = Mismatch;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Mismatch> {
        match &self.value {
            Value::Text(text) => visitor.visit_borrowed_str(text),
            Value::Date(_) => match self.text() {
                Some(text) => visitor.visit_borrowed_str(text),
                None => Err(Mismatch::invalid_type(Unexpected::Other("date"), &visitor)),
            },
            Value::Integer(integer) => match (i64::try_from(*integer), u64::try_from(*integer)) {
                (Ok(integer), _) => visitor.visit_i64(integer),
                (_, Ok(integer)) => visitor.visit_u64(integer),
                _ => visitor.visit_i128(*integer),
            },
            Value::Float(float) => visitor.visit_f64(*float),
            Value::Boolean(boolean) => visitor.visit_bool(*boolean),
            Value::List(elements) => visitor.visit_seq(Elements::new(elements)),
            Value::Table(table) => visitor.visit_map(Entries::new(table)),
        }
    }

    /// The one integer type of settings, `usize` included.
    fn deserialize_u64<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Mismatch> {
        let Value::Integer(integer) = self.value else {
            return Err(Mismatch::wrong("a whole number"));
        };
        let integer = u64::try_from(integer).map_err(|_| {
            Mismatch::wrong(match integer < 0 {
                true => "a whole number that is not negative".to_owned(),
                false => format!("a whole number of at most {}", u64::MAX),
            })
        })?;
        visitor.visit_u64(integer)
    }

    fn deserialize_f64<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Mismatch> {
        match self.value {
            Value::Float(float) => visitor.visit_f64(float),
            Value::Integer(integer) => visitor.visit_f64(integer as f64),
            _ => Err(Mismatch::wrong("a number")),
        }
    }

    fn deserialize_bool<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Mismatch> {
        match self.value {
            Value::Boolean(boolean) => visitor.visit_bool(boolean),
            _ => Err(Mismatch::wrong("`true` or `false`")),
        }
    }

    fn deserialize_str<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Mismatch> {
        match self.text() {
            Some(text) => visitor.visit_borrowed_str(text),
            None => Err(Mismatch::wrong("a string")),
        }
    }

    fn deserialize_string<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Mismatch> {
        self.deserialize_str(visitor)
    }

    /// An absent key never gets here; the empty string unsets what a lower layer has set.
    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Mismatch> {
        if self.value.is_unset() { visitor.visit_none() } else { visitor.visit_some(self) }
    }

    /// As [`or_empty`](super::or_empty) expects of a format whose values can be absent.
    fn is_human_readable(&self) -> bool {
        false
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _name: &'static str,
        variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Mismatch> {
        match self.text() {
            Some(text) => visitor.visit_enum(text.into_deserializer()),
            None => Err(Mismatch::wrong(one_of(variants))),
        }
    }

    fn deserialize_seq<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Mismatch> {
        match &self.value {
            Value::List(elements) => visitor.visit_seq(Elements::new(elements)),
            number @ (Value::Integer(_) | Value::Float(_)) => {
                Err(Mismatch::wrong(format!("a list, such as `[{number}]`")))
            }
            _ => Err(Mismatch::wrong("a list")),
        }
    }

    /// serde itself would ignore surplus values.
    fn deserialize_tuple<V: Visitor<'de>>(
        self,
        length: usize,
        visitor: V,
    ) -> Result<V::Value, Mismatch> {
        match &self.value {
            Value::List(elements) if elements.len() == length => {
                visitor.visit_seq(Elements::new(elements))
            }
            _ => Err(Mismatch::wrong(format!("a list of {length} values"))),
        }
    }

    fn deserialize_map<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Mismatch> {
        match &self.value {
            Value::Table(table) => visitor.visit_map(Entries::new(table)),
            _ => Err(Mismatch::wrong("a table")),
        }
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _name: &'static str,
        _fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Mismatch> {
        self.deserialize_map(visitor)
    }

    forward_to_deserialize_any! {
        u8 u16 u32 u128 i8 i16 i32 i64 i128 f32 char bytes byte_buf unit unit_struct newtype_struct
        tuple_struct identifier ignored_any
    }
}

/// The entries of a table; adds each one's name to its errors.
struct Entries<'a> {
    rest: btree_map::Iter<'a, String, Node>,
    current: Option<(&'a String, &'a Node)>,
}

impl<'a> Entries<'a> {
    fn new(table: &'a Table) -> Self {
        Self { rest: table.0.iter(), current: None }
    }
}

impl<'de> MapAccess<'de> for Entries<'de> {
    type Error = Mismatch;

    fn next_key_seed<K: DeserializeSeed<'de>>(
        &mut self,
        seed: K,
    ) -> Result<Option<K::Value>, Mismatch> {
        self.current = self.rest.next();
        let Some((key, _)) = self.current else {
            return Ok(None);
        };
        let deserializer = key.as_str().into_deserializer();
        seed.deserialize(deserializer)
            .map(Some)
            .map_err(|mismatch: Mismatch| mismatch.within(Step::Key(key.clone())))
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(&mut self, seed: V) -> Result<V::Value, Mismatch> {
        let (key, node) = self
            .current
            .take()
            .ok_or_else(|| Mismatch::custom("a value was requested before its key"))?;
        seed.deserialize(node).map_err(|mismatch| mismatch.within(Step::Key(key.clone())))
    }
}

/// The elements of a list, likewise.
struct Elements<'a> {
    rest: std::iter::Enumerate<std::slice::Iter<'a, Node>>,
}

impl<'a> Elements<'a> {
    fn new(elements: &'a [Node]) -> Self {
        Self { rest: elements.iter().enumerate() }
    }
}

impl<'de> SeqAccess<'de> for Elements<'de> {
    type Error = Mismatch;

    fn next_element_seed<T: DeserializeSeed<'de>>(
        &mut self,
        seed: T,
    ) -> Result<Option<T::Value>, Mismatch> {
        let Some((index, node)) = self.rest.next() else {
            return Ok(None);
        };
        seed.deserialize(node).map(Some).map_err(|mismatch| mismatch.within(Step::Index(index)))
    }
}
