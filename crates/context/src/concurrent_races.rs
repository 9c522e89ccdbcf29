//! Races between launches that run side by side: one detector watches all that can order each other while they run.
//!
//! A launch with strong accesses to global memory, and with fences or release and acquire, may be joined by others like it while it waits. What is found is
//! told of the launch that it belongs to, or of two as of any two operations that nothing orders.

use crate::context::Context;
use crate::launch::{Request, Work};
use crate::record::{Call, LaunchName};
use crate::suspended::Running;
use crate::timeline::Ticket;
use crate::trace::Shown;
use detect::finding::{Detail, End, Finding};
use detect::footprint::{AccessRecord, Conflict};
use detect::race;
use simt::Dim3;
use simt::ids::BlockId;

/// The launches that one detector watches.
#[derive(Debug)]
pub(crate) struct Joint {
    races: race::Detector,
    members: Vec<Member>,
}

#[derive(Debug)]
struct Member {
    ticket: Ticket,
    request: Request,
    work: Work,
}

fn blocks(request: &Request) -> u64 {
    let [x, y, z] = request.grid;
    Dim3 { x, y, z }.count()
}

/// Whether a launch's threads may order themselves with another launch's while both run.
pub(crate) fn may_synchronise(request: &Request) -> bool {
    let facts = &request.kernel.program.facts;
    facts.strong_global && facts.fine_sync && blocks(request) < 1 << 22
}

impl Context {
    /// A launch begins while others wait: it is watched together with them if that matters and they can be. Its number among them.
    pub(crate) fn join(&mut self, request: &Request, work: Work, ticket: &Ticket) -> Option<usize> {
        if !may_synchronise(request) {
            return None;
        }
        if self.beside.joint.is_none() {
            let first = self
                .beside
                .running
                .iter_mut()
                .find(|r| may_synchronise(&r.request) && r.detectors.is_some())?;
            let mut races = race::Detector::default();
            first.detectors.as_mut()?.exchange_races(&mut races);
            first.member = Some(0);
            let member = Member {
                ticket: first.ticket.clone(),
                request: first.request.clone(),
                work: first.work(),
            };
            self.beside.joint = Some(Joint {
                races,
                members: vec![member],
            });
        }
        let joint = self.beside.joint.as_mut()?;
        let known = joint.members.iter().enumerate();
        let after = known.filter(|(_, m)| ticket.is_after(&m.ticket));
        let after: Vec<usize> = after.map(|(number, _)| number).collect();
        let program = &request.kernel.program;
        let (sites, granule) = (program.sites.len(), program.facts.global_granule);
        if !joint.races.admits(blocks(request), sites, granule, &after) {
            return None;
        }
        let number = joint.races.arrives(sites as u32, after);
        joint.members.push(Member {
            ticket: ticket.clone(),
            request: request.clone(),
            work,
        });
        self.detectors.exchange_races(&mut joint.races);
        Some(number)
    }

    /// A launch that is one of several goes on.
    pub(crate) fn enter_joint(&mut self, running: &mut Running) {
        let joint = self.beside.joint.as_mut();
        if let (Some(member), Some(detectors), Some(joint)) =
            (running.member, &mut running.detectors, joint)
        {
            joint.races.enter(member);
            detectors.exchange_races(&mut joint.races);
        }
    }

    /// It has gone on, watched by `detectors`.
    pub(crate) fn leave_joint(&mut self, detectors: &mut detect::Detectors) {
        if let Some(joint) = &mut self.beside.joint {
            detectors.exchange_races(&mut joint.races);
        }
    }

    /// Whether two launches are watched by one detector.
    pub(crate) fn are_joint(&self, works: [&Work; 2]) -> bool {
        let Some(joint) = &self.beside.joint else {
            return false;
        };
        let number = |work: &Work| work.kernel.as_ref().map(|(_, name)| name.number);
        works.iter().all(|work| {
            let mut members = joint.members.iter();
            members.any(|m| number(&m.work) == number(work))
        })
    }

    /// Tells what was found of launches that are watched together.
    pub(crate) fn judge_joint(&mut self) {
        let Some(joint) = &mut self.beside.joint else {
            return;
        };
        let found = joint.races.take_findings().into_sorted();
        let mut own: Vec<(usize, Finding)> = Vec::new();
        let mut pairs: Vec<([usize; 2], Conflict)> = Vec::new();
        for finding in found {
            let (members, finding) = local(&joint.races, finding);
            match members[..] {
                [a, b] if a != b => pairs.extend(conflict(&finding).map(|c| ([a, b], c))),
                [first, ..] => own.push((first, finding)),
                [] => {}
            }
        }
        let work = |joint: &Joint, number: usize| {
            let Member { request, work, .. } = &joint.members[number];
            (request.clone(), work.clone())
        };
        let own: Vec<(Request, Work, Finding)> = own
            .into_iter()
            .map(|(number, finding)| {
                let (request, work) = work(joint, number);
                (request, work, finding)
            })
            .collect();
        let tickets = |[a, b]: [usize; 2]| [a, b].map(|n| joint.members[n].ticket.clone());
        let later = pairs.iter().map(|(members, _)| tickets(*members));
        let later: Vec<[Ticket; 2]> = later.collect();
        let pairs: Vec<(Work, Work, Conflict)> = pairs
            .into_iter()
            .map(|([a, b], conflict)| (work(joint, a).1, work(joint, b).1, conflict))
            .collect();
        for (request, work, finding) in own {
            let call: Call = work.call.clone();
            if let Some((_, name)) = &work.kernel {
                let name: &LaunchName = name;
                self.report_under(
                    &[finding],
                    &request,
                    name,
                    &|| call.clone(),
                    Shown::default(),
                );
            }
        }
        for ((now, earlier, conflict), [a, b]) in pairs.into_iter().zip(later) {
            match self.timeline.comes_after_waiting(&a, &b) {
                true => self.undecided(&now, &earlier),
                false => self.cross(&now, &earlier, &[conflict]),
            }
        }
    }
}

/// A finding in the numbers of the launches that it is of, and these launches.
fn local(races: &race::Detector, finding: Finding) -> (Vec<usize>, Finding) {
    let mut members = Vec::new();
    let ends = finding.ends.iter().map(|end| {
        let (member, site, first) = races.origin(end.site);
        members.push(member);
        End {
            site,
            block: BlockId(end.block.0.wrapping_sub(first)),
            ..*end
        }
    });
    let ends = ends.collect();
    let detail = match finding.detail {
        Detail::NotAcquired(site) => match races.origin(site) {
            (member, site, _) if members.iter().all(|m| *m == member) => Detail::NotAcquired(site),
            _ => Detail::None,
        },
        detail => detail,
    };
    let finding = Finding {
        ends,
        detail,
        ..finding
    };
    (members, finding)
}

/// The pair of accesses that a finding of two launches is.
fn conflict(finding: &Finding) -> Option<Conflict> {
    let place = finding.place?;
    let record = |end: &End| AccessRecord {
        site: end.site,
        block: end.block,
        thread: end.thread,
        action: end.action,
        order: end.order,
        address: place.address,
        bytes: place.bytes,
    };
    Some(Conflict {
        rule: finding.rule,
        first: record(finding.ends.first()?),
        second: record(finding.ends.get(1)?),
        address: place.address,
        count: finding.count,
    })
}
