//! Texture and surface references (CUDA Runtime API 11.8, "Texture Reference Management", "Surface Reference Management"), which CUDA 12 no
//! longer has.
//!
//! A reference is a variable of the program (`texture<float, 2> image;`), and in its kernels one of type `.texref` or `.surfref`. That one holds
//! the number of the image that is bound, as a kernel is given it with a texture object. Whoever binds waits first for all work that may use
//! what was bound before. Blind spot: a program that binds while such work runs is not told.

use super::array::ChannelDesc;
use super::texture::{address_mode, by_index};
use crate::entry::{Entry, enter, put, put_if, text};
use context::image::{Image, Sampler};
use context::{Context, Error, Result};
use std::collections::HashMap;
use std::os::raw::{c_char, c_int, c_void};
use std::sync::{Mutex, PoisonError};

/// `textureReference` (`texture_types.h` of CUDA 11.8).
#[repr(C)]
pub struct TextureReference {
    normalized: c_int,
    filter: c_int,
    address: [c_int; 3],
    format: ChannelDesc,
    srgb: c_int,
    anisotropy: u32,
    level_filter: c_int,
    bias: f32,
    least: f32,
    most: f32,
    trilinear: c_int,
    reserved: [c_int; 14],
}

const _: () = assert!(size_of::<TextureReference>() == 124, "of CUDA 11");

/// `cudaErrorInvalidTexture`, `cudaErrorInvalidTextureBinding`, `cudaErrorInvalidSurface`.
const INVALID_TEXTURE: Error = Error(18);
const INVALID_TEXTURE_BINDING: Error = Error(19);
const INVALID_SURFACE: Error = Error(37);

/// What is known of a reference.
#[derive(Clone, Copy, Default)]
struct Known {
    surface: bool,
    /// Whether fetches give integers as fractions (`cudaReadModeNormalizedFloat`).
    fractions: bool,
    /// The number of the texture or surface that is bound.
    bound: Option<u64>,
}

/// By the reference's address in the program.
type References = HashMap<u64, Known>;

static REFERENCES: Mutex<Option<References>> = Mutex::new(None);

fn references<T>(with: impl FnOnce(&mut References) -> T) -> T {
    let mut all = REFERENCES.lock().unwrap_or_else(PoisonError::into_inner);
    with(all.get_or_insert_default())
}

/// What is known of a reference to a texture, or to a surface.
fn known(reference: u64, surface: bool) -> Result<Known> {
    let known = references(|all| all.get(&reference).copied());
    let none = match surface {
        true => INVALID_SURFACE,
        false => INVALID_TEXTURE,
    };
    known.filter(|known| known.surface == surface).ok_or(none)
}

/// Lets a reference mean an image, made by `make` after all work that may use the one before; or none.
fn bind(
    context: &mut Context,
    reference: u64,
    surface: bool,
    make: impl FnOnce(&mut Context, Known) -> Result<Option<u64>>,
) -> Result<()> {
    let known = known(reference, surface)?;
    context.synchronize_all()?;
    let Ok((variable, _)) = context.symbol(reference) else {
        context
            .findings
            .missing("a texture or surface reference in a namespace without a name");
        return Err(Error::NOT_SUPPORTED);
    };
    let bound = make(context, known)?;
    context
        .memory
        .write(variable, &bound.unwrap_or(0).to_le_bytes())?;
    if let Some(before) = known.bound {
        match surface {
            true => context.destroy_surface(before)?,
            false => context.destroy_texture(before)?,
        }
    }
    references(|all| all.insert(reference, Known { bound, ..known }));
    Ok(())
}

