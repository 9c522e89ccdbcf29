//! Streams and events (CUDA Runtime API, "Stream Management", "Event Management").

use super::graph::{self, Action};
use crate::entry::{enter, enter_and_wait, put};
use context::suspended::Awaited;
use context::{Context, Error};
use std::os::raw::{c_int, c_uint, c_void};

type Handle = *mut c_void;

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cudaStreamCreate(to: *mut Handle) -> u32 {
    // SAFETY: the same parameter.
    unsafe { cudaStreamCreateWithPriority(to, 0, 0) }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cudaStreamCreateWithFlags(to: *mut Handle, flags: c_uint) -> u32 {
    // SAFETY: the same parameter.
    unsafe { cudaStreamCreateWithPriority(to, flags, 0) }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cudaStreamCreateWithPriority(
    to: *mut Handle,
    flags: c_uint,
    priority: c_int,
) -> u32 {
    enter("cudaStreamCreate", |context, _| {
        if flags > 1 || to.is_null() {
            return Err(Error::INVALID_VALUE);
        }
        let handle = context.create_stream(flags, priority);
        // SAFETY: the caller passes a place for it.
        unsafe { put(to, handle as Handle) }
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn cudaStreamDestroy(stream: Handle) -> u32 {
    enter("cudaStreamDestroy", |context, entry| {
        context.destroy_stream(stream.addr() as u64, entry.call())
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn cudaStreamSynchronize(stream: Handle) -> u32 {
    let awaited = Awaited::Stream(stream.addr() as u64);
    enter_and_wait("cudaStreamSynchronize", awaited, |context, entry| {
        context.stream(stream.addr() as u64, || entry.call())?;
        graph::not_captured(stream.addr() as u64)?;
        context.synchronize(stream.addr() as u64)
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn cudaStreamQuery(stream: Handle) -> u32 {
    enter("cudaStreamQuery", |context, entry| {
        context.stream(stream.addr() as u64, || entry.call())?;
        graph::not_captured(stream.addr() as u64)?;
        context.query(Awaited::Stream(stream.addr() as u64))
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn cudaStreamWaitEvent(stream: Handle, event: Handle, _flags: c_uint) -> u32 {
    enter("cudaStreamWaitEvent", |context, entry| {
        context.stream(stream.addr() as u64, || entry.call())?;
        context.event(event.addr() as u64, || entry.call())?;
        if !graph::wait(stream.addr() as u64, event.addr() as u64)? {
            context.wait_event(stream.addr() as u64, event.addr() as u64);
        }
        Ok(())
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cudaStreamGetFlags(stream: Handle, to: *mut c_uint) -> u32 {
    enter("cudaStreamGetFlags", |context, entry| {
        let stream = context.stream(stream.addr() as u64, || entry.call())?;
        // SAFETY: the caller passes a place for it.
        unsafe { put(to, stream.map_or(0, |s| s.flags)) }
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cudaStreamGetPriority(stream: Handle, to: *mut c_int) -> u32 {
    enter("cudaStreamGetPriority", |context, entry| {
        let stream = context.stream(stream.addr() as u64, || entry.call())?;
        // SAFETY: the caller passes a place for it.
        unsafe { put(to, stream.map_or(0, |s| s.priority)) }
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cudaStreamGetId(stream: Handle, to: *mut u64) -> u32 {
    enter("cudaStreamGetId", |context, entry| {
        context.stream(stream.addr() as u64, || entry.call())?;
        // SAFETY: the caller passes a place for it.
        unsafe { put(to, stream.addr() as u64) }
    })
}

/// The value is a union of 64 bytes (`cudaStreamAttrValue`).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cudaStreamSetAttribute(
    stream: Handle,
    attribute: c_uint,
    value: *const [u8; 64],
) -> u32 {
    enter("cudaStreamSetAttribute", |context, entry| {
        context.stream(stream.addr() as u64, || entry.call())?;
        if value.is_null() {
            return Err(Error::INVALID_VALUE);
        }
        // SAFETY: the caller passes a union of that size.
        let value = unsafe { value.read_unaligned() };
        context.set_stream_attribute(stream.addr() as u64, attribute, value);
        Ok(())
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cudaStreamGetAttribute(
    stream: Handle,
    attribute: c_uint,
    to: *mut [u8; 64],
) -> u32 {
    enter("cudaStreamGetAttribute", |context, entry| {
        context.stream(stream.addr() as u64, || entry.call())?;
        let value = context.stream_attribute(stream.addr() as u64, attribute);
        // SAFETY: the caller passes a union of that size.
        unsafe { put(to, value) }
    })
}

/// Runs a function of the host when the stream comes to it, which is at once.
///
/// # Safety
///
/// `function` is one that takes this pointer.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cudaLaunchHostFunc(
    stream: Handle,
    function: Option<unsafe extern "C" fn(*mut c_void)>,
    data: *mut c_void,
) -> u32 {
    let mut captured = false;
    let error = enter("cudaLaunchHostFunc", |context, entry| {
        context.stream(stream.addr() as u64, || entry.call())?;
        let function = function.ok_or(Error::INVALID_VALUE)?;
        let node = |_: &mut Context| Ok(Action::Host(function, data.addr()));
        captured = graph::capture(context, entry, stream.addr() as u64, node)?;
        Ok(())
    });
    if let (0, Some(function), false) = (error, function, captured) {
        // SAFETY: by the function's own condition; the context is not held, so the function may do what it likes.
        let data = data.expose_provenance();
        let call = move || unsafe { function(std::ptr::with_exposed_provenance_mut(data)) };
        context::host_access::on_behalf(stream.addr() as u64, call);
    }
    error
}

/// Like [`cudaLaunchHostFunc`], for a function that is told how the stream fares.
///
/// # Safety
///
/// `function` is one that takes these.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cudaStreamAddCallback(
    stream: Handle,
    function: Option<unsafe extern "C" fn(Handle, u32, *mut c_void)>,
    data: *mut c_void,
    _flags: c_uint,
) -> u32 {
    let mut status = 0;
    let error = enter("cudaStreamAddCallback", |context, entry| {
        context.stream(stream.addr() as u64, || entry.call())?;
        graph::not_captured(stream.addr() as u64)?;
        status = context.healthy().err().map_or(0, |e| e.0);
        function.map(|_| ()).ok_or(Error::INVALID_VALUE)
    });
    if let (0, Some(function)) = (error, function) {
        // SAFETY: by the function's own condition; the context is not held.
        let (handle, data) = (stream.expose_provenance(), data.expose_provenance());
        let pointer = std::ptr::with_exposed_provenance_mut;
        // SAFETY: as above.
        let call = move || unsafe { function(pointer(handle), status, pointer(data)) };
        context::host_access::on_behalf(handle as u64, call);
    }
    error
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cudaEventCreate(to: *mut Handle) -> u32 {
    // SAFETY: the same parameter.
    unsafe { cudaEventCreateWithFlags(to, 0) }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cudaEventCreateWithFlags(to: *mut Handle, flags: c_uint) -> u32 {
    enter("cudaEventCreate", |context, _| {
        if to.is_null() {
            return Err(Error::INVALID_VALUE);
        }
        let handle = context.create_event(flags);
        // SAFETY: the caller passes a place for it.
        unsafe { put(to, handle as Handle) }
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn cudaEventDestroy(event: Handle) -> u32 {
    enter("cudaEventDestroy", |context, entry| {
        context.destroy_event(event.addr() as u64, entry.call())
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn cudaEventRecord(event: Handle, stream: Handle) -> u32 {
    cudaEventRecordWithFlags(event, stream, 0)
}

#[unsafe(no_mangle)]
pub extern "C" fn cudaEventRecordWithFlags(event: Handle, stream: Handle, _flags: c_uint) -> u32 {
    enter("cudaEventRecord", |context, entry| {
        context.healthy()?;
        context.stream(stream.addr() as u64, || entry.call())?;
        context.event(event.addr() as u64, || entry.call())?;
        if !graph::record(event.addr() as u64, stream.addr() as u64) {
            context.record_event(event.addr() as u64, stream.addr() as u64);
        }
        Ok(())
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn cudaEventSynchronize(event: Handle) -> u32 {
    let awaited = Awaited::Event(event.addr() as u64);
    enter_and_wait("cudaEventSynchronize", awaited, |context, entry| {
        context.event(event.addr() as u64, || entry.call())?;
        context.await_event(event.addr() as u64)
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn cudaEventQuery(event: Handle) -> u32 {
    enter("cudaEventQuery", |context, entry| {
        context.event(event.addr() as u64, || entry.call())?;
        context.query(Awaited::Event(event.addr() as u64))
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cudaEventElapsedTime(to: *mut f32, start: Handle, end: Handle) -> u32 {
    enter("cudaEventElapsedTime", |context, entry| {
        const DISABLE_TIMING: u32 = 2;
        let start = context.event(start.addr() as u64, || entry.call())?;
        let end = context.event(end.addr() as u64, || entry.call())?;
        let (Some(from), Some(until)) = (start.recorded, end.recorded) else {
            return Err(Error::INVALID_RESOURCE_HANDLE);
        };
        if (start.flags | end.flags) & DISABLE_TIMING != 0 {
            return Err(Error::INVALID_RESOURCE_HANDLE);
        }
        let milliseconds = until.saturating_duration_since(from).as_secs_f32() * 1e3;
        // The clock of a GPU is about half a microsecond coarse, and programs divide by it.
        // SAFETY: the caller passes a place for it.
        unsafe { put(to, milliseconds.max(0.0005)) }
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cudaEventElapsedTime_v2(to: *mut f32, start: Handle, end: Handle) -> u32 {
    // SAFETY: the same parameters.
    unsafe { cudaEventElapsedTime(to, start, end) }
}
