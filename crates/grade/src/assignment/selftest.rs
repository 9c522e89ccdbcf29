//! Submissions, mutants and lacking calls whose points are known: they prove the rubric.

use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, de};
use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;

/// Submissions whose scores are known.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default, rename_all = "kebab-case")]
pub struct Selftest {
    /// Folders or files, with the points that parts must get; `total` is their sum.
    pub submissions: BTreeMap<PathBuf, BTreeMap<String, Points>>,
    /// What mutants of the reference must lose or get, by the kind of mutation (`racetrap mutate --help`).
    pub mutants: Vec<MutantsLose>,
    /// What the reference of a program must lose or get without one of its calls of a function.
    pub without: Vec<WithoutLoses>,
}

/// Points that are expected.
#[derive(Clone, Debug, PartialEq)]
pub enum Points {
    /// So many.
    Exactly(f64),
    /// Fewer.
    Below(f64),
    /// So many or more.
    AtLeast(f64),
    /// None yet: a person decides.
    Review,
}

impl Points {
    /// Whether a part's points are so.
    pub fn met(&self, earned: Option<f64>) -> bool {
        match (self, earned) {
            (Points::Review, None) => true,
            (Points::Exactly(n), Some(e)) => (e - n).abs() < 1e-6,
            (Points::Below(n), Some(e)) => e < *n - 1e-9,
            (Points::AtLeast(n), Some(e)) => e > *n - 1e-9,
            _ => false,
        }
    }
}

impl fmt::Display for Points {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Points::Exactly(n) => write!(f, "{n}"),
            Points::Below(n) => write!(f, "<{n}"),
            Points::AtLeast(n) => write!(f, ">={n}"),
            Points::Review => f.write_str("review"),
        }
    }
}

impl<'de> Deserialize<'de> for Points {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Points, D::Error> {
        #[derive(Deserialize)]
        #[serde(untagged)]
        enum Written {
            Number(f64),
            Text(String),
        }
        let text = match Written::deserialize(deserializer)? {
            Written::Number(number) => return Ok(Points::Exactly(number)),
            Written::Text(text) => text,
        };
        let number = |rest: &str| rest.trim().parse::<f64>().ok();
        let read = match text.trim() {
            "review" => Some(Points::Review),
            t if t.starts_with(">=") => number(&t[2..]).map(Points::AtLeast),
            t if t.starts_with('<') => number(&t[1..]).map(Points::Below),
            t => number(t).map(Points::Exactly),
        };
        read.ok_or_else(|| {
            de::Error::custom(format!(
                "`{text}` is not a number of points: write `5`, `<5`, `>=5` or `review`"
            ))
        })
    }
}

impl JsonSchema for Points {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Points".into()
    }
    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({
            "description": "Points: `5`, `<5`, `>=5`, or `review` where a person decides.",
            "type": ["number", "string"]
        })
    }
}

/// What a program must lose without a call.
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct WithoutLoses {
    /// The function: `cudaMemcpy`. Each of its calls is left out by itself.
    pub call: String,
    /// Parts of which at least one must lose points.
    #[serde(default)]
    pub lose: Vec<String>,
    /// Points that parts must get; `total` is their sum.
    #[serde(default)]
    pub scores: BTreeMap<String, Points>,
    /// How many calls of it there must be on the first input.
    #[serde(default)]
    pub count: Option<u64>,
}

/// What mutants must lose.
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct MutantsLose {
    /// The mutation: `remove-barrier`.
    pub mutation: mutate::Kind,
    /// Parts of which at least one must lose points.
    #[serde(default)]
    pub lose: Vec<String>,
    /// Points that parts must get; `total` is their sum.
    #[serde(default)]
    pub scores: BTreeMap<String, Points>,
    /// How many mutants there must be.
    #[serde(default)]
    pub count: Option<usize>,
}
