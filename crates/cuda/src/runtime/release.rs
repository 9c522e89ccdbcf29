//! Functions whose parameters have changed under one name, for programs that were compiled with [earlier headers](super::headers).
//!
//! From 11 to 12 and from 12 to 13 some functions got further parameters under their old names (`cuda_runtime_api.h` of CUDA 11.8, 12.9
//! and 13.0); the new forms have been there since 12.3 as `…_v2` and `…_v3`, and are the ones that do the work here.

use super::device::{
    cudaDeviceGetCacheConfig, cudaDeviceGetLimit, cudaDeviceSetCacheConfig, cudaDeviceSetLimit,
};
use super::graph_api::*;
use super::graph_capture::*;
use super::graph_node::*;
use super::graph_params::NodeParams;
use super::headers::Release;
use super::memory::{cudaMemAdvise, cudaMemPrefetchAsync};
use crate::entry::{Entry, enter, put_if};
use std::os::raw::{c_int, c_uint, c_void};
use std::panic::catch_unwind;
use std::ptr::{null, null_mut};

type Handle = *mut c_void;

/// The release that a call of this function means.
fn release(name: &'static str) -> Release {
    // What is wrong here is no reason to end the program.
    catch_unwind(|| Release::of(Entry(name))).unwrap_or(Release::Thirteen)
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cudaGraphAddDependencies(
    graph: Handle,
    from: *const Handle,
    to: *const Handle,
    edges_or_count: *const c_void,
    count: usize,
) -> u32 {
    // SAFETY: the parameters of the release that the caller means.
    unsafe {
        match release("cudaGraphAddDependencies") {
            Release::Thirteen => {
                cudaGraphAddDependencies_v2(graph, from, to, edges_or_count, count)
            }
            _ => cudaGraphAddDependencies_v2(graph, from, to, null(), edges_or_count.addr()),
        }
    }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cudaGraphRemoveDependencies(
    graph: Handle,
    from: *const Handle,
    to: *const Handle,
    edges_or_count: *const c_void,
    count: usize,
) -> u32 {
    // SAFETY: the parameters of the release that the caller means.
    unsafe {
        match release("cudaGraphRemoveDependencies") {
            Release::Thirteen => {
                cudaGraphRemoveDependencies_v2(graph, from, to, edges_or_count, count)
            }
            _ => cudaGraphRemoveDependencies_v2(graph, from, to, null(), edges_or_count.addr()),
        }
    }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cudaGraphGetEdges(
    graph: Handle,
    from: *mut Handle,
    to: *mut Handle,
    edges_or_count: *mut c_void,
    count: *mut usize,
) -> u32 {
    // SAFETY: the parameters of the release that the caller means.
    unsafe {
        match release("cudaGraphGetEdges") {
            Release::Thirteen => cudaGraphGetEdges_v2(graph, from, to, edges_or_count, count),
            _ => cudaGraphGetEdges_v2(graph, from, to, null_mut(), edges_or_count.cast()),
        }
    }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cudaGraphNodeGetDependencies(
    node: Handle,
    to: *mut Handle,
    edges_or_count: *mut c_void,
    count: *mut usize,
) -> u32 {
    // SAFETY: the parameters of the release that the caller means.
    unsafe {
        match release("cudaGraphNodeGetDependencies") {
            Release::Thirteen => cudaGraphNodeGetDependencies_v2(node, to, edges_or_count, count),
            _ => cudaGraphNodeGetDependencies_v2(node, to, null_mut(), edges_or_count.cast()),
        }
    }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cudaGraphNodeGetDependentNodes(
    node: Handle,
    to: *mut Handle,
    edges_or_count: *mut c_void,
    count: *mut usize,
) -> u32 {
    // SAFETY: the parameters of the release that the caller means.
    unsafe {
        match release("cudaGraphNodeGetDependentNodes") {
            Release::Thirteen => cudaGraphNodeGetDependentNodes_v2(node, to, edges_or_count, count),
            _ => cudaGraphNodeGetDependentNodes_v2(node, to, null_mut(), edges_or_count.cast()),
        }
    }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cudaGraphAddNode(
    to: *mut Handle,
    graph: Handle,
    after: *const Handle,
    edges_or_count: *const c_void,
    count_or_params: usize,
    params: *mut NodeParams,
) -> u32 {
    // SAFETY: the parameters of the release that the caller means.
    unsafe {
        match release("cudaGraphAddNode") {
            Release::Thirteen => {
                cudaGraphAddNode_v2(to, graph, after, edges_or_count, count_or_params, params)
            }
            _ => cudaGraphAddNode_v2(
                to,
                graph,
                after,
                null(),
                edges_or_count.addr(),
                count_or_params as *mut NodeParams,
            ),
        }
    }
}

/// Of CUDA 11: the node where an update failed, and the result, apart.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cudaGraphExecUpdate(
    executable: Handle,
    graph: Handle,
    info_or_node: *mut c_void,
    result: *mut c_int,
) -> u32 {
    // SAFETY: the parameters of the release that the caller means.
    unsafe {
        if release("cudaGraphExecUpdate") != Release::Eleven {
            return update(executable, graph, info_or_node.cast());
        }
        let mut info = UpdateResult::none();
        let error = update(executable, graph, &mut info);
        put_if(info_or_node.cast::<Handle>(), info.node);
        put_if(result, info.result);
        error
    }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cudaStreamGetCaptureInfo(
    stream: Handle,
    status: *mut c_int,
    number: *mut u64,
    graph: *mut Handle,
    after: *mut *const u64,
    edges: *mut *const c_void,
    count: *mut usize,
) -> u32 {
    // SAFETY: the parameters of the release that the caller means.
    unsafe {
        match release("cudaStreamGetCaptureInfo") {
            Release::Thirteen => {
                cudaStreamGetCaptureInfo_v3(stream, status, number, graph, after, edges, count)
            }
            _ => cudaStreamGetCaptureInfo_v3(
                stream,
                status,
                number,
                null_mut(),
                null_mut(),
                null_mut(),
                null_mut(),
            ),
        }
    }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cudaStreamGetCaptureInfo_v2(
    stream: Handle,
    status: *mut c_int,
    number: *mut u64,
    graph: *mut Handle,
    after: *mut *const u64,
    count: *mut usize,
) -> u32 {
    // SAFETY: the same parameters, without edges.
    unsafe { cudaStreamGetCaptureInfo_v3(stream, status, number, graph, after, null_mut(), count) }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cudaStreamUpdateCaptureDependencies(
    stream: Handle,
    nodes: *const Handle,
    edges_or_count: *const c_void,
    count_or_flags: usize,
    flags: c_uint,
) -> u32 {
    // SAFETY: the parameters of the release that the caller means.
    unsafe {
        match release("cudaStreamUpdateCaptureDependencies") {
            Release::Thirteen => cudaStreamUpdateCaptureDependencies_v2(
                stream,
                nodes,
                edges_or_count,
                count_or_flags,
                flags,
            ),
            _ => cudaStreamUpdateCaptureDependencies_v2(
                stream,
                nodes,
                null(),
                edges_or_count.addr(),
                count_or_flags as c_uint,
            ),
        }
    }
}

/// Where memory lies makes no difference here, so this form and those of earlier releases are one.
#[unsafe(no_mangle)]
pub extern "C" fn cudaMemAdvise_v2(
    pointer: *const c_void,
    bytes: usize,
    advice: c_int,
    place: u64,
) -> u32 {
    cudaMemAdvise(pointer, bytes, advice, place)
}

#[unsafe(no_mangle)]
pub extern "C" fn cudaMemPrefetchAsync_v2(
    pointer: *const c_void,
    bytes: usize,
    place: u64,
    flags: c_uint,
    stream: *mut c_void,
) -> u32 {
    cudaMemPrefetchAsync(pointer, bytes, place, flags, stream)
}

/// Deprecated, and without an effect since CUDA 10 (CUDA Runtime API 11.8, "cudaSetDoubleForDevice").
#[unsafe(no_mangle)]
pub extern "C" fn cudaSetDoubleForDevice(_: *mut f64) -> u32 {
    enter("cudaSetDoubleForDevice", |_, _| Ok(()))
}

#[unsafe(no_mangle)]
pub extern "C" fn cudaSetDoubleForHost(_: *mut f64) -> u32 {
    enter("cudaSetDoubleForHost", |_, _| Ok(()))
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cudaThreadGetLimit(to: *mut usize, limit: c_int) -> u32 {
    // SAFETY: the same parameters.
    unsafe { cudaDeviceGetLimit(to, limit) }
}

#[unsafe(no_mangle)]
pub extern "C" fn cudaThreadSetLimit(limit: c_int, value: usize) -> u32 {
    cudaDeviceSetLimit(limit, value)
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cudaThreadGetCacheConfig(to: *mut c_int) -> u32 {
    // SAFETY: the same parameters.
    unsafe { cudaDeviceGetCacheConfig(to) }
}

#[unsafe(no_mangle)]
pub extern "C" fn cudaThreadSetCacheConfig(config: c_int) -> u32 {
    cudaDeviceSetCacheConfig(config)
}
