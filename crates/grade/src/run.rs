//! Runs a submission on one input, as `racetrap check` runs a kernel.

use crate::assignment::Metric;
use crate::counts::by_metric;
use crate::course::Course;
use crate::input::Drawn;
use crate::result::Refused;
use check::{Budgets, Checked, ErrorKind, Prepared, Request, Schedules, Source, Unwatched};
use detect::counts::Counts;
use detect::rules::Rule;
use report::Sources;
use simt::{ScheduleSpec, Stop};
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::{Duration, Instant};

/// A run of one build on one input.
#[derive(Clone, Debug)]
pub struct Run<'a> {
    /// The assignment.
    pub course: &'a Course,
    /// The input.
    pub drawn: &'a Drawn,
    /// The build.
    pub ptx: PathBuf,
    /// Budget of each schedule, in warp-instructions.
    pub steps: u64,
    /// How many schedules are tried, at most.
    pub schedules: u32,
    /// The one that is tried instead.
    pub only: Option<ScheduleSpec>,
    /// When the time is up.
    pub until: Instant,
    /// Whether findings get a trace.
    pub trace: bool,
}

/// Why there is no run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RunError {
    /// The kernel is not what the assignment asks for.
    Refused(Refused),
    /// It could not be told.
    Undecided(String),
}

/// What came of a run.
#[derive(Debug)]
pub struct Ran {
    /// The verdict and the findings.
    pub checked: Checked,
}

/// Rules of which a finding means that the kernel did not come to its end.
const ENDS: [Rule; 5] = [
    Rule::NoProgress,
    Rule::Deadlock,
    Rule::Trap,
    Rule::AssertionFailed,
    Rule::InvalidCall,
];

impl Ran {
    /// Bytes of a parameter's buffer after the first schedule, and which of them were written.
    pub fn buffer(&self, parameter: usize) -> Option<(Vec<u8>, Vec<bool>)> {
        let memory = &self.checked.memory;
        let buffer = memory.buffers().iter().find(|b| b.parameter == parameter)?;
        memory.read(buffer)
    }

    /// The rule by which a run was ended.
    pub fn ended_by(&self) -> Option<Rule> {
        let found = self.checked.check.diagnostics.iter().map(|d| d.rule);
        found.into_iter().find(|rule| ENDS.contains(rule))
    }

    /// Why a run could not be told to its end.
    pub fn stopped(&self) -> Option<&Stop> {
        self.checked
            .explored
            .iter()
            .find_map(|e| e.stopped.as_ref())
    }

    /// In words, why it did not come to its end.
    pub fn ended_badly(&self) -> Option<String> {
        let rule = self.ended_by().map(|rule| rule.summary().to_owned());
        rule.or_else(|| self.stopped().map(Stop::to_string))
    }

    /// Warp-instructions of the longest schedule.
    pub fn steps(&self) -> u64 {
        self.checked
            .explored
            .iter()
            .map(|e| e.steps)
            .max()
            .unwrap_or(0)
    }
}

impl Run<'_> {
    fn request(&self) -> Request {
        let assignment = &self.course.assignment;
        let kernel = assignment.kernel.as_ref();
        let left = self.until.saturating_duration_since(Instant::now());
        Request {
            entry: kernel.map(|kernel| kernel.entry.clone()),
            launch: self.drawn.launch,
            cooperative: kernel.is_some_and(|kernel| kernel.cooperative),
            arguments: self.drawn.arguments.clone(),
            schedules: match &self.only {
                Some(one) => Schedules::Only(one.clone()),
                None => Schedules::UpTo(self.schedules),
            },
            inputs: 1,
            trace: self.trace,
            seed: self.drawn.seed,
            budgets: Budgets {
                steps: self.steps,
                time: Some(left),
                memory: assignment.limits.memory_mib.clamp(16, 1 << 16) << 20,
                jobs: 1,
            },
            ..Request::new(Source::File(self.ptx.clone()))
        }
    }

    /// Runs it.
    ///
    /// # Errors
    ///
    /// The kernel is not what the assignment asks for, or it could not be told.
    pub fn check(&self) -> Result<Ran, RunError> {
        if self.until <= Instant::now() + Duration::from_millis(1) {
            return Err(RunError::Undecided(
                "the time for this submission was up".into(),
            ));
        }
        match check::check(&self.request(), &Unwatched) {
            Ok(checked) => Ok(Ran { checked }),
            Err(error) => Err(self.refused(&error)),
        }
    }

    /// What to say of a kernel that does not fit. The words of `check` may name sizes, so they are not used.
    fn refused(&self, error: &check::Error) -> RunError {
        let kernel = self.course.assignment.kernel.as_ref();
        let entry = kernel.map_or("", |kernel| kernel.entry.as_str());
        let count = kernel.map_or(0, |kernel| kernel.arguments.0.len());
        let what = match error.kind {
            ErrorKind::Kernel => format!(
                "there is no kernel `{entry}`, or several: the assignment asks for one `__global__ void {entry}(…)`"
            ),
            ErrorKind::Argument => format!(
                "the parameters of `{entry}` are not the {count} that the assignment asks for"
            ),
            ErrorKind::Launch => format!(
                "`{entry}` can't be launched as the assignment launches it: look at `__launch_bounds__` and at the size of its shared memory"
            ),
            ErrorKind::Input => "the compiled kernel declares more than any GPU has".to_owned(),
            _ => return RunError::Undecided(error.failure.message.clone()),
        };
        RunError::Refused(Refused {
            what,
            messages: String::new(),
        })
    }

    /// Counts what the kernel does.
    pub fn counts(&self, ran: &Ran) -> Option<BTreeMap<Metric, f64>> {
        let request = self.request();
        let mut sources = Sources::new();
        let prepared = Prepared::new(&request, 1, &mut sources, &Unwatched).ok()?;
        let program = prepared.programs.first()?;
        let mut counter = Counts::default();
        let first = &prepared.first;
        let exploration = prepared.exploration(&first.geometry, &request, &Unwatched);
        exploration
            .watched(program, &first.plan, &mut counter)
            .ok()?;
        let mut counts = by_metric(&counter);
        let geometry = &first.geometry;
        counts.insert(Metric::Instructions, ran.steps() as f64);
        counts.insert(
            Metric::SharedBytes,
            f64::from(program.shared_bytes) + f64::from(geometry.shared),
        );
        counts.insert(Metric::BlockThreads, geometry.block.count() as f64);
        counts.insert(Metric::Blocks, geometry.grid.count() as f64);
        Some(counts)
    }
}
