//! Further settings of numbers that were guessed.
//!
//! A guessed number of elements equals the number of threads, and that hides what goes wrong at its ends: `i <= n`, `x[i + 1]`, a
//! barrier in a loop that some threads leave earlier. So a kernel that is clean with the first guess is run with others: one less, a
//! prime, one more, one, none. All guessed sizes that the kernel compares with its threads change together; indices stay below them: the
//! last one, one in the middle, the first. Where a loop went round less than three times, sizes are made so large that it does
//! ([`Exploration::turns`]): a stage that is overwritten while others still read it shows in the third turn.
//!
//! Guessed floating-point numbers are 1 at first. Further settings set all of them to 0, to a negative and to a small number: what
//! threads compare with them, and what is divided by them, then goes the other way.
//!
//! Where buffers of integers hold random numbers because nobody said what they hold, one more setting fills them with zeros and ones:
//! flags, and what a branch compares with.
//!
//! Whose fault it is what only such a setting shows ([`Fault`]):
//!
//! - **The kernel's**, where it asks its threads about the very sizes that were changed (`if (i < n)`): then any will do, and a race, a
//!   barrier or a shuffle that some threads miss is an error. What leads outside an array stays a warning, for the array may be what
//!   bounds the sizes.
//! - **The guess's**, where a size changed that the kernel never compares with its threads: it has to fit the launch, and another one need
//!   not. A clean verdict says which sizes it does not hold for. Sizes that are multiples of one that fits are an exception if all that
//!   they show are races in shared memory: with more turns of a loop, these are the kernel's.
//! - Of other numbers nobody knows, so it is a warning. Sizes of 0 are left out where the kernel works on an element a thread and its
//!   grid is guessed: a host that has no elements launches no blocks.
//!
//! Buffers keep the size that the first setting needed, and grow where a setting needs more. Whether a kernel reaches one element
//! past the end is asked by itself ([`Exploration::one_past`]): a guessed buffer of `n` elements of which element `n` is touched,
//! for several `n`, is a warning and no error, since it may well have one more (the row offsets of a sparse matrix do).

use super::{Settled, errors_in_short, other_contents};
use crate::argument::Fill;
use crate::explore::{Exploration, Explored, Key};
use crate::geometry;
use crate::plan::Plan;
use crate::verdict;
use crate::{Error, ErrorKind, Found, Prepared, Request, Watch, two_builds};
use detect::coverage::Coverage;
use detect::rules::{Level, Rule};
use report::{Diagnostic, Sources, merge};
use session::Independence;
use session::explorer::Schedules;
use std::collections::HashSet;

/// Schedules under which each further setting is run.
const SCHEDULES: usize = 2;
/// Warp-instructions of the longest schedule of the first setting beyond which no other one is tried: too long to be run again.
const STEPS: u64 = 4_000_000;
/// Warp-instructions that a further setting may take, as a multiple of what the first one took, and at least: a step of size 0 goes on
/// for ever.
const LONGER: u64 = 16;
const LEAST: u64 = 100_000;

