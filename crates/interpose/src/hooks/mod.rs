//! The entry points that the library has in the driver's place (CUDA Driver API; the types are those of its public header).
//!
//! `hooks!` defines one or two of the same type, which do the same: those whose names end in `_ptsz` differ in what stream 0 is
//! ("API synchronization behavior: Per-thread default stream"), and those in `_v2` in nothing that concerns us.

mod graphs;
mod launches;
mod loads;
mod memory;
mod names;
mod waits;

pub use graphs::*;
pub use launches::*;
pub use loads::*;
pub use memory::*;
pub use names::*;
pub use waits::*;

use std::panic::{AssertUnwindSafe, catch_unwind};

/// A module, library, kernel or whatever else the driver hands out.
pub type Handle = usize;
/// A stream.
pub type Stream = usize;

/// What is done for the program beside its call never becomes its failure.
fn aside<T>(body: impl FnOnce() -> T) -> Option<T> {
    catch_unwind(AssertUnwindSafe(body)).ok()
}

/// An entry point of this name, or two. In the body, `real` is the driver's function of that name.
macro_rules! hooks {
    (@one $name:ident ($($arg:ident: $ty:ty),* $(,)?) |$real:ident| $body:block) => {
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name($($arg: $ty),*) -> u32 {
            let $real = |$($arg: $ty),*| crate::real::real!($name($($arg => $ty),*));
            // SAFETY: the caller passes what the driver's function of this name wants, and so do we.
            #[allow(unused_unsafe)]
            unsafe { $body }
        }
    };
    ($name:ident ($($args:tt)*) |$real:ident| $body:block) => {
        hooks!(@one $name ($($args)*) |$real| $body);
    };
    ($first:ident, $second:ident ($($args:tt)*) |$real:ident| $body:block) => {
        hooks!(@one $first ($($args)*) |$real| $body);
        hooks!(@one $second ($($args)*) |$real| $body);
    };
}
use hooks;
