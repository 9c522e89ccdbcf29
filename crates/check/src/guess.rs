//! The guesses that a kernel is judged with.
//!
//! A guess is never the kernel's fault. Where guessed integers lead outside memory whose size somebody has said (an array in
//! the source, a buffer that the user gave), smaller ones are tried, one integer at a time and then all:
//!
//! - The number of elements of a given buffer that is left is the likeliest value of whatever says how many there are.
//! - Where indices are read from a buffer whose contents are guessed, smaller numbers are tried: what only those contents showed is a
//!   warning. So is a race of stores alone to places that such a buffer says, if distinct numbers in it make none: a permutation is
//!   likelier than one that names a place twice. So is a read of shared memory that nothing has written, if smaller contents lead to
//!   what was written ([`unwritten_contents`]).
//! - `filter[j + radius]` with 17 weights is right with a radius of 5. So if the very threads that reach outside an array do the same
//!   access inside with another value, the first value was wrong, and what it showed is a warning: callers know. `s[t + 1]` below
//!   `if (t < n)` stays an error: with a smaller `n` the last thread does not come there.
//! - An index that nobody gave is 0 at first. Errors that only 0 makes are none, unless the kernel asks whether it is 0 ([`index_base`]).
//! - A size that the kernel never compares with its threads has to fit the launch; where the first guess does not, others may ([`fitting_size`]).
//! - A pointer that nobody gave may lead into an array rather than to its start ([`pointer_offset`]).

mod address;
pub(super) mod block_size;
mod buffer_size;
mod fitting_size;
pub(super) mod further_settings;
mod index_base;
mod pointer_offset;
#[cfg(test)]
mod tests;
mod unwritten_contents;
mod wording;

use super::argument::Fill;
use super::explore::{Deed, Exploration, Explored};
use super::plan::Plan;
use super::{Error, ErrorKind, Prepared, Request};
pub(super) use buffer_size::enlarged;
use detect::finding::Action;
use detect::rules::{Level, Rule};
use fitting_size::{runs_well, show_as_much};
use report::{Diagnostic, Sources};
use simt::ids::Site;
use std::collections::{HashMap, HashSet};
use wording::{other_contents, outside, warnings};

/// How often all guessed integers are made smaller because they lead further than any buffer grows.
const SMALLER: usize = 2;
/// Warp-instructions of a schedule beyond which nothing else is tried.
const STEPS: u64 = 4_000_000;
/// The same for what takes few runs, and what a kernel gets first that a guessed 0 may keep from ending.
const LONG: u64 = 4 * STEPS;
/// Codes of what a text is made of: small letters, capitals, digits.
const LETTERS: [(i64, i64); 3] = [
    (b'a' as i64, b'z' as i64),
    (b'A' as i64, b'Z' as i64),
    (b'0' as i64, b'9' as i64),
];
/// Runs with other integers, at most.
const TRIALS: usize = 40;

/// What a kernel is judged with, and what came of it.
#[derive(Debug)]
pub struct Settled {
    /// The arguments.
    pub plan: Plan,
    /// By build.
    pub explored: Vec<Explored>,
    /// What only a guess showed that was given up.
    pub warnings: Vec<Diagnostic>,
    /// Whether the integers are as large as given buffers let them be.
    pub bounded: bool,
    /// What a clean verdict has left out: guesses that the kernel is not judged with, and what they lead to.
    pub left_out: Vec<String>,
}

/// One way to change guessed integers.
#[derive(Clone, Debug, PartialEq)]
enum Change {
    /// One of them, by its place among all.
    One(usize, u64),
    /// All that are larger.
    All(u64),
    /// What buffers of integers hold of which nothing is known.
    Contents(Fill),
}

impl Change {
    fn of(&self, plan: &Plan) -> Plan {
        match self {
            Change::One(place, value) => plan.with_integer(*place, *value),
            Change::All(value) => plan.with_integers(|n| n.min(*value)),
            Change::Contents(fill) => plan.with_contents(fill).unwrap_or_else(|| plan.clone()),
        }
    }
}

/// Explores each build, with other guesses where the first ones alone make errors.
///
/// # Errors
///
/// As [`Exploration::explore`].
pub fn explore(
    prepared: &Prepared,
    request: &Request,
    exploration: &Exploration<'_>,
    sources: &mut Sources,
) -> Result<Settled, Error> {
    let settled = smaller(prepared, request, exploration, sources)?;
    if exploration.out_of_time() || !settled.is_wrong() {
        return Ok(settled);
    }
    let other = fitting_size::explore(prepared, exploration, &settled, sources)?;
    Ok(other.unwrap_or(settled))
}

