//! Copies and memsets.

use super::entry::{Stream, aside, hooks};
use crate::launches::is_captured;
use crate::order::StreamName;
use crate::state::{Range, state};
use std::ffi::{c_uchar, c_uint, c_ushort, c_void};

/// In front of a call that does this to memory of the device.
fn copies(name: &'static str, stream: Stream, per_thread: bool, ranges: &[Range]) {
    if !is_captured(stream) {
        // Our kernel must run on the very stream.
        let handle = match (stream, per_thread) {
            (0, true) => 2,
            _ => stream,
        };
        aside(|| state().copies(name, handle, StreamName::of(stream, per_thread), ranges));
    }
}

/// The host has waited for the call.
fn waited(error: u32, per_thread: bool) -> u32 {
    if error == 0 {
        aside(|| state().order.synchronize(StreamName::of(0, per_thread)));
    }
    error
}

hooks! { cuMemcpyDtoH_v2, cuMemcpyDtoH_v2_ptds (to: *mut c_void, from: u64, bytes: usize) |real| {
    copies("cuMemcpyDtoH", 0, PER_THREAD, &[(from, bytes as u64, false)]);
    waited(real(to, from, bytes), PER_THREAD)
} }

hooks! { cuMemcpyHtoD_v2, cuMemcpyHtoD_v2_ptds (to: u64, from: *const c_void, bytes: usize) |real| {
    copies("cuMemcpyHtoD", 0, PER_THREAD, &[(to, bytes as u64, true)]);
    waited(real(to, from, bytes), PER_THREAD)
} }

hooks! { cuMemcpy, cuMemcpy_ptds (to: u64, from: u64, bytes: usize) |real| {
    copies("cuMemcpy", 0, PER_THREAD, &[(from, bytes as u64, false), (to, bytes as u64, true)]);
    waited(real(to, from, bytes), PER_THREAD)
} }

hooks! { cuMemcpyDtoD_v2, cuMemcpyDtoD_v2_ptds (to: u64, from: u64, bytes: usize) |real| {
    copies("cuMemcpyDtoD", 0, PER_THREAD, &[(from, bytes as u64, false), (to, bytes as u64, true)]);
    real(to, from, bytes)
} }

hooks! { cuMemcpyDtoHAsync_v2, cuMemcpyDtoHAsync_v2_ptsz (to: *mut c_void, from: u64, bytes: usize, stream: Stream) |real| {
    copies("cuMemcpyDtoHAsync", stream, PER_THREAD, &[(from, bytes as u64, false)]);
    real(to, from, bytes, stream)
} }

hooks! { cuMemcpyHtoDAsync_v2, cuMemcpyHtoDAsync_v2_ptsz (to: u64, from: *const c_void, bytes: usize, stream: Stream) |real| {
    copies("cuMemcpyHtoDAsync", stream, PER_THREAD, &[(to, bytes as u64, true)]);
    real(to, from, bytes, stream)
} }

hooks! { cuMemcpyDtoDAsync_v2, cuMemcpyDtoDAsync_v2_ptsz (to: u64, from: u64, bytes: usize, stream: Stream) |real| {
    copies("cuMemcpyDtoDAsync", stream, PER_THREAD, &[(from, bytes as u64, false), (to, bytes as u64, true)]);
    real(to, from, bytes, stream)
} }

hooks! { cuMemcpyAsync, cuMemcpyAsync_ptsz (to: u64, from: u64, bytes: usize, stream: Stream) |real| {
    copies("cuMemcpyAsync", stream, PER_THREAD, &[(from, bytes as u64, false), (to, bytes as u64, true)]);
    real(to, from, bytes, stream)
} }

hooks! { cuMemsetD8_v2, cuMemsetD8_v2_ptds (to: u64, value: c_uchar, count: usize) |real| {
    copies("cuMemsetD8", 0, PER_THREAD, &[(to, count as u64, true)]);
    real(to, value, count)
} }

hooks! { cuMemsetD16_v2, cuMemsetD16_v2_ptds (to: u64, value: c_ushort, count: usize) |real| {
    copies("cuMemsetD16", 0, PER_THREAD, &[(to, 2 * count as u64, true)]);
    real(to, value, count)
} }

hooks! { cuMemsetD32_v2, cuMemsetD32_v2_ptds (to: u64, value: c_uint, count: usize) |real| {
    copies("cuMemsetD32", 0, PER_THREAD, &[(to, 4 * count as u64, true)]);
    real(to, value, count)
} }

hooks! { cuMemsetD8Async, cuMemsetD8Async_ptsz (to: u64, value: c_uchar, count: usize, stream: Stream) |real| {
    copies("cuMemsetD8Async", stream, PER_THREAD, &[(to, count as u64, true)]);
    real(to, value, count, stream)
} }

hooks! { cuMemsetD16Async, cuMemsetD16Async_ptsz (to: u64, value: c_ushort, count: usize, stream: Stream) |real| {
    copies("cuMemsetD16Async", stream, PER_THREAD, &[(to, 2 * count as u64, true)]);
    real(to, value, count, stream)
} }

hooks! { cuMemsetD32Async, cuMemsetD32Async_ptsz (to: u64, value: c_uint, count: usize, stream: Stream) |real| {
    copies("cuMemsetD32Async", stream, PER_THREAD, &[(to, 4 * count as u64, true)]);
    real(to, value, count, stream)
} }
