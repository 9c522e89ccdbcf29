//! # uninitialized-read
//!
//! A thread reads bytes that nothing has written: shared memory at the start of a block, newly allocated device memory,
//! or a local variable or array.
//!
//! ## Example
//!
//! ```cpp
//! __shared__ int bins[256];
//! atomicAdd(&bins[data[i]], 1);           // adds to whatever was there
//! ```
//!
//! ```cpp
//! __shared__ int bins[256];
//! for (int b = threadIdx.x; b < 256; b += blockDim.x) bins[b] = 0;
//! __syncthreads();
//! atomicAdd(&bins[data[i]], 1);
//! ```
//!
//! ## Why it goes wrong
//!
//! The value is whatever was in memory before, and differs from run to run. A frequent cause is a block with fewer
//! threads than elements: in a block of 128, `if (t < 256) bins[t] = 0` leaves half of the bins uninitialised.
//!
//! ## What is reported
//!
//! The first read of an uninitialised byte. Validity is tracked for each byte. Memory that the host filled and module
//! variables are initialised.
//!
//! ## Limitations
//!
//! A byte written with a value that was computed from an uninitialised one counts as initialised: only the first read is
//! reported.
//!
//! The compiler may load in all threads what the source reads only in some, as in `n > 0 ? s[0] : 0`, and discard the
//! value in the others. Such a load is not reported.
//!
//! Copying a value is not reported. Structures are copied with their padding, and unoptimised code copies whole local
//! variables. So a thread may copy an element that is partly written, a single byte that follows written ones, and any
//! local variable. The rule therefore misses a forgotten byte or a forgotten local variable that is only copied
//! elsewhere.
//!
//! ## Reference
//!
//! PTX ISA, "Memory Consistency Model", "Initialization"; "State Spaces".

use crate::NoChange;
use crate::help::Advice;
use crate::language::Word;
use crate::rule_text::{RuleText, SUMMARY};
use simt::observer::Space;

pub(crate) const TEXT: RuleText = RuleText {
    title: |view| Some(format!("{} is read but was never written", view.memory())),
    help: |view| {
        let at = view.at(0);
        Some(Advice::from(match view.finding.place.map(|p| p.space) {
            Some(Space::Shared) => format!(
                "write it and call `{}` before {at}",
                view.word(Word::BlockBarrier)
            ),
            _ => format!("write it before {at}"),
        }))
    },
    no_change: NoChange::Meaning,
    ..SUMMARY
};
