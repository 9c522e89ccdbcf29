//! Values that a shuffle got from no lane, followed to where they matter.
//!
//! PTX leaves undefined what a shuffle reads from a lane that is inactive or not in its mask ("shfl.sync"). Correct
//! programs have such values, in lanes whose results nobody looks at, so the shuffle itself is no fault. From the first one in a
//! block on, the block's instructions run with [`super::Core::follow`] before each: it knows, lane by lane, which registers and which bytes
//! of local and shared memory are undefined, and tells the observer when one of them is stored to global memory,
//! is an address, or decides something. Blocks without such a shuffle run without it.
//!
//! A branch that an undefined value decides does no harm where both ways only compute: what either may write is undefined where they
//! meet again ([`Region`](crate::undefined::Region)). With any other effect on one of the ways it is told. Functions that are called on the way may store through
//! pointers: what they store to the caller's variables is undefined, any other such store is told. Blind spot: the variables that a function
//! would have stored to in lanes that went the other way.
//! What is known of a block is in [`crate::undefined`]; [`propagate`] says what instructions do to it, [`compute`], [`access`] and [`exchange`] those of three kinds.

mod access;
mod compute;
mod exchange;
mod propagate;
mod region;

pub(crate) use exchange::Exchange;
