//! Findings of one cause become one finding.
//!
//! Some are joined for good ([`settle_causes`]), others are shown together and stay what they are for comments and baselines that accept
//! them ([`groups`]).
//!
//! Three kinds are joined: a [consequence] to its cause; two races on the
//! same memory that one piece of advice mends, as the read and the write of one unguarded update; and the same mistake in
//! two builds, of which one gives one of its instructions another line, or none.

use super::common::{also, is_race, places, same_memory};
use super::{Diagnostic, consequence};
use detect::rules::{Level, Rule};
use std::collections::BTreeSet;

/// Joins findings of one cause. To be called when the findings of all runs and builds are [merged](super::merge).
pub fn settle_causes(all: &mut Vec<Diagnostic>) {
    consequence::join(all);
    join(all, same_advice);
    join_builds(all);
    join_shared_code(all);
}

/// Whether one change of the source mends both.
fn same_advice(a: &Diagnostic, b: &Diagnostic) -> bool {
    a.rule == b.rule
        && is_race(a.rule)
        && a.help.is_some()
        && a.help == b.help
        && same_memory(a, b)
        && !places(a).is_disjoint(&places(b))
}

/// Joins each finding to an earlier one of the same cause.
fn join(all: &mut Vec<Diagnostic>, same: impl Fn(&Diagnostic, &Diagnostic) -> bool) {
    let mut kept: Vec<Diagnostic> = Vec::new();
    for diagnostic in std::mem::take(all) {
        match kept.iter_mut().find(|k| same(k, &diagnostic)) {
            Some(one) => {
                one.notes.push(also(&diagnostic));
                absorb(one, diagnostic);
            }
            None => kept.push(diagnostic),
        }
    }
    *all = kept;
}

fn absorb(one: &mut Diagnostic, other: Diagnostic) {
    one.count += other.count;
    one.level = one.level.max(other.level);
    for build in other.builds {
        if !one.builds.contains(&build) {
            one.builds.push(build);
        }
    }
    for note in other.notes {
        if !one.notes.contains(&note) {
            one.notes.push(note);
        }
    }
}

/// Joins a race that only one build shows to the one race of another build on the same memory that shares a line with it. If there
/// are several such, nothing says which.
fn join_builds(all: &mut Vec<Diagnostic>) {
    // What stops a launch in a library's code, and what is to be done about that, names no line.
    let stops = |a: &Diagnostic, b: &Diagnostic| {
        a.rule == Rule::Trap && a.help.is_some() && a.help == b.help
    };
    let alike = |a: &Diagnostic, b: &Diagnostic| {
        let race = is_race(a.rule) && same_memory(a, b) && !places(a).is_disjoint(&places(b));
        a.rule == b.rule && other_build(a, b) && (race || stops(a, b))
    };
    let mut at = 0;
    while at < all.len() {
        let partners = |of: usize| -> Vec<usize> {
            let others = (0..all.len()).filter(|other| *other != of);
            others
                .filter(|other| alike(&all[of], &all[*other]))
                .collect()
        };
        match partners(at)[..] {
            [other] if other > at && partners(other) == [at] => {
                let joined = all.remove(other);
                let build = joined.builds.join(", ");
                all[at].notes.push(format!("{build}: {}", also(&joined)));
                absorb(&mut all[at], joined);
            }
            _ => at += 1,
        }
    }
}

/// Joins what is wrong in a library's code, of which no source line can be told, to the one finding of another build of which it can: a race on
/// the same memory; of the operations of a warp, which have none, one in the same kernel.
fn join_shared_code(all: &mut Vec<Diagnostic>) {
    let warp = |rule: Rule| matches!(rule, Rule::WarpSyncMask | Rule::UndefinedShuffle);
    let (hidden, mut rest): (Vec<Diagnostic>, Vec<Diagnostic>) = std::mem::take(all)
        .into_iter()
        .partition(|d| d.about.in_shared_code && (is_race(d.rule) || warp(d.rule)));
    for one in hidden {
        let alike = |d: &Diagnostic| {
            let same = match warp(one.rule) {
                true => d.about.kernel == one.about.kernel && other_build(d, &one),
                false => same_memory(d, &one),
            };
            d.rule == one.rule && same && !d.about.in_shared_code
        };
        let mut candidates: Vec<usize> = (0..rest.len()).filter(|at| alike(&rest[*at])).collect();
        match (candidates.pop(), candidates.is_empty()) {
            (Some(at), true) => {
                let notes = Vec::new();
                absorb(&mut rest[at], Diagnostic { notes, ..one });
            }
            // Which of them it is the code does not say, but it is one of them.
            (Some(_), false) if warp(one.rule) => {}
            _ => rest.push(one),
        }
    }
    *all = rest;
}

