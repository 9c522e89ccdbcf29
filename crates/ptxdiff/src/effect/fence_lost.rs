//! # fence-lost
//!
//! One side has a memory fence (`__threadfence()`, `fence.acq_rel`) that the other does not have. Without it, what a thread writes may be
//! seen by others in another order.
//!
//! ## Example
//!
//! ```cpp
//! *value = 42;
//! __threadfence();                        // without it the flag may be seen before the value
//! *flag = 1;
//! ```
//!
//! ## How it is recognised
//!
//! A `fence` or `membar` without a partner; those without a partner on the other side count for one each.
//!
//! ## What it cannot see
//!
//! Orderings that moved from a fence into an access (`st.release`), and whether the fence was needed: `racetrap run` and `racetrap check` answer that.

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
        .map(|index| view.occurrence(Vec::new(), vec![index]))
        .collect()
}
