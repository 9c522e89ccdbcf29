//! `libcudart`: the runtime API (CUDA Runtime API), one file for each of its chapters.

mod array;
mod copy;
mod device;
mod error;
mod graph;
mod launch;
mod memory;
mod register;
mod stream;
mod texture;

// `exports.rs` refers to some of them by name.
#[allow(unused_imports)]
pub use {
    array::*, copy::*, device::*, error::*, graph::*, launch::*, memory::*, register::*, stream::*,
    texture::*,
};
