//! Programmatic dependent launches: a launch that may begin before the one in front of it has ended (CUDA C++ Programming Guide, "Programmatic
//! Dependent Launch and Synchronization"; PTX ISA, "griddepcontrol").
//!
//! What a dependent launch does before it waits is compared with all that the launch in front of it did, if that one has a trigger: nothing
//! orders the two (`missing-dependency-wait`, [`detect::dependency`]). That needs no luck. So that results show it, too, the schedule that runs lanes
//! one by one really runs it early: the first launch up to where each of its blocks has triggered, then the second one up to where all of its threads wait,
//! then the rest of the first and the rest of the second ([`simt::Pause`]). The other schedules run them one after the other, which the manual allows as well.
//!
//! Blind spots: launches further in front are taken to have ended. In a chain of dependent launches pairs run at the same time, not three. Clusters,
//! cooperative launches and launches of more blocks than are resident are not paused. What strong accesses of the two hand to each other orders nothing here.

use super::simulator::{Begun, Independence, Primary, Session};
use detect::Detectors;
use detect::rules::Rule;
use simt::ids::Site;
use simt::{Launch, Limits, Pause, Program, ScheduleSpec, Stop, Waiting};

/// A launch directly behind another one, in a stream.
#[derive(Clone, Debug)]
pub struct InTurn<'a> {
    /// The kernel.
    pub program: &'a Program,
    /// The launch; its number is that of the step.
    pub how: Launch,
    /// Whether it may begin before the one in front has ended (`cudaLaunchAttributeProgrammaticStreamSerialization`).
    pub dependent: bool,
}

impl Session {
    /// Launches kernels directly behind each other in a stream, until one does not come to its end. Why, is in the outcome.
    pub fn launch_in_turn(&mut self, all: &[InTurn<'_>]) {
        self.primary = None;
        let mut at = 0;
        while let (Some(one), None) = (all.get(at), &self.stopped) {
            let next = all.get(at + 1).filter(|next| next.dependent);
            let next = next.filter(|_| one.program.facts.launches_dependents);
            at += 1;
            match next {
                Some(next) if self.options.schedule == ScheduleSpec::LaneByLane => {
                    at += usize::from(self.overlap(one, next));
                }
                _ => self.in_turn(one),
            }
        }
        self.primary = None;
    }

    /// One launch, when the one in front of it has ended.
    fn in_turn(&mut self, one: &InTurn<'_>) {
        let begun = self.begin(one.program, true);
        let ended = self.run(one, &begun.limits).map_err(|(stop, _)| stop);
        self.end_in_turn(one, begun, ended);
    }

    /// Two launches at the same time, as far as that is possible; whether the second one has begun.
    fn overlap(&mut self, first: &InTurn<'_>, second: &InTurn<'_>) -> bool {
        let begun = self.begin(first.program, true);
        let limits = |begun: &Begun, pause| Limits {
            pause,
            ..begun.limits.clone()
        };
        let waiting = match self.run(first, &limits(&begun, Pause::AtTrigger)) {
            Err((_, Some(waiting))) => waiting,
            ended => {
                self.end_in_turn(first, begun, ended.map_err(|(stop, _)| stop));
                return false;
            }
        };
        // Each launch has detectors of its own.
        let mut other = Detectors::new(self.options.perf);
        std::mem::swap(&mut self.detectors, &mut other);
        let begun_second = self.begin(second.program, true);
        let early = self.run(second, &limits(&begun_second, Pause::AtWait));
        std::mem::swap(&mut self.detectors, &mut other);
        let ended = self.resume(waiting, first, &begun.limits);
        self.end_in_turn(first, begun, ended);
        std::mem::swap(&mut self.detectors, &mut other);
        if self.stopped.is_none() {
            let ended = match early {
                Err((_, Some(waiting))) => self.resume(waiting, second, &begun_second.limits),
                ended => ended.map_err(|(stop, _)| stop),
            };
            self.end_in_turn(second, begun_second, ended);
        }
        std::mem::swap(&mut self.detectors, &mut other);
        self.extra.append(&mut other.take_notes());
        true
    }

    #[allow(clippy::result_large_err, reason = "once a launch")]
    fn run(
        &mut self,
        one: &InTurn<'_>,
        limits: &Limits,
    ) -> Result<simt::Stats, (Stop, Option<Box<Waiting>>)> {
        let Session {
            detectors,
            device,
            options,
            ..
        } = self;
        let (schedule, jobs) = (&options.schedule, options.jobs);
        detectors.launch_or_wait(device, one.program, &one.how, schedule, limits, jobs)
    }

    fn resume(
        &mut self,
        waiting: Box<Waiting>,
        one: &InTurn<'_>,
        limits: &Limits,
    ) -> Result<simt::Stats, Stop> {
        let (detectors, device) = (&mut self.detectors, &mut self.device);
        let ended = detectors.resume(waiting, device, one.program, &one.how, limits, false);
        ended.map_err(|(stop, _)| stop)
    }

    /// Takes what is known of a launch that has ended, and compares what it did early with what the one in front did.
    fn end_in_turn(&mut self, one: &InTurn<'_>, begun: Begun, ended: Result<simt::Stats, Stop>) {
        let kernel = begun.kernel;
        let seen = self.detectors.take_dependency();
        // Why it did not end is in the outcome.
        let _ = self.end((one.program, &one.how), begun, ended);
        let before = self.primary.take();
        let Some((early, all)) = seen else {
            return;
        };
        if let (Some(before), true) = (before, one.dependent) {
            let (conflicts, meet) = early.conflicts(&before.all);
            if meet {
                self.independence = Independence::Dependent;
            }
            for conflict in conflicts {
                let key: [(usize, Site); 2] = [
                    (kernel, conflict.first.site),
                    (before.kernel, conflict.second.site),
                ];
                let launches = [one.how.number, before.number];
                let finding = || conflict.finding(Rule::MissingDependencyWait, launches);
                self.dependence.entry(key).or_insert_with(finding).count += conflict.count;
            }
        }
        if one.program.facts.launches_dependents {
            self.primary = Some(Primary {
                kernel,
                number: one.how.number,
                all,
            });
        }
    }
}
