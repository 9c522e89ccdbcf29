//! What one schedule adds to what is known of a build.

use super::difference::Difference;
use super::escalate;
use super::grow::Need;
use super::memory::{Buffer, Memory, left_in};
use super::{Build, Exploration, Explored, Found, Key, WORDED};
use crate::explore::Sources;
use detect::finding::{Action, Detail, Finding};
use detect::rules::{Level, Rule};
use report::{Diagnostic, KernelView, Scene, View, diagnose, merge};
use session::{Independence, Outcome, coverage};
use simt::memory::GLOBAL_BASE;
use simt::observer::Space;
use simt::{Device, Program, ScheduleSpec, Stop};
use std::collections::{HashMap, HashSet};
use std::ops::ControlFlow;

/// Warp-instructions after which a build that has errors is run under no further schedule: there is something to mend, and
/// what races all the time takes long.
const AFTER_ERRORS: u64 = 2_000_000;
/// Lanes of a warp: where they run one by one, a kernel takes up to so many times as many warp-instructions.
const LANES: u64 = 32;

/// What `explore` has learnt so far.
#[derive(Default)]
pub(super) struct Progressed {
    /// Warp-instructions of all schedules.
    pub(super) spent: u64,
    pub(super) stayed: HashSet<Key>,
    pub(super) dirty: bool,
    /// What runs left in which data passed between warps in no certain order.
    pub(super) results: Vec<escalate::Left>,
}

/// Whether the budget ended a kernel that other schedules brought to its end: with lanes that run one by one it takes longer, which is
/// no kernel that never ends.
fn is_only_long(outcome: &Outcome, before: &Explored) -> bool {
    match outcome.stopped {
        Some(Stop::NoProgress {
            steps,
            for_ever: false,
            ..
        }) => !before.schedules.is_empty() && before.steps.saturating_mul(LANES) > steps,
        _ => false,
    }
}

