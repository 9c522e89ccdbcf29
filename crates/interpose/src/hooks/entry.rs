//! What entry points are made of.
//!
//! `hooks!` defines one or two of the same type, which do the same: those whose names end in `_ptsz` differ in what stream 0 is
//! ("API synchronization behavior: Per-thread default stream"), and those in `_v2` in nothing that concerns us.

use std::panic::{AssertUnwindSafe, catch_unwind};

/// A module, library, kernel or whatever else the driver hands out.
pub type Handle = usize;
/// A stream.
pub type Stream = usize;

/// What is done for the program beside its call never becomes its failure.
pub fn aside<T>(body: impl FnOnce() -> T) -> Option<T> {
    catch_unwind(AssertUnwindSafe(body)).ok()
}

/// Whether stream 0 of a function is that of the calling thread.
pub const fn is_per_thread(name: &str) -> bool {
    let [.., b'_', b'p', b't', _, _] = name.as_bytes() else {
        return false;
    };
    true
}

/// An entry point of this name, or two. In the body, `real` is the driver's function of that name, and `PER_THREAD` says what stream 0 is.
macro_rules! hooks {
    (@one $name:ident ($($arg:ident: $ty:ty),* $(,)?) |$real:ident| $body:block) => {
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name($($arg: $ty),*) -> u32 {
            #[allow(dead_code)]
            const PER_THREAD: bool = $crate::hooks::entry::is_per_thread(stringify!($name));
            let $real = |$($arg: $ty),*| crate::real_driver::real!($name($($arg => $ty),*));
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
pub(super) use hooks;
