//! What all entry points have in common: the context, the last error, and that no panic leaves.

use context::record::Call;
use context::suspended::{self, Awaited};
use context::{Context, Error, Result, calls};
use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};

thread_local! {
    /// The last error of the thread's calls (CUDA Runtime API, "cudaGetLastError").
    static LAST: Cell<u32> = const { Cell::new(0) };
}

/// The function that is executed, for its name and its caller.
#[derive(Clone, Copy)]
pub struct Entry(pub &'static str);

impl Entry {
    /// Who called it.
    pub fn call(self) -> Call {
        calls::call(self.0)
    }
}

/// Runs the body of an entry point; what it gives is an error's number, which the thread remembers.
pub fn enter(name: &'static str, body: impl FnOnce(&mut Context, Entry) -> Result<()>) -> u32 {
    let error = plain(name, body);
    if error != 0 && error != Error::NOT_READY.0 {
        set_last(error);
    }
    error
}

/// [`enter`], for a function that makes the host wait.
pub fn enter_and_wait(
    name: &'static str,
    awaited: Awaited,
    body: impl FnOnce(&mut Context, Entry) -> Result<()>,
) -> u32 {
    let _ = catch_unwind(|| suspended::patience(awaited));
    enter(name, body)
}

/// The same, without a last error: for the driver's functions.
pub fn plain(name: &'static str, body: impl FnOnce(&mut Context, Entry) -> Result<()>) -> u32 {
    let result = catch_unwind(AssertUnwindSafe(|| {
        suspended::run_host_functions();
        let _python = context::python::enter();
        let mut context = context::context().ok_or(Error::INITIALIZATION_ERROR)?;
        if !context.count_call(name) {
            return Ok(());
        }
        body(&mut context, Entry(name))
    }));
    match result {
        Ok(Ok(())) => 0,
        Ok(Err(error)) => error.0,
        Err(_) => {
            if let Some(mut context) = context::existing() {
                context.findings.doubt(&format!(
                    "an error inside racetrap, in `{name}`: please report it"
                ));
            }
            Error::UNKNOWN.0
        }
    }
}

/// A function that is not there was called.
pub fn missing(name: &'static str) -> u32 {
    enter(name, |context, _| {
        context.findings.missing(name);
        Err(Error::NOT_SUPPORTED)
    })
}

/// Sets the thread's last error; the old one.
pub fn set_last(error: u32) -> u32 {
    LAST.try_with(|last| last.replace(error)).unwrap_or(0)
}

/// The thread's last error.
pub fn last() -> u32 {
    LAST.try_with(Cell::get).unwrap_or(0)
}

/// Writes a result to where the caller wants it.
///
/// # Safety
///
/// `to` is null or a place for a `T`, as the documentation of the entry point demands.
pub unsafe fn put<T>(to: *mut T, value: T) -> Result<()> {
    if to.is_null() {
        return Err(Error::INVALID_VALUE);
    }
    // SAFETY: by the function's own condition.
    unsafe { to.write_unaligned(value) };
    Ok(())
}

/// Like [`put`], where null means that nobody wants it.
///
/// # Safety
///
/// As for [`put`].
pub unsafe fn put_if<T>(to: *mut T, value: T) {
    if !to.is_null() {
        // SAFETY: by the function's own condition.
        unsafe { to.write_unaligned(value) };
    }
}

/// A text that the caller hands over.
///
/// # Safety
///
/// `text` is null or ends in a zero.
pub unsafe fn text(text: *const std::os::raw::c_char) -> Option<String> {
    if text.is_null() {
        return None;
    }
    // SAFETY: by the function's own condition.
    let text = unsafe { std::ffi::CStr::from_ptr(text) };
    Some(text.to_string_lossy().into_owned())
}

/// Writes down the sums so far, for a process that watches itself.
#[unsafe(no_mangle)]
// SAFETY: no public name of CUDA, nor of anybody else.
pub extern "C" fn racetrap_tell() {
    let _ = catch_unwind(|| {
        if let Some(mut context) = context::existing() {
            context.findings.tell(true);
        }
    });
}

/// The program ends: what is left behind is told, after all its own destructors.
extern "C" fn end() {
    let _ = catch_unwind(|| {
        if let Some(mut context) = context::existing() {
            context.end();
        }
    });
}

/// Called by the loader when the library is finalised, which is after the program's own exit handlers.
#[used]
#[unsafe(link_section = ".fini_array")]
// SAFETY: the section holds pointers to functions of this type (System V ABI, "Initialization and Termination Functions").
static END: extern "C" fn() = end;

/// The library is loaded: its options are read, before any code of the program runs that could read them too.
extern "C" fn begin() {
    let _ = catch_unwind(|| {
        calls::prepare();
        crate::system::prepare();
        drop(context::options::Options::of_process());
    });
}

/// Called by the loader when the library is initialised, which is before the program that needs it is.
#[used]
#[unsafe(link_section = ".init_array")]
// SAFETY: as for `END`.
static BEGIN: extern "C" fn() = begin;
