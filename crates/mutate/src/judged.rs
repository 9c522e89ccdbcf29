//! What came of a kernel's mutants.

use super::operator::Change;
use catalog::probe::Sign;
use report::exit;
use report::{Label, Verdict};

/// A kernel and its mutants.
#[derive(Clone, Debug)]
pub struct Subject {
    /// The case, or `reverse.cu: reverse`.
    pub name: String,
    /// Why its mutants say nothing, or some were not tried: the kernel itself has findings, can't be run, … and the exit code
    /// that follows.
    pub refused: Option<(u8, String)>,
    /// The mutants, in the order of the source's lines.
    pub mutants: Vec<Judged>,
    /// Explanations of the case that fit no mutant.
    pub unused: Vec<String>,
    /// Whether survivors must be explained: those of the catalogue's cases are, but not single copies of a place.
    pub strict: bool,
}

/// A mutant and what came of it.
#[derive(Clone, Debug)]
pub struct Judged {
    /// What is changed.
    pub change: Change,
    /// The changed place, in the source or in the PTX.
    pub place: Label,
    /// The lines of the PTX that it changes, from 1.
    pub ptx_lines: Vec<u32>,
    /// What came of it.
    pub outcome: Outcome,
    /// The sentence of the case that says why it changes nothing.
    pub explained: Option<String>,
}

/// What came of a mutant.
#[derive(Clone, Debug)]
pub enum Outcome {
    /// Something goes wrong without it.
    Needed(Box<Sign>),
    /// Nothing went wrong.
    Redundant {
        /// Runs done.
        runs: u32,
        /// Whether every schedule gives the same results on the inputs tried, which is then a proof for these inputs.
        every_schedule: bool,
    },
    /// Nothing can be said: the verdict, and the reason.
    Unknown(Verdict, String),
}

impl Judged {
    /// Whether it is as a strict subject wants it: needed, or redundant and explained.
    pub fn is_expected(&self) -> bool {
        match self.outcome {
            Outcome::Needed(_) => self.explained.is_none(),
            Outcome::Redundant { .. } => self.explained.is_some(),
            Outcome::Unknown(..) => false,
        }
    }
}

/// Sums.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sums {
    /// Mutants.
    pub mutants: usize,
    /// Needed ones.
    pub needed: usize,
    /// Redundant ones.
    pub redundant: usize,
    /// Of these, explained ones.
    pub explained: usize,
    /// Those of which nothing can be said.
    pub unknown: usize,
}

impl Subject {
    /// Its sums.
    pub fn sums(&self) -> Sums {
        sums(std::slice::from_ref(self))
    }

    /// What is not as it should be, one line each.
    pub fn problems(&self) -> Vec<String> {
        let mut problems: Vec<String> = Vec::new();
        problems.extend(self.refused.iter().map(|(_, why)| why.clone()));
        if !self.strict {
            return problems;
        }
        for one in &self.mutants {
            let at = format!("{}:{}", one.place.source.path, one.place.line);
            match (&one.outcome, &one.explained) {
                (Outcome::Needed(sign), Some(_)) => problems.push(format!(
                    "{at}: {}: the case says that this changes nothing, but it does: {}",
                    one.change, sign.what
                )),
                (Outcome::Redundant { runs, .. }, None) => problems.push(format!(
                    "{at}: {}: nothing noticed in {runs} runs, and the case does not explain why",
                    one.change
                )),
                (Outcome::Unknown(verdict, why), _) => {
                    problems.push(format!("{at}: {}: {}: {why}", one.change, verdict.name()));
                }
                _ => {}
            }
        }
        problems.extend(self.unused.iter().cloned());
        problems
    }

    /// The exit code: see [`exit`].
    pub fn exit_code(&self) -> u8 {
        let unknown = |m: &Judged| matches!(m.outcome, Outcome::Unknown(..));
        let wrong = |m: &Judged| !unknown(m) && !m.is_expected();
        match &self.refused {
            Some((code, _)) => *code,
            None if self.strict && (!self.unused.is_empty() || self.mutants.iter().any(wrong)) => {
                exit::FINDINGS
            }
            None if self.mutants.iter().any(unknown) => exit::INCONCLUSIVE,
            None => exit::OK,
        }
    }
}

/// Sums over several.
pub fn sums(subjects: &[Subject]) -> Sums {
    let all = || subjects.iter().flat_map(|s| &s.mutants);
    let count = |is: &dyn Fn(&Judged) -> bool| all().filter(|m| is(m)).count();
    let redundant = |m: &Judged| matches!(m.outcome, Outcome::Redundant { .. });
    Sums {
        mutants: all().count(),
        needed: count(&|m| matches!(m.outcome, Outcome::Needed(_))),
        redundant: count(&redundant),
        explained: count(&|m| redundant(m) && m.explained.is_some()),
        unknown: count(&|m| matches!(m.outcome, Outcome::Unknown(..))),
    }
}

/// The exit code of several: findings before what could not be told.
pub fn exit_code(subjects: &[Subject]) -> u8 {
    let codes = || subjects.iter().map(Subject::exit_code);
    match codes().find(|code| *code == exit::FINDINGS) {
        Some(code) => code,
        None => codes().max().unwrap_or(exit::OK),
    }
}