/// Whether two findings come from different builds.
fn other_build(a: &Diagnostic, b: &Diagnostic) -> bool {
    let one_each = !a.builds.is_empty() && !b.builds.is_empty();
    one_each && a.builds.iter().all(|build| !b.builds.contains(build))
}

/// What findings of one cause share: the same is wrong in the same function with the same memory, and the same advice mends it, at
/// other lines.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cause {
    rule: Rule,
    level: Level,
    kernel: Option<String>,
    function: String,
    memory: Option<String>,
    /// Without numbers.
    advice: String,
}

impl Cause {
    /// That of a finding; `None` where it stands for itself.
    pub fn of(diagnostic: &Diagnostic) -> Option<Cause> {
        let about = &diagnostic.about;
        let grouped = match diagnostic.rule {
            Rule::WarpSyncMask | Rule::UndefinedShuffle | Rule::DivergentBarrier => true,
            Rule::UninitializedRead | Rule::SameValueWrite => about.memory.is_some(),
            rule => is_race(rule) && about.memory.is_some(),
        };
        let advice = diagnostic.help.as_ref().filter(|_| grouped)?;
        Some(Cause {
            rule: diagnostic.rule,
            level: diagnostic.level,
            kernel: about.kernel.clone(),
            function: about.function.clone()?,
            memory: about.memory.clone(),
            advice: advice.split(|c: char| c.is_ascii_digit()).collect(),
        })
    }
}

/// Findings of one cause: the first, and the others.
#[derive(Clone, Debug)]
pub struct Group<'d> {
    /// The one that is shown.
    pub first: &'d Diagnostic,
    /// Those that go without saying more than where they are.
    pub others: Vec<&'d Diagnostic>,
}

/// Puts findings of one [`Cause`] together, in the order of the first of each.
pub fn groups<'d>(all: impl IntoIterator<Item = &'d Diagnostic>) -> Vec<Group<'d>> {
    let mut groups: Vec<(Option<Cause>, Group<'d>)> = Vec::new();
    for diagnostic in all {
        let cause = Cause::of(diagnostic);
        let same = groups.iter_mut().find(|(c, _)| c.is_some() && *c == cause);
        match same {
            Some((_, group)) => group.others.push(diagnostic),
            None => groups.push((
                cause,
                Group {
                    first: diagnostic,
                    others: Vec::new(),
                },
            )),
        }
    }
    groups.into_iter().map(|(_, group)| group).collect()
}

