//! Waiting, and the end.

use super::entry::{Handle, Stream, aside, hooks};
use crate::order::{LaunchOrder, StreamName};
use crate::real_driver::real as driver;
use crate::state::state;

/// The host has waited: what was found so far can be told.
fn waited(error: u32, order: impl FnOnce(&mut LaunchOrder)) -> u32 {
    aside(|| {
        let mut state = state();
        match error {
            0 => {
                order(&mut state.order);
                state.waited();
            }
            // `CUDA_ERROR_NOT_READY` and misuse say nothing of the device.
            700..=719 => {
                state.flush();
                state.doubt(format!("the program's kernels failed (error {error}): what they would have done after that is not known"));
            }
            _ => {}
        }
    });
    error
}

hooks! { cuCtxSynchronize () |real| {
    waited(real(), LaunchOrder::synchronize_all)
} }

hooks! { cuCtxSynchronize_v2 (context: Handle) |real| {
    waited(real(context), LaunchOrder::synchronize_all)
} }

hooks! { cuStreamSynchronize, cuStreamSynchronize_ptsz (stream: Stream) |real| {
    waited(real(stream), |o| o.synchronize(StreamName::of(stream, PER_THREAD)))
} }

hooks! { cuEventSynchronize (event: Handle) |real| {
    waited(real(event), |o| o.await_event(event))
} }

/// A context goes, and its memory with it.
fn goes() {
    aside(|| {
        let mut state = state();
        state.flush();
        state.goes();
    });
}

hooks! { cuCtxDestroy_v2 (context: Handle) |real| {
    goes();
    real(context)
} }

hooks! { cuDevicePrimaryCtxReset_v2 (device: i32) |real| {
    goes();
    real(device)
} }

hooks! { cuDevicePrimaryCtxRelease_v2 (device: i32) |real| {
    aside(|| state().flush());
    let error = real(device);
    let (mut flags, mut active) = (0u32, 0i32);
    let asked = driver!(cuDevicePrimaryCtxGetState(device => i32, &mut flags => *mut u32, &mut active => *mut i32));
    if asked == 0 && active == 0 {
        aside(|| state().goes());
    }
    error
} }
