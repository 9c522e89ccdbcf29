//! Captures of streams: when they begin and end.

use super::entry::{Handle, Stream, captures, hooks};
use std::ffi::{c_uint, c_void};

/// After a call that begins a capture, or ends one, whatever became of it.
fn counted(error: u32, begins: bool) -> u32 {
    if error == 0 || !begins {
        captures(begins);
    }
    error
}

hooks! { cuStreamBeginCapture_v2, cuStreamBeginCapture_v2_ptsz (stream: Stream, mode: c_uint) |real| {
    counted(real(stream, mode), true)
} }

hooks! { cuStreamBeginCapture, cuStreamBeginCapture_ptsz (stream: Stream) |real| {
    counted(real(stream), true)
} }

hooks! { cuStreamBeginCaptureToGraph, cuStreamBeginCaptureToGraph_ptsz (stream: Stream, graph: Handle, dependencies: *const Handle, edges: *const c_void, count: usize, mode: c_uint) |real| {
    counted(real(stream, graph, dependencies, edges, count, mode), true)
} }

hooks! { cuStreamEndCapture, cuStreamEndCapture_ptsz (stream: Stream, graph: *mut Handle) |real| {
    counted(real(stream, graph), false)
} }
