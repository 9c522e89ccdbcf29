//! What happened around findings: in one more run of the launch, which starts from the memory that was there before it and leaves nothing
//! behind; and for operations that nothing orders, the two of them.

use crate::context::Context;
use crate::operation::{Request, Work};
use detect::finding::{Action, Finding};
use detect::footprint::AccessRecord;
use report::Diagnostic;
use report::SourcePlace;
use report::trace::{Step, Trace, What};
use report::tracer::Tracer;
use simt::snapshot::Image;
use simt::{Launch, Limits, ScheduleSpec};
use std::sync::Arc;
use std::time::Duration;

/// Allocated bytes of the device up to which launches are explored; they are copied twice.
pub(crate) const MOST: u64 = 1 << 30;

/// Seconds that such a run may take: it is slower than the one that showed the finding.
const LONGEST: f64 = 60.0;

/// A launch that can be run again.
pub(crate) struct Again {
    memory: Arc<Image>,
    how: Launch,
}

impl Again {
    /// `memory` is what was there before it.
    pub fn new(memory: Arc<Image>, how: &Launch) -> Again {
        Again {
            memory,
            how: how.clone(),
        }
    }
}

/// The run that showed findings.
#[derive(Clone, Copy, Default)]
pub(crate) struct Shown<'r> {
    /// Its schedule; `None` for the run that the program goes on with.
    pub schedule: Option<&'r ScheduleSpec>,
    /// What is needed to run it again, if findings are to get a trace.
    pub again: Option<&'r Again>,
    /// What it waits for, if it was put aside and never goes on.
    pub waits: Option<&'r str>,
}

impl Context {
    /// A copy of the memory before a launch, if findings of it are to get a trace and there is not too much memory.
    pub(crate) fn before(&self, watched: bool) -> Option<Arc<Image>> {
        let wanted = watched && self.options.traces && !self.options.tape;
        wanted
            .then(|| self.memory.device.image(MOST))?
            .map(Arc::new)
    }

    /// What happened around findings of one run; all `None` where it is not asked for.
    pub(crate) fn traces(
        &mut self,
        findings: &[&Finding],
        request: &Request,
        shown: Shown<'_>,
    ) -> Vec<Option<Trace>> {
        let nothing = || findings.iter().map(|_| None).collect();
        let Some(again) = shown.again.filter(|_| !findings.is_empty()) else {
            return nothing();
        };
        let Some(left) = self.memory.device.image(MOST) else {
            return nothing();
        };
        let program = &request.kernel.program;
        let shape = (again.how.grid, again.how.block);
        let mut tracer = Tracer::new(program, shape, findings.iter().copied());
        let limits = Limits {
            steps: self.options.steps,
            wall: Some(Duration::from_secs_f64(
                self.options.launch_seconds.clamp(0.0, LONGEST),
            )),
            others: self.others(),
            engine: self.options.engine(),
            ..Limits::default()
        };
        let schedule = shown.schedule.unwrap_or(&ScheduleSpec::Lockstep);
        self.memory.device.put_back(&again.memory);
        // A run that does not come to its end has shown what happened until then.
        let _ = simt::watch(
            &mut self.memory.device,
            program,
            &again.how,
            schedule,
            &limits,
            &mut tracer,
        );
        self.memory.device.take_children();
        self.memory.device.put_back(&left);
        tracer.traces()
    }

    /// Two operations, the earlier one first, that nothing orders: a step for each. The values are not known.
    pub(crate) fn two_operations(
        &self,
        works: [&Work; 2],
        records: [&AccessRecord; 2],
        diagnostic: &Diagnostic,
    ) -> Option<Trace> {
        if !self.options.traces {
            return None;
        }
        let mut steps = Vec::new();
        for (index, (work, record)) in works.into_iter().zip(records).enumerate() {
            let what = match record.action {
                Action::Read => What::Read,
                Action::Write => What::Write,
                Action::Atomic => What::Atomic,
                _ => return None,
            };
            // Labels come in the order of the finding's ends, the later one first.
            let end = 1 - index;
            let label = diagnostic.labels.get(end)?;
            let who = label.who.filter(|_| work.kernel.is_some());
            let place = work.kernel.as_ref().map(|_| SourcePlace {
                file: label.source.path.clone(),
                line: label.line,
            });
            steps.push(Step {
                number: index as u64 + 1,
                what,
                thread: who.map(|w| w.thread),
                block: who.map_or([0; 3], |w| w.block),
                by: Some(by(work)),
                place,
                before: None,
                after: None,
                end: Some(end),
            });
        }
        Some(Trace::Location { steps, left_out: 0 })
    }
}

/// `launch 2 on stream 1`, `cudaMemcpyAsync on stream 2`, `the host`
fn by(work: &Work) -> String {
    match &work.kernel {
        Some((_, name)) => format!("launch {} on {}", name.number, work.stream),
        None if work.stream == "the host" => work.stream.clone(),
        None => format!("{} on {}", work.call.function, work.stream),
    }
}
