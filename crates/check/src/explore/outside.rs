//! Accesses outside memory whose size nobody guessed: variables of the module, shared and local arrays, buffers that the user gave.

use super::Exploration;
use super::grow::{GROWN, owner, too_small};
use super::once::Run;
use crate::error::Error;
use crate::plan::{Origin, Plan};
use detect::finding::Place;
use detect::rules::{Level, Rule};
use simt::ids::{BlockId, LaneId, Mask, Site, ThreadId};
use simt::memory::{GAP_NAME, GLOBAL_BASE};
use simt::observer::{Access, Events, FaultKind, MemoryFault, Space, WarpRef};
use simt::{Program, ScheduleSpec};
use std::collections::{HashMap, HashSet};

/// Accesses that are remembered, at most.
const MOST: usize = 4096;

/// An instruction and a thread that executes it.
pub type Deed = (Site, BlockId, ThreadId);

/// What one run did outside such memory.
#[derive(Debug, Default)]
pub struct Outside {
    /// Who reached outside arrays and variables of the module.
    pub fixed: HashSet<Deed>,
    /// The given buffers that were left, by parameter.
    pub given: Vec<usize>,
    /// Who reached before the start of a buffer that may grow, or further behind it than any guess grows.
    pub before: HashSet<Deed>,
    /// Whether an access led so far outside everything that its buffer is unknown.
    pub wild: bool,
    /// Which of the deeds that were asked about were done inside.
    pub inside: HashSet<Deed>,
}

impl Outside {
    /// Whether nothing reached outside of memory whose size nobody guessed.
    pub fn is_nothing(&self) -> bool {
        self.fixed.is_empty() && self.given.is_empty() && !self.wild
    }
}

/// How far a run leaves a buffer, bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Reach {
    /// Before its start.
    pub before: u64,
    /// Beyond its end.
    pub behind: u64,
}

/// Collects what happens in a run.
struct Watcher<'a> {
    asked: &'a HashSet<Deed>,
    inside: HashSet<Deed>,
    fixed: HashSet<Deed>,
    /// Where pointers into global memory point, where that is known, and where they led; for when the run is over.
    global: Vec<(Deed, Option<u64>, Place)>,
}

fn deeds(site: Site, who: WarpRef, mask: Mask) -> impl Iterator<Item = (usize, Deed)> {
    let lanes = (0..32).filter(move |lane| mask >> lane & 1 == 1);
    lanes.map(move |lane| (lane, (site, who.block, who.thread(LaneId(lane as u8)))))
}

impl Events for Watcher<'_> {
    fn access(&mut self, access: &Access<'_>) {
        if self.asked.is_empty() {
            return;
        }
        let all = deeds(access.site, access.who, access.mask).map(|(_, deed)| deed);
        self.inside
            .extend(all.filter(|deed| self.asked.contains(deed)));
    }

    fn fault(&mut self, fault: &MemoryFault<'_>) {
        if !matches!(fault.kind, FaultKind::OutOfBounds | FaultKind::Freed) {
            return;
        }
        for (lane, deed) in deeds(fault.site, fault.who, fault.mask) {
            if self.fixed.len() + self.global.len() >= MOST {
                return;
            }
            let full = fault.address[lane];
            match fault.space {
                Some(Space::Shared | Space::Local | Space::Param) => drop(self.fixed.insert(deed)),
                // A pointer that is no address of device memory.
                None => self
                    .global
                    .push((deed, None, place(full, None, fault.bytes))),
                Some(_) => {
                    let offset = full.checked_sub(GLOBAL_BASE);
                    let pointer = fault.pointer.and_then(|to| to.checked_sub(GLOBAL_BASE));
                    self.global
                        .push((deed, pointer, place(full, offset, fault.bytes)));
                }
            }
        }
    }
}

fn place(full: u64, offset: Option<u64>, bytes: u32) -> Place {
    Place {
        space: Space::Global,
        address: offset.unwrap_or(full),
        bytes,
        mapped: offset.is_some(),
    }
}

/// What makes the errors of a run; `None` if one breaks another rule than these, or the run has no end.
fn deeds_of(run: &Run, plan: &Plan, only: &dyn Fn(Rule) -> bool) -> Option<HashSet<Deed>> {
    let mut guilty = HashSet::new();
    let findings = run.outcome.findings.iter();
    for finding in findings.filter(|f| f.rule.level() == Level::Error) {
        // An access that a guessed buffer is too small for is none of the kernel's errors.
        if too_small(finding, &run.device, plan).is_some() {
            continue;
        }
        if !only(finding.rule) {
            return None;
        }
        guilty.extend(finding.ends.iter().map(|e| (e.site, e.block, e.thread)));
    }
    run.outcome.stopped.is_none().then_some(guilty)
}

