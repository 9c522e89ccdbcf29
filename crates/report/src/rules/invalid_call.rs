//! # invalid-call
//!
//! A thread calls a function that is not there: through a null pointer, through a pointer to something else, or a function that the PTX
//! declares without a body. Or it calls a function while the stack is full, which means recursion without an end. The launch stops there,
//! as it does on a GPU. What was found before is reported, too. The rule also covers `free` of an address that the device's `malloc`
//! did not return; there the launch goes on. And it covers a branch by an index (`brx.idx`, what compilers make of a `switch`) that its list of
//! labels does not have.
//!
//! ## Example
//!
//! ```cpp
//! __device__ Operation operations[2];                // set by one thread
//!
//! if (threadIdx.x == 0)
//!     operations[0] = twice;
//! data[threadIdx.x] = operations[threadIdx.x & 1](data[threadIdx.x]);    // operations[1] is null
//! ```
//!
//! ```cpp
//! Operation operation = operations[threadIdx.x & 1];
//! if (operation)
//!     data[threadIdx.x] = operation(data[threadIdx.x]);
//! ```
//!
//! ## What is reported
//!
//! The first thread that makes the call. Each thread has a stack of 512 KiB, the most that a GPU can give it; the default there is 1 KiB
//! (`cudaDeviceSetLimit(cudaLimitStackSize, …)`), so a deep recursion may fail on a GPU and run here.
//!
//! ## Limitations
//!
//! A pointer that holds the address of another function of the module, with other parameters, is followed without a word.
//!
//! ## Reference
//!
//! PTX ISA, "call" and "brx.idx"; CUDA C++ Programming Guide, "Function Pointers", "Dynamic Global Memory Allocation and Operations" and "Technical
//! Specifications per Compute Capability".

use crate::NoChange;
use crate::help::Advice;
use crate::rule_text::{RuleText, SUMMARY};
use detect::finding::Detail;
use simt::BadCall;

pub(crate) const TEXT: RuleText = RuleText {
    title: |view| {
        Some(match &view.finding.detail {
            Detail::Call(why) => why.to_string(),
            _ => "`free` of an address that `malloc` did not return".to_owned(),
        })
    },
    help: |view| {
        let at = view.at(0);
        Some(Advice::from(match &view.finding.detail {
            Detail::Call(BadCall::Null | BadCall::NoFunction(_)) => format!(
                "make sure that the pointer that {at} calls through is set on every path, to a function of this module"
            ),
            Detail::Call(BadCall::NoBody(name)) => format!(
                "compile the file that defines `{name}` together with this one (`racetrap check a.cu b.cu`, or `#include` it)"
            ),
            Detail::Call(BadCall::NoLabel(..)) => format!(
                "compare the index with the number of labels before {at}: what a larger one does is undefined"
            ),
            Detail::Call(BadCall::StackOverflow(_)) => format!(
                "check that the recursion at {at} ends for every input; or use a loop with a stack of its own"
            ),
            _ => format!("pass to `free` at {at} exactly what `malloc` returned"),
        }))
    },
    no_change: NoChange::Meaning,
    ..SUMMARY
};
