//! What order-dependent values reach: the static half of the promises about schedules.
//!
//! A value is *order-dependent* if another schedule could give another one: what a strong read returned from a location where
//! something unordered with it writes, clocks, `%smid`, `%warpid`, `activemask`, addresses from device `malloc` that several
//! threads ask for, and all that is computed from such values. Which reads those are is judged after a run, by what it did to each
//! location; an observer fills in [`OrderSources`]. From there this module follows values through the program: through
//! registers (the carry flag among them) without regard to order, through memory by state space.
//!
//! If none of them decides control flow or an address, every thread executes the same instructions on the same locations in every
//! schedule, so what the run did to a location is what every run does to it.
//!
//! Blind spot: memory is followed by state space, so one order-dependent word in global memory makes all later loads from
//! global memory order-dependent. That errs on the side of promising less.

use super::def_use::{Use, visit_operands};
use super::reaching_values::{Queue, Readers};
use crate::alu::AluOp;
use crate::ids::Site;
use crate::observer::Order;
use crate::op::*;
use crate::program::Program;
use std::collections::{BTreeSet, HashSet};

/// Where order-dependent values came from in a run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OrderSources {
    /// Reads that returned what depends on the order of threads.
    pub reads: BTreeSet<Site>,
    /// Shared memory holds values that depend on it.
    pub shared: bool,
    /// Global memory does.
    pub global: bool,
    /// What was printed does.
    pub output: bool,
    /// Conflicting accesses were ordered by a communication that could have gone the other way, or more happened than is
    /// remembered.
    pub communication: bool,
}

impl OrderSources {
    /// Adds those of another part of the run.
    pub fn merge(&mut self, other: OrderSources) {
        self.reads.extend(other.reads);
        self.shared |= other.shared;
        self.global |= other.global;
        self.output |= other.output;
        self.communication |= other.communication;
    }
}

/// What depends on the order of threads.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Dependence {
    /// Control flow, an address, or who synchronises with whom.
    pub steered: bool,
    /// What is in global memory at the end, or was printed.
    pub results: bool,
}

/// The carry flag (PTX ISA, "Extended-Precision Integer Arithmetic Instructions").
const CARRY: Row = (3, 0);

const SHARED: usize = 0;
const GLOBAL: usize = 1;
const LOCAL: usize = 2;

/// Follows order-dependent values from where a run found them.
pub fn dependence(program: &Program, sources: &OrderSources) -> Dependence {
    let mut found = Dependence {
        steered: sources.communication || has_named_barriers(program),
        results: sources.global || sources.output,
    };
    let mut tainted: HashSet<Row> = HashSet::new();
    let mut memory = [sources.shared, sources.global, false];
    let readers = Readers::of(program);
    let carriers: Vec<usize> = (0..program.code.len())
        .filter(|at| carries(&program.code[*at].op))
        .collect();
    // Those whose answer depends on what lies in memory.
    let looks: Vec<usize> = (0..program.code.len())
        .filter(|at| looks_at_memory(program, &program.code[*at].op))
        .collect();
    let mut queue = Queue::all(program);
    while let Some(at) = queue.pop() {
        let i = &program.code[at];
        let before = memory;
        let (mut from_taint, mut escapes) = (false, false);
        let mut look = |r: Row, what: Use| {
            if tainted.contains(&r) {
                from_taint = true;
                found.steered |= matches!(what, Use::Control | Use::Address);
                escapes |= what == Use::Escape;
            }
        };
        visit_operands(program, i, &mut look, &mut |_| {});
        let carries = carries(&i.op);
        if carries {
            look(CARRY, Use::Data);
        }
        let mut source = from_taint || sources.reads.contains(&i.site);
        // Its result passes through local memory, too.
        memory[LOCAL] |= source && matches!(i.op, Op::System(_));
        match &i.op {
            Op::Memory(index) => {
                let m = &program.memory_ops[*index as usize];
                if m.store {
                    if escapes {
                        spaces(m.space).for_each(|s| memory[s] = true);
                        found.results |= may_be(m.space, AddressSpace::Global);
                        // Whether two strong stores differ is what the rule on unordered communication looks at.
                        found.steered |= m.order.is_strong() && m.space.is_between_threads();
                    }
                    source = false;
                } else {
                    source |= spaces(m.space).any(|s| memory[s]);
                }
            }
            Op::Atomic(index) => {
                let a = &program.atomic_ops[*index as usize];
                if escapes {
                    spaces(a.space).for_each(|s| memory[s] = true);
                    found.results |= may_be(a.space, AddressSpace::Global);
                }
                source |= spaces(a.space).any(|s| memory[s]);
            }
            Op::Image(index) => {
                if program.image_ops[*index as usize].kind == ImageKind::Store {
                    memory[GLOBAL] |= escapes;
                    found.results |= escapes;
                    source = false;
                } else {
                    source |= memory[GLOBAL];
                }
            }
            Op::AsyncCopy(_) => memory[SHARED] |= escapes || memory[GLOBAL],
            Op::Bulk(index) => {
                let b = &program.bulk_ops[*index as usize];
                let write = &program.memory_ops[b.write as usize];
                if escapes || memory[GLOBAL] || memory[SHARED] {
                    spaces(write.space).for_each(|s| memory[s] = true);
                    found.results |= may_be(write.space, AddressSpace::Global);
                }
            }
            Op::Wgmma(WgmmaOp::Begin(_)) => source |= memory[SHARED],
            Op::Warp(w) => source |= w.kind == WarpKind::ActiveMask,
            Op::Special { which, .. } => source |= depends_on_time_or_place(*which),
            // Arguments pass through local memory.
            Op::Call(_) => source |= memory[LOCAL],
            Op::System(call) if escapes || memory[LOCAL] => match call.which {
                System::Vprintf | System::AssertFail | System::SetConditional => {
                    found.results = true
                }
                System::Success => {}
                _ => found.steered = true,
            },
            _ => {}
        }
        if source {
            let mut new = Vec::new();
            visit_operands(program, i, &mut |_, _| {}, &mut |r| {
                if tainted.insert(r) {
                    new.push(r);
                }
            });
            for row in new {
                readers.of_row(row).for_each(|at| queue.push(at));
            }
            if carries && tainted.insert(CARRY) {
                carriers.iter().for_each(|at| queue.push(*at));
            }
        }
        if memory != before {
            looks.iter().for_each(|at| queue.push(*at));
        }
        if found.steered {
            break;
        }
    }
    found
}

