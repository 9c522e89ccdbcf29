//! What happened around findings, in one more run: all accesses of a location with the barriers between them, or the addresses of one
//! request.
//!
//! A run is determined by program, input and schedule, so the run that showed a finding happens again.

use super::trace::{NOTHING, Request, Step, Trace, What};
use super::{SourcePlace, line_of};
use detect::banks;
use detect::clusters::Clusters;
use detect::coalescing;
use detect::finding::{End, Finding, Place};
use detect::rules::Rule;
use simt::Program;
use simt::ids::{BlockId, Dim3, LANES, LaneId, Site, ThreadId};
use simt::observer::*;

/// Steps that are kept while the program runs.
const KEPT: usize = 4_000;
/// Steps that are shown.
const SHOWN: usize = 48;

/// Watches what findings are about.
#[derive(Debug)]
pub struct Tracer<'a> {
    program: &'a Program,
    grid: Dim3,
    block: Dim3,
    clusters: Option<Clusters>,
    watched: Vec<Watched>,
}

#[derive(Debug)]
enum Watched {
    /// A location.
    Location {
        place: Place,
        ends: Vec<End>,
        /// Of each block whose memory it may be in; one where only its own block sees it.
        histories: Vec<History>,
    },
    /// An instruction's worst request, and how bad it is.
    Request {
        end: End,
        rule: Rule,
        worst: Option<(u64, Request)>,
    },
    /// Nothing that a picture could show.
    Nothing,
}

/// What happened to a location.
#[derive(Clone, Debug, Default)]
struct History {
    /// The block whose shared memory it is in, where blocks come in clusters: a finding does not say so.
    owner: Option<BlockId>,
    seen: Vec<Seen>,
    number: u64,
    value: Option<String>,
}

#[derive(Clone, Debug)]
struct Seen {
    number: u64,
    what: What,
    site: Site,
    block: BlockId,
    thread: ThreadId,
    before: Option<String>,
    after: Option<String>,
}

impl<'a> Tracer<'a> {
    /// Watches what each of these findings is about.
    pub fn new<'f>(
        program: &'a Program,
        (grid, block): (Dim3, Dim3),
        findings: impl Iterator<Item = &'f Finding>,
    ) -> Tracer<'a> {
        let watched = findings.map(|finding| match (finding.rule, finding.place) {
            (Rule::BankConflict | Rule::UncoalescedAccess, _) => match finding.ends.first() {
                Some(end) => Watched::Request {
                    end: *end,
                    rule: finding.rule,
                    worst: None,
                },
                None => Watched::Nothing,
            },
            (_, Some(place))
                if place.mapped && matches!(place.space, Space::Shared | Space::Global) =>
            {
                Watched::Location {
                    place,
                    ends: finding.ends.clone(),
                    histories: vec![History::default()],
                }
            }
            _ => Watched::Nothing,
        });
        Tracer {
            program,
            grid,
            block,
            clusters: None,
            watched: watched.collect(),
        }
    }

    /// What was seen, for each finding.
    pub fn traces(self) -> Vec<Option<Trace>> {
        let (program, grid, block) = (self.program, self.grid, self.block);
        let trace = |watched| match watched {
            Watched::Location {
                ends, histories, ..
            } => {
                // The one in which both ends are.
                let shared = |one: &History| guilty(&one.seen, &ends).len();
                let History { seen, number, .. } =
                    histories.into_iter().rev().max_by_key(shared)?;
                let mut shown = chosen(&seen, &ends);
                backfill(&mut shown);
                let steps: Vec<Step> = shown
                    .into_iter()
                    .map(|(one, end)| step(program, (grid, block), one, end))
                    .collect();
                let left_out = number - steps.len() as u64;
                (!steps.is_empty()).then_some(Trace::Location { steps, left_out })
            }
            Watched::Request { rule, worst, .. } => {
                let (_, request) = worst?;
                Some(match rule {
                    Rule::BankConflict => Trace::Banks(request),
                    _ => Trace::Sectors(request),
                })
            }
            Watched::Nothing => None,
        };
        self.watched.into_iter().map(trace).collect()
    }
}

fn step(program: &Program, (grid, block): (Dim3, Dim3), one: Seen, end: Option<usize>) -> Step {
    let barrier = one.what == What::Barrier;
    let site = program.sites.get(one.site.0 as usize);
    let line = site.and_then(|site| line_of(site, &program.sites));
    Step {
        number: one.number,
        what: one.what,
        thread: (!barrier).then(|| block.coordinates(one.thread.0)),
        block: grid.coordinates(one.block.0),
        by: None,
        place: line.map(|(file, line)| SourcePlace { file, line }),
        before: one.before,
        after: one.after,
        end,
    }
}

