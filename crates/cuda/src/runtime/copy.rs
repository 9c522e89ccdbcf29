//! Copies (CUDA Runtime API, "Memory Management").
//!
//! Memory of the device, pinned and managed memory among it, is known by its address; everything else is the host's own. What a copy
//! waits for is said in "API synchronization behavior".

use super::graph::Action;
use super::graph_capture::capture;
use super::memory::{Extent, PitchedPtr};
use super::transfers::{Copy, Rows, flat};
use crate::entry::{Entry, enter};
use context::memory::Kind;
use context::{Context, Error, Result};
use detect::rules::Rule;
use std::os::raw::{c_int, c_void};

/// `cudaMemcpyKind`
const HOST_TO_DEVICE: c_int = 1;
const DEVICE_TO_HOST: c_int = 2;
const DEVICE_TO_DEVICE: c_int = 3;
const DEFAULT: c_int = 4;

/// Copies.
///
/// # Safety
///
/// What is not the device's memory is the program's, as the documentation of the entry point demands.
pub(crate) unsafe fn copy(context: &mut Context, entry: Entry, copy: &Copy) -> Result<()> {
    context.findings.healthy()?;
    context.stream(copy.stream, || entry.call())?;
    let node = |_: &mut Context| Ok(Action::Copy(copy.clone()));
    if capture(context, entry, copy.stream, node)? {
        return Ok(());
    }
    let Copy { to, from, size, .. } = copy;
    if size.contains(&0) {
        return Ok(());
    }
    if to.address == 0 || from.address == 0 {
        return Err(Error::INVALID_VALUE);
    }
    let mut view = |rows: &Rows| Rows {
        address: context.host_view(rows.address, rows.span(*size), copy.asynchronous),
        ..*rows
    };
    let (to, from) = (&view(to), &view(from));
    let (into_device, from_device) = (
        context.memory.is_device_address(to.address),
        context.memory.is_device_address(from.address),
    );
    let seen = Copy {
        to: *to,
        from: *from,
        ..copy.clone()
    };
    direction(context, entry, &seen, into_device, from_device)?;
    if ![to, from].iter().all(|rows| rows.are_apart(*size)) {
        return Err(Error::INVALID_PITCH_VALUE);
    }
    let (reads, writes) = (from.span(*size), to.span(*size));
    let open = |context: &Context, address| {
        context
            .memory
            .block(address)
            .is_some_and(|b| b.kind.is_open())
    };
    if from_device {
        context.check(from.address, reads, &entry.call())?;
    }
    if into_device {
        context.check(to.address, writes, &entry.call())?;
    }
    if context.is_held_up(copy.stream) {
        // What is neither the device's nor pinned is read or written before the call returns.
        if copy.asynchronous && into_device && from_device {
            let what = copy.clone();
            context.defer(copy.stream, entry.call(), move |context| {
                // SAFETY: both sides are memory that the device can see.
                let _ = unsafe { self::copy(context, entry, &what) };
            });
            return Ok(());
        }
        context.synchronize(copy.stream)?;
    }
    for z in 0..size[2] {
        for y in 0..size[1] {
            let (to, from, bytes) = (to.row(y, z), from.row(y, z), size[0]);
            // SAFETY: by the function's own condition for the host's side; the device's side was checked.
            unsafe {
                match (into_device, from_device) {
                    (true, true) => context.memory.copy(to, from, bytes as u64)?,
                    (true, false) => {
                        context
                            .memory
                            .write(to, std::slice::from_raw_parts(from as *const u8, bytes))?;
                    }
                    (false, true) => {
                        context
                            .memory
                            .read(from, std::slice::from_raw_parts_mut(to as *mut u8, bytes))?;
                    }
                    (false, false) => std::ptr::copy(from as *const u8, to as *mut u8, bytes),
                }
            }
        }
    }
    // Copies within the device don't keep the host waiting; copies to memory that the system may move always do.
    let shared = [to.address, from.address].map(|a| open(context, a));
    let within = into_device && from_device && !shared[0] && !shared[1];
    let synchronous = match copy.asynchronous {
        true => !into_device,
        false => !within,
    };
    let read = from_device.then_some((from.address, reads));
    let write = into_device.then_some((to.address, writes));
    context.transfer(copy.stream, read, write, synchronous, || entry.call());
    Ok(())
}

/// A side of a copy that is an array, from byte `x` of row `y` of slice `z` on; and the bytes of its texels.
pub(crate) fn rows_of(
    context: &mut Context,
    entry: Entry,
    array: *const c_void,
    [x, y, z]: [usize; 3],
    size: [usize; 3],
) -> Result<Rows> {
    let array = context.array(array.addr() as u64, || entry.call())?;
    let level = array.image.levels[0];
    let room = [
        level.pitch,
        u64::from(level.size[1]),
        u64::from(level.size[2]),
    ];
    let ends = [x, y, z].into_iter().zip(size);
    if ends
        .zip(room)
        .any(|((from, size), room)| from.checked_add(size).is_none_or(|end| end as u64 > room))
    {
        return Err(Error::INVALID_VALUE);
    }
    Ok(Rows {
        address: array.place(x as u64, y as u64, z as u64),
        pitch: level.pitch as usize,
        slice: level.slice as usize,
    })
}

