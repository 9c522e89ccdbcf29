//! One run of a build under one schedule.

use super::Schedules;
use super::grow::{Need, enlarge, too_far, too_small, walks_on};
use super::memory::place;
use super::{Buffer, Exploration, invalid};
use crate::error::{Error, ErrorKind};
use crate::plan::Plan;
use crate::{functions, variables};
use detect::finding::{Finding, Place};
use detect::rules::Rule;
use session::{InTurn, Options, Outcome, Session};
use simt::observer::Space;
use simt::{Device, Limits, Program, ScheduleSpec, Stop};
use std::time::Duration;

/// One run of a build.
pub(super) struct Run {
    pub outcome: Outcome,
    pub device: Device,
    pub buffers: Vec<Buffer>,
    /// How many bytes each guessed buffer has to have for this run.
    pub needs: Vec<Need>,
    /// Whether one would have to be larger than any guess.
    pub too_far: bool,
    /// By finding, what a guessed buffer would have to have for it to be none, where that is more than any guess.
    pub larger: Vec<Option<Need>>,
}

/// What one run may take, and what it keeps.
#[derive(Clone, Copy, Debug)]
pub(super) struct RunOptions {
    /// The time that is left.
    pub time: Option<Duration>,
    /// How many cores.
    pub jobs: usize,
    /// Whether what its threads do to memory is written down.
    pub communication: bool,
}

impl Exploration<'_> {
    /// A run on all cores, of which nothing is written down.
    pub(super) fn unrecorded(&self) -> RunOptions {
        RunOptions {
            time: self.left(),
            jobs: self.jobs,
            communication: false,
        }
    }

    /// One schedule; again with larger buffers, for as long as a guessed one is too small.
    pub(super) fn run(
        &self,
        program: &Program,
        plan: &mut Plan,
        schedule: &ScheduleSpec,
        recorded: bool,
        grown: &mut Vec<usize>,
    ) -> Result<Run, Error> {
        loop {
            let options = RunOptions {
                communication: recorded,
                ..self.unrecorded()
            };
            let run = self.once(program, plan, schedule, options)?;
            if self.out_of_time() || !enlarge(plan, &run.needs, grown) {
                return Ok(run);
            }
        }
    }

    /// Whether performance is judged under a schedule: the one in which warps go in step, as the processor lets them, if it is among those
    /// that are tried.
    fn counts(&self, schedule: &ScheduleSpec) -> bool {
        let others = matches!(&self.schedules, Schedules::Only(all) if !all.contains(&ScheduleSpec::Lockstep));
        others || *schedule == ScheduleSpec::Lockstep
    }

    /// One schedule with the plan as it is.
    pub(super) fn once(
        &self,
        program: &Program,
        plan: &Plan,
        schedule: &ScheduleSpec,
        options: RunOptions,
    ) -> Result<Run, Error> {
        if self.watch.cancelled() {
            return Err(Error::new(ErrorKind::Cancelled, "the check was cancelled"));
        }
        let mut session = Session::new(Options {
            schedule: schedule.clone(),
            limits: Limits {
                wall: options.time,
                live: self.watch.live().cloned(),
                ..self.limits.clone()
            },
            jobs: options.jobs,
            // What is reversed is what one launch shows.
            communication: options.communication && self.second.is_none(),
            perf: self.perf && self.counts(schedule),
            device_bytes: self.memory,
        });
        let mut buffers = Vec::new();
        let second = self.second(program);
        variables::set(session.device(), program, self.variables, plan.seed)?;
        let params = plan.encode(
            &mut |planned| place(session.device(), planned, &mut buffers),
            &|name| functions::address(program, name),
        )?;
        let (own, others) = plan.cut(params);
        let launch = self.launch(plan, own);
        match (second, others) {
            (Some((second, of_build)), Some(params)) => {
                let geometry = plan.geometry(self.geometry);
                let how = second.launch(geometry, plan.dynamic_shared(self.geometry), params);
                let turn = |program, how, dependent| InTurn {
                    program,
                    how,
                    dependent,
                };
                session.launch_in_turn(&[
                    turn(program, launch, false),
                    turn(of_build, how, second.then.dependent),
                ]);
            }
            // Why it did not end is in the outcome.
            _ => _ = session.launch(program, &launch),
        }
        let (mut outcome, device) = session.finish();
        match &outcome.stopped {
            Some(Stop::InvalidLaunch(what)) => return Err(invalid(what)),
            Some(Stop::OutOfMemory(what)) => {
                return Err(Error::new(ErrorKind::Memory, format!("out of memory: {what}"))
                    .help("use a smaller launch (`--grid`, `--block`), which shows the same races, or smaller buffers (`--arg`)"));
            }
            _ => {}
        }
        // What lies behind a buffer that is walked through to beyond its guessed end is no other buffer's.
        let walks = outcome.findings.iter();
        let walks: Vec<_> = walks.filter_map(|f| walks_on(f, &device, plan)).collect();
        let is_astray = |f: &Finding| {
            let place = f.place.filter(|p| p.mapped && p.space == Space::Global);
            let inside = |p: Place| walks.iter().any(|(range, _)| range.contains(&p.address));
            f.rule != Rule::OutOfBounds && place.is_some_and(inside)
        };
        outcome.findings.retain(|f| !is_astray(f));
        let larger = outcome.findings.iter();
        let larger = larger.map(|f| walks_on(f, &device, plan).map(|(_, need)| need));
        let larger = larger.collect();
        let mut needs: Vec<Need> = Vec::new();
        let mut far = false;
        for finding in &outcome.findings {
            far |= too_far(finding, &device, plan);
            if let Some(need) = too_small(finding, &device, plan) {
                match needs.iter_mut().find(|n| n.buffer == need.buffer) {
                    Some(known) => known.bytes = known.bytes.max(need.bytes),
                    None => needs.push(need),
                }
            }
        }
        Ok(Run {
            outcome,
            device,
            buffers,
            needs,
            too_far: far,
            larger,
        })
    }
}
