//! Copies and memsets.

use super::entry::{Stream, aside, hooks};
use crate::launches::is_captured;
use crate::order::StreamName;
use crate::state::{Range, state};
use std::ffi::{c_uchar, c_uint, c_ushort, c_void};

/// In front of a call that does this to memory of the device.
fn copies(name: &'static str, stream: Stream, per_thread: bool, ranges: &[Range]) {
    if !is_captured(stream) {
        // Our kernel must run on the very stream.
        let handle = match (stream, per_thread) {
            (0, true) => 2,
            _ => stream,
        };
        aside(|| state().copies(name, handle, StreamName::of(stream, per_thread), ranges));
    }
}

/// The host has waited for the call.
fn waited(error: u32, per_thread: bool) -> u32 {
    if error == 0 {
        aside(|| state().order.synchronize(StreamName::of(0, per_thread)));
    }
    error
}

hooks! { cuMemcpyDtoH_v2, cuMemcpyDtoH_v2_ptds (to: *mut c_void, from: u64, bytes: usize) |real| {
    copies("cuMemcpyDtoH", 0, PER_THREAD, &[Range::whole(from, bytes as u64, false)]);
    waited(real(to, from, bytes), PER_THREAD)
} }

hooks! { cuMemcpyHtoD_v2, cuMemcpyHtoD_v2_ptds (to: u64, from: *const c_void, bytes: usize) |real| {
    copies("cuMemcpyHtoD", 0, PER_THREAD, &[Range::whole(to, bytes as u64, true)]);
    waited(real(to, from, bytes), PER_THREAD)
} }

hooks! { cuMemcpy, cuMemcpy_ptds (to: u64, from: u64, bytes: usize) |real| {
    copies("cuMemcpy", 0, PER_THREAD, &[Range::whole(from, bytes as u64, false), Range::whole(to, bytes as u64, true)]);
    waited(real(to, from, bytes), PER_THREAD)
} }

hooks! { cuMemcpyDtoD_v2, cuMemcpyDtoD_v2_ptds (to: u64, from: u64, bytes: usize) |real| {
    copies("cuMemcpyDtoD", 0, PER_THREAD, &[Range::whole(from, bytes as u64, false), Range::whole(to, bytes as u64, true)]);
    real(to, from, bytes)
} }

hooks! { cuMemcpyDtoHAsync_v2, cuMemcpyDtoHAsync_v2_ptsz (to: *mut c_void, from: u64, bytes: usize, stream: Stream) |real| {
    copies("cuMemcpyDtoHAsync", stream, PER_THREAD, &[Range::whole(from, bytes as u64, false)]);
    real(to, from, bytes, stream)
} }

hooks! { cuMemcpyHtoDAsync_v2, cuMemcpyHtoDAsync_v2_ptsz (to: u64, from: *const c_void, bytes: usize, stream: Stream) |real| {
    copies("cuMemcpyHtoDAsync", stream, PER_THREAD, &[Range::whole(to, bytes as u64, true)]);
    real(to, from, bytes, stream)
} }

hooks! { cuMemcpyDtoDAsync_v2, cuMemcpyDtoDAsync_v2_ptsz (to: u64, from: u64, bytes: usize, stream: Stream) |real| {
    copies("cuMemcpyDtoDAsync", stream, PER_THREAD, &[Range::whole(from, bytes as u64, false), Range::whole(to, bytes as u64, true)]);
    real(to, from, bytes, stream)
} }

hooks! { cuMemcpyAsync, cuMemcpyAsync_ptsz (to: u64, from: u64, bytes: usize, stream: Stream) |real| {
    copies("cuMemcpyAsync", stream, PER_THREAD, &[Range::whole(from, bytes as u64, false), Range::whole(to, bytes as u64, true)]);
    real(to, from, bytes, stream)
} }

hooks! { cuMemsetD8_v2, cuMemsetD8_v2_ptds (to: u64, value: c_uchar, count: usize) |real| {
    copies("cuMemsetD8", 0, PER_THREAD, &[Range::whole(to, count as u64, true)]);
    real(to, value, count)
} }

hooks! { cuMemsetD16_v2, cuMemsetD16_v2_ptds (to: u64, value: c_ushort, count: usize) |real| {
    copies("cuMemsetD16", 0, PER_THREAD, &[Range::whole(to, 2u64.saturating_mul(count as u64), true)]);
    real(to, value, count)
} }

hooks! { cuMemsetD32_v2, cuMemsetD32_v2_ptds (to: u64, value: c_uint, count: usize) |real| {
    copies("cuMemsetD32", 0, PER_THREAD, &[Range::whole(to, 4u64.saturating_mul(count as u64), true)]);
    real(to, value, count)
} }