/// The same, with smaller integers where the guessed ones lead outside.
fn smaller(
    prepared: &Prepared,
    request: &Request,
    exploration: &Exploration<'_>,
    sources: &mut Sources,
) -> Result<Settled, Error> {
    let mut guess = prepared.plan.clone();
    let mut plan = guess.clone();
    // A step of 0 makes a loop endless: then 1 is tried before the whole budget is spent.
    let zeros = !guess.doubtful_zeros().is_empty() && exploration.limits.steps > LONG;
    let short = exploration.within(if zeros { LONG } else { u64::MAX });
    let mut explored = prepared.explore(&short, &mut plan, sources)?;
    let endless = zeros && explored.iter().any(Explored::took_the_budget);
    if endless {
        let first = Settled::of(std::mem::replace(&mut plan, guess.clone()), explored);
        exploration.work.limit(first.work());
        if first.is_wrong()
            && let Some(other) =
                index_base::explore(prepared, request, exploration, (&guess, &first), sources)?
        {
            return Ok(other);
        }
        explored = prepared.explore(exploration, &mut plan, sources)?;
    }
    let mut before: Option<(Plan, Plan, Vec<Explored>)> = None;
    for _ in 0..SMALLER {
        // Guessed sizes are multiplied where several say the extent of one buffer: no kernel is wrong because of that.
        let smaller = guess.with_integers(|n| if n < 4 { n } else { n.isqrt() });
        let late = exploration.out_of_time();
        if late || !explored.iter().any(|e| e.too_far) || smaller == guess {
            break;
        }
        let mut other = smaller.clone();
        let Some(less) = told(prepared.explore(exploration, &mut other, sources))? else {
            break;
        };
        let first = (guess.clone(), plan.clone(), std::mem::take(&mut explored));
        before.get_or_insert(first);
        (guess, plan, explored) = (smaller, other, less);
    }
    if explored.iter().any(|e| e.too_far)
        && let Some((first_guess, first_plan, first_explored)) = before
    {
        // It is not their size that leads too far.
        (guess, plan, explored) = (first_guess, first_plan, first_explored);
    }
    let mut first = Settled::of(plan, explored);
    if exploration.out_of_time() || !first.is_wrong() {
        return Ok(first);
    }
    exploration.work.limit(first.work());
    if !endless
        && let Some(other) =
            index_base::explore(prepared, request, exploration, (&guess, &first), sources)?
    {
        return Ok(other);
    }
    if exploration.out_of_time() || first.explored.iter().any(|e| e.steps > LONG) {
        return Ok(first);
    }
    address::functions(&mut first);
    address::addresses(&mut first);
    pointer_offset::excuse(prepared, exploration, &guess, &mut first)?;
    if !first.is_wrong() {
        return Ok(first);
    }
    let long = first.explored.iter().any(|e| e.steps > STEPS);
    let found = match leaves(&first.explored) {
        true => inside(prepared, exploration, &first.plan, long)?,
        false if long => None,
        false => match one_less(prepared, exploration, &first.plan)? {
            Some(change) => Some((change, Excuse::Index)),
            None => match scatter(prepared, exploration, &first)? {
                Some(change) => Some((change, Excuse::Scattered)),
                None => unwritten_contents::explore(prepared, exploration, &first)?
                    .map(|change| (change, Excuse::Unwritten)),
            },
        },
    };
    let Some((change, excuse)) = found else {
        return Ok(first);
    };
    let mut plan = change.of(&guess);
    let Some(explored) = told(prepared.explore(exploration, &mut plan, sources))? else {
        return Ok(first);
    };
    let wrong = match excuse {
        Excuse::Index | Excuse::Scattered | Excuse::Unwritten => errors(&explored).any(|_| true),
        Excuse::Given | Excuse::Array | Excuse::Contents => leaves(&explored),
    };
    if wrong || exploration.out_of_time() || explored.iter().any(|e| e.stopped.is_some()) {
        return Ok(first);
    }
    Ok(Settled {
        warnings: match excuse {
            // The user has said how many elements there are.
            Excuse::Given => Vec::new(),
            Excuse::Array | Excuse::Contents => outside(warnings(prepared, request, &first, &plan)),
            Excuse::Index | Excuse::Scattered | Excuse::Unwritten => {
                warnings(prepared, request, &first, &plan)
            }
        },
        bounded: excuse == Excuse::Given,
        plan,
        explored,
        left_out: Vec::new(),
    })
}

