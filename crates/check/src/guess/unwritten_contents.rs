//! Guessed contents that lead to memory which nothing has written.
//!
//! `shared[column[i]]` reads what the block has loaded, if the columns are those of the matrix; guessed ones may lie beyond. So where all
//! that is wrong is that shared or local memory is read before anything is written there, other contents are tried. If the very
//! instructions then read what was written, the contents were wrong, and what they showed is a warning.

use super::{Guess, Instead, Needs, STEPS};
use crate::change::{Change, smaller_contents};
use crate::error::Error;
use crate::explore::Deed;
use crate::known::{Known, Saying, Warnings};
use crate::run::{Runner, possible};
use detect::rules::Rule;
use simt::ids::{BlockId, Site, ThreadId};
use std::collections::HashSet;

/// Threads that are asked about, at most.
const THREADS: u64 = 4096;

pub(crate) struct UnwrittenContents;

impl Guess for UnwrittenContents {
    fn instead(&self, known: &Known, runner: &mut Runner<'_>) -> Result<Vec<Instead>, Error> {
        if known.judged.leaves() || known.judged.longest() > STEPS {
            return Ok(Vec::new());
        }
        let instead = written(known, runner)?.map(|change| Instead {
            hypothesis: change.in_hypothesis(&known.judged.asked),
            needs: Needs::default(),
            saying: Saying {
                warnings: Warnings::All,
                ..Saying::default()
            },
        });
        Ok(instead.into_iter().collect())
    }
}

/// Contents with which nothing unwritten is read.
fn written(known: &Known, runner: &Runner<'_>) -> Result<Option<Change>, Error> {
    let hypothesis = &known.judged.hypothesis;
    let plan = &hypothesis.plan;
    let mut all = known.judged.errors();
    let unwritten = all.all(|seen| seen.found.rule == Rule::UninitializedRead);
    if !unwritten || plan.random_integers().is_empty() {
        return Ok(None);
    }
    let exploration = runner.exploration(hypothesis);
    let program = &runner.prepared.programs[0];
    let guilty = possible(exploration.errors(program, plan))?.flatten();
    let sites: HashSet<Site> = guilty.into_iter().flatten().map(|deed| deed.0).collect();
    if sites.is_empty() {
        return Ok(None);
    }
    let shape = hypothesis.shape();
    let (blocks, threads) = (shape.grid.count(), shape.block.count());
    let everybody = (0..blocks).flat_map(|block| (0..threads).map(move |thread| (block, thread)));
    let asked: HashSet<Deed> = everybody
        .take(THREADS as usize)
        .flat_map(|(block, thread)| {
            let of = move |site: &Site| (*site, BlockId(block as u32), ThreadId(thread as u32));
            sites.iter().map(of)
        })
        .collect();
    for change in smaller_contents(plan) {
        if exploration.gives_up() {
            break;
        }
        let other = change.of(plan);
        let clean = possible(exploration.errors(program, &other))?.flatten();
        if !clean.is_some_and(|guilty| guilty.is_empty()) {
            continue;
        }
        let Some(seen) = possible(exploration.outside(program, &other, &asked))? else {
            continue;
        };
        let done: HashSet<Site> = seen.inside.iter().map(|deed| deed.0).collect();
        if seen.is_nothing() && done == sites {
            return Ok(Some(change));
        }
    }
    Ok(None)
}
