//! How much of a kernel a run reaches.

use super::Exploration;
use crate::error::Error;
use crate::plan::Plan;
use detect::finding::Finding;
use detect::rules::Rule;
use session::coverage::reached;
use simt::ids::Site;
use simt::{Program, ScheduleSpec};
use std::collections::BTreeSet;

impl Exploration<'_> {
    /// How many instructions a run of one warp after the other reaches, and how many there are.
    ///
    /// # Errors
    ///
    /// As [`Exploration::explore`].
    pub fn reached(&self, program: &Program, plan: &Plan) -> Result<(usize, usize), Error> {
        let run = self.once(program, plan, &ScheduleSpec::Lockstep, self.unrecorded())?;
        self.work.spend(run.outcome.steps);
        let (_, block) = self.shape(plan);
        let warps = block.count().div_ceil(32) as u32;
        let sites = reached(program, &run.outcome.coverage, warps);
        let reached = sites.iter().filter(|warps| **warps != 0).count();
        Ok((reached, sites.len()))
    }

    /// The ways that conditional branches go in a run of one warp after the other: the line in the PTX, and whether it is taken. `None`
    /// where the run has no end, or leads outside of memory.
    ///
    /// # Errors
    ///
    /// As [`Exploration::explore`].
    pub fn ways(
        &self,
        program: &Program,
        plan: &Plan,
    ) -> Result<Option<BTreeSet<(u32, bool)>>, Error> {
        let mut plan = plan.clone();
        let how = ScheduleSpec::Lockstep;
        let run = self.run(program, &mut plan, &how, false, &mut Vec::new())?;
        self.work.spend(run.outcome.steps);
        let outside = |f: &Finding| matches!(f.rule, Rule::OutOfBounds | Rule::UseAfterFree);
        if run.outcome.stopped.is_some() || run.outcome.findings.iter().any(outside) {
            return Ok(None);
        }
        let coverage = &run.outcome.coverage;
        let sites = (0..).map(Site).zip(&program.sites);
        let ways = sites.flat_map(|(site, info)| {
            let [taken, fallen] = coverage.ways(site);
            [(taken, true), (fallen, false)]
                .into_iter()
                .filter(|(warps, _)| *warps != 0)
                .map(|(_, way)| (info.ptx_line, way))
        });
        Ok(Some(ways.collect()))
    }
}
