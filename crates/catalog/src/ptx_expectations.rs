//! What a case says of its PTX (key `ptx`); [`compiled`](super::compiled) checks it.

use ptxdiff::effect::Effect;
use ptxdiff::pattern::Pattern;
use schemars::JsonSchema;
use serde::de::{self, Deserializer, MapAccess, Visitor};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

/// What the compiler must have made of the kernel, checked on the pinned PTX of every target. A pattern is an opcode followed by
/// required qualifiers in any order: `st.shared` matches `st.volatile.shared.u32`. `!volatile` excludes a qualifier
/// (`bar.sync.!warp` matches block barriers, but not `bar.warp.sync`). `*` matches the rest of a word (`bar*`, `*.volatile`).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct PtxExpectations {
    /// The plain name of the kernel to check; the default is all kernels that the case launches, together.
    #[serde(default)]
    pub entry: Option<String>,
    /// The number of instructions that match each pattern: a number, `>= 2`, `2..=4`, or one for each target,
    /// `{sm_75: 2, sm_90: 3}`.
    #[serde(default)]
    pub counts: BTreeMap<Pattern, Quantity>,
    /// Patterns that must match an instruction.
    #[serde(default)]
    pub has: Vec<Pattern>,
    /// Patterns that must match no instruction.
    #[serde(default)]
    pub lacks: Vec<Pattern>,
    /// Sequences of patterns that must match in this order; other instructions may stand between them.
    #[serde(default)]
    pub order: Vec<Vec<Pattern>>,
    /// What the compiler did to this case's kernel, relative to another case's. Name the other case by its file's stem in the
    /// same folder, by its full name, or as `twin`. List effects under the names of `racetrap diff`, with their counts.
    #[serde(default)]
    pub effects: BTreeMap<String, BTreeMap<Effect, Quantity>>,
}

/// How many there must be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Quantity {
    /// On every target.
    Everywhere(Bounds),
    /// On each target its own; nothing is said about those that are left out.
    ByTarget(BTreeMap<String, Bounds>),
}

/// A number, or a comparison.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Bounds {
    pub(super) text: String,
    pub(super) least: usize,
    pub(super) most: usize,
}

/// A text that is neither a number nor a comparison.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not a number of instructions: write 2, >= 2, < 5 or 2..=4")]
pub struct NoBounds(pub String);

impl Bounds {
    /// Whether `count` is within.
    pub fn holds(&self, count: usize) -> bool {
        (self.least..=self.most).contains(&count)
    }
}

impl fmt::Display for Bounds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl FromStr for Bounds {
    type Err = NoBounds;

    fn from_str(text: &str) -> Result<Bounds, NoBounds> {
        let text = text.trim();
        let number = |digits: &str| digits.trim().parse::<usize>().ok();
        let after = |sign: &str| text.strip_prefix(sign).map(number);
        let range = match text.split_once("..=") {
            Some((from, to)) => number(from).zip(number(to)),
            None => match (after(">="), after("<="), after(">"), after("<")) {
                (Some(n), ..) => n.map(|n| (n, usize::MAX)),
                (_, Some(n), ..) => n.map(|n| (0, n)),
                (_, _, Some(n), _) => n.map(|n| (n.saturating_add(1), usize::MAX)),
                (.., Some(n)) => n.filter(|n| *n > 0).map(|n| (0, n - 1)),
                _ => number(text).map(|n| (n, n)),
            },
        };
        match range {
            Some((least, most)) if least <= most => Ok(Bounds {
                text: text.to_owned(),
                least,
                most,
            }),
            _ => Err(NoBounds(text.to_owned())),
        }
    }
}

impl Quantity {
    /// What is said about a target, if anything.
    pub fn on(&self, target: &str) -> Option<&Bounds> {
        match self {
            Quantity::Everywhere(bounds) => Some(bounds),
            Quantity::ByTarget(targets) => targets.get(target),
        }
    }

    /// The targets that are named.
    pub fn targets(&self) -> impl Iterator<Item = &str> {
        let named = match self {
            Quantity::Everywhere(_) => None,
            Quantity::ByTarget(targets) => Some(targets.keys().map(String::as_str)),
        };
        named.into_iter().flatten()
    }
}

impl Serialize for Quantity {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Quantity::Everywhere(bounds) => serializer.serialize_str(&bounds.text),
            Quantity::ByTarget(targets) => serializer.collect_map(
                targets
                    .iter()
                    .map(|(target, bounds)| (target, &bounds.text)),
            ),
        }
    }
}

impl<'de> Deserialize<'de> for Quantity {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Quantity, D::Error> {
        struct Reader;
        struct Within(Bounds);
        impl<'de> Deserialize<'de> for Within {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Within, D::Error> {
                match deserializer.deserialize_any(Reader)? {
                    Quantity::Everywhere(bounds) => Ok(Within(bounds)),
                    Quantity::ByTarget(_) => Err(de::Error::custom("targets cannot be nested")),
                }
            }
        }
        impl<'de> Visitor<'de> for Reader {
            type Value = Quantity;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a number, a comparison such as `>= 2`, or one for each target")
            }
            fn visit_u64<E: de::Error>(self, value: u64) -> Result<Quantity, E> {
                self.visit_str(&value.to_string())
            }
            fn visit_i64<E: de::Error>(self, value: i64) -> Result<Quantity, E> {
                self.visit_str(&value.to_string())
            }
            fn visit_str<E: de::Error>(self, text: &str) -> Result<Quantity, E> {
                text.parse().map(Quantity::Everywhere).map_err(E::custom)
            }
            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Quantity, A::Error> {
                let mut targets = BTreeMap::new();
                while let Some((target, Within(bounds))) = map.next_entry::<String, Within>()? {
                    targets.insert(target, bounds);
                }
                Ok(Quantity::ByTarget(targets))
            }
        }
        deserializer.deserialize_any(Reader)
    }
}

impl JsonSchema for Quantity {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Quantity".into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        let one = serde_json::json!([{ "type": "integer", "minimum": 0 }, { "type": "string" }]);
        schemars::json_schema!({
            "description": "A number, a comparison (`>= 2`, `< 5`, `2..=4`), or one for each target.",
            "anyOf": [
                { "type": "integer", "minimum": 0 },
                { "type": "string" },
                { "type": "object", "additionalProperties": { "anyOf": one } }
            ]
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantities_are_numbers_and_comparisons() {
        let holds = |text: &str, count| text.parse::<Bounds>().unwrap().holds(count);
        assert!(holds("2", 2) && !holds("2", 3));
        assert!(holds(">= 2", 9) && !holds("> 2", 2) && holds("<= 2", 0) && !holds("<2", 2));
        assert!(holds("2..=4", 4) && !holds("2..=4", 5));
        for text in ["", "two", "4..=2", "-1", "< 0", "== 2"] {
            assert!(text.parse::<Bounds>().is_err(), "{text}");
        }
    }

    #[test]
    fn targets_may_have_their_own() {
        let quantity: Quantity = crate::yaml::from_str("{sm_75: 2, sm_90: '>= 3'}").unwrap();
        assert!(quantity.on("sm_90").unwrap().holds(4));
        assert_eq!(quantity.on("sm_100"), None);
        assert!(crate::yaml::from_str::<Quantity>("{sm_75: {sm_90: 1}}").is_err());
    }
}
