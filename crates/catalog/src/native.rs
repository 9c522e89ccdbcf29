//! Tries a case on a GPU: runs it with drawn sizes and inputs, compares every result with the oracle, shrinks failures, and
//! reaches a verdict by the results only.
//!
//! A correct case must always be right. A buggy one may be right by chance, because a race need not show on one GPU on one day.
//! So a bug that does not show is `missed` instead of `clean`, with the number of runs; a tool or the simulator must find it. A
//! kernel that faults or does not end counts as wrong and ends the trial. Any other failure is `inconclusive`.

use super::case::{Case, ExpectedVerdict};
use super::compare::{Mismatch, OracleError, compare};
use super::draw::{Draw, Draws, SizeError, runner};
use super::entry::{Catalog, Entry};
use super::example::{Counterexample, example};
use super::gpu::{self, GpuRan, JobError};
use super::plan::{Plan, PlanError, plan};
use super::shrink::{ShrinkStep, shrink};
use super::simulate::Prepared;
use device::client::{ClientError, RunJob};
use device::error::DeviceError;
use device::job::{DeviceInfo, Job, Reply};
use device::receipt::Receipt;
use proptest::strategy::{Strategy as _, ValueTree as _};
use report::Verdict;
use simt::ScheduleSpec;
use std::fmt;
use std::time::{Duration, Instant};

/// How cases are tried on a GPU.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    /// Everything random follows from it.
    pub seed: u64,
    /// Runs of a case.
    pub runs: u32,
    /// Wall-clock time of a run, with the start of the process.
    pub limit: Duration,
    /// The tool that the runs are done under; counterexamples are then not made smaller.
    pub tool: Option<String>,
}

impl Settings {
    /// With no tool: 64 runs.
    pub fn native() -> Settings {
        Settings {
            seed: 0,
            runs: 64,
            limit: Duration::from_secs(20),
            tool: None,
        }
    }

    /// Under a tool, which makes everything slow and looks at every access: the largest and the smallest sizes, and a
    /// few more.
    pub fn under(tool: &str) -> Settings {
        Settings {
            // racetrap's own checks are fast.
            runs: if tool == "races" { 24 } else { 6 },
            limit: Duration::from_secs(30),
            tool: Some(tool.to_owned()),
            ..Settings::native()
        }
    }
}

/// Runs that shrinking may take, and its time.
const SHRINKING: u32 = 64;
const SHRINKING_TIME: Duration = Duration::from_secs(15);
/// How often a smaller run is tried before it counts as right: races don't show every time.
const TRIES: u32 = 3;

/// What came out of a case on a GPU.
#[derive(Clone, Debug)]
pub struct Native {
    /// What happened.
    pub receipt: Receipt,
    /// Whether it is a buggy case.
    pub buggy: bool,
    /// What the results say.
    pub verdict: Verdict,
    /// What the case expects them to say, if it expects anything.
    pub expected: Option<ExpectedVerdict>,
    /// The verdict's reason in one line.
    pub summary: String,
    /// The smallest run found that goes wrong.
    pub counterexample: Option<Counterexample>,
}

impl Native {
    /// Whether the verdict is the expected one. Where the case expects nothing, a buggy one may go wrong or not.
    pub fn ok(&self) -> bool {
        match (self.expected, self.verdict) {
            (Some(ExpectedVerdict::Caught), verdict) => verdict == Verdict::Caught,
            (Some(ExpectedVerdict::Clean), verdict) => verdict == Verdict::Clean,
            (Some(ExpectedVerdict::Missed), verdict) => verdict == Verdict::Missed,
            (Some(ExpectedVerdict::FalseAlarm), verdict) => verdict == Verdict::FalseAlarm,
            (Some(ExpectedVerdict::Unsupported), verdict) => verdict == Verdict::Unsupported,
            (None, Verdict::Clean) => true,
            (None, Verdict::Caught | Verdict::Missed) => self.buggy,
            (None, _) => false,
        }
    }
}

