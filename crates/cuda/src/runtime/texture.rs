//! Textures and surfaces (CUDA Runtime API, "Texture Object Management", "Surface Object Management").

use super::array::ChannelDesc;
use super::headers::Release;
use crate::entry::{Entry, enter, put};
use context::image::{AddressMode, Image, Sampler};
use context::{Context, Error, Result};
use std::os::raw::{c_int, c_void};

/// `cudaResourceDesc`: a kind, and a union of 128 bytes.
#[repr(C)]
pub struct ResourceDesc {
    kind: c_int,
    resource: Resource,
    flags: u32,
}

/// The union.
#[repr(C)]
union Resource {
    array: *const c_void,
    linear: Linear,
    plane: Plane,
    reserved: [u64; 16],
}

/// `cudaResourceDesc::res::linear`
#[repr(C)]
#[derive(Clone, Copy)]
struct Linear {
    pointer: *const c_void,
    desc: ChannelDesc,
    bytes: usize,
}

/// `cudaResourceDesc::res::pitch2D`
#[repr(C)]
#[derive(Clone, Copy)]
struct Plane {
    pointer: *const c_void,
    desc: ChannelDesc,
    width: usize,
    height: usize,
    pitch: usize,
}

/// `cudaTextureDesc`
#[repr(C)]
pub struct TextureDesc {
    address: [c_int; 3],
    filter: c_int,
    read: c_int,
    srgb: c_int,
    border: [f32; 4],
    normalized: c_int,
    anisotropy: u32,
    level_filter: c_int,
    bias: f32,
    least: f32,
    most: f32,
    trilinear: c_int,
    /// Since CUDA 12; CUDA 11 has it in the descriptor of `cudaCreateTextureObject_v2`.
    seamless: c_int,
}

const _: () = assert!(size_of::<ResourceDesc>() == 144 && size_of::<TextureDesc>() == 72);

const ARRAY: c_int = 0;
const LEVELS: c_int = 1;
const LINEAR: c_int = 2;
const PLANE: c_int = 3;

/// The mode that a number stands for.
pub(crate) fn address_mode(number: c_int) -> Result<AddressMode> {
    Ok(match number {
        0 => AddressMode::Wrap,
        1 => AddressMode::Clamp,
        2 => AddressMode::Mirror,
        3 => AddressMode::Border,
        _ => return Err(Error::INVALID_VALUE),
    })
}

/// What a fetch from linear memory does: texels by their index, zero outside (CUDA Runtime API, "cudaCreateTextureObject").
pub(crate) fn by_index(sampler: Sampler) -> Sampler {
    Sampler {
        address: [AddressMode::Border; 3],
        linear: false,
        normalized_coordinates: false,
        border: [0.0; 4],
        ..sampler
    }
}

/// The image that a descriptor means.
///
/// # Safety
///
/// `desc` is null or such a descriptor.
unsafe fn image(context: &mut Context, entry: Entry, desc: *const ResourceDesc) -> Result<Image> {
    if desc.is_null() {
        return Err(Error::INVALID_VALUE);
    }
    // SAFETY: by the function's own condition; the kind says which member of the union counts.
    unsafe {
        let desc = desc.read_unaligned();
        match desc.kind {
            ARRAY | LEVELS => {
                let array = desc.resource.array.addr() as u64;
                Ok(context.array(array, || entry.call())?.image)
            }
            LINEAR => {
                let Linear {
                    pointer,
                    desc,
                    bytes,
                } = desc.resource.linear;
                let format = desc.format(context, entry)?;
                let width = bytes as u64 / u64::from(format.texel());
                let address = pointer.addr() as u64;
                context.linear_image(address, format, [width, 1], 0, &entry.call())
            }
            PLANE => {
                let plane = desc.resource.plane;
                let format = plane.desc.format(context, entry)?;
                let size = [plane.width as u64, plane.height as u64];
                let address = plane.pointer.addr() as u64;
                context.linear_image(address, format, size, plane.pitch as u64, &entry.call())
            }
            _ => Err(Error::INVALID_VALUE),
        }
    }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cudaCreateTextureObject(
    to: *mut u64,
    resource: *const ResourceDesc,
    texture: *const TextureDesc,
    view: *const c_void,
) -> u32 {
    enter("cudaCreateTextureObject", |context, entry| {
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
            if Release::of(entry) >= Release::Twelve {
                refuse_seamless(context, entry, texture)?;
            }
            let desc = texture.read_unaligned();
            let [x, y, z] = desc.address;
            let sampler = Sampler {
                address: [address_mode(x)?, address_mode(y)?, address_mode(z)?],
                linear: desc.filter == 1,
                normalized_coordinates: desc.normalized != 0,
                normalized_read: desc.read == 1,
                srgb: desc.srgb != 0,
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

/// What is not there: blending across the faces of a cube.
///
/// # Safety
///
/// `texture` is a descriptor of CUDA 12, or the second one of CUDA 11.
unsafe fn refuse_seamless(
    context: &mut Context,
    entry: Entry,
    texture: *const TextureDesc,
) -> Result<()> {
    // SAFETY: by the function's own condition.
    if unsafe { texture.read_unaligned() }.seamless == 0 {
        return Ok(());
    }
    context.findings.missing(&format!(
        "{} with blending across the faces of a cube",
        entry.0
    ));
    Err(Error::NOT_SUPPORTED)
}

/// Of CUDA 11.8: with a descriptor as CUDA 12 has it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cudaCreateTextureObject_v2(
    to: *mut u64,
    resource: *const ResourceDesc,
    texture: *const TextureDesc,
    view: *const c_void,
) -> u32 {
    let fine = enter("cudaCreateTextureObject_v2", |context, entry| {
        if texture.is_null() {
            return Err(Error::INVALID_VALUE);
        }
        // SAFETY: the caller passes such a descriptor.
        unsafe { refuse_seamless(context, entry, texture) }
    });
    match fine {
        // SAFETY: the same parameters.
        0 => unsafe { cudaCreateTextureObject(to, resource, texture, view) },
        error => error,
    }
}

#[unsafe(no_mangle)]
pub extern "C" fn cudaDestroyTextureObject(texture: u64) -> u32 {
    enter("cudaDestroyTextureObject", |context, _| match texture {
        0 => Ok(()),
        texture => context.destroy_texture(texture),
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cudaCreateSurfaceObject(
    to: *mut u64,
    resource: *const ResourceDesc,
) -> u32 {
    enter("cudaCreateSurfaceObject", |context, entry| {
        // SAFETY: the caller passes such a descriptor, and a place for the number.
        unsafe {
            let image = image(context, entry, resource)?;
            if resource.read_unaligned().kind != ARRAY {
                return Err(Error::INVALID_VALUE);
            }
            let surface = context.create_surface(image);
            put(to, surface)
        }
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn cudaDestroySurfaceObject(surface: u64) -> u32 {
    enter("cudaDestroySurfaceObject", |context, _| match surface {
        0 => Ok(()),
        surface => context.destroy_surface(surface),
    })
}
