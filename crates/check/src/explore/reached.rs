//! How much of a kernel a run reaches.

use super::Exploration;
use crate::error::Error;
use crate::plan::Plan;
use session::coverage::reached;
use simt::{Program, ScheduleSpec};

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
}