/// A further setting of what was guessed.
#[derive(Clone, Copy)]
enum Change {
    /// What sizes become, and how many halves of a size indices are.
    Sizes(fn(u64) -> u64, u64),
    /// What all floating-point numbers become.
    Floats(&'static str),
    /// Sizes become 0, and indices their first value.
    Nothing,
}

/// One less, and a prime.
const FEWER: [Change; 2] = [
    Change::Sizes(|n| n.saturating_sub(1), 2),
    Change::Sizes(|n| prime_up_to(n / 4 * 3), 1),
];

/// How guesses are changed, the most telling way first.
const CHANGES: [Change; 8] = [
    FEWER[0],
    Change::Floats("0.0"),
    FEWER[1],
    Change::Sizes(|n| n + 1, 0),
    Change::Floats("-1.0"),
    Change::Sizes(|_| 1, 0),
    Change::Floats("0.001"),
    Change::Nothing,
];

impl Change {
    /// The changed guesses; `None` where there is nothing to change. `refitted` says that the first guess did not fit the launch.
    fn of(self, plan: &Plan, refitted: bool) -> Option<Setting> {
        let other = match self {
            Change::Sizes(change, halves) => Some(plan.with_sizes(change, halves)),
            Change::Floats(value) => plan.with_floats(value),
            // One block is launched whatever a size is.
            Change::Nothing if plan.are_sizes() && !refitted => {
                Some(plan.with_unasked(|_| 0).with_sizes(|_| 0, 0))
            }
            Change::Nothing => Some(plan.with_sizes(|_| 0, 0)),
        };
        let fault = match self {
            Change::Floats(_) | Change::Nothing => Fault::Unknown,
            Change::Sizes(..) => fault_of_sizes(plan, other.as_ref()?),
        };
        Some(Setting {
            plan: other?,
            fault,
        })
    }
}

/// Whose fault an error is that a setting alone shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fault {
    /// The kernel asks its threads about all that was changed, and sizes became smaller.
    Asked,
    /// The same, and sizes became larger: arrays may be too small for them.
    AskedLarger,
    /// A size was multiplied that has to fit the launch.
    Multiple,
    /// A size was changed that has to fit the launch.
    Unasked,
    /// Nobody knows.
    Unknown,
}

impl Fault {
    /// What a finding of a rule is; `None` where it is the guess's fault. `races` says that all that the setting shows is wrong between
    /// the threads of a block.
    fn level(self, found: &Diagnostic, races: bool) -> Option<Level> {
        match self {
            Fault::Asked if is_between_threads(found.rule) => Some(found.level),
            Fault::AskedLarger if is_between_threads(found.rule) => Some(found.level),
            Fault::Multiple if races => Some(found.level),
            Fault::AskedLarger | Fault::Multiple | Fault::Unasked => None,
            Fault::Asked | Fault::Unknown => Some(found.level.min(Level::Warning)),
        }
    }
}

/// Whether a rule is about what threads do together, which no array's size excuses.
fn is_between_threads(rule: Rule) -> bool {
    matches!(
        rule,
        Rule::DataRace
            | Rule::InsufficientScope
            | Rule::DivergentBarrier
            | Rule::WarpSyncMask
            | Rule::UndefinedShuffle
            | Rule::Deadlock
            | Rule::LockstepAssumption
            | Rule::SameValueWrite
            | Rule::BarrierAfterExit
            | Rule::UnorderedCommunication
    )
}

/// A further setting, and whose fault it is what it alone shows.
struct Setting {
    plan: Plan,
    fault: Fault,
}

/// Whose fault is what other sizes show, of those that the kernel compares with its threads.
fn fault_of_sizes(plan: &Plan, other: &Plan) -> Fault {
    let mut values = other
        .integer_values()
        .into_iter()
        .zip(plan.integer_values());
    let larger = values.any(|(now, before)| now > before);
    match (plan.are_sizes(), larger, plan.unasked().is_empty()) {
        (false, ..) => Fault::Unknown,
        (true, false, _) => Fault::Asked,
        (true, true, true) => Fault::AskedLarger,
        // `row * pitch + i` with `i < width`: a width beyond the pitch.
        (true, true, false) => Fault::Unasked,
    }
}

/// Settings of sizes with which a loop goes round at least three times, where one went round less often.
fn more_turns(
    prepared: &Prepared,
    exploration: &Exploration<'_>,
    plan: &Plan,
) -> Result<Vec<Setting>, Error> {
    if !plan.are_sizes() || plan.integer_values().is_empty() {
        return Ok(Vec::new());
    }
    // All loops of the source are in the build that is not optimised.
    let Some(program) = prepared.programs.last() else {
        return Ok(Vec::new());
    };
    let turns = match exploration.turns(program, plan) {
        Err(error) if error.kind == ErrorKind::Cancelled => return Err(error),
        turns => turns.unwrap_or_default(),
    };
    let Some(turns) = turns.too_few() else {
        return Ok(Vec::new());
    };
    // No multiple of anything, so that the last turn is not a whole one.
    let asked = plan.with_sizes(|n| n.saturating_mul(3) + 13, 0);
    let fault = fault_of_sizes(plan, &asked);
    let unasked = plan.with_unasked(|n| n.saturating_mul(if turns == 1 { 4 } else { 2 }));
    Ok(vec![
        Setting {
            plan: unasked,
            fault: Fault::Multiple,
        },
        Setting { plan: asked, fault },
    ])
}

