//! Findings that another one explains: they become notes of their cause.
//!
//! The one place that says what explains what:
//!
//! * **A read of what nobody has written** is explained by a race of the same instruction with a write that may come before it in the code: the
//!   bytes read were left unwritten by the racing write. A write that the code only comes to after the read explains nothing: put in
//!   order, the read still finds nothing there.
//! * **A wrong address**, one that reaches outside or finds nothing written, is explained by a race whose read gave a value that the address was
//!   computed from ([`simt::lower::address_loads`]), or by a read of what nobody has written.
//!
//! A consequence counts as its cause does: that of a warning is no error. Blind spots: values that pass through memory or calls on their way;
//! an address that is wrong whatever was read is a note, too, until the cause is mended.

use super::common::{also, is_race, places, same_memory};
use super::help::{Guilty, in_loop};
use super::{About, Diagnostic, KernelView};
use detect::finding::{Action, Finding};
use detect::rules::{Level, Rule};
use simt::lower::{address_loads, may_come_before};
use std::collections::BTreeSet;

/// Notes where the address of a wrong access comes from, and which side of a race may be first.
pub(crate) fn trace_back(
    about: &mut About,
    finding: &Finding,
    guilty: &[Guilty],
    kernel: &KernelView<'_>,
) {
    if has_wrong_address(finding.rule)
        && let Some(end) = finding.ends.first()
    {
        let line = |site: simt::ids::Site| kernel.sites.get(site.0 as usize).map(|s| s.ptx_line);
        let loads = address_loads(kernel.program, end.site)
            .into_iter()
            .filter_map(line);
        about
            .address_from
            .entry(kernel.ptx.path.clone())
            .or_default()
            .extend(loads);
    }
    if is_race(finding.rule) {
        let end = |action: Action| {
            let mut all = finding.ends.iter().zip(guilty);
            all.find(|(end, _)| end.action == action)
        };
        about.write_may_come_first = match end(Action::Write).zip(end(Action::Read)) {
            Some(((write, at), (read, from))) if write.launch == read.launch => {
                // On ways apart neither comes first: the compiler may have given the reader a way of its own, or left a store out.
                may_come_before(kernel.program, write.site, read.site)
                    || !may_come_before(kernel.program, read.site, write.site)
                    || stands_before(at, from)
            }
            _ => true,
        };
    }
}

/// Whether the source has the write before the read, or in a loop with it.
fn stands_before(write: &Guilty, read: &Guilty) -> bool {
    // From the outside in: a call that holds both says nothing, unless it is made again.
    for (a, b) in write.frames.iter().rev().zip(read.frames.iter().rev()) {
        let again = in_loop(&a.file, a.line) && in_loop(&b.file, b.line);
        if (&a.file.path, a.line) != (&b.file.path, b.line) {
            return again || a.file.path != b.file.path || a.line < b.line;
        }
        if again {
            return true;
        }
    }
    // A statement writes behind what it reads.
    false
}

fn has_wrong_address(rule: Rule) -> bool {
    matches!(
        rule,
        Rule::OutOfBounds | Rule::MisalignedAccess | Rule::UseAfterFree | Rule::UninitializedRead
    )
}

/// Makes consequences notes of their causes. Reads of what nobody has written that have none come last.
pub(crate) fn join(all: &mut Vec<Diagnostic>) {
    all.sort_by_key(|d| d.rule == Rule::UninitializedRead);
    let mut at = all.len();
    while at > 0 {
        at -= 1;
        if let Some((cause, note)) = cause_of(all, at) {
            if !all[cause].notes.contains(&note) {
                all[cause].notes.push(note);
            }
            all.remove(at);
        }
    }
}

/// The finding that explains another one, an error rather than a warning, and what its note says.
fn cause_of(all: &[Diagnostic], at: usize) -> Option<(usize, String)> {
    let one = &all[at];
    if !has_wrong_address(one.rule) {
        return None;
    }
    let first = |explains: &dyn Fn(&Diagnostic) -> bool| {
        let causes = all.iter().enumerate();
        let causes = causes
            .filter(|(other, cause)| *other != at && cause.level > Level::Note && explains(cause));
        causes
            .map(|(other, cause)| (cause.level, std::cmp::Reverse(other)))
            .max()
            .map(|(_, other)| other.0)
    };
    if let Some(cause) = first(&|cause| leaves_unwritten(cause, one)) {
        return Some((cause, unwritten_note(one)));
    }
    let cause = first(&|cause| gives_address(cause, one))?;
    let said = also(one);
    let said = said.strip_prefix("also: ").unwrap_or(&said);
    Some((cause, format!("because of what it reads, also: {said}")))
}

/// Whether a race leaves unwritten what a read finds so.
fn leaves_unwritten(race: &Diagnostic, read: &Diagnostic) -> bool {
    read.rule == Rule::UninitializedRead
        && is_race(race.rule)
        && same_memory(race, read)
        && race.about.write_may_come_first
        && (read.about.in_shared_code
            || places(read).is_subset(&places(race)) && reads_in(race, read))
}

