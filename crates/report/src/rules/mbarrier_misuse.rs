//! # mbarrier-misuse
//!
//! An mbarrier (`cuda::barrier`, `mbarrier.*`) gets more arrivals than its phase expects, or is told of more bytes than it can count.
//!
//! ## Example
//!
//! ```cpp
//! if (threadIdx.x == 0)
//!     ptx::mbarrier_init(&bar, 1);
//! __syncthreads();
//! ptx::mbarrier_arrive(&bar, 2);                     // one arrival is expected
//! ```
//!
//! Expect as many arrivals as come:
//!
//! ```cpp
//!     ptx::mbarrier_init(&bar, 2 * blockDim.x);
//! ```
//!
//! ## Why it goes wrong
//!
//! One arrival may not count for more than are pending in the current phase. An H100 ends the kernel with a launch failure then.
//! The bytes that are still to come must stay between -(2^20 - 1) and 2^20 - 1, whatever the order in which they are expected and arrive.
//!
//! ## How to fix it
//!
//! Initialise the mbarrier with the number of all arrivals of a phase. Count the arrivals of `cp.async.mbarrier.arrive.noinc`, too. Split
//! copies of 1 MiB and more.
//!
//! ## What is reported
//!
//! The first instruction that arrives with a larger count than is pending, or after which the number of bytes is out of range. The simulator
//! completes the phase and continues.
//!
//! ## Limitations
//!
//! An arrival too many that comes when the phase is complete counts for the next one. That is legal; the wait that it lets through or keeps
//! waiting is found as `async-copy-hazard`, `data-race` or `deadlock`, which names the counts.
//!
//! ## Reference
//!
//! PTX ISA, "Parallel Synchronization and Communication Instructions: mbarrier", "Contents of the mbarrier object", "mbarrier.arrive",
//! "mbarrier.expect_tx".

use crate::NoChange;
use crate::help::Advice;
use crate::rule_text::{RuleText, SUMMARY};
use detect::finding::Detail;
use simt::mbarrier::{Fault, MOST_BYTES};

pub(crate) const TEXT: RuleText = RuleText {
    title: |view| match view.finding.detail {
        Detail::Mbarrier(Fault::Arrivals { count, pending }) => Some(format!(
            "{count} arrival{} at an mbarrier of which {pending} {} pending",
            if count == 1 { "" } else { "s" },
            if pending == 1 { "is" } else { "are" },
        )),
        Detail::Mbarrier(Fault::Bytes(bytes)) => Some(format!(
            "an mbarrier is to count {bytes} bytes, which is out of its range"
        )),
        _ => None,
    },
    notes: |view| match view.finding.detail {
        Detail::Mbarrier(Fault::Bytes(_)) => vec![format!(
            "the bytes that are expected and have not come, or have come and are not expected, may be {MOST_BYTES} at most"
        )],
        _ => Vec::new(),
    },
    help: |view| {
        let at = view.at(0);
        Some(Advice::from(match view.finding.detail {
            Detail::Mbarrier(Fault::Arrivals { .. }) => format!(
                "initialise the mbarrier with the number of all arrivals of a phase, or arrive with a smaller count at {at}"
            ),
            _ => format!("split what {at} is for into smaller parts"),
        }))
    },
    no_change: NoChange::Protocol,
    ..SUMMARY
};
