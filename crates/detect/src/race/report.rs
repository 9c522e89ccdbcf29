//! The cold half: who, where and why, once a check has said that there is a race.

use super::access_shape::StrongAccess;
use super::block::{View, lanes};
use super::cells::{Cells, PAIR};
use super::clock::Stamp;
use super::entry::{Entry, FAR, lane_of, site_of};
use super::known::{Known, Partners};
use super::strong::{Clash, Loads, clash_with_read, clash_with_write};
use super::strong_cell::{is_unordered, unordered_readers};
use crate::finding::{Action, Detail, End, Finding, Findings, Place};
use crate::rules::Rule;
use simt::ids::{BlockId, LaneId, Site, ThreadId, WarpId};
use simt::observer::{Access, AccessKind, Order, Scope};
use std::ops::Range;

/// Where findings go.
#[derive(Clone, Debug, Default)]
pub struct Reporter {
    /// Those found so far.
    pub findings: Findings,
    /// The launch in its session.
    pub launch: u32,
    /// Kind, order and scope of the strong accesses, by instruction.
    strong: Vec<Option<(AccessKind, Order, Scope)>>,
    /// What is not judged again.
    pub known: Known,
    /// Whether the access at hand is one that a copy announces as it begins, and performs later.
    pub announces: bool,
}

/// The other end of a race.
#[derive(Clone, Copy, Debug)]
struct Other {
    rule: Rule,
    warp: u32,
    lane: u32,
    site: u32,
    action: Action,
    weak: bool,
    stamp: Stamp,
}

/// The access at hand, as reports show it.
pub struct Current<'a> {
    /// The warp's access.
    pub access: &'a Access<'a>,
    /// The lane.
    pub lane: u32,
    /// First byte of the element.
    pub address: u64,
    /// The bytes of it that the cell at hand stands for.
    pub bytes: Range<u64>,
}

impl Current<'_> {
    /// Whether it is a write that finds its own value there already.
    fn repeats_value(&self) -> bool {
        let Some(stores) = self.access.stores else {
            return false;
        };
        let (lane, size) = (self.lane as usize, u64::from(self.access.bytes()));
        // Lower lanes of the instruction come first.
        let lower = self.access.mask & ((1 << lane) - 1);
        let found = |at: u64| {
            let covers = |l: &u32| at.wrapping_sub(self.access.address[*l as usize]) < size;
            match lanes(lower).filter(covers).last() {
                Some(other) => stores.stored(other as usize, at),
                None => stores.before(at),
            }
        };
        self.bytes
            .clone()
            .all(|at| stores.stored(lane, at) == found(at))
    }
}

impl Reporter {
    /// For a launch.
    pub fn new(launch: u32) -> Reporter {
        Reporter {
            launch,
            ..Reporter::default()
        }
    }

    /// Remembers what kind of strong access an instruction makes.
    pub fn learn(&mut self, access: &Access<'_>) {
        let site = access.site.0 as usize;
        if site >= self.strong.len() {
            self.strong.resize(site + 1, None);
        }
        self.strong[site] = Some((access.kind, access.order, access.scope));
    }

    /// Reports all that a weak access of `lane` to a cell races with.
    #[cold]
    #[inline(never)]
    pub fn weak(&mut self, cells: &Cells, at: usize, current: &Current<'_>, v: &View<'_>) {
        let lane = current.lane;
        let writes = current.access.kind != AccessKind::Read;
        let mut others = Vec::new();
        weak_others(cells, at, lane, writes, v, &mut others);
        // Lanes that copy to one place by one instruction are judged as they begin: what all of them write is known together then, while
        // memory has what a copy finds that is performed.
        if current.access.asynchronous && !self.announces {
            let own = (v.me, current.access.site);
            others.retain(|o| o.action != Action::Write || (o.warp, Site(o.site)) != own);
        }
        for other in others.iter_mut().filter(|o| o.action == Action::Write) {
            let pair = (current.access.site, Site(other.site));
            let race = writes && other.rule == Rule::DataRace;
            if race && !self.findings.has(Rule::DataRace, pair) && current.repeats_value() {
                other.rule = Rule::SameValueWrite;
            }
        }
        // Nor does anybody see which lane of a warp copies, where the instruction copies one value to one place. A library that has fewer pieces than
        // lanes lets the others repeat the last one, as cooperative groups' `memcpy_async` of a tile does.
        if current.access.asynchronous {
            let own = (v.me, current.access.site);
            others.retain(|o| o.rule != Rule::SameValueWrite || (o.warp, Site(o.site)) != own);
        }
        let strong = cells.strong_accesses(at);
        for w in strong.writes.iter().filter(|w| is_unordered(w, lane, v)) {
            others.push(Other {
                rule: weak_rule(lane, w.warp, 1 << w.lane, w.stamp, v),
                warp: w.warp,
                lane: w.lane,
                site: w.site,
                action: if w.class.rmw() {
                    Action::Atomic
                } else {
                    Action::Write
                },
                weak: false,
                stamp: w.stamp,
            });
        }
        for r in strong.reads.iter().filter(|_| writes) {
            let e = r.entry;
            let left = unordered_readers(r, lane, v);
            if left != 0 {
                others.push(Other {
                    rule: weak_rule(lane, e.warp, left, e.stamp, v),
                    warp: e.warp,
                    lane: left.trailing_zeros(),
                    site: e.site,
                    action: if r.class.rmw() {
                        Action::Atomic
                    } else {
                        Action::Read
                    },
                    weak: false,
                    stamp: e.stamp,
                });
            }
        }
        self.add_all(&others, current, v);
    }

