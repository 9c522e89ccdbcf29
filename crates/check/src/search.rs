//! Tries hypotheses of a kernel, within a budget.
//!
//! 1. The first hypothesis, as the file and what is likely make it, is run as a whole. Where it shows no error it is judged with.
//! 2. Otherwise each way to guess is asked for others. One that shows no error, and as much of the kernel as it needs to, is judged with
//!    instead: then the error was the guess's. Arguments come first, then launches, for each of which arguments are guessed anew. Of
//!    launches one will do that shows only some of the errors: the others were the guess's.
//! 3. Beside one that shows no error others are tried that add what no hypothesis has reached.
//!
//! The budget of steps 2 and 3 is counted in warp-instructions: a slow machine gives the same verdict. A hypothesis of which all is given
//! is the only one.

use super::error::Error;
use super::explore::{Deed, Explored};
use super::guess::{
    ARGUMENTS, Aim, BUFFERS, Further, Guess, Instead, LAUNCHES, May, STEPS, fitting_size,
};
use super::hypothesis::Hypothesis;
use super::known::{Beside, Known};
use super::prepare::Prepared;
use super::run::{How, Outcome, Runner, possible};
use super::work::Work;
use detect::rules::Rule;
use session::coverage::one_way;
use session::explorer::Schedules;
use simt::ids::Site;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

/// Schedules under which each further hypothesis is run.
const SCHEDULES: usize = 2;
/// Warp-instructions that a further hypothesis may take, as a multiple of what the first one took, and at least: a step of size 0 goes on
/// for ever.
const LONGER: u64 = 16;
const LEAST: u64 = 100_000;
/// Launches that are tried, at most.
const LAUNCHES_TRIED: usize = 12;
/// Warp-instructions of a schedule beyond which no other launch is tried.
const LONGEST: u64 = 16_000_000;

/// Looks for what a kernel is judged with, and tries what else there is to try.
///
/// # Errors
///
/// The first hypothesis can't be run, or the check was cancelled.
pub(crate) fn search(runner: &mut Runner<'_>) -> Result<Known, Error> {
    let mut known = judged_with(runner)?;
    beside(runner, &mut known)?;
    Ok(known)
}

/// What the kernel is judged with: the first hypothesis, or another one where that alone makes errors.
fn judged_with(runner: &mut Runner<'_>) -> Result<Known, Error> {
    let first = runner.prepared.first.clone();
    runner.launches = vec![(first.geometry.grid, first.geometry.block)];
    for guess in LAUNCHES {
        // A tile of the wrong shape: each schedule of each build would work on threads that nobody launches.
        if let Some(soon) = guess.soon(&first, runner)? {
            let known = Known {
                at_once: true,
                ..Known::of(soon)
            };
            if let Some(found) = launches(guess, &known, runner)? {
                return Ok(found);
            }
        }
    }
    let known = settled(first, runner)?;
    if known.judged.steps() > LONGEST || !known.judged.is_wrong() {
        return Ok(known);
    }
    for guess in LAUNCHES {
        if let Some(found) = launches(guess, &known, runner)? {
            return Ok(found);
        }
    }
    Ok(known)
}

/// The first of a guess's launches that shows no error, with arguments that are guessed for it; else the first that shows only some of those
/// that are known: the others were the guess's, whatever else is wrong with the kernel.
fn launches(
    guess: &dyn Guess,
    known: &Known,
    runner: &mut Runner<'_>,
) -> Result<Option<Known>, Error> {
    let work = Arc::new(Work::default());
    work.limit(known.judged.work());
    let mut better: Option<Known> = None;
    let all = guess.instead(known, runner)?.into_iter();
    for Instead {
        hypothesis,
        needs,
        saying,
    } in all.take(LAUNCHES_TRIED)
    {
        if runner.out_of_time() || work.left() == 0 {
            break;
        }
        let shape = (hypothesis.geometry.grid, hypothesis.geometry.block);
        if runner.launches.contains(&shape) {
            continue;
        }
        runner.launches.push(shape);
        runner.work = Arc::clone(&work);
        // Of those that arrays ask for there are few; a kernel that is wrong in all of them is judged with the one that it is made for.
        if !needs.as_much && !fitting_size::runs_well(&hypothesis, known.judged.steps(), runner)? {
            continue;
        }
        let Some(mut found) = possible(settled(hypothesis, runner))? else {
            continue;
        };
        let outcome = &found.judged;
        let right = !outcome.is_wrong();
        let fewer = better.is_none() && shows_fewer(&known.judged, outcome);
        let done = outcome.ended() && !runner.out_of_time() && (right || fewer);
        if done && (!needs.as_much || shows_as_much(runner.prepared, &known.judged, outcome)) {
            found.abandon(&known.judged, saying);
            if right {
                return Ok(Some(found));
            }
            better = Some(found);
        }
    }
    Ok(better)
}

