//! Fills: `cudaMemset` and its kin.

use super::copy::pitched;
use super::graph::Action;
use super::graph_capture::capture;
use super::memory::{Extent, PitchedPtr};
use super::transfers::{Fill, Rows};
use crate::entry::{Entry, enter};
use context::{Context, Error, Result};
use std::os::raw::{c_int, c_void};

/// Fills.
pub(crate) fn fill(context: &mut Context, entry: Entry, fill: &Fill) -> Result<()> {
    context.findings.healthy()?;
    let Fill {
        to,
        pattern,
        size,
        stream,
        asynchronous,
    } = fill;
    context.stream(*stream, || entry.call())?;
    let node = |_: &mut Context| Ok(Action::Fill(fill.clone()));
    if capture(context, entry, *stream, node)? {
        return Ok(());
    }
    let span = to.span(*size);
    if span == 0 {
        return Ok(());
    }
    if !to.are_apart(*size) {
        return Err(Error::INVALID_VALUE);
    }
    context.check(to.address, span, &entry.call())?;
    if context.is_held_up(*stream) {
        let shared = context
            .memory
            .block(to.address)
            .is_some_and(|b| b.kind.is_open());
        if *asynchronous || !shared {
            let what = fill.clone();
            context.defer(*stream, entry.call(), move |context| {
                let _ = self::fill(context, entry, &what);
            });
            return Ok(());
        }
        context.synchronize(*stream)?;
    }
    for z in 0..size[2] {
        for y in 0..size[1] {
            let count = size[0] / pattern.len();
            context.memory.fill(to.row(y, z), pattern, count as u64)?;
        }
    }
    // Fills of memory that the host shares keep it waiting, unless they are asked not to (CUDA Runtime API, "API synchronization behavior").
    let open = context
        .memory
        .block(to.address)
        .is_some_and(|b| b.kind.is_open());
    let write = Some((to.address, span));
    context.transfer(*stream, None, write, open && !asynchronous, || entry.call());
    Ok(())
}

/// Fills rows with a byte; without a stream, on the default stream and as the synchronous functions do it.
fn fill_bytes(
    context: &mut Context,
    entry: Entry,
    to: Rows,
    value: c_int,
    size: [usize; 3],
    stream: Option<u64>,
) -> Result<()> {
    let what = Fill {
        to,
        pattern: vec![value as u8],
        size,
        stream: stream.unwrap_or(0),
        asynchronous: stream.is_some(),
    };
    fill(context, entry, &what)
}

#[unsafe(no_mangle)]
pub extern "C" fn cudaMemset(to: *mut c_void, value: c_int, bytes: usize) -> u32 {
    enter("cudaMemset", |context, entry| {
        fill_bytes(
            context,
            entry,
            Rows::flat(to.addr() as u64),
            value,
            [bytes, 1, 1],
            None,
        )
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn cudaMemsetAsync(
    to: *mut c_void,
    value: c_int,
    bytes: usize,
    stream: *mut c_void,
) -> u32 {
    enter("cudaMemsetAsync", |context, entry| {
        let stream = stream.addr() as u64;
        fill_bytes(
            context,
            entry,
            Rows::flat(to.addr() as u64),
            value,
            [bytes, 1, 1],
            Some(stream),
        )
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn cudaMemset2D(
    to: *mut c_void,
    pitch: usize,
    value: c_int,
    width: usize,
    height: usize,
) -> u32 {
    enter("cudaMemset2D", |context, entry| {
        let rows = Rows {
            address: to.addr() as u64,
            pitch,
            slice: 0,
        };
        fill_bytes(context, entry, rows, value, [width, height, 1], None)
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn cudaMemset2DAsync(
    to: *mut c_void,
    pitch: usize,
    value: c_int,
    width: usize,
    height: usize,
    stream: *mut c_void,
) -> u32 {
    enter("cudaMemset2DAsync", |context, entry| {
        let rows = Rows {
            address: to.addr() as u64,
            pitch,
            slice: 0,
        };
        fill_bytes(
            context,
            entry,
            rows,
            value,
            [width, height, 1],
            Some(stream.addr() as u64),
        )
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn cudaMemset3D(to: PitchedPtr, value: c_int, extent: Extent) -> u32 {
    enter("cudaMemset3D", |context, entry| {
        let size = [extent.width, extent.height, extent.depth];
        fill_bytes(context, entry, pitched(&to), value, size, None)
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn cudaMemset3DAsync(
    to: PitchedPtr,
    value: c_int,
    extent: Extent,
    stream: *mut c_void,
) -> u32 {
    enter("cudaMemset3DAsync", |context, entry| {
        let size = [extent.width, extent.height, extent.depth];
        fill_bytes(
            context,
            entry,
            pitched(&to),
            value,
            size,
            Some(stream.addr() as u64),
        )
    })
}
