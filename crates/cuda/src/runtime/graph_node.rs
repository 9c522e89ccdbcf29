//! Nodes, and adding them (CUDA Runtime API, "Graph Management").

use super::copy::Copy3D;
use super::graph::{Action, graphs, handles};
use super::graph_params::*;
use crate::entry::{Entry, enter, put, put_if};
use context::memory::Kind;
use context::{Context, Error, Result};
use std::os::raw::{c_int, c_uint, c_void};

type Handle = *mut c_void;

/// Adds a node.
///
/// # Safety
///
/// `to` is null or a place for a handle; `after` has `count` of them.
unsafe fn add(
    name: &'static str,
    to: *mut Handle,
    graph: Handle,
    (after, count): (*const Handle, usize),
    action: impl FnOnce(&mut Context, Entry) -> Result<Action>,
) -> u32 {
    enter(name, |context, entry| {
        // SAFETY: by the function's own condition.
        let after = unsafe { handles(after, count) }?;
        let action = action(context, entry)?;
        let node = graphs().add(context, graph.addr() as u64, after, action, entry.call())?;
        // SAFETY: by the function's own condition.
        unsafe { put(to, node as Handle) }
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cudaGraphAddKernelNode(
    to: *mut Handle,
    graph: Handle,
    after: *const Handle,
    count: usize,
    params: *const KernelParams,
) -> u32 {
    // SAFETY: the caller passes these as documented.
    unsafe {
        add(
            "cudaGraphAddKernelNode",
            to,
            graph,
            (after, count),
            |context, _| kernel(context, params),
        )
    }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cudaGraphAddMemcpyNode(
    to: *mut Handle,
    graph: Handle,
    after: *const Handle,
    count: usize,
    params: *const Copy3D,
) -> u32 {
    // SAFETY: the caller passes these as documented.
    unsafe {
        add(
            "cudaGraphAddMemcpyNode",
            to,
            graph,
            (after, count),
            |context, entry| copy(context, entry, params),
        )
    }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cudaGraphAddMemcpyNode1D(
    to: *mut Handle,
    graph: Handle,
    after: *const Handle,
    count: usize,
    into: *mut c_void,
    from: *const c_void,
    bytes: usize,
    kind: c_int,
) -> u32 {
    let copy = crate::runtime::transfers::flat(
        into.addr() as u64,
        from.addr() as u64,
        bytes,
        kind,
        0,
        true,
    );
    // SAFETY: the caller passes these as documented.
    unsafe {
        add(
            "cudaGraphAddMemcpyNode1D",
            to,
            graph,
            (after, count),
            |_, _| Ok(Action::Copy(copy)),
        )
    }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cudaGraphAddMemsetNode(
    to: *mut Handle,
    graph: Handle,
    after: *const Handle,
    count: usize,
    params: *const MemsetParams,
) -> u32 {
    // SAFETY: the caller passes these as documented.
    unsafe {
        add(
            "cudaGraphAddMemsetNode",
            to,
            graph,
            (after, count),
            |_, _| fill(params),
        )
    }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cudaGraphAddHostNode(
    to: *mut Handle,
    graph: Handle,
    after: *const Handle,
    count: usize,
    params: *const HostParams,
) -> u32 {
    // SAFETY: the caller passes these as documented.
    unsafe {
        add("cudaGraphAddHostNode", to, graph, (after, count), |_, _| {
            host(params)
        })
    }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cudaGraphAddEmptyNode(
    to: *mut Handle,
    graph: Handle,
    after: *const Handle,
    count: usize,
) -> u32 {
    // SAFETY: the caller passes these as documented.
    unsafe {
        add(
            "cudaGraphAddEmptyNode",
            to,
            graph,
            (after, count),
            |_, _| Ok(Action::Empty),
        )
    }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cudaGraphAddChildGraphNode(
    to: *mut Handle,
    graph: Handle,
    after: *const Handle,
    count: usize,
    child: Handle,
) -> u32 {
    // SAFETY: the caller passes these as documented.
    unsafe {
        add(
            "cudaGraphAddChildGraphNode",
            to,
            graph,
            (after, count),
            |context, _| Ok(Action::Child(graphs().copy(context, child.addr() as u64)?)),
        )
    }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cudaGraphAddEventRecordNode(
    to: *mut Handle,
    graph: Handle,
    after: *const Handle,
    count: usize,
    event: Handle,
) -> u32 {
    // SAFETY: the caller passes these as documented.
    unsafe {
        add(
            "cudaGraphAddEventRecordNode",
            to,
            graph,
            (after, count),
            |context, entry| {
                context.event(event.addr() as u64, || entry.call())?;
                Ok(Action::Record(event.addr() as u64))
            },
        )
    }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cudaGraphAddEventWaitNode(
    to: *mut Handle,
    graph: Handle,
    after: *const Handle,
    count: usize,
    event: Handle,
) -> u32 {
    // SAFETY: the caller passes these as documented.
    unsafe {
        add(
            "cudaGraphAddEventWaitNode",
            to,
            graph,
            (after, count),
            |context, entry| {
                context.event(event.addr() as u64, || entry.call())?;
                Ok(Action::Wait(event.addr() as u64))
            },
        )
    }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cudaGraphAddMemAllocNode(
    to: *mut Handle,
    graph: Handle,
    after: *const Handle,
    count: usize,
    params: *mut AllocateParams,
) -> u32 {
    // SAFETY: the caller passes these as documented.
    unsafe {
        add(
            "cudaGraphAddMemAllocNode",
            to,
            graph,
            (after, count),
            |context, entry| allocate(context, entry, params),
        )
    }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cudaGraphAddMemFreeNode(
    to: *mut Handle,
    graph: Handle,
    after: *const Handle,
    count: usize,
    pointer: *mut c_void,
) -> u32 {
    // SAFETY: the caller passes these as documented.
    unsafe {
        add(
            "cudaGraphAddMemFreeNode",
            to,
            graph,
            (after, count),
            |_, _| Ok(Action::Free(pointer.addr() as u64)),
        )
    }
}

/// Of CUDA 12.3 on; that of CUDA 13 under the plain name, too: see [`super::release`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cudaGraphAddNode_v2(
    to: *mut Handle,
    graph: Handle,
    after: *const Handle,
    _edges: *const c_void,
    count: usize,
    params: *mut NodeParams,
) -> u32 {
    // SAFETY: the caller passes these as documented.
    unsafe {
        add(
            "cudaGraphAddNode",
            to,
            graph,
            (after, count),
            |context, entry| general(context, entry, params),
        )
    }
}

/// A conditional value: the handle is the address of a word that kernels set (CUDA Runtime API, "cudaGraphSetConditional").
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cudaGraphConditionalHandleCreate(
    to: *mut u64,
    graph: Handle,
    value: c_uint,
    flags: c_uint,
) -> u32 {
    const ASSIGN: c_uint = 1;
    enter("cudaGraphConditionalHandleCreate", |context, _| {
        let address = context.allocate(4, Kind::Device, context::record::Call::default())?;
        context.memory.write(address, &value.to_le_bytes())?;
        let at_launch = (flags & ASSIGN != 0).then_some(value);
        let mut graphs = graphs();
        let graph = graphs.graph(graph.addr() as u64)?;
        graph.values.push((address, at_launch));
        // SAFETY: the caller passes a place for it.
        unsafe { put(to, address) }
    })
}

/// Writes a list of handles, as many as there is room for, and how many there are (CUDA Runtime API, "cudaGraphGetNodes").
///
/// # Safety
///
/// `count` is null or a place for a number; `to` is null or has room for as many as it says.
pub(super) unsafe fn list(all: &[u64], to: *mut Handle, count: *mut usize) -> Result<()> {
    if count.is_null() {
        return Err(Error::INVALID_VALUE);
    }
    // SAFETY: by the function's own condition.
    unsafe {
        if to.is_null() {
            return put(count, all.len());
        }
        let room = count.read_unaligned();
        for at in 0..room {
            put_if(to.add(at), all.get(at).copied().unwrap_or(0) as Handle);
        }
        put(count, room.min(all.len()))
    }
}
