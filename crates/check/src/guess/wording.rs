//! What is said of guesses that are given up.

use super::{Settled, errors};
use crate::argument::Value;
use crate::plan::Plan;
use crate::{Prepared, Request, verdict};
use detect::rules::{Level, Rule};
use report::Diagnostic;

/// The buffers whose contents differ, for messages: `` `col` = i32[64]:random ``.
pub(crate) fn other_contents(plan: &Plan, other: &Plan) -> Vec<(String, String)> {
    let said = |plan: &Plan, index: usize| match &plan.values[index].value {
        Value::Buffer(spec) => {
            let text = spec.to_string();
            let fill = text.split_once(':').map_or(text.as_str(), |(_, fill)| fill);
            format!("`{}` = {fill}", plan.parameters.label(index))
        }
        value => value.to_string(),
    };
    let fill = |plan: &Plan, index: usize| match &plan.values[index].value {
        Value::Buffer(spec) => Some(spec.fill.clone()),
        _ => None,
    };
    (0..plan.values.len())
        .filter(|index| fill(plan, *index) != fill(other, *index))
        .map(|index| (said(plan, index), said(other, index)))
        .collect()
}

/// The errors that only a guess showed that was given up.
pub(super) fn warnings(
    prepared: &Prepared,
    request: &Request,
    first: &Settled,
    other: &Plan,
) -> Vec<Diagnostic> {
    let (input, entry, geometry) = (&prepared.input, &prepared.entry, &prepared.geometry);
    let (plan, explored) = (&first.plan, &first.explored);
    let how = verdict::setting(request, input, entry, geometry, plan, explored);
    let (with, without): (Vec<_>, Vec<_>) = (plan.integers().into_iter().zip(other.integers()))
        .filter(|(before, after)| before != after)
        .chain(other_contents(plan, other))
        .unzip();
    let mut found = Vec::new();
    report::merge(&mut found, errors(explored).cloned());
    for diagnostic in &mut found {
        let schedule = diagnostic.replay.take().unwrap_or_default();
        diagnostic.replay = verdict::replay(request, &how, &schedule);
        diagnostic.level = Level::Warning;
        diagnostic.notes.insert(
            0,
            format!(
                "seen with {}, not with {}, with which the kernel is judged; say with `--arg` what callers pass",
                with.join(", "),
                without.join(", "),
            ),
        );
    }
    found
}

/// Of these, the accesses outside, as one finding: it is one number that leads there. What else was seen then follows from it.
pub(super) fn outside(all: Vec<Diagnostic>) -> Vec<Diagnostic> {
    let mut found = all.into_iter().filter(|d| d.rule == Rule::OutOfBounds);
    let Some(mut diagnostic) = found.next() else {
        return Vec::new();
    };
    let mut lines: Vec<u32> = found
        .filter_map(|d| d.labels.iter().find(|l| l.is_guilty()).map(|l| l.line))
        .collect();
    lines.sort_unstable();
    lines.dedup();
    if !lines.is_empty() {
        let lines: Vec<String> = lines.iter().map(u32::to_string).collect();
        let lines = lines.join(", ");
        let also = format!("so it leads outside at these lines, too: {lines}");
        diagnostic.notes.push(also);
    }
    vec![diagnostic]
}
