//! A finding of a run, and what is to be said of it beside: who is at fault, and in which builds it is.
//!
//! A run words what it has found, and nobody changes those words. What others know of a finding is kept beside it; [`Seen::worded`] puts
//! both together, once, when the verdict is made.

use detect::rules::Level;
use report::Diagnostic;

/// A finding, and what is to be said of it.
#[derive(Clone, Debug)]
pub(crate) struct Seen {
    /// As the run showed it; `replay` is its schedule.
    pub found: Diagnostic,
    /// What it counts as.
    pub level: Level,
    /// What is said first.
    pub first: Vec<String>,
    /// What is said last.
    pub last: Vec<String>,
    /// The builds in which it is.
    pub builds: Vec<String>,
    /// How often it was seen.
    pub count: u64,
}

impl Seen {
    /// A finding of which nothing else is known.
    pub fn of(found: Diagnostic) -> Seen {
        Seen {
            level: found.level,
            builds: found.builds.clone(),
            count: found.count,
            first: Vec::new(),
            last: Vec::new(),
            found,
        }
    }

    /// Makes it a warning at most, with what is said first.
    pub fn excuse(&mut self, note: String) {
        self.level = self.level.min(Level::Warning);
        self.first.push(note);
    }

    /// What the reader sees; `replay` makes the command of a schedule.
    pub fn worded(&self, replay: &dyn Fn(&str) -> Option<String>) -> Diagnostic {
        let mut diagnostic = self.found.clone();
        diagnostic.level = self.level;
        diagnostic.notes.splice(0..0, self.first.iter().cloned());
        diagnostic.notes.extend(self.last.iter().cloned());
        diagnostic.builds.clone_from(&self.builds);
        diagnostic.count = self.count;
        diagnostic.replay = replay(self.found.replay.as_deref().unwrap_or_default());
        diagnostic
    }
}

/// Findings by rule and line, in a few words: ``out-of-bounds at k.cu:7``.
pub(crate) fn in_short<'a>(found: impl Iterator<Item = &'a Seen>) -> String {
    const SHOWN: usize = 3;
    let mut all: Vec<String> = Vec::new();
    for Seen { found, .. } in found {
        let place = found.labels.iter().find(|l| l.is_guilty());
        let place = place.map(|l| format!(" at {}:{}", l.source.path, l.line));
        let one = format!("{}{}", found.rule.name(), place.unwrap_or_default());
        if !all.contains(&one) {
            all.push(one);
        }
    }
    let more = all.len() > SHOWN;
    all.truncate(SHOWN);
    format!("{}{}", all.join(", "), if more { ", …" } else { "" })
}
