//! Stream capture: what streams are given becomes nodes (CUDA C++ Programming Guide, "Creating a Graph Using Stream Capture").

use super::graph::{Action, Captured, Graph, graphs, handles};
use crate::entry::{Entry, enter, put, put_if};
use context::stream::LEGACY_HANDLE;
use context::{Context, Error, Result};
use std::os::raw::{c_int, c_uint, c_void};

type Handle = *mut c_void;

/// Whether a stream is captured.
pub(crate) fn is_captured(stream: u64) -> bool {
    graphs().captures.streams.contains_key(&stream)
}

/// Makes a node of what a stream is given, where it is captured; `false` where it is not.
///
/// # Errors
///
/// The graph is gone.
pub(crate) fn capture(
    context: &mut Context,
    entry: Entry,
    stream: u64,
    action: impl FnOnce(&mut Context) -> Result<Action>,
) -> Result<bool> {
    let Some(captured) = graphs().captures.streams.get(&stream).cloned() else {
        return Ok(false);
    };
    let action = action(context)?;
    let mut graphs = graphs();
    let node = graphs.add(
        context,
        captured.graph,
        captured.after,
        action,
        entry.call(),
    )?;
    if let Some(captured) = graphs.captures.streams.get_mut(&stream) {
        captured.after = vec![node];
    }
    Ok(true)
}

/// An event is recorded in a captured stream: `false` where it is not captured.
pub(crate) fn record(event: u64, stream: u64) -> bool {
    let mut graphs = graphs();
    let captures = &mut graphs.captures;
    match captures.streams.get(&stream).cloned() {
        Some(captured) => {
            captures.events.insert(event, captured);
            true
        }
        None => {
            captures.events.remove(&event);
            false
        }
    }
}

/// A stream waits for an event: the stream of an event that was captured takes part in the capture. `false` where neither is captured.
///
/// # Errors
///
/// They belong to different captures, or the event to none.
pub(crate) fn wait(stream: u64, event: u64) -> Result<bool> {
    let mut graphs = graphs();
    let captures = &mut graphs.captures;
    let Some(from) = captures.events.get(&event).cloned() else {
        return match captures.streams.contains_key(&stream) {
            true => Err(Error::STREAM_CAPTURE_ISOLATION),
            false => Ok(false),
        };
    };
    let into = captures.streams.entry(stream).or_insert(Captured {
        origin: false,
        after: Vec::new(),
        ..from.clone()
    });
    if into.number != from.number {
        return Err(Error::STREAM_CAPTURE_MERGE);
    }
    for node in from.after {
        if !into.after.contains(&node) {
            into.after.push(node);
        }
    }
    Ok(true)
}

/// The host may not wait for what is not performed.
///
/// # Errors
///
/// The stream is captured.
pub(crate) fn not_captured(stream: u64) -> Result<()> {
    match is_captured(stream) {
        true => Err(Error::STREAM_CAPTURE_UNSUPPORTED),
        false => Ok(()),
    }
}

fn begin(
    context: &mut Context,
    entry: Entry,
    stream: Handle,
    graph: Option<(u64, Vec<u64>)>,
) -> Result<()> {
    let stream = stream.addr() as u64;
    context.stream(stream, || entry.call())?;
    if stream == 0 || stream == LEGACY_HANDLE {
        return Err(Error::STREAM_CAPTURE_UNSUPPORTED);
    }
    let mut graphs = graphs();
    if graphs.captures.streams.contains_key(&stream) {
        return Err(Error::ILLEGAL_STATE);
    }
    let existing = graph.is_some();
    let (graph, after) = match graph {
        Some((graph, after)) => {
            graphs.graph(graph)?;
            (graph, after)
        }
        None => (graphs.create(context, Graph::default()), Vec::new()),
    };
    graphs.captures.numbers += 1;
    let captured = Captured {
        number: graphs.captures.numbers,
        graph,
        origin: true,
        existing,
        after,
    };
    graphs.captures.streams.insert(stream, captured);
    Ok(())
}

