//! The guesses that a kernel is judged with.
//!
//! A guess is never the kernel's fault. Where guessed integers lead outside memory whose size somebody has said (an array in
//! the source, a buffer that the user gave), smaller ones are tried, one integer at a time and then all:
//!
//! - The number of elements of a given buffer that is left is the likeliest value of whatever says how many there are.
//! - `filter[j + radius]` with 17 weights is right with a radius of 5. So if the very threads that reach outside an array do the same
//!   access inside with another value, the first value was wrong, and what it showed is a warning: callers know. `s[t + 1]` below
//!   `if (t < n)` stays an error: with a smaller `n` the last thread does not come there.

use super::builds;
use super::explore::{Exploration, Explored};
use super::plan::Plan;
use super::{Error, Prepared, Request, verdict};
use detect::rules::{Level, Rule};
use report::{Diagnostic, Sources};
use std::collections::HashSet;

/// How often all guessed integers are made smaller because they lead further than any buffer grows.
const SMALLER: usize = 2;
/// Warp-instructions of a schedule beyond which nothing else is tried.
const STEPS: u64 = 4_000_000;
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
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Change {
    /// One of them, by its place among all.
    One(usize, u64),
    /// All that are larger.
    All(u64),
}

impl Change {
    fn of(self, plan: &Plan) -> Plan {
        match self {
            Change::One(place, value) => plan.with_integer(place, value),
            Change::All(value) => plan.with_integers(|n| n.min(value)),
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
        if !explored.iter().any(|e| e.too_far) || smaller == guess {
            break;
        }
        guess = smaller;
        plan = guess.clone();
        explored = builds(prepared, exploration, &mut plan, sources)?;
    }
    let first = Settled {
        plan,
        explored,
        warnings: Vec::new(),
        bounded: false,
    };
    if !leaves(&first.explored) {
        return Ok(first);
    }
    let Some((change, excuse)) = inside(prepared, exploration, &first.plan)? else {
        return Ok(first);
    };
    let mut plan = change.of(&guess);
    let explored = builds(prepared, exploration, &mut plan, sources)?;
    if leaves(&explored) || explored.iter().any(|e| e.stopped.is_some()) {
        return Ok(first);
    }
    Ok(Settled {
        warnings: match excuse {
            // The user has said how many elements there are.
            Excuse::Given => Vec::new(),
            Excuse::Array => warnings(prepared, request, &first, &plan),
        },
        bounded: excuse == Excuse::Given,
        plan,
        explored,
    })
}

/// Whether something was reached outside memory, in runs that are short enough to be repeated.
fn leaves(explored: &[Explored]) -> bool {
    let outside = |d: &Diagnostic| {
        d.level == Level::Error && matches!(d.rule, Rule::OutOfBounds | Rule::UseAfterFree)
    };
    explored.iter().any(|e| e.diagnostics.iter().any(outside))
        && explored.iter().all(|e| e.steps <= STEPS)
}

/// Why a guess is given up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Excuse {
    /// It is not the size of a buffer that was given.
    Given,
    /// It leads outside an array, and another one does not.
    Array,
}

/// The change with which nothing is reached outside.
fn inside(
    prepared: &Prepared,
    exploration: &Exploration<'_>,
    plan: &Plan,
) -> Result<Option<(Change, Excuse)>, Error> {
    let integers = plan.integer_values();
    if integers.is_empty() {
        return Ok(None);
    }
    let program = &prepared.programs[0];
    let first = exploration.outside(program, plan, &HashSet::new())?;
    if first.wild || first.is_nothing() {
        return Ok(None);
    }
    for (change, excuse) in candidates(plan, &integers, &first.given, !first.fixed.is_empty())
        .into_iter()
        .take(TRIALS)
    {
        if exploration.out_of_time() {
            break;
        }
        let other = exploration.outside(program, &change.of(plan), &first.fixed)?;
        let same = first.fixed.is_empty() || !other.inside.is_empty();
        if other.is_nothing() && same {
            return Ok(Some((change, excuse)));
        }
    }
    Ok(None)
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

/// What a guess that was given up has shown of accesses outside: one finding, since it is one number that leads there.
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
        .unzip();
    let mut found = Vec::new();
    for one in explored {
        let outside = one.diagnostics.iter();
        let outside = outside.filter(|d| d.rule == Rule::OutOfBounds);
        report::merge(&mut found, outside.cloned());
    }
    let mut found = found.into_iter();
    let Some(mut diagnostic) = found.next() else {
        return Vec::new();
    };
    let schedule = diagnostic.replay.take().unwrap_or_default();
    diagnostic.replay = verdict::replay(request, &how, &schedule);
    diagnostic.level = diagnostic.level.min(Level::Warning);
    diagnostic.notes.insert(
        0,
        format!(
            "seen with {}, not with {}, with which the kernel is judged; say with `--arg` what callers pass",
            with.join(", "),
            without.join(", "),
        ),
    );
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
        let (found, integers) = judged(TABLE, LOOK_UP, None);
        let said: Vec<_> = found.iter().map(|d| (d.rule.name(), d.level)).collect();
        assert_eq!(said, [("out-of-bounds", Level::Warning)]);
        assert!(
            found[0].notes[0].starts_with("seen with `2` = 32, not with `2` = 5"),
            "{found:#?}"
        );
        assert_eq!(integers, ["`1` = 32", "`2` = 5"]);
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
}
