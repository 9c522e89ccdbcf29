//! How `across.json` keeps what was found: each outcome once, with the targets and releases that share it. Nearly all
//! compilers agree on nearly all claims, so the file is a tenth of what a row for each of them would take.

use super::Found;
use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::collections::BTreeMap;

/// One outcome, and where it was found.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Outcome {
    /// Whether the claim holds; nothing where it could not be told.
    pub holds: Option<bool>,
    /// What was counted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub counted: Option<usize>,
    /// Why it could not be told, or what is missing of an order.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub problem: Option<String>,
    /// The CUDA releases, by target.
    pub releases: BTreeMap<String, Vec<String>>,
}

pub fn serialize<S: Serializer>(found: &[Found], serializer: S) -> Result<S::Ok, S::Error> {
    let mut outcomes: Vec<Outcome> = Vec::new();
    for one in found {
        let same = |o: &Outcome| {
            (o.holds, o.counted, &o.problem) == (one.holds, one.counted, &one.problem)
        };
        let index = outcomes.iter().position(same).unwrap_or_else(|| {
            outcomes.push(Outcome {
                holds: one.holds,
                counted: one.counted,
                problem: one.problem.clone(),
                releases: BTreeMap::new(),
            });
            outcomes.len() - 1
        });
        let releases = outcomes[index].releases.entry(one.target.clone());
        releases.or_default().push(one.release.clone());
    }
    outcomes.serialize(serializer)
}

pub fn deserialize<'d, D: Deserializer<'d>>(deserializer: D) -> Result<Vec<Found>, D::Error> {
    let mut found = Vec::new();
    for outcome in Vec::<Outcome>::deserialize(deserializer)? {
        for (target, releases) in &outcome.releases {
            found.extend(releases.iter().map(|release| Found {
                release: release.clone(),
                target: target.clone(),
                holds: outcome.holds,
                counted: outcome.counted,
                problem: outcome.problem.clone(),
            }));
        }
    }
    found.sort_by_cached_key(|one| (numbers(&one.release), numbers(&one.target)));
    Ok(found)
}

/// The numbers of a name, which order it: `12.10` comes behind `12.9`, `sm_100` behind `sm_90`.
fn numbers(name: &str) -> Vec<u32> {
    let words = name.split(|c: char| !c.is_ascii_digit());
    words.filter_map(|word| word.parse().ok()).collect()
}
