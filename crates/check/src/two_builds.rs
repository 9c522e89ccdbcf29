//! What two builds of one kernel say of each other.
//!
//! # Ends of a kernel that the compiler has merged
//!
//! `if (t >= n) { o[t] = 0; return; } … __syncthreads(); … o[t] = …;` has two ends that store and return. The optimiser makes one
//! of them, behind the barrier, and threads that leave early come through it: in the optimised build they go past
//! a barrier, in the source they have left before it. That is what the unoptimised build shows, which has a
//! path for each `return`; where it does, its warning stands, and the error is dropped.
//!
//! # Communication that only unoptimised code shows
//!
//! It is left out: see `follow`.
//!
//! # Waits that only optimised code shows to be hopeless
//!
//! Where a test of an mbarrier is a function, as it is in unoptimised code, the simulator can't know that nothing but a complete phase ends
//! the loop around it, and the loop runs until its budget is spent. A `no-progress` at a line where the optimised build has a `deadlock` is
//! that deadlock, and how far a budget reaches decides nothing.
//!
//! # Reads that the compiler has merged
//!
//! `if (t == 0) s[0] = s[0] / n; float m = s[0];` reads twice. The optimiser makes one read of them, which has the line of the first: the
//! race seems to be one line's with itself, and the advice is wrong. Where the unoptimised build, which has both reads, tells a race
//! of that line with another one and none with itself, its finding stands for both.

use super::explore::{Explored, Key};
use super::input::Build;
use super::seen::Seen;
use detect::rules::Rule;
use report::Diagnostic;
use std::collections::HashSet;
use toolchain::Optimisation;

/// What was found, by build: such errors of the optimised build are dropped, and the findings of the unoptimised one say so.
pub(super) fn joined(explored: &[Explored], builds: &[Build]) -> Vec<Vec<Seen>> {
    let of = |e: &Explored| e.diagnostics().iter().cloned().map(Seen::of).collect();
    let mut all: Vec<Vec<Seen>> = explored.iter().map(of).collect();
    let build = |wanted: Optimisation| builds.iter().position(|b| b.name == Some(wanted.name()));
    let (Some(optimised), Some(unoptimised)) = (
        build(Optimisation::Optimised),
        build(Optimisation::Unoptimised),
    ) else {
        return all;
    };
    if let Ok([first, second]) = all.get_disjoint_mut([optimised, unoptimised]) {
        compare(first, &explored[optimised].past_and_exited, second);
        soften(first, second);
        if explored[optimised].schedules.len() >= explored[unoptimised].schedules.len() {
            follow(first, second);
        }
        unmerge(first, second);
        wait_alike(first, second);
    }
    all
}

/// What the optimised code shows to do less harm than its rule says is no worse in the unoptimised code, where values pass through
/// memory and cannot be followed.
fn soften(optimised: &[Seen], unoptimised: &mut [Seen]) {
    for known in optimised {
        if known.level < known.found.rule.level() {
            let key = known.found.key();
            let others = unoptimised.iter_mut().filter(|o| o.found.key() == key);
            others.for_each(|other| other.level = other.level.min(known.level));
        }
    }
}

/// Whether a value that one thread hands another goes on untested is known where it stays in registers. Unoptimised code puts it into
/// local memory and reads it back, and `flag.load(acquire)` of a library is a function there: what such code says alone of communication is
/// about that. The optimiser leaves strong accesses where they are (CUDA C++ Programming Guide, "Volatile Qualifier"; PTX ISA, "Memory
/// Consistency Model"), so its code shows each exchange, too.
fn follow(optimised: &[Seen], unoptimised: &mut Vec<Seen>) {
    let is = |seen: &Seen| seen.found.rule == Rule::UnorderedCommunication;
    if !optimised.iter().any(is) {
        unoptimised.retain(|seen| !is(seen));
    }
}

/// The lines of a race.
fn raced(diagnostic: &Diagnostic) -> Option<Vec<(&str, u32)>> {
    let guilty = diagnostic.labels.iter().filter(|l| l.is_guilty());
    let mut lines: Vec<_> = guilty.map(|l| (l.source.path.as_str(), l.line)).collect();
    lines.sort_unstable();
    lines.dedup();
    (diagnostic.rule == Rule::DataRace).then_some(lines)
}