impl Settled {
    /// What came of a plan, as it is.
    pub fn of(plan: Plan, explored: Vec<Explored>) -> Settled {
        Settled {
            plan,
            explored,
            warnings: Vec::new(),
            bounded: false,
            left_out: Vec::new(),
        }
    }

    /// Warp-instructions of all schedules and builds.
    pub fn work(&self) -> u64 {
        let all = self.explored.iter();
        all.map(|e| e.steps.saturating_mul(e.schedules.len().max(1) as u64))
            .sum()
    }

    /// Whether there are errors.
    pub fn is_wrong(&self) -> bool {
        errors(&self.explored).next().is_some()
    }

    /// The errors by rule and line, in a few words.
    pub fn errors_in_short(&self) -> String {
        errors_in_short(errors(&self.explored))
    }
}

/// Findings by rule and line, in a few words: ``out-of-bounds at `k.cu:7` ``.
pub(super) fn errors_in_short<'a>(found: impl Iterator<Item = &'a Diagnostic>) -> String {
    const SHOWN: usize = 3;
    let mut all: Vec<String> = Vec::new();
    for diagnostic in found {
        let place = diagnostic.labels.iter().find(|l| l.is_guilty());
        let place = place.map(|l| format!(" at {}:{}", l.source.path, l.line));
        let one = format!("{}{}", diagnostic.rule.name(), place.unwrap_or_default());
        if !all.contains(&one) {
            all.push(one);
        }
    }
    let more = all.len() > SHOWN;
    all.truncate(SHOWN);
    format!("{}{}", all.join(", "), if more { ", …" } else { "" })
}

/// The errors of all builds.
fn errors(explored: &[Explored]) -> impl Iterator<Item = &Diagnostic> {
    let all = explored.iter().flat_map(|e| &e.diagnostics);
    all.filter(|d| d.level == Level::Error)
}

/// Whether something was reached outside memory.
fn leaves(explored: &[Explored]) -> bool {
    errors(explored).any(|d| matches!(d.rule, Rule::OutOfBounds | Rule::UseAfterFree))
}

/// What a run with another guess tells; nothing where it can't be launched.
fn told<T>(run: Result<T, Error>) -> Result<Option<T>, Error> {
    match run {
        Ok(told) => Ok(Some(told)),
        Err(error) if error.kind == ErrorKind::Cancelled => Err(error),
        Err(_) => Ok(None),
    }
}

/// An integer of which one less makes the same accesses, and no error.
fn one_less(
    prepared: &Prepared,
    exploration: &Exploration<'_>,
    plan: &Plan,
) -> Result<Option<Change>, Error> {
    let integers = plan.integer_values();
    if integers.is_empty() {
        return Ok(None);
    }
    let program = &prepared.programs[0];
    let Some(guilty) = told(exploration.guilty(program, plan))?
        .flatten()
        .filter(|g| !g.is_empty())
    else {
        return Ok(None);
    };
    for (place, value) in integers
        .iter()
        .enumerate()
        .filter(|(_, n)| **n > 1)
        .take(TRIALS)
    {
        if exploration.gives_up() {
            break;
        }
        let change = Change::One(place, value - 1);
        let other = change.of(plan);
        let clean = told(exploration.guilty(program, &other))?.flatten();
        if clean.is_some_and(|g| g.is_empty())
            && let Some(seen) = told(exploration.outside(program, &other, &guilty))?
            && seen.is_nothing()
            && most_are_done(&guilty, &seen.inside)
        {
            return Ok(Some(change));
        }
    }
    Ok(None)
}

/// Whether each instruction does at least half of what was asked about: which threads write may depend on what they read.
fn most_are_done(asked: &HashSet<Deed>, done: &HashSet<Deed>) -> bool {
    let mut of_site: HashMap<Site, (usize, usize)> = HashMap::new();
    for deed in asked {
        let (all, kept) = of_site.entry(deed.0).or_default();
        *all += 1;
        *kept += usize::from(done.contains(deed));
    }
    of_site.values().all(|(all, kept)| 2 * kept >= *all)
}