impl Group<'_> {
    /// Pairs of lines that are named.
    const NAMED: usize = 8;

    /// Where the others are, in one sentence.
    pub fn note(&self) -> Option<String> {
        let mut at: Vec<String> = Vec::new();
        for one in &self.others {
            let lines: BTreeSet<u32> = places(one).into_iter().map(|(_, line)| line).collect();
            let lines: Vec<String> = lines.iter().map(u32::to_string).collect();
            let noun = if lines.len() == 1 { "line" } else { "lines" };
            at.push(format!("{noun} {}", lines.join(" and ")));
        }
        at.dedup();
        let function = self.first.about.function.as_ref()?;
        let more = match at.len().checked_sub(Self::NAMED) {
            Some(more @ 1..) => format!("; and {more} more"),
            _ => String::new(),
        };
        at.truncate(Self::NAMED);
        (!self.others.is_empty()).then(|| {
            format!(
                "the same is wrong at {} in `{function}`: {}{more}; each place needs it",
                match self.others.len() {
                    1 => "one more place".to_owned(),
                    n => format!("{n} more places"),
                },
                at.join("; ")
            )
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Label;
    use crate::samples;
    use detect::rules::Level;

    /// A finding with guilty places at these lines, of the sample's memory and builds.
    fn finding(rule: Rule, lines: &[u32]) -> Diagnostic {
        let sample = samples::race();
        let label = |line: &u32| Label {
            line: *line,
            ..sample.labels[0].clone()
        };
        Diagnostic {
            rule,
            level: rule.level(),
            labels: lines.iter().map(label).collect(),
            notes: Vec::new(),
            help: Some(format!("mend line {}", lines[0])),
            count: 1,
            ..sample
        }
    }

    fn of_build(build: &str, diagnostic: Diagnostic) -> Diagnostic {
        Diagnostic {
            builds: vec![build.into()],
            ..diagnostic
        }
    }

    fn settled(mut all: Vec<Diagnostic>) -> Vec<(Rule, Vec<String>)> {
        settle_causes(&mut all);
        all.into_iter().map(|d| (d.rule, d.notes)).collect()
    }

    #[test]
    fn a_race_explains_what_its_read_finds() {
        let race = finding(Rule::DataRace, &[8, 6]);
        let read = finding(Rule::UninitializedRead, &[8]);
        let note = "because of it line 8 also reads `tile` before anything is written there";
        let both = settled(vec![read.clone(), race.clone()]);
        assert_eq!(both, [(Rule::DataRace, vec![note.to_owned()])]);
        // Another line, other memory, a race that counts for less.
        let elsewhere = finding(Rule::UninitializedRead, &[9]);
        assert_eq!(settled(vec![elsewhere, race.clone()]).len(), 2);
        let mut other = read.clone();
        other.about.memory = Some("weights".into());
        assert_eq!(settled(vec![other, race.clone()]).len(), 2);
        let mut note = race;
        note.level = Level::Note;
        assert_eq!(settled(vec![read, note]).len(), 2);
    }

    #[test]
    fn what_one_change_mends_is_one_finding() {
        let pair = finding(Rule::DataRace, &[5, 7]);
        let writes = Diagnostic {
            help: pair.help.clone(),
            ..finding(Rule::DataRace, &[7, 7])
        };
        let both = settled(vec![pair.clone(), writes.clone()]);
        assert_eq!(both.len(), 1);
        assert!(
            both[0].1[0].starts_with("also: unordered write and read"),
            "{both:?}"
        );
        let mut other = writes;
        other.help = Some("mend something else".into());
        assert_eq!(settled(vec![pair, other]).len(), 2);
    }

    #[test]
    fn a_librarys_code_has_no_line_of_its_own() {
        let race = of_build("optimised", finding(Rule::DataRace, &[5, 7]));
        let hidden = |rule| {
            let mut one = of_build("unoptimised", finding(rule, &[2602]));
            one.about.in_shared_code = true;
            one
        };
        let mut all = vec![
            race.clone(),
            hidden(Rule::DataRace),
            hidden(Rule::UninitializedRead),
        ];
        settle_causes(&mut all);
        assert_eq!(all.len(), 1);
        assert_eq!(all[0].builds, ["optimised", "unoptimised"]);
        assert!(
            all[0].notes[0].contains("`tile` is also read before"),
            "{:?}",
            all[0].notes
        );
        let other = finding(Rule::DataRace, &[8, 9]);
        assert_eq!(settled(vec![race, other, hidden(Rule::DataRace)]).len(), 3);
    }

    #[test]
    fn builds_that_name_other_lines_are_joined() {
        let one = of_build("optimised", finding(Rule::DataRace, &[5, 7]));
        let other = of_build("unoptimised", finding(Rule::DataRace, &[4, 7]));
        let mut both = vec![one.clone(), other.clone()];
        settle_causes(&mut both);
        assert_eq!(both.len(), 1);
        assert_eq!(both[0].builds, ["optimised", "unoptimised"]);
        assert!(
            both[0].notes[0].contains("(lines 4 and 7)"),
            "{:?}",
            both[0].notes
        );
        // Two candidates.
        let third = of_build("unoptimised", finding(Rule::DataRace, &[3, 7]));
        assert_eq!(settled(vec![one.clone(), other, third]).len(), 3);
        // The same build has both.
        let own = of_build("optimised", finding(Rule::DataRace, &[4, 7]));
        assert_eq!(settled(vec![one, own]).len(), 2);
    }
}
