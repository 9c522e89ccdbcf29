//! Runs with buffers that are as short as a plan makes them, and the findings that this makes.

use super::grow::too_small;
use super::once::Run;
use super::take::name_elements;
use super::{Exploration, WORDED};
use crate::error::Error;
use crate::input::Build;
use crate::plan::Plan;
use report::{Diagnostic, KernelView, Scene, Sources, View, diagnose};
use simt::{Program, ScheduleSpec};

impl Exploration<'_> {
    /// The buffers among `candidates` of which the kernel touches one element more than `count`, and no further one; with the
    /// finding that they make if they have `count`.
    ///
    /// # Errors
    ///
    /// As [`Exploration::explore`].
    pub fn one_past(
        &self,
        build: &Build,
        program: &Program,
        plan: &Plan,
        count: u64,
        candidates: &[usize],
        sources: &mut Sources,
    ) -> Result<Vec<(usize, Diagnostic)>, Error> {
        let run = |length: u64, of: &[usize]| {
            let mut tight = plan.clone();
            of.iter().for_each(|index| tight.set_length(*index, length));
            let run = self.once(program, &tight, &ScheduleSpec::Lockstep, self.unrecorded())?;
            Ok((run, tight))
        };
        let (first, tight) = run(count, candidates)?;
        let mut short: Vec<usize> = candidates.to_vec();
        short.retain(|index| first.needs.iter().any(|n| n.parameter == *index));
        if short.is_empty() {
            return Ok(Vec::new());
        }
        let (second, _) = run(count + 1, &short)?;
        short.retain(|index| !second.needs.iter().any(|n| n.parameter == *index));
        let mut found = self.past(build, program, (&first, &tight), sources);
        found.retain(|(index, _)| short.contains(index));
        Ok(found)
    }

    /// The findings that buffers make which may grow, with the sizes that a plan gives them: by parameter.
    ///
    /// # Errors
    ///
    /// As [`Exploration::explore`].
    pub fn tight(
        &self,
        build: &Build,
        program: &Program,
        plan: &Plan,
        sources: &mut Sources,
    ) -> Result<Vec<(usize, Diagnostic)>, Error> {
        let run = self.once(program, plan, &ScheduleSpec::Lockstep, self.unrecorded())?;
        Ok(self.past(build, program, (&run, plan), sources))
    }

    fn past(
        &self,
        build: &Build,
        program: &Program,
        (run, plan): (&Run, &Plan),
        sources: &mut Sources,
    ) -> Vec<(usize, Diagnostic)> {
        let shape = self.shape(plan);
        let device = &run.device;
        let mut view = KernelView::new(program, device, shape, &build.ptx, sources, self.defines);
        name_elements(&mut view, &run.buffers);
        let mut scene = Scene {
            steps: vec![View::Kernel(view)],
            sources,
        };
        let findings = run.outcome.findings.iter();
        let worded = findings.filter_map(|finding| {
            let need = too_small(finding, device, plan)?;
            Some((need.parameter, diagnose(finding, &mut scene)))
        });
        worded.take(WORDED).collect()
    }
}
