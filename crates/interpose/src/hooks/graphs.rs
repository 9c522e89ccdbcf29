//! Nodes of graphs that launch kernels.

use super::entry::{Handle, hooks};
use super::launches::launch;
use crate::launches::Wanted;
use crate::order::StreamName;
use std::ffi::{c_uint, c_void};

/// `CUDA_KERNEL_NODE_PARAMS_v2`; the first version ends before `kernel`.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct NodeParams {
    function: Handle,
    grid: [c_uint; 3],
    block: [c_uint; 3],
    shared: c_uint,
    params: *mut *mut c_void,
    extra: *mut *mut c_void,
    kernel: Handle,
    context: Handle,
}

/// A node of a graph: with the parameter that checks need, and not watched.
unsafe fn node(
    from: *const NodeParams,
    second: bool,
    call: impl FnOnce(*const NodeParams) -> u32,
) -> u32 {
    const FIRST: usize = std::mem::offset_of!(NodeParams, kernel);
    // SAFETY: the caller passes a structure of that version.
    unsafe {
        let mut own: NodeParams = std::mem::zeroed();
        let bytes = if second {
            size_of::<NodeParams>()
        } else {
            FIRST
        };
        std::ptr::copy_nonoverlapping(from.cast::<u8>(), (&raw mut own).cast::<u8>(), bytes);
        let function = match own.function {
            0 => own.kernel,
            function => function,
        };
        let wanted = Wanted {
            function,
            grid: own.grid,
            block: own.block,
            shared: own.shared,
            stream: StreamName::Legacy,
            recorded: true,
            params: own.params,
            extra: own.extra,
        };
        launch(&wanted, |shared, params, extra| {
            own.shared = shared;
            own.params = params;
            own.extra = extra;
            call(&raw const own)
        })
    }
}

hooks! { cuGraphAddKernelNode (to: *mut Handle, graph: Handle, dependencies: *const Handle, count: usize, params: *const NodeParams) |real| {
    node(params, false, |params| real(to, graph, dependencies, count, params))
} }

hooks! { cuGraphAddKernelNode_v2 (to: *mut Handle, graph: Handle, dependencies: *const Handle, count: usize, params: *const NodeParams) |real| {
    node(params, true, |params| real(to, graph, dependencies, count, params))
} }

hooks! { cuGraphKernelNodeSetParams (at: Handle, params: *const NodeParams) |real| {
    node(params, false, |params| real(at, params))
} }

hooks! { cuGraphKernelNodeSetParams_v2 (at: Handle, params: *const NodeParams) |real| {
    node(params, true, |params| real(at, params))
} }

hooks! { cuGraphExecKernelNodeSetParams (graph: Handle, at: Handle, params: *const NodeParams) |real| {
    node(params, false, |params| real(graph, at, params))
} }

hooks! { cuGraphExecKernelNodeSetParams_v2 (graph: Handle, at: Handle, params: *const NodeParams) |real| {
    node(params, true, |params| real(graph, at, params))
} }
