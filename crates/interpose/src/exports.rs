//! The names that no other file defines.

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
