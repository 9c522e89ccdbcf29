//! `cudaGetDeviceProperties`, whose structure each major release has changed (`driver_types.h` of CUDA 11.8, 12.9 and 13.0).

use super::device::only;
use super::release::Release;
use crate::entry::{enter, put};
use context::Context;
use context::property::{CONSTANT, PITCH, REGISTERS, SHARED};
use std::os::raw::{c_int, c_uint, c_void};

/// `cudaDeviceProp` of CUDA 13, up to where it is the same for all models.
#[repr(C)]
struct Properties {
    name: [u8; 256],
    uuid: [u8; 16],
    luid: [u8; 8],
    luid_mask: c_uint,
    memory: usize,
    shared: usize,
    registers: c_int,
    warp: c_int,
    pitch: usize,
    threads: c_int,
    block: [c_int; 3],
    grid: [c_int; 3],
    constant: usize,
    major: c_int,
    minor: c_int,
    texture_alignment: usize,
    texture_pitch_alignment: usize,
    multiprocessors: c_int,
    integrated: c_int,
    maps_host: c_int,
    textures: [c_int; 25],
    surfaces: [c_int; 14],
    surface_alignment: usize,
    concurrent_kernels: c_int,
    ecc: c_int,
    bus_id: c_int,
    device_id: c_int,
    domain_id: c_int,
    tcc: c_int,
    engines: c_int,
    unified: c_int,
    bus: c_int,
    l2: c_int,
    persisting: c_int,
    multiprocessor_threads: c_int,
    priorities: c_int,
    global_l1: c_int,
    local_l1: c_int,
    multiprocessor_shared: usize,
    multiprocessor_registers: c_int,
    managed: c_int,
    multi_board: c_int,
    board_group: c_int,
    native_atomics: c_int,
    pageable: c_int,
    concurrent_managed: c_int,
    preemption: c_int,
    registered_pointer: c_int,
    cooperative: c_int,
    shared_optin: usize,
    host_tables: c_int,
    direct_managed: c_int,
    multiprocessor_blocks: c_int,
    window: c_int,
    reserved_shared: usize,
    register_host: c_int,
    sparse: c_int,
    register_read_only: c_int,
    semaphores: c_int,
    pools: c_int,
    rest: [c_int; 71],
}

const _: () = assert!(
    size_of::<Properties>() == 1008,
    "sizeof(cudaDeviceProp) of CUDA 13"
);

