//! # misaligned-access
//!
//! The address of an access is not a multiple of the access size.
//!
//! ## Example
//!
//! ```cpp
//! float4 v = *(float4 *)(data + 1);       // at byte 4; needs a multiple of 16
//! ```
//!
//! ```cpp
//! float4 v = *(float4 *)(data + 4);
//! ```
//!
//! ## Why it goes wrong
//!
//! The hardware stops the kernel with an error. A frequent cause is a dynamic shared buffer that is divided into arrays
//! of different types. A tensor copy needs a multiple of 128 bytes of shared memory, and an innermost coordinate that is a multiple of 16 bytes
//! (8 elements of type `half`): an H100 takes any other one for an illegal instruction.
//!
//! ## How to fix it
//!
//! Put the array with the largest alignment first, or round each offset up to the alignment of its type.
//!
//! ## Reference
//!
//! PTX ISA, "ld", "st": addresses must be aligned to a multiple of the access size; CUDA C++ Programming Guide, "Device
//! Memory Accesses".

use crate::NoChange;
use crate::help::Advice;
use crate::rule_text::{RuleText, SUMMARY};

pub(crate) const TEXT: RuleText = RuleText {
    title: |view| {
        let (access, bytes) = (view.access(), view.bytes());
        Some(format!(
            "{access} of {bytes} bytes at an address that is not a multiple of {bytes}"
        ))
    },
    help: |view| {
        Some(Advice::from(format!(
            "align the address at {} to a multiple of the access size",
            view.at(0)
        )))
    },
    no_change: NoChange::Layout,
    ..SUMMARY
};
