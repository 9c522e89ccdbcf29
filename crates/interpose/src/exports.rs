//! The names that no hook defines, and which those are that are ours.

use crate::real_driver;
use std::collections::HashMap;
use std::sync::OnceLock;

/// A function that is the driver's own.
macro_rules! jump {
    ($name:ident, $number:literal) => {
        // SAFETY: it jumps to the driver's function of this name with all registers and the stack as they are.
        #[unsafe(no_mangle)]
        #[unsafe(naked)]
        pub unsafe extern "C" fn $name() {
            #[cfg(target_arch = "x86_64")]
            core::arch::naked_asm!(
                "jmp qword ptr [rip + {table} + {offset}]",
                table = sym crate::real_driver::TABLE,
                offset = const 8 * $number,
            );
            #[cfg(target_arch = "aarch64")]
            core::arch::naked_asm!(
                "adrp x16, {table}",
                "add x16, x16, :lo12:{table}",
                "ldr x16, [x16, #{offset}]",
                "br x16",
                table = sym crate::real_driver::TABLE,
                offset = const 8 * $number,
            );
        }
    };
}

include!(concat!(env!("OUT_DIR"), "/exports.rs"));

/// Our function in place of one of the driver's, if it is one that we have.
pub fn ours(theirs: usize) -> Option<usize> {
    static MAP: OnceLock<HashMap<usize, usize>> = OnceLock::new();
    let none = real_driver::missing as *const () as usize;
    let map = MAP.get_or_init(|| {
        let all = OURS
            .iter()
            .map(|(name, own)| (real_driver::function(name), *own as usize));
        all.filter(|(theirs, _)| *theirs != none).collect()
    });
    map.get(&theirs).copied()
}
