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
//! A `st` of one side has no partner on the other. Partners have the same state space and width and, where both
//! addresses can be expressed in the same terms, the same address. A store without a partner on the side that lacks it counts for one
//! of the other's (an address computed in another way is no elision), and so does a copy: a store that another branch makes too,
//! or a copy of an unrolled loop's body.
//!
//! ## What it cannot see
//!
//! Who left the store out: the compiler or the author. Stores that a loop makes again and again count once, as in the text.
//! Stores of parameters (`st.param`) are calls, and are not counted.

use super::{Occurrence, View};
use crate::ptxdiff::class::Class;

pub(super) fn find(view: &View) -> Vec<Occurrence> {
    super::load_elided::missing(view, |class| matches!(class, Class::Store(_)))
}