/// Lets a texture reference mean an image; `linear` is for memory without a second dimension.
///
/// # Safety
///
/// `reference` is a registered reference, or none.
unsafe fn bind_texture(
    context: &mut Context,
    reference: *const TextureReference,
    linear: bool,
    image: impl FnOnce(&mut Context) -> Result<Image>,
) -> Result<()> {
    bind(context, reference.addr() as u64, false, |context, known| {
        // SAFETY: it is registered, so it is such a structure in the program.
        let of = unsafe { reference.read_unaligned() };
        let [x, y, z] = of.address;
        let sampler = Sampler {
            address: [address_mode(x)?, address_mode(y)?, address_mode(z)?],
            linear: of.filter == 1,
            normalized_coordinates: of.normalized != 0,
            normalized_read: known.fractions,
            srgb: of.srgb != 0,
            border: [0.0; 4],
            linear_levels: of.level_filter == 1,
            level_bias: of.bias,
            level_range: [of.least, of.most],
            anisotropy: of.anisotropy,
        };
        let sampler = match linear {
            true => by_index(sampler),
            false => sampler,
        };
        let image = image(context)?;
        context.create_texture(image, sampler).map(Some)
    })
}

/// Registers a reference.
///
/// # Safety
///
/// `name` is null or ends in a zero.
unsafe fn register(
    function: &'static str,
    handle: *mut *mut c_void,
    reference: *const c_void,
    name: *const c_char,
    known: Known,
) {
    // SAFETY: by the function's own condition.
    let name = unsafe { text(name) };
    enter(function, |context, _| {
        let name = name.ok_or(Error::INVALID_VALUE)?;
        let (module, reference) = (super::register::module(handle), reference.addr() as u64);
        context
            .modules
            .register_variable(module, reference, &in_ptx(&name), 8);
        references(|all| all.insert(reference, known));
        Ok(())
    });
}