/// Checks that a copy goes the way that it says.
fn direction(
    context: &mut Context,
    entry: Entry,
    copy: &Copy,
    into_device: bool,
    from_device: bool,
) -> Result<()> {
    let device_only = |context: &Context, address: u64| {
        context
            .memory
            .block(address)
            .is_some_and(|b| matches!(b.kind, Kind::Device | Kind::Variable | Kind::Array))
    };
    let to_host = device_only(context, copy.to.address);
    let from_host = device_only(context, copy.from.address);
    let wrong = match copy.kind {
        HOST_TO_DEVICE if !into_device => {
            Some("says that it copies to the device, and its destination is memory of the host")
        }
        HOST_TO_DEVICE if from_host => {
            Some("says that it copies from the host, and its source is memory of the device")
        }
        DEVICE_TO_HOST if !from_device => {
            Some("says that it copies from the device, and its source is memory of the host")
        }
        DEVICE_TO_HOST if to_host => {
            Some("says that it copies to the host, and its destination is memory of the device")
        }
        DEVICE_TO_DEVICE if !(into_device && from_device) => {
            Some("says that it copies within the device, and one side is memory of the host")
        }
        0..=DEFAULT => None,
        _ => return Err(Error::INVALID_MEMCPY_DIRECTION),
    };
    let Some(wrong) = wrong else { return Ok(()) };
    let title = format!("`{}` {wrong}", entry.0);
    let help = "name the direction that it has: `cudaMemcpyKind` comes last, the destination first";
    context.misuse(Rule::InvalidApiUse, title, entry.call(), None, Some(help));
    Err(Error::INVALID_VALUE)
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cudaMemcpy(
    to: *mut c_void,
    from: *const c_void,
    bytes: usize,
    kind: c_int,
) -> u32 {
    enter("cudaMemcpy", |context, entry| {
        let what = flat(to.addr() as u64, from.addr() as u64, bytes, kind, 0, false);
        // SAFETY: the caller's buffers have this size.
        unsafe { copy(context, entry, &what) }
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cudaMemcpyAsync(
    to: *mut c_void,
    from: *const c_void,
    bytes: usize,
    kind: c_int,
    stream: *mut c_void,
) -> u32 {
    enter("cudaMemcpyAsync", |context, entry| {
        let stream = stream.addr() as u64;
        let what = flat(
            to.addr() as u64,
            from.addr() as u64,
            bytes,
            kind,
            stream,
            true,
        );
        // SAFETY: the caller's buffers have this size.
        unsafe { copy(context, entry, &what) }
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cudaMemcpyPeer(
    to: *mut c_void,
    _: c_int,
    from: *const c_void,
    _: c_int,
    bytes: usize,
) -> u32 {
    enter("cudaMemcpyPeer", |context, entry| {
        let what = flat(
            to.addr() as u64,
            from.addr() as u64,
            bytes,
            DEVICE_TO_DEVICE,
            0,
            false,
        );
        // SAFETY: the caller's buffers have this size.
        unsafe { copy(context, entry, &what) }
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cudaMemcpyPeerAsync(
    to: *mut c_void,
    _: c_int,
    from: *const c_void,
    _: c_int,
    bytes: usize,
    stream: *mut c_void,
) -> u32 {
    enter("cudaMemcpyPeerAsync", |context, entry| {
        let stream = stream.addr() as u64;
        let what = flat(
            to.addr() as u64,
            from.addr() as u64,
            bytes,
            DEVICE_TO_DEVICE,
            stream,
            true,
        );
        // SAFETY: the caller's buffers have this size.
        unsafe { copy(context, entry, &what) }
    })
}

fn plane(
    (to, to_pitch): (u64, usize),
    (from, from_pitch): (u64, usize),
    (width, height): (usize, usize),
    kind: c_int,
    stream: u64,
    asynchronous: bool,
) -> Copy {
    let rows = |address, pitch| Rows {
        address,
        pitch,
        slice: 0,
    };
    Copy {
        to: rows(to, to_pitch),
        from: rows(from, from_pitch),
        size: [width, height, 1],
        kind,
        stream,
        asynchronous,
    }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cudaMemcpy2D(
    to: *mut c_void,
    to_pitch: usize,
    from: *const c_void,
    from_pitch: usize,
    width: usize,
    height: usize,
    kind: c_int,
) -> u32 {
    enter("cudaMemcpy2D", |context, entry| {
        let (to, from) = (
            (to.addr() as u64, to_pitch),
            (from.addr() as u64, from_pitch),
        );
        // SAFETY: the caller's buffers have this size.
        unsafe {
            copy(
                context,
                entry,
                &plane(to, from, (width, height), kind, 0, false),
            )
        }
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cudaMemcpy2DAsync(
    to: *mut c_void,
    to_pitch: usize,
    from: *const c_void,
    from_pitch: usize,
    width: usize,
    height: usize,
    kind: c_int,
    stream: *mut c_void,
) -> u32 {
    enter("cudaMemcpy2DAsync", |context, entry| {
        let (to, from) = (
            (to.addr() as u64, to_pitch),
            (from.addr() as u64, from_pitch),
        );
        let stream = stream.addr() as u64;
        // SAFETY: the caller's buffers have this size.
        unsafe {
            copy(
                context,
                entry,
                &plane(to, from, (width, height), kind, stream, true),
            )
        }
    })
}

/// `cudaPos`
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Position {
    x: usize,
    y: usize,
    z: usize,
}

/// `cudaMemcpy3DParms`
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Copy3D {
    from_array: *mut c_void,
    from_position: Position,
    from: PitchedPtr,
    to_array: *mut c_void,
    to_position: Position,
    to: PitchedPtr,
    extent: Extent,
    kind: c_int,
}

/// The copy that a structure describes.
///
/// # Safety
///
/// `what` is null or such a structure.
pub(super) unsafe fn copy_of(
    context: &mut Context,
    entry: Entry,
    what: *const Copy3D,
    stream: u64,
    asynchronous: bool,
) -> Result<Copy> {
    if what.is_null() {
        return Err(Error::INVALID_VALUE);
    }
    // SAFETY: by the function's own condition.
    unsafe {
        let what = what.read_unaligned();
        // With an array, widths are in its texels (CUDA Runtime API, "cudaMemcpy3D").
        let texel = |context: &mut Context, array: *mut c_void| match array.is_null() {
            true => Ok(None),
            false => {
                let array = context.array(array.addr() as u64, || entry.call())?;
                Ok(Some(array.image.format.texel() as usize))
            }
        };
        let (of_from, of_to) = (
            texel(context, what.from_array)?,
            texel(context, what.to_array)?,
        );
        if of_from.zip(of_to).is_some_and(|(a, b)| a != b) {
            return Err(Error::INVALID_VALUE);
        }
        let unit = of_from.or(of_to).unwrap_or(1);
        let width = what.extent.width.checked_mul(unit);
        let width = width.ok_or(Error::INVALID_VALUE)?;
        let size = [width, what.extent.height, what.extent.depth];
        let mut rows = |array: *mut c_void, p: &PitchedPtr, at: &Position| {
            if !array.is_null() {
                let x = at.x.checked_mul(unit).ok_or(Error::INVALID_VALUE)?;
                return rows_of(context, entry, array, [x, at.y, at.z], size);
            }
            let at = at.z.checked_mul(p.height).and_then(|rows| {
                let rows = rows.checked_add(at.y)?;
                rows.checked_mul(p.pitch)?.checked_add(at.x)
            });
            Ok(Rows {
                address: (p.pointer.addr() as u64)
                    .wrapping_add(at.ok_or(Error::INVALID_VALUE)? as u64),
                pitch: p.pitch,
                slice: p.pitch.checked_mul(p.height).ok_or(Error::INVALID_VALUE)?,
            })
        };
        Ok(Copy {
            to: rows(what.to_array, &what.to, &what.to_position)?,
            from: rows(what.from_array, &what.from, &what.from_position)?,
            size,
            kind: what.kind,
            stream,
            asynchronous,
        })
    }
}

/// # Safety
///
/// `what` is null or such a structure, and its buffers have the size that it says.
unsafe fn copy_3d(
    context: &mut Context,
    entry: Entry,
    what: *const Copy3D,
    stream: u64,
    asynchronous: bool,
) -> Result<()> {
    // SAFETY: by the function's own condition.
    unsafe {
        let what = copy_of(context, entry, what, stream, asynchronous)?;
        copy(context, entry, &what)
    }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cudaMemcpy3D(what: *const Copy3D) -> u32 {
    enter("cudaMemcpy3D", |context, entry| {
        // SAFETY: the caller passes such a structure.
        unsafe { copy_3d(context, entry, what, 0, false) }
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cudaMemcpy3DAsync(what: *const Copy3D, stream: *mut c_void) -> u32 {
    enter("cudaMemcpy3DAsync", |context, entry| {
        // SAFETY: the caller passes such a structure.
        unsafe { copy_3d(context, entry, what, stream.addr() as u64, true) }
    })
}

pub(super) fn pitched(p: &PitchedPtr) -> Rows {
    Rows {
        address: p.pointer.addr() as u64,
        pitch: p.pitch,
        slice: p.pitch.saturating_mul(p.height),
    }
}
