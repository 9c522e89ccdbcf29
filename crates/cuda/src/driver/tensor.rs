//! Tensor maps (CUDA Driver API, "Tensor Map Object Management").
//!
//! What the encoders make is opaque to programs, and ours ([`simt::tensor_map`]). A program that lets NVIDIA's library make its maps would hand over
//! objects that nobody here can read.

use crate::entry::plain;
use context::{Error, Result};
use simt::tensor_map::{self, Arguments, MapError, RANK, TensorMap};
use std::os::raw::{c_int, c_uint, c_void};

/// `CUtensorMap`
type Object = [u8; tensor_map::BYTES];

/// As many numbers as a tensor has dimensions, less some; none where the caller passes null and there are some.
///
/// # Safety
///
/// There are as many, or `from` is null.
unsafe fn numbers<N: Copy>(from: *const N, count: usize) -> Option<Vec<N>> {
    match (from.is_null(), count) {
        (_, 0) => Some(Vec::new()),
        (true, _) => None,
        // SAFETY: by the function's own condition.
        (false, count) => Some(
            (0..count)
                .map(|at| unsafe { from.add(at).read_unaligned() })
                .collect(),
        ),
    }
}

/// The arguments that both encoders have.
struct Common {
    element: c_int,
    rank: c_uint,
    address: *mut c_void,
    dims: *const u64,
    strides: *const u64,
    steps: *const u32,
    interleave: c_int,
    swizzle: c_int,
    l2_promotion: c_int,
    fill: c_int,
}

/// Makes a map and puts it into the object.
///
/// # Safety
///
/// The arrays are as long as the rank says, or null, and so is `to`.
unsafe fn encode(
    name: &'static str,
    to: *mut Object,
    common: &Common,
    make: impl FnOnce(&Arguments<'_>, usize) -> Option<std::result::Result<TensorMap, MapError>>,
) -> u32 {
    plain(name, |context, _| {
        let rank = common.rank as usize;
        if to.is_null() || !to.addr().is_multiple_of(tensor_map::ALIGNMENT as usize) {
            return Err(Error::INVALID_VALUE);
        }
        if !(1..=RANK).contains(&rank) {
            return Err(Error::INVALID_VALUE);
        }
        // SAFETY: by the function's own condition.
        let arrays = unsafe {
            (
                numbers(common.dims, rank),
                numbers(common.strides, rank - 1),
                numbers(common.steps, rank),
            )
        };
        let (Some(dims), Some(strides), Some(steps)) = arrays else {
            return Err(Error::INVALID_VALUE);
        };
        let arguments = Arguments {
            element: common.element as u32,
            rank: common.rank,
            address: common.address.addr() as u64,
            dims: &dims,
            strides: &strides,
            steps: &steps,
            interleave: common.interleave as u32,
            swizzle: common.swizzle as u32,
            l2_promotion: common.l2_promotion as u32,
            fill: common.fill as u32,
        };
        let made: Result<TensorMap> = match make(&arguments, rank) {
            Some(Ok(map)) => Ok(map),
            Some(Err(MapError::Element(13..) | MapError::Swizzle(4..=6))) => {
                context.findings.missing(&format!(
                    "{name} with what GPUs of compute capability 10 have"
                ));
                Err(Error::NOT_SUPPORTED)
            }
            Some(Err(_)) | None => Err(Error::INVALID_VALUE),
        };
        // SAFETY: the caller passes a place for it.
        unsafe { to.write(made?.to_bytes()) };
        Ok(())
    })
}

/// # Safety
///
/// As CUDA's documentation has it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuTensorMapEncodeTiled(
    to: *mut Object,
    element: c_int,
    rank: c_uint,
    address: *mut c_void,
    dims: *const u64,
    strides: *const u64,
    extent: *const u32,
    steps: *const u32,
    interleave: c_int,
    swizzle: c_int,
    l2_promotion: c_int,
    fill: c_int,
) -> u32 {
    let common = Common {
        element,
        rank,
        address,
        dims,
        strides,
        steps,
        interleave,
        swizzle,
        l2_promotion,
        fill,
    };
    // SAFETY: the caller passes arrays of as many numbers as the rank says.
    unsafe {
        encode("cuTensorMapEncodeTiled", to, &common, |arguments, rank| {
            let extent = numbers(extent, rank)?;
            Some(TensorMap::tile(arguments, &extent))
        })
    }
}

/// # Safety
///
/// As CUDA's documentation has it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuTensorMapEncodeIm2col(
    to: *mut Object,
    element: c_int,
    rank: c_uint,
    address: *mut c_void,
    dims: *const u64,
    strides: *const u64,
    lower: *const c_int,
    upper: *const c_int,
    channels: c_uint,
    pixels: c_uint,
    steps: *const u32,
    interleave: c_int,
    swizzle: c_int,
    l2_promotion: c_int,
    fill: c_int,
) -> u32 {
    let common = Common {
        element,
        rank,
        address,
        dims,
        strides,
        steps,
        interleave,
        swizzle,
        l2_promotion,
        fill,
    };
    // SAFETY: the caller passes arrays of as many numbers as the rank says.
    unsafe {
        encode("cuTensorMapEncodeIm2col", to, &common, |arguments, rank| {
            let (lower, upper) = (
                numbers(lower, rank.saturating_sub(2))?,
                numbers(upper, rank.saturating_sub(2))?,
            );
            let map = TensorMap::im2col(arguments, &lower, &upper, channels, pixels);
            Some(map)
        })
    }
}

/// # Safety
///
/// As CUDA's documentation has it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuTensorMapReplaceAddress(to: *mut Object, address: *mut c_void) -> u32 {
    plain("cuTensorMapReplaceAddress", |_, _| {
        if to.is_null() || !to.addr().is_multiple_of(tensor_map::ALIGNMENT as usize) {
            return Err(Error::INVALID_VALUE);
        }
        // SAFETY: the caller passes a tensor map.
        let old = TensorMap::from_bytes(unsafe { &*to }).ok_or(Error::INVALID_VALUE)?;
        let new = old.at(address.addr() as u64);
        let new = new.map_err(|_| Error::INVALID_VALUE)?;
        // SAFETY: as above.
        unsafe { to.write(new.to_bytes()) };
        Ok(())
    })
}