fn unwritten_note(read: &Diagnostic) -> String {
    let memory = read.about.memory.as_deref().unwrap_or_default();
    if read.about.in_shared_code {
        return format!("because of it `{memory}` is also read before anything is written there");
    }
    let lines: BTreeSet<u32> = places(read).iter().map(|(_, line)| *line).collect();
    let lines: Vec<String> = lines.iter().map(|l| format!("line {l}")).collect();
    format!(
        "because of it {} also reads `{memory}` before anything is written there",
        lines.join(" or ")
    )
}

/// Whether the instruction that reads what nobody has written is the one that reads in the race, in a build that shows both. A line may
/// have another read, which comes before all that races.
fn reads_in(race: &Diagnostic, read: &Diagnostic) -> bool {
    let known = |d: &Diagnostic| !d.about.instructions.is_empty();
    if !known(race) || !known(read) {
        return true;
    }
    let mut builds = read.about.instructions.iter();
    builds.any(|(ptx, reads)| {
        let racing = race.about.instructions.get(ptx).into_iter().flatten();
        let racing: BTreeSet<u32> = racing.flatten().map(|(_, line)| *line).collect();
        reads
            .iter()
            .flatten()
            .any(|(_, line)| racing.contains(line))
    })
}

/// Whether a value that a racing read, or a read of what nobody has written, gave went into the address of another access.
fn gives_address(cause: &Diagnostic, wrong: &Diagnostic) -> bool {
    let reads =
        is_race(cause.rule) || cause.rule == Rule::UninitializedRead && wrong.rule != cause.rule;
    let mut builds = wrong.about.address_from.iter();
    reads
        && builds.any(|(ptx, loads)| {
            let guilty = cause.about.instructions.get(ptx).into_iter().flatten();
            let mut reading = guilty.flatten().filter(|(action, _)| action != "write");
            reading.any(|(_, line)| loads.contains(line))
        })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::samples;
    use std::borrow::Cow;
    use std::collections::BTreeMap;

    /// A finding of the optimised build, whose guilty instructions are at these lines of its PTX.
    fn finding(rule: Rule, instructions: &[(&'static str, u32)]) -> Diagnostic {
        let mut one = Diagnostic {
            rule,
            level: rule.level(),
            notes: Vec::new(),
            ..samples::race()
        };
        let all = instructions
            .iter()
            .map(|(action, line)| (Cow::Borrowed(*action), *line));
        one.about.instructions =
            BTreeMap::from([("k.ptx".to_owned(), BTreeSet::from([all.collect()]))]);
        one
    }

    fn joined(all: &[Diagnostic]) -> Vec<(Rule, Vec<String>)> {
        let mut all = all.to_vec();
        join(&mut all);
        all.into_iter().map(|d| (d.rule, d.notes)).collect()
    }

    #[test]
    fn a_write_that_comes_later_explains_nothing() {
        let mut race = finding(Rule::DataRace, &[("read", 4), ("write", 9)]);
        let read = finding(Rule::UninitializedRead, &[("read", 4)]);
        race.about.write_may_come_first = true;
        assert_eq!(joined(&[race.clone(), read.clone()]).len(), 1);
        race.about.write_may_come_first = false;
        assert_eq!(joined(&[race.clone(), read.clone()]).len(), 2);
        // Another race of the read does: a warning. Then the read counts as that does.
        let mut lanes = finding(Rule::LockstepAssumption, &[("read", 4), ("write", 2)]);
        lanes.about.write_may_come_first = true;
        let all = joined(&[race, lanes, read]);
        let rules: Vec<Rule> = all.iter().map(|(rule, _)| *rule).collect();
        assert_eq!(rules, [Rule::DataRace, Rule::LockstepAssumption]);
        assert!(
            all[0].1.is_empty() && all[1].1[0].contains("before anything is written there"),
            "{all:?}"
        );
    }

    #[test]
    fn a_wrong_address_comes_from_what_was_read() {
        let race = finding(Rule::DataRace, &[("read", 4), ("write", 9)]);
        let mut outside = finding(Rule::OutOfBounds, &[("write", 12)]);
        assert_eq!(joined(&[race.clone(), outside.clone()]).len(), 2);
        outside.about.address_from = BTreeMap::from([("k.ptx".to_owned(), BTreeSet::from([4]))]);
        let all = joined(&[race.clone(), outside.clone()]);
        assert_eq!(all.len(), 1);
        assert!(
            all[0].1[0].starts_with("because of what it reads, also: "),
            "{all:?}"
        );
        // It reads what the race writes, or of another build.
        outside.about.address_from = BTreeMap::from([("k.ptx".to_owned(), BTreeSet::from([9]))]);
        assert_eq!(joined(&[race.clone(), outside.clone()]).len(), 2);
        outside.about.address_from = BTreeMap::from([("g.ptx".to_owned(), BTreeSet::from([4]))]);
        assert_eq!(joined(&[race, outside]).len(), 2);
    }
}
