//! Functions that CUDA's driver provides to device code (CUDA C++ Programming Guide, "Formatted Output", "Assertion", "Dynamic Global Memory
//! Allocation and Operations").

/// A function that PTX calls without defining it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum System {
    /// `vprintf(format, arguments)`
    Vprintf,
    /// `__assertfail(message, file, line, function, char size)`
    AssertFail,
    /// `malloc(bytes)`
    Malloc,
    /// `free(pointer)`
    Free,
}

impl System {
    /// The function of that name.
    pub fn named(name: &str) -> Option<System> {
        Some(match name {
            "vprintf" => System::Vprintf,
            "__assertfail" => System::AssertFail,
            "malloc" => System::Malloc,
            "free" => System::Free,
            _ => return None,
        })
    }
}
