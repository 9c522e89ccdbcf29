//! What entry points are made of.
//!
//! `hooks!` defines one or two of the same type, which do the same: those whose names end in `_ptsz` differ in what stream 0 is
//! ("API synchronization behavior: Per-thread default stream"), and those in `_v2` in nothing that concerns us.

use crate::real_driver::real;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicUsize, Ordering};

/// A module, library, kernel or whatever else the driver hands out.
pub type Handle = usize;
/// A stream.
pub type Stream = usize;

/// What is done for the program beside its call never becomes its failure, and never breaks a capture of its streams.
pub fn aside<T>(body: impl FnOnce() -> T) -> Option<T> {
    let mut mode = RELAXED;
    let captured = CAPTURES.load(Ordering::Relaxed) > 0;
    let mut exchange = || real!(cuThreadExchangeStreamCaptureMode(&mut mode => *mut u32));
    let relaxed = captured && exchange() == 0;
    let done = catch_unwind(AssertUnwindSafe(body)).ok();
    if relaxed {
        exchange();
    }
    done
}

/// `CU_STREAM_CAPTURE_MODE_RELAXED`: this thread may allocate and wait, whatever the streams of others are recording.
const RELAXED: u32 = 2;
/// Streams that are recording.
static CAPTURES: AtomicUsize = AtomicUsize::new(0);

/// Whether some stream is recording: then nothing may wait for the whole device.
pub fn is_capturing() -> bool {
    CAPTURES.load(Ordering::Relaxed) > 0
}

/// A capture began, or ended.
pub fn captures(begins: bool) {
    let count = |n: usize| Some(if begins { n + 1 } else { n.saturating_sub(1) });
    let _ = CAPTURES.fetch_update(Ordering::Relaxed, Ordering::Relaxed, count);
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
