//! Memory: what comes gets a shadow, and what goes is nobody's.

use super::entry::{Handle, Stream, aside, hooks};
use crate::launches::is_captured;
use crate::real_driver::real;
use crate::state::state;
use std::ffi::c_uint;

/// Memory came.
fn came(address: u64, bytes: u64) {
    aside(|| {
        let mut device = 0i32;
        if real!(cuCtxGetDevice(&mut device => *mut i32)) != 0 {
            return;
        }
        let mut state = state();
        state.open(device);
        if let Some(shadow) = state.shadow.as_mut().filter(|s| s.device == device) {
            shadow.allocate(address, bytes);
        }
    });
}

hooks! { cuMemAlloc_v2 (to: *mut u64, bytes: usize) |real| {
    let error = real(to, bytes);
    if error == 0 {
        came(to.read_unaligned(), bytes as u64);
    }
    error
} }

hooks! { cuMemAllocPitch_v2 (to: *mut u64, pitch: *mut usize, width: usize, height: usize, element: c_uint) |real| {
    let error = real(to, pitch, width, height, element);
    if error == 0 {
        came(to.read_unaligned(), pitch.read_unaligned().saturating_mul(height) as u64);
    }
    error
} }

hooks! { cuMemAllocManaged (to: *mut u64, bytes: usize, flags: c_uint) |real| {
    let error = real(to, bytes, flags);
    if error == 0 {
        came(to.read_unaligned(), bytes as u64);
    }
    error
} }

hooks! { cuMemMap (address: u64, bytes: usize, offset: usize, handle: u64, flags: u64) |real| {
    let error = real(address, bytes, offset, handle, flags);
    if error == 0 {
        came(address, bytes as u64);
    }
    error
} }

hooks! { cuMemAllocAsync, cuMemAllocAsync_ptsz (to: *mut u64, bytes: usize, stream: Stream) |real| {
    let error = real(to, bytes, stream);
    if error == 0 && !is_captured(stream) {
        came(to.read_unaligned(), bytes as u64);
    }
    error
} }

hooks! { cuMemAllocFromPoolAsync, cuMemAllocFromPoolAsync_ptsz (to: *mut u64, bytes: usize, pool: Handle, stream: Stream) |real| {
    let error = real(to, bytes, pool, stream);
    if error == 0 && !is_captured(stream) {
        came(to.read_unaligned(), bytes as u64);
    }
    error
} }

hooks! { cuMemFree_v2 (address: u64) |real| {
    // As soon as it is freed, another thread may be given the same.
    let number = aside(|| state().shadow.as_ref()?.bounds.number(address)).flatten();
    let error = real(address);
    if error == 0 {
        aside(|| {
            let mut state = state();
            // It waits for all that may use the memory.
            state.order.synchronize_all();
            if let Some(number) = number {
                // What they have found is told while the memory is known.
                if state.shadow.is_some() {
                    state.flush();
                }
                if let Some(shadow) = &mut state.shadow {
                    shadow.free(address, number);
                }
            }
        });
    }
    error
} }
