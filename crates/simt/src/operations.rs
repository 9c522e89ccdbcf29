//! Asynchronous operations that a warp has begun and not completed (PTX ISA, "Asynchronous Operations", "Data Movement and Conversion
//! Instructions: Asynchronous copy").
//!
//! A thread begins an operation and learns of its completion in one of the ways that [`Completion`] lists. In between it may be performed
//! at any time. Here the schedule says when ([`Moment`]): as late as anybody can wait for it, so that a program that forgets to wait sees old
//! values; or at once, so that a program that begins it too early sees new ones.
//!
//! They are kept by the warp that has begun them. Those that complete a phase of an mbarrier are performed when any thread of the block asks
//! for the phase.

mod registers;

pub(crate) use registers::Registers;

use super::alu::Row64;
use super::async_copies::Rows;
use super::ids::*;
use super::op::Reduction;
use std::collections::VecDeque;

/// Operations that a warp may have begun and not completed. A program that begins more has the oldest ones performed early, which is as legal.
const ROOM: usize = 1024;

/// When operations are performed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Moment {
    /// As late as the manual lets them be.
    #[default]
    Late,
    /// When they are begun.
    AtOnce,
    /// Some at once and others late, by who begins them and how many it has begun: the same in each run of a program.
    Mixed,
}

impl Moment {
    /// Whether the operation with this number of a warp is performed at once.
    pub fn is_now(self, block: BlockId, warp: usize, number: u64) -> bool {
        match self {
            Moment::Late => false,
            Moment::AtOnce => true,
            Moment::Mixed => {
                let key = u64::from(block.0) << 40 ^ (warp as u64) << 32 ^ number;
                key.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 63 == 1
            }
        }
    }
}

/// What threads wait for in groups.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Group {
    /// `cp.async`
    Copy,
    /// `cp.async.bulk`, `cp.reduce.async.bulk`
    Bulk,
    /// `wgmma.mma_async`
    Product,
}

/// Where a run's bytes come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Source {
    /// An offset in the space that is read.
    At(u64),
    /// Nowhere: these eight bytes again and again, in the place of what a tensor has not.
    Fill(u64),
}

/// Adjacent bytes that an operation moves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Run {
    pub from: Source,
    /// Their destination.
    pub to: u64,
    pub bytes: u32,
}

impl Run {
    /// How its bytes are combined or converted: what is filled in comes as it is.
    pub fn combines<'r>(&self, reduction: Option<&'r Reduction>) -> Option<&'r Reduction> {
        match self.from {
            Source::At(_) => reduction,
            Source::Fill(_) => None,
        }
    }
}

/// What an operation does.
#[derive(Clone, Debug)]
pub(crate) enum Work {
    /// `cp.async`
    Rows(Box<Rows>),
    /// A lane's bulk or tensor copy, reduction or asynchronous store: an index into [`super::Program::bulk_ops`], what is moved, how it is combined
    /// with what is there or converted on its way, and where the source has been read already, its bytes.
    Runs {
        op: u32,
        runs: Vec<Run>,
        reduce: Option<Reduction>,
        read: Option<Vec<u8>>,
        /// Whether the destination has been written.
        written: bool,
    },
    /// `wgmma.mma_async`
    Product(Box<Multiplication>),
    /// Nothing but completing: `cp.async.mbarrier.arrive`.
    Nothing,
}

/// A warp's part of a product of its warpgroup.
#[derive(Clone, Debug)]
pub(crate) struct Multiplication {
    /// Index into [`super::Program::group_products`].
    pub op: u32,
    /// Where the pieces of its factors are in shared memory, in their order.
    pub a: Vec<u64>,
    pub b: Vec<u64>,
    /// Whether it is added to what is there.
    pub adds: bool,
    /// Whether it has been performed.
    pub done: bool,
    /// Whether its reads have been told: some warp of the warpgroup has waited for it.
    pub told: bool,
}

