//! The line of a Python program that a call comes from. The interpreter is the program itself or a library of the process; its frames are
//! walked by its public interface (Python/C API, "Thread State and the Global Interpreter Lock", "Frame Objects"), whose functions are looked
//! up by name, so that nothing is linked and other programs do without.
//!
//! Most clients let go of the interpreter's lock before they call the driver, so it is taken here. Whoever waits for it must hold nothing that
//! its holder may wait for: so the frames are read before an entry point takes the context, not when a place is asked for.
//!
//! Not seen: an interpreter whose symbols the process does not export, frames of other languages between those of Python, threads that
//! Python does not know.
#![allow(unsafe_code)] // The interpreter's functions take pointers.

use crate::call::Script;
use std::cell::RefCell;
use std::ffi::{CStr, CString};
use std::os::raw::{c_char, c_int, c_void};
use std::sync::OnceLock;

type Object = *mut c_void;

/// The functions that are needed.
struct Api {
    is_initialized: unsafe extern "C" fn() -> c_int,
    is_finalizing: Option<unsafe extern "C" fn() -> c_int>,
    this_thread: unsafe extern "C" fn() -> *mut c_void,
    ensure: unsafe extern "C" fn() -> c_int,
    release: unsafe extern "C" fn(c_int),
    frame: unsafe extern "C" fn(*mut c_void) -> Object,
    line: unsafe extern "C" fn(Object) -> c_int,
    attribute: unsafe extern "C" fn(Object, *const c_char) -> Object,
    text: unsafe extern "C" fn(Object, *mut isize) -> *const c_char,
    forget: unsafe extern "C" fn(Object),
    fetch: unsafe extern "C" fn(*mut Object, *mut Object, *mut Object),
    restore: unsafe extern "C" fn(Object, Object, Object),
}

impl Api {
    /// The interpreter's functions; `None` where there is none.
    fn of_process() -> Option<&'static Api> {
        static API: OnceLock<Option<Api>> = OnceLock::new();
        /// A function by its name.
        ///
        /// # Safety
        ///
        /// `F` is the type of the function that has this name in every process that has one.
        unsafe fn symbol<F: Copy>(name: &str) -> Option<F> {
            let name = CString::new(name).ok()?;
            // SAFETY: the name ends in a zero; by the function's own condition.
            unsafe {
                let found = libc::dlsym(libc::RTLD_DEFAULT, name.as_ptr());
                (!found.is_null()).then(|| std::mem::transmute_copy::<*mut c_void, F>(&found))
            }
        }
        // SAFETY: the types are those of the Python/C API since 3.9.
        let find = || unsafe {
            Some(Api {
                is_initialized: symbol("Py_IsInitialized")?,
                // Public since 3.13, and there before.
                is_finalizing: symbol("Py_IsFinalizing").or_else(|| symbol("_Py_IsFinalizing")),
                this_thread: symbol("PyGILState_GetThisThreadState")?,
                ensure: symbol("PyGILState_Ensure")?,
                release: symbol("PyGILState_Release")?,
                frame: symbol("PyThreadState_GetFrame")?,
                line: symbol("PyFrame_GetLineNumber")?,
                attribute: symbol("PyObject_GetAttrString")?,
                text: symbol("PyUnicode_AsUTF8AndSize")?,
                forget: symbol("Py_DecRef")?,
                fetch: symbol("PyErr_Fetch")?,
                restore: symbol("PyErr_Restore")?,
            })
        };
        API.get_or_init(find).as_ref()
    }

    /// The innermost line of the program's own; that of a library if there is no other.
    fn place(&self) -> Option<Script> {
        // SAFETY: these may be asked at any time, by any thread. A thread without a state is not one of Python's, and must not become one
        // here; an interpreter that is being taken down gives its lock to nobody.
        let state = unsafe {
            let ends = self.is_finalizing.is_none_or(|f| f() != 0);
            match (self.is_initialized)() != 0 && !ends {
                true => (self.this_thread)(),
                false => return None,
            }
        };
        if state.is_null() {
            return None;
        }
        // SAFETY: the lock is held in between, and the state is the thread's own. An exception that is under way is put aside, so that
        // nothing of the interpreter sees it. Each object is owned, and given up once.
        unsafe {
            let held = (self.ensure)();
            let mut exception = [std::ptr::null_mut(); 3];
            let [kind, value, trace] = &mut exception;
            (self.fetch)(kind, value, trace);
            let found = self.walk((self.frame)(state));
            let mut own = [std::ptr::null_mut(); 3];
            let [kind, value, trace] = &mut own;
            (self.fetch)(kind, value, trace);
            for object in own.into_iter().filter(|o| !o.is_null()) {
                (self.forget)(object);
            }
            let [kind, value, trace] = exception;
            (self.restore)(kind, value, trace);
            (self.release)(held);
            found
        }
    }

    /// # Safety
    ///
    /// The lock is held; `frame` is null or an owned frame, which is given up.
    unsafe fn walk(&self, mut frame: Object) -> Option<Script> {
        /// Frames that are looked at.
        const DEPTH: usize = 200;
        let mut first = None;
        let mut own = None;
        for _ in 0..DEPTH {
            if frame.is_null() {
                break;
            }
            // SAFETY: by the function's own condition.
            let (here, back) = unsafe {
                (
                    self.script(frame),
                    (self.attribute)(frame, c"f_back".as_ptr()),
                )
            };
            // SAFETY: it is owned.
            unsafe { (self.forget)(frame) };
            frame = back;
            if let Some(here) = here {
                if !is_front_end(&here.file) {
                    own = Some(here);
                    break;
                }
                first.get_or_insert(here);
            }
        }
        if !frame.is_null() {
            // SAFETY: it is owned.
            unsafe { (self.forget)(frame) };
        }
        own.or(first)
    }

    /// # Safety
    ///
    /// The lock is held; `frame` is a frame, or the interpreter's `None`.
    unsafe fn script(&self, frame: Object) -> Option<Script> {
        // SAFETY: by the function's own condition; the text lives as long as the object, which is owned until it was copied.
        unsafe {
            let code = (self.attribute)(frame, c"f_code".as_ptr());
            if code.is_null() {
                return None;
            }
            let name = (self.attribute)(code, c"co_filename".as_ptr());
            (self.forget)(code);
            if name.is_null() {
                return None;
            }
            let text = (self.text)(name, std::ptr::null_mut());
            let file = (!text.is_null()).then(|| CStr::from_ptr(text).to_string_lossy().into());
            (self.forget)(name);
            let line = u32::try_from((self.line)(frame)).ok()?;
            Some(Script { file: file?, line })
        }
    }
}

