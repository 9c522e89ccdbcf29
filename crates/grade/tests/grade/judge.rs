//! Submissions whose grades are known: what each must be graded, and whether it is.
//!
//! `RACETRAP_CORPUS=FOLDER` also writes the submissions there, as a class of files.

use racetrap_grade::Graded;
use racetrap_grade::assignment::Kind;
use racetrap_grade::result::{Outcome, State};
use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

/// What a submission must be graded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Label {
    /// All points but perhaps those for efficiency.
    Right,
    /// It is built, and races cost points (or the results are too wrong for that to count).
    Racy,
    /// The same of barriers.
    Barrier,
    /// The same of memory.
    Memory,
    /// It is built, and some results are wrong.
    Wrong,
    /// It is built, and no result is right: points for that alone.
    Nothing,
    /// No points at all: it is not built, or is not what was asked for.
    Refused,
    /// A person decides on results or races.
    Review,
}

/// Name, label, source.
pub type Labelled = (&'static str, Label, String);

/// Grades all of them, two at a time, and compares with their labels.
pub fn all_as_labelled(all: &[Labelled], grade: &(dyn Fn(&str, &str) -> Graded + Sync)) {
    let (next, wrong) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                while let Some((id, label, source)) = all.get(next.fetch_add(1, Ordering::Relaxed))
                {
                    let graded = grade(id, source);
                    if let Err(why) = judged(&graded, *label) {
                        let said = format!("{id} ({label:?}): {why}\n{}", shown(&graded));
                        wrong.lock().unwrap().push(said);
                    }
                }
            });
        }
    });
    let wrong = wrong.into_inner().unwrap();
    let (count, of) = (wrong.len(), all.len());
    assert!(count == 0, "{count} of {of}:\n{}", wrong.join("\n"));
}

/// No two are the same; they are written where somebody wants to have them.
pub fn corpus(name: &str, file: &str, all: &[Labelled]) {
    let sources: BTreeSet<&String> = all.iter().map(|(_, _, source)| source).collect();
    assert_eq!(sources.len(), all.len(), "two are the same");
    let names: BTreeSet<&str> = all.iter().map(|(name, ..)| *name).collect();
    assert_eq!(names.len(), all.len(), "two have one name");
    if let Some(folder) = std::env::var_os("RACETRAP_CORPUS") {
        for (id, _, source) in all {
            let at = PathBuf::from(&folder).join(name).join(id);
            std::fs::create_dir_all(&at).unwrap();
            std::fs::write(at.join(file), source).unwrap();
        }
    }
}

/// Whether a part lost points, or could not earn any, and some cause of its kind was found.
fn costs(graded: &Graded, kind: Kind) -> Result<(), String> {
    let found = graded.causes.iter().any(|c| kind.rules().contains(&c.rule));
    let part = graded.parts.iter().find(|p| p.check == kind).unwrap();
    match (found, part.earned) {
        (true, Some(earned)) if earned < part.of => Ok(()),
        (found, earned) => Err(format!(
            "{}: found: {found}, earned: {earned:?}",
            kind.name()
        )),
    }
}

fn judged(graded: &Graded, label: Label) -> Result<(), String> {
    let part = |kind: Kind| graded.parts.iter().find(|p| p.check == kind).unwrap();
    let want = |what: &str, holds: bool| if holds { Ok(()) } else { Err(what.to_owned()) };
    if label == Label::Review {
        let open = |kind| part(kind).state == State::NeedsReview;
        want("a person decides", open(Kind::Output) || open(Kind::Races))?;
        let races = part(Kind::Races).earned;
        return want("no points for races", races.is_none_or(|e| e == 0.0));
    }
    want("nothing is left open", graded.is_final())?;
    if label == Label::Refused {
        want("it is refused", graded.refused.is_some())?;
        return want("no points", graded.points == 0.0);
    }
    let compiles = part(Kind::Compile);
    want(
        "it is built",
        graded.refused.is_none() && compiles.earned == Some(compiles.of),
    )?;
    let results = part(Kind::Output);
    match label {
        Label::Right => {
            want("no cause", graded.causes.is_empty())?;
            let counts = part(Kind::Counts).of;
            want(
                "all points but for counts",
                graded.points >= graded.of - counts,
            )
        }
        Label::Racy => costs(graded, Kind::Races),
        Label::Barrier => costs(graded, Kind::Barriers),
        Label::Memory => costs(graded, Kind::Memory),
        Label::Wrong => {
            let less = results.earned.is_some_and(|e| e < results.of);
            want("results lose points", less)?;
            want("no cause", graded.causes.is_empty())
        }
        Label::Nothing => want("points for being built alone", graded.points == compiles.of),
        Label::Refused | Label::Review => Ok(()),
    }
}

/// A grade, for whoever reads why a test fails.
pub fn shown(graded: &Graded) -> String {
    let mut out = String::new();
    for part in &graded.parts {
        out += &format!("    {}: {:?} of {}\n", part.id, part.earned, part.of);
    }
    for cause in &graded.causes {
        let lines = cause.lines.iter().map(|l| format!("{}:{}", l.file, l.line));
        out += &format!("    {} {:?}\n", cause.rule, lines.collect::<Vec<_>>());
    }
    for review in &graded.review {
        out += &format!("    {}: {}\n", review.part, review.why);
    }
    if let Some(refused) = &graded.refused {
        out += &format!("    {}\n{}\n", refused.what, refused.messages);
    }
    for input in &graded.inputs {
        for draw in input.draws.iter().filter(|d| d.outcome != Outcome::Right) {
            out += &format!("    {}: {:?}\n", input.id, draw.outcome);
        }
    }
    out
}
