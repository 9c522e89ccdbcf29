//! Signals that end a program while a kernel runs: the launch ends, what was found is told, and then the signal does what it does.
//!
//! Without it a program that is stopped in a launch of minutes would take along all that was found in it. While no launch runs, and where
//! the program handles a signal itself or ignores it, nothing is different. `racetrap exec` sends `SIGTERM` when the time is over.

#![allow(unsafe_code)] // Asks what the program has made of a signal.

use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::{flag, low_level};
use simt::Live;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, OnceLock};

/// What a signal's handler sets and looks at.
struct Interrupt {
    live: Live,
    /// Whether no launch runs.
    idle: Arc<AtomicBool>,
    signal: Arc<AtomicUsize>,
}

static INTERRUPT: OnceLock<Interrupt> = OnceLock::new();

/// Whether a signal does what it does by default.
fn is_default(signal: i32) -> bool {
    // SAFETY: a `sigaction` of zeros is one (POSIX, "signal.h"), and the call only writes to it.
    unsafe {
        let mut now: libc::sigaction = std::mem::zeroed();
        libc::sigaction(signal, std::ptr::null(), &mut now) == 0
            && now.sa_sigaction == libc::SIG_DFL
    }
}

/// Lets signals end the launches of this process.
pub fn install() -> Live {
    let interrupt = INTERRUPT.get_or_init(|| {
        let ended = Arc::new(AtomicBool::new(false));
        let idle = Arc::new(AtomicBool::new(true));
        let signal = Arc::new(AtomicUsize::new(0));
        for number in [SIGINT, SIGTERM] {
            if is_default(number) {
                let all = flag::register_conditional_default(number, idle.clone())
                    .and(flag::register_usize(
                        number,
                        signal.clone(),
                        number as usize,
                    ))
                    .and(flag::register(number, ended.clone()));
                drop(all);
            }
        }
        Interrupt {
            live: Live::until(ended),
            idle,
            signal,
        }
    });
    interrupt.live.clone()
}

/// The process is a child in which no launch goes on.
pub fn forked() {
    if let Some(interrupt) = INTERRUPT.get() {
        interrupt.signal.store(0, SeqCst);
        interrupt.idle.store(true, SeqCst);
    }
}

/// A launch begins: signals wait for it.
pub fn begins() {
    if let Some(interrupt) = INTERRUPT.get() {
        interrupt.idle.store(false, SeqCst);
    }
}

/// It has ended, and all is told: a signal that came meanwhile does what it does.
pub fn ends() {
    if let Some(interrupt) = INTERRUPT.get() {
        interrupt.idle.store(true, SeqCst);
        let signal = interrupt.signal.load(SeqCst);
        if signal != 0 {
            let _ = low_level::emulate_default_handler(signal as i32);
        }
    }
}
