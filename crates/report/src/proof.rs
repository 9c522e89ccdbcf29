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

/// A rule and the lines of its guilty places, by the names of their files.
type Key = (Rule, BTreeSet<(String, u32)>);

fn key(diagnostic: &Diagnostic, moved: impl Fn(&str, u32) -> u32) -> Key {
    let guilty = diagnostic.labels.iter().filter(|l| l.is_guilty());
    let places = guilty.map(|label| {
        let name = Path::new(&label.source.path)
            .file_name()
            .unwrap_or_default();
        (
            name.to_string_lossy().into_owned(),
            moved(&label.source.path, label.line),
        )
    });
    (diagnostic.rule, places.collect())
}

fn counts(diagnostic: &&Diagnostic) -> bool {
    diagnostic.level > Level::Note
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
    let moved = |file: &str, line: u32| edit.line_after(file, line);
    let unmoved = |_: &str, line: u32| line;
    let wanted = key(mended, moved);
    let left: Vec<Key> = after
        .iter()
        .filter(counts)
        .map(|d| key(d, unmoved))
        .collect();
    if left.contains(&wanted) {
        return Proof::StillThere;
    }
    let known: BTreeSet<Key> = before.iter().map(|d| key(d, moved)).collect();
    let new: Vec<String> = left
        .iter()
        .filter(|k| !known.contains(k))
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
