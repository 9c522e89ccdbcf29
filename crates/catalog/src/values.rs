//! The notations inside a case's YAML: ranges of sizes, contents of buffers, dimensions of grids, and oracles.

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{self, MapAccess, SeqAccess, value::MapAccessDeserializer};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
pub use session::buffer::{ElementType, Number};
use session::expression::{Expression, ExpressionError};
pub use session::fill::Fill;
use session::fill::range;
use std::borrow::Cow;
use std::fmt;

/// Where a size comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SizeSpec {
    /// Drawn from a range, both ends included: `1..=1024`.
    Range(Expression, Expression),
    /// Drawn from a list, the simplest first: `[32, 64]`.
    Choices(Vec<i64>),
    /// Computed from other sizes: `ceil_div(n, threads)`, or a plain number.
    Computed(Expression),
}

/// One to three lengths, `x` first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Extent(pub Vec<Expression>);

impl Default for Extent {
    fn default() -> Self {
        Extent(vec![Expression::constant(1)])
    }
}

/// A call of a named oracle: `inclusive_scan(data)`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OracleCall {
    /// The function.
    pub function: String,
    /// Its arguments: names of buffers, or expressions over the sizes.
    pub arguments: Vec<Expression>,
    text: String,
}

impl OracleCall {
    /// As it was written.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Parses `name(argument, …)`.
    pub fn parse(text: &str) -> Result<OracleCall, ExpressionError> {
        let fail = |column: usize, problem: &str| ExpressionError {
            text: text.to_owned(),
            column,
            problem: problem.to_owned(),
        };
        let open = text
            .find('(')
            .ok_or_else(|| fail(1, "an oracle is a call such as `inclusive_scan(data)`"))?;
        let inside = text[open + 1..]
            .trim_end()
            .strip_suffix(')')
            .ok_or_else(|| fail(text.chars().count() + 1, "`)` expected"))?;
        let (mut depth, mut start, mut arguments) = (0i32, 0, Vec::new());
        let ends = inside.char_indices().chain([(inside.len(), ',')]);
        for (at, c) in ends {
            match c {
                '(' => depth += 1,
                ')' => depth -= 1,
                ',' if depth == 0 && !inside.trim().is_empty() => {
                    let argument = inside[start..at].trim_start();
                    let offset = text[..open + 1 + at - argument.len()].chars().count();
                    arguments.push(
                        Expression::parse(argument.trim_end())
                            .map_err(|e| fail(offset + e.column, &e.problem))?,
                    );
                    start = at + 1;
                }
                _ => {}
            }
        }
        Ok(OracleCall {
            function: text[..open].trim().to_owned(),
            arguments,
            text: text.to_owned(),
        })
    }
}

impl SizeSpec {
    fn parse(text: &str) -> Result<SizeSpec, ExpressionError> {
        match range(text) {
            Some(ends) => ends.map(|(low, high)| SizeSpec::Range(low, high)),
            None => Expression::parse(text).map(SizeSpec::Computed),
        }
    }
}

impl fmt::Display for SizeSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SizeSpec::Range(low, high) => write!(f, "{low}..={high}"),
            SizeSpec::Choices(choices) => write!(f, "{choices:?}"),
            SizeSpec::Computed(expression) => write!(f, "{expression}"),
        }
    }
}

/// Collects a sequence.
fn elements<'de, T: Deserialize<'de>, A: SeqAccess<'de>>(mut seq: A) -> Result<Vec<T>, A::Error> {
    let mut all = Vec::new();
    while let Some(element) = seq.next_element()? {
        all.push(element);
    }
    Ok(all)
}

/// `Deserialize` from a number, a string or a sequence, and the schema that says so.
macro_rules! from_scalar_or_sequence {
    ($type:ident, $expecting:literal, $description:literal, $schema_types:tt,
     integer: $integer:expr, text: $text:expr, sequence: $sequence:expr) => {
        impl<'de> Deserialize<'de> for $type {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                struct Visitor;
                impl<'de> de::Visitor<'de> for Visitor {
                    type Value = $type;
                    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                        f.write_str($expecting)
                    }
                    fn visit_u64<E: de::Error>(self, value: u64) -> Result<$type, E> {
                        self.visit_i64(i64::try_from(value).map_err(E::custom)?)
                    }
                    fn visit_i64<E: de::Error>(self, value: i64) -> Result<$type, E> {
                        let convert: fn(i64) -> Option<$type> = $integer;
                        convert(value)
                            .ok_or_else(|| E::invalid_type(de::Unexpected::Signed(value), &self))
                    }
                    fn visit_str<E: de::Error>(self, text: &str) -> Result<$type, E> {
                        #[allow(clippy::redundant_closure_call)]
                        ($text)(text).map_err(E::custom)
                    }
                    fn visit_seq<A: SeqAccess<'de>>(self, seq: A) -> Result<$type, A::Error> {
                        let convert = $sequence;
                        convert(elements(seq)?).map_err(de::Error::custom)
                    }
                }
                deserializer.deserialize_any(Visitor)
            }
        }

        impl JsonSchema for $type {
            fn schema_name() -> Cow<'static, str> {
                stringify!($type).into()
            }
            fn json_schema(_: &mut SchemaGenerator) -> Schema {
                json_schema!({ "description": $description, "type": $schema_types })
            }
        }
    };
}

