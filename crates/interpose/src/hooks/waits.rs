//! Waiting, and the end.

use super::entry::{Handle, Stream, aside, hooks};
use crate::state::state;

/// The host has waited: what was found so far can be told.
fn waited(error: u32) -> u32 {
    aside(|| {
        let mut state = state();
        match error {
            0 => state.waited(),
            // `CUDA_ERROR_NOT_READY` and misuse say nothing of the device.
            700..=719 => state.doubt(format!("the program's kernels failed (error {error}): what was found since it last waited is lost")),
            _ => {}
        }
    });
    error
}

hooks! { cuCtxSynchronize () |real| {
    waited(real())
} }

hooks! { cuStreamSynchronize, cuStreamSynchronize_ptsz (stream: Stream) |real| {
    waited(real(stream))
} }

hooks! { cuEventSynchronize (event: Handle) |real| {
    waited(real(event))
} }

/// A context goes, and its memory with it.
fn goes() {
    aside(|| state().flush());
    aside(|| state().shadow = None);
}

hooks! { cuCtxDestroy_v2 (context: Handle) |real| {
    goes();
    real(context)
} }

hooks! { cuDevicePrimaryCtxReset_v2 (device: i32) |real| {
    goes();
    real(device)
} }
