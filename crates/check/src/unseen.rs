//! What the runs of a clean check have not shown: lines that no thread ran, branches that always went the same way, accesses
//! beyond the ends of buffers whose sizes are guesses, and what guesses led to that were given up.
//!
//! Lines and branches are those of the unoptimised build, where there is one: it has all lines, and a branch for each of the
//! source. [`session::coverage`] says what counts as run.

use super::Prepared;
use super::argument::Value;
use super::plan::{Origin, Plan};
use detect::coverage::Coverage;
use report::{GuessedBuffer, Sources, Unseen, note_lines, source_place};
use session::coverage::{one_way, reached};
use std::collections::BTreeMap;

/// What was not seen; `coverage` is that of each build, over all runs, and `left_out` says which guesses were given up.
pub(super) fn unseen(
    prepared: &Prepared,
    plan: &Plan,
    coverage: &[Coverage],
    left_out: Vec<String>,
    sources: &mut Sources,
) -> Unseen {
    let last = prepared.programs.iter().zip(coverage).next_back();
    let Some((program, coverage)) = last else {
        return Unseen {
            guesses: left_out,
            ..Unseen::default()
        };
    };
    let warps = prepared.geometry.block.count().div_ceil(32) as u32;
    let masks = reached(program, coverage, warps);
    let mut ran = BTreeMap::new();
    note_lines(program, &masks, sources, &mut ran);
    let ways = one_way(program, coverage);
    let mut branches: Vec<_> = ways
        .filter_map(|site| source_place(program.site(site), sources))
        .collect();
    branches.sort();
    branches.dedup();
    let lines = ran
        .into_iter()
        .filter(|(_, ran)| !ran)
        .map(|(place, _)| place);
    Unseen {
        lines: lines.collect(),
        branches,
        buffers: buffers(plan),
        guesses: left_out,
        ..Unseen::default()
    }
}

fn buffers(plan: &Plan) -> Vec<GuessedBuffer> {
    let guessed = plan.values.iter().enumerate();
    let guessed = guessed.filter(|(_, planned)| planned.origin == Origin::Guessed);
    let buffers = guessed.filter_map(|(index, planned)| match &planned.value {
        Value::Buffer(spec) => Some(GuessedBuffer {
            name: plan.parameters.label(index),
            elements: spec.length?,
        }),
        _ => None,
    });
    buffers.collect()
}
