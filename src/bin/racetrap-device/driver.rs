//! The CUDA driver API calls that jobs need, with results that name the driver's errors.
//!
//! `cust` creates the context. It has these calls too, but their result is a Rust enum with the error codes of CUDA 11: a code
//! of a newer driver would be undefined behaviour, and many errors would lose their name. So this file declares the calls again
//! with an integer result. Parameters are those of the manual (CUDA Driver API, "Modules").

use cust::sys::{CUdeviceptr, CUevent, CUfunction, CUmodule, CUstream};
use device::error::{At, DeviceError};
use std::ffi::{CStr, c_char, c_int, c_uint, c_void};
use std::ptr::null;

/// The result of a call: 0, or an error's number.
pub type Code = c_uint;

/// `CU_JIT_ERROR_LOG_BUFFER`, its size, `CU_JIT_OPTIMIZATION_LEVEL`, and `CU_JIT_GENERATE_LINE_INFO`.
pub const JIT_ERROR_LOG: c_uint = 5;
pub const JIT_ERROR_LOG_BYTES: c_uint = 6;
pub const JIT_LEVEL: c_uint = 7;
pub const JIT_LINE_INFO: c_uint = 13;
/// `CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES`.
pub const MAX_DYNAMIC_SHARED: c_int = 8;
/// `CU_STREAM_DEFAULT`: made with no flag.
pub const BLOCKING: c_uint = 0;
/// `CU_STREAM_NON_BLOCKING`.
pub const NON_BLOCKING: c_uint = 1;
/// `CU_STREAM_LEGACY`, a handle that is a number.
pub const LEGACY_STREAM: usize = 1;

/// `CUlaunchConfig`
#[repr(C)]
pub struct LaunchConfig {
    pub grid: [c_uint; 3],
    pub block: [c_uint; 3],
    pub shared: c_uint,
    pub stream: CUstream,
    pub attributes: *const LaunchAttribute,
    pub count: c_uint,
}

/// `CUlaunchAttribute`: an identifier, padding to 8 bytes, and a union of 64.
#[repr(C)]
pub struct LaunchAttribute {
    pub id: c_uint,
    pub pad: [u8; 4],
    pub value: [u32; 16],
}

/// `CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION`
pub const CLUSTER_DIMENSION: c_uint = 4;
/// `CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION`
pub const STREAM_SERIALIZATION: c_uint = 6;

unsafe extern "C" {
    pub fn cuGetErrorName(error: Code, name: *mut *const c_char) -> Code;
    pub fn cuDriverGetVersion(version: *mut c_int) -> Code;
    pub fn cuCtxSynchronize() -> Code;
    pub fn cuModuleLoadDataEx(
        module: *mut CUmodule,
        image: *const c_void,
        count: c_uint,
        options: *mut c_uint,
        values: *mut *mut c_void,
    ) -> Code;
    pub fn cuModuleUnload(module: CUmodule) -> Code;
    pub fn cuModuleGetFunction(
        function: *mut CUfunction,
        module: CUmodule,
        name: *const c_char,
    ) -> Code;
    pub fn cuModuleGetGlobal_v2(
        address: *mut CUdeviceptr,
        bytes: *mut usize,
        module: CUmodule,
        name: *const c_char,
    ) -> Code;
    pub fn cuFuncSetAttribute(function: CUfunction, attribute: c_int, value: c_int) -> Code;
    pub fn cuLaunchKernel(
        function: CUfunction,
        grid_x: c_uint,
        grid_y: c_uint,
        grid_z: c_uint,
        block_x: c_uint,
        block_y: c_uint,
        block_z: c_uint,
        shared: c_uint,
        stream: CUstream,
        params: *mut *mut c_void,
        extra: *mut *mut c_void,
    ) -> Code;
    pub fn cuLaunchKernelEx(
        config: *const LaunchConfig,
        function: CUfunction,
        params: *mut *mut c_void,
        extra: *mut *mut c_void,
    ) -> Code;
    pub fn cuLaunchCooperativeKernel(
        function: CUfunction,
        grid_x: c_uint,
        grid_y: c_uint,
        grid_z: c_uint,
        block_x: c_uint,
        block_y: c_uint,
        block_z: c_uint,
        shared: c_uint,
        stream: CUstream,
        params: *mut *mut c_void,
    ) -> Code;
    pub fn cuMemAlloc_v2(address: *mut CUdeviceptr, bytes: usize) -> Code;
    pub fn cuMemFree_v2(address: CUdeviceptr) -> Code;
    pub fn cuMemHostAlloc(pointer: *mut *mut c_void, bytes: usize, flags: c_uint) -> Code;
    pub fn cuMemFreeHost(pointer: *mut c_void) -> Code;
    pub fn cuMemcpyHtoD_v2(to: CUdeviceptr, from: *const c_void, bytes: usize) -> Code;
    pub fn cuMemcpyDtoH_v2(to: *mut c_void, from: CUdeviceptr, bytes: usize) -> Code;
    pub fn cuMemcpyAsync(
        to: CUdeviceptr,
        from: CUdeviceptr,
        bytes: usize,
        stream: CUstream,
    ) -> Code;
    pub fn cuStreamCreate(stream: *mut CUstream, flags: c_uint) -> Code;
    pub fn cuStreamDestroy_v2(stream: CUstream) -> Code;
    pub fn cuStreamSynchronize(stream: CUstream) -> Code;
    pub fn cuStreamWaitEvent(stream: CUstream, event: CUevent, flags: c_uint) -> Code;
    pub fn cuEventCreate(event: *mut CUevent, flags: c_uint) -> Code;
    pub fn cuEventDestroy_v2(event: CUevent) -> Code;
    pub fn cuEventRecord(event: CUevent, stream: CUstream) -> Code;
    pub fn cuEventElapsedTime(milliseconds: *mut f32, start: CUevent, end: CUevent) -> Code;
}

/// The driver's name of an error.
pub fn name(code: Code) -> String {
    let mut text = null();
    // SAFETY: the text, if there is one, is a constant of the driver.
    let found = unsafe { cuGetErrorName(code, &raw mut text) };
    if found != 0 || text.is_null() {
        return format!("CUDA error {code}");
    }
    // SAFETY: as above; it ends with a NUL.
    let text = unsafe { CStr::from_ptr(text) };
    text.to_string_lossy().into_owned()
}

/// A call's result as an error with its name and place.
pub fn check(call: &str, at: At, code: Code) -> Result<(), DeviceError> {
    if code == 0 {
        return Ok(());
    }
    // An error that stays is reported by every call that follows.
    // SAFETY: takes nothing.
    let sticky = unsafe { cuCtxSynchronize() } != 0;
    Err(DeviceError::Call {
        name: name(code),
        call: call.to_owned(),
        at,
        sticky,
    })
}