/// Whether a file belongs to Python's library or to a package through which programs reach the GPU: calls are the lines' that use them.
fn is_front_end(file: &str) -> bool {
    const PACKAGES: [&str; 13] = [
        "cuda",
        "cupy",
        "cupyx",
        "cupy_backends",
        "jax",
        "jaxlib",
        "numba",
        "numba_cuda",
        "numpy",
        "pycuda",
        "pytest",
        "torch",
        "triton",
    ];
    if file.starts_with("<frozen ") {
        return true;
    }
    let installed = ["/site-packages/", "/dist-packages/"];
    let package = installed.iter().find_map(|at| file.split_once(at));
    match package {
        Some((_, path)) => {
            let package = path.split('/').next().unwrap_or_default();
            PACKAGES.contains(&package) || package == "racetrap"
        }
        None => file.contains("/lib/python3"),
    }
}

thread_local! {
    /// Where the entry point was called that the thread is in.
    static HERE: RefCell<Option<Script>> = const { RefCell::new(None) };
}

/// Ends with an entry point.
pub struct Entered {
    outermost: bool,
}

/// An entry point was called, and does not hold the context yet.
pub fn enter() -> Entered {
    let outermost = HERE.try_with(|here| {
        let mut here = here.try_borrow_mut().ok()?;
        if here.is_some() {
            return None;
        }
        *here = Some(Api::of_process()?.place()?);
        Some(())
    });
    Entered {
        outermost: matches!(outermost, Ok(Some(()))),
    }
}

impl Drop for Entered {
    fn drop(&mut self) {
        if self.outermost {
            let _ = HERE.try_with(|here| here.take());
        }
    }
}

/// Where the entry point was called that the thread is in, if that was in Python.
pub(crate) fn here() -> Option<Script> {
    HERE.try_with(|here| here.try_borrow().ok()?.clone())
        .ok()
        .flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn libraries_are_told_from_programs() {
        let venv = "/home/me/venv/lib/python3.12/site-packages";
        for file in [
            "/usr/lib/python3.11/ctypes/__init__.py".to_owned(),
            "<frozen importlib._bootstrap>".to_owned(),
            format!("{venv}/numba/cuda/dispatcher.py"),
            format!("{venv}/numba_cuda/numba/cuda/args.py"),
            "/usr/lib/python3/dist-packages/torch/nn/functional.py".to_owned(),
        ] {
            assert!(is_front_end(&file), "{file}");
        }
        for file in [
            "/home/me/numba/scan.py".to_owned(),
            "scan.py".to_owned(),
            "<stdin>".to_owned(),
            format!("{venv}/flashinfer/decode.py"),
        ] {
            assert!(!is_front_end(&file), "{file}");
        }
    }

    #[test]
    fn a_program_without_python_has_no_such_lines() {
        let entered = enter();
        assert!(!entered.outermost && here().is_none());
    }
}
