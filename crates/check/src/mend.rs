//! Tries the changes that findings advise: each is made in a copy, which is compiled and checked again, and holds only if its finding is
//! gone and nothing new came but what it had hidden ([`report::proof`]).
//!
//! [`mend`] makes one after the other, and says what came to light: of two that touch one place the second is taken from the findings of what the first has made, or not
//! needed any more. [`prove`] tries each by itself. Changes of other files than the one that is checked are not tried.

use detect::rules::Level;
use report::proof::{self, Proof};
use report::{Diagnostic, Edit, Verdict};
use std::collections::BTreeSet;
use std::io;
use std::path::Path;
use toolchain::scratch::Scratch;

/// Changes that are tried, at most.
const MOST: usize = 24;

/// What came of it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Mended {
    /// The source with all changes that held.
    pub text: String,
    /// By change that held, what it mends: the rule, the lines and the help.
    pub held: Vec<String>,
    /// By change that did not, the same and why.
    pub failed: Vec<String>,
    /// Findings that are left.
    pub left: usize,
}

/// Errors and warnings of a source that nobody has accepted.
fn open(all: &[Diagnostic]) -> impl Iterator<Item = &Diagnostic> {
    all.iter().filter(|d| d.counts() && d.level > Level::Note)
}

/// The guilty lines of a finding, as they were before these changes were made, in this order.
fn lines(diagnostic: &Diagnostic, made: &[Edit]) -> BTreeSet<u32> {
    let before = |line, edit: &Edit| edit.line_before(&edit.files()[0].path, line);
    let (_, places) = diagnostic.key();
    let lines = places.into_iter().map(|(_, line)| line);
    lines
        .map(|line| made.iter().rev().fold(line, before))
        .collect()
}

/// What a finding is, in words, with lines of the source as it was before these changes.
fn named(diagnostic: &Diagnostic, made: &[Edit]) -> String {
    let (rule, _) = diagnostic.key();
    let lines = lines(diagnostic, made);
    let lines: Vec<String> = lines.iter().map(u32::to_string).collect();
    let noun = if lines.len() == 1 { "line" } else { "lines" };
    format!("{rule} at {noun} {}", lines.join(", "))
}

/// Mends the source `text` of the file `name`, in which `found` was found. `check` says of a file what is found in it.
///
/// # Errors
///
/// There is no room for copies.
pub fn mend(
    name: &Path,
    text: &str,
    found: Vec<Diagnostic>,
    mut check: impl FnMut(&Path) -> Option<(Verdict, Vec<Diagnostic>)>,
) -> io::Result<Mended> {
    let mut mended = Mended {
        text: text.to_owned(),
        ..Mended::default()
    };
    let first = found;
    let mut found = first.clone();
    let mut made: Vec<Edit> = Vec::new();
    let mut tried: BTreeSet<(String, String)> = BTreeSet::new();
    let mut trials = 0;
    loop {
        let next = open(&found).find_map(|one| {
            let edit = one.edit.as_ref().filter(|e| only(e, &mended.text))?;
            let new = !tried.contains(&(named(one, &[]), edit.applied(edit.files()[0])));
            (new && trials < MOST).then(|| (one.clone(), edit.clone()))
        });
        let Some((one, edit)) = next else {
            break;
        };
        let after = edit.applied(edit.files()[0]);
        tried.insert((named(&one, &[]), after.clone()));
        trials += 1;
        // Whoever reads it has the source, and not the copy that some changes are made in.
        let as_first =
            |other: &&Diagnostic| other.rule == one.rule && lines(other, &[]) == lines(&one, &made);
        let known = first.iter().find(as_first);
        let help = known.unwrap_or(&one).help.as_deref().unwrap_or_default();
        let what = format!("{}: {help}", named(&one, &made));
        let (proof, now) = attempt(name, &edit, &one, &found, &mut check)?;
        if let Proof::Holds(shown) = &proof {
            mended.held.push(match shown.is_empty() {
                true => what,
                false => format!("{what} ({proof})"),
            });
            mended.text = after;
            made.push(edit);
            found = now;
            continue;
        }
        mended.failed.push(format!("{what} ({proof})"));
    }
    mended.left = open(&found).count();
    Ok(mended)
}

/// Tries the change of each finding of the source `text` by itself, and marks those as proven behind which nothing is found; the others are dropped. `found` is
/// all that `check` finds.
///
/// # Errors
///
/// There is no room for copies.
pub fn prove(
    name: &Path,
    text: &str,
    found: &mut [Diagnostic],
    mut check: impl FnMut(&Path) -> Option<(Verdict, Vec<Diagnostic>)>,
) -> io::Result<()> {
    let before = found.to_vec();
    let mut trials = 0;
    for one in found.iter_mut() {
        let Some(mut edit) = one.edit.take().filter(|e| only(e, text) && trials < MOST) else {
            continue;
        };
        trials += 1;
        let (proof, _) = attempt(name, &edit, one, &before, &mut check)?;
        if proof.is_clean() {
            edit.proven = true;
            one.edit = Some(edit);
        }
    }
    Ok(())
}

/// Makes a change in a copy and checks that: what came of it, and what is found now.
fn attempt(
    name: &Path,
    edit: &Edit,
    one: &Diagnostic,
    found: &[Diagnostic],
    check: &mut impl FnMut(&Path) -> Option<(Verdict, Vec<Diagnostic>)>,
) -> io::Result<(Proof, Vec<Diagnostic>)> {
    let folder = Scratch::new()?;
    let path = folder.path().join(name.file_name().unwrap_or_default());
    std::fs::write(&path, edit.applied(edit.files()[0]))?;
    Ok(match check(&path) {
        None => {
            let why = "the changed source could not be checked".to_owned();
            (Proof::NoVerdict(why), Vec::new())
        }
        Some((verdict, now)) => (proof::judge(edit, one, found, &now, verdict), now),
    })
}

/// Whether an edit changes this text alone.
fn only(edit: &Edit, text: &str) -> bool {
    matches!(edit.files()[..], [file] if file.text == text)
}
