//! Graphs: nodes that launch kernels, instantiation, and replays ([`crate::replays`]).

use super::entry::{Handle, Stream, aside, hooks};
use super::launches::launch;
use crate::launches::{Wanted, is_captured};
use crate::order::StreamName;
use crate::real_driver::real as driver;
use crate::state::state;
use std::ffi::{c_char, c_uint, c_void};

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

/// A node of a graph: with the parameter that checks need. `slot`: where its launches find their numbers, or they are not watched.
unsafe fn node(
    from: *const NodeParams,
    second: bool,
    slot: Option<u32>,
    call: impl FnOnce(*const NodeParams) -> u32,
) -> u32 {
    const FIRST: usize = std::mem::offset_of!(NodeParams, kernel);
    if from.is_null() {
        // The driver says what is wrong with that.
        return call(from);
    }
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
            slot,
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
    node(params, false, None, |params| real(to, graph, dependencies, count, params))
} }

hooks! { cuGraphAddKernelNode_v2 (to: *mut Handle, graph: Handle, dependencies: *const Handle, count: usize, params: *const NodeParams) |real| {
    node(params, true, None, |params| real(to, graph, dependencies, count, params))
} }

hooks! { cuGraphKernelNodeSetParams (at: Handle, params: *const NodeParams) |real| {
    node(params, false, None, |params| real(at, params))
} }

hooks! { cuGraphKernelNodeSetParams_v2 (at: Handle, params: *const NodeParams) |real| {
    node(params, true, None, |params| real(at, params))
} }

/// The slot of a node of a graph that can be launched.
fn slot(graph: Handle, at: Handle) -> Option<u32> {
    aside(|| state().replays.slot(graph, at)).flatten()
}

hooks! { cuGraphExecKernelNodeSetParams (graph: Handle, at: Handle, params: *const NodeParams) |real| {
    node(params, false, slot(graph, at), |params| real(graph, at, params))
} }

hooks! { cuGraphExecKernelNodeSetParams_v2 (graph: Handle, at: Handle, params: *const NodeParams) |real| {
    node(params, true, slot(graph, at), |params| real(graph, at, params))
} }

/// A graph can be launched from now on: its kernels are told where to find their numbers.
unsafe fn instantiated(error: u32, to: *const Handle, graph: Handle) -> u32 {
    if error != 0 {
        return error;
    }
    // SAFETY: the driver has written it.
    let replayed = unsafe { *to };
    let nodes = aside(|| state().instantiated(replayed, graph));
    for (at, slot) in nodes.unwrap_or_default() {
        // SAFETY: a structure of whole numbers and pointers, which the driver fills; what it points to stays as long as the node.
        unsafe {
            let mut params: NodeParams = std::mem::zeroed();
            let mut known = driver!(cuGraphKernelNodeGetParams_v2(at => Handle, &mut params => *mut NodeParams))
                == 0;
            if known {
                let handle = (params.function, params.kernel);
                params.function = aside(|| state().known_kernel(handle))
                    .flatten()
                    .unwrap_or(0);
                params.kernel = 0;
                known = params.function != 0;
                let set = |own: *const NodeParams| {
                    let mut own = *own;
                    (own.function, own.kernel) = handle;
                    driver!(cuGraphExecKernelNodeSetParams_v2(replayed => Handle, at => Handle, &raw const own => *const NodeParams))
                };
                known = known && node(&raw const params, true, Some(slot), set) == 0;
            }
            aside(|| {
                state().settled(
                    replayed,
                    at,
                    known.then_some((params.function, params.grid, params.block)),
                )
            });
        }
    }
    error
}

hooks! { cuGraphInstantiate, cuGraphInstantiate_v2 (to: *mut Handle, graph: Handle, at: *mut Handle, log: *mut c_char, bytes: usize) |real| {
    instantiated(real(to, graph, at, log, bytes), to, graph)
} }

hooks! { cuGraphInstantiateWithFlags (to: *mut Handle, graph: Handle, flags: u64) |real| {
    instantiated(real(to, graph, flags), to, graph)
} }

hooks! { cuGraphInstantiateWithParams, cuGraphInstantiateWithParams_ptsz (to: *mut Handle, graph: Handle, params: *mut c_void) |real| {
    instantiated(real(to, graph, params), to, graph)
} }

hooks! { cuGraphExecUpdate (to: Handle, graph: Handle, at: *mut Handle, result: *mut c_uint) |real| {
    updated(real(to, graph, at, result), to)
} }

hooks! { cuGraphExecUpdate_v2 (to: Handle, graph: Handle, result: *mut c_void) |real| {
    updated(real(to, graph, result), to)
} }

/// A graph has got the nodes of another one, which have no slots.
fn updated(error: u32, graph: Handle) -> u32 {
    aside(|| state().updated(graph));
    error
}

hooks! { cuGraphExecDestroy (graph: Handle) |real| {
    aside(|| state().replays.forget(graph));
    real(graph)
} }

hooks! { cuGraphLaunch, cuGraphLaunch_ptsz (graph: Handle, stream: Stream) |real| {
    let name = StreamName::of(stream, PER_THREAD);
    let handle = match (stream, PER_THREAD) {
        (0, true) => 2,
        _ => stream,
    };
    let captured = is_captured(stream);
    aside(|| match captured {
        true => state().recorded_in_another(graph),
        false => state().replay(graph, handle, name),
    });
    let error = real(graph, stream);
    if error == 0 && !captured {
        aside(|| state().replays.launched(graph, handle));
    }
    error
} }
