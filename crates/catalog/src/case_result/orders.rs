//! Other orders of what a drawn run shows: the same sizes and inputs under the schedules that [`session::explorer`] makes of it.

use super::case_runner::{CaseRunner, Observation};
use crate::draw::Draw;
use session::explorer::{Explorer, Schedules, explore};
use simt::ScheduleSpec;
use std::ops::ControlFlow;

/// Runs of a case that this takes, at most.
const ORDERS: usize = 12;

impl CaseRunner<'_> {
    /// Runs a draw in other orders, until `take` breaks or there is nothing more to try. Nothing where the schedule is given, or where
    /// a case has several launches: a reversal is one of a launch. A run that says nothing ends it. Gives the number of runs.
    pub(crate) fn other_orders(
        &mut self,
        draw: &Draw,
        mut take: impl FnMut(&mut Self, &Observation, &Draw) -> ControlFlow<()>,
    ) -> u32 {
        if self.settings.schedule.is_some() {
            return 0;
        }
        let mut explorer = Explorer::new(&Schedules::UpTo {
            most: ORDERS,
            seed: self.settings.seed,
            weak: self.prepared.reads_stale_values(),
        });
        let mut runs = 0;
        explore(
            &mut explorer,
            1,
            |_, schedule, _| schedule.clone(),
            |explorer, _, schedule: &ScheduleSpec, _| {
                let draw = Draw {
                    schedule: schedule.clone(),
                    ..draw.clone()
                };
                let mut single = false;
                let observed = self.observe_recorded(&draw, |program| {
                    single = true;
                    explorer.recording(program).of(schedule)
                });
                let Ok(observation) = observed else {
                    return ControlFlow::Break(());
                };
                if !single {
                    return ControlFlow::Break(());
                }
                runs += 1;
                let ran = &observation.ran;
                let log = ran.communication.as_ref();
                explorer.learn(schedule, ran.steps, log, ran.stopped.is_none());
                if !observation.aims().is_empty() {
                    explorer.found();
                }
                take(self, &observation, &draw)
            },
        );
        runs
    }
}
