//! What nodes are asked and told after they were added (CUDA Runtime API, "Graph Management").

use super::copy::Copy3D;
use super::graph::{Action, graphs};
use super::graph_params::*;
use crate::entry::{Entry, enter, put};
use context::{Context, Error, Result};
use std::os::raw::{c_int, c_uint, c_void};

type Handle = *mut c_void;

/// Changes what a node does, in its graph or in the copy that can be launched.
fn change(
    name: &'static str,
    executable: Option<Handle>,
    node: Handle,
    action: impl FnOnce(&mut Context, Entry) -> Result<Action>,
) -> u32 {
    enter(name, |context, entry| {
        let new = action(context, entry)?;
        let mut graphs = graphs();
        let node = node.addr() as u64;
        let handle = match executable {
            None => node,
            Some(executable) => graphs.copied(executable.addr() as u64, node)?,
        };
        let node = graphs.node(handle)?;
        if std::mem::discriminant(&node.action) != std::mem::discriminant(&new) {
            return Err(Error::INVALID_VALUE);
        }
        node.action = new;
        Ok(())
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cudaGraphKernelNodeSetParams(
    node: Handle,
    params: *const KernelParams,
) -> u32 {
    change("cudaGraphKernelNodeSetParams", None, node, |context, _| {
        // SAFETY: the caller passes such a structure.
        unsafe { kernel(context, params) }
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cudaGraphExecKernelNodeSetParams(
    executable: Handle,
    node: Handle,
    params: *const KernelParams,
) -> u32 {
    let name = "cudaGraphExecKernelNodeSetParams";
    change(name, Some(executable), node, |context, _| {
        // SAFETY: the caller passes such a structure.
        unsafe { kernel(context, params) }
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cudaGraphMemcpyNodeSetParams(node: Handle, params: *const Copy3D) -> u32 {
    change(
        "cudaGraphMemcpyNodeSetParams",
        None,
        node,
        |context, entry| {
            // SAFETY: the caller passes such a structure.
            unsafe { copy(context, entry, params) }
        },
    )
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cudaGraphExecMemcpyNodeSetParams(
    executable: Handle,
    node: Handle,
    params: *const Copy3D,
) -> u32 {
    let name = "cudaGraphExecMemcpyNodeSetParams";
    change(name, Some(executable), node, |context, entry| {
        // SAFETY: the caller passes such a structure.
        unsafe { copy(context, entry, params) }
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cudaGraphExecMemcpyNodeSetParams1D(
    executable: Handle,
    node: Handle,
    to: *mut c_void,
    from: *const c_void,
    bytes: usize,
    kind: c_int,
) -> u32 {
    let copy =
        crate::runtime::transfers::flat(to.addr() as u64, from.addr() as u64, bytes, kind, 0, true);
    let name = "cudaGraphExecMemcpyNodeSetParams1D";
    change(name, Some(executable), node, |_, _| Ok(Action::Copy(copy)))
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cudaGraphMemsetNodeSetParams(
    node: Handle,
    params: *const MemsetParams,
) -> u32 {
    // SAFETY: the caller passes such a structure.
    change("cudaGraphMemsetNodeSetParams", None, node, |_, _| unsafe {
        fill(params)
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cudaGraphExecMemsetNodeSetParams(
    executable: Handle,
    node: Handle,
    params: *const MemsetParams,
) -> u32 {
    let name = "cudaGraphExecMemsetNodeSetParams";
    // SAFETY: the caller passes such a structure.
    change(name, Some(executable), node, |_, _| unsafe { fill(params) })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cudaGraphHostNodeSetParams(
    node: Handle,
    params: *const HostParams,
) -> u32 {
    // SAFETY: the caller passes such a structure.
    change("cudaGraphHostNodeSetParams", None, node, |_, _| unsafe {
        host(params)
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cudaGraphExecHostNodeSetParams(
    executable: Handle,
    node: Handle,
    params: *const HostParams,
) -> u32 {
    let name = "cudaGraphExecHostNodeSetParams";
    // SAFETY: the caller passes such a structure.
    change(name, Some(executable), node, |_, _| unsafe { host(params) })
}

#[unsafe(no_mangle)]
pub extern "C" fn cudaGraphNodeSetEnabled(
    executable: Handle,
    node: Handle,
    enabled: c_uint,
) -> u32 {
    enter("cudaGraphNodeSetEnabled", |_, _| {
        let mut graphs = graphs();
        let node = graphs.copied(executable.addr() as u64, node.addr() as u64)?;
        let node = graphs.node(node)?;
        if !matches!(
            node.action,
            Action::Kernel(_) | Action::Copy(_) | Action::Fill(_)
        ) {
            return Err(Error::INVALID_VALUE);
        }
        node.enabled = enabled != 0;
        Ok(())
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cudaGraphNodeGetType(node: Handle, to: *mut c_int) -> u32 {
    enter("cudaGraphNodeGetType", |_, _| {
        let kind = match graphs().node(node.addr() as u64)?.action {
            Action::Kernel(_) => 0,
            Action::Copy(_) => 1,
            Action::Fill(_) => 2,
            Action::Host(..) => 3,
            Action::Child(_) => 4,
            Action::Empty => 5,
            Action::Wait(_) => 6,
            Action::Record(_) => 7,
            Action::Allocate(_) => 10,
            Action::Free(_) => 11,
            Action::Conditional(..) => 13,
        };
        // SAFETY: the caller passes a place for it.
        unsafe { put(to, kind) }
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cudaGraphChildGraphNodeGetGraph(node: Handle, to: *mut Handle) -> u32 {
    enter("cudaGraphChildGraphNodeGetGraph", |_, _| {
        let Action::Child(child) = graphs().node(node.addr() as u64)?.action else {
            return Err(Error::INVALID_VALUE);
        };
        // SAFETY: the caller passes a place for it.
        unsafe { put(to, child as Handle) }
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cudaGraphHostNodeGetParams(node: Handle, to: *mut HostParams) -> u32 {
    enter("cudaGraphHostNodeGetParams", |_, _| {
        let Action::Host(function, data) = graphs().node(node.addr() as u64)?.action else {
            return Err(Error::INVALID_VALUE);
        };
        let (function, data) = (Some(function), data as *mut c_void);
        // SAFETY: the caller passes a place for it.
        unsafe { put(to, HostParams { function, data }) }
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cudaGraphMemFreeNodeGetParams(node: Handle, to: *mut u64) -> u32 {
    enter("cudaGraphMemFreeNodeGetParams", |_, _| {
        let Action::Free(address) = graphs().node(node.addr() as u64)?.action else {
            return Err(Error::INVALID_VALUE);
        };
        // SAFETY: the caller passes a place for it.
        unsafe { put(to, address) }
    })
}
