//! Launches.

use super::entry::{Handle, Stream, aside, hooks};
use crate::launches::{self, Extended, Wanted, is_captured};
use crate::order::StreamName;
use crate::state::state;
use std::ffi::{c_uint, c_void};

/// Launches with checks where the kernel has them: `call` gets shared memory, parameters and `extra`.
pub(super) unsafe fn launch(
    wanted: &Wanted,
    call: impl FnOnce(u32, *mut *mut c_void, *mut *mut c_void) -> u32,
) -> u32 {
    // SAFETY: the caller's parameters.
    let extended: Option<Extended> = aside(|| unsafe { launches::extend(wanted) }).flatten();
    match extended {
        Some(mut extended) => {
            let extended = extended.settle();
            call(extended.shared, extended.params(), extended.extra())
        }
        None => call(wanted.shared, wanted.params, wanted.extra),
    }
}

hooks! { cuLaunchKernel, cuLaunchKernel_ptsz (function: Handle, gx: c_uint, gy: c_uint, gz: c_uint, bx: c_uint, by: c_uint, bz: c_uint, shared: c_uint, stream: Stream, params: *mut *mut c_void, extra: *mut *mut c_void) |real| {
    let wanted = Wanted {
        function,
        grid: [gx, gy, gz],
        block: [bx, by, bz],
        shared,
        stream: StreamName::of(stream, PER_THREAD),
        recorded: is_captured(stream),
        slot: None,
        params,
        extra,
    };
    launch(&wanted, |shared, params, extra| {
        real(function, gx, gy, gz, bx, by, bz, shared, stream, params, extra)
    })
} }

hooks! { cuLaunchCooperativeKernel, cuLaunchCooperativeKernel_ptsz (function: Handle, gx: c_uint, gy: c_uint, gz: c_uint, bx: c_uint, by: c_uint, bz: c_uint, shared: c_uint, stream: Stream, params: *mut *mut c_void) |real| {
    let wanted = Wanted {
        function,
        grid: [gx, gy, gz],
        block: [bx, by, bz],
        shared,
        stream: StreamName::of(stream, PER_THREAD),
        recorded: is_captured(stream),
        slot: None,
        params,
        extra: std::ptr::null_mut(),
    };
    launch(&wanted, |shared, params, _| {
        real(function, gx, gy, gz, bx, by, bz, shared, stream, params)
    })
} }

hooks! { cuLaunchKernelEx, cuLaunchKernelEx_ptsz (config: *const LaunchConfig, function: Handle, params: *mut *mut c_void, extra: *mut *mut c_void) |real| {
    if config.is_null() {
        // The driver says what is wrong with that.
        return real(config, function, params, extra);
    }
    let mut own = config.read_unaligned();
    if own.is_dependent() {
        aside(|| state().doubt(DEPENDENT.to_owned()));
    }
    let wanted = own.wanted(function, params, extra, PER_THREAD);
    launch(&wanted, |shared, params, extra| {
        own.shared = shared;
        real(&raw const own, function, params, extra)
    })
} }

/// What is said of launches that may begin before the one in front has ended.
const DEPENDENT: &str = "launches with programmatic stream serialisation were taken to begin when the one in front had ended";

/// `CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION`, `CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_EVENT`
const PROGRAMMATIC: [c_uint; 2] = [6, 7];

/// `CUlaunchAttribute`
#[repr(C)]
#[derive(Clone, Copy)]
struct LaunchAttribute {
    id: c_uint,
    pad: [u8; 4],
    value: [u32; 16],
}

/// `CUlaunchConfig`
#[repr(C)]
#[derive(Clone, Copy)]
pub struct LaunchConfig {
    grid: [c_uint; 3],
    block: [c_uint; 3],
    shared: c_uint,
    stream: Stream,
    attributes: *mut c_void,
    count: c_uint,
}

impl LaunchConfig {
    /// Whether the launch may begin before the one in front of it has ended.
    ///
    /// # Safety
    ///
    /// The configuration is one that the driver takes.
    unsafe fn is_dependent(&self) -> bool {
        let attributes = self.attributes.cast::<LaunchAttribute>();
        let count = if attributes.is_null() {
            0
        } else {
            self.count as usize
        };
        // SAFETY: the caller gives so many attributes.
        let mut all = (0..count).map(|i| unsafe { attributes.add(i).read_unaligned() });
        all.any(|a| PROGRAMMATIC.contains(&a.id) && a.value[0] != 0)
    }

    fn wanted(
        &self,
        function: Handle,
        params: *mut *mut c_void,
        extra: *mut *mut c_void,
        per_thread: bool,
    ) -> Wanted {
        Wanted {
            function,
            grid: self.grid,
            block: self.block,
            shared: self.shared,
            stream: StreamName::of(self.stream, per_thread),
            recorded: is_captured(self.stream),
            slot: None,
            params,
            extra,
        }
    }
}
