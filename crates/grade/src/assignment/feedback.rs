//! What students are told, before and after the due date.

use detect::rules::Rule;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// What students are told.
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default, rename_all = "kebab-case")]
pub struct Feedback {
    /// Of findings that a visible input shows.
    pub visible: Disclosure,
    /// Of findings that only hidden inputs show. No sizes, values or threads are told of these. Points tell, too, whether hidden inputs fail,
    /// so a part for which one counts is seen after the due date, unless its `visibility` says otherwise: then, a student who hands in
    /// often learns from each whether a hidden input is of the kind that the last change concerns (above some size, say).
    pub hidden: Disclosure,
    /// What help says.
    pub hints: Hints,
    /// Hints of the course's own, by rule.
    pub words: BTreeMap<Rule, String>,
}

impl Default for Feedback {
    fn default() -> Feedback {
        Feedback {
            visible: Disclosure {
                before: Detail::Schedule,
                after: Detail::Schedule,
            },
            hidden: Disclosure {
                before: Detail::Verdict,
                after: Detail::Lines,
            },
            hints: Hints::Question,
            words: BTreeMap::new(),
        }
    }
}

/// How much is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Disclosure {
    /// Before the due date.
    pub before: Detail,
    /// After it.
    pub after: Detail,
}

/// How much is told of a finding.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
pub enum Detail {
    /// That points are lost, and how many. Of a hidden input this tells one bit each time: whether some hidden input fails.
    Verdict,
    /// Besides, the rule that is broken: whether what fails is a race, a barrier, an access outside of a buffer.
    Rule,
    /// Besides, both lines, and a hint. Of hidden inputs this tells which part of the code they reach.
    Lines,
    /// Besides, which threads did what in which order, and the command that repeats it, with sizes and seed; of visible inputs alone.
    Schedule,
}

/// What help says.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Hints {
    /// Nothing.
    None,
    /// A question that points at both lines.
    Question,
    /// The fix.
    Fix,
}
