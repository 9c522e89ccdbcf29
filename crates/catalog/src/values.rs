//! The notations inside a case's YAML: ranges of sizes, contents of buffers, dimensions of grids, and oracles.

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{self, SeqAccess};
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

/// The value of a preprocessor symbol.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum DefineValue {
    /// A number.
    Number(i64),
    /// A word, such as a type's name.
    Word(String),
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
