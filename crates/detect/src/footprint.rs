//! What an operation of the host program did to memory, and where two that nothing orders conflict.
//!
//! Two kernels on streams that nothing orders, a kernel and a copy, a copy and the host: each pair is judged as two threads are
//! (PTX ISA, "Conflict and Data-races"). They race where they overlap, at least one writes, and they are not morally strong. Copies
//! and the host are weak. Two kernels' accesses are morally strong where both are strong, are of the same memory exactly, and have at
//! least device scope: a narrower one does not include another grid's threads.
//!
//! While a launch runs, a [`Recorder`] keeps, for each granule and each kind of access, one thread that did it: the
//! first in order of blocks and threads, so that nothing depends on the schedule; eight bytes each, on pages that are made when they are first
//! touched. [`Footprint::conflicts`] walks two of them side by side.
//!
//! # Blind spots
//!
//! * Strong accesses of one kind to one granule by one launch are taken to be of one size: of mixed ones, one stands for all.
//! * Release and acquire between kernels that run at the same time orders more than the host program does. It is not followed;
//!   where both kernels could do it, [`Footprint::may_synchronise`] says so, and a conflict is no verdict.

mod page;
mod recorder;
#[cfg(test)]
mod tests;

pub use recorder::{Ranges, Recorder};

use crate::finding::{Action, Detail, End, Finding, Place};
use crate::rules::Rule;
use page::Page;
use simt::ids::{BlockId, Site, ThreadId};
use simt::observer::{Order, Scope, Space};
use std::collections::HashMap;
use std::ops::Range;

/// Who touched a granule, and how.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AccessRecord {
    /// The instruction; meaningless for what is no launch.
    pub site: Site,
    /// The block.
    pub block: BlockId,
    /// The thread.
    pub thread: ThreadId,
    /// What it did.
    pub action: Action,
    /// Ordering and scope; `None` for copies and the host.
    pub order: Option<(Order, Scope)>,
    /// First byte of the element, an offset into the arena.
    pub address: u64,
    /// Bytes of the element.
    pub bytes: u32,
}

impl AccessRecord {
    fn is_strong(&self) -> bool {
        self.order.is_some_and(|(order, _)| order.is_strong())
    }

    /// Whether another grid's threads are in its scope.
    fn is_wide(&self) -> bool {
        self.order
            .is_some_and(|(order, scope)| order.is_strong() && scope >= Scope::Gpu)
    }

    /// Whether it reads.
    pub fn reads(&self) -> bool {
        matches!(self.action, Action::Read | Action::Atomic)
    }

    /// Whether it writes.
    pub fn writes(&self) -> bool {
        matches!(self.action, Action::Write | Action::Atomic)
    }

    fn end(&self, launch: u32) -> End {
        End {
            site: self.site,
            launch,
            block: self.block,
            thread: self.thread,
            threads: 1,
            action: self.action,
            order: self.order,
        }
    }

    /// Whether the host is in its scope: morally strong with an access of the host that is strong, too.
    pub fn reaches_host(&self) -> bool {
        self.order
            .is_some_and(|(order, scope)| order.is_strong() && scope == Scope::Sys)
    }
}

/// What one operation did to global memory.
#[derive(Clone, Debug, Default)]
pub struct Footprint {
    /// In the order of their addresses, none overlapping another one.
    parts: Vec<Part>,
    /// What the threads on pages did.
    classes: Vec<Class>,
    may_synchronise: bool,
}

/// What an instruction does to one element.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Class {
    site: Site,
    action: Action,
    order: Order,
    scope: Scope,
    /// Bytes of the element, which lies at a multiple of them.
    bytes: u32,
}

/// Bytes and who touched them.
#[derive(Clone, Debug)]
struct Part {
    start: u64,
    end: u64,
    who: Who,
}

#[derive(Clone, Debug)]
enum Who {
    /// A copy or the host, all of them alike.
    Host(AccessRecord),
    /// Threads of a launch, granule by granule.
    Threads(Page),
}

impl Part {
    /// Whether something here may write.
    fn writes(&self) -> bool {
        match &self.who {
            Who::Host(record) => record.writes(),
            Who::Threads(page) => page.writes(),
        }
    }
}

/// A pair of accesses in which two operations conflict.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Conflict {
    /// Data race or insufficient scope.
    pub rule: Rule,
    /// What the first operation did.
    pub first: AccessRecord,
    /// What the second one did.
    pub second: AccessRecord,
    /// The first byte concerned.
    pub address: u64,
    /// At how many places the same two do.
    pub count: u64,
}

impl Conflict {
    /// As a finding of a rule, whose ends are the first operation's and the second's, by the numbers of their launches; that has not been counted yet.
    pub fn finding(&self, rule: Rule, launches: [u32; 2]) -> Finding {
        let [first, second] = launches;
        Finding {
            rule,
            ends: vec![self.first.end(first), self.second.end(second)],
            place: Some(Place {
                space: Space::Global,
                address: self.address,
                bytes: self.first.bytes.min(self.second.bytes),
                mapped: true,
            }),
            detail: Detail::None,
            count: 0,
            stale_loads: Vec::new(),
        }
    }
}

