//! The guesses that a kernel is judged with.
//!
//! A guess is never the kernel's fault. Where guessed integers lead outside memory whose size somebody has said (an array in
//! the source, a buffer that the user gave), smaller ones are tried, one integer at a time and then all:
//!
//! - The number of elements of a given buffer that is left is the likeliest value of whatever says how many there are.
//! - Where indices are read from a buffer whose contents are guessed, smaller numbers are tried: what only those contents showed is a
//!   warning. So is a race of stores alone to places that such a buffer says, if distinct numbers in it make none: a permutation is
//!   likelier than one that names a place twice.
//! - `filter[j + radius]` with 17 weights is right with a radius of 5. So if the very threads that reach outside an array do the same
//!   access inside with another value, the first value was wrong, and what it showed is a warning: callers know. `s[t + 1]` below
//!   `if (t < n)` stays an error: with a smaller `n` the last thread does not come there.

use super::argument::{Fill, Value};
use super::builds;
use super::explore::{Deed, Exploration, Explored};
use super::plan::{Origin, Plan};
use super::{Error, ErrorKind, Prepared, Request, verdict};
use detect::finding::Action;
use detect::rules::{Level, Rule};
use report::{Diagnostic, Sources};
use simt::ids::Site;
use std::collections::{HashMap, HashSet};

/// How often all guessed integers are made smaller because they lead further than any buffer grows.
const SMALLER: usize = 2;
/// Warp-instructions of a schedule beyond which nothing else is tried.
const STEPS: u64 = 4_000_000;
/// The same for what takes few runs.
const LONG: u64 = 4 * STEPS;
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

/// Explores each build, with smaller integers where the guessed ones lead outside.
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
    let mut guess = prepared.plan.clone();
    let mut plan = guess.clone();
    let mut explored = builds(prepared, exploration, &mut plan, sources)?;
    for _ in 0..SMALLER {
        // Guessed sizes are multiplied where several say the extent of one buffer: no kernel is wrong because of that.
        let smaller = guess.with_integers(|n| if n < 4 { n } else { n.isqrt() });
        let late = exploration.out_of_time();
        if late || !explored.iter().any(|e| e.too_far) || smaller == guess {
            break;
        }
        let mut other = smaller.clone();
        let Some(less) = told(builds(prepared, exploration, &mut other, sources))? else {
            break;
        };
        (guess, plan, explored) = (smaller, other, less);
    }
    let first = Settled {
        plan,
        explored,
        warnings: Vec::new(),
        bounded: false,
    };
    let late = exploration.out_of_time();
    if late
        || !errors(&first.explored).any(|_| true)
        || first.explored.iter().any(|e| e.steps > LONG)
    {
        return Ok(first);
    }
    let long = first.explored.iter().any(|e| e.steps > STEPS);
    let found = match leaves(&first.explored) {
        true => inside(prepared, exploration, &first.plan, long)?,
        false if long => None,
        false => match one_less(prepared, exploration, &first.plan)? {
            Some(change) => Some((change, Excuse::Index)),
            None => scatter(prepared, exploration, &first)?.map(|c| (c, Excuse::Scattered)),
        },
    };
    let Some((change, excuse)) = found else {
        return Ok(first);
    };
    let mut plan = change.of(&guess);
    let Some(explored) = told(builds(prepared, exploration, &mut plan, sources))? else {
        return Ok(first);
    };
    let wrong = match excuse {
        Excuse::Index | Excuse::Scattered => errors(&explored).any(|_| true),
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
            Excuse::Index | Excuse::Scattered => warnings(prepared, request, &first, &plan),
        },
        bounded: excuse == Excuse::Given,
        plan,
        explored,
    })
}

