//! `libcudart`: the runtime API (CUDA Runtime API), one file for each of its chapters.

mod array;
mod copy;
mod device;
mod error;
mod fill;
mod graph;
mod graph_api;
mod graph_capture;
mod graph_change;
mod graph_launch;
mod graph_node;
mod graph_params;
mod headers;
mod launch;
mod memory;
mod occupancy;
mod properties;
mod register;
mod release;
mod stream;
mod symbol;
mod texture;
mod texture_reference;
mod transfers;

// `exports.rs` refers to some of them by name.
#[allow(unused_imports)]
pub use {
    array::*, copy::*, device::*, error::*, fill::*, graph::*, graph_api::*, graph_capture::*,
    graph_change::*, graph_launch::*, graph_node::*, launch::*, memory::*, occupancy::*,
    properties::*, register::*, release::*, stream::*, symbol::*, texture::*, texture_reference::*,
    transfers::*,
};
