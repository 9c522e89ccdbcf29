//! # store-elided
//!
//! One side stores to a place in memory where the other does not: the value stays in a register, or nobody reads it. That is right for
//! a thread alone and wrong where another thread was to see the value.
//!
//! ## Example
//!
//! ```cpp
//! data[32] += data[31];                   // through a plain pointer, data[32] lives in a register:
//! data[32] += data[30];                   // one store at the end, where `volatile` makes one a line
//! ```
//!
//! ## How it is recognised
//!
//! A `st` of one side writes bytes that no instruction of the other side writes: no partner, and between the same barriers and fences no store, atomic
//! operation or asynchronous copy to the same address form (symbols, parameters, special registers) that covers one of its bytes and does not
//! cover another store with it. An address that is computed in another way is no elision: what both sides have left of one
//! space and width counts for each other, unless they are different parameters or variables. Nor are the copies of an unrolled
//! loop's body, or stores in two arms of a branch (under `@p` and `@!p`) beside one that is executed either way. An asynchronous copy counts as a store.
//!
//! ## What it cannot see
//!
//! Who left the store out: the compiler or the author. Stores that a loop makes again and again count once, as in the text.
//! Stores of parameters (`st.param`) are calls, and are not counted. Wider accesses of which a part is left are `accesses-vectorised` or changed.

use super::{Occurrence, View};
use crate::class::InstructionClass;

pub(super) fn find(view: &View) -> Vec<Occurrence> {
    view.elided(|class| matches!(class, InstructionClass::Store(_) | InstructionClass::AsyncCopy(_)))
}