/// How anybody learns that an operation is complete (PTX ISA, "Async Operation Completion Mechanisms").
#[derive(Clone, Debug)]
pub(crate) enum Completion {
    /// Its thread waits for the group that it is in: for each lane, how many groups of the kind it had closed before.
    Group { kind: Group, closed: [u32; LANES] },
    /// It arrives at mbarriers of its block: the objects by lane, what it does to them (an index into [`super::Program::atomic_ops`]), and by how
    /// much.
    Phase {
        objects: Row64,
        update: u32,
        by: u64,
        /// Whether earlier `cp.async` of the lanes complete with it.
        copies: bool,
    },
}

/// What one warp-instruction has begun.
#[derive(Clone, Debug)]
pub(crate) struct Operation {
    /// Its number among those of its warp.
    pub number: u64,
    pub site: Site,
    /// The lanes for which it is not complete.
    pub mask: Mask,
    pub work: Work,
    pub completes: Completion,
}

/// Those of a warp.
#[derive(Debug, Default)]
pub(crate) struct Operations {
    pending: VecDeque<Operation>,
    /// Copies that have arrived at an mbarrier, and that their lanes have not waited for.
    arrived: VecDeque<Operation>,
    /// For each kind of group and lane, groups that it has closed.
    closed: [[u32; LANES]; 3],
    begun: u64,
    /// What products of its warpgroup use.
    pub registers: Registers,
}

impl Operations {
    /// The number of the next operation.
    pub fn next(&self) -> u64 {
        self.begun
    }

    /// Completion with the group of this kind that each lane closes next.
    pub fn in_group(&self, kind: Group) -> Completion {
        let closed = self.closed[kind as usize];
        Completion::Group { kind, closed }
    }

    /// Keeps an operation. If there is no room, gives back the oldest one, to be performed now.
    pub fn begin(&mut self, mut operation: Operation) -> Option<Operation> {
        operation.number = self.begun;
        self.begun += 1;
        self.pending.push_back(operation);
        (self.pending.len() > ROOM).then(|| self.pending.pop_front())?
    }

    /// `cp.async.commit_group`, `cp.async.bulk.commit_group`
    pub fn close_group(&mut self, kind: Group, lanes: Mask) {
        for (lane, closed) in self.closed[kind as usize].iter_mut().enumerate() {
            *closed += lanes >> lane & 1;
        }
    }

    /// `cp.async.wait_group`, `cp.async.bulk.wait_group`: takes out what the lanes wait for, all groups but their `newest` ones, the oldest first.
    pub fn wait(&mut self, kind: Group, lanes: Mask, newest: u32) -> Vec<Operation> {
        let closed = &self.closed[kind as usize];
        take(&mut self.pending, |o| o.over(kind, closed, newest) & lanes)
    }

    /// `cp.async.bulk.wait_group.read`: those whose sources are to have been read, as [`Operations::wait`] would take them out.
    pub fn reading(&mut self, lanes: Mask, newest: u32) -> impl Iterator<Item = &mut Operation> {
        let closed = &self.closed[Group::Bulk as usize];
        let pending = self.pending.iter_mut();
        pending.filter(move |o| o.over(Group::Bulk, closed, newest) & lanes & o.mask != 0)
    }

    /// The same as [`Operations::wait`], of copies that have arrived at an mbarrier.
    pub fn wait_for_arrived(&mut self, lanes: Mask, newest: u32) -> Vec<Operation> {
        let closed = &self.closed[Group::Copy as usize];
        take(&mut self.arrived, |o| {
            o.over(Group::Copy, closed, newest) & lanes
        })
    }

    /// Keeps a copy that has arrived at an mbarrier; of too many, the newest ones.
    pub fn keep_arrived(&mut self, copy: Operation) {
        self.arrived.push_back(copy);
        if self.arrived.len() > ROOM {
            self.arrived.pop_front();
        }
    }

