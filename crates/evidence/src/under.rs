//! What a test of the catalogue runs under: a tool of compute-sanitizer, or racetrap's own checks on the GPU.

use crate::sanitizer::Tool;
use crate::sanitizer::judge::{Judgement, verdict};
use crate::{Detector, races};
use catalog::case::ExpectedVerdict;
use catalog::load::Entry;
use std::fmt;

/// What watches a test.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Under {
    /// `racetrap exec --on gpu`.
    Races,
    /// A tool of compute-sanitizer.
    Sanitizer(Tool),
}

impl Under {
    /// All of them, racetrap's own first.
    pub const ALL: [Under; 5] = [
        Under::Races,
        Under::Sanitizer(Tool::Racecheck),
        Under::Sanitizer(Tool::Synccheck),
        Under::Sanitizer(Tool::Memcheck),
        Under::Sanitizer(Tool::Initcheck),
    ];

    /// As the profile of nextest is called.
    pub fn name(self) -> &'static str {
        match self {
            Under::Races => "races",
            Under::Sanitizer(tool) => tool.name(),
        }
    }

    /// What is expected of a case: what it says, or `clean` of correct ones. `None` where a buggy one says nothing about it.
    pub fn expectation(self, entry: &Entry) -> Option<ExpectedVerdict> {
        let tool = match self {
            Under::Races => return races::expectation(entry),
            Under::Sanitizer(tool) => tool,
        };
        match Detector::from(tool).expectation(&entry.case.expect) {
            Some(expected) => Some(expected.verdict),
            None if entry.case.is_meant_buggy() => None,
            None => Some(ExpectedVerdict::Clean),
        }
    }

    /// Whether a judgement is the expected one; `None` where nothing is expected.
    pub fn is_expected(self, judgement: &Judgement, entry: &Entry) -> Option<bool> {
        let expected = self.expectation(entry)?;
        let strays = expected == ExpectedVerdict::Caught && judgement.astray().next().is_some();
        Some(judgement.verdict == verdict(expected) && !strays)
    }

    /// By its name.
    pub fn named(name: &str) -> Option<Under> {
        Under::ALL.into_iter().find(|under| under.name() == name)
    }
}

impl fmt::Display for Under {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl From<Tool> for Under {
    fn from(tool: Tool) -> Under {
        Under::Sanitizer(tool)
    }
}

impl From<Under> for Detector {
    fn from(under: Under) -> Detector {
        match under {
            Under::Races => Detector::Gpu,
            Under::Sanitizer(tool) => tool.into(),
        }
    }
}
