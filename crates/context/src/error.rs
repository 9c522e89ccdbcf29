//! The errors of the CUDA runtime and driver: one number, two names, one text.
//!
//! Since CUDA 10.1 `cudaError_t` and `CUresult` agree in the number wherever both have the error (CUDA Runtime API, "cudaError";
//! CUDA Driver API, "CUresult"). Names are those of the public headers.

use std::fmt;

/// An error, or success, by its number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Error(pub u32);

struct Row {
    number: u32,
    runtime: &'static std::ffi::CStr,
    driver: &'static std::ffi::CStr,
    text: &'static std::ffi::CStr,
}

macro_rules! errors {
    ($($name:ident = $number:literal, $runtime:literal, $driver:literal, $text:literal;)*) => {
        impl Error {
            $(#[doc = $text] pub const $name: Error = Error($number);)*
        }

        static ROWS: &[Row] = &[$(Row {
            number: $number,
            runtime: c_text(concat!($runtime, "\0")),
            driver: c_text(concat!($driver, "\0")),
            text: c_text(concat!($text, "\0")),
        },)*];
    };
}

/// A text that ends in its first and only zero.
const fn c_text(text: &'static str) -> &'static std::ffi::CStr {
    match std::ffi::CStr::from_bytes_with_nul(text.as_bytes()) {
        Ok(text) => text,
        Err(_) => panic!("a zero inside"),
    }
}

errors! {
    SUCCESS = 0, "cudaSuccess", "CUDA_SUCCESS", "no error";
    INVALID_VALUE = 1, "cudaErrorInvalidValue", "CUDA_ERROR_INVALID_VALUE", "invalid argument";
    MEMORY_ALLOCATION = 2, "cudaErrorMemoryAllocation", "CUDA_ERROR_OUT_OF_MEMORY", "out of memory";
    INITIALIZATION_ERROR = 3, "cudaErrorInitializationError", "CUDA_ERROR_NOT_INITIALIZED", "initialization error";
    CUDART_UNLOADING = 4, "cudaErrorCudartUnloading", "CUDA_ERROR_DEINITIALIZED", "driver shutting down";
    PROFILER_DISABLED = 5, "cudaErrorProfilerDisabled", "CUDA_ERROR_PROFILER_DISABLED", "profiler disabled while using external profiling tool";
    PROFILER_NOT_INITIALIZED = 6, "cudaErrorProfilerNotInitialized", "CUDA_ERROR_PROFILER_NOT_INITIALIZED", "profiler not initialized: call cudaProfilerInitialize()";
    PROFILER_ALREADY_STARTED = 7, "cudaErrorProfilerAlreadyStarted", "CUDA_ERROR_PROFILER_ALREADY_STARTED", "profiler already started";
    PROFILER_ALREADY_STOPPED = 8, "cudaErrorProfilerAlreadyStopped", "CUDA_ERROR_PROFILER_ALREADY_STOPPED", "profiler already stopped";
    INVALID_CONFIGURATION = 9, "cudaErrorInvalidConfiguration", "", "invalid configuration argument";
    INVALID_PITCH_VALUE = 12, "cudaErrorInvalidPitchValue", "", "invalid pitch argument";
    INVALID_SYMBOL = 13, "cudaErrorInvalidSymbol", "", "invalid device symbol";
    INVALID_HOST_POINTER = 16, "cudaErrorInvalidHostPointer", "", "invalid host pointer";
    INVALID_DEVICE_POINTER = 17, "cudaErrorInvalidDevicePointer", "", "invalid device pointer";
    INVALID_TEXTURE = 18, "cudaErrorInvalidTexture", "", "invalid texture reference";
    INVALID_TEXTURE_BINDING = 19, "cudaErrorInvalidTextureBinding", "", "texture is not bound to a pointer";
    INVALID_CHANNEL_DESCRIPTOR = 20, "cudaErrorInvalidChannelDescriptor", "", "invalid channel descriptor";
    INVALID_MEMCPY_DIRECTION = 21, "cudaErrorInvalidMemcpyDirection", "", "invalid copy direction for memcpy";
    ADDRESS_OF_CONSTANT = 22, "cudaErrorAddressOfConstant", "", "__constant__ variable address";
    TEXTURE_FETCH_FAILED = 23, "cudaErrorTextureFetchFailed", "", "fetch from texture failed";
    TEXTURE_NOT_BOUND = 24, "cudaErrorTextureNotBound", "", "cannot fetch from a texture that is not bound";
    SYNCHRONIZATION_ERROR = 25, "cudaErrorSynchronizationError", "", "incorrect use of __syncthreads()";
    INVALID_FILTER_SETTING = 26, "cudaErrorInvalidFilterSetting", "", "linear filtering not supported for non-float type";
    INVALID_NORM_SETTING = 27, "cudaErrorInvalidNormSetting", "", "read as normalized float not supported for 32-bit non float type";
    MIXED_DEVICE_EXECUTION = 28, "cudaErrorMixedDeviceExecution", "", "device emulation mode and device execution mode cannot be mixed";
    NOT_YET_IMPLEMENTED = 31, "cudaErrorNotYetImplemented", "", "feature not yet implemented";
    MEMORY_VALUE_TOO_LARGE = 32, "cudaErrorMemoryValueTooLarge", "", "memory size or pointer value too large to fit in 32 bit";
    STUB_LIBRARY = 34, "cudaErrorStubLibrary", "CUDA_ERROR_STUB_LIBRARY", "CUDA driver is a stub library";
    INSUFFICIENT_DRIVER = 35, "cudaErrorInsufficientDriver", "", "CUDA driver version is insufficient for CUDA runtime version";
    CALL_REQUIRES_NEWER_DRIVER = 36, "cudaErrorCallRequiresNewerDriver", "CUDA_ERROR_CALL_REQUIRES_NEWER_DRIVER", "API call is not supported in the installed CUDA driver";
    INVALID_SURFACE = 37, "cudaErrorInvalidSurface", "", "invalid surface reference";
    DUPLICATE_VARIABLE_NAME = 43, "cudaErrorDuplicateVariableName", "", "duplicate global variable looked up by string name";
    DUPLICATE_TEXTURE_NAME = 44, "cudaErrorDuplicateTextureName", "", "duplicate texture looked up by string name";
    DUPLICATE_SURFACE_NAME = 45, "cudaErrorDuplicateSurfaceName", "", "duplicate surface looked up by string name";
    DEVICES_UNAVAILABLE = 46, "cudaErrorDevicesUnavailable", "CUDA_ERROR_DEVICE_UNAVAILABLE", "all CUDA-capable devices are busy or unavailable";
    INCOMPATIBLE_DRIVER_CONTEXT = 49, "cudaErrorIncompatibleDriverContext", "", "incompatible driver context";
    MISSING_CONFIGURATION = 52, "cudaErrorMissingConfiguration", "", "__global__ function call is not configured";
    PRIOR_LAUNCH_FAILURE = 53, "cudaErrorPriorLaunchFailure", "", "unspecified launch failure in prior launch";
    LAUNCH_MAX_DEPTH_EXCEEDED = 65, "cudaErrorLaunchMaxDepthExceeded", "", "launch would exceed maximum depth of nested launches";
    LAUNCH_FILE_SCOPED_TEX = 66, "cudaErrorLaunchFileScopedTex", "", "launch failed because kernel uses unsupported, file-scoped textures (texture objects are supported)";
    LAUNCH_FILE_SCOPED_SURF = 67, "cudaErrorLaunchFileScopedSurf", "", "launch failed because kernel uses unsupported, file-scoped surfaces (surface objects are supported)";
    SYNC_DEPTH_EXCEEDED = 68, "cudaErrorSyncDepthExceeded", "", "cudaDeviceSynchronize failed because caller's grid depth exceeds cudaLimitDevRuntimeSyncDepth";
    LAUNCH_PENDING_COUNT_EXCEEDED = 69, "cudaErrorLaunchPendingCountExceeded", "", "launch failed because launch would exceed cudaLimitDevRuntimePendingLaunchCount";
    INVALID_DEVICE_FUNCTION = 98, "cudaErrorInvalidDeviceFunction", "", "invalid device function";
    NO_DEVICE = 100, "cudaErrorNoDevice", "CUDA_ERROR_NO_DEVICE", "no CUDA-capable device is detected";
    INVALID_DEVICE = 101, "cudaErrorInvalidDevice", "CUDA_ERROR_INVALID_DEVICE", "invalid device ordinal";
    DEVICE_NOT_LICENSED = 102, "cudaErrorDeviceNotLicensed", "CUDA_ERROR_DEVICE_NOT_LICENSED", "device doesn't have valid Grid license";
    SOFTWARE_VALIDITY_NOT_ESTABLISHED = 103, "cudaErrorSoftwareValidityNotEstablished", "", "integrity checks failed";
    STARTUP_FAILURE = 127, "cudaErrorStartupFailure", "", "startup failure in cuda runtime";
    INVALID_KERNEL_IMAGE = 200, "cudaErrorInvalidKernelImage", "CUDA_ERROR_INVALID_IMAGE", "device kernel image is invalid";
    DEVICE_UNINITIALIZED = 201, "cudaErrorDeviceUninitialized", "CUDA_ERROR_INVALID_CONTEXT", "invalid device context";
    MAP_BUFFER_OBJECT_FAILED = 205, "cudaErrorMapBufferObjectFailed", "CUDA_ERROR_MAP_FAILED", "mapping of buffer object failed";
    UNMAP_BUFFER_OBJECT_FAILED = 206, "cudaErrorUnmapBufferObjectFailed", "CUDA_ERROR_UNMAP_FAILED", "unmapping of buffer object failed";
    ARRAY_IS_MAPPED = 207, "cudaErrorArrayIsMapped", "CUDA_ERROR_ARRAY_IS_MAPPED", "array is mapped";
    ALREADY_MAPPED = 208, "cudaErrorAlreadyMapped", "CUDA_ERROR_ALREADY_MAPPED", "resource already mapped";
    NO_KERNEL_IMAGE_FOR_DEVICE = 209, "cudaErrorNoKernelImageForDevice", "CUDA_ERROR_NO_BINARY_FOR_GPU", "no kernel image is available for execution on the device";
    ALREADY_ACQUIRED = 210, "cudaErrorAlreadyAcquired", "CUDA_ERROR_ALREADY_ACQUIRED", "resource already acquired";
    NOT_MAPPED = 211, "cudaErrorNotMapped", "CUDA_ERROR_NOT_MAPPED", "resource not mapped";
    NOT_MAPPED_AS_ARRAY = 212, "cudaErrorNotMappedAsArray", "CUDA_ERROR_NOT_MAPPED_AS_ARRAY", "resource not mapped as array";
    NOT_MAPPED_AS_POINTER = 213, "cudaErrorNotMappedAsPointer", "CUDA_ERROR_NOT_MAPPED_AS_POINTER", "resource not mapped as pointer";
    ECC_UNCORRECTABLE = 214, "cudaErrorECCUncorrectable", "CUDA_ERROR_ECC_UNCORRECTABLE", "uncorrectable ECC error encountered";
    UNSUPPORTED_LIMIT = 215, "cudaErrorUnsupportedLimit", "CUDA_ERROR_UNSUPPORTED_LIMIT", "limit is not supported on this architecture";
    DEVICE_ALREADY_IN_USE = 216, "cudaErrorDeviceAlreadyInUse", "CUDA_ERROR_CONTEXT_ALREADY_IN_USE", "exclusive-thread device already in use by a different thread";
    PEER_ACCESS_UNSUPPORTED = 217, "cudaErrorPeerAccessUnsupported", "CUDA_ERROR_PEER_ACCESS_UNSUPPORTED", "peer access is not supported between these two devices";
    INVALID_PTX = 218, "cudaErrorInvalidPtx", "CUDA_ERROR_INVALID_PTX", "a PTX JIT compilation failed";
    INVALID_GRAPHICS_CONTEXT = 219, "cudaErrorInvalidGraphicsContext", "CUDA_ERROR_INVALID_GRAPHICS_CONTEXT", "invalid OpenGL or DirectX context";
    NVLINK_UNCORRECTABLE = 220, "cudaErrorNvlinkUncorrectable", "CUDA_ERROR_NVLINK_UNCORRECTABLE", "uncorrectable NVLink error detected during the execution";
    JIT_COMPILER_NOT_FOUND = 221, "cudaErrorJitCompilerNotFound", "CUDA_ERROR_JIT_COMPILER_NOT_FOUND", "PTX JIT compiler library not found";
    UNSUPPORTED_PTX_VERSION = 222, "cudaErrorUnsupportedPtxVersion", "CUDA_ERROR_UNSUPPORTED_PTX_VERSION", "the provided PTX was compiled with an unsupported toolchain.";
    JIT_COMPILATION_DISABLED = 223, "cudaErrorJitCompilationDisabled", "CUDA_ERROR_JIT_COMPILATION_DISABLED", "PTX JIT compilation was disabled";
    UNSUPPORTED_EXEC_AFFINITY = 224, "cudaErrorUnsupportedExecAffinity", "CUDA_ERROR_UNSUPPORTED_EXEC_AFFINITY", "the provided execution affinity is not supported";
    UNSUPPORTED_DEV_SIDE_SYNC = 225, "cudaErrorUnsupportedDevSideSync", "CUDA_ERROR_UNSUPPORTED_DEVSIDE_SYNC", "the provided PTX contains unsupported call to cudaDeviceSynchronize";
    CONTAINED = 226, "cudaErrorContained", "CUDA_ERROR_CONTAINED", "Invalid access of peer GPU memory over nvlink or a hardware error";
    INVALID_SOURCE = 300, "cudaErrorInvalidSource", "CUDA_ERROR_INVALID_SOURCE", "device kernel image is invalid";
    FILE_NOT_FOUND = 301, "cudaErrorFileNotFound", "CUDA_ERROR_FILE_NOT_FOUND", "file not found";
    SHARED_OBJECT_SYMBOL_NOT_FOUND = 302, "cudaErrorSharedObjectSymbolNotFound", "CUDA_ERROR_SHARED_OBJECT_SYMBOL_NOT_FOUND", "shared object symbol not found";
    SHARED_OBJECT_INIT_FAILED = 303, "cudaErrorSharedObjectInitFailed", "CUDA_ERROR_SHARED_OBJECT_INIT_FAILED", "shared object initialization failed";
    OPERATING_SYSTEM = 304, "cudaErrorOperatingSystem", "CUDA_ERROR_OPERATING_SYSTEM", "OS call failed or operation not supported on this OS";
    INVALID_RESOURCE_HANDLE = 400, "cudaErrorInvalidResourceHandle", "CUDA_ERROR_INVALID_HANDLE", "invalid resource handle";
    ILLEGAL_STATE = 401, "cudaErrorIllegalState", "CUDA_ERROR_ILLEGAL_STATE", "the operation cannot be performed in the present state";
    LOSSY_QUERY = 402, "cudaErrorLossyQuery", "CUDA_ERROR_LOSSY_QUERY", "attempted introspection would be semantically lossy";
    SYMBOL_NOT_FOUND = 500, "cudaErrorSymbolNotFound", "CUDA_ERROR_NOT_FOUND", "named symbol not found";
    NOT_READY = 600, "cudaErrorNotReady", "CUDA_ERROR_NOT_READY", "device not ready";
    ILLEGAL_ADDRESS = 700, "cudaErrorIllegalAddress", "CUDA_ERROR_ILLEGAL_ADDRESS", "an illegal memory access was encountered";
    LAUNCH_OUT_OF_RESOURCES = 701, "cudaErrorLaunchOutOfResources", "CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES", "too many resources requested for launch";
    LAUNCH_TIMEOUT = 702, "cudaErrorLaunchTimeout", "CUDA_ERROR_LAUNCH_TIMEOUT", "the launch timed out and was terminated";
    LAUNCH_INCOMPATIBLE_TEXTURING = 703, "cudaErrorLaunchIncompatibleTexturing", "CUDA_ERROR_LAUNCH_INCOMPATIBLE_TEXTURING", "launch uses incompatible texturing mode";
    PEER_ACCESS_ALREADY_ENABLED = 704, "cudaErrorPeerAccessAlreadyEnabled", "CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED", "peer access is already enabled";
    PEER_ACCESS_NOT_ENABLED = 705, "cudaErrorPeerAccessNotEnabled", "CUDA_ERROR_PEER_ACCESS_NOT_ENABLED", "peer access has not been enabled";
    SET_ON_ACTIVE_PROCESS = 708, "cudaErrorSetOnActiveProcess", "CUDA_ERROR_PRIMARY_CONTEXT_ACTIVE", "cannot set while device is active in this process";
    CONTEXT_IS_DESTROYED = 709, "cudaErrorContextIsDestroyed", "CUDA_ERROR_CONTEXT_IS_DESTROYED", "context is destroyed";
    ASSERT = 710, "cudaErrorAssert", "CUDA_ERROR_ASSERT", "device-side assert triggered";
    TOO_MANY_PEERS = 711, "cudaErrorTooManyPeers", "CUDA_ERROR_TOO_MANY_PEERS", "peer mapping resources exhausted";
    HOST_MEMORY_ALREADY_REGISTERED = 712, "cudaErrorHostMemoryAlreadyRegistered", "CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED", "part or all of the requested memory range is already mapped";
    HOST_MEMORY_NOT_REGISTERED = 713, "cudaErrorHostMemoryNotRegistered", "CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED", "pointer does not correspond to a registered memory region";
    HARDWARE_STACK_ERROR = 714, "cudaErrorHardwareStackError", "CUDA_ERROR_HARDWARE_STACK_ERROR", "hardware stack error";
    ILLEGAL_INSTRUCTION = 715, "cudaErrorIllegalInstruction", "CUDA_ERROR_ILLEGAL_INSTRUCTION", "an illegal instruction was encountered";
    MISALIGNED_ADDRESS = 716, "cudaErrorMisalignedAddress", "CUDA_ERROR_MISALIGNED_ADDRESS", "misaligned address";
    INVALID_ADDRESS_SPACE = 717, "cudaErrorInvalidAddressSpace", "CUDA_ERROR_INVALID_ADDRESS_SPACE", "operation not supported on global/shared address space";
    INVALID_PC = 718, "cudaErrorInvalidPc", "CUDA_ERROR_INVALID_PC", "invalid program counter";
    LAUNCH_FAILURE = 719, "cudaErrorLaunchFailure", "CUDA_ERROR_LAUNCH_FAILED", "unspecified launch failure";
    COOPERATIVE_LAUNCH_TOO_LARGE = 720, "cudaErrorCooperativeLaunchTooLarge", "CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE", "too many blocks in cooperative launch";
    TENSOR_MEMORY_LEAK = 721, "cudaErrorTensorMemoryLeak", "CUDA_ERROR_TENSOR_MEMORY_LEAK", "tensor memory not completely freed";
    NOT_PERMITTED = 800, "cudaErrorNotPermitted", "CUDA_ERROR_NOT_PERMITTED", "operation not permitted";
    NOT_SUPPORTED = 801, "cudaErrorNotSupported", "CUDA_ERROR_NOT_SUPPORTED", "operation not supported";
    SYSTEM_NOT_READY = 802, "cudaErrorSystemNotReady", "CUDA_ERROR_SYSTEM_NOT_READY", "system not yet initialized";
    SYSTEM_DRIVER_MISMATCH = 803, "cudaErrorSystemDriverMismatch", "CUDA_ERROR_SYSTEM_DRIVER_MISMATCH", "system has unsupported display driver / cuda driver combination";
    COMPAT_NOT_SUPPORTED_ON_DEVICE = 804, "cudaErrorCompatNotSupportedOnDevice", "CUDA_ERROR_COMPAT_NOT_SUPPORTED_ON_DEVICE", "forward compatibility was attempted on non supported HW";
    MPS_CONNECTION_FAILED = 805, "cudaErrorMpsConnectionFailed", "CUDA_ERROR_MPS_CONNECTION_FAILED", "MPS client failed to connect to the MPS control daemon or the MPS server";
    MPS_RPC_FAILURE = 806, "cudaErrorMpsRpcFailure", "CUDA_ERROR_MPS_RPC_FAILURE", "the remote procedural call between the MPS server and the MPS client failed";
    MPS_SERVER_NOT_READY = 807, "cudaErrorMpsServerNotReady", "CUDA_ERROR_MPS_SERVER_NOT_READY", "MPS server is not ready to accept new MPS client requests";
    MPS_MAX_CLIENTS_REACHED = 808, "cudaErrorMpsMaxClientsReached", "CUDA_ERROR_MPS_MAX_CLIENTS_REACHED", "the hardware resources required to create MPS client have been exhausted";
    MPS_MAX_CONNECTIONS_REACHED = 809, "cudaErrorMpsMaxConnectionsReached", "CUDA_ERROR_MPS_MAX_CONNECTIONS_REACHED", "the hardware resources required to support device connections have been exhausted";
    MPS_CLIENT_TERMINATED = 810, "cudaErrorMpsClientTerminated", "CUDA_ERROR_MPS_CLIENT_TERMINATED", "the MPS client has been terminated by the server";
    CDP_NOT_SUPPORTED = 811, "cudaErrorCdpNotSupported", "CUDA_ERROR_CDP_NOT_SUPPORTED", "is using CUDA Dynamic Parallelism, but the current configuration, like MPS, does not support it";
    CDP_VERSION_MISMATCH = 812, "cudaErrorCdpVersionMismatch", "CUDA_ERROR_CDP_VERSION_MISMATCH", "unsupported interaction between different versions of CUDA Dynamic Parallelism";
    STREAM_CAPTURE_UNSUPPORTED = 900, "cudaErrorStreamCaptureUnsupported", "CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED", "operation not permitted when stream is capturing";
    STREAM_CAPTURE_INVALIDATED = 901, "cudaErrorStreamCaptureInvalidated", "CUDA_ERROR_STREAM_CAPTURE_INVALIDATED", "operation failed due to a previous error during capture";
    STREAM_CAPTURE_MERGE = 902, "cudaErrorStreamCaptureMerge", "CUDA_ERROR_STREAM_CAPTURE_MERGE", "operation would result in a merge of separate capture sequences";
    STREAM_CAPTURE_UNMATCHED = 903, "cudaErrorStreamCaptureUnmatched", "CUDA_ERROR_STREAM_CAPTURE_UNMATCHED", "capture was not ended in the same stream as it began";
    STREAM_CAPTURE_UNJOINED = 904, "cudaErrorStreamCaptureUnjoined", "CUDA_ERROR_STREAM_CAPTURE_UNJOINED", "capturing stream has unjoined work";
    STREAM_CAPTURE_ISOLATION = 905, "cudaErrorStreamCaptureIsolation", "CUDA_ERROR_STREAM_CAPTURE_ISOLATION", "dependency created on uncaptured work in another stream";
    STREAM_CAPTURE_IMPLICIT = 906, "cudaErrorStreamCaptureImplicit", "CUDA_ERROR_STREAM_CAPTURE_IMPLICIT", "operation would make the legacy stream depend on a capturing blocking stream";
    CAPTURED_EVENT = 907, "cudaErrorCapturedEvent", "CUDA_ERROR_CAPTURED_EVENT", "operation not permitted on an event last recorded in a capturing stream";
    STREAM_CAPTURE_WRONG_THREAD = 908, "cudaErrorStreamCaptureWrongThread", "CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD", "attempt to terminate a thread-local capture sequence from another thread";
    TIMEOUT = 909, "cudaErrorTimeout", "CUDA_ERROR_TIMEOUT", "wait operation timed out";
    GRAPH_EXEC_UPDATE_FAILURE = 910, "cudaErrorGraphExecUpdateFailure", "CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE", "the graph update was not performed because it included changes which violated constraints specific to instantiated graph update";
    EXTERNAL_DEVICE = 911, "cudaErrorExternalDevice", "CUDA_ERROR_EXTERNAL_DEVICE", "an async error has occured in external entity outside of CUDA";
    INVALID_CLUSTER_SIZE = 912, "cudaErrorInvalidClusterSize", "CUDA_ERROR_INVALID_CLUSTER_SIZE", "a kernel launch error has occurred due to cluster misconfiguration";
    FUNCTION_NOT_LOADED = 913, "cudaErrorFunctionNotLoaded", "CUDA_ERROR_FUNCTION_NOT_LOADED", "function is not loaded";
    INVALID_RESOURCE_TYPE = 914, "cudaErrorInvalidResourceType", "CUDA_ERROR_INVALID_RESOURCE_TYPE", "invalid resource type";
    INVALID_RESOURCE_CONFIGURATION = 915, "cudaErrorInvalidResourceConfiguration", "CUDA_ERROR_INVALID_RESOURCE_CONFIGURATION", "invalid resource configuration";
    UNKNOWN = 999, "cudaErrorUnknown", "CUDA_ERROR_UNKNOWN", "unknown error";
    API_FAILURE_BASE = 10000, "cudaErrorApiFailureBase", "", "api failure base";
}

/// What an operation gives, or its error.
pub type Result<T> = std::result::Result<T, Error>;

impl Error {
    fn row(self) -> Option<&'static Row> {
        ROWS.iter().find(|row| row.number == self.0)
    }

    /// The runtime's name: `cudaErrorInvalidValue`.
    pub fn runtime_name(self) -> Option<&'static std::ffi::CStr> {
        self.row().map(|row| row.runtime)
    }

    /// The driver's name: `CUDA_ERROR_INVALID_VALUE`; `None` where the driver has no such error.
    pub fn driver_name(self) -> Option<&'static std::ffi::CStr> {
        self.row()
            .map(|row| row.driver)
            .filter(|name| !name.is_empty())
    }

    /// What it means.
    pub fn text(self) -> Option<&'static std::ffi::CStr> {
        self.row().map(|row| row.text)
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.runtime_name() {
            Some(name) => f.write_str(&name.to_string_lossy()),
            None => write!(f, "error {}", self.0),
        }
    }
}
