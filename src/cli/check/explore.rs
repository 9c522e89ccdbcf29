//! Runs one build under several schedules and words what comes out.

use super::geometry::Geometry;
use super::input::Build;
use super::plan::{Memory, Plan};
use detect::finding::{Action, Detail, End, Finding};
use detect::rules::{Level, Rule};
use ptx::source::SourceLine;
use report::Failure;
use report::{Diagnostic, KernelView, Scene, Sources, View, diagnose, merge};
use session::{Independence, Options, Outcome, Session};
use simt::memory::{GLOBAL_BASE, MemoryError};
use simt::observer::Space;
use simt::op::{Op, Special};
use simt::{Device, Launch, Limits, Program, ScheduleSpec, Stop};
use std::collections::HashSet;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::time::{Duration, Instant};

/// Global memory of the simulated device, bytes.
const DEVICE_BYTES: u64 = 2 << 30;
/// Bytes behind a guessed buffer that belong to nobody, so that reaching too far is not taken for
/// reaching into the next one.
const GAP: u64 = 1 << 20;
/// A guessed buffer does not grow beyond this, bytes.
const GROWN: u64 = 256 << 20;
/// Bytes before a buffer that a negative index is likelier to reach than a large index of the
/// buffer before.
const BEFORE: u64 = 64 << 10;

/// Warp-instructions after which a build that has errors is run under no further schedule: there is something to mend, and
/// what races all the time takes long.
const AFTER_ERRORS: u64 = 2_000_000;

/// How a build is explored.
#[derive(Clone, Debug)]
pub struct Exploration<'a> {
    /// The launch's shape.
    pub geometry: &'a Geometry,
    /// Whether all blocks are resident.
    pub cooperative: bool,
    /// The schedules, in order.
    pub schedules: &'a [ScheduleSpec],
    /// Budgets of a launch.
    pub limits: Limits,
    /// When to stop, on the clock.
    pub until: Option<Instant>,
    /// Cores.
    pub jobs: usize,
    /// Whether performance is judged.
    pub perf: bool,
    /// `-D`, for reading declarations.
    pub defines: &'a [String],
    /// Whether to remember what each schedule leaves in memory.
    pub remember: bool,
}

/// A finding before it is worded: its rule and its guilty places.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Found {
    /// The rule it breaks.
    pub rule: Rule,
    /// What was done at each place, and the source lines that it was inlined through, innermost
    /// first.
    pub ends: Vec<(Action, Vec<SourceLine>)>,
}

impl Found {
    fn of(finding: &Finding, program: &Program) -> Found {
        let end = |end: &End| (end.action, program.site(end.site).lines.clone());
        Found {
            rule: finding.rule,
            ends: finding.ends.iter().map(end).collect(),
        }
    }
}

/// What groups diagnostics.
pub type Key = (Rule, Vec<(String, u32)>);

/// What came out of a build.
#[derive(Clone, Debug, Default)]
pub struct Explored {
    /// The findings; `replay` holds the schedule.
    pub diagnostics: Vec<Diagnostic>,
    /// The same, one by one and schedule by schedule.
    pub findings: Vec<Found>,
    /// Schedules that ran to their end.
    pub schedules: Vec<String>,
    /// What a clean result says about other schedules; `None` if a run had findings or did not end.
    pub independence: Option<Independence>,
    /// Why it could not be told.
    pub stopped: Option<Stop>,
    /// The source line at which it stopped, where there is one: `scan.cu:12`.
    pub stopped_at: Option<String>,
    /// Whether the kernel asks for what a cooperative launch alone provides.
    pub cooperates: bool,
    /// What the first run printed.
    pub output: String,
    /// The [keys](Diagnostic::key) of `divergent-barrier` where all who went past a barrier left the kernel behind it.
    pub past_and_exited: HashSet<Key>,
    /// Buffers that had to grow.
    pub grown: Vec<usize>,
    /// What each schedule left in global memory, as a hash; where it was to be remembered.
    pub left: Vec<u64>,
    /// Warp-instructions of the longest schedule.
    pub steps: u64,
}