/// Whether the errors now are some of those before, and not all; or of some of their rules: what was reached outside hides races.
fn shows_fewer(before: &Outcome, now: &Outcome) -> bool {
    fn some<T: Eq + std::hash::Hash>(before: HashSet<T>, now: HashSet<T>) -> bool {
        now.is_subset(&before) && now.len() < before.len()
    }
    let keys = |outcome: &Outcome| -> HashSet<_> {
        outcome.errors().map(|seen| seen.found.key()).collect()
    };
    let rules = |outcome: &Outcome| -> HashSet<Rule> {
        let mut all: HashSet<Rule> = outcome.errors().map(|seen| seen.found.rule).collect();
        // What a race leaves unwritten is a part of it.
        if all.contains(&Rule::DataRace) {
            all.remove(&Rule::UninitializedRead);
        }
        all
    };
    some(keys(before), keys(now)) || some(rules(before), rules(now))
}

/// Runs a hypothesis, and others where its arguments alone make errors.
fn settled(hypothesis: Hypothesis, runner: &mut Runner<'_>) -> Result<Known, Error> {
    runner.work = Arc::default();
    let asked = |guess: &&&dyn Guess| guess.patience(&hypothesis).is_some();
    let impatient: Vec<&dyn Guess> = ARGUMENTS.iter().filter(asked).copied().collect();
    let patience = impatient
        .iter()
        .filter_map(|g| g.patience(&hypothesis))
        .min();
    let patience = patience.filter(|steps| runner.request.budgets.steps > *steps);
    let short = How {
        steps: patience,
        ..How::default()
    };
    let first = runner.run(hypothesis.clone(), &short)?;
    let endless = patience.is_some() && first.explored.iter().any(Explored::took_the_budget);
    let mut known = Known::of(first);
    runner.work.limit(known.judged.work());
    if endless {
        for guess in &impatient {
            if known.judged.is_wrong() && replaced(*guess, &mut known, runner)? {
                return Ok(known);
            }
        }
        known = Known::of(runner.run(hypothesis, &How::default())?);
        runner.work.limit(known.judged.work());
    }
    for guess in ARGUMENTS {
        let doubtful = known.judged.is_wrong() || known.judged.is_too_far();
        if !doubtful || runner.out_of_time() {
            break;
        }
        let asked_before = endless && guess.patience(&known.judged.asked).is_some();
        guess.excuse(&mut known, runner)?;
        if !asked_before {
            replaced(guess, &mut known, runner)?;
        }
    }
    Ok(known)
}

/// Judges with the first hypothesis of a guess that shows what it needs to, if there is one.
fn replaced(guess: &dyn Guess, known: &mut Known, runner: &mut Runner<'_>) -> Result<bool, Error> {
    for Instead {
        hypothesis,
        needs,
        saying,
    } in guess.instead(known, runner)?
    {
        if runner.gives_up() {
            break;
        }
        let mut well = true;
        for one in &needs.well {
            well = well && runner.is_well(one, STEPS)?;
        }
        if !well {
            continue;
        }
        let Some(outcome) = runner.try_run(hypothesis, &How::default())? else {
            continue;
        };
        let right = match needs.may {
            May::Nothing => !outcome.is_wrong() && !outcome.is_too_far(),
            May::StayInside => !outcome.leaves(),
            May::NotTooFar => !outcome.is_too_far(),
        };
        // What comes nearer is worth keeping even where it does not end in time.
        let ended = needs.may == May::NotTooFar || outcome.ended() && !runner.out_of_time();
        let as_much = || !needs.as_much || shows_as_much(runner.prepared, &known.judged, &outcome);
        if !right || !ended || !as_much() {
            continue;
        }
        if !needs.accesses.is_empty() {
            let exploration = runner.exploration(&outcome.asked).within(STEPS);
            let program = &runner.prepared.programs[0];
            let seen = exploration.outside(program, &outcome.asked.plan, &needs.accesses);
            let done = possible(seen)?
                .filter(|seen| seen.is_nothing() && most_are_done(&needs.accesses, &seen.inside));
            if done.is_none() {
                continue;
            }
        }
        known.replace(outcome, saying);
        return Ok(true);
    }
    Ok(false)
}

/// Whether each branch that went both ways before does so now.
fn shows_as_much(prepared: &Prepared, before: &Outcome, now: &Outcome) -> bool {
    let both = |explored: &Explored, site| explored.coverage.ways(site).iter().all(|way| *way != 0);
    let all = before.explored.iter().zip(&now.explored);
    prepared
        .programs
        .iter()
        .zip(all)
        .all(|(program, (before, now))| {
            let mut sites = (0..program.sites.len() as u32).map(Site);
            sites.all(|site| !both(before, site) || both(now, site))
        })
}

