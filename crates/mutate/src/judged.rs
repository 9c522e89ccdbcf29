//! The verdicts on a kernel's mutants.

use super::operator::Change;
use catalog::probe::Sign;
use report::exit;
use report::{Label, Verdict};

/// A kernel and its mutants.
#[derive(Clone, Debug)]
pub struct Subject {
    /// The case, or `reverse.cu: reverse`.
    pub name: String,
    /// Why its mutants were not judged, or not all tried (the kernel itself has findings, cannot run, …), with the exit code.
    pub refused: Option<(u8, String)>,
    /// The mutants, in the order of the source lines.
    pub mutants: Vec<Judged>,
    /// Sets of mutants of which each shows nothing, and all together fail.
    pub together: Vec<Together>,
    /// Explanations of the case that match no mutant.
    pub unused: Vec<String>,
    /// Whether survivors must be explained. True for the catalogue's cases, but not for single copies of a source line.
    pub strict: bool,
}

/// A mutant and its verdict.
#[derive(Clone, Debug)]
pub struct Judged {
    /// The change.
    pub change: Change,
    /// The changed place, in the source or in the PTX.
    pub place: Label,
    /// The changed lines of the PTX, counted from 1.
    pub ptx_lines: Vec<u32>,
    /// The outcome.
    pub outcome: Outcome,
    /// The explanation in the case why it changes nothing.
    pub explained: Option<String>,
}

/// Mutants of which one at least is needed: without all of them something fails, and not as long as any one of them is there.
#[derive(Clone, Debug)]
pub struct Together {
    /// Their indices among the subject's mutants; two or more.
    pub members: Vec<usize>,
    /// What fails without all of them.
    pub sign: Box<Sign>,
}

/// The outcome of a mutant.
#[derive(Clone, Debug)]
pub enum Outcome {
    /// An error appears without it.
    Needed(Box<Sign>),
    /// No run could have shown that it is needed.
    NotExercised {
        /// Why not.
        why: String,
        /// The number of launches and inputs that were tried.
        launches: usize,
    },
    /// No error appeared, although it had something to order.
    NoFailure {
        /// The number of runs.
        runs: u32,
        /// The number of launches and inputs.
        launches: usize,
        /// Whether every schedule gives the same results for the inputs tried. This is a proof for these inputs.
        every_schedule: bool,
    },
    /// No verdict: the kind, and the reason.
    Unknown(Verdict, String),
}

impl Judged {
    /// Whether a strict subject accepts it: needed, or without a failure and explained.
    pub fn is_expected(&self) -> bool {
        match self.outcome {
            Outcome::Needed(_) => self.explained.is_none(),
            Outcome::NoFailure { .. } | Outcome::NotExercised { .. } => self.explained.is_some(),
            Outcome::Unknown(..) => false,
        }
    }
}

/// Totals.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sums {
    /// Mutants.
    pub mutants: usize,
    /// Needed mutants.
    pub needed: usize,
    /// Mutants that no run could have shown to be needed.
    pub not_exercised: usize,
    /// Mutants without a failure.
    pub no_failure: usize,
    /// Mutants of the last two kinds that the case explains.
    pub explained: usize,
    /// Mutants without a verdict.
    pub unknown: usize,
}

impl Subject {
    /// Its totals.
    pub fn sums(&self) -> Sums {
        sums(std::slice::from_ref(self))
    }

    /// The problems, one line each.
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
                    "{at}: {}: the case says that this changes nothing, but it causes an error: {}",
                    one.change, sign.what
                )),
                (Outcome::NoFailure { runs, .. }, None) => problems.push(format!(
                    "{at}: {}: no error in {runs} runs, and the case does not explain why",
                    one.change
                )),
                (Outcome::NotExercised { why, .. }, None) => problems.push(format!(
                    "{at}: {}: {why}, and the case does not explain why",
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

/// Totals over several kernels.
pub fn sums(subjects: &[Subject]) -> Sums {
    let all = || subjects.iter().flat_map(|s| &s.mutants);
    let count = |is: &dyn Fn(&Judged) -> bool| all().filter(|m| is(m)).count();
    let not_exercised = |m: &Judged| matches!(m.outcome, Outcome::NotExercised { .. });
    let no_failure = |m: &Judged| matches!(m.outcome, Outcome::NoFailure { .. });
    Sums {
        mutants: all().count(),
        needed: count(&|m| matches!(m.outcome, Outcome::Needed(_))),
        not_exercised: count(&not_exercised),
        no_failure: count(&no_failure),
        explained: count(&|m| (no_failure(m) || not_exercised(m)) && m.explained.is_some()),
        unknown: count(&|m| matches!(m.outcome, Outcome::Unknown(..))),
    }
}

/// The exit code for several kernels: findings take precedence over missing verdicts.
pub fn exit_code(subjects: &[Subject]) -> u8 {
    let codes = || subjects.iter().map(Subject::exit_code);
    match codes().find(|code| *code == exit::FINDINGS) {
        Some(code) => code,
        None => codes().max().unwrap_or(exit::OK),
    }
}