/// Sizes that the kernel never compares with its threads, one less: what that shows says what a clean verdict does not hold for.
fn one_less_than_fits(plan: &Plan) -> Setting {
    Setting {
        plan: plan.with_unasked(|n| n.saturating_sub(1)),
        fault: Fault::Unasked,
    }
}

/// What further settings showed.
#[derive(Debug, Default)]
pub struct Further {
    /// Findings that the first setting does not have, each with the setting that shows it.
    pub diagnostics: Vec<Diagnostic>,
    /// The same, one by one.
    pub findings: Vec<Found>,
    /// The settings that were tried, beside the first: `n = 127`.
    pub inputs: Vec<String>,
    /// Whether every order of communication was tried with each of them.
    pub every_order: bool,
    /// By build, where the branches went with all of them.
    pub coverage: Vec<Coverage>,
    /// What each of them says about other schedules.
    pub independence: Vec<Option<Independence>>,
    /// Settings that led to errors which are the guess's: `` `n` = 31, which leads to data-race at k.cu:7 ``.
    pub left_out: Vec<String>,
}

/// Runs a kernel with other guesses, where the first one found no error.
///
/// # Errors
///
/// The check was cancelled.
pub fn explore(
    prepared: &Prepared,
    request: &Request,
    watch: &dyn Watch,
    settled: &Settled,
    sources: &mut Sources,
) -> Result<Further, Error> {
    let (plan, first) = (&settled.plan, &settled.explored[..]);
    let mut further = Further {
        every_order: true,
        coverage: vec![Coverage::default(); first.len()],
        ..Further::default()
    };
    let over = first.iter().any(|e| {
        e.stopped.is_some()
            || e.steps > STEPS
            || e.diagnostics.iter().any(|d| d.level == Level::Error)
    });
    let nothing =
        plan.integers().is_empty() && plan.floats().is_empty() && plan.random_integers().is_empty();
    if request.inputs <= 1 || over || nothing || prepared.exploration(request, watch).out_of_time()
    {
        return Ok(further);
    }
    let mut known: HashSet<Key> = first
        .iter()
        .flat_map(|e| &e.diagnostics)
        .chain(&settled.warnings)
        .map(Diagnostic::key)
        .collect();
    let schedules = match &prepared.schedules {
        Schedules::UpTo { most, seed, weak } => Schedules::UpTo {
            most: SCHEDULES.min(*most),
            seed: *seed,
            weak: *weak,
        },
        only => only.clone(),
    };
    let mut exploration = Exploration {
        schedules,
        ..prepared.exploration(request, watch)
    };
    let longest = first.iter().map(|e| e.steps).max().unwrap_or(0);
    let most = LONGER.saturating_mul(longest).max(LEAST);
    let lowered = exploration.limits.steps > most;
    exploration.limits.steps = exploration.limits.steps.min(most);
    further.diagnostics = one_past(prepared, request, &exploration, plan, first, sources)?;
    known.extend(further.diagnostics.iter().map(Diagnostic::key));
    let mut tried: Vec<Plan> = vec![plan.clone()];
    let few = plan.with_contents(&Fill::random_in(0, 1));
    let few = few.map(|plan| Setting {
        plan,
        fault: Fault::Unknown,
    });
    let turns = more_turns(prepared, &exploration, plan)?;
    let empty = geometry::grid_follows_sizes(request.launch, &prepared.input, &prepared.entry);
    let changes = CHANGES.iter();
    let changes = changes.filter(|change| !(empty && matches!(change, Change::Nothing)));
    let others = changes.filter_map(|change| change.of(plan, !settled.left_out.is_empty()));
    let others = others.filter(|other| other.plan != *plan);
    let others = others.take(request.inputs as usize - 1);
    let all = (few.into_iter())
        .chain(turns)
        .chain([one_less_than_fits(plan)])
        .chain(others);
    for Setting {
        plan: mut changed,
        fault,
    } in all
    {
        let values = changed
            .integer_values()
            .into_iter()
            .zip(plan.integer_values());
        let larger = settled.bounded && values.into_iter().any(|(now, before)| now > before);
        if larger || tried.contains(&changed) || exploration.out_of_time() {
            continue;
        }
        tried.push(changed.clone());
        let setting = said(&changed, plan);
        let Some(mut explored) = each_build(prepared, &exploration, &mut changed, sources)? else {
            continue;
        };
        // What takes much longer than the first setting is left out, and is no kernel that never ends.
        let mut all = explored.iter().flat_map(|e| &e.diagnostics);
        if lowered && all.any(|d| d.rule == Rule::NoProgress) {
            continue;
        }
        two_builds::downgrade(&mut explored, &prepared.input.builds);
        let how = verdict::setting(
            request,
            &prepared.input,
            &prepared.entry,
            &prepared.geometry,
            &changed,
            &explored,
        );
        let fresh = |d: &&Diagnostic| d.level > Level::Note && !known.contains(&d.key());
        let new = || explored.iter().flat_map(|e| &e.diagnostics).filter(fresh);
        let is_race = |d: &Diagnostic| {
            let mut all = explored.iter();
            all.any(|e| e.races_in_shared.contains(&d.key()))
        };
        let races = new().all(is_race);
        if new().any(|d| fault.level(d, races).is_none()) {
            let errors = errors_in_short(new());
            let what = format!("{}, which leads to {errors}", said(&changed, plan));
            further.left_out.push(what);
            continue;
        }
        let mut new = Vec::new();
        for (one, coverage) in explored.iter().zip(&mut further.coverage) {
            coverage.merge(&one.coverage);
        }
        for one in &mut explored {
            further.independence.push(one.independence);
            further.every_order &= one.every_order;
            further.findings.append(&mut one.findings);
            let fresh = std::mem::take(&mut one.diagnostics).into_iter();
            merge(
                &mut new,
                fresh.filter(|d| d.level > Level::Note && !known.contains(&d.key())),
            );
        }
        for mut diagnostic in new {
            known.insert(diagnostic.key());
            let schedule = diagnostic.replay.take().unwrap_or_default();
            diagnostic.replay = verdict::replay(request, &how, &schedule);
            diagnostic.notes.insert(
                0,
                format!("seen with {setting}, not with {}", said(plan, &changed)),
            );
            diagnostic.level = fault.level(&diagnostic, races).unwrap_or(Level::Warning);
            further.diagnostics.push(diagnostic);
        }
        further.inputs.push(setting);
    }
    Ok(further)
}

