//! What is dispensable by itself and not together.
//!
//! Of two adjacent barriers each orders what the other one does. So all that nothing fails without is removed at once; if that
//! fails, it is cut down to a smallest set whose removal fails, each part of which may go: "one of these is needed". One of them is
//! then kept, and the search goes on with the others (a minimal failing set by taking away one at a time; Zeller and Hildebrandt,
//! "Simplifying and Isolating Failure-Inducing Input", 2002, for the general form).

use super::judged::{Judged, Outcome, Together};
use super::site::{Mutant, mutated_by};
use catalog::probe::Sign;
use ptx::ast::Module;
use std::collections::BTreeSet;

/// Sets that are looked for, at most.
const GROUPS: usize = 8;

/// The smallest sets of mutants, each of which shows nothing, that fail together. `fails` runs a module, if there is time to make it.
///
/// # Errors
///
/// Those of `fails`.
pub fn groups<E>(
    mutants: &[Mutant],
    judged: &[Judged],
    mut fails: impl FnMut(&dyn Fn() -> Module) -> Result<Option<Box<Sign>>, E>,
    module: &Module,
) -> Result<Vec<Together>, E> {
    let mut left = candidates(mutants, judged);
    let mut found = Vec::new();
    let without = |set: &[usize]| {
        let set: Vec<&Mutant> = set.iter().map(|index| &mutants[*index]).collect();
        mutated_by(module, &set)
    };
    while found.len() < GROUPS && left.len() > 1 {
        let Some(mut sign) = fails(&|| without(&left))? else {
            break;
        };
        let mut set = left.clone();
        let mut at = 0;
        while at < set.len() && set.len() > 2 {
            let mut fewer = set.clone();
            fewer.remove(at);
            match fails(&|| without(&fewer))? {
                Some(shown) => (set, sign) = (fewer, shown),
                None => at += 1,
            }
        }
        left.retain(|index| *index != set[0]);
        found.push(Together { members: set, sign });
    }
    Ok(found)
}

/// The mutants that nothing fails without, no two of them of one instruction: what is removed goes before what is weakened.
fn candidates(mutants: &[Mutant], judged: &[Judged]) -> Vec<usize> {
    let mut all: Vec<usize> = (0..mutants.len().min(judged.len()))
        .filter(|index| match &judged[*index].outcome {
            Outcome::NoFailure { .. } | Outcome::NotExercised { .. } => true,
            Outcome::Needed(_) | Outcome::Unknown(..) => false,
        })
        .collect();
    all.sort_by_key(|index| (!mutants[*index].change.kind.removes(), *index));
    let mut touched = BTreeSet::new();
    all.retain(|index| {
        let starts = mutants[*index].edits.iter().map(|edit| edit.start);
        let free = starts.clone().all(|start| !touched.contains(&start));
        if free {
            touched.extend(starts);
        }
        free
    });
    all.sort_unstable();
    all
}
