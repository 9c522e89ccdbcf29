//! Arrays (CUDA Runtime API, "Memory Management").

use super::copy::{copy, rows_of};
use super::memory::Extent;
use super::transfers::{Copy, Rows};
use crate::entry::{Entry, enter, put, put_if};
use context::image::{ChannelKind, Format};
use context::{Context, Error, Result};
use std::os::raw::{c_int, c_uint, c_void};

/// `cudaChannelFormatDesc`
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct ChannelDesc {
    bits: [c_int; 4],
    kind: c_int,
}

impl ChannelDesc {
    /// The format that it describes.
    ///
    /// # Errors
    ///
    /// It describes none, or one that is not supported, which is said.
    pub(super) fn format(&self, context: &mut Context, entry: Entry) -> Result<Format> {
        let kind = match self.kind {
            0 => ChannelKind::Signed,
            1 => ChannelKind::Unsigned,
            2 => ChannelKind::Float,
            3 => return Err(Error::INVALID_CHANNEL_DESCRIPTOR),
            _ => {
                context
                    .findings
                    .missing(&format!("{} with this kind of channels", entry.0));
                return Err(Error::NOT_SUPPORTED);
            }
        };
        let [x, rest @ ..] = self.bits;
        let channels = 1 + rest.iter().take_while(|bits| **bits == x).count();
        let empty = rest[channels - 1..].iter().all(|bits| *bits == 0);
        if !matches!(x, 8 | 16 | 32) || !empty || channels == 3 {
            return Err(Error::INVALID_CHANNEL_DESCRIPTOR);
        }
        if kind == ChannelKind::Float && x == 8 {
            return Err(Error::INVALID_CHANNEL_DESCRIPTOR);
        }
        Ok(Format {
            bits: x as u8,
            channels: channels as u8,
            kind,
        })
    }

    fn of(format: Format) -> ChannelDesc {
        let bits = |c: u8| match c < format.channels {
            true => c_int::from(format.bits),
            false => 0,
        };
        ChannelDesc {
            bits: [0, 1, 2, 3].map(bits),
            kind: match format.kind {
                ChannelKind::Signed => 0,
                ChannelKind::Unsigned => 1,
                ChannelKind::Float => 2,
            },
        }
    }
}

#[unsafe(no_mangle)]
pub extern "C" fn cudaCreateChannelDesc(
    x: c_int,
    y: c_int,
    z: c_int,
    w: c_int,
    kind: c_int,
) -> ChannelDesc {
    ChannelDesc {
        bits: [x, y, z, w],
        kind,
    }
}

