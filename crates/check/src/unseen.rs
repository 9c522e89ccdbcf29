//! What the runs of a clean check have not shown: lines that no thread ran, branches that always went the same way, loops that went round
//! less than three times, blocks of several warps and grids of several blocks, accesses beyond the ends of buffers whose sizes are guesses.
//!
//! Lines and branches are those of the unoptimised build, where there is one: it has all lines, and a branch for each of the
//! source. [`session::coverage`] says what counts as run.

use super::argument::Value;
use super::explore::Turns;
use super::geometry::{self, From};
use super::hypothesis::Hypothesis;
use super::plan::{Origin, Plan};
use super::prepare::Prepared;
use detect::coverage::Coverage;
use report::unjudged::Unjudged;
use report::{GuessedBuffer, NoLaunch, ShortLoop, Sources, Unseen, note_lines, source_place};
use session::coverage::{one_way, reached};
use std::collections::{BTreeMap, BTreeSet};

/// What all runs together have reached.
pub(super) struct Reached<'a> {
    /// By build, where the branches went.
    pub coverage: &'a [Coverage],
    /// How often the loops of the last build went round.
    pub turns: &'a Turns,
}

/// What was not seen of a kernel that is judged with a hypothesis.
pub(super) fn unseen(
    prepared: &Prepared,
    hypothesis: &Hypothesis,
    reached_by: &Reached<'_>,
    sources: &mut Sources,
) -> Unseen {
    let last = prepared
        .programs
        .iter()
        .zip(reached_by.coverage)
        .next_back();
    let Some((program, coverage)) = last else {
        return Unseen::default();
    };
    let warps = hypothesis.block().count().div_ceil(32) as u32;
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
    let mut loops: Vec<ShortLoop> = (reached_by.turns.short())
        .filter_map(|(site, turns)| {
            let place = source_place(program.site(site), sources)?;
            Some(ShortLoop { place, turns })
        })
        .collect();
    loops.sort();
    loops.dedup_by(|a, b| a.place == b.place);
    Unseen {
        lines: lines.collect(),
        branches,
        loops,
        launches: launches(prepared, hypothesis),
        buffers: buffers(&hypothesis.plan),
        unjudged: unjudged(prepared, hypothesis),
        ..Unseen::default()
    }
}

/// What the launch had not that the kernel may be launched with. Whoever gives a launch, or launches the kernel in the same file, knows.
fn launches(prepared: &Prepared, hypothesis: &Hypothesis) -> Vec<NoLaunch> {
    let shape = hypothesis.shape();
    let guessed = |from| matches!(from, From::Source | From::Default);
    let (input, entry) = (&prepared.input, &prepared.entry);
    let mut all = Vec::new();
    if shape.block.count() <= 32
        && guessed(shape.origins.block)
        && geometry::tells_threads_apart(input, entry)
    {
        all.push(NoLaunch::SeveralWarps);
    }
    if shape.grid.count() == 1
        && guessed(shape.origins.grid)
        && geometry::tells_blocks_apart(input, entry)
    {
        all.push(NoLaunch::SeveralBlocks);
    }
    all
}

/// What ran and is not judged in full, in words.
fn unjudged(prepared: &Prepared, hypothesis: &Hypothesis) -> Vec<String> {
    let shape = hypothesis.shape();
    let cluster = geometry::cluster_of(shape, &prepared.input, &prepared.entry);
    let blocks = cluster.map_or(1, |size| size.count());
    let several = blocks > 1 && shape.grid.count() > blocks;
    let narrow = prepared.programs.iter().any(|p| p.facts.cluster_scope);
    let mut all = BTreeSet::new();
    if several && narrow {
        all.insert(Unjudged::ClusterScope);
    }
    let mut programs = prepared.programs.iter().map(|p| &p.facts);
    let depends = programs.any(|f| f.launches_dependents || f.waits_for_dependency);
    if depends && prepared.second.is_none() {
        all.insert(Unjudged::DependentAlone);
    }
    report::unjudged::notes(&all).0
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