    /// Whether a weak access to a cell races with nothing but what it is known to race with.
    pub fn knows(&self, cells: &Cells, at: usize, current: &Current<'_>, v: &View<'_>) -> bool {
        if self.known.is_empty() {
            return false;
        }
        let (site, lane) = (current.access.site.0, current.lane);
        let reads = current.access.kind == AccessKind::Read;
        let known = |other: u32| self.known.races.has(site, other);
        let same = |other: u32| {
            let known = !reads && !v.fine_sync && self.known.same_values.has(site, other);
            known && current.repeats_value()
        };
        let writer = site_of(cells.w_tag[at]);
        let written = cells.check_write(at, lane, v).is_ok() || known(writer) || same(writer);
        let strong = || {
            cells.check_strong_writes(at, lane, v).is_ok()
                && (reads || cells.check_strong_reads(at, lane, v).is_ok())
        };
        let read = |e: Entry| known(e.site) || v.unordered(lane, e.warp, e.mask, e.stamp) == 0;
        written && strong() && (reads || cells.readers(at).all(read))
    }

    /// The writers and readers that all lanes of a weak access are known to race with, if they race with them: some of them.
    #[inline]
    pub fn partners(&self, access: &Access<'_>, v: &View<'_>) -> Partners {
        if self.known.is_empty() {
            return Partners::default();
        }
        let races = self.known.races.partners(access.site);
        let same = self.known.same_values.partners(access.site);
        if same == Partners::default() || v.fine_sync {
            return races;
        }
        let bytes = u64::from(access.bytes());
        match access.stores {
            Some(stores) if stores.repeats(access.mask, access.address, bytes) => races.and(same),
            _ => races,
        }
    }

    /// Reports all that a strong access to a cell races with.
    #[cold]
    #[inline(never)]
    pub fn strong(
        &mut self,
        cells: &Cells,
        at: usize,
        a: &StrongAccess,
        current: &Current<'_>,
        v: &View<'_>,
        loads: &Loads<'_>,
    ) {
        let mut others = Vec::new();
        weak_others(cells, at, a.lane, a.writes, v, &mut others);
        let strong = cells.strong_accesses(at);
        for w in &strong.writes {
            if let Some(clash) = clash_with_write(w, a, v) {
                others.push(Other {
                    rule: strong_rule(clash, a.lane, w.warp, 1 << w.lane, w.stamp, v),
                    warp: w.warp,
                    lane: w.lane,
                    site: w.site,
                    action: if w.class.rmw() {
                        Action::Atomic
                    } else {
                        Action::Write
                    },
                    weak: false,
                    stamp: w.stamp,
                });
            }
        }
        for r in strong.reads.iter().filter(|_| a.writes) {
            if let Some(clash) = clash_with_read(r, a, v, loads) {
                let e = r.entry;
                let left = unordered_readers(r, a.lane, v);
                others.push(Other {
                    rule: strong_rule(clash, a.lane, e.warp, left, e.stamp, v),
                    warp: e.warp,
                    lane: left.trailing_zeros(),
                    site: e.site,
                    action: if r.class.rmw() {
                        Action::Atomic
                    } else {
                        Action::Read
                    },
                    weak: false,
                    stamp: e.stamp,
                });
            }
        }
        self.add_all(&others, current, v);
    }

    fn add_all(&mut self, others: &[Other], current: &Current<'_>, v: &View<'_>) {
        for other in others {
            self.add(other, current, v);
        }
    }

