//! # fence-lost
//!
//! One side has a memory fence (`__threadfence()`, `fence.acq_rel`) that the other side does not have. Without the fence,
//! other threads may see a thread's writes in another order.
//!
//! ## Example
//!
//! ```cpp
//! *value = 42;
//! __threadfence();                        // without it another thread may see the flag before the value
//! *flag = 1;
//! ```
//!
//! ## How it is recognised
//!
//! A `fence` or `membar` has no match. Each unmatched fence on the other side cancels one of these. As for `barrier-lost`, it must be proved
//! that the other side executes fewer.
//!
//! ## Limitations
//!
//! The comparison does not see an ordering that moved from a fence into an access (`st.release`). Whether the fence was
//! needed is for `racetrap run` and `racetrap check` to decide.

use super::{Instr, Occurrence, View};
use crate::class::InstructionClass;
use ptx::semantics::{FenceKind, Synchronisation};

fn is_proxy(i: &Instr) -> bool {
    let kind = FenceKind::Proxy;
    matches!(i.typed.synchronisation, Some(Synchronisation::Fence { kind: own, .. }) if own == kind)
}

pub(super) fn find(view: &View) -> Vec<Occurrence> {
    // Proxies are ways to memory; a fence between them is another thing.
    let kind: fn(&Instr) -> Option<bool> = |i| Some(is_proxy(i));
    view.lacking(|i| i.class == InstructionClass::Fence, &[(kind, kind)])
        .into_iter()
        .filter(|&index| !view.is_copy(index))
        .filter_map(|index| view.lacks(index))
        .collect()
}