/// The steps to show: the two accesses of the finding, and what is around them.
fn chosen(seen: &[Seen], ends: &[End]) -> Vec<(Seen, Option<usize>)> {
    let pair = guilty(seen, ends);
    let (first, last) = match (pair.iter().min(), pair.iter().max()) {
        (Some(first), Some(last)) => (*first, *last),
        _ => (0, 0),
    };
    let around = SHOWN / 4;
    let wanted = |at: usize| {
        let near_first = at + around >= first && at <= first + around;
        let near_last = at + around >= last && at <= last + around;
        near_first || near_last
    };
    let end = |at: usize| pair.iter().position(|p| *p == at);
    let all = seen.iter().enumerate();
    all.filter(|(at, _)| wanted(*at))
        .map(|(at, one)| (one.clone(), end(at)))
        .collect()
}

/// The indices of the ends' accesses, in the order of the ends: the later access, and the last one of the earlier end before it that no
/// barrier follows.
fn guilty(seen: &[Seen], ends: &[End]) -> Vec<usize> {
    let is = |one: &Seen, end: &End| {
        one.what != What::Barrier
            && (one.site, one.block, one.thread) == (end.site, end.block, end.thread)
    };
    let Some(later) = ends.first() else {
        return Vec::new();
    };
    let of = |end: &End| -> Vec<usize> {
        let all = seen.iter().enumerate();
        all.filter(|(_, one)| is(one, end))
            .map(|(at, _)| at)
            .collect()
    };
    let laters = of(later);
    let Some(earlier) = ends.get(1) else {
        return laters.into_iter().take(1).collect();
    };
    let earliers = of(earlier);
    let barred = |from: usize, to: usize| {
        seen[from..to]
            .iter()
            .any(|one| one.what == What::Barrier && one.block == later.block)
    };
    let pairs = laters.iter().filter_map(|late| {
        let before = earliers.iter().rev().find(|early| *early < late)?;
        Some((*late, *before))
    });
    let pairs: Vec<(usize, usize)> = pairs.collect();
    let free = pairs.iter().find(|(late, early)| !barred(*early, *late));
    match free.or(pairs.first()) {
        Some((late, early)) => vec![*late, *early],
        None => {
            let firsts = [laters.first(), earliers.first()];
            firsts.into_iter().flatten().copied().collect()
        }
    }
}

/// A read before the first write reads what the write replaces.
fn backfill(shown: &mut [(Seen, Option<usize>)]) {
    let write = shown.iter().position(|(one, _)| one.after.is_some());
    let Some((at, before)) = write.and_then(|at| Some((at, shown[at].0.before.clone()?))) else {
        return;
    };
    for (one, _) in &mut shown[..at] {
        if one.what == What::Read && one.before.is_none() {
            one.before = Some(before.clone());
        }
    }
}

/// Bytes as a number, the lowest first; of four bytes that look like one, as a floating-point number, too.
fn worded(bytes: &[u8]) -> Option<String> {
    if bytes.is_empty() || bytes.len() > 8 {
        return None;
    }
    let mut all = [0; 8];
    all[..bytes.len()].copy_from_slice(bytes);
    let value = u64::from_le_bytes(all);
    let shift = 64 - 8 * bytes.len() as u32;
    let signed = ((value << shift) as i64) >> shift;
    let float = f32::from_bits(value as u32);
    let exponent = value >> 23 & 0xff;
    Some(match bytes.len() {
        4 if (64..192).contains(&exponent) => format!("{float} ({value:#x})"),
        _ if signed.unsigned_abs() < 1 << 24 => signed.to_string(),
        _ => format!("{value:#x}"),
    })
}