/// Lets the unoptimised build's finding stand for a race that the optimised one has in one line only because reads were merged.
fn unmerge(optimised: &mut Vec<Seen>, unoptimised: &mut [Seen]) {
    optimised.retain(|one| {
        let Some(&[line]) = raced(&one.found).as_deref() else {
            return true;
        };
        let others: Vec<_> = unoptimised
            .iter()
            .map(|other| raced(&other.found))
            .collect();
        let of = |lines: &Option<Vec<(&str, u32)>>| {
            let lines = lines.as_deref().unwrap_or_default();
            lines.contains(&line).then_some(lines.len())
        };
        if others.iter().any(|lines| of(lines) == Some(1)) {
            return true;
        }
        let Some(index) = others.iter().position(|lines| of(lines) == Some(2)) else {
            return true;
        };
        let whole = &mut unoptimised[index];
        if whole.level < one.level {
            return true;
        }
        whole.builds.splice(0..0, one.builds.iter().cloned());
        whole.count += one.count;
        false
    });
}

fn compare(optimised: &mut Vec<Seen>, exited: &HashSet<Key>, unoptimised: &mut [Seen]) {
    let (kept, errors): (Vec<Seen>, Vec<Seen>) = std::mem::take(optimised)
        .into_iter()
        .partition(|seen| !exited.contains(&seen.found.key()));
    *optimised = kept;
    for error in errors {
        match warning(&error.found, unoptimised) {
            Some(warning) => explain(warning, error),
            None => optimised.push(error),
        }
    }
}

/// Takes a loop that never ended for the wait that the optimised build knows to be a deadlock, at the same line.
fn wait_alike(optimised: &mut [Seen], unoptimised: &mut Vec<Seen>) {
    unoptimised.retain_mut(|seen| {
        if seen.found.rule != Rule::NoProgress {
            return true;
        }
        let waits = |other: &&mut Seen| {
            other.found.rule == Rule::Deadlock && place(&other.found) == place(&seen.found)
        };
        let Some(deadlock) = optimised.iter_mut().find(waits) else {
            return true;
        };
        deadlock.builds.append(&mut seen.builds);
        false
    });
}

/// The file and line of the barrier, or of the wait.
fn place(diagnostic: &Diagnostic) -> Option<(&str, u32)> {
    let label = diagnostic.labels.iter().find(|l| l.is_guilty())?;
    Some((&label.source.path, label.line))
}

/// The warning that says of the same barrier that threads had exited, if that is all that is wrong with it.
fn warning<'a>(error: &Diagnostic, all: &'a mut [Seen]) -> Option<&'a mut Seen> {
    let here = place(error)?;
    let of = |seen: &Seen, rule: Rule| seen.found.rule == rule && place(&seen.found) == Some(here);
    if all.iter().any(|seen| of(seen, Rule::DivergentBarrier)) {
        return None;
    }
    all.iter_mut().find(|seen| of(seen, Rule::BarrierAfterExit))
}

fn explain(warning: &mut Seen, error: Seen) {
    let past = error.found.labels.iter().filter(|l| l.is_guilty()).nth(1);
    let at = past.map_or(String::new(), |l| format!(" at line {}", l.line));
    warning.last.push(format!(
        "the optimiser has merged the end of these threads with the others'{at}, behind the barrier: optimised, they go past it there"
    ));
    warning.builds.splice(0..0, error.builds);
}

#[cfg(test)]
mod tests {
    use super::*;
    use detect::rules::Level;
    use report::{Label, SourceFile};
    use std::sync::Arc;

    fn label(line: u32) -> Label {
        Label {
            source: Arc::new(SourceFile::new("k.cu".into(), "\n".repeat(20))),
            line,
            columns: 0..1,
            text: String::new(),
            who: None,
            instruction: Some("bar.sync 0;".into()),
        }
    }

