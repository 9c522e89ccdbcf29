//! Matches what was found with what a kernel's lines say is to be found.
//!
//! Matching is two-way: a finding that no tag covers is *unexpected*, a tag that no finding of
//! any run has hit is *missing*. `kernels/ANNOTATIONS.md` defines both; the
//! differences between kinds of rules are in [`Sides`].
//!
//! A line of a finding is any line of the kernel's file that its instruction was inlined
//! through, so that a tag may stand in a helper or at its call.

use crate::annotation::{Fault, Home, Tag, action_name};
use crate::simulate::{LocatedEnd, LocatedFinding};
use detect::rules::Rule;
use std::collections::BTreeMap;
use std::fmt;

/// How the ends of a rule's findings relate to the tags of a group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Sides {
    /// Two threads, each at a tag of its own; both at the same tag, where the group has but one.
    Two,
    /// Those who wait, or execute the warp operation, are at a tag. Where the others are may be tagged.
    Waiting,
    /// Any end at any tag, and one hit will do for the whole group.
    Alternatives,
    /// One end.
    One,
}

fn sides(rule: Rule) -> Sides {
    match rule {
        Rule::DataRace
        | Rule::InsufficientScope
        | Rule::NonCoherentRead
        | Rule::AsyncCopyHazard
        | Rule::MissingProxyFence
        | Rule::MissingDependencyWait
        | Rule::LockstepAssumption
        | Rule::UnorderedCommunication
        | Rule::SameValueWrite => Sides::Two,
        Rule::DivergentBarrier
        | Rule::BarrierAfterExit
        | Rule::WarpSyncMask
        | Rule::UndefinedShuffle => Sides::Waiting,
        Rule::Deadlock | Rule::NoProgress | Rule::ClusterMemory => Sides::Alternatives,
        Rule::InvalidBarrier
        | Rule::MbarrierMisuse
        | Rule::OutOfBounds
        | Rule::MisalignedAccess
        | Rule::UninitializedRead
        | Rule::UseAfterFree
        | Rule::AssertionFailed
        | Rule::Trap
        | Rule::InvalidCall
        | Rule::BankConflict
        | Rule::UncoalescedAccess
        | Rule::DivergentBranch
        | Rule::InvalidApiUse
        | Rule::UncheckedError
        | Rule::Leak
        | Rule::NondeterministicResult => Sides::One,
    }
}

/// Tags that stand for one fault: of one rule and number (and line, where there is no number and
/// a fault has but one place).
#[derive(Clone, Debug)]
pub struct Group<'t> {
    /// What it is.
    pub fault: Fault,
    /// Its number; 0 where there is none.
    pub number: u32,
    tags: Vec<&'t Tag>,
    hit: Vec<bool>,
}

/// Everything that is to be found in a case, and what of it was.
#[derive(Clone, Debug)]
pub struct Expected<'t> {
    groups: Vec<Group<'t>>,
}

impl<'t> Expected<'t> {
    /// From the tags that apply to a case.
    pub fn new(tags: &'t [Tag]) -> Expected<'t> {
        let mut groups: BTreeMap<(Fault, u32, Option<(Home, u32)>), Vec<&Tag>> = BTreeMap::new();
        for tag in tags {
            let apart = match tag.fault {
                Fault::Rule(rule) => sides(rule) == Sides::One,
                Fault::WrongResult | Fault::CompileError => false,
            };
            let line = apart.then_some((tag.home, tag.line));
            groups
                .entry((tag.fault, tag.number, line))
                .or_default()
                .push(tag);
        }
        let group = |((fault, number, _), tags): (_, Vec<&'t Tag>)| Group {
            fault,
            number,
            hit: vec![false; tags.len()],
            tags,
        };
        Expected {
            groups: groups.into_iter().map(group).collect(),
        }
    }

    /// Whether a finding is expected; what it hits is remembered. The groups that it belongs to, by
    /// their index; none, if it is unexpected.
    pub fn matches(&mut self, seen: &LocatedFinding) -> Vec<usize> {
        let mut matched = Vec::new();
        for (index, group) in self.groups.iter_mut().enumerate() {
            if let Some(hits) = group.covers(seen) {
                hits.iter().for_each(|at| group.hit[*at] = true);
                matched.push(index);
            }
        }
        // Values that happen to be equal in this run are a sign of the race, but not the race.
        if matched.is_empty() && seen.rule == Rule::SameValueWrite {
            let race = LocatedFinding {
                rule: Rule::DataRace,
                ..seen.clone()
            };
            let groups = self.groups.iter().enumerate();
            matched.extend(groups.filter_map(|(i, g)| g.covers(&race).map(|_| i)));
        }
        matched
    }

    /// The groups that a wrong result belongs to; it is remembered.
    pub fn wrong_result(&mut self) -> Vec<usize> {
        let wrong = self
            .groups
            .iter_mut()
            .enumerate()
            .filter(|(_, g)| g.fault == Fault::WrongResult);
        wrong
            .map(|(index, group)| {
                group.hit.fill(true);
                index
            })
            .collect()
    }

    /// All groups.
    pub fn groups(&self) -> &[Group<'t>] {
        &self.groups
    }

    /// The groups of which something was not found, with the tags that were not hit.
    pub fn missing(&self) -> Vec<Missing> {
        self.groups.iter().filter_map(Group::missing).collect()
    }
}

/// A fault that was not found, or not at all of its lines.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Missing {
    /// Its name as in the tags: `data-race#1`.
    pub name: String,
    /// The lines that were not hit, with the actions asked for.
    pub lines: Vec<(Home, u32, String)>,
}