/// Distinct contents with which stores that raced by themselves, to places that contents say, do not race.
fn scatter(
    prepared: &Prepared,
    exploration: &Exploration<'_>,
    first: &Settled,
) -> Result<Option<Change>, Error> {
    let found = first.explored.iter().flat_map(|e| &e.findings);
    let mut errors = found.filter(|f| f.rule.level() == Level::Error);
    let stores = errors.all(|f| {
        f.rule == Rule::DataRace && f.ends.iter().all(|(action, _)| *action == Action::Write)
    });
    let change = Change::Contents(Fill::Iota);
    let Some(other) = first.plan.with_contents(&Fill::Iota).filter(|_| stores) else {
        return Ok(None);
    };
    let program = &prepared.programs[0];
    let guilty = told(exploration.guilty(program, &first.plan))?.flatten();
    let Some(guilty) = guilty.filter(|g| !g.is_empty()) else {
        return Ok(None);
    };
    let clean = told(exploration.guilty(program, &other))?.flatten();
    if !clean.is_some_and(|g| g.is_empty()) || exploration.out_of_time() {
        return Ok(None);
    }
    let Some(seen) = told(exploration.outside(program, &other, &guilty))? else {
        return Ok(None);
    };
    let same = seen.is_nothing() && most_are_done(&guilty, &seen.inside);
    Ok(same.then_some(change))
}

/// Why a guess is given up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Excuse {
    /// It is not the size of a buffer that was given.
    Given,
    /// It leads outside an array, and another one does not.
    Array,
    /// It is an index, and was guessed as a size.
    Index,
    /// Contents of buffers lead outside an array, and others do not.
    Contents,
    /// Contents of buffers name a place twice, and distinct ones do not.
    Scattered,
    /// Contents of buffers lead to what nothing has written, and others do not.
    Unwritten,
}

/// The change with which nothing is reached outside.
fn inside(
    prepared: &Prepared,
    exploration: &Exploration<'_>,
    plan: &Plan,
    long: bool,
) -> Result<Option<(Change, Excuse)>, Error> {
    let integers = plan.integer_values();
    if integers.is_empty() && plan.random_integers().is_empty() {
        return Ok(None);
    }
    let program = &prepared.programs[0];
    let first = exploration.outside(program, plan, &HashSet::new())?;
    if first.wild || first.is_nothing() && first.before.is_empty() {
        return Ok(None);
    }
    let smaller = contents(plan).into_iter();
    let others = candidates(plan, &integers, &first.given, !first.fixed.is_empty());
    let most = if long { 3 } else { TRIALS };
    let asked: HashSet<Deed> = first.fixed.union(&first.before).copied().collect();
    for (change, excuse) in smaller.chain(others).take(most) {
        // Integers say how far a kernel reaches, not that it begins before a buffer.
        if exploration.gives_up() || first.is_nothing() && excuse != Excuse::Contents {
            break;
        }
        let other = exploration.outside(program, &change.of(plan), &asked);
        let Some(other) = told(other)? else {
            continue;
        };
        let same = asked.is_empty() || !other.inside.is_empty();
        let before = first.before.is_empty() || other.before.is_empty();
        if other.is_nothing() && before && same {
            return Ok(Some((change, excuse)));
        }
    }
    Ok(None)
}

/// Smaller numbers in buffers of integers whose contents are guessed.
fn contents(plan: &Plan) -> Vec<(Change, Excuse)> {
    if plan.random_integers().is_empty() {
        return Vec::new();
    }
    let below = plan.least_size().map(|size| Fill::random_in(0, size - 1));
    // Characters are letters or digits more often than not: `count[text[i] - 'a']`.
    let letters = LETTERS.map(|(from, to)| Fill::random_in(from, to));
    let letters = letters.into_iter().filter(|_| plan.has_random_bytes());
    let few = [Fill::random_in(0, 3), Fill::Zeros];
    let all = letters.chain(below).chain(few);
    all.map(|fill| (Change::Contents(fill), Excuse::Contents))
        .collect()
}

/// What is tried, in order.
fn candidates(
    plan: &Plan,
    integers: &[u64],
    given: &[usize],
    array: bool,
) -> Vec<(Change, Excuse)> {
    let mut all = Vec::new();
    let each = |value: u64| {
        let larger = integers
            .iter()
            .enumerate()
            .filter(move |(_, n)| **n > value);
        larger.map(move |(place, _)| Change::One(place, value))
    };
    for length in given.iter().filter_map(|index| plan.length_of(*index)) {
        all.extend(each(length).map(|change| (change, Excuse::Given)));
        all.push((Change::All(length), Excuse::Given));
    }
    if array {
        let most = integers.iter().copied().max().unwrap_or(0);
        for value in [most.isqrt(), 5, 3, 1] {
            all.extend(each(value).map(|change| (change, Excuse::Array)));
        }
        for value in [most.isqrt(), 5, 3, 1] {
            all.push((Change::All(value), Excuse::Array));
        }
    }
    all
}
