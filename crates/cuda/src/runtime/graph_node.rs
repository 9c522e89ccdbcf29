//! Nodes: adding them, and what they are asked and told (CUDA Runtime API, "Graph Management").

use super::copy::{Copy3D, Fill, Rows, copy_of};
use super::graph::{Action, Condition, Graph, HostFunction, graphs};
use super::launch::{Dim, parameters};
use crate::entry::{Entry, enter, put, put_if};
use context::launch::Request;
use context::memory::Kind;
use context::{Context, Error, Result};
use std::os::raw::{c_int, c_uint, c_void};

type Handle = *mut c_void;

/// A list of handles.
///
/// # Safety
///
/// `list` is null or has `count` of them.
pub(super) unsafe fn handles(list: *const Handle, count: usize) -> Result<Vec<u64>> {
    if count == 0 {
        return Ok(Vec::new());
    }
    if list.is_null() {
        return Err(Error::INVALID_VALUE);
    }
    // SAFETY: by the function's own condition.
    let list = unsafe { std::slice::from_raw_parts(list, count) };
    Ok(list.iter().map(|handle| handle.addr() as u64).collect())
}

/// `cudaKernelNodeParams`, and its second version.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct KernelParams {
    function: *const c_void,
    grid: Dim,
    block: Dim,
    shared: c_uint,
    params: *const *const u8,
    extra: *const *const c_void,
}

/// `cudaMemsetParams`, and its second version.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct MemsetParams {
    to: *mut c_void,
    pitch: usize,
    value: c_uint,
    element: c_uint,
    width: usize,
    height: usize,
}

/// `cudaHostNodeParams`, and its second version.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct HostParams {
    function: Option<HostFunction>,
    data: *mut c_void,
}

/// `cudaMemAllocNodeParams`, and its second version.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct AllocateParams {
    pool: [u64; 11],
    access: *const c_void,
    count: usize,
    bytes: usize,
    pointer: *mut c_void,
}

/// `cudaConditionalNodeParams`
#[repr(C)]
#[derive(Clone, Copy)]
struct ConditionalParams {
    value: u64,
    kind: c_int,
    size: c_uint,
    bodies: *const u64,
}

/// `cudaMemcpyNodeParams`
#[repr(C)]
#[derive(Clone, Copy)]
struct CopyParams {
    flags: c_int,
    reserved: [c_int; 3],
    copy: Copy3D,
}

/// `cudaGraphNodeParams`
#[repr(C)]
pub struct NodeParams {
    kind: c_int,
    reserved: [c_int; 3],
    of: ParamsOfKind,
    reserved_end: i64,
}

/// The union.
#[repr(C)]
union ParamsOfKind {
    kernel: KernelParams,
    copy: CopyParams,
    fill: MemsetParams,
    host: HostParams,
    handle: Handle,
    allocate: AllocateParams,
    conditional: ConditionalParams,
    reserved: [i64; 29],
}

const _: () = assert!(size_of::<NodeParams>() == 256 && size_of::<AllocateParams>() == 120);

/// # Safety
///
/// `params` is null or describes a launch as `cudaGraphAddKernelNode` demands.
unsafe fn kernel(context: &mut Context, params: *const KernelParams) -> Result<Action> {
    if params.is_null() {
        return Err(Error::INVALID_VALUE);
    }
    // SAFETY: by the function's own condition.
    unsafe {
        let p = &*params;
        let kernel = context.function(p.function.addr() as u64)?;
        let params = match p.extra.is_null() {
            true => parameters(&kernel, p.params)?,
            false => crate::driver::packed(&kernel, p.extra)?,
        };
        Ok(Action::Kernel(Request {
            kernel,
            grid: p.grid.all(),
            block: p.block.all(),
            shared: u64::from(p.shared),
            params,
            cooperative: false,
            stream: 0,
        }))
    }
}

/// # Safety
///
/// `params` is null or such a structure.
unsafe fn fill(params: *const MemsetParams) -> Result<Action> {
    if params.is_null() {
        return Err(Error::INVALID_VALUE);
    }
    // SAFETY: by the function's own condition.
    let p = unsafe { &*params };
    if !matches!(p.element, 1 | 2 | 4) {
        return Err(Error::INVALID_VALUE);
    }
    let element = p.element as usize;
    Ok(Action::Fill(Fill {
        to: Rows {
            address: p.to.addr() as u64,
            pitch: p.pitch,
            slice: 0,
        },
        pattern: p.value.to_le_bytes()[..element].to_vec(),
        size: [
            p.width.checked_mul(element).ok_or(Error::INVALID_VALUE)?,
            p.height.max(1),
            1,
        ],
        stream: 0,
        asynchronous: true,
    }))
}

