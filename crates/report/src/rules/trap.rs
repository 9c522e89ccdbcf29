//! # trap
//!
//! A thread executed `trap`. The launch stops there, as it does on a GPU, where the host then gets `cudaErrorLaunchFailure` or
//! `cudaErrorIllegalInstruction`. What was found before is reported, too.
//!
//! ## Example
//!
//! ```cpp
//! if (node == nullptr)
//!     __trap();               // a list that another thread has not linked yet
//! ```
//!
//! ```cpp
//! while (node == nullptr)
//!     node = ((Node *volatile *)&head)[0];
//! __threadfence();
//! ```
//!
//! ## What is reported
//!
//! The first thread that comes to the instruction. Compilers also put `trap` where code must not be reached (`__builtin_unreachable()`, the
//! end of a function that returns nothing), and libraries where they are misused: `grid.sync()` without a cooperative launch.
//!
//! ## Reference
//!
//! PTX ISA, "trap"; CUDA C++ Programming Guide, "Trap function".

use crate::NoChange;
use crate::help::Advice;
use crate::kernel_view::meets_grid;
use crate::rule_text::{RuleText, SUMMARY};

pub(crate) const TEXT: RuleText = RuleText {
    title: |_| Some("the kernel executed `trap`".to_owned()),
    help: |view| {
        let meets_grid = view.kernel.is_some_and(|kernel| meets_grid(kernel.program));
        let of_toolkit = view.guilty.first()?.toolkit_code();
        Some(Advice::from(match meets_grid && of_toolkit {
            true => "launch it with `cudaLaunchCooperativeKernel` (`--cooperative`): `grid.sync()` stops any other launch".to_owned(),
            false => format!(
                "see what leads to {}: the code or a library stops the launch there on purpose",
                view.at(0)
            ),
        }))
    },
    no_change: NoChange::Meaning,
    ..SUMMARY
};