impl Exploration<'_> {
    /// Runs the program under each schedule, until one result holds for all of them.
    ///
    /// # Errors
    ///
    /// A launch that is impossible, or inputs that don't fit in memory.
    pub fn explore(
        &self,
        build: &Build,
        program: &Program,
        plan: &mut Plan,
        sources: &mut Sources,
        mut progress: impl FnMut(&str),
    ) -> Result<Explored, Failure> {
        let mut spent = 0;
        let mut out = Explored {
            cooperates: cooperates(program),
            ..Explored::default()
        };
        let mut clean = true;
        let mut stayed: HashSet<Key> = HashSet::new();
        for (index, schedule) in self.schedules.iter().enumerate() {
            let left = self
                .until
                .map(|end| end.saturating_duration_since(Instant::now()));
            if left == Some(Duration::ZERO) && index > 0 {
                break;
            }
            progress(&format!(
                "{}{schedule} ({} of {} schedules)",
                build.name.map(|n| format!("{n}, ")).unwrap_or_default(),
                index + 1,
                self.schedules.len()
            ));
            let (outcome, device) = self.run(program, plan, schedule, left, &mut out.grown)?;
            if index == 0 {
                out.output = outcome.output.clone();
            }
            out.steps = out.steps.max(outcome.steps);
            if self.remember {
                out.left.push(left_in(&device));
            }
            let found = outcome.findings.iter().map(|f| Found::of(f, program));
            out.findings.extend(found);
            let view = KernelView::new(
                program,
                &device,
                (self.geometry.grid, self.geometry.block),
                &build.ptx,
                sources,
                self.defines,
            );
            let mut scene = Scene {
                steps: vec![View::Kernel(view)],
                sources,
            };
            let worded: Vec<Diagnostic> = outcome
                .findings
                .iter()
                .map(|finding| Diagnostic {
                    replay: Some(schedule.to_string()),
                    builds: build.name.map(str::to_string).into_iter().collect(),
                    ..diagnose(finding, &mut scene)
                })
                .collect();
            clean &= worded.iter().all(|d| d.level == Level::Note);
            let exited = outcome.findings.iter().zip(&worded);
            for (finding, diagnostic) in exited.filter(|(f, _)| f.rule == Rule::DivergentBarrier) {
                let key = diagnostic.key();
                if finding.detail == Detail::Exited && !stayed.contains(&key) {
                    out.past_and_exited.insert(key);
                } else {
                    out.past_and_exited.remove(&key);
                    stayed.insert(key);
                }
            }
            merge(&mut out.diagnostics, worded);
            match outcome.stopped {
                // Without an end there is nothing more to learn from other schedules: each would
                // spend the whole budget.
                Some(Stop::NoProgress { .. }) => {
                    clean = false;
                    out.schedules.push(schedule.to_string());
                    break;
                }
                Some(Stop::Deadlock { .. }) => clean = false,
                Some(Stop::WallClock(_) | Stop::Budget { .. }) if !out.schedules.is_empty() => {
                    break;
                }
                Some(stop) => {
                    out.stopped_at = line_of(&stop, program);
                    out.stopped = Some(stop);
                    return Ok(out);
                }
                None => {}
            }
            out.schedules.push(schedule.to_string());
            spent += outcome.steps;
            let errors = out.diagnostics.iter().any(|d| d.level == Level::Error);
            if errors && spent > AFTER_ERRORS {
                break;
            }
            if clean {
                out.independence = Some(outcome.independence);
                if outcome.independence != Independence::Dependent {
                    break;
                }
            }
        }
        if !clean {
            out.independence = None;
        }
        Ok(out)
    }

    /// One schedule; again with larger buffers, for as long as a guessed one is too small.
    fn run(
        &self,
        program: &Program,
        plan: &mut Plan,
        schedule: &ScheduleSpec,
        left: Option<Duration>,
        grown: &mut Vec<usize>,
    ) -> Result<(Outcome, Device), Failure> {
        loop {
            let mut session = Session::new(Options {
                schedule: schedule.clone(),
                limits: Limits {
                    wall: left,
                    ..self.limits
                },
                jobs: self.jobs,
                perf: self.perf,
                device_bytes: DEVICE_BYTES,
            });
            let params = plan.encode(&mut Buffers(session.device()))?;
            let launch = Launch {
                grid: self.geometry.grid,
                block: self.geometry.block,
                dynamic_shared: self.geometry.shared,
                params,
                cooperative: self.cooperative,
                number: 0,
            };
            match session.launch(program, &launch) {
                Err(Stop::InvalidLaunch(what)) => return Err(invalid(&what)),
                Err(Stop::OutOfMemory(what)) => {
                    return Err(Failure::inconclusive(format!("out of memory: {what}"))
                        .help("use a smaller launch: races show on small ones (`--grid`, `--block`), or smaller buffers (`--arg`)"));
                }
                Ok(_) | Err(_) => {}
            }
            let (outcome, device) = session.finish();
            let mut grew = false;
            for finding in &outcome.findings {
                if let Some((index, bytes)) = too_small(finding, &device, plan)
                    && plan.grow(index, bytes)
                {
                    grew = true;
                    if !grown.contains(&index) {
                        grown.push(index);
                    }
                }
            }
            if !grew {
                return Ok((outcome, device));
            }
        }
    }
}

