//! Drop-in `libcudart.so` and `libcuda.so.1`: entry points with the names and types of the public headers, thin over [`context`].
//!
//! Both libraries are one file under two names, so that programs that mix them have one device. Every public name is exported: the
//! file that `build.rs` writes has those that nothing here defines. No panic leaves an entry point, and none keeps anything that has
//! to be dropped in thread-local storage: destructors of the program may still call when that is gone.

/// What runs hold is counted, so that their limits on memory hold.
#[global_allocator]
static ALLOCATOR: meter::Metered = meter::Metered;

mod driver;
mod entry;
mod exports;
mod runtime;
mod system;
