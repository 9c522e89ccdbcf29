//! # non-coherent-read
//!
//! A thread reads memory through the non-coherent read-only cache (`ld.global.nc`) after the same launch has written that
//! memory. The compiler emits such a load for `__ldg(p)`, and for a pointer that is `const` and `__restrict__`.
//!
//! ## Example
//!
//! ```cpp
//! __global__ void shift(int *data)
//! {
//!     data[threadIdx.x] = threadIdx.x;
//!     __syncthreads();
//!     int left = __ldg(&data[threadIdx.x ^ 1]);    // the value before the launch, or the one just written
//! ```
//!
//! An ordinary read is coherent:
//!
//! ```cpp
//!     int left = data[threadIdx.x ^ 1];
//! ```
//!
//! ## Why it goes wrong
//!
//! The cache is not kept coherent within a launch. The load may return the old value, even if the reading thread itself
//! wrote the new one. Barriers and fences do not help, because they order only ordinary accesses.
//!
//! ## How to fix it
//!
//! Read with an ordinary load, or write in one launch and read in the next. If two `__restrict__` parameters point to the
//! same buffer, the compiler makes such loads without being told: pass two buffers, or remove `__restrict__`.
//!
//! ## What is reported
//!
//! A non-coherent read of bytes that any block of this launch has stored to or updated atomically before.
//!
//! Reading what the host or an earlier launch wrote is fine. So is a read before the write, if something orders the two.
//! If nothing does, the finding is a `data-race`.
//!
//! ## Limitations
//!
//! Fetches from textures and reads of surfaces use the same kind of cache, and are watched in whole programs (`racetrap exec`).
//!
//! ## Reference
//!
//! PTX ISA, "ld.global.nc" (`.nc`: non-coherent), "ldu". CUDA C++ Programming Guide, "Read-Only Data Cache Load Function",
//! "Read/Write Coherency".

use crate::finding_view::FindingView;
use crate::help::{Advice, edits};
use crate::rule_text::{RuleText, SUMMARY};

pub(crate) const TEXT: RuleText = RuleText {
    title: |view| {
        Some(format!(
            "{} is read through the read-only cache after this launch has written it",
            view.memory()
        ))
    },
    help,
    ..SUMMARY
};

fn help(view: &FindingView<'_>) -> Option<Advice> {
    let read = view.guilty.first()?;
    let edit = edits::without_ldg(read, view.defines());
    let frame = &read.frames[0];
    let line = frame.file.line(frame.line).unwrap_or_default();
    let at = read.place();
    let text = match edit.is_some() || read.in_source && line.contains("__ldg") {
        true => format!(
            "read it without `__ldg` at {at}, or write it in an earlier launch; a barrier does not help"
        ),
        false => format!(
            "remove `const` or `__restrict__` from the pointer that {at} reads through, and any `__ldg`; or write the memory in an earlier launch; a barrier does not help"
        ),
    };
    Some(Advice::with(text, edit))
}