    fn add(&mut self, other: &Other, current: &Current<'_>, v: &View<'_>) {
        let access = current.access;
        let site = Site(other.site);
        if let Some(known) = self.findings.count_again(other.rule, access.site, site) {
            if known {
                self.known.add(other.rule, access.site, site);
            }
            return;
        }
        let (block, warp) = v.locate(other.warp);
        let (kind, order) = match self.strong.get(other.site as usize).copied().flatten() {
            Some((kind, order, scope)) if !other.weak => (Some(kind), (order, scope)),
            _ => (None, (Order::Weak, Scope::Sys)),
        };
        let here = End {
            site: access.site,
            launch: self.launch,
            block: access.who.block,
            thread: access.who.thread(LaneId(current.lane as u8)),
            threads: 1,
            action: action_of(access.kind),
            order: Some((access.order, access.scope)),
        };
        let there = End {
            site,
            launch: self.launch,
            block: BlockId(block),
            thread: ThreadId::of(WarpId(warp), LaneId(other.lane as u8)),
            threads: 1,
            action: kind.map_or(other.action, action_of),
            order: Some(order),
        };
        self.findings.add(Finding {
            rule: other.rule,
            ends: vec![here, there],
            place: Some(Place {
                space: access.space,
                address: current.address,
                bytes: access.element,
                mapped: true,
            }),
            detail: match v.unacquired(current.lane, other.warp, 1 << other.lane, other.stamp) {
                Some(read) if other.rule == Rule::DataRace => Detail::NotAcquired(Site(read)),
                _ => Detail::None,
            },
            count: 1,
            stale_loads: Vec::new(),
        });
    }
}

fn action_of(kind: AccessKind) -> Action {
    match kind {
        AccessKind::Read => Action::Read,
        AccessKind::Write => Action::Write,
        AccessKind::Atomic | AccessKind::Reduction => Action::Atomic,
    }
}

/// The weak accesses that an access of `lane` races with.
fn weak_others(
    cells: &Cells,
    at: usize,
    lane: u32,
    writes: bool,
    v: &View<'_>,
    others: &mut Vec<Other>,
) {
    let (warp, stamp, tag) = (cells.w_warp[at], cells.w_stamp[at], cells.w_tag[at]);
    let bit = 1 << lane_of(tag);
    if v.unordered(lane, warp, bit, stamp) != 0 {
        others.push(Other {
            rule: weak_rule(lane, warp, bit, stamp, v),
            warp,
            lane: lane_of(tag),
            site: site_of(tag),
            action: Action::Write,
            weak: true,
            stamp,
        });
    }
    if !writes {
        return;
    }
    let pair = cells.r_tag[at] & PAIR != 0;
    let far = pair && cells.r_stamp[at] == FAR;
    for e in cells.readers(at) {
        // The stamps of a pair say nothing about the own warp, those of a far one nothing
        // about the own block; the other of the two is guilty then.
        if pair && e.warp == v.me || far && v.in_block(e.warp) {
            continue;
        }
        let left = v.unordered(lane, e.warp, e.mask, e.stamp);
        if left != 0 {
            others.push(Other {
                rule: weak_rule(lane, e.warp, left, e.stamp, v),
                warp: e.warp,
                lane: left.trailing_zeros(),
                site: e.site,
                action: Action::Read,
                weak: true,
                stamp: e.stamp,
            });
        }
    }
}

/// A race in which one side is weak is a matter of scope if wider scopes would have
/// ordered the two.
fn weak_rule(lane: u32, warp: u32, mask: u32, stamp: Stamp, v: &View<'_>) -> Rule {
    if lanes(mask).any(|l| v.unordered_at_any_scope(lane, warp, 1 << l, stamp) != 0) {
        Rule::DataRace
    } else {
        Rule::InsufficientScope
    }
}

/// Where wider scopes would have ordered what passes between two warps, scopes are what is wrong.
fn strong_rule(clash: Clash, lane: u32, warp: u32, mask: u32, stamp: Stamp, v: &View<'_>) -> Rule {
    let by_scope = || weak_rule(lane, warp, mask, stamp, v);
    match clash {
        Clash::Extent => by_scope(),
        Clash::Scope => Rule::InsufficientScope,
        Clash::Lockstep => Rule::LockstepAssumption,
        Clash::Communication if by_scope() == Rule::InsufficientScope => Rule::InsufficientScope,
        Clash::Communication => Rule::UnorderedCommunication,
    }
}
