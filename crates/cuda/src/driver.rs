//! `libcuda.so.1`: the driver API (CUDA Driver API), one file for each of its chapters.
//!
//! A module's handle is its number, a function's that of its kernel; a pointer of the device is an address of the process.

mod array_copy;
mod device;
mod launch;
mod memory;
mod module;
mod pool;
mod reserve;
mod stream;
mod tensor;
mod texture;

// `exports.rs` refers to some of them by name.
#[allow(unused_imports)]
pub use {
    array_copy::*, device::*, launch::*, memory::*, module::*, pool::*, reserve::*, stream::*,
    tensor::*, texture::*,
};