/// Allocates an array, and writes its handle to where the caller wants it.
///
/// # Safety
///
/// `to` is null or a place for a handle; `desc` is null or a descriptor.
unsafe fn allocate(
    context: &mut Context,
    entry: Entry,
    to: *mut *mut c_void,
    desc: *const ChannelDesc,
    extent: [usize; 3],
    levels: c_uint,
    flags: c_uint,
) -> Result<()> {
    context.findings.healthy()?;
    if desc.is_null() || to.is_null() {
        return Err(Error::INVALID_VALUE);
    }
    // SAFETY: by the function's own condition.
    unsafe {
        let format = desc.read_unaligned().format(context, entry)?;
        let extent = extent.map(|n| n as u64);
        let handle = context.create_array(format, extent, flags, levels, entry.call())?;
        put(to, handle as *mut c_void)
    }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cudaMallocArray(
    to: *mut *mut c_void,
    desc: *const ChannelDesc,
    width: usize,
    height: usize,
    flags: c_uint,
) -> u32 {
    enter("cudaMallocArray", |context, entry| {
        // SAFETY: the caller passes a descriptor and a place for the handle.
        unsafe { allocate(context, entry, to, desc, [width, height, 0], 1, flags) }
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cudaMalloc3DArray(
    to: *mut *mut c_void,
    desc: *const ChannelDesc,
    extent: Extent,
    flags: c_uint,
) -> u32 {
    enter("cudaMalloc3DArray", |context, entry| {
        let extent = [extent.width, extent.height, extent.depth];
        // SAFETY: the caller passes a descriptor and a place for the handle.
        unsafe { allocate(context, entry, to, desc, extent, 1, flags) }
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cudaMallocMipmappedArray(
    to: *mut *mut c_void,
    desc: *const ChannelDesc,
    extent: Extent,
    levels: c_uint,
    flags: c_uint,
) -> u32 {
    enter("cudaMallocMipmappedArray", |context, entry| {
        let extent = [extent.width, extent.height, extent.depth];
        // SAFETY: the caller passes a descriptor and a place for the handle.
        unsafe { allocate(context, entry, to, desc, extent, levels, flags) }
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cudaGetMipmappedArrayLevel(
    to: *mut *mut c_void,
    array: *const c_void,
    level: c_uint,
) -> u32 {
    enter("cudaGetMipmappedArrayLevel", |context, entry| {
        let part = context.array_level(array.addr() as u64, level, || entry.call())?;
        // SAFETY: the caller passes a place for it.
        unsafe { put(to, part as *mut c_void) }
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn cudaFreeArray(array: *mut c_void) -> u32 {
    enter("cudaFreeArray", |context, entry| {
        context.synchronize_all()?;
        match array.is_null() {
            true => Ok(()),
            false => context.free_array(array.addr() as u64, entry.call()),
        }
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn cudaFreeMipmappedArray(array: *mut c_void) -> u32 {
    cudaFreeArray(array)
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cudaGetChannelDesc(to: *mut ChannelDesc, array: *const c_void) -> u32 {
    enter("cudaGetChannelDesc", |context, entry| {
        let array = context.array(array.addr() as u64, || entry.call())?;
        // SAFETY: the caller passes a place for it.
        unsafe { put(to, ChannelDesc::of(array.image.format)) }
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cudaArrayGetInfo(
    desc: *mut ChannelDesc,
    extent: *mut Extent,
    flags: *mut c_uint,
    array: *mut c_void,
) -> u32 {
    enter("cudaArrayGetInfo", |context, entry| {
        let array = context.array(array.addr() as u64, || entry.call())?;
        let [width, height, depth] = array.extent.map(|n| n as usize);
        // SAFETY: the caller passes places for all of them, or null.
        unsafe {
            put_if(desc, ChannelDesc::of(array.image.format));
            put_if(
                extent,
                Extent {
                    width,
                    height,
                    depth,
                },
            );
            put_if(flags, array.flags);
        }
        Ok(())
    })
}

/// A side of a copy.
#[derive(Clone, Copy)]
pub(crate) enum Side {
    /// Memory: address, bytes from one row to the next.
    Memory(u64, usize),
    /// An array: first byte of a row, row.
    Array(*const c_void, usize, usize),
}

/// Copies a plane to or from arrays; sizes in bytes and rows.
///
/// # Safety
///
/// Memory that is not the device's has this size.
unsafe fn copy_plane(
    context: &mut Context,
    entry: Entry,
    (to, from): (Side, Side),
    (width, height): (usize, usize),
    kind: c_int,
    stream: Option<*mut c_void>,
) -> Result<()> {
    let mut side = |side: Side| match side {
        Side::Memory(address, pitch) => Ok(Rows {
            address,
            pitch,
            slice: 0,
        }),
        Side::Array(array, x, y) => rows_of(context, entry, array, [x, y, 0], [width, height, 1]),
    };
    let what = Copy {
        to: side(to)?,
        from: side(from)?,
        size: [width, height, 1],
        kind,
        stream: stream.map_or(0, |s| s.addr() as u64),
        asynchronous: stream.is_some(),
    };
    // SAFETY: by the function's own condition; places in arrays were checked.
    unsafe { copy(context, entry, &what) }
}

/// Copies `bytes` to or from an array, row after row (`cudaMemcpyToArray`): rows of an array lie one behind the other.
///
/// # Safety
///
/// As for [`copy_plane`].
pub(crate) unsafe fn copy_flat(
    context: &mut Context,
    entry: Entry,
    (to, from): (Side, Side),
    bytes: usize,
    kind: c_int,
    stream: Option<*mut c_void>,
) -> Result<()> {
    let mut side = |side: Side| match side {
        Side::Memory(address, _) => Ok(address),
        Side::Array(handle, x, y) => {
            let array = context.array(handle.addr() as u64, || entry.call())?;
            let level = array.image.levels[0];
            let start = (y as u64)
                .checked_mul(level.pitch)
                .and_then(|at| at.checked_add(x as u64));
            let end = start.and_then(|at| at.checked_add(bytes as u64));
            if x as u64 > level.pitch || end.is_none_or(|end| end > level.slice) {
                return Err(Error::INVALID_VALUE);
            }
            Ok(array.place(x as u64, y as u64, 0))
        }
    };
    let (to, from) = (side(to)?, side(from)?);
    let flat = |address| Rows {
        address,
        pitch: 0,
        slice: 0,
    };
    let what = Copy {
        to: flat(to),
        from: flat(from),
        size: [bytes, 1, 1],
        kind,
        stream: stream.map_or(0, |s| s.addr() as u64),
        asynchronous: stream.is_some(),
    };
    // SAFETY: by the function's own condition; places in arrays were checked.
    unsafe { copy(context, entry, &what) }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cudaMemcpy2DToArray(
    to: *mut c_void,
    x: usize,
    y: usize,
    from: *const c_void,
    pitch: usize,
    width: usize,
    height: usize,
    kind: c_int,
) -> u32 {
    enter("cudaMemcpy2DToArray", |context, entry| {
        let sides = (
            Side::Array(to, x, y),
            Side::Memory(from.addr() as u64, pitch),
        );
        // SAFETY: the caller's buffer has this size.
        unsafe { copy_plane(context, entry, sides, (width, height), kind, None) }
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cudaMemcpy2DToArrayAsync(
    to: *mut c_void,
    x: usize,
    y: usize,
    from: *const c_void,
    pitch: usize,
    width: usize,
    height: usize,
    kind: c_int,
    stream: *mut c_void,
) -> u32 {
    enter("cudaMemcpy2DToArrayAsync", |context, entry| {
        let sides = (
            Side::Array(to, x, y),
            Side::Memory(from.addr() as u64, pitch),
        );
        // SAFETY: the caller's buffer has this size.
        unsafe { copy_plane(context, entry, sides, (width, height), kind, Some(stream)) }
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cudaMemcpy2DFromArray(
    to: *mut c_void,
    pitch: usize,
    from: *const c_void,
    x: usize,
    y: usize,
    width: usize,
    height: usize,
    kind: c_int,
) -> u32 {
    enter("cudaMemcpy2DFromArray", |context, entry| {
        let sides = (
            Side::Memory(to.addr() as u64, pitch),
            Side::Array(from, x, y),
        );
        // SAFETY: the caller's buffer has this size.
        unsafe { copy_plane(context, entry, sides, (width, height), kind, None) }
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cudaMemcpy2DFromArrayAsync(
    to: *mut c_void,
    pitch: usize,
    from: *const c_void,
    x: usize,
    y: usize,
    width: usize,
    height: usize,
    kind: c_int,
    stream: *mut c_void,
) -> u32 {
    enter("cudaMemcpy2DFromArrayAsync", |context, entry| {
        let sides = (
            Side::Memory(to.addr() as u64, pitch),
            Side::Array(from, x, y),
        );
        // SAFETY: the caller's buffer has this size.
        unsafe { copy_plane(context, entry, sides, (width, height), kind, Some(stream)) }
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cudaMemcpy2DArrayToArray(
    to: *mut c_void,
    to_x: usize,
    to_y: usize,
    from: *const c_void,
    from_x: usize,
    from_y: usize,
    width: usize,
    height: usize,
    kind: c_int,
) -> u32 {
    enter("cudaMemcpy2DArrayToArray", |context, entry| {
        let sides = (
            Side::Array(to, to_x, to_y),
            Side::Array(from, from_x, from_y),
        );
        // SAFETY: both sides are arrays.
        unsafe { copy_plane(context, entry, sides, (width, height), kind, None) }
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cudaMemcpyToArray(
    to: *mut c_void,
    x: usize,
    y: usize,
    from: *const c_void,
    bytes: usize,
    kind: c_int,
) -> u32 {
    enter("cudaMemcpyToArray", |context, entry| {
        let sides = (Side::Array(to, x, y), Side::Memory(from.addr() as u64, 0));
        // SAFETY: the caller's buffer has this size.
        unsafe { copy_flat(context, entry, sides, bytes, kind, None) }
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cudaMemcpyToArrayAsync(
    to: *mut c_void,
    x: usize,
    y: usize,
    from: *const c_void,
    bytes: usize,
    kind: c_int,
    stream: *mut c_void,
) -> u32 {
    enter("cudaMemcpyToArrayAsync", |context, entry| {
        let sides = (Side::Array(to, x, y), Side::Memory(from.addr() as u64, 0));
        // SAFETY: the caller's buffer has this size.
        unsafe { copy_flat(context, entry, sides, bytes, kind, Some(stream)) }
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cudaMemcpyFromArray(
    to: *mut c_void,
    from: *const c_void,
    x: usize,
    y: usize,
    bytes: usize,
    kind: c_int,
) -> u32 {
    enter("cudaMemcpyFromArray", |context, entry| {
        let sides = (Side::Memory(to.addr() as u64, 0), Side::Array(from, x, y));
        // SAFETY: the caller's buffer has this size.
        unsafe { copy_flat(context, entry, sides, bytes, kind, None) }
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cudaMemcpyFromArrayAsync(
    to: *mut c_void,
    from: *const c_void,
    x: usize,
    y: usize,
    bytes: usize,
    kind: c_int,
    stream: *mut c_void,
) -> u32 {
    enter("cudaMemcpyFromArrayAsync", |context, entry| {
        let sides = (Side::Memory(to.addr() as u64, 0), Side::Array(from, x, y));
        // SAFETY: the caller's buffer has this size.
        unsafe { copy_flat(context, entry, sides, bytes, kind, Some(stream)) }
    })
}
