//! # deadlock
//!
//! Every remaining thread waits for something that can no longer happen: a barrier that other threads will never reach,
//! a phase of an mbarrier (`cuda::barrier`, `cuda::pipeline`) in which too few arrive, or a warp operation whose mask names lanes that wait elsewhere.
//!
//! ## Example
//!
//! ```cpp
//! if (threadIdx.x % 2)
//!     barrier_a.sync();       // bar.sync 1
//! else
//!     barrier_b.sync();       // bar.sync 2: each half waits for all threads
//! ```
//!
//! ## How to fix it
//!
//! Let all threads reach the same barrier, or give each barrier the number of threads that reach it. Initialise an mbarrier with the number of
//! arrivals of a phase, expect as many bytes as its copies bring, and wait for the phase that the arrivals are of.
//!
//! ## What is reported
//!
//! Every waiting group of threads and the line where it waits; of an mbarrier the expected and the actual arrivals, and the bytes that have not
//! come.
//!
//! A thread that spins on a memory location is still running. That is `no-progress`. So is one that polls an mbarrier in a loop that may end
//! otherwise, by a count or a clock.
//!
//! ## Reference
//!
//! PTX ISA, "bar, barrier", "exit", "mbarrier.test_wait / mbarrier.try_wait".

use crate::NoChange;
use crate::finding_view::FindingView;
use crate::help::Advice;
use crate::memory::MemoryNames;
use crate::rule_text::{RuleText, SUMMARY};
use crate::terminal::counted;
use detect::finding::{Detail, Place};
use simt::PhaseWait;

pub(crate) const TEXT: RuleText = RuleText {
    title: |view| Some(title(phases(view)?, view.finding.ends.len())),
    notes: |view| {
        let all = phases(view).into_iter().flatten();
        all.map(|phase| note(phase, view.finding.place.as_ref(), view.names))
            .collect()
    },
    help,
    ..SUMMARY
};

/// The phases of mbarriers that threads wait for, where they wait for such.
fn phases<'a>(view: &FindingView<'a>) -> Option<&'a [PhaseWait]> {
    match &view.finding.detail {
        Detail::Phases(phases) => Some(phases),
        _ => None,
    }
}

fn help(view: &FindingView<'_>) -> Option<Advice> {
    let at = view.at(0);
    if let Some(phases) = phases(view) {
        return Some(Advice::explained(
            NoChange::Protocol,
            completing(phases, &at),
        ));
    }
    let instruction = &view.guilty.first()?.instruction;
    if instruction.contains("wgmma.wait_group") {
        let text = format!(
            "let all four warps of the warpgroup execute the same `wgmma` instructions: {at} waits for a product that one of them never begins"
        );
        return Some(Advice::explained(NoChange::Protocol, text));
    }
    let text = format!(
        "{at} waits for threads that are themselves waiting: let all threads take part in the barrier, or move it out of the condition"
    );
    Some(match is_of_block(instruction) {
        true => Advice::from(text),
        false => Advice::explained(NoChange::Protocol, text),
    })
}

/// Whether an instruction is the barrier of a whole block, `__syncthreads()`.
fn is_of_block(instruction: &str) -> bool {
    let code = instruction.trim().trim_end_matches(';');
    let words: Vec<&str> = code.split_whitespace().collect();
    matches!(words[..], [name, "0"] if name.contains("bar"))
}

/// The title of a deadlock in which threads wait for these.
fn title(phases: &[PhaseWait], places: usize) -> String {
    match phases {
        [only] if places <= 1 => format!(
            "{} for a phase of an mbarrier that can't complete: {}",
            match only.threads {
                1 => "1 thread waits".to_string(),
                n => format!("{n} threads wait"),
            },
            missing(only)
        ),
        _ => {
            "every remaining thread waits, some for phases of mbarriers that can't complete".into()
        }
    }
}

/// What a phase lacks.
fn missing(wait: &PhaseWait) -> String {
    let state = &wait.state;
    let arrived = state.expected.saturating_sub(state.pending);
    let arrivals = format!(
        "{arrived} of {} have arrived",
        counted(u64::from(state.expected), "expected arrival")
    );
    match state.bytes {
        0 => arrivals,
        n if n > 0 => {
            let bytes = counted(n as u64, "expected byte");
            match state.pending {
                0 => format!("{bytes} have not come"),
                _ => format!("{arrivals}, and {bytes} have not come"),
            }
        }
        n => format!(
            "{arrivals}, and {} more than expected have come",
            counted(u64::from(n.unsigned_abs()), "byte")
        ),
    }
}

/// What one of the phases lacks.
fn note(wait: &PhaseWait, place: Option<&Place>, names: Option<&MemoryNames>) -> String {
    let object = match (place, names) {
        (Some(place), Some(names)) => names.describe(&Place {
            address: wait.object,
            ..*place
        }),
        _ => format!("the mbarrier at byte {:#x} of shared memory", wait.object),
    };
    format!(
        "{} for the phase of parity {} of {object}: {}",
        match wait.threads {
            1 => "1 thread waits".to_string(),
            n => format!("{n} threads wait"),
        },
        u8::from(wait.parity),
        missing(wait)
    )
}

/// What a phase of an mbarrier needs that can't complete.
fn completing(phases: &[PhaseWait], at: &str) -> String {
    let Some(first) = phases.first() else {
        return String::new();
    };
    let state = &first.state;
    let arrived = state.expected.saturating_sub(state.pending);
    match (state.pending, state.bytes) {
        (0, bytes) if bytes > 0 => format!(
            "expect as many bytes as the copies bring that complete at the mbarrier of {at}: {bytes} fewer"
        ),
        (0, bytes) => format!(
            "expect as many bytes as the copies bring that complete at the mbarrier of {at}: {} more",
            bytes.unsigned_abs()
        ),
        (pending, _) if state.parity != first.parity => format!(
            "check the parity that {at} waits for: the mbarrier's current phase has parity {}, and {pending} arrivals are pending",
            u8::from(state.parity)
        ),
        (pending, _) if arrived > 0 => format!(
            "let {pending} more arrive at the mbarrier that {at} waits for, or initialise it with the number of arrivals of a phase ({arrived} came)"
        ),
        _ => format!(
            "let somebody arrive at the mbarrier that {at} waits for: the phase has begun, and nobody has; if the phase before it is meant, wait for the other parity"
        ),
    }
}
