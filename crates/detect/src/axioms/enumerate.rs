//! All executions of a program.

use super::event::*;
use super::execution::Execution;
use super::program::*;

fn permutations(items: &[usize]) -> Vec<Vec<usize>> {
    if items.is_empty() {
        return vec![Vec::new()];
    }
    let mut all = Vec::new();
    for i in 0..items.len() {
        let mut rest = items.to_vec();
        let first = rest.remove(i);
        for mut tail in permutations(&rest) {
            tail.insert(0, first);
            all.push(tail);
        }
    }
    all
}

/// Calls `visit` with every combination of one choice a place, until it says stop.
fn combinations(choices: &[usize], visit: &mut dyn FnMut(&[usize]) -> bool) {
    let mut at = vec![0; choices.len()];
    loop {
        if visit(&at) {
            return;
        }
        let Some(next) = (0..at.len()).find(|i| at[*i] + 1 < choices[*i]) else {
            return;
        };
        at[next] += 1;
        at[..next].fill(0);
    }
}

/// Executions that are looked at, at most.
const EXECUTIONS: usize = 200_000;

/// Which executions of a program have a race.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Racy {
    None,
    /// Some, but none that is sequentially consistent.
    Weak,
    Sequential,
}

impl From<bool> for Racy {
    fn from(racy: bool) -> Racy {
        match racy {
            true => Racy::Sequential,
            false => Racy::None,
        }
    }
}

/// Which executions that the axioms allow have a race; `None` if there are too many to look at, or none at all.
pub(super) fn is_racy(program: &Program) -> Option<Racy> {
    let events = Events::of(program);
    let n = events.all.len();
    // What weak reads of plain data return decides nothing here.
    let flag = |e: usize| events.location(e).is_some_and(|l| l >= DATA);
    let reads: Vec<usize> = (0..n).filter(|e| flag(*e) && events.reads(*e)).collect();
    let writes = |l: usize| -> Vec<usize> {
        (0..n)
            .filter(|e| events.location(*e) == Some(l) && events.writes(*e))
            .collect()
    };
    let sources: Vec<Vec<usize>> = reads
        .iter()
        .map(|r| {
            let mut from = writes(events.location(*r).unwrap_or(0));
            from.retain(|w| w != r);
            if !events.spins(*r) {
                from.push(*r);
            }
            from
        })
        .collect();
    if sources.iter().any(Vec::is_empty) {
        return None;
    }
    let orders: Vec<Vec<Vec<usize>>> = (DATA..LOCATIONS)
        .map(|l| permutations(&writes(l)))
        .collect();
    let fences: Vec<usize> = (0..n).filter(|e| events.is_sc(*e)).collect();
    let fences = permutations(&fences);
    let mut choices: Vec<usize> = sources.iter().map(Vec::len).collect();
    choices.extend(orders.iter().map(Vec::len));
    choices.push(fences.len());
    if choices.iter().product::<usize>() > EXECUTIONS {
        return None;
    }
    let mut execution = Execution {
        releases: events.release_patterns(),
        acquires: events.acquire_patterns(),
        events: &events,
        from: (0..n).collect(),
        coherence: vec![Vec::new(); LOCATIONS],
        sc: Vec::new(),
    };
    // Weak accesses to data race or are ordered; any of these orders will do.
    let (mut racy, mut possible) = (Racy::None, false);
    combinations(&choices, &mut |at| {
        for (i, r) in reads.iter().enumerate() {
            execution.from[*r] = sources[i][at[i]];
        }
        for (l, order) in orders.iter().enumerate() {
            execution.coherence[DATA + l] = order[at[reads.len() + l]].clone();
        }
        execution.sc = fences[at[choices.len() - 1]].clone();
        let race = execution.race();
        possible |= race.is_some();
        if race == Some(true) && racy != Racy::Sequential {
            racy = match execution.is_sequentially_consistent() {
                true => Racy::Sequential,
                false => Racy::Weak,
            };
        }
        racy == Racy::Sequential
    });
    possible.then_some(racy)
}