/// Conflicts of the same two instructions are one.
type Pair = (
    Rule,
    (Site, Action, Option<(Order, Scope)>),
    (Site, Action, Option<(Order, Scope)>),
);

impl Footprint {
    /// Of a copy, or the host: bytes of the arena that it reads, and bytes that it writes.
    pub fn of_host(
        reads: Option<(u64, u64)>,
        writes: Option<(u64, u64)>,
        element: u32,
    ) -> Footprint {
        let reads = reads.map(|range| (range, Action::Read));
        let writes = writes.map(|range| (range, Action::Write));
        let mut both: Vec<_> = reads.into_iter().chain(writes).collect();
        both.retain(|((_, bytes), _)| *bytes > 0);
        both.sort_unstable_by_key(|((start, _), _)| *start);
        let parts = both.into_iter().map(|((start, bytes), action)| Part {
            start,
            end: start + bytes,
            who: Who::Host(AccessRecord {
                site: Site(0),
                block: BlockId(0),
                thread: ThreadId(0),
                action,
                order: None,
                address: start,
                bytes: element,
            }),
        });
        Footprint {
            parts: parts.collect(),
            ..Footprint::default()
        }
    }

    /// Whether the two have addresses in common, as far as their first and last ones tell.
    pub fn may_meet(&self, other: &Footprint) -> bool {
        let ends = |f: &Footprint| Some((f.parts.first()?.start, f.parts.last()?.end));
        match (ends(self), ends(other)) {
            (Some(a), Some(b)) => a.0 < b.1 && b.0 < a.1,
            _ => false,
        }
    }

    /// Whether nothing was touched.
    pub fn is_empty(&self) -> bool {
        self.parts.is_empty()
    }

    /// The bytes that were touched, in order, and whether something wrote there; neighbours that are alike are one range, page by page.
    pub fn ranges(&self) -> impl Iterator<Item = (Range<u64>, bool)> + '_ {
        self.parts.iter().flat_map(|part| match &part.who {
            Who::Host(record) => vec![(part.start..part.end, record.writes())],
            Who::Threads(page) => page.ranges(part.start),
        })
    }

    /// Whether the launch has operations that order it with another one that runs at the same time.
    pub fn may_synchronise(&self) -> bool {
        self.may_synchronise
    }

    /// Who touched the bytes from `at` on, up to where others did.
    fn at(&self, part: &Part, at: u64, to: &mut Vec<AccessRecord>) -> u64 {
        to.clear();
        match &part.who {
            Who::Host(record) => {
                // The element of the copy that holds this byte.
                let into = (at - record.address) % u64::from(record.bytes.max(1));
                to.push(AccessRecord {
                    address: at - into,
                    ..*record
                });
                part.end
            }
            Who::Threads(page) => page.at(part.start, at, &self.classes, to),
        }
    }

    /// Where two unordered operations conflict, by the lowest address of each two instructions; and whether their strong accesses meet
    /// anywhere, so that the order in which they run can be seen.
    pub fn conflicts(&self, other: &Footprint) -> (Vec<Conflict>, bool) {
        let (mut conflicts, mut meet) = (Vec::new(), false);
        let mut known: HashMap<Pair, usize> = HashMap::new();
        let (mut ours, mut theirs) = (Vec::new(), Vec::new());
        let (mut i, mut j) = (0, 0);
        while let (Some(a), Some(b)) = (self.parts.get(i), other.parts.get(j)) {
            let (mut start, end) = (a.start.max(b.start), a.end.min(b.end));
            // Where both only read there is nothing to be seen.
            while start < end && (a.writes() || b.writes()) {
                let next = self.at(a, start, &mut ours);
                let next = next.min(other.at(b, start, &mut theirs)).min(end);
                let pairs = ours.iter().flat_map(|x| theirs.iter().map(move |y| (x, y)));
                for (first, second) in pairs {
                    match judge(first, second) {
                        Judged::Apart => {}
                        Judged::Strong => meet = true,
                        Judged::Breaks(rule) => {
                            let end = |r: &AccessRecord| (r.site, r.action, r.order);
                            let place = known.entry((rule, end(first), end(second)));
                            let place = *place.or_insert_with(|| {
                                conflicts.push(Conflict {
                                    rule,
                                    first: *first,
                                    second: *second,
                                    address: start,
                                    count: 0,
                                });
                                conflicts.len() - 1
                            });
                            conflicts[place].count += 1;
                        }
                    }
                }
                start = next;
            }
            if a.end <= b.end {
                i += 1;
            } else {
                j += 1;
            }
        }
        (conflicts, meet)
    }
}

enum Judged {
    /// Both read.
    Apart,
    /// They are morally strong.
    Strong,
    Breaks(Rule),
}

fn judge(a: &AccessRecord, b: &AccessRecord) -> Judged {
    if !a.writes() && !b.writes() {
        Judged::Apart
    } else if !(a.is_strong() && b.is_strong()) || (a.address, a.bytes) != (b.address, b.bytes) {
        Judged::Breaks(Rule::DataRace)
    } else if a.is_wide() && b.is_wide() {
        Judged::Strong
    } else {
        Judged::Breaks(Rule::InsufficientScope)
    }
}
