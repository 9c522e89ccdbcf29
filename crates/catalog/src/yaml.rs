//! Reads YAML: cases, assignments, overrides of grades, and what else people write for racetrap.
//!
//! The words are those of YAML 1.2's core schema (section 10.3): `n` and `yes` are strings. A text may come from strangers, so the reader has
//! budgets: how deep and how large, and how often aliases are expanded. Numbers that are infinite or none are refused, because every
//! comparison with them would be wrong or false.

use serde::de::{DeserializeOwned, DeserializeSeed};
use serde_saphyr::{DuplicateKeyPolicy, Error, NonFiniteFloatPolicy, Options, options};
use std::fmt;

/// Why a text could not be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct YamlError {
    /// What is wrong there.
    pub fault: Fault,
    /// From 1; 0 where the reader knows no place.
    pub line: usize,
    /// In characters, from 1; 0 where the reader knows no place.
    pub column: usize,
    /// In bytes from the text's start.
    pub offset: usize,
}

/// What is wrong in a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fault {
    /// A key that nobody knows.
    UnknownKey {
        /// The key.
        key: String,
        /// Those that could be there.
        known: Vec<&'static str>,
    },
    /// A word that is none of a list's.
    UnknownWord {
        /// The word.
        word: String,
        /// Those that could be there.
        known: Vec<&'static str>,
    },
    /// Anything else, in the reader's words or those of a type's own check.
    Other(String),
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Fault::UnknownKey { key, known } => {
                write!(f, "no key `{key}`; known are {}", known.join(", "))
            }
            Fault::UnknownWord { word, known } => {
                write!(f, "no word `{word}`; known are {}", known.join(", "))
            }
            Fault::Other(message) => f.write_str(message),
        }
    }
}

impl fmt::Display for YamlError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            0 => write!(f, "{}", self.fault),
            line => write!(f, "line {line}, column {}: {}", self.column, self.fault),
        }
    }
}

impl std::error::Error for YamlError {}

impl YamlError {
    /// What is wrong with a text, in the value that these keys lead to.
    fn new(error: &Error, keys: &str, text: &str) -> YamlError {
        let at = error.location();
        let number = |value: Option<u64>| value.and_then(|v| usize::try_from(v).ok()).unwrap_or(0);
        let offset = number(at.and_then(|at| at.span().byte_offset()));
        let fault = match error.without_snippet() {
            Error::SerdeUnknownField {
                field, expected, ..
            } => Fault::UnknownKey {
                key: field.clone(),
                known: expected.clone(),
            },
            Error::SerdeUnknownVariant {
                variant, expected, ..
            } => Fault::UnknownWord {
                word: variant.clone(),
                known: expected.clone(),
            },
            Error::NonFiniteFloat { value, .. } => {
                Fault::Other(format!("`{value}` is not a finite number"))
            }
            other => {
                let message = other.to_string();
                let place = message.rfind(" at line ").filter(|_| at.is_some());
                let mut message = message[..place.unwrap_or(message.len())].to_owned();
                if let Error::InvalidScalar { .. } = other {
                    let value = text.get(offset..).unwrap_or_default();
                    let end = value.find(['\n', ',', ']', '}', '#']);
                    let value = value[..end.unwrap_or(value.len())].trim_end();
                    message = format!("{message}: `{value}`");
                }
                Fault::Other(match keys {
                    "." | "" => message,
                    keys => format!("{keys}: {message}"),
                })
            }
        };
        YamlError {
            fault,
            line: number(at.map(|at| at.line())),
            column: number(at.map(|at| at.column())),
            offset,
        }
    }
}

fn settings() -> Options {
    options! {
        strict_booleans: true,
        // `010` is 8 to some readers and 10 to others, `1_000` is a number to some: both are words.
        leading_zero_numbers_as_strings: true,
        underscored_numbers_as_strings: true,
        non_finite_float_policy: NonFiniteFloatPolicy::Reject,
        duplicate_keys: DuplicateKeyPolicy::Error,
        with_snippet: false,
    }
}

/// Reads a value.
///
/// # Errors
///
/// The text is no YAML, is too large or too deep, or is not what the type wants.
pub fn from_str<T: DeserializeOwned>(text: &str) -> Result<T, YamlError> {
    let mut keys = String::new();
    let read = |reader: serde_saphyr::Deserializer<'_, '_>| {
        serde_path_to_error::deserialize(reader).map_err(|error| {
            keys = error.path().to_string();
            error.into_inner()
        })
    };
    let value = serde_saphyr::with_deserializer_from_str_with_options(text, settings(), read)
        .map_err(|error| YamlError::new(&error, &keys, text))?;
    // The reader refuses them where any value may stand, and not where a number has to.
    let lower = text.to_ascii_lowercase();
    if lower.contains(".nan") || lower.contains(".inf") {
        serde_saphyr::from_str_with_options::<serde_json::Value>(text, settings())
            .map_err(|error| YamlError::new(&error, "", text))?;
    }
    Ok(value)
}

/// Reads with a seed.
///
/// # Errors
///
/// As [`from_str`], without the keys that lead to the place.
pub fn from_str_by<'de, S: DeserializeSeed<'de>>(
    text: &'de str,
    seed: S,
) -> Result<S::Value, YamlError> {
    let read = |reader: serde_saphyr::Deserializer<'de, '_>| seed.deserialize(reader);
    serde_saphyr::with_deserializer_from_str_with_options(text, settings(), read)
        .map_err(|error| YamlError::new(&error, "", text))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    #[test]
    fn words_are_those_of_the_core_schema() {
        let read: Value =
            from_str("[n, yes, on, true, ~, 010, 0x10, 0o10, 1_000, 1e3, '5', -1]").unwrap();
        let expected = json!([
            "n", "yes", "on", true, null, "010", 16, 8, "1_000", 1000.0, "5", -1
        ]);
        assert_eq!(read, expected);
    }

    #[test]
    fn numbers_that_are_none_are_refused() {
        for text in ["a: .nan", "a: [1, -.inf]", "a: .NaN"] {
            assert!(from_str::<Value>(text).is_err(), "{text}");
        }
        assert_eq!(from_str::<f64>("2.5").unwrap(), 2.5);
        assert!(from_str::<f64>(".nan").is_err());
        assert!(from_str::<Option<f64>>(".inf").is_err());
    }

    #[test]
    fn what_is_too_deep_or_grows_too_much_is_refused() {
        let deep = "[".repeat(100_000);
        assert!(from_str::<Value>(&deep).is_err());
        let mut bomb = String::from("a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n");
        for level in 1..9 {
            let before = vec![format!("*a{}", level - 1); 10].join(", ");
            bomb += &format!("a{level}: &a{level} [{before}]\n");
        }
        assert!(from_str::<Value>(&bomb).is_err());
        assert!(from_str::<Value>("a: 1\na: 2\n").is_err());
        assert!(from_str::<Value>("a: &a [*a]").is_err());
    }

    #[test]
    fn errors_have_their_place() {
        let error =
            from_str::<std::collections::BTreeMap<String, u8>>("é: 1\nb:   999\n").unwrap_err();
        assert_eq!((error.line, error.column, error.offset), (2, 6, 11));
    }
}
