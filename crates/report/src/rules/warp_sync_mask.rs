//! # warp-sync-mask
//!
//! The mask of a warp-level operation (`__syncwarp`, `__shfl_sync`, `__ballot_sync`, …) does not match the lanes that
//! execute it: a lane executes it that the mask leaves out, or the mask names a lane that never does.
//!
//! ## Example
//!
//! ```cpp
//! if (lane < 16)
//!     sum += __shfl_down_sync(0xffffffff, sum, 8);    // lanes 16 to 31 are named but absent
//! ```
//!
//! ```cpp
//! if (lane < 16)
//!     sum += __shfl_down_sync(0x0000ffff, sum, 8, 16);
//! ```
//!
//! ## Why it goes wrong
//!
//! The result is undefined. The operation may also hang, waiting for a lane that never executes it.
//!
//! ## How to fix it
//!
//! Compute the mask before the branch, with `__ballot_sync(0xffffffff, condition)`. Do not use `__activemask()`: it
//! returns the lanes that happen to be together at that moment, not the lanes that took the branch.
//!
//! ## What is reported
//!
//! - A lane that executes the operation and is not in its own mask.
//! - Named lanes that have exited, wait elsewhere forever, or have passed the operation.
//! - Lanes that meet at one operation with different masks.
//!
//! A lane that arrives later is not reported: the operation waits for it, as on the hardware.
//!
//! ## Reference
//!
//! PTX ISA, "bar.warp.sync", "shfl.sync", "vote.sync"; CUDA C++ Programming Guide, "Warp Shuffle Functions".

use crate::finding_view::FindingView;
use crate::help::{Advice, mask};
use crate::rule_text::{RuleText, SUMMARY};
use detect::finding::{Action, Detail};

pub(crate) const TEXT: RuleText = RuleText {
    notes: |view| {
        let Detail::Masks { members, lanes } = view.finding.detail else {
            return Vec::new();
        };
        vec![match view.action(1) {
            None => format!(
                "the mask is {members:#010x}; lanes {lanes:#010x} execute the operation but are not in the mask"
            ),
            Some(Action::Sync) => format!(
                "lanes {lanes:#010x} use the mask {members:#010x}; the other lanes use a different one"
            ),
            Some(_) => format!(
                "the mask is {members:#010x}; lanes {lanes:#010x} are in the mask but never execute the operation"
            ),
        }]
    },
    help,
    ..SUMMARY
};

/// Whether a warp operation takes no mask of lanes, so that all have to execute it (PTX ISA, "Warp Level Matrix Instructions").
fn has_no_mask(instruction: &str) -> bool {
    let name = match instruction.trim_start().strip_prefix('@') {
        Some(guarded) => guarded
            .split_once(char::is_whitespace)
            .map_or("", |(_, rest)| rest),
        None => instruction,
    };
    let family = name.trim_start().split('.').next().unwrap_or_default();
    ["wmma", "mma", "ldmatrix", "stmatrix", "movmatrix", "wgmma"].contains(&family)
}

fn help(view: &FindingView<'_>) -> Option<Advice> {
    let here = view.guilty.first()?;
    let at = here.place();
    if has_no_mask(&here.instruction) {
        return Some(Advice::from(format!(
            "let all 32 lanes of the warp execute {at}: the instruction works for a whole warp and takes no mask"
        )));
    }
    if let Some(mended) = mask::mend(here, view.defines()) {
        return Some(Advice::with(mended.words, Some(mended.edit)));
    }
    Some(Advice::from(match view.action(1) {
        None => format!(
            "include every lane that executes {at} in the mask: compute it before the branch with `mask = __ballot_sync(0xffffffff, condition)`"
        ),
        Some(Action::Exit) => format!(
            "let no lane exit before {at}, or compute the mask of the remaining lanes before any lane exits: `mask = __ballot_sync(0xffffffff, condition)`"
        ),
        Some(_) => format!(
            "move the operation at {at} out of the condition, or compute the mask before the branch: `mask = __ballot_sync(0xffffffff, condition)`"
        ),
    }))
}