/// The name of a reference in PTX: nvcc registers it as C++ has it, `::images::plane` (Itanium C++ ABI, "Mangling", "Scope Encoding").
fn in_ptx(name: &str) -> String {
    let parts: Vec<&str> = name.split("::").filter(|part| !part.is_empty()).collect();
    match parts[..] {
        [one] => one.to_owned(),
        _ => {
            let parts = parts.iter().map(|part| format!("{}{part}", part.len()));
            format!("_ZN{}E", parts.collect::<String>())
        }
    }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn __cudaRegisterTexture(
    handle: *mut *mut c_void,
    reference: *const c_void,
    _device: *const *const c_void,
    name: *const c_char,
    _dimensions: c_int,
    fractions: c_int,
    _ext: c_int,
) {
    let known = Known {
        fractions: fractions != 0,
        ..Known::default()
    };
    // SAFETY: nvcc's own code passes a name.
    unsafe { register("__cudaRegisterTexture", handle, reference, name, known) }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn __cudaRegisterSurface(
    handle: *mut *mut c_void,
    reference: *const c_void,
    _device: *const *const c_void,
    name: *const c_char,
    _dimensions: c_int,
    _ext: c_int,
) {
    let known = Known {
        surface: true,
        ..Known::default()
    };
    // SAFETY: nvcc's own code passes a name.
    unsafe { register("__cudaRegisterSurface", handle, reference, name, known) }
}

/// Binds memory, as many bytes as there are from the address on where it is less than `bytes` (whose default is `UINT_MAX`).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cudaBindTexture(
    offset: *mut usize,
    reference: *const TextureReference,
    pointer: *const c_void,
    format: *const ChannelDesc,
    bytes: usize,
) -> u32 {
    enter("cudaBindTexture", |context, entry| {
        let address = pointer.addr() as u64;
        // SAFETY: the caller passes a reference, a format, and perhaps a place for the offset.
        unsafe {
            let format = format_at(context, entry, format)?;
            bind_texture(context, reference, true, |context| {
                let rest = context
                    .memory
                    .block(address)
                    .map(|b| b.address + b.bytes - address);
                let bytes = (bytes as u64).min(rest.unwrap_or(u64::MAX));
                let width = bytes / u64::from(format.texel());
                context.linear_image(address, format, [width, 1], 0, &entry.call())
            })?;
            put_if(offset, 0);
        }
        Ok(())
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cudaBindTexture2D(
    offset: *mut usize,
    reference: *const TextureReference,
    pointer: *const c_void,
    format: *const ChannelDesc,
    width: usize,
    height: usize,
    pitch: usize,
) -> u32 {
    enter("cudaBindTexture2D", |context, entry| {
        let (address, size) = (pointer.addr() as u64, [width as u64, height as u64]);
        // SAFETY: the caller passes a reference, a format, and perhaps a place for the offset.
        unsafe {
            let format = format_at(context, entry, format)?;
            bind_texture(context, reference, false, |context| {
                context.linear_image(address, format, size, pitch as u64, &entry.call())
            })?;
            put_if(offset, 0);
        }
        Ok(())
    })
}

/// The format is the array's own.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cudaBindTextureToArray(
    reference: *const TextureReference,
    array: *const c_void,
    _format: *const ChannelDesc,
) -> u32 {
    enter("cudaBindTextureToArray", |context, entry| {
        // SAFETY: the caller passes a reference.
        unsafe {
            bind_texture(context, reference, false, |context| {
                let array = context.array(array.addr() as u64, || entry.call())?;
                Ok(array.image)
            })
        }
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cudaBindTextureToMipmappedArray(
    reference: *const TextureReference,
    array: *const c_void,
    format: *const ChannelDesc,
) -> u32 {
    // SAFETY: the same parameters; an array of several levels is an array.
    unsafe { cudaBindTextureToArray(reference, array, format) }
}

#[unsafe(no_mangle)]
pub extern "C" fn cudaUnbindTexture(reference: *const TextureReference) -> u32 {
    enter("cudaUnbindTexture", |context, _| {
        bind(context, reference.addr() as u64, false, |_, _| Ok(None))
    })
}

/// A reference and its symbol are one.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cudaGetTextureReference(
    to: *mut *const c_void,
    symbol: *const c_void,
) -> u32 {
    enter("cudaGetTextureReference", |_, _| {
        known(symbol.addr() as u64, false)?;
        // SAFETY: the caller passes a place for it.
        unsafe { put(to, symbol) }
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cudaGetTextureAlignmentOffset(
    to: *mut usize,
    reference: *const TextureReference,
) -> u32 {
    enter("cudaGetTextureAlignmentOffset", |_, _| {
        let known = known(reference.addr() as u64, false)?;
        known.bound.ok_or(INVALID_TEXTURE_BINDING)?;
        // SAFETY: the caller passes a place for it.
        unsafe { put(to, 0) }
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn cudaBindSurfaceToArray(
    reference: *const c_void,
    array: *const c_void,
    _format: *const ChannelDesc,
) -> u32 {
    enter("cudaBindSurfaceToArray", |context, entry| {
        bind(context, reference.addr() as u64, true, |context, _| {
            let array = context.array(array.addr() as u64, || entry.call())?;
            Ok(Some(context.create_surface(array.image)))
        })
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cudaGetSurfaceReference(
    to: *mut *const c_void,
    symbol: *const c_void,
) -> u32 {
    enter("cudaGetSurfaceReference", |_, _| {
        known(symbol.addr() as u64, true)?;
        // SAFETY: the caller passes a place for it.
        unsafe { put(to, symbol) }
    })
}

/// The format that the caller describes.
///
/// # Safety
///
/// `format` is null or such a description.
unsafe fn format_at(
    context: &mut Context,
    entry: Entry,
    format: *const ChannelDesc,
) -> Result<context::image::Format> {
    if format.is_null() {
        return Err(Error::INVALID_CHANNEL_DESCRIPTOR);
    }
    // SAFETY: by the function's own condition.
    unsafe { format.read_unaligned() }.format(context, entry)
}

#[cfg(test)]
mod tests {
    use super::in_ptx;

    #[test]
    fn references_have_the_names_that_nvcc_gives_them_in_ptx() {
        assert_eq!(in_ptx("plane"), "plane");
        assert_eq!(in_ptx("::plane"), "plane");
        assert_eq!(in_ptx("::images::plane"), "_ZN6images5planeE");
    }
}
