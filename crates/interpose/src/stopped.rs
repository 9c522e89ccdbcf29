//! A program that is asked to end (`SIGTERM`, as a time limit does) tells what was found so far, also by kernels that never end: findings lie in memory
//! of the host, and reading them asks nothing of the device.
//!
//! The signal's handler may do next to nothing (signal-safety(7)), so it wakes a thread, which does the rest and then lets the signal do what it
//! would have done. A program that handles the signal itself keeps its handler.

use crate::state::try_state;
use std::sync::atomic::{AtomicI32, Ordering};
use std::time::{Duration, Instant};

/// Where the handler writes to.
static WAKE: AtomicI32 = AtomicI32::new(-1);

extern "C" fn asked(_: libc::c_int) {
    let byte = 1u8;
    // SAFETY: a call that handlers may make; the byte is there; and what is interrupted keeps its `errno`.
    unsafe {
        let errno = *libc::__errno_location();
        libc::write(WAKE.load(Ordering::Relaxed), (&raw const byte).cast(), 1);
        *libc::__errno_location() = errno;
    }
}

/// From now on.
pub fn listen() {
    let mut ends = [-1i32; 2];
    // SAFETY: plain calls of the C library, on structures of our own; the handler is a function of the right type that stays.
    unsafe {
        let mut old: libc::sigaction = std::mem::zeroed();
        let read = libc::sigaction(libc::SIGTERM, std::ptr::null(), &mut old);
        if read != 0 || old.sa_sigaction != libc::SIG_DFL {
            return;
        }
        if libc::pipe2(ends.as_mut_ptr(), libc::O_CLOEXEC) != 0 {
            return;
        }
        WAKE.store(ends[1], Ordering::Relaxed);
        // The thread takes no signals of the program's.
        let (mut all, mut before): (libc::sigset_t, libc::sigset_t) = std::mem::zeroed();
        libc::sigfillset(&mut all);
        libc::pthread_sigmask(libc::SIG_SETMASK, &all, &mut before);
        let process = libc::getpid();
        let thread = std::thread::Builder::new().name("racetrap".to_owned());
        let spawned = thread.spawn(move || wait(ends[0], process));
        libc::pthread_sigmask(libc::SIG_SETMASK, &before, std::ptr::null_mut());
        if spawned.is_ok() {
            let mut new: libc::sigaction = std::mem::zeroed();
            new.sa_sigaction = asked as *const () as usize;
            new.sa_flags = libc::SA_RESTART;
            libc::sigaction(libc::SIGTERM, &new, std::ptr::null_mut());
        }
    }
    // A child that a fork has made has no such thread: there the signal does what it always did.
    // SAFETY: the function stays.
    unsafe { libc::pthread_atfork(None, None, Some(forked)) };
}

extern "C" fn forked() {
    // SAFETY: as in `listen`.
    unsafe {
        let mut old: libc::sigaction = std::mem::zeroed();
        libc::sigaction(libc::SIGTERM, std::ptr::null(), &mut old);
        if old.sa_sigaction == asked as *const () as usize {
            libc::signal(libc::SIGTERM, libc::SIG_DFL);
        }
    }
}

fn wait(from: i32, process: i32) {
    /// Longer than this nobody waits for a program that is to end.
    const PATIENCE: Duration = Duration::from_secs(2);
    let mut byte = 0u8;
    loop {
        // SAFETY: one byte of our own.
        let read = unsafe { libc::read(from, (&raw mut byte).cast(), 1) };
        if read == 1 {
            break;
        }
        if read == 0 || std::io::Error::last_os_error().kind() != std::io::ErrorKind::Interrupted {
            return;
        }
    }
    let began = Instant::now();
    while began.elapsed() < PATIENCE {
        if let Some(mut state) = try_state() {
            let _ = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| state.stopped()));
            break;
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    // SAFETY: plain calls; the process is this one.
    unsafe {
        libc::signal(libc::SIGTERM, libc::SIG_DFL);
        libc::kill(process, libc::SIGTERM);
    }
}