/// Under this name, CUDA 12's runtime has the form of CUDA 11: programs that were compiled with its headers call the one below.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cudaGetDeviceProperties(to: *mut c_void, device: c_int) -> u32 {
    enter("cudaGetDeviceProperties", |context, entry| {
        only(device)?;
        let new = properties(context);
        // SAFETY: the caller passes a place for the structure of its release.
        unsafe {
            match Release::of(entry) {
                Release::Thirteen => put(to.cast(), new),
                _ => put(to.cast(), Eleven::of(context, &new)),
            }
        }
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cudaGetDeviceProperties_v2(to: *mut c_void, device: c_int) -> u32 {
    enter("cudaGetDeviceProperties_v2", |context, _| {
        only(device)?;
        let new = properties(context);
        let eleven = Eleven::of(context, &new);
        // SAFETY: the caller passes a place for the structure.
        unsafe { put(to.cast(), Twelve::of(eleven, &new)) }
    })
}

fn properties(context: &Context) -> Properties {
    let model = &context.model;
    // SAFETY: numbers and arrays of numbers, for which zero is a value.
    let mut p: Properties = unsafe { std::mem::zeroed() };
    p.name[..model.name.len()].copy_from_slice(model.name.as_bytes());
    p.uuid = *b"racetrap-0000000";
    p.memory = context.room().1 as usize;
    p.shared = SHARED as usize;
    p.registers = REGISTERS as c_int;
    p.warp = 32;
    p.pitch = PITCH as usize;
    p.threads = 1024;
    p.block = [1024, 1024, 64];
    p.grid = [i32::MAX, 65535, 65535];
    p.constant = CONSTANT as usize;
    p.major = (model.capability / 10) as c_int;
    p.minor = (model.capability % 10) as c_int;
    p.texture_alignment = 512;
    p.texture_pitch_alignment = 32;
    p.multiprocessors = model.multiprocessors as c_int;
    p.maps_host = 1;
    // 1D, its mipmap, 2D, its mipmap, linear 2D, gathered 2D, 3D, the other 3D, cubemap, layered 1D, layered 2D, layered cubemap.
    p.textures = [
        131_072, 32768, 131_072, 65536, 32768, 32768, 131_072, 65000, 2_097_120, 32768, 32768,
        16384, 16384, 16384, 8192, 8192, 32768, 32768, 32768, 2048, 32768, 32768, 2048, 32768,
        2046,
    ];
    // 1D, 2D, 3D, layered 1D, layered 2D, cubemap, layered cubemap.
    p.surfaces = [
        32768, 131_072, 65536, 16384, 16384, 16384, 32768, 2048, 32768, 32768, 2048, 32768, 32768,
        2046,
    ];
    p.surface_alignment = 512;
    p.concurrent_kernels = 1;
    p.bus_id = 1;
    p.engines = 3;
    p.unified = 1;
    p.bus = model.bus as c_int;
    p.l2 = model.l2 as c_int;
    p.persisting = (model.l2 / 2) as c_int;
    p.multiprocessor_threads = model.threads as c_int;
    p.priorities = 1;
    p.global_l1 = 1;
    p.local_l1 = 1;
    p.multiprocessor_shared = model.shared as usize;
    p.multiprocessor_registers = REGISTERS as c_int;
    p.managed = 1;
    p.concurrent_managed = 1;
    p.preemption = 1;
    p.cooperative = 1;
    p.shared_optin = model.shared_limit() as usize;
    p.multiprocessor_blocks = model.blocks as c_int;
    p.window = (model.l2 / 2) as c_int;
    p.reserved_shared = model.attribute(111).unwrap_or(0) as usize;
    p.register_host = 1;
    p.pools = 1;
    p
}

/// `cudaDeviceProp` of CUDA 11.8.
#[repr(C)]
struct Eleven {
    name: [u8; 256],
    uuid: [u8; 16],
    luid: [u8; 8],
    luid_mask: c_uint,
    memory: usize,
    shared: usize,
    registers: c_int,
    warp: c_int,
    pitch: usize,
    threads: c_int,
    block: [c_int; 3],
    grid: [c_int; 3],
    clock: c_int,
    constant: usize,
    major: c_int,
    minor: c_int,
    texture_alignment: usize,
    texture_pitch_alignment: usize,
    overlaps: c_int,
    multiprocessors: c_int,
    times_out: c_int,
    integrated: c_int,
    maps_host: c_int,
    mode: c_int,
    /// With one more than CUDA 13's, behind the first two: the linear 1D texture.
    textures: [c_int; 26],
    surfaces: [c_int; 14],
    surface_alignment: usize,
    concurrent_kernels: c_int,
    ecc: c_int,
    bus_id: c_int,
    device_id: c_int,
    domain_id: c_int,
    tcc: c_int,
    engines: c_int,
    unified: c_int,
    memory_clock: c_int,
    bus: c_int,
    l2: c_int,
    persisting: c_int,
    multiprocessor_threads: c_int,
    priorities: c_int,
    global_l1: c_int,
    local_l1: c_int,
    multiprocessor_shared: usize,
    multiprocessor_registers: c_int,
    managed: c_int,
    multi_board: c_int,
    board_group: c_int,
    native_atomics: c_int,
    single_to_double: c_int,
    pageable: c_int,
    concurrent_managed: c_int,
    preemption: c_int,
    registered_pointer: c_int,
    cooperative: c_int,
    cooperative_devices: c_int,
    shared_optin: usize,
    host_tables: c_int,
    direct_managed: c_int,
    multiprocessor_blocks: c_int,
    window: c_int,
    reserved_shared: usize,
}

/// `cudaDeviceProp` of CUDA 12.
#[repr(C)]
struct Twelve {
    eleven: Eleven,
    register_host: c_int,
    sparse: c_int,
    register_read_only: c_int,
    semaphores: c_int,
    pools: c_int,
    rest: [c_int; 71],
}

const _: () = assert!(size_of::<Eleven>() == 728, "cudaDeviceProp of CUDA 11");
const _: () = assert!(size_of::<Twelve>() == 1032, "cudaDeviceProp of CUDA 12");

impl Eleven {
    fn of(context: &Context, new: &Properties) -> Eleven {
        let model = &context.model;
        let mut textures = [0; 26];
        textures[..2].copy_from_slice(&new.textures[..2]);
        textures[2] = 1 << 28;
        textures[3..].copy_from_slice(&new.textures[2..]);
        Eleven {
            name: new.name,
            uuid: new.uuid,
            luid: new.luid,
            luid_mask: new.luid_mask,
            memory: new.memory,
            shared: new.shared,
            registers: new.registers,
            warp: new.warp,
            pitch: new.pitch,
            threads: new.threads,
            block: new.block,
            grid: new.grid,
            clock: model.clock as c_int,
            constant: new.constant,
            major: new.major,
            minor: new.minor,
            texture_alignment: new.texture_alignment,
            texture_pitch_alignment: new.texture_pitch_alignment,
            overlaps: 1,
            multiprocessors: new.multiprocessors,
            times_out: 0,
            integrated: new.integrated,
            maps_host: new.maps_host,
            mode: 0,
            textures,
            surfaces: new.surfaces,
            surface_alignment: new.surface_alignment,
            concurrent_kernels: new.concurrent_kernels,
            ecc: new.ecc,
            bus_id: new.bus_id,
            device_id: new.device_id,
            domain_id: new.domain_id,
            tcc: new.tcc,
            engines: new.engines,
            unified: new.unified,
            memory_clock: model.memory_clock as c_int,
            bus: new.bus,
            l2: new.l2,
            persisting: new.persisting,
            multiprocessor_threads: new.multiprocessor_threads,
            priorities: new.priorities,
            global_l1: new.global_l1,
            local_l1: new.local_l1,
            multiprocessor_shared: new.multiprocessor_shared,
            multiprocessor_registers: new.multiprocessor_registers,
            managed: new.managed,
            multi_board: new.multi_board,
            board_group: new.board_group,
            native_atomics: new.native_atomics,
            // The CUDA C++ Programming Guide, "Throughput of Native Arithmetic Instructions": 64 and 2 a clock, or as many.
            single_to_double: if model.capability == 75 { 32 } else { 2 },
            pageable: new.pageable,
            concurrent_managed: new.concurrent_managed,
            preemption: new.preemption,
            registered_pointer: new.registered_pointer,
            cooperative: new.cooperative,
            cooperative_devices: 0,
            shared_optin: new.shared_optin,
            host_tables: new.host_tables,
            direct_managed: new.direct_managed,
            multiprocessor_blocks: new.multiprocessor_blocks,
            window: new.window,
            reserved_shared: new.reserved_shared,
        }
    }
}

impl Twelve {
    fn of(eleven: Eleven, new: &Properties) -> Twelve {
        Twelve {
            eleven,
            register_host: new.register_host,
            sparse: new.sparse,
            register_read_only: new.register_read_only,
            semaphores: new.semaphores,
            pools: new.pools,
            rest: new.rest,
        }
    }
}