impl Exploration<'_> {
    /// Adds what a schedule showed; breaks where no other schedule can tell more.
    #[allow(clippy::too_many_arguments, reason = "the body of a loop")]
    pub(super) fn take(
        &self,
        index: usize,
        schedule: &ScheduleSpec,
        (outcome, larger): (Outcome, Vec<Option<Need>>),
        (device, buffers): (Device, Vec<Buffer>),
        shape: (simt::Dim3, simt::Dim3),
        build: &Build,
        program: &Program,
        sources: &mut Sources,
        state: &mut Progressed,
        out: &mut Explored,
    ) -> ControlFlow<()> {
        if is_only_long(&outcome, out) {
            return ControlFlow::Break(());
        }
        if index == 0 {
            out.output = outcome.output.clone();
        }
        out.steps = out.steps.max(outcome.steps);
        out.executed += outcome.executed;
        out.accesses += outcome.accesses;
        out.coverage.merge(&outcome.coverage);
        if self.remember {
            out.left.push(left_in(&device));
        }
        state
            .results
            .extend(escalate::left(&outcome, &device, schedule));
        let mut findings: Vec<&Finding> = Vec::new();
        let mut larger_buffers: Vec<Option<&Need>> = Vec::new();
        let mut of_rule: HashMap<Rule, usize> = HashMap::new();
        for (finding, larger) in outcome.findings.iter().zip(&larger) {
            let count = of_rule.entry(finding.rule).or_default();
            *count += 1;
            match *count <= WORDED {
                true => {
                    findings.push(finding);
                    larger_buffers.push(larger.as_ref());
                }
                false => out.cut = true,
            }
        }
        let mut view = KernelView::new(program, &device, shape, &build.ptx, sources, self.defines);
        name_elements(&mut view, &buffers);
        if !outcome.findings.is_empty() {
            let warps = shape.1.count().div_ceil(32) as u32;
            view.warps = coverage::reached(program, &outcome.coverage, warps);
        }
        let mut steps = vec![View::Kernel(view)];
        let mut programs = vec![program];
        if let Some((second, of_build)) = self.second(program) {
            let shape = second.shape(shape);
            let mut view =
                KernelView::new(of_build, &device, shape, &build.ptx, sources, self.defines);
            name_elements(&mut view, &buffers);
            steps.push(View::Kernel(view));
            programs.push(of_build);
        }
        let mut scene = Scene { steps, sources };
        let mut worded: Vec<Diagnostic> = Vec::new();
        for (finding, larger) in findings.iter().zip(&larger_buffers) {
            if self.out_of_time() && !worded.is_empty() {
                out.cut = true;
                break;
            }
            let mut diagnostic = Diagnostic {
                replay: Some(schedule.to_string()),
                builds: build.name.map(str::to_string).into_iter().collect(),
                ..diagnose(finding, &mut scene)
            };
            if let Some(need) = larger {
                need.excuse(&mut diagnostic);
            }
            worded.push(diagnostic);
        }
        drop(scene);
        if self.trace {
            // Only the first launch can be followed again.
            let first = |finding: &Finding| finding.ends.iter().all(|end| end.launch == 0);
            let all = findings.iter().zip(&worded);
            for (finding, diagnostic) in all.filter(|(f, _)| first(f)) {
                let key = diagnostic.key();
                if out.examples.len() < WORDED && !out.examples.iter().any(|(k, ..)| *k == key) {
                    let example = (key, Finding::clone(finding), schedule.clone());
                    out.examples.push(example);
                }
            }
        }
        let found = findings.iter().zip(&worded);
        out.findings
            .extend(found.map(|(finding, _)| Found::of(finding, &programs)));
        let left = Memory {
            device: Some(device),
            buffers,
        };
        if index == 0 {
            out.memory = Some(left);
        } else if out.difference.as_ref().is_none_or(|d| d.rounding)
            && outcome.stopped.is_none()
            && let (Some(first), Some(by)) = (&out.memory, out.schedules.first())
        {
            let schedules = [by.as_str(), &schedule.to_string()];
            let outputs = [out.output.as_str(), &outcome.output];
            let found = Difference::between(schedules, [first, &left], outputs);
            if out.difference.is_none() || found.as_ref().is_some_and(|d| !d.rounding) {
                out.difference = found;
            }
        }
        state.dirty |= worded.iter().any(|d| d.level != Level::Note);
        let in_shared = |f: &Finding| f.place.is_some_and(|p| p.space == Space::Shared);
        let races = findings.iter().zip(&worded);
        let races = races.filter(|(f, _)| f.rule == Rule::DataRace && in_shared(f));
        out.races_in_shared.extend(races.map(|(_, d)| d.key()));
        let in_global = |f: &Finding| f.place.is_some_and(|p| p.space == Space::Global);
        let global = findings.iter().zip(&worded);
        let global = global.filter(|(f, _)| in_global(f));
        out.in_global.extend(global.map(|(_, d)| d.key()));
        let reads = |f: &Finding| f.ends.iter().any(|end| end.action != Action::Write);
        let read = findings.iter().zip(&worded);
        out.read
            .extend(read.filter(|(f, _)| reads(f)).map(|(_, d)| d.key()));
        let exited = findings.iter().zip(&worded);
        for (finding, diagnostic) in exited.filter(|(f, _)| f.rule == Rule::DivergentBarrier) {
            let key = diagnostic.key();
            if finding.detail == Detail::Exited && !state.stayed.contains(&key) {
                out.past_and_exited.insert(key);
            } else {
                out.past_and_exited.remove(&key);
                state.stayed.insert(key);
            }
        }
        merge(&mut out.diagnostics, worded);
        match outcome.stopped {
            // Without an end there is nothing more to learn from other schedules: each would
            // spend the whole budget.
            Some(Stop::NoProgress { .. }) => {
                state.dirty = true;
                out.schedules.push(schedule.to_string());
                return ControlFlow::Break(());
            }
            Some(stop) if stop.is_finding() => state.dirty = true,
            Some(
                Stop::WallClock(_) | Stop::Budget { .. } | Stop::Memory(_) | Stop::Interrupted,
            ) if !out.schedules.is_empty() => {
                return ControlFlow::Break(());
            }
            Some(stop) => {
                out.stopped_at = programs.iter().find_map(|p| line_of(&stop, p));
                out.stopped = Some(stop);
                return ControlFlow::Break(());
            }
            None => {}
        }
        out.schedules.push(schedule.to_string());
        state.spent += outcome.steps;
        if larger_buffers.iter().any(Option::is_some) {
            // Most of the work was done on memory that is not there.
            return ControlFlow::Break(());
        }
        let errors = out.diagnostics.iter().any(|d| d.level == Level::Error);
        if errors && state.spent > AFTER_ERRORS {
            return ControlFlow::Break(());
        }
        if !state.dirty {
            out.independence = Some(outcome.independence);
            if outcome.independence != Independence::Dependent {
                return ControlFlow::Break(());
            }
        }
        ControlFlow::Continue(())
    }
}

/// Counts the elements of buffers in the type that the source gives them, whatever an instruction takes at once.
pub(super) fn name_elements(view: &mut KernelView<'_>, buffers: &[Buffer]) {
    for buffer in buffers.iter().filter(|buffer| buffer.typed) {
        let start = buffer.address.wrapping_sub(GLOBAL_BASE);
        let mut regions = view.memory.global.iter_mut();
        if let Some(region) = regions.find(|r| r.start == start) {
            region.element.get_or_insert(buffer.element.bytes() as u32);
        }
    }
}

/// The source line of the instruction that a stop names.
fn line_of(stop: &Stop, program: &Program) -> Option<String> {
    let Stop::Unsupported { site, .. } = stop else {
        return None;
    };
    let line = program.sites.get(site.0 as usize)?.lines.first()?;
    (line.line > 0).then(|| format!("{}:{}", line.file, line.line))
}
