//! What an operation of the host program did to memory, and where two that nothing orders conflict.
//!
//! Two kernels on streams that nothing orders, a kernel and a copy, a copy and the host: each pair is judged as two threads are
//! (PTX ISA, "Conflict and Data-races"). They race where they overlap, at least one writes, and they are not morally strong. Copies
//! and the host are weak. Two kernels' accesses are morally strong where both are strong, are of the same memory exactly, and have at
//! least device scope: a narrower one does not include another grid's threads.
//!
//! While a launch runs, a [`Recorder`] keeps, for each granule and each kind of access, one thread that did it: the
//! first in order of blocks and threads, so that nothing depends on the schedule. [`Footprint::conflicts`] walks two of them side by side.
//!
//! # Blind spots
//!
//! * Strong accesses of one kind to one granule by one launch are taken to be of one size: of mixed ones, one stands for all.
//! * Release and acquire between kernels that run at the same time orders more than the host program does. It is not followed;
//!   where both kernels could do it, [`Footprint::may_synchronise`] says so, and a conflict is no verdict.

use crate::finding::Action;
use crate::rules::Rule;
use simt::ids::{BlockId, LaneId, Site, ThreadId};
use simt::observer::{Access, AccessKind, LaunchShape, Order, Scope, Space};
use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::ops::Range;
use std::sync::Arc;

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

    /// Whether it writes.
    pub fn writes(&self) -> bool {
        matches!(self.action, Action::Write | Action::Atomic)
    }

    /// The kind under which it is kept.
    fn kind(&self) -> u64 {
        let strength = u64::from(self.is_strong()) + u64::from(self.is_wide());
        2 * strength + u64::from(self.writes())
    }

    /// Whether the host is in its scope: morally strong with an access of the host that is strong, too.
    pub fn reaches_host(&self) -> bool {
        self.order
            .is_some_and(|(order, scope)| order.is_strong() && scope == Scope::Sys)
    }

    fn rank(&self) -> (u32, u32, Site) {
        (self.block.0, self.thread.0, self.site)
    }
}

/// Weak, strong but narrow, strong and wide; reads and writes.
const KINDS: u64 = 6;

/// Offsets into the arena, in order and apart.
pub type Ranges = Arc<[Range<u64>]>;

/// Watches one launch.
#[derive(Debug, Default)]
pub struct Recorder {
    /// By granule and kind.
    touched: HashMap<u64, AccessRecord>,
    /// What is of interest; everything, if `None`.
    only: Option<Ranges>,
    shift: u32,
    may_synchronise: bool,
}

impl Recorder {
    /// For launches of which no more than what they do to these ranges is of interest, if there are any.
    pub fn only(only: Option<Ranges>) -> Recorder {
        Recorder {
            only,
            ..Recorder::default()
        }
    }

    /// The same for a launch of this shape.
    pub fn begin(&self, shape: &LaunchShape) -> Recorder {
        Recorder {
            touched: HashMap::new(),
            only: self.only.clone(),
            shift: shape.global_granule.max(1).trailing_zeros(),
            may_synchronise: shape.strong_global && shape.fine_sync,
        }
    }

    /// For another core's share of the same launch.
    pub fn fork(&self) -> Recorder {
        Recorder {
            touched: HashMap::new(),
            only: self.only.clone(),
            ..*self
        }
    }

    /// Whether bytes from `start` to `end` may be of interest.
    #[inline]
    pub fn concerns(&self, start: u64, end: u64) -> bool {
        self.only.as_ref().is_none_or(|only| {
            let after = only.partition_point(|range| range.end <= start);
            only.get(after).is_some_and(|range| range.start < end)
        })
    }

    fn add(&mut self, granule: u64, toucher: AccessRecord) {
        self.put(granule * KINDS + toucher.kind(), toucher);
    }

    fn put(&mut self, key: u64, toucher: AccessRecord) {
        match self.touched.entry(key) {
            Entry::Vacant(none) => drop(none.insert(toucher)),
            Entry::Occupied(mut kept) if toucher.rank() < kept.get().rank() => {
                kept.insert(toucher);
            }
            Entry::Occupied(_) => {}
        }
    }

    /// Takes a fork back.
    pub fn merge(&mut self, fork: Recorder) {
        for (key, toucher) in fork.touched {
            self.put(key, toucher);
        }
    }