/// What differs from another setting, for messages.
fn said(plan: &Plan, other: &Plan) -> String {
    let contents = other_contents(plan, other);
    if !contents.is_empty() {
        let all: Vec<String> = contents.into_iter().map(|(this, _)| this).collect();
        return all.join(", ");
    }
    match plan.floats() != other.floats() {
        true => plan.floats().join(", "),
        false => plan.integers().join(", "),
    }
}

/// Runs all builds with a setting; `None` where it says nothing: the kernel refuses it, or it takes too long.
fn each_build(
    prepared: &Prepared,
    exploration: &Exploration<'_>,
    plan: &mut Plan,
    sources: &mut Sources,
) -> Result<Option<Vec<Explored>>, Error> {
    let mut all = Vec::new();
    for (build, program) in prepared.input.builds.iter().zip(&prepared.programs) {
        match exploration.explore(build, program, plan, sources) {
            Ok(one) if one.stopped.is_some() || one.too_far => return Ok(None),
            Ok(one) => all.push(one),
            Err(error) if error.kind == ErrorKind::Cancelled => return Err(error),
            Err(_) => return Ok(None),
        }
    }
    Ok(Some(all))
}

/// Guessed buffers of `n` elements of which element `n` is touched, whatever `n` is.
fn one_past(
    prepared: &Prepared,
    request: &Request,
    exploration: &Exploration<'_>,
    plan: &Plan,
    first: &[Explored],
    sources: &mut Sources,
) -> Result<Vec<Diagnostic>, Error> {
    let geometry = plan.geometry(&prepared.geometry);
    let threads = geometry.grid.count() * geometry.block.count();
    let Some(count) = plan.common_size().filter(|n| *n >= 16 && *n == threads) else {
        return Ok(Vec::new());
    };
    if !plan.unasked().is_empty() {
        return Ok(Vec::new());
    }
    let mut candidates = plan.guessed_buffers();
    let mut found = Vec::new();
    for change in FEWER {
        let Change::Sizes(size, _) = change else {
            continue;
        };
        if candidates.is_empty() {
            return Ok(Vec::new());
        }
        let fewer = size(count);
        let tight = plan.with_sizes(size, 0);
        let (build, program) = (&prepared.input.builds[0], &prepared.programs[0]);
        let past = exploration.one_past(build, program, &tight, fewer, &candidates, sources);
        let past = match past {
            Ok(past) => past,
            Err(error) if error.kind == ErrorKind::Cancelled => return Err(error),
            Err(_) => return Ok(Vec::new()),
        };
        candidates.retain(|index| past.iter().any(|(i, _)| i == index));
        found = past;
        found.retain(|(index, _)| candidates.contains(index));
        for (index, diagnostic) in &mut found {
            let name = plan.parameters.label(*index);
            let element = plan.element_of(*index);
            diagnostic.level = Level::Warning;
            diagnostic.notes.insert(0, format!(
                "with {} the kernel touches element {fewer} of `{name}`, which is taken to have {fewer} elements; if it has one more, say so: `--arg {name}={element}[{}]`",
                tight.integers().join(", "),
                count + 1,
            ));
            let mut exact = tight.clone();
            exact.set_length(*index, fewer);
            let how = verdict::setting(
                request,
                &prepared.input,
                &prepared.entry,
                &prepared.geometry,
                &exact,
                first,
            );
            diagnostic.replay = verdict::replay(request, &how, "lockstep");
        }
    }
    let mut merged = Vec::new();
    merge(&mut merged, found.into_iter().map(|(_, d)| d));
    Ok(merged)
}