from_scalar_or_sequence!(
    SizeSpec,
    "a range `1..=1024`, a list of choices `[32, 64]`, a number, or an expression over other sizes",
    "A range `1..=1024` (both ends included, expressions allowed), a list of choices `[32, 64]` with the simplest first, a number, or an expression over other sizes.",
    ["integer", "string", "array"],
    integer: |value| Some(SizeSpec::Computed(Expression::constant(value))),
    text: SizeSpec::parse,
    sequence: |choices: Vec<i64>| {
        if choices.is_empty() { Err("an empty list of choices") } else { Ok(SizeSpec::Choices(choices)) }
    }
);

from_scalar_or_sequence!(
    Extent,
    "one to three lengths: `x`, `[x, y]` or `[x, y, z]`",
    "One to three lengths, each a number or an expression over the sizes: `x`, `[x, y]` or `[x, y, z]`.",
    ["integer", "string", "array"],
    integer: |value| Some(Extent(vec![Expression::constant(value)])),
    text: |text| Expression::parse(text).map(|e| Extent(vec![e])),
    sequence: |lengths: Vec<Expression>| match lengths.len() {
        1..=3 => Ok(Extent(lengths)),
        n => Err(format!("expected one to three lengths, got {n}")),
    }
);

impl Serialize for SizeSpec {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            SizeSpec::Choices(choices) => choices.serialize(serializer),
            other => serializer.collect_str(other),
        }
    }
}

impl Serialize for Extent {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.0.serialize(serializer)
    }
}

impl Serialize for OracleCall {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.text)
    }
}

impl<'de> Deserialize<'de> for OracleCall {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        OracleCall::parse(&text).map_err(de::Error::custom)
    }
}

impl JsonSchema for OracleCall {
    fn schema_name() -> Cow<'static, str> {
        "OracleCall".into()
    }
    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "description": "A call of a named oracle on buffers and expressions, such as `inclusive_scan(data)`.",
            "type": "string"
        })
    }
}

impl<'de> Deserialize<'de> for Argument {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Visitor;
        impl de::Visitor<'_> for Visitor {
            type Value = Argument;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a buffer's name, a number or an expression over the sizes")
            }
            fn visit_f64<E: de::Error>(self, value: f64) -> Result<Argument, E> {
                Ok(Argument::Float(value))
            }
            fn visit_i64<E: de::Error>(self, value: i64) -> Result<Argument, E> {
                Ok(Argument::Value(Expression::constant(value)))
            }
            fn visit_u64<E: de::Error>(self, value: u64) -> Result<Argument, E> {
                i64::try_from(value)
                    .map_err(E::custom)
                    .and_then(|v| self.visit_i64(v))
            }
            fn visit_str<E: de::Error>(self, text: &str) -> Result<Argument, E> {
                Expression::parse(text)
                    .map(Argument::Value)
                    .map_err(E::custom)
            }
        }
        deserializer.deserialize_any(Visitor)
    }
}

impl Serialize for Argument {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Argument::Float(value) => serializer.serialize_f64(*value),
            Argument::Value(expression) => expression.serialize(serializer),
        }
    }
}

impl JsonSchema for Argument {
    fn schema_name() -> Cow<'static, str> {
        "Argument".into()
    }
    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "description": "An argument of a launch: a buffer's name, a number, or an expression over the sizes.",
            "type": ["number", "string"]
        })
    }
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
                            let convert: fn(&str) -> Result<$type, String> = $word;
                            convert(text).map_err(E::custom)
                        }
                        fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<$type, A::Error> {
                            let build: fn($map) -> Result<$type, String> = $build;
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

use super::case::{Argument, Expectation, ExpectedVerdict, Oracle, Tolerance};

from_word_or_map!(
    Expectation,
    Keys { verdict: ExpectedVerdict, #[serde(default)] why: Option<String> },
    "a verdict (`caught`, `clean`, `missed` …) or `{verdict: missed, why: …}`",
    word: |word| {
        let verdict = serde_json::from_value(word.into()).map_err(|_| {
            let words = ["caught", "clean", "missed", "false-alarm", "unsupported"];
            let hint = report::nearest(word, words.into_iter())
                .map_or_else(|| words.join(", "), |near| format!("did you mean `{near}`?"));
            format!("unknown verdict `{word}` ({hint})")
        })?;
        if matches!(verdict, ExpectedVerdict::Missed | ExpectedVerdict::FalseAlarm) {
            return Err(format!("`{word}` needs a reason: {{verdict: {word}, why: …}}"));
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
        let call = OracleCall::parse(text).map_err(|e| e.to_string())?;
        Ok(Oracle { is: Some(call), ..Oracle::default() })
    },
    map: |k| {
        let ways = [k.is.is_some(), k.each.is_some(), k.values.is_some(), k.kernel.is_some()];
        if ways.iter().filter(|given| **given).count() != 1 {
            return Err("an oracle needs exactly one of `is`, `each`, `values` and `kernel`".to_owned());
        }
        if k.kernel.is_none() && !k.args.is_empty() {
            return Err("an oracle can have `args` only with `kernel`".to_owned());
        }
        Ok(Oracle {
            is: k.is, each: k.each, values: k.values, kernel: k.kernel,
            args: k.args, first: k.first, tolerance: k.tolerance,
        })
    }
);
