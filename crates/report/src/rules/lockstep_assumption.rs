//! # lockstep-assumption
//!
//! Lanes of one warp exchange data through `volatile` or relaxed memory without a warp-level synchronisation between the
//! write and the read.
//!
//! ## Example
//!
//! ```cpp
//! volatile int *v = s;
//! v[t] += v[t + 16];      // lane t + 16 may be ahead or behind
//! v[t] += v[t + 8];
//! ```
//!
//! Synchronise the warp after each read and each write:
//!
//! ```cpp
//! int sum = s[t];
//! sum += s[t + 16]; __syncwarp(); s[t] = sum; __syncwarp();
//! sum += s[t + 8];  __syncwarp(); s[t] = sum; __syncwarp();
//! ```
//!
//! Or exchange the values in registers: `sum += __shfl_down_sync(0xffffffff, sum, 16)`.
//!
//! ## Why it goes wrong
//!
//! The accesses are strong, so this is not a data race. But which value a lane reads is right only if the lanes run in
//! lockstep. Since Volta each lane has its own program counter, and lockstep is not guaranteed.
//!
//! It is a warning because today's compilers and devices often give the expected result. Try `--schedule lane-by-lane`
//! to see it fail.
//!
//! ## What is reported
//!
//! A strong load and a strong store to the same location by different lanes of one warp, neither of them an atomic
//! read-modify-write, with nothing that orders them.
//!
//! ## Limitations
//!
//! Loads whose value only decides a branch are not reported: this is how a thread waits for a flag.
//!
//! ## Reference
//!
//! CUDA C++ Programming Guide, "Independent Thread Scheduling" and "Synchronization Functions"; PTX ISA, "bar.warp.sync".

use crate::finding_view::FindingView;
use crate::help::{Advice, Wanted, barrier_advice, between, if_reached};
use crate::language::Word;
use crate::rule_text::{RuleText, SUMMARY};
use detect::finding::Detail;

pub(crate) const TEXT: RuleText = RuleText {
    title: |view| {
        Some(format!(
            "lanes of a warp exchange data through {} without synchronising",
            view.memory()
        ))
    },
    help,
    ..SUMMARY
};

fn help(view: &FindingView<'_>) -> Option<Advice> {
    let (later, earlier) = (view.guilty.first()?, view.guilty.get(1)?);
    let others = view.finding.detail == Detail::OtherWarps;
    let (wanted, word, why) = match others {
        true => (
            Wanted::Block,
            Word::BlockBarrier,
            ": other warps take part, too",
        ),
        false => (Wanted::Warp, Word::WarpBarrier, ""),
    };
    if let Ok(advice) = barrier_advice(view, earlier, later, wanted, why) {
        return Some(advice);
    }
    let reached = if_reached(later);
    if later.same_line(earlier) {
        let barrier = view.word(Word::WarpBarrier);
        let text = format!(
            "split {}: read into a register, call `{barrier}`{reached}, then write; or use one atomic operation",
            later.place()
        );
        return Some(Advice::from(text).missing(barrier));
    }
    let barrier = view.word(word);
    let text = format!("put `{barrier}` {}{reached}{why}", between(earlier, later));
    Some(Advice::from(text).missing(barrier))
}
