//! # divergent-barrier
//!
//! The threads of a block do not all reach the same barrier. Some wait at one `__syncthreads()` while others wait at
//! another one or have passed it; or only part of a warp reaches an aligned barrier.
//!
//! ## Example
//!
//! ```cpp
//! if (threadIdx.x < 128)
//!     __syncthreads();        // the other threads do not reach it
//! ```
//!
//! Move the barrier out of the condition:
//!
//! ```cpp
//! if (threadIdx.x < 128) {
//!     ...                     // no barrier in here
//! }
//! __syncthreads();
//! ```
//!
//! ## Why it goes wrong
//!
//! The behaviour is undefined. On current devices the kernel may hang. Or the hardware may pair up barriers that do not
//! belong together, and accesses that the barrier should order stay unordered.
//!
//! ## How to fix it
//!
//! Put the work under the condition, not the barrier. If a loop contains a barrier, let all threads run the same number
//! of iterations.
//!
//! ## What is reported
//!
//! Which threads wait, at which line, and where the others are: at another barrier, or past this one (at a point that
//! every path from the barrier leads through).
//!
//! Named barriers with a thread count are meant for a part of the block. For these, racetrap reports only warps that
//! arrive in parts.
//!
//! ## Limitations
//!
//! Only barriers that diverge with the given input are seen. If no thread can run any more, the finding is `deadlock`
//! instead.
//!
//! The optimiser may merge the end of `if (t >= n) { o[t] = 0; return; }` with the last lines of the kernel. The threads
//! that leave early then pass a point behind a barrier that they never reached, and look divergent. `check` compiles CUDA
//! source both optimised and unoptimised; it recognises this case and downgrades it to a `barrier-after-exit` warning.
//! With PTX alone it cannot tell.
//!
//! ## Reference
//!
//! PTX ISA, "bar, barrier"; CUDA C++ Programming Guide, "Synchronization Functions".

use crate::NoChange;
use crate::finding_view::{FindingView, Pair};
use crate::help::{Advice, edits, in_loop};
use crate::rule_text::{RuleText, SUMMARY};
use detect::finding::{Action, Detail};

pub(crate) const TEXT: RuleText = RuleText {
    title: |view| match view.threads(0) {
        0 => None,
        n => Some(format!(
            "{n} thread{} wait{} at a barrier that other threads of the block do not reach",
            if n == 1 { "" } else { "s" },
            if n == 1 { "s" } else { "" }
        )),
    },
    notes: |view| match &view.finding.detail {
        Detail::Text(text) => vec![text.clone()],
        _ => Vec::new(),
    },
    help: |view| Some(help(view)),
    ..SUMMARY
};

fn help(view: &FindingView<'_>) -> Advice {
    let Some(Pair {
        to: here,
        from: there,
        earlier: end,
        ..
    }) = view.pair()
    else {
        return "move the barrier out of the condition, so that all threads of the block reach it"
            .to_string()
            .into();
    };
    let moved = || edits::moved_barrier(here, there, end.action, view.defines());
    match end.action {
        Action::Wait => Advice::with(
            format!(
                "let all threads of the block reach one barrier: replace those at {} and {} by one outside the condition",
                here.place(),
                there.place()
            ),
            moved(),
        ),
        Action::Exit => Advice::with(
            format!(
                "let no thread exit at {} before the barrier at {}: put the work in a condition instead",
                there.place(),
                here.place()
            ),
            edits::joined_by_all(here, view.defines()),
        ),
        _ if let Some(edit) = moved() => Advice::with(
            format!(
                "move the barrier at {} out of the condition, so that all threads of the block reach it",
                here.place()
            ),
            Some(edit),
        ),
        // Who is to go round more often, or to wait for the others, is not in the code.
        _ if here.in_source && in_loop(&here.frames[0].file, here.frames[0].line) => Advice::explained(NoChange::Meaning, format!(
            "let all threads of the block execute the barrier at {} the same number of times: leave the surrounding loop together, and put the work, not the barrier, under the condition",
            here.place()
        )),
        _ => format!(
            "move the barrier at {} out of the condition, so that all threads of the block reach it",
            here.place()
        )
        .into(),
    }
}