    fn diagnostic(rule: Rule, lines: [u32; 2], build: &str) -> Diagnostic {
        Diagnostic {
            rule,
            level: rule.level(),
            title: String::new(),
            labels: lines.map(label).into(),
            notes: Vec::new(),
            help: None,
            edit: None,
            no_change: None,
            replay: None,
            count: 1,
            builds: vec![build.into()],
            expected: false,
            accepted: None,
            trace: None,
            launched: None,
            about: report::About::default(),
        }
    }

    /// What is left of an error of the optimised build, at the barrier of line 6, and of what the unoptimised one has.
    fn left(exited: bool, unoptimised: &[(Rule, [u32; 2])]) -> (usize, Vec<Seen>) {
        let error = diagnostic(Rule::DivergentBarrier, [6, 7], "optimised");
        let past_and_exited = exited.then(|| error.key()).into_iter().collect();
        let others = unoptimised.iter();
        let others = others.map(|(rule, lines)| diagnostic(*rule, *lines, "unoptimised"));
        let mut optimised = vec![Seen::of(error)];
        let mut unoptimised: Vec<Seen> = others.map(Seen::of).collect();
        compare(&mut optimised, &past_and_exited, &mut unoptimised);
        (optimised.len(), unoptimised)
    }

    #[test]
    fn a_merged_end_is_a_warning() {
        let (errors, warnings) = left(true, &[(Rule::BarrierAfterExit, [6, 4])]);
        assert_eq!((errors, warnings.len()), (0, 1));
        assert_eq!(warnings[0].builds, ["optimised", "unoptimised"]);
        assert!(warnings[0].last[0].contains("at line 7"));
    }

    #[test]
    fn threads_that_stay_make_an_error() {
        let (errors, warnings) = left(false, &[(Rule::BarrierAfterExit, [6, 4])]);
        assert_eq!((errors, warnings.len()), (1, 1));
        assert!(warnings[0].last.is_empty());
    }

    #[test]
    fn the_optimised_code_knows_more_of_values() {
        let of = |level, lines| {
            vec![Seen::of(Diagnostic {
                level,
                ..diagnostic(Rule::DataRace, lines, "build")
            })]
        };
        for (lines, level) in [([3, 3], Level::Warning), ([3, 4], Level::Error)] {
            let mut unoptimised = of(Level::Error, lines);
            soften(&of(Level::Warning, [3, 3]), &mut unoptimised);
            assert_eq!(unoptimised[0].level, level);
        }
    }

    #[test]
    fn communication_is_what_the_optimised_code_shows() {
        let seen = |rule| Seen::of(diagnostic(rule, [3, 4], "build"));
        let all = || vec![seen(Rule::UnorderedCommunication), seen(Rule::DataRace)];
        for (optimised, kept) in [(vec![], 1), (vec![seen(Rule::DataRace)], 1), (all(), 2)] {
            let mut unoptimised = all();
            follow(&optimised, &mut unoptimised);
            assert_eq!(unoptimised.len(), kept);
        }
    }

    #[test]
    fn a_merged_read_has_its_own_line() {
        let race = |lines, build| Seen::of(diagnostic(Rule::DataRace, lines, build));
        for (mut unoptimised, kept) in [
            (vec![race([3, 4], "unoptimised")], 0),
            (
                vec![race([3, 4], "unoptimised"), race([3, 3], "unoptimised")],
                1,
            ),
            (vec![race([4, 5], "unoptimised")], 1),
            (Vec::new(), 1),
        ] {
            let mut optimised = vec![race([3, 3], "optimised")];
            unmerge(&mut optimised, &mut unoptimised);
            assert_eq!(optimised.len(), kept);
            let told = unoptimised.first().map(|seen| seen.builds.len());
            assert!(kept == 1 || told == Some(2));
        }
    }

    #[test]
    fn another_barrier_says_nothing() {
        assert_eq!(left(true, &[(Rule::BarrierAfterExit, [9, 4])]).0, 1);
        assert_eq!(left(true, &[(Rule::DataRace, [6, 7])]).0, 1);
        assert_eq!(left(true, &[]).0, 1);
    }

    #[test]
    fn what_the_source_does_stays_an_error() {
        let both = [
            (Rule::BarrierAfterExit, [6, 4]),
            (Rule::DivergentBarrier, [6, 8]),
        ];
        assert_eq!(left(true, &both).0, 1);
    }
}