hooks! { cuMemsetD8Async, cuMemsetD8Async_ptsz (to: u64, value: c_uchar, count: usize, stream: Stream) |real| {
    copies("cuMemsetD8Async", stream, PER_THREAD, &[Range::whole(to, count as u64, true)]);
    real(to, value, count, stream)
} }

hooks! { cuMemsetD16Async, cuMemsetD16Async_ptsz (to: u64, value: c_ushort, count: usize, stream: Stream) |real| {
    copies("cuMemsetD16Async", stream, PER_THREAD, &[Range::whole(to, 2u64.saturating_mul(count as u64), true)]);
    real(to, value, count, stream)
} }

hooks! { cuMemsetD32Async, cuMemsetD32Async_ptsz (to: u64, value: c_uint, count: usize, stream: Stream) |real| {
    copies("cuMemsetD32Async", stream, PER_THREAD, &[Range::whole(to, 4u64.saturating_mul(count as u64), true)]);
    real(to, value, count, stream)
} }

/// One side of a copy of rows (`CUDA_MEMCPY2D`, `CUDA_MEMCPY3D`): where it begins in memory of the device, or of either by unified addresses.
struct Side {
    kind: c_uint,
    device: u64,
    at: [usize; 3],
    pitch: usize,
    height: usize,
}

impl Side {
    /// Ranges of `extent` bytes, rows and slices.
    fn ranges(&self, [width, height, depth]: [usize; 3], writes: bool) -> Vec<Range> {
        const DEVICE: c_uint = 2;
        const UNIFIED: c_uint = 4;
        /// Slices that are checked one by one.
        const MOST: usize = 64;
        if !matches!(self.kind, DEVICE | UNIFIED) {
            return Vec::new();
        }
        // Sums that no address has are refused by the driver; here they are just no address of the device.
        let slice = self.pitch.saturating_mul(self.height);
        let [x, y, z] = self.at;
        let into = z
            .saturating_mul(slice)
            .saturating_add(y.saturating_mul(self.pitch));
        let at = self.device.saturating_add(into.saturating_add(x) as u64);
        let rows = |at: u64, rows: usize| Range {
            at,
            bytes: width as u64,
            rows: rows as u64,
            pitch: self.pitch as u64,
            writes,
        };
        match depth == 1 || height == self.height {
            true => vec![rows(at, height.saturating_mul(depth))],
            false => {
                let slices = 0..depth.min(MOST);
                slices
                    .map(|z| rows(at.saturating_add(z.saturating_mul(slice) as u64), height))
                    .collect()
            }
        }
    }
}

/// `CUDA_MEMCPY2D`
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Copy2d {
    from_at: [usize; 2],
    from_kind: c_uint,
    from_host: *const c_void,
    from: u64,
    from_array: usize,
    from_pitch: usize,
    to_at: [usize; 2],
    to_kind: c_uint,
    to_host: *mut c_void,
    to: u64,
    to_array: usize,
    to_pitch: usize,
    width: usize,
    height: usize,
}

impl Copy2d {
    fn ranges(&self) -> Vec<Range> {
        let side = |kind, device, [x, y]: [usize; 2], pitch: usize| Side {
            kind,
            device,
            at: [x, y, 0],
            pitch: if pitch == 0 { self.width } else { pitch },
            height: 0,
        };
        let extent = [self.width, self.height, 1];
        let from = side(self.from_kind, self.from, self.from_at, self.from_pitch);
        let to = side(self.to_kind, self.to, self.to_at, self.to_pitch);
        [from.ranges(extent, false), to.ranges(extent, true)].concat()
    }
}

/// `CUDA_MEMCPY3D`
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Copy3d {
    from_at: [usize; 3],
    from_level: usize,
    from_kind: c_uint,
    from_host: *const c_void,
    from: u64,
    from_array: usize,
    from_reserved: usize,
    from_pitch: usize,
    from_height: usize,
    to_at: [usize; 3],
    to_level: usize,
    to_kind: c_uint,
    to_host: *mut c_void,
    to: u64,
    to_array: usize,
    to_reserved: usize,
    to_pitch: usize,
    to_height: usize,
    extent: [usize; 3],
}

impl Copy3d {
    fn ranges(&self) -> Vec<Range> {
        let [width, height, _] = self.extent;
        let side = |kind, device, at, pitch: usize, rows: usize| Side {
            kind,
            device,
            at,
            pitch: if pitch == 0 { width } else { pitch },
            height: if rows == 0 { height } else { rows },
        };
        let from = (
            self.from_kind,
            self.from,
            self.from_at,
            self.from_pitch,
            self.from_height,
        );
        let from = side(from.0, from.1, from.2, from.3, from.4);
        let to = side(
            self.to_kind,
            self.to,
            self.to_at,
            self.to_pitch,
            self.to_height,
        );
        [
            from.ranges(self.extent, false),
            to.ranges(self.extent, true),
        ]
        .concat()
    }
}