    /// Takes out the oldest operation, for the lanes that arrive at this mbarrier.
    pub fn take_at(&mut self, object: u64) -> Option<Operation> {
        let at = |o: &Operation| o.mask & o.lanes_at(object) != 0;
        let first = self.pending.iter().position(at)?;
        let number = self.pending[first].number;
        let of_it = |o: &Operation| match o.number == number {
            true => o.lanes_at(object),
            false => 0,
        };
        take(&mut self.pending, of_it).pop()
    }

    /// Products, the oldest first.
    pub fn products(&mut self) -> impl Iterator<Item = &mut Operation> {
        let all = self.pending.iter_mut();
        all.filter(|o| matches!(o.work, Work::Product(_)))
    }

    /// Products in the groups before this one, the oldest first.
    pub fn products_before(&mut self, group: u32) -> impl Iterator<Item = &mut Operation> {
        self.products().filter(move |o| o.group() < Some(group))
    }

    /// How many groups of this kind a lane has closed.
    pub fn closed(&self, kind: Group, lane: usize) -> u32 {
        self.closed[kind as usize][lane]
    }

    /// The operation of this number.
    pub fn numbered(&mut self, number: u64) -> Option<&mut Operation> {
        self.pending.iter_mut().find(|o| o.number == number)
    }

    /// Takes out the operation that was begun last.
    pub fn take_last(&mut self) -> Option<Operation> {
        self.pending.pop_back()
    }

    /// Puts back what [`Operations::take_last`] has taken.
    pub fn put_back(&mut self, operation: Operation) {
        self.pending.push_back(operation);
    }

    /// Takes out the `cp.async` that lanes have begun before the operation of this number, which complete with it.
    pub fn take_copies(&mut self, lanes: Mask, before: u64) -> Vec<Operation> {
        take(&mut self.pending, |o| match &o.work {
            Work::Rows(_) if o.number < before => lanes,
            _ => 0,
        })
    }

    /// Takes out the oldest arrival after copies that lanes have begun before the operation of this number. It has to come first: the copies that it
    /// waits for are complete, too.
    pub fn take_arrival(&mut self, lanes: Mask, before: u64) -> Option<Operation> {
        let arrives = |o: &Operation| {
            let later = matches!(o.completes, Completion::Phase { copies: true, .. });
            later && o.number < before && o.mask & lanes != 0
        };
        let number = self.pending.iter().find(|o| arrives(o))?.number;
        let of_it = |o: &Operation| match o.number == number {
            true => lanes,
            false => 0,
        };
        take(&mut self.pending, of_it).pop()
    }

    /// Takes out what nobody has waited for.
    pub fn take_rest(&mut self) -> impl Iterator<Item = Operation> {
        std::mem::take(&mut self.pending).into_iter()
    }
}

/// Takes out of some operations the lanes that `of_it` says, the oldest operation first.
fn take(
    operations: &mut VecDeque<Operation>,
    of_it: impl Fn(&Operation) -> Mask,
) -> Vec<Operation> {
    let mut taken = Vec::new();
    for operation in operations.iter_mut() {
        let lanes = of_it(operation) & operation.mask;
        if lanes != 0 {
            operation.mask &= !lanes;
            taken.push(Operation {
                mask: lanes,
                ..operation.clone()
            });
        }
    }
    if !taken.is_empty() {
        operations.retain(|o| o.mask != 0);
    }
    taken
}

impl Operation {
    /// One to begin.
    pub fn new(site: Site, mask: Mask, work: Work, completes: Completion) -> Operation {
        Operation {
            number: 0,
            site,
            mask,
            work,
            completes,
        }
    }

    /// The lanes whose group is among all but the `newest` ones that they have closed.
    fn over(&self, kind: Group, closed: &[u32; LANES], newest: u32) -> Mask {
        match &self.completes {
            Completion::Group {
                kind: own,
                closed: before,
            } if *own == kind => (0..LANES).fold(0, |m, lane| {
                let over = before[lane].saturating_add(newest) < closed[lane];
                m | Mask::from(over) << lane
            }),
            _ => 0,
        }
    }