impl Events for Tracer<'_> {
    fn launch_begins(&mut self, shape: &LaunchShape) {
        self.clusters = Clusters::of(shape);
        let Some(clusters) = &self.clusters else {
            return;
        };
        for watched in &mut self.watched {
            if let Watched::Location {
                place,
                ends,
                histories,
            } = watched
                && let (Space::Shared, Some(end)) = (place.space, ends.first())
            {
                let of = |owner| History {
                    owner: Some(owner),
                    ..History::default()
                };
                *histories = clusters.members(end.block).map(of).collect();
            }
        }
    }

    fn access(&mut self, access: &Access<'_>) {
        for watched in &mut self.watched {
            match watched {
                Watched::Location {
                    place,
                    ends,
                    histories,
                } => {
                    let block = ends.first().map(|end| end.block);
                    let elsewhere = place.space == Space::Shared && block != Some(access.who.block);
                    for history in histories.iter_mut().filter(|_| access.space == place.space) {
                        match (history.owner, &self.clusters) {
                            (Some(owner), Some(clusters)) => {
                                let there = Place {
                                    address: clusters.place(owner, place.address),
                                    ..*place
                                };
                                clusters.flat(access, |access| touch(access, there, history));
                            }
                            _ if elsewhere => {}
                            _ => touch(access, *place, history),
                        }
                    }
                }
                Watched::Request { end, rule, worst } => {
                    if access.site != end.site {
                        continue;
                    }
                    let (mask, bytes) = (access.performed(), access.bytes());
                    let bad = match rule {
                        Rule::BankConflict => {
                            u64::from(banks::passes(access.address, mask, bytes).1)
                        }
                        _ => {
                            let (moved, ideal) = coalescing::sectors(access.address, mask, bytes);
                            moved.saturating_sub(ideal)
                        }
                    };
                    if worst.as_ref().is_none_or(|(most, _)| bad > *most) {
                        let lane =
                            |lane: usize| (mask >> lane & 1 == 1).then(|| access.address[lane]);
                        let lanes = (0..LANES).map(lane).collect();
                        *worst = Some((bad, Request { bytes, lanes }));
                    }
                }
                Watched::Nothing => {}
            }
        }
    }

    fn block_barrier(&mut self, barrier: &BlockBarrier<'_>) {
        if !barrier.full {
            return;
        }
        for watched in &mut self.watched {
            let Watched::Location {
                ends, histories, ..
            } = watched
            else {
                continue;
            };
            if !ends.iter().any(|end| end.block == barrier.block) {
                continue;
            }
            for history in histories {
                history.number += 1;
                if history.seen.len() < KEPT {
                    history.seen.push(Seen {
                        number: history.number,
                        what: What::Barrier,
                        site: barrier.waited.first().map_or(Site(u32::MAX), |p| p.site),
                        block: barrier.block,
                        thread: ThreadId(0),
                        before: None,
                        after: None,
                    });
                }
            }
        }
    }
}

/// Notes the lanes of an access that touch a place.
fn touch(access: &Access<'_>, place: Place, history: &mut History) {
    let History {
        seen,
        number,
        value,
        ..
    } = history;
    let bytes = u64::from(access.bytes());
    let (start, end) = (place.address, place.address + u64::from(place.bytes));
    for lane in 0..LANES {
        let at = access.address[lane];
        if access.mask >> lane & 1 == 0 || at >= end || start >= at.saturating_add(bytes) {
            continue;
        }
        *number += 1;
        let whole = at <= start && end <= at.saturating_add(bytes);
        let what = match access.kind {
            AccessKind::Read => What::Read,
            AccessKind::Write => What::Write,
            AccessKind::Atomic | AccessKind::Reduction => What::Atomic,
        };
        let (before, after) = match (what, access.stores) {
            (What::Read, _) => (value.clone(), None),
            (What::Write, Some(stores)) if whole => {
                let all: Vec<u8> = (start..end).map(|at| stores.stored(lane, at)).collect();
                let after = worded(&all);
                let old: Vec<u8> = (start..end).map(|at| stores.before(at)).collect();
                let written = (start..end).all(|at| stores.is_written(at));
                let before = match written {
                    // Lanes of one instruction write one after the other.
                    true => value.clone().or_else(|| worded(&old)),
                    false => value.clone().or_else(|| Some(NOTHING.to_owned())),
                };
                *value = after.clone();
                (before, after)
            }
            _ => (value.take(), None),
        };
        if seen.len() < KEPT {
            seen.push(Seen {
                number: *number,
                what,
                site: access.site,
                block: access.who.block,
                thread: access.who.thread(LaneId(lane as u8)),
                before,
                after,
            });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::worded;

    #[test]
    fn values_are_shown_as_what_they_seem_to_be() {
        assert_eq!(worded(&5u32.to_le_bytes()).unwrap(), "5");
        assert_eq!(worded(&(-1i32).to_le_bytes()).unwrap(), "-1");
        assert_eq!(worded(&1.5f32.to_le_bytes()).unwrap(), "1.5 (0x3fc00000)");
        assert_eq!(worded(&[255]).unwrap(), "-1");
        assert_eq!(
            worded(&(1u64 << 40).to_le_bytes()).unwrap(),
            "0x10000000000"
        );
        assert_eq!(worded(&[]), None);
    }
}
