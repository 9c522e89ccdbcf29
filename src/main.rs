//! The `racetrap` program; see [`racetrap::cli`].

// The library of `racetrap exec` as a section of this file, which is never loaded: `exec::library` reads it from there. The assembler
// takes it in, since it is there when the program is compiled, and not yet when it is only checked.
#[cfg(embedded_library)]
#[allow(unsafe_code)] // No code: the bytes of a file.
mod library {
    std::arch::global_asm!(
        ".section .racetrap_cuda,\"\",@progbits",
        concat!(".incbin \"", env!("RACETRAP_LIBRARY"), "\""),
        ".text"
    );
}

/// What runs hold is counted, so that their limits on memory hold.
#[global_allocator]
static ALLOCATOR: meter::Metered = meter::Metered;

fn main() -> std::process::ExitCode {
    racetrap::cli::main()
}
