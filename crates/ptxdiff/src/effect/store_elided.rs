//! # store-elided
//!
//! One side stores to a location where the other side does not: the value stays in a register, or nothing reads it. This
//! is right for a single thread, and wrong if another thread should see the value.
//!
//! ## Example
//!
//! ```cpp
//! data[32] += data[31];                   // through a plain pointer, data[32] stays in a register:
//! data[32] += data[30];                   // one store at the end; with `volatile`, one store a line
//! ```
//!
//! ## How it is recognised
//!
//! A `st` of one side writes bytes that no instruction of the other side writes. The store has no match; and between the
//! same barriers and fences, the other side has no store, atomic operation or asynchronous copy to the same symbolic
//! address (symbols, parameters, special registers) that covers one of these bytes and does not cover another store as
//! well. An asynchronous copy counts as a store.
//!
//! These are not elisions:
//!
//! - An address that is computed in another way. Unmatched accesses of the same state space and width cancel each other,
//!   unless they use different parameters or variables.
//! - The copies in the body of an unrolled loop, and an iteration that was peeled off a loop.
//! - An access whose source line the other side accesses as often, or in a loop of which the text does not tell how often it
//!   runs.
//! - Stores in the two arms of a branch (under `@p` and `@!p`) against one store that both arms share.
//!
//! ## Limitations
//!
//! The comparison cannot tell whether the compiler or the author left the store out. A store in a loop counts once,
//! because it appears once in the PTX. Parameter stores (`st.param`) belong to calls and are not counted. If only a part
//! of a wide access is left, the effect is `accesses-vectorised` or the access shows as changed.

use super::{Occurrence, View};
use crate::class::InstructionClass;

pub(super) fn find(view: &View) -> Vec<Occurrence> {
    view.elided(|class| matches!(class, InstructionClass::Store(_) | InstructionClass::AsyncCopy(_)))
}
