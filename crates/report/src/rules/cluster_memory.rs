//! # cluster-memory
//!
//! A thread accesses the shared memory of another block of its cluster, and nothing guarantees that this block has begun, or that it has not yet
//! ended.
//!
//! ## Example
//!
//! ```cpp
//! __global__ void __cluster_dims__(2) exchange(int *out)
//! {
//!     __shared__ int mine;
//!     auto cluster = cooperative_groups::this_cluster();
//!     if (threadIdx.x == 0) mine = cluster.block_rank();
//!     cluster.sync();
//!     int *theirs = cluster.map_shared_rank(&mine, cluster.block_rank() ^ 1);
//!     if (threadIdx.x == 0) out[blockIdx.x] = *theirs;     // the other block may have ended
//! }
//! ```
//!
//! Each block stays until all have read:
//!
//! ```cpp
//!     if (threadIdx.x == 0) out[blockIdx.x] = *theirs;
//!     cluster.sync();
//! }
//! ```
//!
//! ## Why it goes wrong
//!
//! The blocks of a cluster are scheduled together, but they neither begin nor end at the same moment. When a block ends, its shared memory is given to
//! another block. An access then reads somebody else's data, overwrites it, or ends the kernel with an error. The same goes for an access before
//! the other block has begun.
//!
//! ## How to fix it
//!
//! Call `cluster.sync()` before the first access to another block's shared memory and after the last one. An mbarrier on which the other block waits
//! before it exits also works.
//!
//! ## What is reported
//!
//! * An access by a thread that does not come after anything that a thread of the other block has done: the other block may not have begun.
//! * An access that does not come before the exit of any thread of the other block, and that exit. Asynchronous stores, copies and arrivals at another
//!   block's mbarrier are accesses, too.
//!
//! Both follow from what threads wait for, not from the moment at which a run happened to perform the access.
//!
//! ## Reference
//!
//! CUDA C++ Programming Guide, "Distributed Shared Memory". PTX ISA, "barrier.cluster", "mapa".

use crate::NoChange;
use crate::finding_view::FindingView;
use crate::help::{Advice, CLUSTER_BARRIER, barrier};
use crate::rule_text::{RuleText, SUMMARY};

pub(crate) const TEXT: RuleText = RuleText {
    title: |view| {
        Some(format!(
            "{} of another block of the cluster is accessed, and that block may {}",
            view.memory(),
            match view.finding.ends.len() {
                0 | 1 => "not have begun",
                _ => "have ended",
            }
        ))
    },
    help,
    ..SUMMARY
};

fn help(view: &FindingView<'_>) -> Option<Advice> {
    let one = view.guilty.first()?;
    let at = one.place();
    let edit = |before| barrier::of_cluster(one, before, view.defines());
    Some(match view.guilty.len() {
        0 | 1 => Advice::with(
            format!("let all threads of the cluster call {CLUSTER_BARRIER} before {at}"),
            edit(true),
        ),
        _ if one.instruction.contains(".async") => Advice::explained(
            NoChange::Protocol,
            format!(
                "let threads of the block that ends wait for the mbarrier at which {at} completes: a barrier of the cluster does not wait for it"
            ),
        ),
        _ => Advice::with(
            format!(
                "let all threads of the cluster call {CLUSTER_BARRIER} after {at}, before they exit"
            ),
            edit(false),
        ),
    })
}
