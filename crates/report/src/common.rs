//! What findings have in common: places, memory, and how one is told beside another.

use super::{Diagnostic, Label};
use detect::rules::Rule;
use std::collections::BTreeSet;

/// File and line.
pub(crate) type Place = (String, u32);

/// Where a label stands.
pub(crate) fn place(label: &Label) -> Place {
    (label.source.path.clone(), label.line)
}

/// Where a finding's guilty accesses stand.
pub(crate) fn places(diagnostic: &Diagnostic) -> BTreeSet<Place> {
    let guilty = diagnostic.labels.iter().filter(|l| l.is_guilty());
    guilty.map(place).collect()
}

/// Whether a rule is about two accesses that nothing orders.
pub(crate) fn is_race(rule: Rule) -> bool {
    use Rule::*;
    matches!(
        rule,
        DataRace | InsufficientScope | LockstepAssumption | UnorderedCommunication
    )
}

/// Whether two findings are about the same memory.
pub(crate) fn same_memory(a: &Diagnostic, b: &Diagnostic) -> bool {
    a.about.memory.is_some() && a.about.memory == b.about.memory
}

/// How a finding is told as a note of another.
pub(crate) fn also(diagnostic: &Diagnostic) -> String {
    let lines: BTreeSet<u32> = places(diagnostic)
        .into_iter()
        .map(|(_, line)| line)
        .collect();
    let lines: Vec<String> = lines.iter().map(u32::to_string).collect();
    let noun = if lines.len() == 1 { "line" } else { "lines" };
    format!(
        "also: {} ({noun} {})",
        diagnostic.title,
        lines.join(" and ")
    )
}
