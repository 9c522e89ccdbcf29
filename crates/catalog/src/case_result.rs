//! Tries a case on the simulator: runs it with drawn sizes, inputs and schedules, shrinks what it finds, and reaches a verdict.
//!
//! The seed and the case's name determine all runs of a case, independently of other cases.

mod case_runner;
mod figures;
mod orders;

pub(super) use case_runner::{CaseRunner, Observation, RunError, Target};

use super::case::ExpectedVerdict;
use super::compiled;
use super::draw::Draw;
use super::entry::{Catalog, Entry};
use super::example::Counterexample;
use super::refused;
use super::simulate::{PrepareError, Prepared};
use report::{Check, Diagnostic, Verdict};
use simt::{Live, ScheduleSpec};
use std::collections::BTreeSet;
use std::time::{Duration, Instant};

/// How cases are tried.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Everything random follows from it.
    pub seed: u64,
    /// The schedule of all runs; drawn where none is given.
    pub schedule: Option<ScheduleSpec>,
    /// Runs of a case; the case's own number, or [`RUNS`], where none is given.
    pub runs: Option<u32>,
    /// Wall-clock time of a launch.
    pub wall: Duration,
    /// Ends all runs that go on, and those that would begin, when it ends.
    pub live: Option<Live>,
    /// Whether the catalogue is a project's, which tests its kernels: who says that a correct one is wrong is not alarmed falsely.
    pub of_project: bool,
}

impl Default for Settings {
    /// Seed 0, drawn schedules, ten seconds a launch.
    fn default() -> Settings {
        Settings {
            seed: 0,
            schedule: None,
            runs: None,
            wall: Duration::from_secs(10),
            live: None,
            of_project: false,
        }
    }
}

/// Runs of a case, where nothing else is said.
pub const RUNS: u32 = 24;

/// What came out of a case.
#[derive(Clone, Debug)]
pub struct CaseResult {
    /// The case's name.
    pub id: String,
    /// Whether it is a buggy one.
    pub buggy: bool,
    /// What the simulator says.
    pub verdict: Verdict,
    /// What the case expects it to say.
    pub expected: ExpectedVerdict,
    /// The verdict's reason in one line.
    pub summary: String,
    /// What the verdict would be if findings that the case does not expect did not count, and its reason; `None` where there are none.
    pub otherwise: Option<(Verdict, String)>,
    /// The file of the case: `cases/scan/warp/volatile.yaml`.
    pub file: String,
    /// The kernels that it launches.
    pub kernels: Vec<String>,
    /// The smallest run that shows the bug (or what should not be there).
    pub counterexample: Option<Counterexample>,
    /// Of a run with a wrong result, the smallest that was found.
    pub wrong_result: Option<Counterexample>,
    /// The findings, each from the smallest run that shows it.
    pub diagnostics: Vec<Diagnostic>,
    /// What the compiler said, where it is to refuse the kernel: the verdict is about that, and nothing ran.
    pub refusal: Option<String>,
    /// Runs done.
    pub runs: u32,
    /// Whether every schedule gives these results on the inputs tried; `None` where there are findings.
    pub schedule_independent: Option<bool>,
    /// What the first run printed.
    pub output: String,
    /// What the case says of its PTX and is not so, each in a few lines.
    pub ptx: Vec<String>,
    /// How long it took.
    pub time: Duration,
}

impl CaseResult {
    /// See [`Settings::of_project`].
    fn tell(&mut self, settings: &Settings) {
        if settings.of_project && self.verdict == Verdict::FalseAlarm && !self.verdict_ok() {
            self.verdict = Verdict::Findings;
        }
    }

    /// Whether the verdict is the expected one, and the PTX what the case says of it.
    pub fn ok(&self) -> bool {
        self.verdict_ok() && self.ptx.is_empty()
    }

    /// Whether the verdict is the expected one.
    pub fn verdict_ok(&self) -> bool {
        self.expects(self.verdict)
    }

    fn expects(&self, verdict: Verdict) -> bool {
        let expected = match self.expected {
            ExpectedVerdict::Caught => Verdict::Caught,
            ExpectedVerdict::Clean => Verdict::Clean,
            ExpectedVerdict::Missed => Verdict::Missed,
            ExpectedVerdict::FalseAlarm => Verdict::FalseAlarm,
            ExpectedVerdict::Unsupported => Verdict::Unsupported,
        };
        verdict == expected
    }

