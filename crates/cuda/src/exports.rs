//! The public names that no other file defines.

use crate::entry;

/// A function that is not there.
macro_rules! missing {
    ($name:ident, runtime) => {
        // SAFETY: no other function has this name. Its arguments are left where the caller put them, which the C calling convention allows.
        #[unsafe(no_mangle)]
        pub extern "C" fn $name() -> u32 {
            entry::missing(stringify!($name))
        }
    };
    ($name:ident, driver) => {
        // SAFETY: as above.
        #[unsafe(no_mangle)]
        pub extern "C" fn $name() -> u32 {
            entry::missing(stringify!($name))
        }
    };
}

/// Another name of a function.
macro_rules! same {
    ($name:ident, $library:ident, $same:ident) => {
        // SAFETY: it jumps to the function with all registers and the stack as they are.
        #[unsafe(no_mangle)]
        #[unsafe(naked)]
        pub unsafe extern "C" fn $name() {
            #[cfg(target_arch = "x86_64")]
            core::arch::naked_asm!("jmp {}", sym crate::$library::$same);
            #[cfg(target_arch = "aarch64")]
            core::arch::naked_asm!("b {}", sym crate::$library::$same);
        }
    };
}

include!(concat!(env!("OUT_DIR"), "/exports.rs"));
