//! Changes that wait for asynchronous copies and products, alone or before a barrier.

use super::barrier::{self, Unplaced, Wanted};
use super::{Guilty, edits};
use crate::edit::Edit;
use crate::finding_view::FindingView;

/// Waits for all bulk copies that a thread has begun (PTX ISA, "cp.async.bulk.wait_group").
pub(crate) const BULK: &str =
    "asm volatile(\"cp.async.bulk.commit_group; cp.async.bulk.wait_group 0;\" ::: \"memory\");";
/// Waits for all products that a warpgroup has begun (PTX ISA, "wgmma.wait_group").
pub(crate) const PRODUCTS: &str = "asm volatile(\"wgmma.commit_group.sync.aligned; wgmma.wait_group.sync.aligned 0;\" ::: \"memory\");";
/// Waits for all other copies that a thread has begun (PTX ISA, "cp.async.wait_all").
pub(crate) const GROUPS: &str = "asm volatile(\"cp.async.wait_all;\" ::: \"memory\");";

/// A barrier between a copy and an access, and before it what waits for copies.
pub(crate) fn before_barrier(
    view: &FindingView<'_>,
    copy: &Guilty,
    access: &Guilty,
    wait: &str,
) -> Option<Edit> {
    match barrier::place(copy, access, Wanted::Block, view.defines()) {
        Ok(placed) => edits::waits_before_barrier(placed.edit, wait),
        // The wait is missing alone: of each thread for its own copies, before the barrier that is there.
        Err(Unplaced::There) => edits::behind(copy, wait, view.defines()),
        Err(_) => None,
    }
}