/// Why there is no GPU.
#[derive(Debug, thiserror::Error)]
pub enum NoGpu {
    /// The process that talks to it can't be had, or does not answer.
    #[error(transparent)]
    Client(#[from] ClientError),
    /// It answers that it can't use one.
    #[error("{0}")]
    Device(DeviceError),
}

/// The GPU that jobs run on.
///
/// # Errors
///
/// There is none.
pub fn probe(client: &mut dyn RunJob, limit: Duration) -> Result<DeviceInfo, NoGpu> {
    match client.run(&Job::default(), limit)? {
        Reply::Done(done) => Ok(done.device),
        Reply::Failed { error, .. } => Err(NoGpu::Device(error)),
    }
}

/// A mistake of a case that shows when it is run.
#[derive(Debug, thiserror::Error)]
enum Mistake {
    #[error(transparent)]
    Sizes(#[from] SizeError),
    #[error(transparent)]
    Plan(#[from] PlanError),
    #[error(transparent)]
    Job(#[from] JobError),
    #[error(transparent)]
    Oracle(#[from] OracleError),
}

/// How one run ended.
#[derive(Clone, Debug, PartialEq)]
enum Ending {
    Right,
    Wrong(Mismatch),
    /// The kernel did what no kernel may do.
    Fault(String),
    Hung(f64),
    /// It says nothing about the case.
    RunError(String),
}

impl Ending {
    /// Whether it shows what another one shows.
    fn is_like(&self, other: &Ending) -> bool {
        matches!(
            (self, other),
            (Ending::Wrong(_), Ending::Wrong(_)) | (Ending::Fault(_), Ending::Fault(_))
        )
    }
}

impl fmt::Display for Ending {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Ending::Right => f.write_str("right"),
            Ending::Wrong(mismatch) => mismatch.fmt(f),
            Ending::Fault(text) | Ending::RunError(text) => f.write_str(text),
            Ending::Hung(seconds) => write!(f, "not ended after {seconds} s"),
        }
    }
}

/// Tries one case on the GPU that [`probe`] found.
pub fn run(
    catalog: &Catalog,
    entry: &Entry,
    client: &mut dyn RunJob,
    device: &DeviceInfo,
    settings: &Settings,
) -> Native {
    let mut native = Native {
        receipt: Receipt {
            tool: settings.tool.clone(),
            device: Some(device.clone()),
            ..Receipt::blank(&entry.id)
        },
        buggy: entry.case.is_buggy(),
        verdict: Verdict::Inconclusive,
        expected: entry.case.expect.native.as_ref().map(|e| e.verdict),
        summary: String::new(),
        counterexample: None,
    };
    let started = Instant::now();
    let prepared = match Prepared::new(catalog, entry) {
        Ok(prepared) => prepared,
        Err(error) => {
            native.summary = error.to_string();
            return native;
        }
    };
    match gpu::ptx(catalog, &prepared, device.compute_capability) {
        Ok(ptx) => {
            let tester = Tester {
                prepared: &prepared,
                ptx,
                client,
                settings,
            };
            tester.run(&mut native);
        }
        Err(error) => native.summary = error.to_string(),
    }
    native.receipt.seconds = started.elapsed().as_secs_f64();
    native
}

struct Tester<'a> {
    prepared: &'a Prepared<'a>,
    ptx: &'a str,
    client: &'a mut dyn RunJob,
    settings: &'a Settings,
}

impl Tester<'_> {
    fn case(&self) -> &Case {
        &self.prepared.entry.case
    }

    fn run(mut self, native: &mut Native) {
        let mut random = runner(self.settings.seed, &native.receipt.case);
        let mut shown: Option<((Plan, Ending), Draw)> = None;
        for run in 0..self.settings.runs {
            let draws = Draws {
                case: self.case(),
                // A GPU has its own.
                schedule: Some(ScheduleSpec::Lockstep),
                weak: false,
                run,
            };
            let draw = match draws.new_tree(&mut random) {
                Ok(tree) => tree.current(),
                Err(reason) => return native.summary = reason.to_string(),
            };
            let (plan, ending) = match self.observe(&draw) {
                Ok(observed) => observed,
                Err(mistake) => return native.summary = mistake.to_string(),
            };
            if let Ending::RunError(text) = &ending {
                native.receipt.error = Some(text.clone());
                return native.summary = text.clone();
            }
            native.receipt.runs += 1;
            let ends = match &ending {
                Ending::Right | Ending::RunError(_) => continue,
                Ending::Wrong(mismatch) => {
                    native.receipt.wrong += 1;
                    let first = &mut native.receipt.first_wrong;
                    first.get_or_insert_with(|| mismatch.to_string());
                    false
                }
                Ending::Fault(text) => {
                    native.receipt.error = Some(text.clone());
                    true
                }
                Ending::Hung(_) => {
                    native.receipt.hung = true;
                    true
                }
            };
            if ends || shown.is_none() {
                shown = Some(((plan, ending), draw));
            }
            if ends {
                break;
            }
        }
        self.judge(native, shown);
    }

