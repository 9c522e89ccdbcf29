//! Guessed contents that lead to memory which nothing has written.
//!
//! `shared[column[i]]` reads what the block has loaded, if the columns are those of the matrix; guessed ones may lie beyond. So where all
//! that is wrong is that shared or local memory is read before anything is written there, other contents are tried. If the very
//! instructions then read what was written, the contents were wrong, and what they showed is a warning.

use super::{Change, Settled, contents, errors, told};
use crate::explore::{Deed, Exploration};
use crate::{Error, Prepared};
use detect::rules::Rule;
use simt::ids::{BlockId, Site, ThreadId};
use std::collections::HashSet;

/// Threads that are asked about, at most.
const THREADS: u64 = 4096;

/// Contents with which nothing unwritten is read.
pub(super) fn explore(
    prepared: &Prepared,
    exploration: &Exploration<'_>,
    first: &Settled,
) -> Result<Option<Change>, Error> {
    let plan = &first.plan;
    let mut all = errors(&first.explored);
    if !all.all(|d| d.rule == Rule::UninitializedRead) || plan.random_integers().is_empty() {
        return Ok(None);
    }
    let program = &prepared.programs[0];
    let guilty = told(exploration.errors(program, plan))?.flatten();
    let sites: HashSet<Site> = guilty.into_iter().flatten().map(|deed| deed.0).collect();
    if sites.is_empty() {
        return Ok(None);
    }
    let geometry = plan.geometry(&prepared.geometry);
    let (blocks, threads) = (geometry.grid.count(), geometry.block.count());
    let everybody = (0..blocks).flat_map(|block| (0..threads).map(move |thread| (block, thread)));
    let asked: HashSet<Deed> = everybody
        .take(THREADS as usize)
        .flat_map(|(block, thread)| {
            let of = move |site: &Site| (*site, BlockId(block as u32), ThreadId(thread as u32));
            sites.iter().map(of)
        })
        .collect();
    for (change, _) in contents(plan) {
        if exploration.gives_up() {
            break;
        }
        let other = change.of(plan);
        let clean = told(exploration.errors(program, &other))?.flatten();
        if !clean.is_some_and(|guilty| guilty.is_empty()) {
            continue;
        }
        let Some(seen) = told(exploration.outside(program, &other, &asked))? else {
            continue;
        };
        let done: HashSet<Site> = seen.inside.iter().map(|deed| deed.0).collect();
        if seen.is_nothing() && done == sites {
            return Ok(Some(change));
        }
    }
    Ok(None)
}