/// # Safety
///
/// `params` is null or such a structure.
unsafe fn host(params: *const HostParams) -> Result<Action> {
    if params.is_null() {
        return Err(Error::INVALID_VALUE);
    }
    // SAFETY: by the function's own condition.
    let p = unsafe { &*params };
    let function = p.function.ok_or(Error::INVALID_VALUE)?;
    Ok(Action::Host(function, p.data.addr()))
}

/// # Safety
///
/// `params` is null or such a structure.
unsafe fn copy(context: &mut Context, entry: Entry, params: *const Copy3D) -> Result<Action> {
    // SAFETY: by the function's own condition.
    let copy = unsafe { copy_of(context, entry, params, 0, true) }?;
    Ok(Action::Copy(copy))
}

/// # Safety
///
/// `params` is null or such a structure.
unsafe fn allocate(
    context: &mut Context,
    entry: Entry,
    params: *mut AllocateParams,
) -> Result<Action> {
    if params.is_null() {
        return Err(Error::INVALID_VALUE);
    }
    // SAFETY: by the function's own condition.
    unsafe {
        let address = context.allocate((*params).bytes as u64, Kind::Device, entry.call())?;
        context.keep_for_graph(address);
        (*params).pointer = address as *mut c_void;
        Ok(Action::Allocate(address))
    }
}

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
    let copy =
        crate::runtime::copy::flat(into.addr() as u64, from.addr() as u64, bytes, kind, 0, true);
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

/// What a node of the general form does.
///
/// # Safety
///
/// `params` is as `cudaGraphAddNode` demands.
unsafe fn general(context: &mut Context, entry: Entry, params: *mut NodeParams) -> Result<Action> {
    if params.is_null() {
        return Err(Error::INVALID_VALUE);
    }
    // SAFETY: by the function's own condition; the kind says which member of the union counts.
    unsafe {
        let of = &raw mut (*params).of;
        match (*params).kind {
            0 => kernel(context, &raw const (*of).kernel),
            1 => copy(context, entry, &raw const (*of).copy.copy),
            2 => fill(&raw const (*of).fill),
            3 => host(&raw const (*of).host),
            4 => {
                let child = (*of).handle.addr() as u64;
                Ok(Action::Child(graphs().copy(context, child)?))
            }
            5 => Ok(Action::Empty),
            6 => Ok(Action::Wait((*of).handle.addr() as u64)),
            7 => Ok(Action::Record((*of).handle.addr() as u64)),
            10 => allocate(context, entry, &raw mut (*of).allocate),
            11 => Ok(Action::Free((*of).handle.addr() as u64)),
            13 => conditional(context, &raw mut (*of).conditional),
            kind => {
                context.missing(&format!("{} of kind {kind}", entry.0));
                Err(Error::NOT_SUPPORTED)
            }
        }
    }
}

/// # Safety
///
/// `params` is such a structure.
unsafe fn conditional(context: &mut Context, params: *mut ConditionalParams) -> Result<Action> {
    // SAFETY: by the function's own condition.
    let (value, kind, size) = unsafe { ((*params).value, (*params).kind, (*params).size) };
    let (kind, most) = match kind {
        0 => (Condition::If, 2),
        1 => (Condition::While, 1),
        2 => (Condition::Switch, 1 << 16),
        _ => return Err(Error::INVALID_VALUE),
    };
    if !(1..=most).contains(&size) {
        return Err(Error::INVALID_VALUE);
    }
    let mut graphs = graphs();
    let bodies: Vec<u64> = (0..size)
        .map(|_| graphs.create(context, Graph::default()))
        .collect();
    // The list belongs to the node, and programs read it for as long as the node is there.
    let shown: &'static [u64] = Box::leak(bodies.clone().into_boxed_slice());
    // SAFETY: by the function's own condition.
    unsafe { (*params).bodies = shown.as_ptr() };
    Ok(Action::Conditional(value, kind, bodies))
}

/// The form of CUDA 13, which is also that of `cudaGraphAddNode_v2`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cudaGraphAddNode(
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
        context.write(address, &value.to_le_bytes())?;
        let at_launch = (flags & ASSIGN != 0).then_some(value);
        let mut graphs = graphs();
        let graph = graphs.graph(graph.addr() as u64)?;
        graph.values.push((address, at_launch));
        // SAFETY: the caller passes a place for it.
        unsafe { put(to, address) }
    })
}

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
        crate::runtime::copy::flat(to.addr() as u64, from.addr() as u64, bytes, kind, 0, true);
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
