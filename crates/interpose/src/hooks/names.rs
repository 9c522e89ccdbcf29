//! Names that are asked for: the answer is ours where we have one.

use super::entry::hooks;
use crate::real_driver;
use std::ffi::{c_char, c_int, c_uint};

hooks! { cuGetProcAddress_v2 (symbol: *const c_char, to: *mut usize, version: c_int, flags: u64, status: *mut c_uint) |real| {
    let error = real(symbol, to, version, flags, status);
    answer(error, to)
} }

hooks! { cuGetProcAddress (symbol: *const c_char, to: *mut usize, version: c_int, flags: u64) |real| {
    let error = real(symbol, to, version, flags);
    answer(error, to)
} }

unsafe fn answer(error: u32, to: *mut usize) -> u32 {
    // SAFETY: the driver has written it.
    unsafe {
        if error == 0
            && !to.is_null()
            && let Some(ours) = real_driver::ours(*to)
        {
            *to = ours;
        }
    }
    error
}
