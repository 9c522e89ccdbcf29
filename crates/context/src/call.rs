//! Who calls: a call of the host program with its stack, and a launch by its name. Records hold both, and so does all that is remembered of
//! operations.

use serde::{Deserialize, Serialize};

/// A launch, for the reader.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LaunchName {
    /// The kernel, demangled.
    pub kernel: String,
    /// Its number in the process, from 1.
    pub number: u64,
    /// The stream: `the default stream`, `stream 2`.
    pub stream: String,
    /// Blocks.
    pub grid: [u32; 3],
    /// Threads of a block.
    pub block: [u32; 3],
}

/// A call of the host program.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Call {
    /// The function of the library.
    pub function: String,
    /// The kernel, where it launches one: nvcc writes host functions of that name, whose lines are those of the kernel.
    pub kernel: Option<String>,
    /// The stack, innermost first.
    pub frames: Vec<Frame>,
    /// The line of a Python program, where it is one.
    #[serde(default)]
    pub script: Option<Script>,
}

/// A line of a Python program.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Script {
    /// The file, as Python names it.
    pub file: String,
    /// Its line, from 1.
    pub line: u32,
}

/// One frame of a stack.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Frame {
    /// The executable or library.
    pub object: String,
    /// The return address in it, as its symbols have addresses.
    pub offset: u64,
}
