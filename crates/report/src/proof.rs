//! Whether an edit did what its help says: what was found before it and after it.

use crate::edit::Edit;
use crate::{Diagnostic, Verdict};
use detect::rules::{Level, Rule};
use std::collections::BTreeSet;
use std::path::Path;

/// What came of applying an edit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Proof {
    /// The finding is gone. What it hid shows now, if anything: rules and lines in words.
    Holds(Vec<String>),
    /// The finding is still there.
    StillThere,
    /// The finding is gone, and others came: their rules and lines in words.
    Others(Vec<String>),
    /// There was no verdict on the changed source.
    NoVerdict(String),
}

impl Proof {
    /// Whether the finding is gone, whatever it hid.
    pub fn holds(&self) -> bool {
        matches!(self, Proof::Holds(_))
    }

    /// Whether the finding is gone, and it hid nothing.
    pub fn is_clean(&self) -> bool {
        matches!(self, Proof::Holds(shown) if shown.is_empty())
    }
}

impl std::fmt::Display for Proof {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Proof::Holds(shown) if shown.is_empty() => {
                write!(f, "the finding is gone, and nothing new came")
            }
            Proof::Holds(shown) => {
                write!(f, "the finding is gone; it hid {}", shown.join(", "))
            }
            Proof::StillThere => write!(f, "the finding is still there"),
            Proof::Others(new) => write!(f, "something new came: {}", new.join("; ")),
            Proof::NoVerdict(why) => write!(f, "no verdict: {why}"),
        }
    }
}

/// A rule and its guilty places: a line of a file (by its name), or of PTX, whose lines move, the instruction.
type Key = (Rule, BTreeSet<(String, u32)>);

fn key(diagnostic: &Diagnostic, line: impl Fn(&str, u32) -> u32) -> Key {
    let guilty = diagnostic.labels.iter().filter(|l| l.is_guilty());
    let places = guilty.map(|label| {
        let path = Path::new(&label.source.path);
        if path.extension().is_some_and(|e| e == "ptx") {
            let instruction = label.instruction.as_deref().unwrap_or_default();
            let words = instruction.split_whitespace();
            let opcode = words.into_iter().find(|word| !word.starts_with('@'));
            return (opcode.unwrap_or_default().to_owned(), 0);
        }
        let name = path.file_name().unwrap_or_default();
        (
            name.to_string_lossy().into_owned(),
            line(&label.source.path, label.line),
        )
    });
    (diagnostic.rule, places.collect())
}

/// The path of a changed file that a path is a copy of: the changed source lies elsewhere.
fn changed(edit: &Edit, path: &str) -> String {
    let name = Path::new(path).file_name();
    let files = edit.files();
    let of_name = files
        .into_iter()
        .find(|f| Path::new(&f.path).file_name() == name);
    of_name.map_or(path, |f| &f.path).to_owned()
}

fn counts(diagnostic: &&Diagnostic) -> bool {
    diagnostic.level > Level::Note
}

/// Whether a finding was there all the time, and was not told because of a race: results of runs are not compared where there is one, and
/// of what happens at the same places the worst is told.
fn hides(race: &Key, other: &Key) -> bool {
    let is_race = |rule: Rule| matches!(rule, Rule::DataRace | Rule::InsufficientScope);
    is_race(race.0)
        && match other.0 {
            Rule::NondeterministicResult => true,
            Rule::SameValueWrite | Rule::UnorderedCommunication | Rule::LockstepAssumption => {
                race.1 == other.1
            }
            _ => false,
        }
}