/// Whether what an operation gives depends on what lies in memory.
fn looks_at_memory(program: &Program, op: &Op) -> bool {
    match op {
        Op::Memory(index) => !program.memory_ops[*index as usize].store,
        Op::Atomic(_) | Op::Image(_) | Op::Call(_) | Op::System(_) => true,
        Op::AsyncCopy(_) | Op::Bulk(_) | Op::Wgmma(WgmmaOp::Begin(_)) => true,
        _ => false,
    }
}

/// Whether which threads meet may depend on who comes first: barriers for a part of the block.
fn has_named_barriers(program: &Program) -> bool {
    program.code.iter().any(|i| match &i.op {
        Op::Barrier(b) => b.threads != Slot::NONE || b.kind == BarrierKind::Arrive,
        _ => false,
    })
}

/// Whether something in the program may be order-dependent by itself: its own values, or what other threads of its block did.
pub(super) fn has_order_sources(program: &Program) -> bool {
    program.code.iter().any(|i| match &i.op {
        Op::Memory(m) => {
            let m = &program.memory_ops[*m as usize];
            !m.store && m.order != Order::Weak
        }
        Op::Atomic(a) => {
            let a = &program.atomic_ops[*a as usize];
            a.used || a.update == crate::observer::Update::Ordered
        }
        Op::Bulk(b) => {
            let b = &program.bulk_ops[*b as usize];
            b.update == crate::observer::Update::Ordered
        }
        Op::Warp(w) => w.kind == WarpKind::ActiveMask,
        Op::Special { which, .. } => depends_on_time_or_place(*which),
        Op::System(_) => true,
        _ => false,
    })
}

/// Whether threads learn of each other by memory that they share and by barriers of all alone, so that the order of accesses decides
/// everything.
pub(super) fn communicates_by_memory_alone(program: &Program) -> bool {
    let otherwise = |op: &Op| match op {
        Op::Warp(w) => w.kind == WarpKind::ActiveMask,
        Op::Special { which, .. } => depends_on_time_or_place(*which),
        Op::System(_) => true,
        _ => false,
    };
    !has_named_barriers(program) && !program.code.iter().any(|i| otherwise(&i.op))
}

/// Special registers whose values are up to the hardware (PTX ISA, "%smid", "%warpid", "%clock").
pub(super) fn depends_on_time_or_place(which: Special) -> bool {
    which.dependence().is_some()
}

/// Whether an operation reads or writes the carry flag.
pub(super) fn carries(op: &Op) -> bool {
    use AluOp::*;
    matches!(
        op,
        Op::Alu {
            f: WW_W_Carry(_) | WWW_W_Carry(_) | DD_D_Carry(_) | DDD_D_Carry(_),
            ..
        }
    )
}

fn may_be(space: AddressSpace, wanted: AddressSpace) -> bool {
    space == wanted || space == AddressSpace::Generic
}

fn spaces(space: AddressSpace) -> impl Iterator<Item = usize> {
    let all = [
        (SHARED, AddressSpace::Shared),
        (GLOBAL, AddressSpace::Global),
        (LOCAL, AddressSpace::Local),
    ];
    all.into_iter()
        .filter(move |(_, s)| may_be(space, *s))
        .map(|(index, _)| index)
}
