//! Functions that CUDA's driver provides to device code (CUDA C++ Programming Guide, "Formatted Output", "Assertion", "Dynamic Global Memory
//! Allocation and Operations").

/// A function that PTX calls without defining it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum System {
    /// `vprintf(format, arguments)`
    Vprintf,
    /// `__assertfail(message, file, line, function, char size)`
    AssertFail,
    /// `malloc(bytes)`
    Malloc,
    /// `free(pointer)`
    Free,
    /// `cudaGraphSetConditional(handle, value)` (CUDA C++ Programming Guide, "Conditional Handles")
    SetConditional,
    /// `cudaGetParameterBufferV2(kernel, grid, block, bytes)` ("CUDA Dynamic Parallelism")
    ParameterBuffer,
    /// `cudaLaunchDeviceV2(buffer, stream)`
    LaunchDevice,
    /// `cudaStreamCreateWithFlags(stream, flags)`
    StreamCreate,
    /// `cudaMalloc(pointer, bytes)`
    DeviceMalloc,
    /// `cudaFree(pointer)`
    DeviceFree,
    /// `cudaMemcpyAsync(to, from, bytes, kind, stream)`
    MemcpyAsync,
    /// Those of the device's runtime that only say that all is well: `cudaGetLastError()`, `cudaStreamDestroy(stream)`.
    Success,
}

impl System {
    /// Whether it takes memory from the device's heap.
    pub fn uses_heap(self) -> bool {
        matches!(
            self,
            System::Malloc | System::DeviceMalloc | System::ParameterBuffer
        )
    }

    /// Whether it belongs to the device's runtime library (`cuda_device_runtime_api.h`), whose names no program has for itself.
    pub fn is_of_device_runtime(self) -> bool {
        !matches!(
            self,
            System::Vprintf | System::AssertFail | System::Malloc | System::Free
        )
    }

    /// The function of that name. Of the device's runtime library (`cuda_device_runtime_api.h`), nvcc before CUDA 12 calls `cudaMalloc`, say,
    /// and since then `__cudaCDP2Malloc`.
    pub fn named(name: &str) -> Option<System> {
        let of_runtime = name
            .strip_prefix("__cudaCDP2")
            .or_else(|| name.strip_prefix("cuda"));
        let of_runtime = of_runtime.map(|rest| rest.strip_suffix("_ptsz").unwrap_or(rest));
        if let Some(system) = of_runtime.and_then(System::of_device_runtime) {
            return Some(system);
        }
        Some(match name {
            "vprintf" => System::Vprintf,
            "__assertfail" => System::AssertFail,
            "malloc" => System::Malloc,
            "free" => System::Free,
            "cudaGraphSetConditional" => System::SetConditional,
            _ => return None,
        })
    }

    /// A function of the device's runtime library, without its prefix.
    fn of_device_runtime(name: &str) -> Option<System> {
        Some(match name {
            "GetParameterBufferV2" => System::ParameterBuffer,
            "LaunchDeviceV2" => System::LaunchDevice,
            "StreamCreateWithFlags" => System::StreamCreate,
            "Malloc" => System::DeviceMalloc,
            "Free" => System::DeviceFree,
            "MemcpyAsync" => System::MemcpyAsync,
            "GetLastError" | "PeekAtLastError" | "GetErrorString" | "StreamDestroy" => {
                System::Success
            }
            _ => return None,
        })
    }
}