impl Exploration<'_> {
    /// The accesses of the races of a run of one warp after the other; `None` if it has errors of another kind, or no end.
    ///
    /// # Errors
    ///
    /// As [`Exploration::explore`].
    pub fn guilty(&self, program: &Program, plan: &Plan) -> Result<Option<HashSet<Deed>>, Error> {
        let run = self.once(program, plan, &ScheduleSpec::Lockstep, self.unrecorded())?;
        self.work.spend(run.outcome.steps);
        let only = |rule| matches!(rule, Rule::DataRace | Rule::InsufficientScope);
        Ok(deeds_of(&run, plan, &only))
    }

    /// What makes the errors of a run of one warp after the other; `None` if it has no end.
    ///
    /// # Errors
    ///
    /// As [`Exploration::explore`].
    pub fn errors(&self, program: &Program, plan: &Plan) -> Result<Option<HashSet<Deed>>, Error> {
        let run = self.once(program, plan, &ScheduleSpec::Lockstep, self.unrecorded())?;
        self.work.spend(run.outcome.steps);
        Ok(deeds_of(&run, plan, &|_| true))
    }

    /// What goes wrong in shared memory within so many warp-instructions of a run of one warp after the other, whatever comes then.
    ///
    /// # Errors
    ///
    /// As [`Exploration::explore`].
    pub fn soon(&self, program: &Program, plan: &Plan, steps: u64) -> Result<HashSet<Deed>, Error> {
        let short = self.within(steps);
        let run = short.once(program, plan, &ScheduleSpec::Lockstep, self.unrecorded())?;
        self.work.spend(run.outcome.steps);
        let findings = run.outcome.findings.iter();
        let of_shared = findings.filter(|f| {
            f.rule.level() == Level::Error && f.place.is_some_and(|p| p.space == Space::Shared)
        });
        let of_shared = of_shared.filter(|f| too_small(f, &run.device, plan).is_none());
        let ends = of_shared.flat_map(|f| &f.ends);
        Ok(ends.map(|e| (e.site, e.block, e.thread)).collect())
    }

    /// What a run of one warp after the other reaches outside memory whose size nobody guessed, and which of the deeds in `asked`
    /// it does inside.
    ///
    /// # Errors
    ///
    /// As [`Exploration::explore`].
    pub fn outside(
        &self,
        program: &Program,
        plan: &Plan,
        asked: &HashSet<Deed>,
    ) -> Result<Outside, Error> {
        let mut watcher = Watcher {
            asked,
            inside: HashSet::new(),
            fixed: HashSet::new(),
            global: Vec::new(),
        };
        let device = self.watched(program, plan, &mut watcher)?;
        let mut outside = Outside {
            fixed: watcher.fixed,
            inside: watcher.inside,
            ..Outside::default()
        };
        for (deed, pointer, place) in watcher.global {
            let of_pointer = pointer.and_then(|to| device.allocation_at(to));
            let of_pointer = of_pointer.filter(|a| a.name != GAP_NAME);
            let before = of_pointer
                .as_ref()
                .is_some_and(|a| place.address < a.offset);
            let far = of_pointer.as_ref().is_some_and(|a| {
                let needed = place.address.saturating_sub(a.offset);
                needed.saturating_mul(2) > GROWN
            });
            let behind = || owner(&place, &device).map(|(name, _)| name.to_owned());
            match of_pointer.map(|a| a.name).or_else(behind) {
                None => outside.wild = true,
                Some(name) => match plan.named(&name) {
                    None => drop(outside.fixed.insert(deed)),
                    Some(index) if plan.values[index].origin == Origin::Given => {
                        if !outside.given.contains(&index) {
                            outside.given.push(index);
                        }
                    }
                    Some(_) if before || far => drop(outside.before.insert(deed)),
                    Some(_) => {}
                },
            }
        }
        Ok(outside)
    }
    /// How far a run of one warp after the other leaves each buffer that may grow, by parameter.
    ///
    /// # Errors
    ///
    /// As [`Exploration::explore`].
    pub fn around(&self, program: &Program, plan: &Plan) -> Result<HashMap<usize, Reach>, Error> {
        let nothing = HashSet::new();
        let mut watcher = Watcher {
            asked: &nothing,
            inside: HashSet::new(),
            fixed: HashSet::new(),
            global: Vec::new(),
        };
        let device = self.watched(program, plan, &mut watcher)?;
        let mut all: HashMap<usize, Reach> = HashMap::new();
        for (_, pointer, place) in watcher.global {
            let buffer = pointer.and_then(|to| device.allocation_at(to));
            let Some(buffer) = buffer.filter(|_| place.mapped) else {
                continue;
            };
            let Some(index) = plan.named(&buffer.name) else {
                continue;
            };
            let reach = all.entry(index).or_default();
            let end = place.address.saturating_add(place.bytes.into());
            let behind = end.saturating_sub(buffer.offset + buffer.bytes);
            match buffer.offset.checked_sub(place.address) {
                Some(before) if before > 0 => reach.before = reach.before.max(before),
                _ => reach.behind = reach.behind.max(behind),
            }
        }
        Ok(all)
    }
}
