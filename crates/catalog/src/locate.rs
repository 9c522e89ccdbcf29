//! Finds the position of a value in a YAML text by its path.
//!
//! Reads the text again with a seed that follows the path and rejects the value at its end; the reader's error then has the
//! position.

use super::yaml::{Fault, from_str_by};
use serde::de::{self, DeserializeSeed, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use std::fmt;

/// A step down into a YAML value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step<'a> {
    /// The value of a key.
    Key(&'a str),
    /// An element of a sequence.
    Index(usize),
}

impl<'a> From<&'a str> for Step<'a> {
    fn from(key: &'a str) -> Self {
        Step::Key(key)
    }
}

impl From<usize> for Step<'_> {
    fn from(index: usize) -> Self {
        Step::Index(index)
    }
}

/// Line and column (from 1) of the value at the end of `path`, or of the last part of the path that
/// exists.
pub fn locate(yaml: &str, path: &[Step<'_>]) -> (usize, usize) {
    (0..=path.len())
        .rev()
        .find_map(|length| {
            let seed = Seed {
                path: &path[..length],
            };
            let error = from_str_by(yaml, seed).err()?;
            let found = matches!(&error.fault, Fault::Other(message) if message == FOUND);
            (found && error.line > 0).then_some((error.line, error.column))
        })
        .unwrap_or((1, 1))
}

const FOUND: &str = "the place that was looked for";

struct Seed<'a> {
    path: &'a [Step<'a>],
}

impl<'de> DeserializeSeed<'de> for Seed<'_> {
    type Value = ();
    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Seed<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("anything")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        let Some((Step::Key(wanted), rest)) = self.path.split_first() else {
            return self.here();
        };
        while let Some(key) = map.next_key::<String>()? {
            if key == *wanted {
                map.next_value_seed(Seed { path: rest })?;
            } else {
                map.next_value::<IgnoredAny>()?;
            }
        }
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut sequence: A) -> Result<(), A::Error> {
        let Some((Step::Index(wanted), rest)) = self.path.split_first() else {
            return self.here();
        };
        for _ in 0..*wanted {
            if sequence.next_element::<IgnoredAny>()?.is_none() {
                return Ok(());
            }
        }
        sequence.next_element_seed(Seed { path: rest })?;
        while sequence.next_element::<IgnoredAny>()?.is_some() {}
        Ok(())
    }

    fn visit_bool<E: de::Error>(self, _: bool) -> Result<(), E> {
        self.here()
    }
    fn visit_i64<E: de::Error>(self, _: i64) -> Result<(), E> {
        self.here()
    }
    fn visit_u64<E: de::Error>(self, _: u64) -> Result<(), E> {
        self.here()
    }
    fn visit_f64<E: de::Error>(self, _: f64) -> Result<(), E> {
        self.here()
    }
    fn visit_str<E: de::Error>(self, _: &str) -> Result<(), E> {
        self.here()
    }
    fn visit_unit<E: de::Error>(self) -> Result<(), E> {
        self.here()
    }
}

impl Seed<'_> {
    fn here<E: de::Error>(self) -> Result<(), E> {
        if self.path.is_empty() {
            Err(E::custom(FOUND))
        } else {
            Ok(())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const YAML: &str =
        "title: t\nlaunches:\n  - entry: a\n    args: [x, y,\n           n + 1]\n  - {entry: b}\n";

    #[test]
    fn finds_values() {
        assert_eq!(locate(YAML, &["title".into()]), (1, 8));
        assert_eq!(
            locate(
                YAML,
                &["launches".into(), 0.into(), "args".into(), 2.into()]
            ),
            (5, 12)
        );
        assert_eq!(
            locate(YAML, &["launches".into(), 1.into(), "entry".into()]),
            (6, 13)
        );
    }

    #[test]
    fn falls_back_to_what_exists() {
        assert_eq!(
            locate(YAML, &["launches".into(), 1.into(), "grid".into()]),
            (6, 5)
        );
        assert_eq!(locate(YAML, &["nothing".into()]), (1, 1));
    }
}
