//! Errors of the GPU side of a job, under the names that the driver uses.
//!
//! Names and values are those of `CUresult` in the CUDA driver API. [`meaning`] explains what they mean for a kernel under
//! test.

use serde::{Deserialize, Serialize};
use std::fmt;

/// Why a job failed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[serde(rename_all = "kebab-case")]
pub enum DeviceError {
    /// The job is invalid. No part of it was executed.
    #[error("invalid job: {problem}")]
    BadJob {
        /// What is wrong with it.
        problem: String,
    },
    /// There is a driver, but no GPU that this process may use.
    #[error("{name}: {}", meaning(name))]
    NoDevice {
        /// `CUDA_ERROR_NO_DEVICE`, or why the driver could not start.
        name: String,
    },
    /// The PTX version is newer than the driver supports.
    #[error("{name}: the driver {driver} is too old for PTX version {version}")]
    OldDriver {
        /// `CUDA_ERROR_UNSUPPORTED_PTX_VERSION`.
        name: String,
        /// The PTX's `.version`.
        version: String,
        /// The driver's.
        driver: String,
    },
    /// The driver's compiler rejects the PTX.
    #[error("{name}: {}{}", meaning(name), quoted(log))]
    Jit {
        /// `CUDA_ERROR_INVALID_PTX`, for instance.
        name: String,
        /// The compiler's message.
        log: String,
    },
    /// The PTX does not define the kernel.
    #[error("step {step}: the PTX has no kernel `{entry}`")]
    NoEntry {
        /// The step that launches it, from 0.
        step: usize,
        /// Its name.
        entry: String,
    },
    /// The PTX does not define the variable, or it is too small.
    #[error("the PTX has no variable `{symbol}` of at least {bytes} bytes")]
    NoVariable {
        /// Its name.
        symbol: String,
        /// The number of bytes requested.
        bytes: u64,
    },
    /// A driver call failed.
    #[error("{name} {at} ({call}): {}", meaning(name))]
    Call {
        /// `CUDA_ERROR_ILLEGAL_ADDRESS`, for instance.
        name: String,
        /// The call that reported it: `cuStreamSynchronize`.
        call: String,
        /// Where in the job.
        at: At,
        /// Whether this process can no longer use the GPU.
        sticky: bool,
    },
}

/// A place in a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum At {
    /// Before its first step.
    Start,
    /// Allocating the buffer with this index.
    Buffer(usize),
    /// Allocating the host memory with this index.
    Host(usize),
    /// Loading the PTX.
    Ptx,
    /// In the step with this index.
    Step(usize),
    /// In this step or an earlier one: errors of several streams are reported late.
    UpTo(usize),
    /// Reading the buffer with this index at the end.
    Read(usize),
}

impl fmt::Display for At {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            At::Start => write!(f, "before the first step"),
            At::Buffer(index) => write!(f, "allocating buffer {index}"),
            At::Host(index) => write!(f, "allocating host memory {index}"),
            At::Ptx => write!(f, "loading the PTX"),
            At::Step(index) => write!(f, "in step {index}"),
            At::UpTo(index) => write!(f, "in step {index} or an earlier one"),
            At::Read(index) => write!(f, "reading buffer {index}"),
        }
    }
}

impl DeviceError {
    /// The driver's name for it, if it has one.
    pub fn name(&self) -> Option<&str> {
        match self {
            DeviceError::NoDevice { name }
            | DeviceError::OldDriver { name, .. }
            | DeviceError::Jit { name, .. }
            | DeviceError::Call { name, .. } => Some(name),
            DeviceError::BadJob { .. }
            | DeviceError::NoEntry { .. }
            | DeviceError::NoVariable { .. } => None,
        }
    }

    /// Whether the process can no longer run jobs after it.
    pub fn is_sticky(&self) -> bool {
        matches!(self, DeviceError::Call { sticky: true, .. })
    }

    /// Whether the kernel caused it: it failed while running, or cannot be launched with this configuration.
    pub fn is_of_the_kernel(&self) -> bool {
        match self {
            DeviceError::Call { name, .. } => KERNEL.iter().any(|(kernel, _)| kernel == name),
            _ => false,
        }
    }
}

/// Errors of a running kernel, with their meaning for whoever tests it.
const KERNEL: &[(&str, &str)] = &[
    (
        "CUDA_ERROR_ILLEGAL_ADDRESS",
        "a thread accessed memory that belongs to no buffer",
    ),
    (
        "CUDA_ERROR_MISALIGNED_ADDRESS",
        "a thread accessed memory at an address that is not a multiple of the access size",
    ),
    (
        "CUDA_ERROR_INVALID_ADDRESS_SPACE",
        "a thread accessed memory in a state space that the instruction does not support",
    ),
    ("CUDA_ERROR_ASSERT", "an `assert` in the kernel failed"),
    (
        "CUDA_ERROR_ILLEGAL_INSTRUCTION",
        "a thread executed `__trap()` or an instruction that the GPU does not support",
    ),
    (
        "CUDA_ERROR_HARDWARE_STACK_ERROR",
        "a thread's stack overflowed or was overwritten",
    ),
    (
        "CUDA_ERROR_INVALID_PC",
        "a thread jumped to an address without code",
    ),
    (
        "CUDA_ERROR_LAUNCH_FAILED",
        "an exception ended the kernel, such as an out-of-bounds access to shared memory",
    ),
    (
        "CUDA_ERROR_LAUNCH_TIMEOUT",
        "the kernel exceeded the time limit of this GPU, which drives a display",
    ),
];

