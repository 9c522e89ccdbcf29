//! What can go wrong on the GPU's side of a job, by the driver's own names.
//!
//! The names and what they stand for are those of the CUDA driver API's `CUresult`; what they mean for a kernel under
//! test is said in [`meaning`].

use serde::{Deserialize, Serialize};
use std::fmt;

/// Why a job was not done.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[serde(rename_all = "kebab-case")]
pub enum DeviceError {
    /// A job that makes no sense. Nothing of it was done.
    #[error("the job makes no sense: {problem}")]
    BadJob {
        /// What is wrong with it.
        problem: String,
    },
    /// A driver, but no GPU that this process may use.
    #[error("{name}: {}", meaning(name))]
    NoDevice {
        /// `CUDA_ERROR_NO_DEVICE`, or why the driver could not start.
        name: String,
    },
    /// PTX of a version that is newer than the driver.
    #[error("{name}: this is PTX version {version}, which the driver {driver} is too old for")]
    OldDriver {
        /// `CUDA_ERROR_UNSUPPORTED_PTX_VERSION`.
        name: String,
        /// The PTX's `.version`.
        version: String,
        /// The driver's.
        driver: String,
    },
    /// PTX that the driver's compiler does not take.
    #[error("{name}: {}{}", meaning(name), quoted(log))]
    Jit {
        /// `CUDA_ERROR_INVALID_PTX`, for instance.
        name: String,
        /// What the compiler says.
        log: String,
    },
    /// A kernel that the PTX does not have.
    #[error("step {step}: the PTX has no kernel `{entry}`")]
    NoEntry {
        /// The step that launches it, from 0.
        step: usize,
        /// Its name.
        entry: String,
    },
    /// A variable that the PTX does not have, or that is too short.
    #[error("the PTX has no variable `{symbol}` of {bytes} bytes or more")]
    NoVariable {
        /// Its name.
        symbol: String,
        /// The bytes asked for.
        bytes: u64,
    },
    /// A call of the driver that failed.
    #[error("{name} {at} ({call}): {}", meaning(name))]
    Call {
        /// `CUDA_ERROR_ILLEGAL_ADDRESS`, for instance.
        name: String,
        /// The call that reported it: `cuStreamSynchronize`.
        call: String,
        /// Where in the job.
        at: At,
        /// Whether the GPU can do nothing more for this process.
        sticky: bool,
    },
}

/// A place in a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum At {
    /// Before any of it.
    Start,
    /// A buffer is made, by its index.
    Buffer(usize),
    /// A piece of host memory is made, by its index.
    Host(usize),
    /// Reading the PTX.
    Ptx,
    /// In this step, by its index.
    Step(usize),
    /// In this step or, what runs on several streams being reported late, in an earlier one.
    UpTo(usize),
    /// A buffer is read at the end, by its index.
    Read(usize),
}

impl fmt::Display for At {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            At::Start => write!(f, "before the job"),
            At::Buffer(index) => write!(f, "making buffer {index}"),
            At::Host(index) => write!(f, "making host memory {index}"),
            At::Ptx => write!(f, "reading the PTX"),
            At::Step(index) => write!(f, "in step {index}"),
            At::UpTo(index) => write!(f, "in step {index} or an earlier one"),
            At::Read(index) => write!(f, "reading buffer {index}"),
        }
    }
}

impl DeviceError {
    /// The driver's name of it, where it has one.
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

    /// Whether the process that met it can do no further job.
    pub fn is_sticky(&self) -> bool {
        matches!(self, DeviceError::Call { sticky: true, .. })
    }

    /// Whether it is the kernel that went wrong: it was running, or it can't be launched like this.
    pub fn is_of_the_kernel(&self) -> bool {
        match self {
            DeviceError::Call { name, .. } => KERNEL.iter().any(|(kernel, _)| kernel == name),
            _ => false,
        }
    }
}

