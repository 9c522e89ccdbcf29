//! # undefined-shuffle
//!
//! A shuffle (`__shfl_sync`, `__shfl_down_sync`, …) reads from a lane that the mask leaves out or that the block does not
//! have. The result is undefined, and the kernel uses it.
//!
//! ## Example
//!
//! ```cpp
//! if (lane < 16) {
//!     for (int d = 16; d > 0; d /= 2)                 // 16 is too far for 16 lanes
//!         sum += __shfl_down_sync(0x0000ffff, sum, d);
//!     if (lane == 0)
//!         *out = sum;
//! }
//! ```
//!
//! ```cpp
//!     for (int d = 8; d > 0; d /= 2)
//!         sum += __shfl_down_sync(0x0000ffff, sum, d);
//! ```
//!
//! ## What is reported
//!
//! An undefined value that has an effect: it is stored to global memory, passed to an atomic operation or to `printf`,
//! used as an address, or decides a branch, a barrier or whether an access is made.
//!
//! An undefined value without an effect is not reported. In the corrected example, lanes 8 to 15 still read outside their
//! mask, but nothing uses their sums. This is correct and common.
//!
//! A source lane outside the segment (`width`) is defined: the lane keeps its own value.
//!
//! ## How it works
//!
//! Undefined values are tracked lane by lane through registers, local and shared memory, calls and further warp
//! operations. A result computed from an undefined value is undefined, unless the other operand alone decides it, as in
//! `x & 0`, `x * 0`, or the other side of a selection.
//!
//! ## Limitations
//!
//! Tracking ends at global memory: the store is reported, later loads are not. Values that a recursive function saves
//! across a call are no longer tracked.
//!
//! Lanes that the mask names but that never execute the operation are reported as `warp-sync-mask` only.
//!
//! ## Reference
//!
//! PTX ISA, "shfl.sync": undefined, if a thread sources a register from an inactive thread or from one that is not in the member
//! mask. CUDA C++ Programming Guide, "Warp Shuffle Functions".

use crate::NoChange;
use crate::help::Advice;
use crate::rule_text::{RuleText, SUMMARY};
use detect::finding::{Action, Detail};
use simt::observer::NoValue;

pub(crate) const TEXT: RuleText = RuleText {
    title: |view| {
        let use_of = match view.action(1) {
            Some(Action::Write | Action::Atomic) => format!("is stored to {}", view.memory()),
            Some(Action::Branch) => "decides a branch".to_owned(),
            _ => "is used".to_owned(),
        };
        Some(format!(
            "a shuffle returns an undefined value, which {use_of}"
        ))
    },
    notes: |view| {
        let Detail::Source {
            lane,
            from,
            members,
            why,
        } = view.finding.detail
        else {
            return Vec::new();
        };
        vec![match why {
            NoValue::LeftOut => format!(
                "lane {} reads from lane {}, which is not in the mask {members:#010x}",
                lane.0, from.0
            ),
            NoValue::NoThread => format!(
                "lane {} reads from lane {}, which the block does not have",
                lane.0, from.0
            ),
        }]
    },
    help: |view| {
        Some(Advice::from(format!(
            "include every source lane in the mask at {} and let all of them execute it; or use the result only in lanes whose source is in the mask",
            view.at(0)
        )))
    },
    no_change: NoChange::Meaning,
    ..SUMMARY
};
