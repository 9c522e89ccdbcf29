//! What happened around the findings of a launch, for pictures: the launch runs once more from the memory that it began with.

use crate::context::Context;
use crate::launch::Request;
use detect::finding::Finding;
use report::trace::Trace;
use report::tracer::Tracer;
use simt::snapshot::Image;
use simt::{Launch, Limits, ScheduleSpec};
use std::time::Duration;

/// Time that one such run may take. Where it takes more, the picture shows what happened until then.
const LONGEST: Duration = Duration::from_secs(5);

impl Context {
    /// The memory before a launch, where pictures of it may be wanted.
    pub(crate) fn before(&self) -> Option<Image> {
        let wanted = self.options.pictures;
        wanted.then(|| self.device.image(crate::explore::MOST))?
    }

    /// A picture of each finding that was not told before. Memory stays as it is.
    pub(crate) fn pictures(
        &mut self,
        before: Option<&Image>,
        findings: &[Finding],
        request: &Request,
        how: &Launch,
        schedule: &ScheduleSpec,
    ) -> Vec<Option<Trace>> {
        let new = |finding: &&Finding| self.is_new(request, finding);
        let wanted: Vec<&Finding> = findings.iter().filter(new).collect();
        let mut none = vec![None; findings.len()];
        let (Some(before), false) = (before, wanted.is_empty()) else {
            return none;
        };
        let Some(left) = self.device.image(crate::explore::MOST) else {
            return none;
        };
        let program = &request.kernel.program;
        let limits = Limits {
            steps: self.options.steps,
            wall: Some(LONGEST),
            ..Limits::default()
        };
        let mut tracer = Tracer::new(program, (how.grid, how.block), wanted.iter().copied());
        self.device.put_back(before);
        // It ends as it ended before.
        let _ = simt::watch(
            &mut self.device,
            program,
            how,
            schedule,
            &limits,
            &mut tracer,
        );
        self.device.take_children();
        self.device.put_back(&left);
        let mut traces = tracer.traces().into_iter();
        for (at, finding) in none.iter_mut().zip(findings) {
            if self.is_new(request, finding) {
                *at = traces.next().flatten();
            }
        }
        none
    }
}
