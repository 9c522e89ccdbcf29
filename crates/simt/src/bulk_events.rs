//! What observers are told of bulk copies and what is like them, whichever engine performs them: the accesses of one lane.

use super::alu::Row64;
use super::ids::*;
use super::observer::*;
use super::op::{AddressSpace, BulkOp};
use super::operations::Run;
use super::program::Program;

/// One lane's operation.
pub(crate) struct Bulk<'b> {
    pub program: &'b Program,
    pub op: &'b BulkOp,
    pub who: WarpRef,
    pub lane: usize,
    pub site: Site,
    pub runs: &'b [Run],
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
        let row = |at: u64| -> Row64 { [at; LANES] };
        let from: Vec<Row64> = self.runs.iter().map(|run| row(run.from)).collect();
        let to: Vec<Row64> = self.runs.iter().map(|run| row(run.to)).collect();
        let reads = self
            .runs
            .iter()
            .zip(&from)
            .filter(|_| self.op.read.is_some());
        let reads: Vec<Access<'_>> = reads
            .map(|(run, row)| self.access(true, run.bytes, row))
            .collect();
        let writes = self.runs.iter().zip(&to);
        let writes: Vec<Access<'_>> = writes
            .map(|(run, row)| self.access(false, run.bytes, row))
            .collect();
        observer.copy_begins(&AsyncCopy {
            number,
            reads: &reads,
            writes: &writes,
            // "The cp{.reduce}.async.bulk operations are performed in the async proxy" ("Async proxy"); `st.async` and `red.async` are not.
            proxy: self.op.read.is_some(),
        });
    }

    /// It has been performed: what it did to memory.
    pub fn performed(&self, observer: &mut impl Events) {
        for run in self.runs {
            if self.op.read.is_some() {
                let row = [run.from; LANES];
                (self.access(true, run.bytes, &row)).split(|piece| observer.access(piece));
            }
            let row = [run.to; LANES];
            (self.access(false, run.bytes, &row)).split(|piece| observer.access(piece));
        }
    }

    fn access<'r>(&self, reads: bool, bytes: u32, row: &'r Row64) -> Access<'r> {
        let mask = 1 << self.lane;
        let ops = &self.program.memory_ops;
        let index = match (reads, self.op.read) {
            (true, Some(read)) => read,
            _ => self.op.write,
        };
        let kind = match (reads, &self.op.reduce) {
            (true, _) => AccessKind::Read,
            (false, None) => AccessKind::Write,
            (false, Some(_)) => AccessKind::Reduction,
        };
        let (order, scope) = match kind {
            // "Each reduction operation … has .relaxed.gpu memory ordering semantics" ("cp.reduce.async.bulk"); `red.async`: `.relaxed.cluster`.
            AccessKind::Reduction => (Order::Relaxed, Scope::Gpu),
            _ => (Order::Weak, Scope::Sys),
        };
        // Words, or the largest elements that its ends are multiples of.
        let fits =
            |size: &u32| row[0].is_multiple_of((*size).into()) && bytes.is_multiple_of(*size);
        let element = match &self.op.reduce {
            Some((_, element)) if !reads => u32::from(*element),
            _ => [4, 2].into_iter().find(fits).unwrap_or(1),
        };
        Access {
            site: self.site,
            who: self.who,
            mask,
            space: space_of(ops[index as usize].space),
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