#[unsafe(no_mangle)]
pub extern "C" fn cudaStreamBeginCapture(stream: Handle, _mode: c_int) -> u32 {
    enter("cudaStreamBeginCapture", |context, entry| {
        begin(context, entry, stream, None)
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cudaStreamBeginCaptureToGraph(
    stream: Handle,
    graph: Handle,
    after: *const Handle,
    _edges: *const c_void,
    count: usize,
    _mode: c_int,
) -> u32 {
    enter("cudaStreamBeginCaptureToGraph", |context, entry| {
        // SAFETY: the caller passes as many nodes as it says.
        let after = unsafe { handles(after, count) }?;
        begin(context, entry, stream, Some((graph.addr() as u64, after)))
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cudaStreamEndCapture(stream: Handle, to: *mut Handle) -> u32 {
    enter("cudaStreamEndCapture", |context, entry| {
        let stream = stream.addr() as u64;
        context.stream(stream, || entry.call())?;
        let mut graphs = graphs();
        let captured = graphs.captures.streams.get(&stream).cloned();
        let captured = captured.ok_or(Error::ILLEGAL_STATE)?;
        if !captured.origin {
            return Err(Error::STREAM_CAPTURE_UNMATCHED);
        }
        // A branch whose last nodes nothing in the graph follows is one that the origin does not wait for.
        let graph = graphs.graphs.get(&captured.graph);
        let follows = |node: &u64| {
            captured.after.contains(node)
                || graph.is_some_and(|g| g.nodes.iter().any(|n| n.after.contains(node)))
        };
        let branches = graphs.captures.streams.values();
        let mut branches = branches.filter(|c| c.number == captured.number && !c.origin);
        let joined = branches.all(|branch| branch.after.iter().all(follows));
        let captures = &mut graphs.captures;
        captures.streams.retain(|_, c| c.number != captured.number);
        captures.events.retain(|_, c| c.number != captured.number);
        captures.shown.remove(&stream);
        if !joined {
            return Err(Error::STREAM_CAPTURE_UNJOINED);
        }
        // SAFETY: the caller passes a place for it; null where the graph was there before.
        unsafe {
            match captured.existing {
                true => put_if(to, captured.graph as Handle),
                false => put(to, captured.graph as Handle)?,
            }
        }
        Ok(())
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cudaStreamIsCapturing(stream: Handle, to: *mut c_int) -> u32 {
    enter("cudaStreamIsCapturing", |context, entry| {
        context.stream(stream.addr() as u64, || entry.call())?;
        // SAFETY: the caller passes a place for it.
        unsafe { put(to, c_int::from(is_captured(stream.addr() as u64))) }
    })
}

/// Of CUDA 12.3 on; that of CUDA 13 under the plain name, too: see [`super::release`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cudaStreamGetCaptureInfo_v3(
    stream: Handle,
    status: *mut c_int,
    number: *mut u64,
    graph: *mut Handle,
    after: *mut *const u64,
    edges: *mut *const c_void,
    count: *mut usize,
) -> u32 {
    enter("cudaStreamGetCaptureInfo", |context, entry| {
        let stream = stream.addr() as u64;
        context.stream(stream, || entry.call())?;
        let mut graphs = graphs();
        let captures = &mut graphs.captures;
        let captured = captures.streams.get(&stream).cloned();
        // SAFETY: the caller passes places for all of them, or null. The list stays until the next call for this stream.
        unsafe {
            put(status, c_int::from(captured.is_some()))?;
            if let Some(captured) = captured {
                put_if(number, captured.number);
                put_if(graph, captured.graph as Handle);
                put_if(count, captured.after.len());
                put_if(edges, std::ptr::null());
                if !after.is_null() {
                    let list = captured.after.into_boxed_slice();
                    after.write_unaligned(list.as_ptr());
                    captures.shown.insert(stream, list);
                }
            }
        }
        Ok(())
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cudaStreamUpdateCaptureDependencies_v2(
    stream: Handle,
    nodes: *const Handle,
    _edges: *const c_void,
    count: usize,
    flags: c_uint,
) -> u32 {
    const SET: c_uint = 1;
    enter("cudaStreamUpdateCaptureDependencies", |_, _| {
        // SAFETY: the caller passes as many nodes as it says.
        let new = unsafe { handles(nodes, count) }?;
        let mut graphs = graphs();
        let captured = graphs.captures.streams.get_mut(&(stream.addr() as u64));
        let captured = captured.ok_or(Error::ILLEGAL_STATE)?;
        if flags == SET {
            captured.after.clear();
        }
        captured.after.extend(new);
        Ok(())
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cudaThreadExchangeStreamCaptureMode(mode: *mut c_int) -> u32 {
    static MODE: std::sync::atomic::AtomicI32 = std::sync::atomic::AtomicI32::new(0);
    enter("cudaThreadExchangeStreamCaptureMode", |_, _| {
        if mode.is_null() {
            return Err(Error::INVALID_VALUE);
        }
        // SAFETY: the caller passes a place for it.
        unsafe {
            let new = mode.read_unaligned();
            put(mode, MODE.swap(new, std::sync::atomic::Ordering::Relaxed))
        }
    })
}
