//! What orders streams and the host ([`crate::order`]).

use super::entry::{Handle, Stream, aside, hooks};
use crate::launches::is_captured;
use crate::order::StreamName;
use crate::state::{State, state};
use std::ffi::{c_int, c_uint, c_void};

/// After a call that succeeded, on a stream that is not captured.
fn ordered(error: u32, stream: Stream, told: impl FnOnce(&mut State)) -> u32 {
    if error == 0 && !is_captured(stream) {
        aside(|| told(&mut state()));
    }
    error
}

/// Before a call that may order streams in a way that is not followed.
fn given_up(by: &'static str) {
    aside(|| state().order.give_up(by));
}

hooks! { cuStreamCreate (to: *mut Stream, flags: c_uint) |real| {
    aside(|| state().order.create_stream());
    real(to, flags)
} }

hooks! { cuStreamCreateWithPriority (to: *mut Stream, flags: c_uint, priority: c_int) |real| {
    aside(|| state().order.create_stream());
    real(to, flags, priority)
} }

hooks! { cuGreenCtxStreamCreate (to: *mut Stream, context: Handle, flags: c_uint, priority: c_int) |real| {
    aside(|| state().order.create_stream());
    real(to, context, flags, priority)
} }

hooks! { cuEventRecord, cuEventRecord_ptsz (event: Handle, stream: Stream) |real| {
    ordered(real(event, stream), stream, |s| s.order.record(event, StreamName::of(stream, PER_THREAD)))
} }

hooks! { cuEventRecordWithFlags, cuEventRecordWithFlags_ptsz (event: Handle, stream: Stream, flags: c_uint) |real| {
    ordered(real(event, stream, flags), stream, |s| s.order.record(event, StreamName::of(stream, PER_THREAD)))
} }

hooks! { cuStreamWaitEvent, cuStreamWaitEvent_ptsz (stream: Stream, event: Handle, flags: c_uint) |real| {
    ordered(real(stream, event, flags), stream, |s| s.order.wait(event, StreamName::of(stream, PER_THREAD)))
} }

hooks! { cuStreamQuery, cuStreamQuery_ptsz (stream: Stream) |real| {
    ordered(real(stream), stream, |s| s.order.synchronize(StreamName::of(stream, PER_THREAD)))
} }

hooks! { cuEventQuery (event: Handle) |real| {
    let error = real(event);
    if error == 0 {
        aside(|| state().order.await_event(event));
    }
    error
} }

hooks! { cuEventDestroy_v2 (event: Handle) |real| {
    aside(|| state().order.forget_event(event));
    real(event)
} }

hooks! { cuStreamDestroy_v2 (stream: Stream) |real| {
    aside(|| state().order.end_stream(StreamName::of(stream, PER_THREAD)));
    real(stream)
} }

hooks! { cuLaunchHostFunc, cuLaunchHostFunc_ptsz (stream: Stream, function: *mut c_void, data: *mut c_void) |real| {
    given_up("cuLaunchHostFunc");
    real(stream, function, data)
} }

hooks! { cuStreamAddCallback, cuStreamAddCallback_ptsz (stream: Stream, function: *mut c_void, data: *mut c_void, flags: c_uint) |real| {
    given_up("cuStreamAddCallback");
    real(stream, function, data, flags)
} }

hooks! { cuStreamWaitValue32_v2, cuStreamWaitValue32_v2_ptsz (stream: Stream, address: u64, value: u32, flags: c_uint) |real| {
    given_up("cuStreamWaitValue32");
    real(stream, address, value, flags)
} }

hooks! { cuStreamWaitValue64_v2, cuStreamWaitValue64_v2_ptsz (stream: Stream, address: u64, value: u64, flags: c_uint) |real| {
    given_up("cuStreamWaitValue64");
    real(stream, address, value, flags)
} }

hooks! { cuStreamBatchMemOp_v2, cuStreamBatchMemOp_v2_ptsz (stream: Stream, count: c_uint, list: *mut c_void, flags: c_uint) |real| {
    given_up("cuStreamBatchMemOp");
    real(stream, count, list, flags)
} }

hooks! { cuWaitExternalSemaphoresAsync, cuWaitExternalSemaphoresAsync_ptsz (list: *const c_void, params: *const c_void, count: c_uint, stream: Stream) |real| {
    given_up("cuWaitExternalSemaphoresAsync");
    real(list, params, count, stream)
} }

hooks! { cuIpcOpenEventHandle (to: *mut Handle, handle: IpcHandle) |real| {
    given_up("cuIpcOpenEventHandle");
    real(to, handle)
} }

/// `CUipcEventHandle`
#[repr(C)]
#[derive(Clone, Copy)]
pub struct IpcHandle([c_int; 16]);
