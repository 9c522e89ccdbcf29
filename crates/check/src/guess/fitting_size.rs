//! Sizes that have to fit the launch.
//!
//! `if (i < n)` lets callers pass any `n`. A kernel that multiplies by `n` and never compares it with its threads works with those alone
//! that fit: a block of `n / 2` threads that scans `n` elements, a matrix that is a multiple of the tile that a block works on. The
//! guess, the number of threads, is one of many, so what it alone leads to is no error of the kernel. Multiples of it are tried, and the
//! threads of one block; with the first that makes no error the kernel is judged, if it shows as much of the kernel: what made the
//! errors is done again, and each branch that went both ways does so again. A clean verdict says what the first guess led to.
//!
//! `if (t + chunk < size)` says how two sizes go together and not that any will do, so `size` is among those that are tried.

use super::index_base::is_well;
use super::{STEPS, Settled, errors, most_are_done, told};
use crate::explore::{Exploration, Explored};
use crate::plan::Plan;
use crate::{Error, Prepared};
use report::Sources;
use simt::ids::Site;

/// Multiples that are tried: a thread computes up to 8 columns, and there are two blocks in a row.
const MULTIPLES: [u64; 4] = [2, 4, 8, 16];
/// Settings that are tried, at most.
const TRIALS: usize = 24;
/// Largest size that is tried.
const MOST: u64 = 4096;

/// What comes of the kernel with sizes that fit, where the guessed ones make errors and others do not.
pub(super) fn explore(
    prepared: &Prepared,
    exploration: &Exploration<'_>,
    first: &Settled,
    sources: &mut Sources,
) -> Result<Option<Settled>, Error> {
    let others = candidates(prepared, &first.plan);
    // The first build says how long it takes: the other one goes on lane by lane.
    if others.is_empty() || first.explored.first().is_none_or(|e| e.steps > STEPS) {
        return Ok(None);
    }
    let quick = exploration.within(STEPS);
    let steps = first.explored.first().map_or(0, |e| e.steps);
    if is_elsewhere(prepared, &quick, &first.plan, steps)? {
        return Ok(None);
    }
    let program = &prepared.programs[0];
    let deeds = told(exploration.errors(program, &first.plan))?.flatten();
    let Some(deeds) = deeds.filter(|deeds| !deeds.is_empty()) else {
        return Ok(None);
    };
    for (mut plan, less) in others {
        if exploration.gives_up() {
            break;
        }
        if !is_well(prepared, &quick, &plan)? {
            continue;
        }
        let Some(explored) = told(prepared.explore(exploration, &mut plan, sources))? else {
            continue;
        };
        let ended = !explored.iter().any(|e| e.stopped.is_some() || e.too_far);
        if !ended
            || errors(&explored).next().is_some()
            || exploration.out_of_time()
            || !show_as_much(prepared, &first.explored, &explored)
        {
            continue;
        }
        // With fewer elements fewer threads work.
        if !less {
            let Some(seen) = told(quick.outside(program, &plan, &deeds))? else {
                continue;
            };
            if !seen.is_nothing() || !most_are_done(&deeds, &seen.inside) {
                continue;
            }
        }
        let (before, after) = (first.plan.integers(), plan.integers());
        let sizes: Vec<String> = (before.into_iter().zip(after))
            .filter_map(|(before, after)| (before != after).then_some(before))
            .collect();
        let errors = first.errors_in_short();
        return Ok(Some(Settled {
            plan,
            explored,
            warnings: first.warnings.clone(),
            bounded: false,
            left_out: vec![format!("{}, which leads to {errors}", sizes.join(", "))],
        }));
    }
    Ok(None)
}

/// Whether a run of one warp after the other makes no error with the guessed sizes, or with others that may fit, all changed together.
/// `steps` is how many warp-instructions the kernel took with the launch that was guessed first.
///
/// # Errors
///
/// The check was cancelled.
pub(crate) fn runs_well(
    prepared: &Prepared,
    exploration: &Exploration<'_>,
    steps: u64,
) -> Result<bool, Error> {
    let quick = exploration.within(STEPS);
    if is_elsewhere(prepared, &quick, &prepared.plan, steps)? {
        return Ok(false);
    }
    if is_well(prepared, &quick, &prepared.plan)? {
        return Ok(true);
    }
    let places = prepared.plan.unasked();
    for (plan, _) in changed(prepared, &prepared.plan, &[&places]) {
        if exploration.gives_up() {
            break;
        }
        if is_well(prepared, &quick, &plan)? {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Whether the same threads do wrong in shared memory whatever the sizes are: then none of them will fit. A part of the work of a whole
/// run shows it: what is wrong with a tile is wrong with the first one.
fn is_elsewhere(
    prepared: &Prepared,
    exploration: &Exploration<'_>,
    plan: &Plan,
    steps: u64,
) -> Result<bool, Error> {
    const PART: u64 = 8;
    const LEAST: u64 = 20_000;
    let program = &prepared.programs[0];
    let steps = (steps / PART).max(LEAST);
    let soon = |plan: &Plan| told(exploration.soon(program, plan, steps));
    let Some(first) = soon(plan)?.filter(|deeds| !deeds.is_empty()) else {
        return Ok(false);
    };
    let places = plan.unasked();
    for (other, _) in changed(prepared, plan, &[&places]).iter().take(2) {
        if soon(other)?.as_ref() != Some(&first) {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Whether each branch that went both ways before does so now.
pub(crate) fn show_as_much(prepared: &Prepared, before: &[Explored], now: &[Explored]) -> bool {
    let both = |explored: &Explored, site| explored.coverage.ways(site).iter().all(|way| *way != 0);
    let all = prepared.programs.iter().zip(before.iter().zip(now));
    all.into_iter().all(|(program, (before, now))| {
        let mut sites = (0..program.sites.len() as u32).map(Site);
        sites.all(|site| !both(before, site) || both(now, site))
    })
}

/// Other sizes, one at a time and all together; with each, whether it is a smaller one.
fn candidates(prepared: &Prepared, plan: &Plan) -> Vec<(Plan, bool)> {
    let places = plan.unasked();
    let mut sets: Vec<&[usize]> = places.chunks(1).collect();
    if places.len() > 1 {
        sets.push(&places);
    }
    changed(prepared, plan, &sets)
}

/// The same, for sets of places of [`Plan::integer_values`] that change together.
fn changed(prepared: &Prepared, plan: &Plan, sets: &[&[usize]]) -> Vec<(Plan, bool)> {
    let values = plan.integer_values();
    let change = |set: &[usize], change: &dyn Fn(u64) -> u64| {
        let each = set.iter().copied();
        each.fold(plan.clone(), |plan, at| {
            plan.with_integer(at, change(values[at]))
        })
    };
    let mut all: Vec<(Plan, bool)> = Vec::new();
    let geometry = plan.geometry(&prepared.geometry);
    let threads = geometry.block.count();
    if geometry.grid.count() > 1 {
        let one_block = |n: u64| if n > threads { threads } else { n };
        all.extend(sets.iter().map(|set| (change(set, &one_block), true)));
    }
    for by in MULTIPLES {
        let larger = |n: u64| if n * by <= MOST { n * by } else { n };
        all.extend(sets.iter().map(|set| (change(set, &larger), false)));
    }
    all.retain(|(other, _)| other != plan);
    all.truncate(TRIALS);
    all
}