/// Judges an edit by the findings before it, of which it is to mend `mended`, and by those after it.
pub fn judge(
    edit: &Edit,
    mended: &Diagnostic,
    before: &[Diagnostic],
    after: &[Diagnostic],
    verdict: Verdict,
) -> Proof {
    if matches!(verdict, Verdict::Inconclusive | Verdict::Unsupported) {
        return Proof::NoVerdict(verdict.name().to_owned());
    }
    // All lines are those before.
    let same = |path: &str, line: u32| edit.joined(&changed(edit, path), line);
    let back = |path: &str, line: u32| edit.line_before(&changed(edit, path), line);
    let wanted = key(mended, same);
    let left: Vec<Key> = after.iter().filter(counts).map(|d| key(d, back)).collect();
    if left.contains(&wanted) {
        return Proof::StillThere;
    }
    let known: Vec<Key> = before.iter().map(|d| key(d, same)).collect();
    let in_words = |(rule, places): &Key| {
        let lines: Vec<String> = places.iter().map(|(_, line)| line.to_string()).collect();
        match lines.is_empty() {
            true => rule.to_string(),
            false => format!("{rule} at {}", lines.join(", ")),
        }
    };
    let new = left.iter().filter(|key| !known.contains(key));
    let (shown, new): (Vec<&Key>, Vec<&Key>) =
        new.partition(|key| known.iter().any(|before| hides(before, key)));
    match new.is_empty() {
        true => Proof::Holds(shown.into_iter().map(in_words).collect()),
        false => Proof::Others(new.into_iter().map(in_words).collect()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::edit::Change;
    use crate::samples;

    /// A finding at these lines of the sample's source.
    fn finding(rule: Rule, lines: &[u32]) -> Diagnostic {
        let sample = samples::race();
        let label = |line: &u32| crate::Label {
            line: *line,
            ..sample.labels[0].clone()
        };
        Diagnostic {
            rule,
            level: rule.level(),
            labels: lines.iter().map(label).collect(),
            ..sample
        }
    }

    /// A barrier in a line of its own before line 8, so that this is line 9 afterwards.
    fn edit() -> Edit {
        let file = samples::race().labels[0].source.clone();
        let at = file.text.lines().take(7).map(|line| line.len() + 1).sum();
        Edit::new(vec![Change {
            file,
            at: at..at,
            text: "    __syncthreads();\n".into(),
        }])
        .unwrap()
    }

    fn judged(after: &[Diagnostic], verdict: Verdict) -> Proof {
        let race = finding(Rule::DataRace, &[6, 8]);
        let known = finding(Rule::OutOfBounds, &[9]);
        judge(&edit(), &race, &[race.clone(), known], after, verdict)
    }

    #[test]
    fn a_change_holds_if_its_finding_is_gone_and_nothing_new_came() {
        let holds = judged(&[], Verdict::Clean);
        assert!(holds.holds() && holds.is_clean());
        // What was there before is, a line further down.
        let known = finding(Rule::OutOfBounds, &[10]);
        assert!(judged(&[known], Verdict::Findings).is_clean());
        assert_eq!(
            judged(&[finding(Rule::DataRace, &[6, 9])], Verdict::Findings),
            Proof::StillThere
        );
        let moved = judged(&[finding(Rule::DataRace, &[6, 11])], Verdict::Findings);
        assert_eq!(moved, Proof::Others(vec!["data-race at 6, 10".into()]));
        let hangs = judged(&[finding(Rule::DivergentBarrier, &[8])], Verdict::Findings);
        assert!(matches!(hangs, Proof::Others(_)));
        assert!(matches!(
            judged(&[], Verdict::Inconclusive),
            Proof::NoVerdict(_)
        ));
    }

    #[test]
    fn what_a_race_hid_is_named() {
        let shown = finding(Rule::NondeterministicResult, &[12]);
        let proof = judged(std::slice::from_ref(&shown), Verdict::Findings);
        assert!(proof.holds() && !proof.is_clean());
        assert_eq!(
            proof.to_string(),
            "the finding is gone; it hid nondeterministic-result at 11"
        );
        // At other lines a lesser finding is new.
        let lesser = |lines| judged(&[finding(Rule::SameValueWrite, lines)], Verdict::Findings);
        assert!(lesser(&[6, 9]).holds());
        assert!(matches!(lesser(&[6, 11]), Proof::Others(_)));
        // What is no race hides nothing.
        let known = finding(Rule::OutOfBounds, &[9]);
        let proof = judge(
            &edit(),
            &known,
            std::slice::from_ref(&known),
            &[shown],
            Verdict::Findings,
        );
        assert!(matches!(proof, Proof::Others(_)));
    }
}
