//! Streams and events: the runtime's functions under the driver's names (CUDA Driver API, "Stream Management", "Event Management").

use crate::runtime;
use std::os::raw::{c_int, c_uint, c_void};

type Handle = *mut c_void;

/// Functions that are the runtime's own.
macro_rules! same_as {
    ($($name:ident($($parameter:ident: $type:ty),*) = $runtime:ident;)*) => {$(
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name($($parameter: $type),*) -> u32 {
            // The function may be safe to call or not.
            #[allow(unused_unsafe)]
            // SAFETY: the same parameters, with the same conditions.
            unsafe { runtime::$runtime($($parameter),*) }
        }
    )*};
}

same_as! {
    cuStreamCreate(to: *mut Handle, flags: c_uint) = cudaStreamCreateWithFlags;
    cuStreamCreateWithPriority(to: *mut Handle, flags: c_uint, priority: c_int) = cudaStreamCreateWithPriority;
    cuStreamDestroy_v2(stream: Handle) = cudaStreamDestroy;
    cuStreamSynchronize(stream: Handle) = cudaStreamSynchronize;
    cuStreamQuery(stream: Handle) = cudaStreamQuery;
    cuStreamWaitEvent(stream: Handle, event: Handle, flags: c_uint) = cudaStreamWaitEvent;
    cuStreamGetFlags(stream: Handle, to: *mut c_uint) = cudaStreamGetFlags;
    cuStreamGetPriority(stream: Handle, to: *mut c_int) = cudaStreamGetPriority;
    cuStreamGetId(stream: Handle, to: *mut u64) = cudaStreamGetId;
    cuStreamIsCapturing(stream: Handle, to: *mut c_int) = cudaStreamIsCapturing;
    cuThreadExchangeStreamCaptureMode(mode: *mut c_int) = cudaThreadExchangeStreamCaptureMode;
    cuLaunchHostFunc(stream: Handle, function: Option<unsafe extern "C" fn(*mut c_void)>, data: *mut c_void) = cudaLaunchHostFunc;
    cuStreamAddCallback(stream: Handle, function: Option<unsafe extern "C" fn(Handle, u32, *mut c_void)>, data: *mut c_void, flags: c_uint) = cudaStreamAddCallback;
    cuEventCreate(to: *mut Handle, flags: c_uint) = cudaEventCreateWithFlags;
    cuEventDestroy_v2(event: Handle) = cudaEventDestroy;
    cuEventRecord(event: Handle, stream: Handle) = cudaEventRecord;
    cuEventRecordWithFlags(event: Handle, stream: Handle, flags: c_uint) = cudaEventRecordWithFlags;
    cuEventSynchronize(event: Handle) = cudaEventSynchronize;
    cuEventQuery(event: Handle) = cudaEventQuery;
    cuEventElapsedTime(to: *mut f32, start: Handle, end: Handle) = cudaEventElapsedTime;
    cuEventElapsedTime_v2(to: *mut f32, start: Handle, end: Handle) = cudaEventElapsedTime;
}
