//! Keys of a case whose value is a word or a map: the word stands for the map that has only what it says.

use super::case::{Expectation, ExpectedVerdict, Oracle, Tolerance};
use super::launch::Argument;
use super::values::{Number, OracleCall};
use serde::de::{self, MapAccess, value::MapAccessDeserializer};
use serde::{Deserialize, Deserializer};
use session::expression::{Expression, ExpressionError};
use std::fmt;

/// Why a word or a map has no such meaning.
#[derive(Debug, thiserror::Error)]
enum ShortFormError {
    #[error("unknown verdict `{word}` ({})", verdicts_like(word))]
    UnknownVerdict { word: String },
    #[error("`{0}` needs a reason: {{verdict: {0}, why: …}}")]
    NoReason(String),
    #[error(transparent)]
    Oracle(#[from] ExpressionError),
    #[error("an oracle needs exactly one of `is`, `each`, `values` and `kernel`")]
    NotOneOracle,
    #[error("an oracle can have `args` only with `kernel`")]
    ArgumentsOfNoKernel,
}

fn verdicts_like(word: &str) -> String {
    let words = ["caught", "clean", "missed", "false-alarm", "unsupported"];
    report::nearest(word, words).map_or_else(
        || words.join(", "),
        |near| format!("did you mean `{near}`?"),
    )
}

/// `Deserialize` from a word or from a map of keys.
macro_rules! from_word_or_map {
    ($type:path, $map:ident { $($(#[$attribute:meta])* $key:ident: $key_type:ty),* }, $expecting:literal, word: $word:expr, map: $build:expr) => {
        const _: () = {
            #[derive(Deserialize)]
            #[serde(deny_unknown_fields, rename_all = "kebab-case")]
            struct $map { $($(#[$attribute])* $key: $key_type),* }

            impl<'de> Deserialize<'de> for $type {
                fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                    struct Visitor;
                    impl<'de> de::Visitor<'de> for Visitor {
                        type Value = $type;
                        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                            f.write_str($expecting)
                        }
                        fn visit_str<E: de::Error>(self, text: &str) -> Result<$type, E> {
                            let convert: fn(&str) -> Result<$type, ShortFormError> = $word;
                            convert(text).map_err(E::custom)
                        }
                        fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<$type, A::Error> {
                            let build: fn($map) -> Result<$type, ShortFormError> = $build;
                            let keys = $map::deserialize(MapAccessDeserializer::new(map))?;
                            build(keys).map_err(de::Error::custom)
                        }
                    }
                    deserializer.deserialize_any(Visitor)
                }
            }
        };
    };
}

from_word_or_map!(
    Expectation,
    Keys { verdict: ExpectedVerdict, #[serde(default)] why: Option<String> },
    "a verdict (`caught`, `clean`, `missed` …) or `{verdict: missed, why: …}`",
    word: |word| {
        let verdict = serde_json::from_value(word.into()).map_err(|_| {
            ShortFormError::UnknownVerdict { word: word.to_owned() }
        })?;
        if matches!(verdict, ExpectedVerdict::Missed | ExpectedVerdict::FalseAlarm) {
            return Err(ShortFormError::NoReason(word.to_owned()));
        }
        Ok(Expectation { verdict, why: None })
    },
    map: |keys| Ok(Expectation { verdict: keys.verdict, why: keys.why })
);

from_word_or_map!(
    Oracle,
    Keys {
        #[serde(default)] is: Option<OracleCall>,
        #[serde(default)] each: Option<Expression>,
        #[serde(default)] values: Option<Vec<Number>>,
        #[serde(default)] kernel: Option<String>,
        #[serde(default)] args: Vec<Argument>,
        #[serde(default)] first: Option<Expression>,
        #[serde(default)] tolerance: Tolerance
    },
    "an oracle such as `inclusive_scan(data)`, or a map with `is`, `each`, `values` or `kernel`",
    word: |text| {
        let call = OracleCall::parse(text)?;
        Ok(Oracle { is: Some(call), ..Oracle::default() })
    },
    map: |k| {
        let ways = [k.is.is_some(), k.each.is_some(), k.values.is_some(), k.kernel.is_some()];
        if ways.iter().filter(|given| **given).count() != 1 {
            return Err(ShortFormError::NotOneOracle);
        }
        if k.kernel.is_none() && !k.args.is_empty() {
            return Err(ShortFormError::ArgumentsOfNoKernel);
        }
        Ok(Oracle {
            is: k.is, each: k.each, values: k.values, kernel: k.kernel,
            args: k.args, first: k.first, tolerance: k.tolerance,
        })
    }
);
