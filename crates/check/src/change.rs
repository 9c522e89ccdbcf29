//! Ways to change guessed integers and contents, which several guesses share.

use super::argument::Fill;
use super::hypothesis::Hypothesis;
use super::plan::Plan;

/// Codes of what a text is made of: small letters, capitals, digits.
const LETTERS: [(i64, i64); 3] = [
    (b'a' as i64, b'z' as i64),
    (b'A' as i64, b'Z' as i64),
    (b'0' as i64, b'9' as i64),
];

/// One way to change them.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Change {
    /// One integer, by its place among all.
    One(usize, u64),
    /// All that are larger.
    All(u64),
    /// What buffers of integers hold of which nothing is known.
    Contents(Fill),
}

impl Change {
    /// The plan with it.
    pub(crate) fn of(&self, plan: &Plan) -> Plan {
        match self {
            Change::One(place, value) => plan.with_integer(*place, *value),
            Change::All(value) => plan.with_integers(|n| n.min(*value)),
            Change::Contents(fill) => plan.with_contents(fill).unwrap_or_else(|| plan.clone()),
        }
    }

    /// The hypothesis with it.
    pub(crate) fn in_hypothesis(&self, hypothesis: &Hypothesis) -> Hypothesis {
        Hypothesis {
            plan: self.of(&hypothesis.plan),
            geometry: hypothesis.geometry.clone(),
        }
    }
}

/// Smaller numbers in buffers of integers whose contents are guessed.
pub(crate) fn smaller_contents(plan: &Plan) -> Vec<Change> {
    if plan.random_integers().is_empty() {
        return Vec::new();
    }
    let below = plan.least_size().map(|size| Fill::random_in(0, size - 1));
    // Characters are letters or digits more often than not: `count[text[i] - 'a']`.
    let letters = LETTERS.map(|(from, to)| Fill::random_in(from, to));
    let letters = letters.into_iter().filter(|_| plan.has_random_bytes());
    let few = [Fill::random_in(0, 3), Fill::Zeros];
    let all = letters.chain(below).chain(few);
    all.map(Change::Contents).collect()
}
