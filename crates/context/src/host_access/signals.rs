//! Handlers of signals beside the program's own, and what the processor was doing when one came.
#![allow(unsafe_code)] // Signals, and what they hand over.

use std::cell::Cell;
use std::os::raw::{c_int, c_void};
use std::sync::atomic::{AtomicPtr, Ordering};

thread_local! {
    /// The signal that is being handed on to the program: where the system has put its context, and how deep in the stack that happens.
    static HANDED: Cell<(usize, usize)> = const { Cell::new((0, 0)) };
}

/// A handler of a signal with its information (`sigaction(2)`, SA_SIGINFO).
pub type Handler = extern "C" fn(c_int, *mut libc::siginfo_t, *mut c_void);

/// Installs a handler, and keeps what was there.
pub fn take(signal: c_int, handler: Handler, before: &AtomicPtr<libc::sigaction>) {
    // SAFETY: structures of the right type, of which zero is a value; the handler is of the type that SA_SIGINFO demands.
    unsafe {
        let mut old: libc::sigaction = std::mem::zeroed();
        if libc::sigaction(signal, std::ptr::null(), &mut old) != 0
            || old.sa_sigaction == handler as usize
        {
            return;
        }
        let mut new: libc::sigaction = std::mem::zeroed();
        new.sa_sigaction = handler as usize;
        // Not on the alternate stack (SA_ONSTACK), which is too small for what is done here; a stack overflow of the program ends it as before.
        new.sa_flags = libc::SA_SIGINFO | libc::SA_NODEFER | libc::SA_RESTART;
        libc::sigemptyset(&mut new.sa_mask);
        // Known before ours is there, which other threads may come to at once.
        before.store(Box::into_raw(Box::new(old)), Ordering::Release);
        libc::sigaction(signal, &new, std::ptr::null_mut());
    }
}

/// Hands a signal that is not ours to whoever would have got it. `depth`: an address of the handler's frame.
pub fn hand_on(
    signal: c_int,
    info: *mut libc::siginfo_t,
    context: *mut c_void,
    before: &AtomicPtr<libc::sigaction>,
    depth: usize,
) {
    // SAFETY: null, or an action that stays.
    let old = unsafe { before.load(Ordering::Acquire).as_ref() };
    let action = old.map_or(libc::SIG_DFL, |old| old.sa_sigaction);
    // SAFETY: the system hands over a signal's information.
    let sent = unsafe { is_sent(info) };
    // A handler that was installed later hands on to this one: of the same signal, from within. One that was left by `longjmp` is not within.
    let outer = HANDED.try_with(Cell::get).unwrap_or_default();
    let again = outer.0 == context.addr() && depth < outer.1;
    let _ = HANDED.try_with(|handed| handed.set((context.addr(), depth)));
    match action {
        libc::SIG_IGN if sent => {}
        _ if again || action == libc::SIG_DFL || action == libc::SIG_IGN => {
            // A fault happens again, and ends the process as it would have done; it can't be ignored. What somebody has sent does not happen
            // again, nor does a trap.
            // SAFETY: a signal and an action as documented.
            unsafe {
                libc::signal(signal, libc::SIG_DFL);
                if sent || signal == libc::SIGTRAP {
                    libc::raise(signal);
                }
            }
        }
        _ if old.is_some_and(|old| old.sa_flags & libc::SA_SIGINFO != 0) => {
            // SAFETY: the program installed a function of this type.
            let handler: Handler = unsafe { std::mem::transmute(action) };
            handler(signal, info, context);
        }
        _ => {
            // SAFETY: as before.
            let handler: extern "C" fn(c_int) = unsafe { std::mem::transmute(action) };
            handler(signal);
        }
    }
    let _ = HANDED.try_with(|handed| handed.set(outer));
}

/// Whether somebody has sent the signal, the thread itself by `raise` perhaps; else something has happened (`sigaction(2)`, `si_code`).
///
/// # Safety
///
/// It is a signal's information, as the system hands it over.
pub unsafe fn is_sent(info: *const libc::siginfo_t) -> bool {
    // SAFETY: the system hands over a signal's information.
    unsafe { (*info).si_code <= 0 }
}

/// A fault: where, whether it is known to be a write, and the instruction.
#[cfg(target_arch = "x86_64")]
pub fn fault(context: *mut c_void) -> (Option<bool>, u64) {
    // SAFETY: the system hands over a context of this type (`sigaction(2)`, SA_SIGINFO).
    let registers = unsafe { &(*context.cast::<libc::ucontext_t>()).uc_mcontext.gregs };
    // Bit 1 of a page fault's error code tells a write (Intel's manual, volume 3, "Page-Fault Exception").
    let error = registers[libc::REG_ERR as usize];
    (
        Some(error & 2 != 0),
        registers[libc::REG_RIP as usize] as u64,
    )
}

#[cfg(not(target_arch = "x86_64"))]
pub fn fault(_: *mut c_void) -> (Option<bool>, u64) {
    (None, 0)
}

/// Lets the interrupted program execute one instruction, or go on.
#[cfg(target_arch = "x86_64")]
pub fn step(context: *mut c_void, one: bool) {
    const TRAP_FLAG: i64 = 1 << 8;
    // SAFETY: as in `fault`; nothing else refers to the context while the handler runs.
    let registers = unsafe { &mut (*context.cast::<libc::ucontext_t>()).uc_mcontext.gregs };
    let flags = &mut registers[libc::REG_EFL as usize];
    match one {
        true => *flags |= TRAP_FLAG,
        false => *flags &= !TRAP_FLAG,
    }
}

#[cfg(not(target_arch = "x86_64"))]
pub fn step(_: *mut c_void, _: bool) {}