/// What reaches beyond the sizes that the host program gives to buffers, where it does not bind ([`Origin::Host`]): racetrap does not
/// know all that the program passes, so it lets them grow, and says that it had to.
///
/// # Errors
///
/// The check was cancelled.
pub fn enlarged(
    prepared: &Prepared,
    request: &Request,
    exploration: &Exploration<'_>,
    settled: &Settled,
    sources: &mut Sources,
) -> Result<Vec<Diagnostic>, Error> {
    let mut plan = settled.plan.clone();
    let mut stated = Vec::new();
    for index in 0..plan.values.len() {
        let Origin::Host { line, .. } = plan.values[index].origin else {
            continue;
        };
        let (before, now) = (prepared.plan.length_of(index), plan.length_of(index));
        if let (Some(before), true) = (before, now > before) {
            plan.set_length(index, before);
            stated.push((index, before, line));
        }
    }
    let late = exploration.out_of_time();
    if late || stated.is_empty() || settled.explored.iter().any(|e| e.steps > STEPS) {
        return Ok(Vec::new());
    }
    let zeros = plan.with_zeros();
    let mut found = Vec::new();
    for (build, program) in prepared.input.builds.iter().zip(&prepared.programs) {
        let mut tight = |plan: &Plan| match exploration.tight(build, program, plan, sources) {
            Err(error) if error.kind == ErrorKind::Cancelled => Err(error),
            found => Ok(found.unwrap_or_default()),
        };
        // What only guessed contents lead to says nothing.
        let always: HashSet<usize> = tight(&zeros)?.into_iter().map(|(index, _)| index).collect();
        for (index, mut diagnostic) in tight(&plan)? {
            if always.contains(&index) {
                diagnostic.builds = build.name.map(str::to_string).into_iter().collect();
                found.push((index, diagnostic));
            }
        }
    }
    let (entry, geometry) = (&prepared.entry, &prepared.geometry);
    let explored = &settled.explored;
    let how = verdict::setting(request, &prepared.input, entry, geometry, &plan, explored);
    let mut all = Vec::new();
    for (index, mut diagnostic) in found {
        let Some((_, elements, line)) = stated.iter().find(|(i, ..)| *i == index) else {
            continue;
        };
        let name = plan.parameters.label(index);
        let line = super::host::line_of(*line, plan.host_file.as_deref());
        diagnostic.level = Level::Warning;
        diagnostic.notes.insert(0, format!(
            "the program passes `{name}` with {} elements ({line}); not all else that it passes is known, so the kernel is judged with a larger one",
            report::terminal::thousands(*elements)
        ));
        diagnostic.replay = verdict::replay(request, &how, "lockstep");
        all.push(diagnostic);
    }
    let mut merged = Vec::new();
    report::merge(&mut merged, all);
    Ok(merged)
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
        if exploration.out_of_time() {
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
    if first.wild || first.is_nothing() {
        return Ok(None);
    }
    let smaller = contents(plan).into_iter();
    let others = candidates(plan, &integers, &first.given, !first.fixed.is_empty());
    let most = if long { 3 } else { TRIALS };
    for (change, excuse) in smaller.chain(others).take(most) {
        if exploration.out_of_time() {
            break;
        }
        let other = exploration.outside(program, &change.of(plan), &first.fixed);
        let Some(other) = told(other)? else {
            continue;
        };
        let same = first.fixed.is_empty() || !other.inside.is_empty();
        if other.is_nothing() && same {
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
    let few = [Fill::random_in(0, 3), Fill::Zeros];
    let all = below.into_iter().chain(few);
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

/// The buffers whose contents differ, for messages: `` `col` = i32[64]:random ``.
pub(super) fn other_contents(plan: &Plan, other: &Plan) -> Vec<(String, String)> {
    let said = |plan: &Plan, index: usize| match &plan.values[index].value {
        Value::Buffer(spec) => {
            let text = spec.to_string();
            let fill = text.split_once(':').map_or(text.as_str(), |(_, fill)| fill);
            format!("`{}` = {fill}", plan.parameters.label(index))
        }
        value => value.to_string(),
    };
    let fill = |plan: &Plan, index: usize| match &plan.values[index].value {
        Value::Buffer(spec) => Some(spec.fill.clone()),
        _ => None,
    };
    (0..plan.values.len())
        .filter(|index| fill(plan, *index) != fill(other, *index))
        .map(|index| (said(plan, index), said(other, index)))
        .collect()
}

/// The errors that only a guess showed that was given up.
fn warnings(
    prepared: &Prepared,
    request: &Request,
    first: &Settled,
    other: &Plan,
) -> Vec<Diagnostic> {
    let (input, entry, geometry) = (&prepared.input, &prepared.entry, &prepared.geometry);
    let (plan, explored) = (&first.plan, &first.explored);
    let how = verdict::setting(request, input, entry, geometry, plan, explored);
    let (with, without): (Vec<_>, Vec<_>) = (plan.integers().into_iter().zip(other.integers()))
        .filter(|(before, after)| before != after)
        .chain(other_contents(plan, other))
        .unzip();
    let mut found = Vec::new();
    report::merge(&mut found, errors(explored).cloned());
    for diagnostic in &mut found {
        let schedule = diagnostic.replay.take().unwrap_or_default();
        diagnostic.replay = verdict::replay(request, &how, &schedule);
        diagnostic.level = Level::Warning;
        diagnostic.notes.insert(
            0,
            format!(
                "seen with {}, not with {}, with which the kernel is judged; say with `--arg` what callers pass",
                with.join(", "),
                without.join(", "),
            ),
        );
    }
    found
}

/// Of these, the accesses outside, as one finding: it is one number that leads there. What else was seen then follows from it.
fn outside(all: Vec<Diagnostic>) -> Vec<Diagnostic> {
    let mut found = all.into_iter().filter(|d| d.rule == Rule::OutOfBounds);
    let Some(mut diagnostic) = found.next() else {
        return Vec::new();
    };
    let mut lines: Vec<u32> = found
        .filter_map(|d| d.labels.iter().find(|l| l.is_guilty()).map(|l| l.line))
        .collect();
    lines.sort_unstable();
    lines.dedup();
    if !lines.is_empty() {
        let lines: Vec<String> = lines.iter().map(u32::to_string).collect();
        let lines = lines.join(", ");
        let also = format!("so it leads outside at these lines, too: {lines}");
        diagnostic.notes.push(also);
    }
    vec![diagnostic]
}

#[cfg(test)]
mod tests {
    use crate::{Request, Source, Unwatched, check};
    use detect::rules::Level;
    use report::Diagnostic;

    /// What comes of a kernel of `x`, `n` and `k` in 32 threads, and the values that it is judged with.
    fn judged(head: &str, body: &str, given: Option<&str>) -> (Vec<Diagnostic>, Vec<String>) {
        let text = format!(
            ".version 8.0\n.target sm_75\n.address_size 64\n{head}\n.visible .entry k(.param .u64 x, .param .u32 n, .param .u32 k)\n{{
             .reg .pred %p<4>; .reg .b32 %r<12>; .reg .b64 %a<9>; .shared .b32 s[16];
             ld.param.u64 %a0, [x]; ld.param.u32 %r0, [n]; ld.param.u32 %r1, [k]; mov.u32 %r2, %tid.x;
             mov.u64 %a7, s; mul.wide.u32 %a1, %r2, 4; add.s64 %a2, %a0, %a1;
             {body}\nDONE: ret;\n}}\n"
        );
        let mut request = Request::new(Source::Ptx {
            name: "k.ptx".into(),
            text,
        });
        request.launch.block = Some(simt::Dim3::linear(32));
        request.budgets.jobs = 1;
        request.arguments = given
            .map(|text| crate::argument::parse(text).expect("an argument"))
            .into_iter()
            .collect();
        let checked = check(&request, &Unwatched).expect("checked");
        (checked.check.diagnostics, checked.plan.integers())
    }

    /// What each thread reads of a table, by an index that depends on `k` alone: `table[k]` or `table[k - 1]`.
    const TABLE: &str = ".const .align 4 .b32 table[6] = {1, 2, 3, 4, 5, 6};";
    const LOOK_UP: &str = "mov.u64 %a3, table; mul.wide.u32 %a4, %r1, 4; add.s64 %a5, %a3, %a4;
         ld.const.u32 %r3, [%a5]; st.global.u32 [%a2], %r3;";

    #[test]
    fn an_index_into_an_array_is_made_smaller() {
        // Threads stay below it, too, so it may be a size.
        let body = format!("setp.ge.u32 %p0, %r2, %r1; @%p0 bra DONE; {LOOK_UP}");
        let (found, integers) = judged(TABLE, &body, None);
        let said: Vec<_> = found.iter().map(|d| (d.rule.name(), d.level)).collect();
        assert_eq!(said, [("out-of-bounds", Level::Warning)]);
        assert!(
            found[0].notes[0].starts_with("seen with `2` = 32, not with `2` = 5"),
            "{found:#?}"
        );
        assert_eq!(integers, ["`1` = 32", "`2` = 5"]);
        // What does nothing but select an element is an index from the start.
        let (found, integers) = judged(TABLE, LOOK_UP, None);
        assert_eq!((found.len(), found[0].level), (1, Level::Warning));
        assert!(
            found[0].notes[0].starts_with("seen with `1` = 31, `2` = 30, not with"),
            "{found:#?}"
        );
        assert_eq!(integers, ["`1` = 32", "`2` = 0"]);
    }

    #[test]
    fn what_was_given_is_an_error() {
        let (found, _) = judged(TABLE, LOOK_UP, Some("2=7"));
        assert_eq!(found[0].level, Level::Error);
    }

    /// `if (t < n) s[t] = t;` with an array of 16 for 32 threads: with a smaller `n`, the threads that go wrong do nothing.
    #[test]
    fn a_guard_is_no_excuse() {
        let body = "setp.ge.u32 %p0, %r2, %r0; @%p0 bra DONE; add.s64 %a3, %a7, %a1; st.shared.u32 [%a3], %r2;";
        let (found, integers) = judged("", body, None);
        assert_eq!(
            (found[0].rule.name(), found[0].level),
            ("out-of-bounds", Level::Error)
        );
        assert!(integers.iter().all(|n| n.ends_with("= 32")), "{integers:?}");
    }

    #[test]
    fn the_size_of_a_given_buffer_bounds_what_counts_its_elements() {
        let body = "setp.ge.u32 %p0, %r2, %r0; @%p0 bra DONE; st.global.u32 [%a2], %r2;";
        let (found, integers) = judged("", body, Some("0=i32[20]"));
        assert_eq!(found, []);
        assert_eq!(integers, ["`1` = 20", "`2` = 32"]);
        let (found, _) = judged("", &body.replace("[%a2]", "[%a2+4]"), Some("0=i32[20]"));
        assert_eq!(
            (found[0].rule.name(), found[0].level),
            ("out-of-bounds", Level::Error)
        );
    }

    /// Each thread writes element `t * (n - k)`: one place where `k` equals `n`.
    const ROW: &str = "sub.s32 %r3, %r0, %r1; mul.lo.s32 %r4, %r3, %r2; mul.wide.s32 %a3, %r4, 4; add.s64 %a4, %a0, %a3;
         st.global.u32 [%a4], %r2;";

    #[test]
    fn an_index_is_below_its_size() {
        let (found, integers) = judged("", ROW, None);
        let said: Vec<_> = found.iter().map(|d| (d.rule.name(), d.level)).collect();
        assert_eq!(said, [("data-race", Level::Warning)]);
        let note = "seen with `2` = 32, not with `2` = 31";
        assert!(found[0].notes[0].starts_with(note), "{found:#?}");
        assert_eq!(integers, ["`1` = 32", "`2` = 31"]);
        let (found, _) = judged("", ROW, Some("2=32"));
        assert_eq!(found[0].level, Level::Error);
    }

    /// A race that the same accesses make whatever the integers are, and one whose accesses one less leaves out.
    #[test]
    fn other_races_stay_errors() {
        let always = "st.global.u32 [%a0], %r2;";
        let last = "add.s32 %r3, %r2, 1; setp.ne.s32 %p0, %r3, %r0; @!%p0 st.global.u32 [%a0], %r2; @%p0 st.global.u32 [%a2], %r2;";
        for body in [always, last] {
            let (found, _) = judged("", body, None);
            let worst = found.iter().map(|d| (d.rule.name(), d.level)).next();
            assert_eq!(worst, Some(("data-race", Level::Error)), "{body}");
        }
    }
}