    /// A memory access of a warp.
    pub fn access(&mut self, access: &Access<'_>) {
        // Constant variables lie in the arena, too.
        if !matches!(access.space, Space::Global | Space::Const) {
            return;
        }
        let step = 1u64 << self.shift;
        for lane in (0..32u8).filter(|lane| access.mask >> lane & 1 == 1) {
            let action = match access.kind {
                AccessKind::Read => Action::Read,
                AccessKind::Write => Action::Write,
                // A compare-and-swap that fails has only read.
                _ if access.wrote >> lane & 1 == 0 => Action::Read,
                _ => Action::Atomic,
            };
            for element in 0..access.elements {
                let address =
                    access.address[usize::from(lane)] + u64::from(element * access.element);
                let end = address + u64::from(access.element);
                if !self.concerns(address, end) {
                    continue;
                }
                let toucher = AccessRecord {
                    site: access.site,
                    block: access.who.block,
                    thread: access.who.thread(LaneId(lane)),
                    action,
                    order: Some((access.order, access.scope)),
                    address,
                    bytes: access.element,
                };
                for at in (address..end).step_by(step as usize) {
                    self.add(at >> self.shift, toucher);
                }
            }
        }
    }

    /// What the launch did.
    pub fn finish(self) -> Footprint {
        let mut touched: Vec<_> = self.touched.into_iter().collect();
        touched.sort_unstable_by_key(|(key, _)| *key);
        let mut footprint = Footprint {
            may_synchronise: self.may_synchronise,
            ..Footprint::default()
        };
        for same in touched.chunk_by(|(a, _), (b, _)| a / KINDS == b / KINDS) {
            let granule = same[0].0 / KINDS;
            let bytes = granule << self.shift..(granule + 1) << self.shift;
            footprint.push(bytes, same.iter().map(|(_, toucher)| *toucher));
        }
        footprint
    }
}

/// What one operation did to global memory.
#[derive(Clone, Debug, Default)]
pub struct Footprint {
    /// In the order of their addresses, none overlapping another one.
    pieces: Vec<Piece>,
    /// Who touched them, piece by piece.
    touched: Vec<AccessRecord>,
    may_synchronise: bool,
}

/// Bytes that were touched alike.
#[derive(Clone, Debug)]
struct Piece {
    start: u64,
    end: u64,
    /// Where its part of [`Footprint::touched`] ends.
    until: usize,
}

