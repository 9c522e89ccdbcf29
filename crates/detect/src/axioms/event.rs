//! Events of a program, and what is the same in all its executions.

use super::program::Op::*;
use super::program::{Op, Program};
use simt::observer::*;

#[derive(Clone, Copy, Debug)]
pub(super) struct Event {
    pub(super) thread: usize,
    pub(super) op: Op,
}

/// Pairs of events, as rows of bits.
#[derive(Clone, Debug)]
pub(super) struct Relation(pub(super) Vec<u32>);

impl Relation {
    pub(super) fn new(n: usize) -> Relation {
        Relation(vec![0; n])
    }
    pub(super) fn add(&mut self, a: usize, b: usize) {
        self.0[a] |= 1 << b;
    }
    pub(super) fn has(&self, a: usize, b: usize) -> bool {
        self.0[a] >> b & 1 == 1
    }
    pub(super) fn close(&mut self) {
        for k in 0..self.0.len() {
            let through = self.0[k];
            for row in &mut self.0 {
                if *row >> k & 1 == 1 {
                    *row |= through;
                }
            }
        }
    }
    pub(super) fn is_cyclic(&self) -> bool {
        let mut closed = self.clone();
        closed.close();
        (0..self.0.len()).any(|a| closed.has(a, a))
    }
}

/// A program's events and what is the same in all its executions.
pub(super) struct Events<'p> {
    pub(super) program: &'p Program,
    pub(super) all: Vec<Event>,
    /// Program order, and the order of barriers.
    pub(super) fixed: Relation,
    pub(super) program_order: Relation,
}

pub(super) fn is_wide(scope: Scope) -> bool {
    matches!(scope, Scope::Gpu | Scope::Sys)
}

impl Events<'_> {
    pub(super) fn of(program: &Program) -> Events<'_> {
        let mut all = Vec::new();
        // Of each thread and barrier, how many came before.
        let mut meetings: Vec<(usize, Op, usize, usize)> = Vec::new();
        for (thread, ops) in program.threads.iter().enumerate() {
            let (mut blocks, mut warps) = (0, 0);
            for op in ops {
                match op {
                    Block => {
                        meetings.push((thread, Block, blocks, all.len()));
                        blocks += 1;
                    }
                    Warp => {
                        meetings.push((thread, Warp, warps, all.len()));
                        warps += 1;
                    }
                    _ => {}
                }
                all.push(Event { thread, op: *op });
            }
        }
        let n = all.len();
        let mut program_order = Relation::new(n);
        for a in 0..n {
            for b in a + 1..n {
                if all[a].thread == all[b].thread {
                    program_order.add(a, b);
                }
            }
        }
        let mut fixed = program_order.clone();
        for (t, op, k, at) in &meetings {
            for (u, other, l, there) in &meetings {
                let (p, q) = (program.places[*t], program.places[*u]);
                let together = match op {
                    Block => p.0 == q.0,
                    _ => (p.0, p.1) == (q.0, q.1),
                };
                if t == u || op != other || k != l || !together {
                    continue;
                }
                // What is before the barrier in one thread is before what is after it in the other.
                for a in 0..n {
                    for b in 0..n {
                        if program_order.has(a, *at) && program_order.has(*there, b) {
                            fixed.add(a, b);
                        }
                    }
                }
            }
        }
        Events {
            program,
            all,
            fixed,
            program_order,
        }
    }

    pub(super) fn location(&self, e: usize) -> Option<usize> {
        match self.all[e].op {
            Access(_, location, ..) => Some(location),
            _ => None,
        }
    }
    pub(super) fn reads(&self, e: usize) -> bool {
        matches!(self.all[e].op, Access(kind, ..) if kind != AccessKind::Write)
    }
    pub(super) fn writes(&self, e: usize) -> bool {
        matches!(self.all[e].op, Access(kind, ..) if kind != AccessKind::Read)
    }
    pub(super) fn is_rmw(&self, e: usize) -> bool {
        self.reads(e) && self.writes(e)
    }
    pub(super) fn spins(&self, e: usize) -> bool {
        matches!(self.all[e].op, Access(_, _, _, _, true))
    }
    pub(super) fn is_sc(&self, e: usize) -> bool {
        matches!(self.all[e].op, Fence(FenceOrder::Sc, _))
    }
    /// Scope of a strong operation.
    pub(super) fn scope(&self, e: usize) -> Option<Scope> {
        match self.all[e].op {
            Access(_, _, Order::Weak, ..) | Block | Warp => None,
            Access(_, _, _, scope, _) | Fence(_, scope) => Some(scope),
        }
    }
    /// "Morally strong operations": strong, each scope including the other's thread; memory operations overlap completely, as
    /// all at one location do here.
    pub(super) fn morally_strong(&self, a: usize, b: usize) -> bool {
        let block = |e: usize| self.program.places[self.all[e].thread].0;
        match (self.scope(a), self.scope(b)) {
            (Some(s), Some(t)) => block(a) == block(b) || is_wide(s) && is_wide(t),
            _ => false,
        }
    }
    pub(super) fn overlap(&self, a: usize, b: usize) -> bool {
        self.location(a).is_some() && self.location(a) == self.location(b)
    }
    /// "Release and Acquire Patterns": first operation, write.
    pub(super) fn release_patterns(&self) -> Vec<(usize, usize)> {
        let mut all = Vec::new();
        for w in 0..self.all.len() {
            if !(self.writes(w) && self.scope(w).is_some()) {
                continue;
            }
            for first in 0..self.all.len() {
                let begins = match self.all[first].op {
                    Fence(order, _) => order != FenceOrder::Acquire,
                    Access(_, _, order, ..) => order.releases() && self.overlap(first, w),
                    _ => false,
                };
                if begins && (first == w || self.program_order.has(first, w)) {
                    all.push((first, w));
                }
            }
        }
        all
    }
    /// Read, last operation. The read of `red` is part of none.
    pub(super) fn acquire_patterns(&self) -> Vec<(usize, usize)> {
        let mut all = Vec::new();
        for r in 0..self.all.len() {
            let reduction = matches!(self.all[r].op, Access(AccessKind::Reduction, ..));
            if !self.reads(r) || self.scope(r).is_none() || reduction {
                continue;
            }
            for last in 0..self.all.len() {
                let ends = match self.all[last].op {
                    Fence(order, _) => order != FenceOrder::Release,
                    Access(kind, _, order, ..) => {
                        order.acquires()
                            && self.overlap(r, last)
                            && kind != AccessKind::Reduction
                            && kind != AccessKind::Write
                    }
                    _ => false,
                };
                if ends && (last == r || self.program_order.has(r, last)) {
                    all.push((r, last));
                }
            }
        }
        all
    }
}