/// What a running kernel can do, in what it means for somebody who tests it.
const KERNEL: &[(&str, &str)] = &[
    (
        "CUDA_ERROR_ILLEGAL_ADDRESS",
        "a thread accessed memory that belongs to no buffer",
    ),
    (
        "CUDA_ERROR_MISALIGNED_ADDRESS",
        "a thread accessed memory at an address that is no multiple of the access's size",
    ),
    (
        "CUDA_ERROR_INVALID_ADDRESS_SPACE",
        "a thread accessed memory of another state space than the instruction is for",
    ),
    ("CUDA_ERROR_ASSERT", "an `assert` of the kernel failed"),
    (
        "CUDA_ERROR_ILLEGAL_INSTRUCTION",
        "a thread came to an instruction that the GPU does not have, or to a `__trap()`",
    ),
    (
        "CUDA_ERROR_HARDWARE_STACK_ERROR",
        "a thread's stack overflowed or was overwritten",
    ),
    (
        "CUDA_ERROR_INVALID_PC",
        "a thread jumped to where there is no code",
    ),
    (
        "CUDA_ERROR_LAUNCH_FAILED",
        "the kernel was ended by an exception, such as shared memory accessed out of bounds",
    ),
    (
        "CUDA_ERROR_LAUNCH_TIMEOUT",
        "the kernel ran longer than this GPU lets kernels run (it has a display)",
    ),
];

/// What else the driver can say.
const OTHER: &[(&str, &str)] = &[
    (
        "CUDA_ERROR_INVALID_VALUE",
        "an argument of the call is out of range: a grid, a block or the shared memory of a launch is larger than the \
         GPU allows, or a size is 0",
    ),
    (
        "CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES",
        "a block needs more registers or shared memory than there are",
    ),
    (
        "CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE",
        "not all blocks of a cooperative launch fit on the GPU at once",
    ),
    (
        "CUDA_ERROR_OUT_OF_MEMORY",
        "the GPU's memory (or page-locked host memory) is used up",
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
        "the kernel module and the driver's library are of different versions",
    ),
    (
        "CUDA_ERROR_SYSTEM_NOT_READY",
        "the GPUs are not ready yet (a machine with NVSwitches needs its fabric manager)",
    ),
    (
        "CUDA_ERROR_INVALID_PTX",
        "the driver's compiler does not take the PTX",
    ),
    (
        "CUDA_ERROR_NO_BINARY_FOR_GPU",
        "the PTX is for another architecture than this GPU's",
    ),
    (
        "CUDA_ERROR_UNSUPPORTED_PTX_VERSION",
        "the PTX is of a newer version than the driver",
    ),
    (
        "CUDA_ERROR_JIT_COMPILER_NOT_FOUND",
        "the driver's PTX compiler (`libnvidia-ptxjitcompiler.so`) is not installed",
    ),
    (
        "CUDA_ERROR_ECC_UNCORRECTABLE",
        "the GPU's memory has an error that it can't correct: the hardware is broken",
    ),
    (
        "CUDA_ERROR_DEVICE_UNAVAILABLE",
        "another process has the GPU for itself",
    ),
    (
        "CUDA_ERROR_DEVICES_UNAVAILABLE",
        "another process has the GPU for itself",
    ),
];

/// What an error of the driver means for somebody who tests a kernel.
pub fn meaning(name: &str) -> &'static str {
    KERNEL
        .iter()
        .chain(OTHER)
        .find(|(known, _)| *known == name)
        .map_or("the driver says no more", |(_, meaning)| meaning)
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
        assert!(error.to_string().contains("says no more"));
    }

    #[test]
    fn the_compilers_log_is_shown() {
        let error = DeviceError::Jit {
            name: "CUDA_ERROR_INVALID_PTX".to_owned(),
            log: "ptxas application ptx input, line 7; error : Unknown symbol 'x'\n\n".to_owned(),
        };
        assert_eq!(
            error.to_string(),
            "CUDA_ERROR_INVALID_PTX: the driver's compiler does not take the PTX\n  ptxas application ptx input, line 7; error : Unknown symbol 'x'"
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