/// Whether a kernel reads the address of the grid's barrier, which only a cooperative launch has (`%envreg1`, `%envreg2`, as
/// `grid.sync()` does).
fn cooperates(program: &Program) -> bool {
    let reads = |op: &Op| {
        matches!(
            op,
            Op::Special {
                which: Special::EnvReg(1 | 2),
                ..
            }
        )
    };
    program.code.iter().any(|i| reads(&i.op))
}

/// A hash of what lies in global memory.
fn left_in(device: &Device) -> u64 {
    let mut hash = DefaultHasher::new();
    for allocation in device.allocations().iter().filter(|a| !a.freed) {
        let at = GLOBAL_BASE + allocation.offset;
        if let Ok(bytes) = device.read(at, allocation.bytes) {
            (allocation.offset, bytes).hash(&mut hash);
        }
    }
    hash.finish()
}

/// The source line of the instruction that a stop names.
fn line_of(stop: &Stop, program: &Program) -> Option<String> {
    let (Stop::Unsupported { site, .. } | Stop::Trap { site, .. }) = stop else {
        return None;
    };
    let line = program.sites.get(site.0 as usize)?.lines.first()?;
    (line.line > 0).then(|| format!("{}:{}", line.file, line.line))
}

fn invalid(what: &str) -> Failure {
    let help = if what.contains("shared") {
        "give it less: `--shared BYTES`, fewer threads, or smaller arrays"
    } else if what.contains("cooperative") || what.contains("resident") {
        "a cooperative launch needs all blocks resident: use fewer (`--grid`)"
    } else {
        "change `--grid`, `--block` or `--shared`"
    };
    Failure::usage(format!("this launch is impossible: {what}")).help(help)
}

/// The guessed buffer that an access outside was probably meant for, and the size it would need.
fn too_small(finding: &Finding, device: &Device, plan: &Plan) -> Option<(usize, u64)> {
    if !matches!(finding.rule, Rule::OutOfBounds | Rule::UseAfterFree) {
        return None;
    }
    let place = finding.place.filter(|p| p.space == Space::Global)?;
    let offset = match place.mapped {
        true => place.address,
        false => place.address.checked_sub(GLOBAL_BASE)?,
    };
    let all = device.allocations();
    let after = all.partition_point(|a| a.offset <= offset);
    let owner = all[..after].iter().rev().find(|a| !a.name.is_empty())?;
    let next = all[after..].iter().find(|a| !a.name.is_empty());
    let behind = offset.checked_sub(owner.offset + owner.bytes)?;
    if next.is_some_and(|n| n.offset - offset <= BEFORE && behind > BEFORE) {
        return None;
    }
    let bytes = offset - owner.offset + u64::from(place.bytes);
    let index = plan
        .named(&owner.name)
        .filter(|i| plan.values[*i].guessed)?;
    (bytes * 2 <= GROWN).then_some((index, bytes))
}

/// Buffers in a device's memory, each with room behind it: what reaches far outside must not land in another one.
struct Buffers<'a>(&'a mut Device);

impl Memory for Buffers<'_> {
    fn buffer(
        &mut self,
        name: &str,
        _: bool,
        length: u64,
        bytes: Option<Vec<u8>>,
    ) -> Result<u64, Failure> {
        let full = |error: MemoryError| {
            Failure::usage(format!("the arguments do not fit in the device: {error}")).help(
                format!("give it fewer elements: `--arg {name}=TYPE[ELEMENTS]`"),
            )
        };
        let address = self.0.alloc(length, name).map_err(full)?;
        if let Some(bytes) = bytes {
            self.0.write(address, &bytes).map_err(full)?;
        }
        let gap = self.0.alloc(GAP, "").map_err(full)?;
        self.0.free(gap).map_err(full)?;
        Ok(address)
    }
}
