//! # missing-proxy-fence
//!
//! Threads write shared memory with ordinary stores, and a bulk or tensor copy then reads or overwrites it. No `fence.proxy.async` lies between the
//! two.
//!
//! ## Example
//!
//! ```cpp
//! tile[threadIdx.x] = value;
//! __syncthreads();                                   // orders the threads, not the two proxies
//! if (threadIdx.x == 0) {
//!     ptx::cp_async_bulk(ptx::space_global, ptx::space_shared, out, tile, sizeof tile);
//!     ptx::cp_async_bulk_commit_group();
//!     ptx::cp_async_bulk_wait_group_read(ptx::n32_t<0>());
//! }
//! ```
//!
//! Each thread that has written executes the fence before the barrier:
//!
//! ```cpp
//! tile[threadIdx.x] = value;
//! ptx::fence_proxy_async(ptx::space_shared);         // fence.proxy.async.shared::cta
//! __syncthreads();
//! ```
//!
//! ## Why it goes wrong
//!
//! Bulk copies, tensor copies and `wgmma` reach memory through the *async proxy*, ordinary loads and stores through the *generic proxy*. Barriers and
//! fences order accesses of one proxy. A copy may still read what was in the tile before the stores. Hardware shows this rarely: in a test
//! an H100 copied 346 million words without the fence and all of them were right.
//!
//! ## How to fix it
//!
//! Call `cuda::ptx::fence_proxy_async(space_shared)` (CUTLASS: `tma_store_fence()`) after the stores and before the barrier. A fence by the
//! thread that starts the copy, between the barrier and the copy, also works. The other direction needs no fence: a copy that a thread has waited for
//! is visible to ordinary loads.
//!
//! ## What is reported
//!
//! A bulk copy that reads or writes a word of shared memory which a thread has written, if the write happens before the copy begins and no
//! `fence.proxy.async` lies on the way between them. A write that nothing orders before the copy is a `data-race`.
//!
//! ## Limitations
//!
//! Writes to global memory are not followed, nor is the initialisation of an mbarrier (`mbarrier.init`), for which libcu++ uses no fence.
//!
//! ## Reference
//!
//! PTX ISA, "Async proxy", "Proxy-Preserved Base Causality Order", "membar / fence". CUDA C++ Programming Guide, "Using TMA to transfer
//! one-dimensional arrays".

use crate::finding_view::FindingView;
use crate::help::{Advice, edits};
use crate::rule_text::{RuleText, SUMMARY};
use detect::finding::Action;
use simt::observer::Space;

pub(crate) const TEXT: RuleText = RuleText {
    title: |view| {
        Some(format!(
            "a {} touches {} after ordinary writes to it, without a proxy fence",
            match view.action(0) {
                Some(Action::Multiply) => "matrix product",
                _ => "bulk copy",
            },
            view.memory()
        ))
    },
    help,
    ..SUMMARY
};

fn help(view: &FindingView<'_>) -> Option<Advice> {
    const FENCE: &str = "asm volatile(\"fence.proxy.async.shared::cta;\" ::: \"memory\");";
    let place = view.finding.place;
    let shared = place.is_some_and(|place| place.space == Space::Shared);
    let writer = view.guilty.get(1).filter(|_| shared);
    Some(Advice::with(
        format!(
            "let each thread that writes call `cuda::ptx::fence_proxy_async(space_shared)` (`fence.proxy.async.shared::cta`) after {}, before the barrier",
            view.at(1)
        ),
        writer.and_then(|one| edits::behind(one, FENCE, view.defines())),
    ))
}
