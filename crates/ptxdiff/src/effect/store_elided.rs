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
//! A store of one side has no counterpart, and it is proved that the other side writes its bytes less often: each store, atomic
//! operation, asynchronous copy and call of the other side
//!
//! - writes elsewhere: to another parameter or variable, to another space, or beside the bytes at an address that is the same for all threads; or
//! - stands for one of the first side, each for another one, that writes to the same address and is executed at least as often. Loops
//!   are compared by their counters and ways out, branches by their conditions, and addresses by symbols, parameters and special registers;
//!   where an address is computed in another way, by source lines that access memory as often on both sides.
//!
//! Where one instruction can't be accounted for in this way (a loop that was unrolled accesses the same array), nothing is called elided.
//! An asynchronous copy counts as a store.
//!
//! These are not elisions:
//!
//! - The copies in the body of an unrolled loop, and an iteration that was peeled off a loop.
//! - Stores in the two arms of a branch (under `@p` and `@!p`) against one store that both arms share.
//!
//! ## Limitations
//!
//! An elision that cannot be proved is not reported. Different parameters are taken for different memory. The comparison cannot
//! tell whether the compiler or the author left the store out. A store in a loop counts once, because it appears once in the PTX.
//! Parameter stores (`st.param`) belong to calls and are not counted. If only a part of a wide access is left, the effect is
//! `accesses-vectorised` or the access shows as changed.

use super::{Occurrence, View};
use crate::class::InstructionClass;

pub(super) fn find(view: &View) -> Vec<Occurrence> {
    view.elided(|class| matches!(class, InstructionClass::Store(_) | InstructionClass::AsyncCopy(_)))
}
