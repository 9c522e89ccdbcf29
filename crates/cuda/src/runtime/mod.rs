//! `libcudart`: the runtime API (CUDA Runtime API), one file for each of its chapters.

mod copy;
mod device;
mod error;
mod launch;
mod memory;
mod register;
mod stream;

// `exports.rs` refers to some of them by name.
#[allow(unused_imports)]
pub use {copy::*, device::*, error::*, launch::*, memory::*, register::*, stream::*};
