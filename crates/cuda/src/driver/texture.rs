//! Arrays, textures and surfaces (CUDA Driver API, "Memory Management", "Texture Object Management", "Surface Object Management").

use crate::entry::{Entry, plain, put};
use crate::runtime::{Copy, Rows, address_mode, by_index, copy, rows_of};
use context::image::{ChannelKind, Format, Image, Sampler};
use context::{Context, Error, Result};
use std::os::raw::{c_int, c_uint, c_void};

type Handle = *mut c_void;

/// The format that a `CUarray_format` and a number of channels mean.
fn format(context: &mut Context, entry: Entry, number: c_int, channels: c_uint) -> Result<Format> {
    let (bits, kind) = match number {
        0x01 => (8, ChannelKind::Unsigned),
        0x02 => (16, ChannelKind::Unsigned),
        0x03 => (32, ChannelKind::Unsigned),
        0x08 => (8, ChannelKind::Signed),
        0x09 => (16, ChannelKind::Signed),
        0x0a => (32, ChannelKind::Signed),
        0x10 => (16, ChannelKind::Float),
        0x20 => (32, ChannelKind::Float),
        _ => {
            context
                .findings
                .missing(&format!("{} with format {number:#x}", entry.0));
            return Err(Error::NOT_SUPPORTED);
        }
    };
    if !matches!(channels, 1 | 2 | 4) {
        return Err(Error::INVALID_VALUE);
    }
    Ok(Format {
        bits,
        channels: channels as u8,
        kind,
    })
}

/// `CUDA_ARRAY_DESCRIPTOR`
#[repr(C)]
pub struct ArrayDescriptor {
    width: usize,
    height: usize,
    format: c_int,
    channels: c_uint,
}

