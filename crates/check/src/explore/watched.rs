//! One more run for somebody who watches: who traces what happened around a finding, or looks for the writers of an element.

use super::memory::place;
use super::take::name_elements;
use super::writers::Writers;
use super::{Difference, Exploration, Key, Memory, invalid};
use crate::error::Error;
use crate::input::Build;
use crate::plan::Plan;
use crate::{functions, variables};
use detect::finding::{Detail, Finding, Place};
use report::tracer::Tracer;
use report::{Diagnostic, KernelView, Scene, Sources, View, diagnose};
use simt::memory::GLOBAL_BASE;
use simt::observer::{Events, Space};
use simt::{Device, Limits, Program, ScheduleSpec, Stop};

impl Exploration<'_> {
    /// Runs the program once on one core, lanes together, for an observer of one's own; with the device as it is then.
    ///
    /// # Errors
    ///
    /// As [`Exploration::explore`]. A run that does not come to its end is none: the observer has seen what happened until then.
    pub fn watched(
        &self,
        program: &Program,
        plan: &Plan,
        observer: &mut dyn Events,
    ) -> Result<Device, Error> {
        self.watched_under(program, plan, &ScheduleSpec::Lockstep, observer)
    }

    /// Adds to each diagnostic what happened around it in the run that showed it: one more run for each schedule.
    ///
    /// # Errors
    ///
    /// As [`Exploration::explore`].
    pub fn trace(
        &self,
        program: &Program,
        plan: &Plan,
        examples: &[(Key, Finding, ScheduleSpec)],
        diagnostics: &mut [Diagnostic],
    ) -> Result<(), Error> {
        let mut schedules: Vec<&ScheduleSpec> = Vec::new();
        for (_, _, schedule) in examples {
            if !schedules.contains(&schedule) {
                schedules.push(schedule);
            }
        }
        for schedule in schedules {
            if self.out_of_time() {
                break;
            }
            let of: Vec<_> = examples.iter().filter(|e| e.2 == *schedule).collect();
            let shape = self.shape(plan);
            let mut tracer = Tracer::new(program, shape, of.iter().map(|e| &e.1));
            self.watched_under(program, plan, schedule, &mut tracer)?;
            for ((key, ..), trace) in of.into_iter().zip(tracer.traces()) {
                let mut same = diagnostics.iter_mut().filter(|d| d.key() == *key);
                if let Some(diagnostic) = same.find(|d| d.trace.is_none()) {
                    diagnostic.trace = trace;
                }
            }
        }
        Ok(())
    }

    /// Runs the program once on one core, for an observer of one's own.
    fn watched_under(
        &self,
        program: &Program,
        plan: &Plan,
        schedule: &ScheduleSpec,
        observer: &mut dyn Events,
    ) -> Result<Device, Error> {
        let mut device = Device::new(self.memory);
        let mut buffers = Vec::new();
        variables::set(&mut device, program, self.variables, plan.seed)?;
        let params = plan.encode(
            &mut |planned| place(&mut device, planned, &mut buffers),
            &|name| functions::address(program, name),
        )?;
        let launch = self.launch(plan, plan.cut(params).0);
        if let Err(error) = device.load(program) {
            return Err(invalid(&error.to_string()));
        }
        let limits = Limits {
            wall: self.left(),
            ..self.limits.clone()
        };
        match simt::watch(&mut device, program, &launch, schedule, &limits, observer) {
            Err(Stop::InvalidLaunch(what)) => Err(invalid(&what)),
            Ok(stats) => {
                self.work.spend(stats.steps);
                Ok(device)
            }
            Err(stop) => {
                if let Stop::NoProgress { steps, .. } = stop {
                    self.work.spend(steps);
                }
                Ok(device)
            }
        }
    }

    /// The difference as a finding, with the instructions that write the element in a run of one warp after the other.
    ///
    /// # Errors
    ///
    /// As [`Exploration::explore`].
    pub fn differing(
        &self,
        build: &Build,
        program: &Program,
        plan: &Plan,
        (difference, memory): (&Difference, Option<&Memory>),
        sources: &mut Sources,
    ) -> Result<Diagnostic, Error> {
        let worded = difference.diagnostic();
        let device = memory.and_then(|memory| memory.device.as_ref());
        let (Some((address, bytes)), Some(device)) = (difference.element, device) else {
            return Ok(worded);
        };
        let offset = address - GLOBAL_BASE;
        let mut watcher = Writers::new(offset..offset + u64::from(bytes));
        self.watched(program, plan, &mut watcher)?;
        let ends = watcher.latest();
        let finding = Finding {
            rule: worded.rule,
            ends,
            place: Some(Place {
                space: Space::Global,
                address: offset,
                bytes,
                mapped: true,
            }),
            detail: Detail::None,
            count: 1,
            stale_loads: Vec::new(),
        };
        let shape = self.shape(plan);
        let mut view = KernelView::new(program, device, shape, &build.ptx, sources, self.defines);
        name_elements(&mut view, memory.map_or(&[], Memory::buffers));
        let mut scene = Scene {
            steps: vec![View::Kernel(view)],
            sources,
        };
        let found = diagnose(&finding, &mut scene);
        Ok(Diagnostic {
            labels: found.labels,
            about: found.about,
            ..worded
        })
    }
}