    /// The number of the group of its first lane.
    fn group(&self) -> Option<u32> {
        match &self.completes {
            Completion::Group { closed, .. } => {
                Some(closed[self.mask.trailing_zeros() as usize % LANES])
            }
            Completion::Phase { .. } => None,
        }
    }

    /// The lanes that arrive at an mbarrier.
    fn lanes_at(&self, object: u64) -> Mask {
        match &self.completes {
            Completion::Phase { objects, .. } => {
                (0..LANES).fold(0, |m, lane| m | Mask::from(objects[lane] == object) << lane)
            }
            Completion::Group { .. } => 0,
        }
    }
}

/// Words of 16 bytes, or of as many as a run is aligned to: where each begins in its space, and its size.
pub(crate) fn pieces(at: u64, bytes: u32) -> impl Iterator<Item = (u64, u32)> {
    let end = at + u64::from(bytes);
    let mut next = at;
    std::iter::from_fn(move || {
        if next >= end {
            return None;
        }
        let here = next;
        let fits = |size: &u64| here.is_multiple_of(*size) && here + size <= end;
        let size = [16, 8, 4, 2].into_iter().find(fits).unwrap_or(1);
        next += size;
        Some((here, size as u32))
    })
}

/// What [`Work::Runs`] moves in all.
pub(crate) fn total(runs: &[Run]) -> usize {
    runs.iter().map(|run| run.bytes as usize).sum()
}

/// What runs read, from where on and how many bytes: as few pieces as there can be, in the order of their addresses.
pub(crate) fn sources(runs: &[Run]) -> Vec<(u64, u32)> {
    let read = |run: &Run| match run.from {
        Source::At(at) => Some((at, run.bytes)),
        Source::Fill(_) => None,
    };
    joined(runs.iter().filter_map(read).collect())
}

/// What runs write.
pub(crate) fn destinations(runs: &[Run]) -> Vec<(u64, u32)> {
    joined(runs.iter().map(|run| (run.to, run.bytes)).collect())
}

fn joined(mut places: Vec<(u64, u32)>) -> Vec<(u64, u32)> {
    if places.len() < 2 {
        return places;
    }
    places.sort_unstable();
    let mut all: Vec<(u64, u32)> = Vec::new();
    for (at, bytes) in places {
        match all.last_mut() {
            Some((first, known)) if *first + u64::from(*known) == at => *known += bytes,
            _ => all.push((at, bytes)),
        }
    }
    all
}