    /// For the renderers.
    pub fn check(&self) -> Check {
        Check {
            name: self.id.clone(),
            verdict: self.verdict,
            ok: self.ok(),
            summary: self.summary.clone(),
            schedule_independent: self.schedule_independent,
            setting: None,
            diagnostics: self.diagnostics.clone(),
            unseen: report::Unseen::default(),
            judged: report::Judged {
                file: self.file.clone(),
                kernels: Some(self.kernels.clone()),
                doubt: None,
                warnings_fail: true,
                otherwise: self.otherwise.as_ref().map(|(verdict, summary)| {
                    report::accept::Otherwise {
                        verdict: *verdict,
                        ok: self.expects(*verdict) && self.ptx.is_empty(),
                        summary: summary.clone(),
                    }
                }),
            },
            output: self.output.clone(),
            time: self.time,
        }
    }
}

/// Tries one case. One that the compiler is to refuse is judged by what the compiler said.
pub fn run(catalog: &Catalog, entry: &Entry, settings: &Settings) -> CaseResult {
    let started = Instant::now();
    let mut trial = blank(entry);
    match Prepared::new(catalog, entry) {
        Ok(prepared) => CaseRunner::new(&prepared, settings).run(&mut trial),
        Err(PrepareError::Refused) => {
            let judged = refused::judge(catalog, entry);
            (trial.verdict, trial.summary) = (judged.verdict, judged.summary);
            trial.refusal = Some(judged.said);
        }
        Err(error) => {
            trial.verdict = match error {
                PrepareError::Lower { .. } => Verdict::Unsupported,
                _ => Verdict::Inconclusive,
            };
            trial.summary = error.to_string();
        }
    }
    trial.tell(settings);
    trial.ptx = against_ptx(catalog, entry);
    if trial.verdict_ok()
        && let Some(first) = trial.ptx.first()
    {
        trial.summary = format!(
            "its PTX is another: {}",
            first.lines().next().unwrap_or_default()
        );
    }
    trial.time = started.elapsed();
    trial
}

/// What the case says of its PTX and is not so, for every pinned target.
fn against_ptx(catalog: &Catalog, entry: &Entry) -> Vec<String> {
    let mut failed = Vec::new();
    for target in entry.case.target_names() {
        match compiled::checks(catalog, entry, target) {
            Ok(checks) => failed.extend(
                checks
                    .iter()
                    .filter(|check| !check.holds)
                    .map(|check| format!("{target}: {}", check.message())),
            ),
            Err(error) => failed.push(format!("{target}: {error}")),
        }
    }
    failed
}

/// Does one run again, as its token says.
pub fn replay(catalog: &Catalog, entry: &Entry, draw: &Draw, settings: &Settings) -> CaseResult {
    let started = Instant::now();
    let mut trial = blank(entry);
    match Prepared::new(catalog, entry) {
        Ok(prepared) => CaseRunner::new(&prepared, settings).replay(draw, &mut trial),
        Err(error) => trial.summary = error.to_string(),
    }
    trial.tell(settings);
    trial.time = started.elapsed();
    trial
}

fn blank(entry: &Entry) -> CaseResult {
    CaseResult {
        id: entry.id.clone(),
        buggy: entry.case.is_buggy(),
        verdict: Verdict::Inconclusive,
        expected: entry.case.expect.simulator.verdict,
        summary: String::new(),
        otherwise: None,
        file: entry.file.clone(),
        kernels: {
            let launched = entry.case.launched().map(|l| l.entry.clone());
            launched.collect::<BTreeSet<_>>().into_iter().collect()
        },
        counterexample: None,
        wrong_result: None,
        diagnostics: Vec::new(),
        refusal: None,
        runs: 0,
        schedule_independent: None,
        output: String::new(),
        ptx: Vec::new(),
        time: Duration::ZERO,
    }
}

/// A case whose trial could not be brought to its end by a mistake of racetrap itself.
pub fn broken(entry: &Entry, message: &str) -> CaseResult {
    let summary = format!("racetrap itself failed: {message}");
    CaseResult {
        summary,
        ..blank(entry)
    }
}
