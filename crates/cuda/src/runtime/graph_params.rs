//! Parameters of nodes as C has them, and what they mean.

use super::copy::{Copy3D, copy_of};
use super::graph::{Action, Condition, Graph, HostFunction, graphs};
use super::launch::{Dim, parameters};
use super::transfers::{Fill, Rows};
use crate::entry::Entry;
use context::launch::Request;
use context::memory::Kind;
use context::{Context, Error, Result};
use std::os::raw::{c_int, c_uint, c_void};

type Handle = *mut c_void;

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
    pub(super) function: Option<HostFunction>,
    pub(super) data: *mut c_void,
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
pub(super) struct ConditionalParams {
    value: u64,
    kind: c_int,
    size: c_uint,
    bodies: *const u64,
}

/// `cudaMemcpyNodeParams`
#[repr(C)]
#[derive(Clone, Copy)]
pub(super) struct CopyParams {
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
pub(super) unsafe fn kernel(context: &mut Context, params: *const KernelParams) -> Result<Action> {
    if params.is_null() {
        return Err(Error::INVALID_VALUE);
    }
    // SAFETY: by the function's own condition.
    unsafe {
        let p = params.read_unaligned();
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
            programmatic: false,
            cluster: None,
            stream: 0,
        }))
    }
}

/// # Safety
///
/// `params` is null or such a structure.
pub(super) unsafe fn fill(params: *const MemsetParams) -> Result<Action> {
    if params.is_null() {
        return Err(Error::INVALID_VALUE);
    }
    // SAFETY: by the function's own condition.
    let p = unsafe { params.read_unaligned() };
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
pub(super) unsafe fn host(params: *const HostParams) -> Result<Action> {
    if params.is_null() {
        return Err(Error::INVALID_VALUE);
    }
    // SAFETY: by the function's own condition.
    let p = unsafe { params.read_unaligned() };
    let function = p.function.ok_or(Error::INVALID_VALUE)?;
    Ok(Action::Host(function, p.data.addr()))
}

/// # Safety
///
/// `params` is null or such a structure.
pub(super) unsafe fn copy(
    context: &mut Context,
    entry: Entry,
    params: *const Copy3D,
) -> Result<Action> {
    // SAFETY: by the function's own condition.
    let copy = unsafe { copy_of(context, entry, params, 0, true) }?;
    Ok(Action::Copy(copy))
}

/// # Safety
///
/// `params` is null or such a structure.
pub(super) unsafe fn allocate(
    context: &mut Context,
    entry: Entry,
    params: *mut AllocateParams,
) -> Result<Action> {
    if params.is_null() {
        return Err(Error::INVALID_VALUE);
    }
    // SAFETY: by the function's own condition.
    unsafe {
        let address = context.allocate(
            params.read_unaligned().bytes as u64,
            Kind::Device,
            entry.call(),
        )?;
        context.memory.keep_for_graph(address);
        (&raw mut (*params).pointer).write_unaligned(address as *mut c_void);
        Ok(Action::Allocate(address))
    }
}

/// What a node of the general form does.
///
/// # Safety
///
/// `params` is as `cudaGraphAddNode` demands.
pub(super) unsafe fn general(
    context: &mut Context,
    entry: Entry,
    params: *mut NodeParams,
) -> Result<Action> {
    if params.is_null() {
        return Err(Error::INVALID_VALUE);
    }
    // SAFETY: by the function's own condition; the kind says which member of the union counts.
    unsafe {
        let of = &raw mut (*params).of;
        let handle = || (&raw const (*of).handle).read_unaligned().addr() as u64;
        match (&raw const (*params).kind).read_unaligned() {
            0 => kernel(context, &raw const (*of).kernel),
            1 => copy(context, entry, &raw const (*of).copy.copy),
            2 => fill(&raw const (*of).fill),
            3 => host(&raw const (*of).host),
            4 => {
                let child = handle();
                Ok(Action::Child(graphs().copy(context, child)?))
            }
            5 => Ok(Action::Empty),
            6 => Ok(Action::Wait(handle())),
            7 => Ok(Action::Record(handle())),
            10 => allocate(context, entry, &raw mut (*of).allocate),
            11 => Ok(Action::Free(handle())),
            13 => conditional(context, &raw mut (*of).conditional),
            kind => {
                context
                    .findings
                    .missing(&format!("{} of kind {kind}", entry.0));
                Err(Error::NOT_SUPPORTED)
            }
        }
    }
}

/// # Safety
///
/// `params` is such a structure.
pub(super) unsafe fn conditional(
    context: &mut Context,
    params: *mut ConditionalParams,
) -> Result<Action> {
    // SAFETY: by the function's own condition.
    let ConditionalParams {
        value, kind, size, ..
    } = unsafe { params.read_unaligned() };
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
    unsafe { (&raw mut (*params).bodies).write_unaligned(shown.as_ptr()) };
    Ok(Action::Conditional(value, kind, bodies))
}