/// A place where two operations conflict.
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
}

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
        let mut footprint = Footprint::default();
        for ((start, bytes), action) in both {
            let toucher = AccessRecord {
                site: Site(0),
                block: BlockId(0),
                thread: ThreadId(0),
                action,
                order: None,
                address: start,
                bytes: element,
            };
            footprint.push(start..start + bytes, [toucher]);
        }
        footprint
    }

    /// Adds bytes behind the others.
    fn push(&mut self, bytes: Range<u64>, touched: impl IntoIterator<Item = AccessRecord>) {
        self.touched.extend(touched);
        self.pieces.push(Piece {
            start: bytes.start,
            end: bytes.end,
            until: self.touched.len(),
        });
    }

    /// Who touched a piece.
    fn of_piece(&self, index: usize) -> &[AccessRecord] {
        let from = match index {
            0 => 0,
            _ => self.pieces[index - 1].until,
        };
        &self.touched[from..self.pieces[index].until]
    }

    /// Whether the two have addresses in common, as far as their first and last ones tell.
    pub fn may_meet(&self, other: &Footprint) -> bool {
        let ends = |f: &Footprint| Some((f.pieces.first()?.start, f.pieces.last()?.end));
        match (ends(self), ends(other)) {
            (Some(a), Some(b)) => a.0 < b.1 && b.0 < a.1,
            _ => false,
        }
    }

    /// Whether nothing was touched.
    pub fn is_empty(&self) -> bool {
        self.pieces.is_empty()
    }

    /// The bytes that were touched, in order, and whether something wrote there.
    pub fn ranges(&self) -> impl Iterator<Item = (Range<u64>, bool)> + '_ {
        self.pieces.iter().enumerate().map(|(index, piece)| {
            let writes = self.of_piece(index).iter().any(AccessRecord::writes);
            (piece.start..piece.end, writes)
        })
    }

    /// Whether the launch has operations that order it with another one that runs at the same time.
    pub fn may_synchronise(&self) -> bool {
        self.may_synchronise
    }

    /// Where two unordered operations conflict, by address; and whether their strong accesses meet anywhere, so that
    /// the order in which they run can be seen.
    pub fn conflicts(&self, other: &Footprint) -> (Vec<Conflict>, bool) {
        let (mut conflicts, mut meet) = (Vec::new(), false);
        let (mut i, mut j) = (0, 0);
        while let (Some(a), Some(b)) = (self.pieces.get(i), other.pieces.get(j)) {
            let (start, end) = (a.start.max(b.start), a.end.min(b.end));
            if start < end {
                for first in self.of_piece(i) {
                    for second in other.of_piece(j) {
                        let (first, second) = (at(first, start), at(second, start));
                        match judge(&first, &second) {
                            Judged::Apart => {}
                            Judged::Strong => meet = true,
                            Judged::Breaks(rule) => conflicts.push(Conflict {
                                rule,
                                first,
                                second,
                                address: start,
                            }),
                        }
                    }
                }
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

/// The same, with the element of a copy that holds a byte.
fn at(toucher: &AccessRecord, byte: u64) -> AccessRecord {
    match toucher.order {
        Some(_) => *toucher,
        None => {
            let into = (byte - toucher.address) % u64::from(toucher.bytes.max(1));
            AccessRecord {
                address: byte - into,
                ..*toucher
            }
        }
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

#[cfg(test)]
mod tests {
    use super::*;
    use simt::ids::WarpId;
    use simt::observer::WarpRef;

    fn shape(granule: u32) -> LaunchShape {
        let one = simt::Dim3::ONE;
        LaunchShape {
            grid: one,
            block: one,
            shared_bytes: 0,
            global_bytes: 1 << 20,
            shared_granule: 4,
            global_granule: granule,
            strong_shared: false,
            strong_global: true,
            non_coherent: false,
            fine_sync: false,
            control_only: std::sync::Arc::new([]),
            hands_on: std::sync::Arc::new([]),
            effects: Default::default(),
            launch: 0,
        }
    }

    fn kernel(granule: u32, accesses: &[(AccessKind, Order, Scope, u64, u32)]) -> Footprint {
        let mut recorder = Recorder::default().begin(&shape(granule));
        for (site, (kind, order, scope, address, element)) in accesses.iter().enumerate() {
            recorder.access(&Access {
                site: Site(site as u32),
                who: WarpRef {
                    block: BlockId(0),
                    warp: WarpId(0),
                },
                mask: 1,
                space: Space::Global,
                address: &[*address; 32],
                neighbours: None,
                element: *element,
                elements: 1,
                kind: *kind,
                non_coherent: false,
                order: *order,
                scope: *scope,
                wrote: 1,
                dropped: 0,
                initial: 0,
                stores: None,
            });
        }
        recorder.finish()
    }

    use AccessKind::{Atomic, Read, Write};
    use Order::{Relaxed, Volatile, Weak};
    use Scope::{Cta, Gpu, Sys};

    fn rules(a: &Footprint, b: &Footprint) -> Vec<Rule> {
        let (there, back) = (a.conflicts(b), b.conflicts(a));
        assert_eq!((there.0.len(), there.1), (back.0.len(), back.1));
        there.0.iter().map(|c| c.rule).collect()
    }

    #[test]
    fn two_kernels() {
        let read = kernel(4, &[(Read, Weak, Sys, 256, 4)]);
        let write = kernel(4, &[(Write, Weak, Sys, 256, 4)]);
        let beside = kernel(4, &[(Write, Weak, Sys, 260, 4)]);
        let wide = kernel(4, &[(Atomic, Relaxed, Gpu, 256, 4)]);
        let narrow = kernel(4, &[(Atomic, Relaxed, Cta, 256, 4)]);
        let volatile = kernel(4, &[(Read, Volatile, Sys, 256, 4)]);
        assert_eq!(rules(&read, &read), []);
        assert_eq!(rules(&read, &write), [Rule::DataRace]);
        assert_eq!(rules(&write, &write), [Rule::DataRace]);
        assert_eq!(rules(&write, &beside), []);
        assert_eq!(rules(&wide, &wide), []);
        assert!(wide.conflicts(&wide).1, "they see each other's order");
        assert_eq!(rules(&wide, &narrow), [Rule::InsufficientScope]);
        assert_eq!(rules(&wide, &volatile), []);
        assert_eq!(rules(&wide, &read), [Rule::DataRace]);
        assert_eq!(rules(&narrow, &write), [Rule::DataRace]);
    }

    #[test]
    fn what_is_of_no_interest_is_left_out() {
        let mut recorder = Recorder::only(Some([256..260, 512..1024].into())).begin(&shape(4));
        for at in [0, 256, 260, 508, 512, 1020, 1024] {
            recorder.add_for_test(at);
        }
        let touched: Vec<u64> = recorder.finish().ranges().map(|(r, _)| r.start).collect();
        assert_eq!(touched, [256, 512, 1020]);
    }

    impl Recorder {
        fn add_for_test(&mut self, at: u64) {
            self.access(&Access {
                site: Site(0),
                who: WarpRef {
                    block: BlockId(0),
                    warp: WarpId(0),
                },
                mask: 1,
                space: Space::Global,
                address: &[at; 32],
                neighbours: None,
                element: 4,
                elements: 1,
                kind: Write,
                non_coherent: false,
                order: Weak,
                scope: Sys,
                wrote: 1,
                dropped: 0,
                initial: 0,
                stores: None,
            });
        }
    }

    #[test]
    fn granules_may_differ() {
        let fine = kernel(1, &[(Write, Weak, Sys, 259, 1)]);
        let coarse = kernel(8, &[(Read, Weak, Sys, 256, 8)]);
        assert_eq!(rules(&fine, &coarse), [Rule::DataRace]);
        let behind = kernel(8, &[(Read, Weak, Sys, 264, 8)]);
        assert_eq!(rules(&fine, &behind), []);
        let strong = |bytes| kernel(4, &[(Write, Relaxed, Gpu, 256, bytes)]);
        assert_eq!(rules(&strong(4), &strong(4)), []);
        assert_eq!(rules(&strong(8), &strong(4)), [Rule::DataRace]);
    }

    #[test]
    fn copies_and_the_host_are_weak() {
        let upload = Footprint::of_host(Some((0, 64)), Some((256, 64)), 4);
        let atomic = kernel(4, &[(Atomic, Relaxed, Gpu, 300, 4)]);
        let (conflicts, _) = upload.conflicts(&atomic);
        assert_eq!(conflicts.len(), 1);
        assert_eq!(conflicts[0].rule, Rule::DataRace);
        assert_eq!(
            (conflicts[0].address, conflicts[0].first.address),
            (300, 300)
        );
        let reuse = Footprint::of_host(None, Some((0, 64)), 4);
        assert_eq!(rules(&upload, &reuse), [Rule::DataRace]);
        let look = Footprint::of_host(Some((0, 64)), None, 4);
        assert_eq!(rules(&upload, &look), []);
    }

    #[test]
    fn who_stands_for_many_does_not_depend_on_their_order() {
        let mut forward = Recorder::default().begin(&shape(4));
        let mut backward = Recorder::default().begin(&shape(4));
        let access = |recorder: &mut Recorder, block: u32| {
            recorder.access(&Access {
                site: Site(block),
                who: WarpRef {
                    block: BlockId(block),
                    warp: WarpId(0),
                },
                mask: 0b1100,
                space: Space::Global,
                address: &[0; 32],
                neighbours: None,
                element: 4,
                elements: 1,
                kind: Write,
                non_coherent: false,
                order: Weak,
                scope: Sys,
                wrote: 0b1100,
                dropped: 0,
                initial: 0,
                stores: None,
            });
        };
        (0..3).for_each(|block| access(&mut forward, block));
        let mut fork = backward.fork();
        access(&mut fork, 2);
        access(&mut backward, 1);
        backward.merge(fork);
        let mut fork = backward.fork();
        access(&mut fork, 0);
        backward.merge(fork);
        let (a, b) = (forward.finish(), backward.finish());
        assert_eq!(a.of_piece(0), b.of_piece(0));
        let [kept] = a.of_piece(0) else {
            panic!("{a:?}");
        };
        assert_eq!((kept.block, kept.thread), (BlockId(0), ThreadId(2)));
    }
}
