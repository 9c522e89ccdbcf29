//! Variables of the device by their names on the host: where they are, and copies to and from them.

use super::copy::copy;
use super::transfers::flat;
use crate::entry::{Entry, enter, put};
use context::{Context, Error, Result};
use detect::rules::Rule;
use std::os::raw::{c_int, c_void};

/// A part of a variable, as an address.
fn symbol(
    context: &mut Context,
    entry: Entry,
    symbol: *const c_void,
    offset: usize,
    bytes: usize,
) -> Result<u64> {
    let (address, size) = context.symbol(symbol.addr() as u64)?;
    if (offset as u64)
        .checked_add(bytes as u64)
        .is_none_or(|end| end > size)
    {
        let title = format!(
            "`{}` takes {bytes} bytes from byte {offset} on of a variable of {size} bytes",
            entry.0
        );
        context.misuse(Rule::InvalidApiUse, title, entry.call(), None, None);
        return Err(Error::INVALID_VALUE);
    }
    Ok(address + offset as u64)
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cudaMemcpyToSymbol(
    to: *const c_void,
    from: *const c_void,
    bytes: usize,
    offset: usize,
    kind: c_int,
) -> u32 {
    enter("cudaMemcpyToSymbol", |context, entry| {
        let to = symbol(context, entry, to, offset, bytes)?;
        let what = flat(to, from.addr() as u64, bytes, kind, 0, false);
        // SAFETY: the caller's buffer has this size.
        unsafe { copy(context, entry, &what) }
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cudaMemcpyToSymbolAsync(
    to: *const c_void,
    from: *const c_void,
    bytes: usize,
    offset: usize,
    kind: c_int,
    stream: *mut c_void,
) -> u32 {
    enter("cudaMemcpyToSymbolAsync", |context, entry| {
        let to = symbol(context, entry, to, offset, bytes)?;
        let what = flat(
            to,
            from.addr() as u64,
            bytes,
            kind,
            stream.addr() as u64,
            true,
        );
        // SAFETY: the caller's buffer has this size.
        unsafe { copy(context, entry, &what) }
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cudaMemcpyFromSymbol(
    to: *mut c_void,
    from: *const c_void,
    bytes: usize,
    offset: usize,
    kind: c_int,
) -> u32 {
    enter("cudaMemcpyFromSymbol", |context, entry| {
        let from = symbol(context, entry, from, offset, bytes)?;
        let what = flat(to.addr() as u64, from, bytes, kind, 0, false);
        // SAFETY: the caller's buffer has this size.
        unsafe { copy(context, entry, &what) }
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cudaMemcpyFromSymbolAsync(
    to: *mut c_void,
    from: *const c_void,
    bytes: usize,
    offset: usize,
    kind: c_int,
    stream: *mut c_void,
) -> u32 {
    enter("cudaMemcpyFromSymbolAsync", |context, entry| {
        let from = symbol(context, entry, from, offset, bytes)?;
        let what = flat(
            to.addr() as u64,
            from,
            bytes,
            kind,
            stream.addr() as u64,
            true,
        );
        // SAFETY: the caller's buffer has this size.
        unsafe { copy(context, entry, &what) }
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cudaGetSymbolAddress(to: *mut *mut c_void, symbol: *const c_void) -> u32 {
    enter("cudaGetSymbolAddress", |context, _| {
        let (address, _) = context.symbol(symbol.addr() as u64)?;
        // SAFETY: the caller passes a place for a pointer.
        unsafe { put(to, address as *mut c_void) }
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cudaGetSymbolSize(to: *mut usize, symbol: *const c_void) -> u32 {
    enter("cudaGetSymbolSize", |context, _| {
        let (_, bytes) = context.symbol(symbol.addr() as u64)?;
        // SAFETY: the caller passes a place for it.
        unsafe { put(to, bytes as usize) }
    })
}
