//! What the kernel is run on: sizes, given or drawn.

use schemars::JsonSchema;
use serde::de::{self, MapAccess, Visitor};
use serde::{Deserialize, Deserializer};
use session::expression::Expression;
use std::collections::BTreeMap;
use std::fmt;
use std::marker::PhantomData;
use std::path::PathBuf;

/// What the kernel is run on.
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Input {
    /// Its name.
    pub id: String,
    /// The names that expressions use, in order; a later one may use those before it. `1..=4096` is drawn.
    #[schemars(with = "BTreeMap<String, Size>")]
    pub sizes: Named<Size>,
    /// Whether students may know the sizes and values.
    #[serde(default = "yes")]
    pub visible: bool,
    /// How many are drawn.
    #[serde(default = "one")]
    pub draws: u32,
    /// Files with the bytes that are expected in buffers that are compared, below the assignment's folder.
    #[serde(default)]
    pub expected: BTreeMap<String, PathBuf>,
}

fn yes() -> bool {
    true
}

fn one() -> u32 {
    1
}

/// Values with their names, in the order of the file.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Named<T>(pub Vec<(String, T)>);

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Named<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Named<T>, D::Error> {
        struct InOrder<T>(PhantomData<T>);
        impl<'de, T: Deserialize<'de>> Visitor<'de> for InOrder<T> {
            type Value = Named<T>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("names with their values")
            }
            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Named<T>, A::Error> {
                let mut all: Vec<(String, T)> = Vec::new();
                while let Some((name, value)) = map.next_entry()? {
                    if all.iter().any(|(known, _)| *known == name) {
                        return Err(de::Error::custom(format!("`{name}` is given twice")));
                    }
                    all.push((name, value));
                }
                Ok(Named(all))
            }
        }
        deserializer.deserialize_map(InOrder(PhantomData))
    }
}

/// A size of an input.
#[derive(Clone, Debug, PartialEq)]
pub enum Size {
    /// An expression over the sizes before it.
    Is(Expression),
    /// Drawn from a range, both ends included.
    Drawn(Expression, Expression),
}

impl<'de> Deserialize<'de> for Size {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Size, D::Error> {
        #[derive(Deserialize)]
        #[serde(untagged)]
        enum Written {
            Number(i64),
            Text(String),
        }
        let text = match Written::deserialize(deserializer)? {
            Written::Number(number) => return Ok(Size::Is(Expression::constant(number))),
            Written::Text(text) => text,
        };
        let wrong = de::Error::custom::<session::expression::ExpressionError>;
        match session::fill::range(&text) {
            Some(ends) => ends.map(|(low, high)| Size::Drawn(low, high)),
            None => Expression::parse(&text).map(Size::Is),
        }
        .map_err(wrong)
    }
}

impl JsonSchema for Size {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Size".into()
    }
    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({
            "description": "A number, an expression over the sizes before it, or a range `LOW..=HIGH` from which one is drawn.",
            "type": ["integer", "string"]
        })
    }
}
