//! What observers are told of bulk copies and what is like them, whichever engine performs them: the accesses of one lane.

use super::alu::Row64;
use super::ids::*;
use super::observer::*;
use super::op::{AddressSpace, BulkOp, Reduction};
use super::operations::{Operation, Run, Work, destinations, sources};
use super::program::Program;

/// One lane's operation.
pub(crate) struct Bulk<'b> {
    pub program: &'b Program,
    pub op: &'b BulkOp,
    pub who: WarpRef,
    pub lane: usize,
    pub site: Site,
    pub runs: &'b [Run],
    pub reduce: Option<&'b Reduction>,
}

impl<'b> Bulk<'b> {
    /// That of a warp, if it moves something.
    pub fn of(program: &'b Program, who: WarpRef, operation: &'b Operation) -> Option<Bulk<'b>> {
        let Work::Runs {
            op, runs, reduce, ..
        } = &operation.work
        else {
            return None;
        };
        Some(Bulk {
            program,
            op: &program.bulk_ops[*op as usize],
            who,
            lane: operation.mask.trailing_zeros() as usize,
            site: operation.site,
            runs,
            reduce: reduce.as_ref(),
        })
    }
}

/// Adjacent bytes as an access has them.
struct Place {
    row: Row64,
    bytes: u32,
}

/// A space as observers name it.
pub(crate) fn space_of(space: AddressSpace) -> Space {
    match space {
        AddressSpace::Shared => Space::Shared,
        _ => Space::Global,
    }
}

impl Bulk<'_> {
    /// It begins.
    pub fn begins(&self, observer: &mut impl Events, number: u64) {
        let (reads, writes) = (self.reads(), self.writes());
        let reads: Vec<Access<'_>> = reads.iter().map(|p| self.access(true, p)).collect();
        let writes: Vec<Access<'_>> = writes.iter().map(|p| self.access(false, p)).collect();
        observer.copy_begins(&AsyncCopy {
            number,
            reads: &reads,
            writes: &writes,
            // "The cp{.reduce}.async.bulk operations are performed in the async proxy" ("Async proxy"); `st.async` and `red.async` are not.
            proxy: self.op.read.is_some(),
            product: false,
        });
    }

    /// It has been performed: what it did to memory.
    pub fn performed(&self, observer: &mut impl Events) {
        for (place, reads) in
            (self.reads().iter().map(|p| (p, true))).chain(self.writes().iter().map(|p| (p, false)))
        {
            (self.access(reads, place)).split(|piece| observer.access(piece));
        }
    }

    fn reads(&self) -> Vec<Place> {
        match self.op.read {
            Some(_) => self.places(sources(self.runs), true),
            None => Vec::new(),
        }
    }

    fn writes(&self) -> Vec<Place> {
        self.places(destinations(self.runs), false)
    }

    /// As accesses. A tensor's rows may begin and end anywhere, and what observers remember is larger than a byte: such an end counts whole.
    fn places(&self, places: Vec<(u64, u32)>, reads: bool) -> Vec<Place> {
        let tensor = self.op.tensor.is_some() && self.space(reads) == Space::Global;
        let granule = match tensor {
            true => u64::from(self.program.facts.global_granule.clamp(1, 4)),
            false => 1,
        };
        let place = |(at, bytes): (u64, u32)| {
            let from = at - at % granule;
            let until = (at + u64::from(bytes)).next_multiple_of(granule);
            Place {
                row: [from; LANES],
                bytes: (until - from) as u32,
            }
        };
        places.into_iter().map(place).collect()
    }

    /// The part of the instruction that reads, or that writes.
    fn part(&self, reads: bool) -> u32 {
        match (reads, self.op.read) {
            (true, Some(read)) => read,
            _ => self.op.write,
        }
    }

    fn space(&self, reads: bool) -> Space {
        space_of(self.program.memory_ops[self.part(reads) as usize].space)
    }

    fn access<'r>(&self, reads: bool, place: &'r Place) -> Access<'r> {
        let mask = 1 << self.lane;
        let Place { row, bytes } = place;
        let kind = match (reads, self.op.is_reduction()) {
            (true, _) => AccessKind::Read,
            (false, false) => AccessKind::Write,
            (false, true) => AccessKind::Reduction,
        };
        let (order, scope) = match kind {
            // "Each reduction operation … has .relaxed.gpu memory ordering semantics" ("cp.reduce.async.bulk"); `red.async`: `.relaxed.cluster`.
            AccessKind::Reduction => (Order::Relaxed, Scope::Gpu),
            _ => (Order::Weak, Scope::Sys),
        };
        // Words, or the largest elements that its ends are multiples of.
        let fits =
            |size: &u32| row[0].is_multiple_of((*size).into()) && bytes.is_multiple_of(*size);
        let element = match self.reduce {
            Some((_, element)) if kind == AccessKind::Reduction => u32::from(*element),
            _ => [4, 2].into_iter().find(fits).unwrap_or(1),
        };
        Access {
            site: self.site,
            who: self.who,
            mask,
            space: self.space(reads),
            address: row,
            neighbours: None,
            element,
            elements: bytes / element,
            kind,
            non_coherent: false,
            fragment: false,
            asynchronous: true,
            order,
            scope,
            wrote: if reads { 0 } else { mask },
            dropped: 0,
            initial: 0,
            stores: None,
        }
    }
}
