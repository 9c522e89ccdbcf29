//! The race detector against the axioms: random programs of two to four threads, all their executions enumerated.
//!
//! An execution is a choice of which write each read observes, of a coherence order at each location and of an order of the
//! `fence.sc`s; the axioms of the PTX ISA's memory consistency model say whether it may happen, and its section "Data-races" whether two
//! of its accesses race. A program is racy if some execution that may happen has a race. The detector sees sequentially
//! consistent interleavings; over enough of them it must report a race of racy programs alone, and of all that are so in some
//! sequentially consistent execution. What others alone show is its blind spot: the order in which it saw two relaxed
//! operations on a location, which other relaxed operations seem to force and do not.
//!
//! Words and relations are those of the manual. Barriers of the block and of the warp are events of all their threads.

mod enumerate;
mod event;
mod execution;
mod interleave;
mod program;

use crate::rules::Rule;
use enumerate::{Racy, is_racy};
use interleave::{Choices, interleave};
use program::Op::*;
use program::*;
use proptest::prelude::*;
use simt::observer::*;

/// Interleavings that are tried of each program.
const INTERLEAVINGS: u32 = 300;

fn judge(program: &Program) -> Result<(), TestCaseError> {
    let Some(racy) = is_racy(program) else {
        return Ok(());
    };
    let mut choices = Choices(0x9e37_79b9_7f4a_7c15);
    let mut found = false;
    let mut ended = false;
    for _ in 0..INTERLEAVINGS {
        let Some(rules) = interleave(program, &mut choices) else {
            continue;
        };
        ended = true;
        found |= rules
            .iter()
            .any(|r| matches!(r, Rule::DataRace | Rule::InsufficientScope));
        if found {
            break;
        }
    }
    if ended && racy != Racy::Weak {
        let racy = racy == Racy::Sequential;
        prop_assert_eq!(found, racy, "detector, axioms: {:#?}", program);
    }
    Ok(())
}

proptest! {
    #![proptest_config(testing::random(600))]

    #[test]
    fn what_the_axioms_call_racy_is_reported_and_nothing_else(program in program()) {
        judge(&program)?;
    }
}

/// Data, a fence and a barrier in one block, a count; the count, a barrier and a fence in the other, and the data.
///
/// Where the fences are told by four flags: by the writer before the barrier, by the thread that counts after it, by the thread that
/// saw the count before the barrier, by the reader after it.
fn last_block(fences: [Option<(FenceOrder, Scope)>; 4]) -> Program {
    let relaxed = |kind, spin| Access(kind, DATA, Order::Relaxed, Scope::Gpu, spin);
    let weak = |kind| Access(kind, 0, Order::Weak, Scope::Sys, false);
    let fence = |i: usize| fences[i].map(|(order, scope)| Fence(order, scope));
    let thread = |ops: [Option<Op>; 3]| ops.into_iter().flatten().collect();
    Program {
        places: vec![(0, 0, 0), (0, 1, 0), (1, 0, 0), (1, 1, 0)],
        threads: vec![
            thread([Some(weak(AccessKind::Write)), fence(0), Some(Block)]),
            thread([
                Some(Block),
                fence(1),
                Some(relaxed(AccessKind::Atomic, false)),
            ]),
            thread([Some(relaxed(AccessKind::Read, true)), fence(2), Some(Block)]),
            thread([Some(Block), fence(3), Some(weak(AccessKind::Read))]),
        ],
    }
}

/// "Last block" as production code mends it, with the fences wherever they may be.
#[test]
fn fences_order_the_last_block_through_barriers() {
    const SC: Option<(FenceOrder, Scope)> = Some((FenceOrder::Sc, Scope::Gpu));
    const NARROW: Option<(FenceOrder, Scope)> = Some((FenceOrder::Sc, Scope::Cta));
    const ACQ_REL: Option<(FenceOrder, Scope)> = Some((FenceOrder::AcqRel, Scope::Gpu));
    for (fences, racy) in [
        ([SC, None, SC, None], false),
        ([SC, None, None, SC], false),
        ([None, SC, SC, None], false),
        ([None, SC, None, SC], false),
        ([SC, None, None, None], true),
        ([None, None, None, SC], true),
        ([NARROW, None, None, SC], true),
        ([SC, None, None, NARROW], true),
        // A release pattern and an acquire pattern, next to the accesses; through the barrier they are none.
        ([None, ACQ_REL, ACQ_REL, None], false),
        ([ACQ_REL, None, ACQ_REL, None], true),
        ([None, ACQ_REL, None, ACQ_REL], true),
        ([ACQ_REL, None, None, ACQ_REL], true),
    ] {
        let program = last_block(fences);
        assert_eq!(is_racy(&program), Some(racy.into()), "{fences:?}");
        judge(&program).unwrap_or_else(|e| panic!("{fences:?}: {e}"));
    }
}

/// An atomic that acquires comes after what was released before the value that an earlier load of its thread got.
#[test]
fn what_an_atomic_acquires_is_ordered_before_it() {
    use AccessKind::*;
    let flag = |kind, order, spin| Access(kind, DATA, order, Scope::Gpu, spin);
    let program = |load| Program {
        places: vec![(0, 0, 0), (1, 0, 0)],
        threads: vec![
            vec![
                Access(Read, DATA, load, Scope::Sys, true),
                flag(Atomic, Order::Acquire, false),
            ],
            vec![
                Access(Read, DATA, Order::Weak, Scope::Sys, false),
                flag(Atomic, Order::Release, false),
                flag(Read, Order::Relaxed, false),
            ],
        ],
    };
    for (load, racy) in [(Order::Relaxed, false), (Order::Weak, true)] {
        let program = program(load);
        assert_eq!(is_racy(&program), Some(racy.into()), "{load:?}");
        judge(&program).unwrap_or_else(|e| panic!("{load:?}: {e}"));
    }
}

/// The named blind spot, asserted as it is: what relaxed operations seem to order, in the interleavings alone.
#[test]
fn what_no_interleaving_shows_is_not_found() {
    use AccessKind::*;
    let flag = |kind, l, spin| Access(kind, l, Order::Relaxed, Scope::Gpu, spin);
    let fence = Fence(FenceOrder::AcqRel, Scope::Gpu);
    let weak = Access(Read, DATA, Order::Weak, Scope::Sys, false);
    let program = |fences: bool| {
        let fence = || fences.then_some(fence).into_iter();
        let mut first = vec![flag(Atomic, DATA, false)];
        first.extend(fence());
        first.push(flag(Write, DATA + 1, false));
        let mut second = vec![flag(Read, DATA + 1, true)];
        second.extend(fence());
        second.extend([flag(Atomic, DATA, false), weak]);
        Program {
            places: vec![(0, 0, 0), (1, 0, 0)],
            threads: vec![first, second],
        }
    };
    assert_eq!(is_racy(&program(true)), Some(Racy::None));
    assert_eq!(is_racy(&program(false)), Some(Racy::Weak));
    assert!((0..20).all(|seed| {
        let found = interleave(&program(false), &mut Choices(seed + 1));
        found.is_none_or(|rules| rules.is_empty())
    }));
}
