//! # invalid-barrier
//!
//! A named barrier (`bar.sync a, b`, `barrier.arrive`, cooperative groups of several warps) gets a barrier number or a
//! thread count that PTX does not allow.
//!
//! ## Example
//!
//! ```cpp
//! asm volatile("bar.sync 1, %0;" :: "r"(n) : "memory");    // n = 48
//! ```
//!
//! Round the count up to whole warps:
//!
//! ```cpp
//! asm volatile("bar.sync 1, %0;" :: "r"((n + 31) / 32 * 32) : "memory");
//! ```
//!
//! ## Why it goes wrong
//!
//! - A block has 16 barriers, numbered 0 to 15.
//! - The thread count must be a multiple of the warp size (32), and no more than the warps of the block hold.
//! - `barrier.arrive` needs a count above zero.
//! - A thread arrives at the barrier of its cluster once, and waits before it arrives again (`barrier.cluster.arrive`, `barrier.cluster.wait`).
//!
//! `ptxas` rejects a constant that breaks these rules. Nothing checks a value in a register.
//!
//! ## What is reported
//!
//! The first thread that executes the barrier with such a value. Execution continues, to show what else is wrong: a count
//! that is not a multiple of 32 is rounded up. A count above the size of the block can never be reached, so a `deadlock`
//! follows.
//!
//! A count of zero is allowed for `bar.sync` and `bar.red`, as `ptxas` allows it: it stands for all threads of the block.
//!
//! If threads reach one barrier with different counts, the finding is `divergent-barrier`.
//!
//! ## Reference
//!
//! PTX ISA, "bar, barrier": the operands `a` and `b`; "barrier.cluster".

use crate::NoChange;
use crate::finding_view::FindingView;
use crate::help::Advice;
use crate::rule_text::{RuleText, SUMMARY};
use detect::finding::Detail;
use simt::observer::BarrierFault;

/// Threads of a block, at most (CUDA C++ Programming Guide, "Features and Technical Specifications").
const MOST_THREADS: u32 = 1024;

pub(crate) const TEXT: RuleText = RuleText {
    title: |view| {
        Some(match fault(view)? {
            BarrierFault::Number(number) => format!("barrier number {number} is out of range"),
            BarrierFault::Fraction(count) => {
                format!("barrier thread count {count} is not a multiple of the warp size (32)")
            }
            BarrierFault::TooMany { count, threads } => {
                format!("barrier thread count {count} is larger than the block ({threads} threads)")
            }
            BarrierFault::ArrivesAgain => {
                "a thread arrives twice at its cluster's barrier without waiting".to_owned()
            }
            BarrierFault::NoCount => "a barrier arrival without a thread count".to_owned(),
        })
    },
    notes: |view| {
        let note = fault(view).map(|fault| match fault {
            BarrierFault::Number(_) => "a block has barriers 0 to 15",
            BarrierFault::Fraction(_) => {
                "the simulator rounds the count up to whole warps and continues"
            }
            BarrierFault::TooMany { .. } => "the barrier can never complete",
            BarrierFault::ArrivesAgain => {
                "the second arrival has no defined effect; the simulator ignores it"
            }
            BarrierFault::NoCount => "the simulator assumes all threads of the block and continues",
        });
        note.map(str::to_owned).into_iter().collect()
    },
    help: |view| {
        let at = view.at(0);
        Some(Advice::from(match fault(view) {
            Some(BarrierFault::Number(_)) => format!("use a barrier number from 0 to 15 at {at}"),
            Some(BarrierFault::Fraction(count)) => format!(
                "use a thread count of {} at {at}, and let whole warps arrive",
                count.div_ceil(32).saturating_mul(32).min(MOST_THREADS),
            ),
            Some(BarrierFault::ArrivesAgain) => format!(
                "call `barrier.cluster.wait` (`cluster.barrier_wait()`) between the two arrivals, before {at}"
            ),
            _ => format!("state the number of threads that reach the barrier at {at}"),
        }))
    },
    no_change: NoChange::Protocol,
    ..SUMMARY
};

fn fault(view: &FindingView<'_>) -> Option<BarrierFault> {
    match view.finding.detail {
        Detail::Barrier(fault) => Some(fault),
        _ => None,
    }
}
