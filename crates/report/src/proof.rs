//! Whether an edit did what its help says: what was found before it and after it.

use crate::edit::Edit;
use crate::{Diagnostic, Verdict};
use detect::rules::{Level, Rule};
use std::collections::BTreeSet;
use std::path::Path;

/// What came of applying an edit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Proof {
    /// The finding is gone and nothing new came.
    Holds,
    /// The finding is still there.
    StillThere,
    /// The finding is gone, and others came: their rules and lines in words.
    Others(Vec<String>),
    /// There was no verdict on the changed source.
    NoVerdict(String),
}

impl std::fmt::Display for Proof {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Proof::Holds => write!(f, "the finding is gone, and nothing new came"),
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
    let new: Vec<String> = left
        .iter()
        .filter(|k| !known.iter().any(|before| before == *k || hides(before, k)))
        .map(|(rule, places)| {
            let lines: Vec<String> = places.iter().map(|(_, line)| line.to_string()).collect();
            format!("{rule} at {}", lines.join(", "))
        })
        .collect();
    match new.is_empty() {
        true => Proof::Holds,
        false => Proof::Others(new),
    }
}
