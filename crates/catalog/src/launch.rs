//! A launch in a case's YAML.

use super::values::Extent;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use session::expression::Expression;
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;

/// A kernel launch, or a loop of launches.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Launch {
    /// The `__global__` function, by its plain name.
    pub entry: String,
    /// Grid dimensions in blocks: `x`, `[x, y]` or `[x, y, z]`.
    #[serde(default)]
    pub grid: Extent,
    /// Block dimensions in threads: `x`, `[x, y]` or `[x, y, z]`.
    #[serde(default)]
    pub block: Extent,
    /// Dynamic shared memory in bytes.
    #[serde(default)]
    pub shared: Option<Expression>,
    /// The arguments: names of buffers, numbers, or expressions over the sizes.
    #[serde(default)]
    pub args: Vec<Argument>,
    /// Whether the launch is cooperative, so that the grid can synchronise.
    #[serde(default)]
    pub cooperative: bool,
    /// Cluster dimensions in blocks, if the launch gives them (`cudaLaunchAttributeClusterDimension`): `x`, `[x, y]` or `[x, y, z]`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cluster: Option<Extent>,
    /// Whether the launch may begin before the launch directly in front of it in its stream has ended
    /// (`cudaLaunchAttributeProgrammaticStreamSerialization`).
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub dependent: bool,
    /// Repeats the launch with a loop variable, whose name is a size within this launch.
    #[serde(default)]
    pub repeat: BTreeMap<String, Repeat>,
    /// Two buffers whose names are exchanged after the launch and after each of its repetitions.
    #[serde(default)]
    pub swap: Option<[String; 2]>,
    /// The stream, in a `plan`; the default is the `default` stream.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stream: Option<String>,
}

/// An argument of a launch.
#[derive(Clone, Debug, PartialEq)]
pub enum Argument {
    /// A number with a fraction or an exponent.
    Float(f64),
    /// A buffer's name, an integer or an expression over the sizes.
    Value(Expression),
}

/// The values of a loop variable: `from`, then `next` as long as `while` holds.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Repeat {
    /// The first value.
    pub from: Expression,
    /// The loop continues while this is not 0; comparisons are allowed (`d < n`).
    #[serde(rename = "while")]
    pub condition: Expression,
    /// The next value, computed from the current one.
    pub next: Expression,
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