/// Combines what a destination holds with what a reduction brings, element after element: bytes of both, the same number.
pub(crate) fn reduce(reduction: Option<&Reduction>, to: &mut [u8], by: &[u8]) {
    let Some((f, element)) = reduction else {
        return to.copy_from_slice(by);
    };
    let number = |bytes: &[u8]| {
        let mut number = [0; 8];
        number[..bytes.len()].copy_from_slice(bytes);
        u64::from_le_bytes(number)
    };
    let size = usize::from(*element);
    for (to, by) in to.chunks_exact_mut(size).zip(by.chunks_exact(size)) {
        let new = f.apply(number(to), number(by)).to_le_bytes();
        to.copy_from_slice(&new[..size]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn copy(operations: &Operations, mask: Mask) -> Operation {
        let rows = Rows {
            op: 0,
            from: [0; LANES],
            to: [0; LANES],
            bytes: [16; LANES],
        };
        let completes = operations.in_group(Group::Copy);
        Operation::new(Site(0), mask, Work::Rows(Box::new(rows)), completes)
    }

    fn begin(operations: &mut Operations, mask: Mask) -> Option<u64> {
        let copy = copy(operations, mask);
        operations.begin(copy).map(|o| o.number)
    }

    fn masks(operations: &[Operation]) -> Vec<(u64, Mask)> {
        operations.iter().map(|c| (c.number, c.mask)).collect()
    }

    #[test]
    fn a_lane_waits_for_all_but_its_newest_groups() {
        let mut all = Operations::default();
        begin(&mut all, 0b11);
        all.close_group(Group::Copy, 0b11);
        begin(&mut all, 0b11);
        all.close_group(Group::Copy, 0b01);
        // Of lane 1 the second copy is in no group yet.
        assert_eq!(masks(&all.wait(Group::Copy, 0b11, 1)), [(0, 0b01)]);
        let rest = all.wait(Group::Copy, 0b11, 0);
        assert_eq!(masks(&rest), [(0, 0b10), (1, 0b01)]);
        assert_eq!(masks(&all.wait(Group::Copy, 0b11, 0)), []);
        all.close_group(Group::Copy, 0b10);
        assert_eq!(masks(&all.wait(Group::Copy, 0b10, 0)), [(1, 0b10)]);
    }

    #[test]
    fn an_empty_group_counts_and_another_kind_of_group_does_not() {
        let mut all = Operations::default();
        begin(&mut all, 1);
        all.close_group(Group::Copy, 1);
        all.close_group(Group::Bulk, 1);
        assert_eq!(masks(&all.wait(Group::Bulk, 1, 0)), []);
        assert_eq!(masks(&all.wait(Group::Copy, 1, 1)), []);
        all.close_group(Group::Copy, 1);
        assert_eq!(masks(&all.wait(Group::Copy, 1, 1)), [(0, 1)]);
    }

    #[test]
    fn the_oldest_makes_room() {
        let mut all = Operations::default();
        for _ in 0..ROOM {
            assert_eq!(begin(&mut all, 1), None);
        }
        assert_eq!(begin(&mut all, 1), Some(0));
    }

    #[test]
    fn copies_arrive_at_the_mbarrier_of_each_lane_and_not_those_begun_later() {
        let mut all = Operations::default();
        begin(&mut all, 0b11);
        let mut objects = [8; LANES];
        objects[1] = 16;
        let completes = Completion::Phase {
            objects,
            update: 0,
            by: 1,
            copies: true,
        };
        all.begin(Operation::new(Site(1), 0b11, Work::Nothing, completes));
        begin(&mut all, 0b11);
        let arrival = all.take_at(16).map(|o| (o.number, o.mask));
        assert_eq!(arrival, Some((1, 0b10)));
        assert_eq!(masks(&all.take_copies(0b10, 1)), [(0, 0b10)]);
        assert!(all.take_at(16).is_none());
        assert_eq!(all.take_at(8).map(|o| o.mask), Some(0b01));
        assert_eq!(
            all.take_rest().map(|o| o.number).collect::<Vec<_>>(),
            [0, 2]
        );
    }

    #[test]
    fn arrivals_come_in_the_order_in_which_they_were_begun() {
        let mut all = Operations::default();
        for object in [8, 16] {
            begin(&mut all, 0b11);
            let completes = Completion::Phase {
                objects: [object; LANES],
                update: 0,
                by: 1,
                copies: true,
            };
            all.begin(Operation::new(Site(1), 0b11, Work::Nothing, completes));
        }
        let second = all.take_at(16).map(|o| (o.number, o.mask));
        assert_eq!(second, Some((3, 0b11)));
        let first = all.take_arrival(0b10, 3).map(|o| (o.number, o.mask));
        assert_eq!(first, Some((1, 0b10)));
        assert!(all.take_arrival(0b10, 3).is_none());
    }

    #[test]
    fn pieces_are_aligned_and_cover_a_run() {
        for at in 0..20u64 {
            for bytes in 0..50u32 {
                let mut next = at;
                for (here, size) in pieces(at, bytes) {
                    assert!(here == next && here.is_multiple_of(size.into()));
                    next += u64::from(size);
                }
                assert_eq!(next, at + u64::from(bytes));
            }
        }
        assert_eq!(pieces(32, 48).count(), 3);
    }
}