/// Whether each instruction does at least half of what was asked about: which threads write may depend on what they read.
pub(crate) fn most_are_done<'a>(
    asked: impl IntoIterator<Item = &'a Deed>,
    done: &HashSet<Deed>,
) -> bool {
    let mut of_site: HashMap<Site, (usize, usize)> = HashMap::new();
    for deed in asked {
        let (all, kept) = of_site.entry(deed.0).or_default();
        *all += 1;
        *kept += usize::from(done.contains(deed));
    }
    of_site.values().all(|(all, kept)| 2 * kept >= *all)
}

/// Tries further hypotheses beside one that shows no error, those first that add what no hypothesis has reached.
fn beside(runner: &mut Runner<'_>, known: &mut Known) -> Result<(), Error> {
    for guess in BUFFERS {
        known.short.extend(guess.short(known, runner)?);
    }
    let over = !known.judged.ended() || known.judged.longest() > STEPS || known.judged.is_wrong();
    if runner.request.inputs <= 1 || over || !known.judged.hypothesis.plan.has_guesses() {
        return Ok(());
    }
    runner.work = Arc::default();
    for guess in ARGUMENTS {
        known.short.extend(guess.short(known, runner)?);
    }
    let mut all: Vec<Further> = Vec::new();
    for guess in ARGUMENTS.iter().chain(&LAUNCHES) {
        all.extend(guess.beside(known, runner)?);
    }
    let reached = Reached::of(known, runner.prepared);
    all.sort_by_key(|further| (reached.has(further.aim), further.rank));
    let first = known.judged.hypothesis.clone();
    let is_other = |further: &Further| {
        let other = &further.hypothesis;
        other.plan != first.plan || other.block() != first.block()
    };
    all.retain(is_other);
    let mut left = runner.request.inputs - 1;
    all.retain(|further| {
        let kept = !further.counts || left > 0;
        left -= u32::from(further.counts && left > 0);
        kept
    });
    let longest = known.judged.longest();
    let most = LONGER.saturating_mul(longest).max(LEAST);
    let lowered = runner.request.budgets.steps > most;
    let how = How {
        steps: Some(most),
        schedules: Some(few(&runner.prepared.schedules)),
        ..How::default()
    };
    let mut tried = vec![(first.block(), first.plan.clone())];
    for Further {
        hypothesis,
        fault,
        aim,
        ..
    } in all
    {
        let values = hypothesis.plan.integer_values().into_iter();
        let mut values = values.zip(first.plan.integer_values());
        let larger = known.bounded && values.any(|(now, before)| now > before);
        let this = (hypothesis.block(), hypothesis.plan.clone());
        if larger || tried.contains(&this) || runner.out_of_time() {
            continue;
        }
        tried.push(this);
        let Some(mut outcome) = runner.try_run(hypothesis, &how)? else {
            continue;
        };
        // What takes much longer than the first one is left out, and is no kernel that never ends.
        let endless = |e: &Explored| e.diagnostics().iter().any(|d| d.rule == Rule::NoProgress);
        let long = lowered && outcome.explored.iter().any(endless);
        if long || outcome.is_too_far() || !outcome.ended() {
            continue;
        }
        outcome.explored.iter_mut().for_each(|e| e.memory = None);
        let for_turns = aim == Aim::Turns;
        known.beside.push(Beside {
            outcome,
            fault,
            for_turns,
        });
    }
    Ok(())
}

/// What the hypothesis that a kernel is judged with has reached already.
struct Reached {
    /// Each branch went both ways.
    ways: bool,
}

impl Reached {
    fn of(known: &Known, prepared: &Prepared) -> Reached {
        let all = prepared.programs.iter().zip(&known.judged.explored);
        let mut all = all.map(|(program, e)| one_way(program, &e.coverage).next().is_none());
        Reached {
            ways: all.all(|both| both),
        }
    }

    /// Whether a further hypothesis can add nothing of its kind that is known to be missing: such ones come last.
    fn has(&self, aim: Aim) -> bool {
        match aim {
            Aim::Ways => self.ways,
            // Asked for where they are missing.
            Aim::Turns | Aim::Around | Aim::Limits => false,
        }
    }
}

/// The first schedules of those that the user wants.
fn few(all: &Schedules) -> Schedules {
    match all {
        Schedules::UpTo { most, seed, weak } => Schedules::UpTo {
            most: SCHEDULES.min(*most),
            seed: *seed,
            weak: *weak,
        },
        only => only.clone(),
    }
}
