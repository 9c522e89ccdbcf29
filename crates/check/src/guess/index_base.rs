//! Guessed zeros that only lead to errors.
//!
//! An index that nobody gave starts at 0, because loops of host programs do. But where an expression is well with every positive
//! value and wrong with 0 alone (`a[(k - 1) * n + i]`, a step by which a loop goes on), 0 is racetrap's mistake and not the kernel's:
//! such a kernel is called with 1 first. So where a guessed index of 0 makes errors, 1 and a value in the middle are tried; if these
//! make none, the kernel is judged with 1, and a clean verdict says what 0 would have led to. Races that 0 makes are warnings: they
//! take no wrong address, and a caller who passes 0 would not notice.
//!
//! A step of 0 makes a loop endless, so a kernel with such a guess gets a small part of its budget first: if it has not ended then, 1 is
//! tried before the rest is spent.
//!
//! What says that 0 is allowed is a kernel that asks for it: with `k == 0` in the kernel, errors with 0 stay errors. Sizes are not
//! concerned: they are 0 in a further setting ([`further_settings`](super::further_settings)), and what that shows is a warning.

use super::{LONG, Settled, errors, told, warnings};
use crate::explore::Exploration;
use crate::plan::Plan;
use crate::{Error, Prepared, Request};
use detect::rules::Rule;
use report::Sources;

/// What comes of the kernel with 1 in place of guessed zeros, where only the zeros make errors.
pub(super) fn explore(
    prepared: &Prepared,
    request: &Request,
    exploration: &Exploration<'_>,
    (guess, first): (&Plan, &Settled),
    sources: &mut Sources,
) -> Result<Option<Settled>, Error> {
    let zeros = guess.doubtful_zeros();
    let mut sets: Vec<&[usize]> = zeros.chunks(1).collect();
    if zeros.len() > 1 {
        sets.push(&zeros);
    }
    let quick = exploration.within(LONG);
    let middle = guess.with_sizes(|n| n, 1).integer_values();
    for set in sets {
        let with = |value: &dyn Fn(usize) -> u64| {
            let each = set.iter().copied();
            each.fold(guess.clone(), |plan, at| plan.with_integer(at, value(at)))
        };
        let mut plan = with(&|_| 1);
        let half = with(&|at| middle.get(at).copied().unwrap_or(1).max(1));
        if exploration.gives_up() {
            break;
        }
        if !is_well(prepared, &quick, &plan)? || half != plan && !is_well(prepared, &quick, &half)?
        {
            continue;
        }
        plan.start_at_one(set);
        let Some(explored) = told(prepared.explore(exploration, &mut plan, sources))? else {
            continue;
        };
        let ended = !explored.iter().any(|e| e.stopped.is_some());
        if errors(&explored).next().is_some() || !ended || exploration.out_of_time() {
            continue;
        }
        let (before, after) = (first.plan.integers(), plan.integers());
        let zeros: Vec<String> = (before.into_iter().zip(after))
            .filter_map(|(before, after)| (before != after).then_some(before))
            .collect();
        let mut warnings = warnings(prepared, request, first, &plan);
        warnings.retain(|d| matches!(d.rule, Rule::DataRace | Rule::InsufficientScope));
        return Ok(Some(Settled {
            warnings,
            left_out: vec![format!(
                "{}, which leads to {}",
                zeros.join(", "),
                first.errors_in_short()
            )],
            plan,
            explored,
            bounded: false,
        }));
    }
    Ok(None)
}

/// Whether a run of one warp after the other makes no error.
pub(super) fn is_well(
    prepared: &Prepared,
    quick: &Exploration<'_>,
    plan: &Plan,
) -> Result<bool, Error> {
    let guilty = told(quick.guilty(&prepared.programs[0], plan))?.flatten();
    Ok(guilty.is_some_and(|guilty| guilty.is_empty()))
}