/// All other errors of the driver.
const OTHER: &[(&str, &str)] = &[
    (
        "CUDA_ERROR_INVALID_VALUE",
        "an argument of the call is out of range: a grid, a block or the shared memory of a launch is larger than the \
         GPU allows, or a size is 0",
    ),
    (
        "CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES",
        "a block needs more registers or shared memory than the GPU has",
    ),
    (
        "CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE",
        "not all blocks of a cooperative launch fit on the GPU at once",
    ),
    (
        "CUDA_ERROR_OUT_OF_MEMORY",
        "the GPU's memory (or page-locked host memory) is exhausted",
    ),
    (
        "CUDA_ERROR_NO_DEVICE",
        "there is a driver, but no GPU that this process may use",
    ),
    (
        "CUDA_ERROR_INVALID_DEVICE",
        "there is a driver, but no GPU that this process may use",
    ),
    (
        "CUDA_ERROR_SYSTEM_DRIVER_MISMATCH",
        "the kernel module and the driver library have different versions",
    ),
    (
        "CUDA_ERROR_SYSTEM_NOT_READY",
        "the GPUs are not ready yet (a machine with NVSwitches needs its fabric manager)",
    ),
    (
        "CUDA_ERROR_INVALID_PTX",
        "the driver's compiler rejects the PTX",
    ),
    (
        "CUDA_ERROR_NO_BINARY_FOR_GPU",
        "the PTX is for another architecture than this GPU's",
    ),
    (
        "CUDA_ERROR_UNSUPPORTED_PTX_VERSION",
        "the PTX version is newer than the driver supports",
    ),
    (
        "CUDA_ERROR_JIT_COMPILER_NOT_FOUND",
        "the driver's PTX compiler (`libnvidia-ptxjitcompiler.so`) is not installed",
    ),
    (
        "CUDA_ERROR_ECC_UNCORRECTABLE",
        "the GPU's memory has an uncorrectable error: the hardware is defective",
    ),
    (
        "CUDA_ERROR_DEVICE_UNAVAILABLE",
        "another process uses the GPU exclusively",
    ),
    (
        "CUDA_ERROR_DEVICES_UNAVAILABLE",
        "another process uses the GPU exclusively",
    ),
];

/// What a driver error means for whoever tests a kernel.
pub fn meaning(name: &str) -> &'static str {
    KERNEL
        .iter()
        .chain(OTHER)
        .find(|(known, _)| *known == name)
        .map_or("the driver gives no further details", |(_, meaning)| {
            meaning
        })
}

fn quoted(log: &str) -> String {
    let lines: Vec<_> = log.lines().filter(|line| !line.trim().is_empty()).collect();
    lines.iter().map(|line| format!("\n  {line}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call(name: &str, sticky: bool) -> DeviceError {
        DeviceError::Call {
            name: name.to_owned(),
            call: "cuStreamSynchronize".to_owned(),
            at: At::Step(2),
            sticky,
        }
    }

    #[test]
    fn errors_name_themselves_their_place_and_their_meaning() {
        let error = call("CUDA_ERROR_ILLEGAL_ADDRESS", true);
        assert_eq!(
            error.to_string(),
            "CUDA_ERROR_ILLEGAL_ADDRESS in step 2 (cuStreamSynchronize): a thread accessed memory that belongs to no buffer"
        );
        assert!(error.is_sticky() && error.is_of_the_kernel());
        let error = call("CUDA_ERROR_INVALID_VALUE", false);
        assert!(!error.is_sticky() && !error.is_of_the_kernel());
        let error = call("CUDA_ERROR_FROM_THE_FUTURE", false);
        assert!(error.to_string().contains("no further details"));
    }

    #[test]
    fn the_compilers_log_is_shown() {
        let error = DeviceError::Jit {
            name: "CUDA_ERROR_INVALID_PTX".to_owned(),
            log: "ptxas application ptx input, line 7; error : Unknown symbol 'x'\n\n".to_owned(),
        };
        assert_eq!(
            error.to_string(),
            "CUDA_ERROR_INVALID_PTX: the driver's compiler rejects the PTX\n  ptxas application ptx input, line 7; error : Unknown symbol 'x'"
        );
    }

    #[test]
    fn comes_back_from_json_the_same() {
        for error in [
            call("CUDA_ERROR_ASSERT", true),
            DeviceError::NoEntry {
                step: 0,
                entry: "k".to_owned(),
            },
            DeviceError::BadJob {
                problem: "p".to_owned(),
            },
        ] {
            let text = serde_json::to_string(&error).unwrap();
            assert_eq!(serde_json::from_str::<DeviceError>(&text).unwrap(), error);
        }
    }
}