    fn judge(mut self, native: &mut Native, shown: Option<((Plan, Ending), Draw)>) {
        let runs = native.receipt.runs;
        let Some((observed, draw)) = shown else {
            (native.verdict, native.summary) = match (native.buggy, self.case().wrong_results) {
                (false, _) => (Verdict::Clean, format!("right in {runs} runs")),
                (true, Some(false)) => (
                    Verdict::Missed,
                    format!("right in {runs} runs: the bug does not show in results"),
                ),
                (true, _) => (
                    Verdict::Missed,
                    format!("right by luck on this GPU: {runs} runs"),
                ),
            };
            return;
        };
        let ((plan, ending), draw) = self.shrunk(observed, draw);
        let counterexample = example(self.prepared.entry, &plan, &draw, None, ending.to_string());
        let never_wrong =
            self.case().wrong_results == Some(false) && matches!(ending, Ending::Wrong(_));
        let wrong = native.receipt.wrong;
        native.summary = match &ending {
            Ending::Wrong(_) => format!("wrong in {wrong} of {runs} runs: {counterexample}"),
            _ => format!("in run {runs}: {counterexample}"),
        };
        native.verdict = match native.buggy && !never_wrong {
            true => Verdict::Caught,
            false => Verdict::FalseAlarm,
        };
        native.counterexample = Some(counterexample);
    }

    /// The smallest run found that goes wrong in the same way.
    fn shrunk(&mut self, observed: (Plan, Ending), draw: Draw) -> ((Plan, Ending), Draw) {
        // A run that hangs costs its whole time.
        if self.settings.tool.is_some() || matches!(observed.1, Ending::Hung(_)) {
            return (observed, draw);
        }
        let wanted = observed.1.clone();
        let started = Instant::now();
        shrink((observed, draw), true, SHRINKING, &mut |draw| {
            let mut shows = None;
            for _ in 0..TRIES {
                match self.observe(draw) {
                    Ok((_, Ending::Right)) => {}
                    Ok(observed) if observed.1.is_like(&wanted) => {
                        shows = Some(observed);
                        break;
                    }
                    // Another way to go wrong; one that hangs takes its whole time.
                    _ => break,
                }
            }
            ShrinkStep {
                shows,
                enough: started.elapsed() > SHRINKING_TIME,
            }
        })
    }

    /// One run.
    fn observe(&mut self, draw: &Draw) -> Result<(Plan, Ending), Mistake> {
        let sizes = draw.sizes(self.case())?;
        let plan = plan(self.case(), sizes, draw.inputs)?;
        let job = gpu::job(self.prepared, &plan, self.ptx)?;
        let seconds = self.case().limits.seconds;
        let limit = seconds.map_or(self.settings.limit, |s| Duration::from_secs(s.into()));
        let ending = match self.client.run(&job, limit) {
            Ok(Reply::Done(done)) => {
                let ran = GpuRan::new(&plan, &job, done);
                match compare(self.prepared, &plan, &ran)? {
                    None => Ending::Right,
                    Some(mismatch) => Ending::Wrong(mismatch),
                }
            }
            Ok(Reply::Failed { error, .. }) if error.is_of_the_kernel() => {
                Ending::Fault(error.to_string())
            }
            Ok(Reply::Failed { error, .. }) => Ending::RunError(error.to_string()),
            Err(ClientError::Hung { seconds }) => Ending::Hung(seconds),
            Err(error) => Ending::RunError(error.to_string()),
        };
        Ok((plan, ending))
    }
}
