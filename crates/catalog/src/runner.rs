//! Tries many cases in parallel.

use super::case_result::{self, CaseResult, Settings};
use super::entry::{Catalog, Entry};
use report::exit;
use report::{Report, Verdict};
pub use session::explore::parallel;
use simt::Live;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

/// What a live line shows.
#[derive(Clone, Copy, Debug)]
pub enum Progress<'a> {
    /// A case starts.
    Started {
        /// Its name.
        id: &'a str,
    },
    /// A case is done.
    Finished {
        /// What came out.
        trial: &'a CaseResult,
        /// How many are done now.
        done: usize,
        /// How many there are.
        total: usize,
    },
}

/// What came out of all cases.
#[derive(Clone, Debug)]
pub struct CaseResults {
    /// In the order of the cases.
    pub trials: Vec<CaseResult>,
    /// Cases that were not judged, since somebody ended all runs ([`Settings::live`]).
    pub interrupted: usize,
    /// The settings' seed.
    pub seed: u64,
    /// Wall-clock time.
    pub time: Duration,
    /// See [`Settings::of_project`].
    pub of_project: bool,
}

/// Tries the cases on `jobs` threads. The result does not depend on their number.
pub fn run(
    catalog: &Catalog,
    cases: &[&Entry],
    settings: &Settings,
    jobs: usize,
    progress: &(dyn Fn(Progress<'_>) + Sync),
) -> CaseResults {
    let started = Instant::now();
    let done = AtomicUsize::new(0);
    let is_ended = || settings.live.as_ref().is_some_and(Live::is_ended);
    let trials = parallel(cases.len(), jobs, &|index| {
        let entry = cases[index];
        if is_ended() {
            return None;
        }
        progress(Progress::Started { id: &entry.id });
        let trial = one(catalog, entry, settings);
        if is_ended() && trial.verdict == Verdict::Inconclusive {
            return None;
        }
        let done = done.fetch_add(1, Ordering::Relaxed) + 1;
        progress(Progress::Finished {
            trial: &trial,
            done,
            total: cases.len(),
        });
        Some(trial)
    });
    let trials: Vec<CaseResult> = trials.into_iter().flatten().collect();
    CaseResults {
        interrupted: cases.len() - trials.len(),
        trials,
        seed: settings.seed,
        time: started.elapsed(),
        of_project: settings.of_project,
    }
}

/// A mistake of racetrap in one case must not take the others down.
fn one(catalog: &Catalog, entry: &Entry, settings: &Settings) -> CaseResult {
    catch_unwind(AssertUnwindSafe(|| {
        case_result::run(catalog, entry, settings)
    }))
    .unwrap_or_else(|panic| {
        let message = panic
            .downcast_ref::<String>()
            .map(String::as_str)
            .or_else(|| panic.downcast_ref::<&str>().copied())
            .unwrap_or("no message");
        case_result::broken(entry, message)
    })
}

/// Sums over all cases.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sums {
    /// Cases.
    pub cases: usize,
    /// Buggy cases, those left out that do not compile.
    pub buggy: usize,
    /// Of these, caught.
    pub caught: usize,
    /// Correct cases.
    pub correct: usize,
    /// Of these, with something found.
    pub false_alarms: usize,
    /// Cases that the compiler is to refuse.
    pub refusals: usize,
    /// Of these, refused as expected.
    pub refused: usize,
    /// Cases with instructions that the simulator does not have.
    pub unsupported: usize,
    /// Cases of which nothing can be said.
    pub inconclusive: usize,
    /// Cases with another verdict than the expected one.
    pub unexpected: usize,
    /// See [`Settings::of_project`].
    pub of_project: bool,
}

impl CaseResults {
    /// The sums.
    pub fn sums(&self) -> Sums {
        let count =
            |wanted: &dyn Fn(&CaseResult) -> bool| self.trials.iter().filter(|t| wanted(t)).count();
        let verdict = |verdict| count(&|t| t.verdict == verdict);
        Sums {
            cases: self.trials.len(),
            buggy: count(&|t| t.buggy && t.refusal.is_none()),
            caught: count(&|t| t.buggy && t.refusal.is_none() && t.verdict == Verdict::Caught),
            refusals: count(&|t| t.refusal.is_some()),
            refused: count(&|t| t.refusal.is_some() && t.verdict == Verdict::Caught),
            correct: count(&|t| !t.buggy),
            false_alarms: count(&|t| {
                !t.buggy && matches!(t.verdict, Verdict::FalseAlarm | Verdict::Findings)
            }),
            of_project: self.of_project,
            unsupported: verdict(Verdict::Unsupported),
            inconclusive: verdict(Verdict::Inconclusive),
            unexpected: count(&|t| !t.ok()),
        }
    }

    /// The exit code: see [`exit`].
    pub fn exit_code(&self) -> u8 {
        let unsure = |t: &CaseResult| {
            !t.ok() && matches!(t.verdict, Verdict::Inconclusive | Verdict::Unsupported)
        };
        if self.trials.iter().all(CaseResult::ok) && self.interrupted == 0 {
            exit::OK
        } else if self.trials.iter().all(|t| t.ok() || unsure(t)) {
            exit::INCONCLUSIVE
        } else {
            exit::FINDINGS
        }
    }

    /// For the renderers.
    pub fn report(&self) -> Report {
        Report {
            checks: self.trials.iter().map(CaseResult::check).collect(),
        }
    }
}

impl std::fmt::Display for Sums {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(
            f,
            "caught {}/{} · {} {}/{}",
            self.caught,
            self.buggy,
            match self.of_project {
                true => "findings in correct kernels",
                false => "false alarms",
            },
            self.false_alarms,
            self.correct
        )?;
        if self.refusals > 0 {
            write!(
                f,
                " · refused by the compiler {}/{}",
                self.refused, self.refusals
            )?;
        }
        if self.unsupported > 0 {
            write!(f, " · unsupported {}", self.unsupported)?;
        }
        if self.inconclusive > 0 {
            write!(f, " · inconclusive {}", self.inconclusive)?;
        }
        Ok(())
    }
}