/// `CUDA_ARRAY3D_DESCRIPTOR`
#[repr(C)]
pub struct ArrayDescriptor3D {
    width: usize,
    height: usize,
    depth: usize,
    format: c_int,
    channels: c_uint,
    flags: c_uint,
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuArrayCreate_v2(to: *mut Handle, desc: *const ArrayDescriptor) -> u32 {
    plain("cuArrayCreate", |context, entry| {
        if desc.is_null() || to.is_null() {
            return Err(Error::INVALID_VALUE);
        }
        // SAFETY: the caller passes a descriptor, and a place for the handle.
        unsafe {
            let desc = desc.read_unaligned();
            let format = format(context, entry, desc.format, desc.channels)?;
            let extent = [desc.width as u64, desc.height as u64, 0];
            let handle = context.create_array(format, extent, 0, 1, entry.call())?;
            put(to, handle as Handle)
        }
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuArray3DCreate_v2(
    to: *mut Handle,
    desc: *const ArrayDescriptor3D,
) -> u32 {
    plain("cuArray3DCreate", |context, entry| {
        if desc.is_null() || to.is_null() {
            return Err(Error::INVALID_VALUE);
        }
        // SAFETY: the caller passes a descriptor, and a place for the handle.
        unsafe {
            let desc = desc.read_unaligned();
            let format = format(context, entry, desc.format, desc.channels)?;
            let extent = [desc.width, desc.height, desc.depth].map(|n| n as u64);
            let handle = context.create_array(format, extent, desc.flags, 1, entry.call())?;
            put(to, handle as Handle)
        }
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn cuArrayDestroy(array: Handle) -> u32 {
    plain("cuArrayDestroy", |context, entry| {
        context.synchronize_all()?;
        context.free_array(array.addr() as u64, entry.call())
    })
}

/// `CUDA_RESOURCE_DESC`: a kind, and a union of 128 bytes.
#[repr(C)]
pub struct DriverResource {
    kind: c_int,
    resource: Resource,
    flags: c_uint,
}

/// The union.
#[repr(C)]
union Resource {
    array: Handle,
    memory: Memory,
    reserved: [u64; 16],
}

/// `linear` and `pitch2D`, which begin alike: the size in bytes is the first's, width, height and pitch the other's.
#[repr(C)]
#[derive(Clone, Copy)]
struct Memory {
    address: u64,
    format: c_int,
    channels: c_uint,
    width: usize,
    height: usize,
    pitch: usize,
}

/// `CUDA_TEXTURE_DESC`
#[repr(C)]
pub struct DriverTexture {
    address: [c_int; 3],
    filter: c_int,
    flags: c_uint,
    anisotropy: c_uint,
    level_filter: c_int,
    bias: f32,
    least: f32,
    most: f32,
    border: [f32; 4],
    reserved: [c_int; 12],
}

const _: () = assert!(size_of::<DriverResource>() == 144 && size_of::<DriverTexture>() == 104);

const LINEAR: c_int = 2;

/// # Safety
///
/// `desc` is null or such a descriptor.
unsafe fn image(context: &mut Context, entry: Entry, desc: *const DriverResource) -> Result<Image> {
    if desc.is_null() {
        return Err(Error::INVALID_VALUE);
    }
    // SAFETY: by the function's own condition; the kind says which member of the union counts.
    unsafe {
        let desc = desc.read_unaligned();
        if matches!(desc.kind, 0 | 1) {
            let array = desc.resource.array.addr() as u64;
            return Ok(context.array(array, || entry.call())?.image);
        }
        let memory = desc.resource.memory;
        let format = format(context, entry, memory.format, memory.channels)?;
        let (size, pitch) = match desc.kind {
            LINEAR => ([memory.width as u64 / u64::from(format.texel()), 1], 0),
            3 => (
                [memory.width as u64, memory.height as u64],
                memory.pitch as u64,
            ),
            _ => return Err(Error::INVALID_VALUE),
        };
        context.linear_image(memory.address, format, size, pitch, &entry.call())
    }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuTexObjectCreate(
    to: *mut u64,
    resource: *const DriverResource,
    texture: *const DriverTexture,
    view: *const c_void,
) -> u32 {
    const AS_INTEGER: c_uint = 1;
    const NORMALIZED: c_uint = 2;
    const SRGB: c_uint = 0x10;
    plain("cuTexObjectCreate", |context, entry| {
        if texture.is_null() {
            return Err(Error::INVALID_VALUE);
        }
        if !view.is_null() {
            context
                .findings
                .missing(&format!("{} with a resource view", entry.0));
            return Err(Error::NOT_SUPPORTED);
        }
        // SAFETY: the caller passes such descriptors, and a place for the number.
        unsafe {
            let image = image(context, entry, resource)?;
            let desc = texture.read_unaligned();
            let [x, y, z] = desc.address;
            let narrow = image.format.bits < 32;
            let sampler = Sampler {
                address: [address_mode(x)?, address_mode(y)?, address_mode(z)?],
                linear: desc.filter == 1,
                normalized_coordinates: desc.flags & NORMALIZED != 0,
                // Integers of 32 bits are never read as fractions (CUDA Driver API, "CU_TRSF_READ_AS_INTEGER").
                normalized_read: narrow && desc.flags & AS_INTEGER == 0,
                srgb: desc.flags & SRGB != 0,
                border: desc.border,
                linear_levels: desc.level_filter == 1,
                level_bias: desc.bias,
                level_range: [desc.least, desc.most],
                anisotropy: desc.anisotropy,
            };
            let sampler = match resource.read_unaligned().kind {
                LINEAR => by_index(sampler),
                _ => sampler,
            };
            put(to, context.create_texture(image, sampler)?)
        }
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn cuTexObjectDestroy(texture: u64) -> u32 {
    plain("cuTexObjectDestroy", |context, _| {
        context.destroy_texture(texture)
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuSurfObjectCreate(to: *mut u64, resource: *const DriverResource) -> u32 {
    plain("cuSurfObjectCreate", |context, entry| {
        // SAFETY: the caller passes such a descriptor, and a place for the number.
        unsafe {
            let image = image(context, entry, resource)?;
            if resource.read_unaligned().kind != 0 {
                return Err(Error::INVALID_VALUE);
            }
            let surface = context.create_surface(image);
            put(to, surface)
        }
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn cuSurfObjectDestroy(surface: u64) -> u32 {
    plain("cuSurfObjectDestroy", |context, _| {
        context.destroy_surface(surface)
    })
}

/// One side of `CUDA_MEMCPY2D`.
#[repr(C)]
#[derive(Clone, Copy)]
struct Side {
    x: usize,
    y: usize,
    kind: c_int,
    host: *mut c_void,
    device: u64,
    array: Handle,
    pitch: usize,
}

/// `CUDA_MEMCPY2D`
#[repr(C)]
pub struct Memcpy2D {
    from: Side,
    to: Side,
    width: usize,
    height: usize,
}

/// # Safety
///
/// `what` is null or such a structure, and the host's side of it has this size.
unsafe fn copy_2d(
    context: &mut Context,
    entry: Entry,
    what: *const Memcpy2D,
    stream: Option<Handle>,
) -> Result<()> {
    const ARRAY: c_int = 3;
    if what.is_null() {
        return Err(Error::INVALID_VALUE);
    }
    // SAFETY: by the function's own condition.
    unsafe {
        let what = what.read_unaligned();
        let mut side = |side: &Side| {
            let address = match side.kind {
                1 => side.host.addr() as u64,
                2 | 4 => side.device,
                ARRAY => {
                    let size = [what.width, what.height, 1];
                    return rows_of(context, entry, side.array, [side.x, side.y, 0], size);
                }
                _ => return Err(Error::INVALID_VALUE),
            };
            let pitch = if side.pitch == 0 {
                what.width
            } else {
                side.pitch
            };
            Ok(Rows {
                address: side
                    .y
                    .checked_mul(pitch)
                    .and_then(|at| at.checked_add(side.x))
                    .map(|at| address.wrapping_add(at as u64))
                    .ok_or(Error::INVALID_VALUE)?,
                pitch,
                slice: 0,
            })
        };
        let what = Copy {
            to: side(&what.to)?,
            from: side(&what.from)?,
            size: [what.width, what.height, 1],
            // The sides say themselves where they are.
            kind: 4,
            stream: stream.map_or(0, |s| s.addr() as u64),
            asynchronous: stream.is_some(),
        };
        copy(context, entry, &what)
    }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuMemcpy2D_v2(what: *const Memcpy2D) -> u32 {
    plain("cuMemcpy2D", |context, entry| {
        // SAFETY: the caller passes such a structure.
        unsafe { copy_2d(context, entry, what, None) }
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuMemcpy2DUnaligned_v2(what: *const Memcpy2D) -> u32 {
    // SAFETY: the same parameter.
    unsafe { cuMemcpy2D_v2(what) }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuMemcpy2DAsync_v2(what: *const Memcpy2D, stream: Handle) -> u32 {
    plain("cuMemcpy2DAsync", |context, entry| {
        // SAFETY: the caller passes such a structure.
        unsafe { copy_2d(context, entry, what, Some(stream)) }
    })
}