/// The largest prime up to `n`, or `n` where there is none.
fn prime_up_to(n: u64) -> u64 {
    let is_prime = |n: &u64| {
        *n > 1
            && (2..)
                .take_while(|d| d * d <= *n)
                .all(|d| !n.is_multiple_of(d))
    };
    (2..=n).rev().find(is_prime).unwrap_or(n)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{DEFAULT_INPUTS as DEFAULT, Source, Unwatched, check};

    #[test]
    fn primes() {
        let all: Vec<u64> = [0, 1, 2, 96, 97, 98].map(prime_up_to).into();
        assert_eq!(all, [0, 1, 2, 89, 97, 97]);
    }

    /// What is found in a kernel of `x` and `n` with that body, under so many settings.
    fn found(body: &str, inputs: u32) -> Vec<(String, Level, String)> {
        let text = format!(
            ".version 8.0\n.target sm_75\n.address_size 64\n.visible .entry k(.param .u64 x, .param .u32 n)\n{{
             .reg .pred %p<4>; .reg .b32 %r<9>; .reg .b64 %a<5>;
             ld.param.u64 %a0, [x]; ld.param.u32 %r0, [n];
             mov.u32 %r1, %tid.x; mov.u32 %r2, %ctaid.x; mov.u32 %r3, %ntid.x;
             mad.lo.s32 %r4, %r2, %r3, %r1; mul.wide.s32 %a1, %r4, 4; add.s64 %a2, %a0, %a1;
             {body}\nDONE: ret;\n}}\n"
        );
        of(text, inputs)
    }

    fn of(text: String, inputs: u32) -> Vec<(String, Level, String)> {
        let mut request = Request::new(Source::Ptx {
            name: "k.ptx".into(),
            text,
        });
        request.inputs = inputs;
        request.budgets.jobs = 1;
        let checked = check(&request, &Unwatched).unwrap();
        let all = checked.check.diagnostics.into_iter();
        all.map(|d| (d.rule.name().to_owned(), d.level, d.notes.join("; ")))
            .collect()
    }

    const GUARDED: &str =
        "setp.COMPARE.s32 %p0, %r4, %r0; @%p0 bra DONE; st.global.u32 [%a2OFFSET], %r4;";

    #[test]
    fn one_past_the_end_is_a_warning() {
        let right = GUARDED.replace("COMPARE", "ge").replace("OFFSET", "");
        assert_eq!(found(&right, 6), []);
        for (compare, offset) in [("gt", ""), ("ge", "+4")] {
            let wrong = GUARDED
                .replace("COMPARE", compare)
                .replace("OFFSET", offset);
            assert_eq!(found(&wrong, 1), []);
            let said = found(&wrong, 6);
            assert_eq!(said.len(), 1, "{said:?}");
            assert_eq!(
                (said[0].0.as_str(), said[0].1),
                ("out-of-bounds", Level::Warning)
            );
            assert!(said[0].2.contains("element 89 of `0`"), "{said:?}");
        }
        // Two further elements are what a stencil reads.
        let stencil = GUARDED.replace("COMPARE", "ge").replace("OFFSET", "+8");
        assert_eq!(found(&stencil, 6), []);
    }

    #[test]
    fn a_kernel_without_a_guard_is_not_one_past() {
        assert_eq!(found("st.global.u32 [%a2], %r4;", 6), []);
    }

    /// A kernel with a number `a`, whose threads write one place where `COMPARE` holds.
    fn found_of_a_number(compare: &str, inputs: u32) -> Vec<(String, Level, String)> {
        let text = format!(
            ".version 8.0\n.target sm_75\n.address_size 64\n.visible .entry k(.param .u64 x, .param .f32 a)\n{{
             .reg .pred %p<3>; .reg .b32 %r<2>; .reg .f32 %f<2>; .reg .b64 %a<2>;
             ld.param.u64 %a0, [x]; ld.param.f32 %f0, [a]; mov.u32 %r0, %tid.x;
             {compare} @%p0 st.global.u32 [%a0], %r0;\nret;\n}}\n"
        );
        of(text, inputs)
    }

    #[test]
    fn numbers_are_zero_and_negative_and_small_too() {
        for (compare, value) in [
            ("setp.eq.f32 %p0, %f0, 0f00000000;", "0.0"),
            ("setp.lt.f32 %p0, %f0, 0f00000000;", "-1.0"),
            // Beyond 0 and below 0.01.
            (
                "setp.gt.f32 %p0, %f0, 0f00000000; setp.lt.and.f32 %p0, %f0, 0f3C23D70A, %p0;",
                "0.001",
            ),
        ] {
            assert_eq!(found_of_a_number(compare, 1), []);
            let said = found_of_a_number(compare, DEFAULT);
            assert_eq!(said.len(), 1, "{said:?}");
            assert_eq!(
                (said[0].0.as_str(), said[0].1),
                ("data-race", Level::Warning)
            );
            let note = format!("seen with `1` = {value}, not with `1` = 1.0");
            assert!(said[0].2.contains(&note), "{said:?}");
        }
    }

    /// A loop whose number of rounds a number says: it takes long where that is small, which is no loop without end.
    #[test]
    fn what_takes_longer_is_not_endless() {
        let rounds = "mov.f32 %f1, 0f00000000; A: add.f32 %f1, %f1, %f0; setp.lt.f32 %p0, %f1, 0f42C80000; @%p0 bra A; setp.lt.f32 %p0, %f1, 0f00000000;";
        assert_eq!(found_of_a_number(rounds, DEFAULT), []);
    }

    #[test]
    fn a_barrier_behind_the_guard_is_found() {
        let body = "setp.ge.s32 %p0, %r4, %r0; @%p0 bra SKIP; bar.sync 0; SKIP: @%p0 bra DONE; st.global.u32 [%a2], %r4;";
        assert_eq!(found(body, 1), []);
        let said = found(body, 2);
        assert!(!said.is_empty());
        assert!(
            said[0]
                .2
                .contains("seen with `1` = 127, not with `1` = 128"),
            "{said:?}"
        );
    }
}
