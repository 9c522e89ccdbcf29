//! `cudaGetDeviceProperties`, whose structure each major release has changed (`driver_types.h` of CUDA 11.8, 12.9 and 13.0).

use super::device::only;
use super::headers::Release;
use crate::entry::enter;
use context::property::{CONSTANT, PITCH, REGISTERS, SHARED};
use context::{Context, Error, Result};
use std::os::raw::{c_int, c_void};

/// Under this name, CUDA 12's runtime has the form of CUDA 11: programs that were compiled with its headers call the one below.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cudaGetDeviceProperties(to: *mut c_void, device: c_int) -> u32 {
    enter("cudaGetDeviceProperties", |context, entry| {
        only(device)?;
        let release = match Release::of(entry) {
            Release::Thirteen => Release::Thirteen,
            _ => Release::Eleven,
        };
        // SAFETY: the caller passes a place for the structure of its release.
        unsafe { properties(context, release).put(to) }
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cudaGetDeviceProperties_v2(to: *mut c_void, device: c_int) -> u32 {
    enter("cudaGetDeviceProperties_v2", |context, _| {
        only(device)?;
        // SAFETY: the caller passes a place for the structure.
        unsafe { properties(context, Release::Twelve).put(to) }
    })
}

/// A structure of C: each value comes where its type is aligned (System V ABI, "Aggregates and Unions").
#[derive(Default)]
struct Structure(Vec<u8>);

impl Structure {
    fn bytes(&mut self, bytes: &[u8]) {
        self.0.extend(bytes);
    }
    fn int(&mut self, value: u32) {
        self.align(size_of::<u32>());
        self.bytes(&value.to_le_bytes());
    }
    fn ints(&mut self, values: &[u32]) {
        values.iter().for_each(|value| self.int(*value));
    }
    fn size(&mut self, value: u64) {
        self.align(size_of::<u64>());
        self.bytes(&value.to_le_bytes());
    }
    fn align(&mut self, to: usize) {
        self.0.resize(self.0.len().next_multiple_of(to), 0);
    }

    /// # Safety
    ///
    /// `to` is null or has room for the structure.
    unsafe fn put(mut self, to: *mut c_void) -> Result<()> {
        if to.is_null() {
            return Err(Error::INVALID_VALUE);
        }
        self.align(size_of::<u64>());
        // SAFETY: by the function's own condition.
        unsafe { std::ptr::copy_nonoverlapping(self.0.as_ptr(), to.cast(), self.0.len()) };
        Ok(())
    }
}

/// `cudaDeviceProp` of a release, its fields in order. CUDA 12 has added to the end of CUDA 11's; CUDA 13 has left out some of both.
fn properties(context: &Context, release: Release) -> Structure {
    let model = &context.model;
    let before_13 = release < Release::Thirteen;
    let mut name = [0; 256];
    name[..model.name.len()].copy_from_slice(model.name.as_bytes());
    let mut s = Structure::default();
    s.bytes(&name);
    s.bytes(b"racetrap-0000000"); // uuid
    s.bytes(&[0; 8]); // luid
    s.int(0); // luidDeviceNodeMask
    s.size(context.memory.room().1); // totalGlobalMem
    s.size(SHARED.into()); // sharedMemPerBlock
    s.int(REGISTERS); // regsPerBlock
    s.int(32); // warpSize
    s.size(PITCH.into()); // memPitch
    s.int(1024); // maxThreadsPerBlock
    s.ints(&[1024, 1024, 64]); // maxThreadsDim
    s.ints(&[i32::MAX as u32, 65535, 65535]); // maxGridSize
    if before_13 {
        s.int(model.clock); // clockRate
    }
    s.size(CONSTANT.into()); // totalConstMem
    s.int(model.capability / 10); // major
    s.int(model.capability % 10); // minor
    s.size(512); // textureAlignment
    s.size(32); // texturePitchAlignment
    if before_13 {
        s.int(1); // deviceOverlap
    }
    s.int(model.multiprocessors); // multiProcessorCount
    if before_13 {
        s.int(0); // kernelExecTimeoutEnabled
    }
    s.int(0); // integrated
    s.int(1); // canMapHostMemory
    if before_13 {
        s.int(0); // computeMode
    }
    s.ints(&[131_072, 32768]); // maxTexture1D, maxTexture1DMipmap
    if before_13 {
        s.int(1 << 28); // maxTexture1DLinear
    }
    s.ints(&[131_072, 65536, 32768, 32768]); // maxTexture2D, maxTexture2DMipmap
    s.ints(&[131_072, 65000, 2_097_120]); // maxTexture2DLinear
    s.ints(&[32768, 32768]); // maxTexture2DGather
    s.ints(&[16384, 16384, 16384, 8192, 8192, 32768]); // maxTexture3D, maxTexture3DAlt
    s.int(32768); // maxTextureCubemap
    s.ints(&[32768, 2048]); // maxTexture1DLayered
    s.ints(&[32768, 32768, 2048]); // maxTexture2DLayered
    s.ints(&[32768, 2046]); // maxTextureCubemapLayered
    s.ints(&[32768, 131_072, 65536]); // maxSurface1D, maxSurface2D
    s.ints(&[16384, 16384, 16384]); // maxSurface3D
    s.ints(&[32768, 2048]); // maxSurface1DLayered
    s.ints(&[32768, 32768, 2048]); // maxSurface2DLayered
    s.int(32768); // maxSurfaceCubemap
    s.ints(&[32768, 2046]); // maxSurfaceCubemapLayered
    s.size(512); // surfaceAlignment
    s.int(1); // concurrentKernels
    s.int(0); // ECCEnabled
    s.ints(&[1, 0, 0]); // pciBusID, pciDeviceID, pciDomainID
    s.int(0); // tccDriver
    s.int(3); // asyncEngineCount
    s.int(1); // unifiedAddressing
    if before_13 {
        s.int(model.memory_clock); // memoryClockRate
    }
    s.int(model.bus); // memoryBusWidth
    s.int(model.l2); // l2CacheSize
    s.int(model.l2 / 2); // persistingL2CacheMaxSize
    s.int(model.threads); // maxThreadsPerMultiProcessor
    s.int(1); // streamPrioritiesSupported
    s.ints(&[1, 1]); // globalL1CacheSupported, localL1CacheSupported
    s.size(model.shared.into()); // sharedMemPerMultiprocessor
    s.int(REGISTERS); // regsPerMultiprocessor
    s.int(1); // managedMemory
    s.ints(&[0, 0]); // isMultiGpuBoard, multiGpuBoardGroupID
    s.int(0); // hostNativeAtomicSupported
    if before_13 {
        // The CUDA C++ Programming Guide, "Throughput of Native Arithmetic Instructions": 64 and 2 a clock, or as many.
        let single_to_double = if model.capability == 75 { 32 } else { 2 };
        s.int(single_to_double); // singleToDoublePrecisionPerfRatio
    }
    s.int(0); // pageableMemoryAccess
    s.int(1); // concurrentManagedAccess
    s.int(1); // computePreemptionSupported
    s.int(0); // canUseHostPointerForRegisteredMem
    s.int(1); // cooperativeLaunch
    if before_13 {
        s.int(0); // cooperativeMultiDeviceLaunch
    }
    s.size(model.shared_limit().into()); // sharedMemPerBlockOptin
    s.int(0); // pageableMemoryAccessUsesHostPageTables
    s.int(0); // directManagedMemAccessFromHost
    s.int(model.blocks); // maxBlocksPerMultiProcessor
    s.int(model.l2 / 2); // accessPolicyMaxWindowSize
    s.size(model.attribute(111).unwrap_or(0) as u64); // reservedSharedMemPerBlock
    if release > Release::Eleven {
        s.int(1); // hostRegisterSupported
        s.int(0); // sparseCudaArraySupported
        s.int(0); // hostRegisterReadOnlySupported
        s.int(0); // timelineSemaphoreInteropSupported
        s.int(1); // memoryPoolsSupported
        s.ints(&[0; 71]); // what no simulated GPU has, and what is reserved
    }
    s
}