impl fmt::Display for Missing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let lines: Vec<_> = self
            .lines
            .iter()
            .map(|(home, line, actions)| {
                let of = match home {
                    Home::Kernel => "",
                    Home::Case => " of the case",
                };
                match actions.is_empty() {
                    true => format!("line {line}{of}"),
                    false => format!("line {line}{of} ({actions})"),
                }
            })
            .collect();
        write!(f, "{} at {}", self.name, lines.join(" and "))
    }
}

impl Group<'_> {
    /// As the tags write it: `data-race#1`.
    pub fn name(&self) -> String {
        match self.number {
            0 => self.fault.name().to_owned(),
            number => format!("{}#{number}", self.fault.name()),
        }
    }

    /// The tags that a finding hits, or `None` if it does not belong here.
    fn covers(&self, seen: &LocatedFinding) -> Option<Vec<usize>> {
        if self.fault != Fault::Rule(seen.rule) {
            return None;
        }
        // Each tag with each of its actions is one end.
        let ends: Vec<(usize, Option<detect::finding::Action>)> = self
            .tags
            .iter()
            .enumerate()
            .flat_map(|(at, tag)| match tag.actions.is_empty() {
                true => vec![(at, None)],
                false => tag
                    .actions
                    .iter()
                    .map(|action| (at, Some(*action)))
                    .collect(),
            })
            .collect();
        let fits = |end: &LocatedEnd, (at, action): &(usize, Option<detect::finding::Action>)| {
            let tag = self.tags[*at];
            end.home == tag.home
                && end.lines.contains(&tag.line)
                && action.is_none_or(|a| a == end.action)
        };
        let at_tags = |end: &LocatedEnd| -> Vec<usize> {
            ends.iter()
                .filter(|tagged| fits(end, tagged))
                .map(|(at, _)| *at)
                .collect()
        };
        match sides(seen.rule) {
            Sides::Two => {
                let first = seen.ends.first()?;
                let Some(second) = seen.ends.get(1) else {
                    // Nothing else is guilty: a product without a fence before it.
                    let alone = ends.len() == 1 && fits(first, &ends[0]);
                    return alone.then(|| vec![ends[0].0]);
                };
                for (i, a) in ends.iter().enumerate() {
                    for (j, b) in ends.iter().enumerate() {
                        if (i != j || ends.len() == 1) && fits(first, a) && fits(second, b) {
                            return Some(vec![a.0, b.0]);
                        }
                    }
                }
                None
            }
            Sides::Waiting => {
                use detect::finding::Action::{Sync, Wait};
                let mut waits = seen.ends.iter().filter(|e| matches!(e.action, Wait | Sync));
                waits
                    .any(|end| !at_tags(end).is_empty())
                    .then(|| seen.ends.iter().flat_map(at_tags).collect())
            }
            Sides::Alternatives => seen
                .ends
                .iter()
                .any(|end| !at_tags(end).is_empty())
                .then(|| (0..self.tags.len()).collect()),
            Sides::One => Some(at_tags(seen.ends.first()?)).filter(|hits| !hits.is_empty()),
        }
    }

    fn missing(&self) -> Option<Missing> {
        let lines: Vec<_> = self
            .tags
            .iter()
            .zip(&self.hit)
            .filter(|(_, hit)| !**hit)
            .map(|(tag, _)| {
                let actions: Vec<_> = tag.actions.iter().map(|a| action_name(*a)).collect();
                (tag.home, tag.line, actions.join(" "))
            })
            .collect();
        (!lines.is_empty()).then(|| Missing {
            name: self.name(),
            lines,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::annotation::parse;
    use detect::finding::Action::{self, *};

    fn seen(rule: Rule, ends: &[(Action, &[u32])]) -> LocatedFinding {
        let ends = ends.iter().map(|(action, lines)| LocatedEnd {
            action: *action,
            home: Home::Kernel,
            lines: lines.to_vec(),
        });
        LocatedFinding {
            rule,
            ends: ends.collect(),
        }
    }

    fn check(source: &str, findings: &[LocatedFinding]) -> (Vec<usize>, Vec<String>) {
        let tags = parse("k.cu", source).unwrap();
        let mut expected = Expected::new(&tags);
        let matched = findings.iter().map(|f| expected.matches(f).len()).collect();
        (
            matched,
            expected.missing().iter().map(Missing::to_string).collect(),
        )
    }

    const RACE: Rule = Rule::DataRace;

    #[test]
    fn a_finding_with_one_end_matches_a_group_with_one_end() {
        let alone = seen(Rule::AsyncCopyHazard, &[(Multiply, &[1])]);
        let one = "x //~ async-copy-hazard multiply\n";
        assert_eq!(check(one, std::slice::from_ref(&alone)), (vec![1], vec![]));
        let two = "x //~ async-copy-hazard#1 multiply\ny //~ async-copy-hazard#1 read\n";
        assert_eq!(check(two, &[alone]).0, [0]);
    }

    #[test]
    fn both_ends_of_a_race() {
        let source = "w //~ data-race#1 write\nr //~ data-race#1 read";
        let none: Vec<String> = vec![];
        for ends in [
            [(Write, &[1u32][..]), (Read, &[2])],
            [(Read, &[2]), (Write, &[1])],
        ] {
            assert_eq!(check(source, &[seen(RACE, &ends)]), (vec![1], none.clone()));
        }
        let (matched, missing) = check(source, &[seen(RACE, &[(Write, &[1]), (Write, &[1])])]);
        assert_eq!(matched, [0]);
        assert_eq!(missing, ["data-race#1 at line 1 (write) and line 2 (read)"]);
        assert_eq!(
            check(source, &[seen(RACE, &[(Write, &[1]), (Read, &[3])])]).0,
            [0]
        );
        let deadlock = seen(Rule::Deadlock, &[(Wait, &[1])]);
        assert_eq!(check(source, &[deadlock]).0, [0]);
    }

    #[test]
    fn one_line_races_with_itself() {
        let source = "b += 1; //~ data-race#1 read write, data-race#2 write";
        let both = seen(RACE, &[(Write, &[1]), (Read, &[1])]);
        let writes = seen(RACE, &[(Write, &[1]), (Write, &[1])]);
        let (matched, missing) = check(source, &[both.clone(), writes]);
        assert_eq!((matched, missing.len()), (vec![1, 1], 0));
        assert_eq!(check(source, &[both]).1, ["data-race#2 at line 1 (write)"]);
        let reads = seen(RACE, &[(Read, &[1]), (Atomic, &[1])]);
        assert_eq!(check(source, &[reads]).0, [0]);
    }

    #[test]
    fn equal_values_do_not_stand_for_a_race_and_are_no_false_alarm() {
        let source = "b = x; //~ data-race write";
        let equal = seen(Rule::SameValueWrite, &[(Write, &[1]), (Write, &[1])]);
        let (matched, missing) = check(source, std::slice::from_ref(&equal));
        assert_eq!((matched, missing.len()), (vec![1], 1));
        assert_eq!(check("b = x;", &[equal]).0, [0]);
    }

    #[test]
    fn calls_are_seen_through() {
        let source = "helper //~ data-race write\n\ncall";
        let finding = seen(RACE, &[(Write, &[7, 1]), (Write, &[1, 9])]);
        assert_eq!(check(source, &[finding]), (vec![1], vec![]));
    }

    #[test]
    fn barriers() {
        let source = "b //~ divergent-barrier#1 wait\np //~ divergent-barrier#1 pass";
        let rule = Rule::DivergentBarrier;
        let whole = seen(rule, &[(Wait, &[1]), (Pass, &[2])]);
        assert_eq!(check(source, &[whole]), (vec![1], vec![]));
        let (matched, missing) = check(source, &[seen(rule, &[(Wait, &[1]), (Exit, &[5])])]);
        assert_eq!((matched, missing.len()), (vec![1], 1));
        assert_eq!(
            check(source, &[seen(rule, &[(Wait, &[4]), (Pass, &[2])])]).0,
            [0]
        );
    }

    #[test]
    fn one_hit_of_an_endless_loop_will_do() {
        let source = "a //~ no-progress\nb //~ no-progress";
        assert_eq!(
            check(source, &[seen(Rule::NoProgress, &[(Run, &[2])])]),
            (vec![1], vec![])
        );
        assert_eq!(check(source, &[]).1, ["no-progress at line 1 and line 2"]);
    }

    #[test]
    fn single_faults_are_apart() {
        let source = "a //~ out-of-bounds read\nb //~ out-of-bounds write";
        let first = seen(Rule::OutOfBounds, &[(Read, &[1])]);
        assert_eq!(
            check(source, &[first]).1,
            ["out-of-bounds at line 2 (write)"]
        );
    }
}