/// What a copy of rows does, by its description; nothing where there is none, which the driver refuses.
unsafe fn described<C: Copy>(copy: *const C, ranges: impl FnOnce(&C) -> Vec<Range>) -> Vec<Range> {
    if copy.is_null() {
        return Vec::new();
    }
    // SAFETY: the caller passes a structure of this type, wherever it lies.
    ranges(&unsafe { copy.read_unaligned() })
}

hooks! { cuMemcpy2D_v2, cuMemcpy2D_v2_ptds (copy: *const Copy2d) |real| {
    copies("cuMemcpy2D", 0, PER_THREAD, &described(copy, Copy2d::ranges));
    waited(real(copy), PER_THREAD)
} }

hooks! { cuMemcpy2DUnaligned_v2, cuMemcpy2DUnaligned_v2_ptds (copy: *const Copy2d) |real| {
    copies("cuMemcpy2DUnaligned", 0, PER_THREAD, &described(copy, Copy2d::ranges));
    waited(real(copy), PER_THREAD)
} }

hooks! { cuMemcpy2DAsync_v2, cuMemcpy2DAsync_v2_ptsz (copy: *const Copy2d, stream: Stream) |real| {
    copies("cuMemcpy2DAsync", stream, PER_THREAD, &described(copy, Copy2d::ranges));
    real(copy, stream)
} }

hooks! { cuMemcpy3D_v2, cuMemcpy3D_v2_ptds (copy: *const Copy3d) |real| {
    copies("cuMemcpy3D", 0, PER_THREAD, &described(copy, Copy3d::ranges));
    waited(real(copy), PER_THREAD)
} }

hooks! { cuMemcpy3DAsync_v2, cuMemcpy3DAsync_v2_ptsz (copy: *const Copy3d, stream: Stream) |real| {
    copies("cuMemcpy3DAsync", stream, PER_THREAD, &described(copy, Copy3d::ranges));
    real(copy, stream)
} }

/// Rows of a memset.
fn rows(at: u64, pitch: usize, bytes: usize, height: usize) -> [Range; 1] {
    [Range {
        at,
        bytes: bytes as u64,
        rows: height as u64,
        pitch: pitch as u64,
        writes: true,
    }]
}

hooks! { cuMemsetD2D8_v2, cuMemsetD2D8_v2_ptds (to: u64, pitch: usize, value: c_uchar, width: usize, height: usize) |real| {
    copies("cuMemsetD2D8", 0, PER_THREAD, &rows(to, pitch, width, height));
    real(to, pitch, value, width, height)
} }

hooks! { cuMemsetD2D16_v2, cuMemsetD2D16_v2_ptds (to: u64, pitch: usize, value: c_ushort, width: usize, height: usize) |real| {
    copies("cuMemsetD2D16", 0, PER_THREAD, &rows(to, pitch, width.saturating_mul(2), height));
    real(to, pitch, value, width, height)
} }

hooks! { cuMemsetD2D32_v2, cuMemsetD2D32_v2_ptds (to: u64, pitch: usize, value: c_uint, width: usize, height: usize) |real| {
    copies("cuMemsetD2D32", 0, PER_THREAD, &rows(to, pitch, width.saturating_mul(4), height));
    real(to, pitch, value, width, height)
} }

hooks! { cuMemsetD2D8Async, cuMemsetD2D8Async_ptsz (to: u64, pitch: usize, value: c_uchar, width: usize, height: usize, stream: Stream) |real| {
    copies("cuMemsetD2D8Async", stream, PER_THREAD, &rows(to, pitch, width, height));
    real(to, pitch, value, width, height, stream)
} }

hooks! { cuMemsetD2D16Async, cuMemsetD2D16Async_ptsz (to: u64, pitch: usize, value: c_ushort, width: usize, height: usize, stream: Stream) |real| {
    copies("cuMemsetD2D16Async", stream, PER_THREAD, &rows(to, pitch, width.saturating_mul(2), height));
    real(to, pitch, value, width, height, stream)
} }

hooks! { cuMemsetD2D32Async, cuMemsetD2D32Async_ptsz (to: u64, pitch: usize, value: c_uint, width: usize, height: usize, stream: Stream) |real| {
    copies("cuMemsetD2D32Async", stream, PER_THREAD, &rows(to, pitch, width.saturating_mul(4), height));
    real(to, pitch, value, width, height, stream)
} }
