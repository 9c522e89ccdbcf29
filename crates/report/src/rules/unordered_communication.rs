//! # unordered-communication
//!
//! One warp writes data with `volatile`, relaxed or atomic accesses, another one reads it in the same way, and nothing orders the two. It is
//! no data race, since both accesses are strong, but the reader may get the value from before the write.
//!
//! ## Example
//!
//! ```cpp
//! volatile int *v = s;            // shared by the block
//! v[t] = in[i];
//! out[i] = v[blockDim.x - 1 - t]; // may be of another warp, which may not have written yet
//! ```
//!
//! `volatile` makes the compiler access memory each time. It makes nobody wait:
//!
//! ```cpp
//! s[t] = in[i];
//! __syncthreads();
//! out[i] = s[blockDim.x - 1 - t];
//! ```
//!
//! The same holds for data that a flag or a lock protects if the fence is missing on one side. If there is one, and only its scope is too
//! narrow, the finding is `insufficient-scope`.
//!
//! ## Why it is a warning
//!
//! The value may be right in most runs, or the algorithm may be content with old values. It becomes an error as soon as two of the runs
//! that `racetrap check` tries leave different results.
//!
//! ## What is reported
//!
//! A strong load and a strong write of the same location by threads of different warps, with nothing that orders them, where the value
//! that was loaded goes on to memory, to an address or to the output. Two strong stores of different values to the same location, with
//! nothing that orders them: which one stays is not certain, not even for threads that hold a lock one after the other, if a fence of
//! the lock is missing. For lanes of one warp, see `lockstep-assumption`.
//!
//! ## What is not reported
//!
//! - A load whose value, or what is computed from it, decides a branch: a thread that polls a flag, that looks back for a value which says
//!   itself whether it is ready, or that re-checks a bound.
//! - A load whose value goes to a compare-and-swap, which finds out whether it was old.
//! - A load whose value goes into an atomic minimum, maximum, `and` or `or` only.
//! - A `volatile` load behind a flag or counter whose writer executed its fence, where only the reader's fence is missing: the
//!   programming guide's own example of a last block does so.
//! - A load between two strong loads that are compared with each other, as under a sequence lock.
//! - Two stores in a kernel that has a strong load whose value is tested: the stores may be made for it, as those of Peterson's algorithm,
//!   which tell whose turn it is.
//! - What an atomic read-modify-write returns, such as a ticket, and what it overwrites.
//!
//! ## Limitations
//!
//! A value that is tested for another reason, or copied through an array of the thread's own and tested, hides the missing order.
//! Other optimistic reads that are thrown away later are reported.
//!
//! ## Reference
//!
//! PTX ISA, "Memory Consistency Model": "Morally strong operations", "Causality Order"; CUDA C++ Programming Guide, "Memory Fence
//! Functions" and "volatile Qualifier".

use crate::NoChange;
use crate::finding_view::{FindingView, Pair};
use crate::help::{
    Advice, Unplaced, Wanted, apart, barrier_advice, between, if_reached, message, roles,
};
use crate::language::Word;
use crate::rule_text::{RuleText, SUMMARY};
use detect::finding::Action;
use simt::observer::Space;

pub(crate) const TEXT: RuleText = RuleText {
    title: |view| {
        let ends = &view.finding.ends;
        let memory = view.memory();
        Some(match ends.iter().all(|end| end.action == Action::Write) {
            true => format!("warps overwrite {memory} in no certain order"),
            false => format!("warps exchange data through {memory} in no certain order"),
        })
    },
    help,
    ..SUMMARY
};

/// What orders data that passes between warps through strong accesses.
fn help(view: &FindingView<'_>) -> Option<Advice> {
    let pair = view.pair()?;
    let Pair {
        earlier,
        later,
        from: a,
        to: b,
    } = pair;
    let fence = view.word(pair.fence());
    if later.action == Action::Write && earlier.action == Action::Write {
        return Some(Advice::explained(
            NoChange::Meaning,
            format!(
                "let one thread write it; or write under a lock: call `{fence}` after it is taken, before the write at {}, and after the write at {}, before it is released",
                b.place(),
                a.place()
            ),
        ));
    }
    let shared = view.finding.place?.space == Space::Shared;
    if shared || view.kernel.is_some_and(|kernel| kernel.grid.count() == 1) {
        let why = "; `volatile` and relaxed accesses order nothing";
        let unplaced = match barrier_advice(view, a, b, Wanted::Block, why) {
            Ok(advice) => return Some(advice),
            Err(unplaced) => unplaced,
        };
        if let Some(text) = roles::advice(view) {
            return Some(Advice::explained(NoChange::Protocol, text));
        }
        if let Unplaced::Apart(condition) = unplaced {
            return Some((apart(a, b, condition) + why).into());
        }
        let barrier = view.word(Word::BlockBarrier);
        let text = match a.same_line(b) {
            true => format!(
                "split {}: read into a register, call `{barrier}`, then write, and call `{barrier}` again before the next read{}{why}",
                a.place(),
                if_reached(a)
            ),
            false => format!("put `{barrier}` {}{}{why}", between(a, b), if_reached(a)),
        };
        return Some(Advice::from(text).missing(barrier));
    }
    let (write, read) = match later.action {
        Action::Read => (a, b),
        _ => (b, a),
    };
    if let Some(message) = message::complete(view, write, read, pair.fence()) {
        return Some(Advice::with(
            format!(
                "complete the message between the threads: put {}",
                message.words
            ),
            Some(message.edit),
        ));
    }
    Some(format!(
        "order the two with a flag or a lock: call `{fence}` after the write at {} before the flag is set, and after the flag is seen before the read at {}; or use `cuda::atomic_ref` with release and acquire",
        write.place(),
        read.place()
    ).into())
}
