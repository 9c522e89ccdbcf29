//! # data-race
//!
//! Two threads access the same byte of memory, at least one of them writes it, and nothing orders the two accesses. At
//! least one of the two is an ordinary (*weak*) access, or the accesses overlap only in part.
//!
//! ## Example
//!
//! ```cpp
//! __shared__ int s[256];
//! s[threadIdx.x] = in[i];
//! out[i] = s[255 - threadIdx.x];      // another thread may not have written yet
//! ```
//!
//! Put a barrier between the write and the read:
//!
//! ```cpp
//! s[threadIdx.x] = in[i];
//! __syncthreads();
//! out[i] = s[255 - threadIdx.x];
//! ```
//!
//! ## Why it goes wrong
//!
//! The value that is read, or left in memory, depends on timing. The compiler may also assume that no race exists, and
//! keep the value in a register or reorder the accesses. A race that gives the right result today may fail with another
//! compiler, device or input.
//!
//! ## How to fix it
//!
//! Order the two accesses:
//!
//! - Within a block: `__syncthreads()`. A loop needs two barriers if a thread overwrites what another thread reads in
//!   the same step: one after the writes and one after the reads.
//! - Within a warp: `__syncwarp()`. The lanes of a warp do not run in lockstep.
//! - Between blocks: end the kernel and launch a second one on the same stream, or synchronise the grid.
//! - With a flag or counter: one thread releases it (`__threadfence()` before an atomic operation, or
//!   `cuda::atomic_ref` with `memory_order_release`) and the other acquires it.
//! - Or make both accesses atomic.
//!
//! ## What orders two accesses
//!
//! - Program order, for two accesses of one thread.
//! - A block barrier in any of its forms, for the threads that take part in it. A thread that has exited takes part in
//!   no later barrier: its last writes stay unordered.
//! - `__syncwarp`, for the lanes in its mask.
//! - Release and acquire patterns of sufficient scope, and what follows from them by causality.
//! - A read-modify-write operation comes after the one whose value it read.
//! - The start and the end of a launch.
//! - Between launches, copies and the host: streams, events that a stream or the host waits for, and
//!   `cudaStreamSynchronize`.
//!
//! The following order nothing:
//!
//! - `__shfl_sync`, `__ballot_sync` and the other warp operations that exchange values do not order memory.
//! - Two lanes that write the same byte in one instruction race. If nothing reads it unordered and all of them write one value, the
//!   rule is `same-value-write`, a warning.
//! - Different streams are not ordered with each other.
//! - An asynchronous copy has only started when its call returns. If the host reads the destination or overwrites the
//!   source before it has waited, it races with the copy. Copies and the host count as ordinary accesses.
//!
//! ## Limitations
//!
//! The memory model decides, not the outcome of the run: a race is reported even if all values came out right. But a run
//! shows only the races on the paths that it takes with its input.
//!
//! After the first race on a location, further races on the same location may be missed, or be reported with another of
//! their accesses.
//!
//! The compiler may load in all threads what the source reads only in some, as in `t < 32 ? s[0] : 0`, and discard the
//! value in the others. Such a load counts as a read only by the threads that use the value.
//!
//! Asynchronous copies are not watched.
//!
//! ## Reference
//!
//! PTX ISA, "Memory Consistency Model": "Conflict and Data-races", "Causality Order", "Release and Acquire Patterns"; CUDA C++
//! Programming Guide, "Streams", "Events", "Concurrent Data Transfers".

use crate::finding_view::{FindingView, Pair, noun};
use crate::help::{
    Advice, CLUSTER_BARRIER, Guilty, Unplaced, Wanted, apart, barrier, barrier_advice, between,
    copy_wait, edits, if_reached, in_loop, message, or_of_warp, roles, update,
};
use crate::language::{Language, Word};
use crate::own_line::own_line;
use crate::rule_text::{RuleText, SUMMARY};
use crate::{KernelView, NoChange};
use detect::finding::{Action, Detail, End};
use simt::observer::Space;

pub(crate) const TEXT: RuleText = RuleText {
    title: |view| Some(title(view)),
    mitigated: |view| {
        seeds_swap(view).then_some(
            "the value read is only what a compare-and-swap begins with, and that finds out whether it is old; by the memory model the plain \
             read is a race all the same",
        )
    },
    help,
    ..SUMMARY
};

fn title(view: &FindingView<'_>) -> String {
    let memory = view.memory();
    let [later, earlier, ..] = &view.finding.ends[..] else {
        return format!("unordered accesses to {memory}");
    };
    let (a, b) = (noun(earlier.action), noun(later.action));
    match (differ_in_size(view), a == b) {
        (true, true) => format!("two {a}s of different sizes overlap at {memory}"),
        (true, false) => format!("{a} and {b} of different sizes overlap at {memory}"),
        (false, true) => format!("two unordered {a}s of {memory}"),
        (false, false) => format!("unordered {a} and {b} of {memory}"),
    }
}

/// Whether the read is one whose value is only what a compare-and-swap begins with.
fn seeds_swap(view: &FindingView<'_>) -> bool {
    let atomic = |end: &End| end.action == Action::Atomic;
    let seeds = |end: &End| {
        let site = view
            .kernel
            .and_then(|kernel| kernel.sites.get(end.site.0 as usize));
        end.action == Action::Read && site.is_some_and(|site| site.seeds_swap)
    };
    let ends = &view.finding.ends;
    ends.iter().any(seeds) && ends.iter().all(|end| atomic(end) || seeds(end))
}

fn help(view: &FindingView<'_>) -> Option<Advice> {
    let pair = view.pair()?;
    let Pair {
        earlier,
        later,
        from: a,
        to: b,
    } = pair;
    let place = view.finding.place?;
    let same_line = a.same_line(b);
    if place.space == Space::Shared && earlier.block != later.block {
        // An update of another block's memory wants an atomic operation, as one of its own does.
        let update = update::advice(view);
        return update.or_else(|| Some(of_cluster(view, a, b)));
    }
    if let Some(mask) = edits::active_mask(a, b, view.defines())
        && (earlier.block, earlier.thread.warp()) == (later.block, later.thread.warp())
    {
        return Some(format!(
            "line {mask} takes the mask from `__activemask()`, which names the lanes that happen to run there together, not all that come: compute it before the branch with `__ballot_sync` over a known mask, or let `__match_any_sync` say which lanes hold the same element"
        ).into());
    }
    if let Some(plain) = half_atomic(earlier, later) {
        let end = if plain { b } else { a };
        let place = end.place();
        if seeds_swap(view) {
            return Some(format!(
                "read it with an atomic operation at {place}: `cuda::atomic_ref(x).load(cuda::memory_order_relaxed)`, or through a `volatile` pointer"
            ).into());
        }
        if earlier.block == later.block
            && let Ok(mut advice) = barrier_advice(view, a, b, wanted(view, &pair), "")
        {
            advice.text += &format!(
                ": {place} is a plain access, and the other one is atomic, which orders nothing"
            );
            return Some(advice);
        }
        let (plain_end, atomic_end) = if plain {
            (later, earlier)
        } else {
            (earlier, later)
        };
        if plain_end.action == Action::Write {
            let one = if plain { b } else { a };
            // A lock or flag that is written plainly; a sum that one block zeroes is not mended by an atomic.
            return Some(
                match view.kernel.is_some_and(|kernel| sets(kernel, atomic_end)) {
                    true => Advice::with(
                        format!(
                            "{place} is a plain write, but the other access is atomic: write it with `atomicExch(&…, …)`"
                        ),
                        edits::atomic_store(one, view.defines()),
                    ),
                    false if earlier.block != later.block => Advice::explained(
                        NoChange::Host,
                        format!(
                            "set it before the launch (`cudaMemset`), or in a launch before: {place} writes it while other blocks update it, and nothing orders the blocks of a launch"
                        ),
                    ),
                    false => format!(
                        "set it before all updates: {place} writes it while other threads update it"
                    )
                    .into(),
                },
            );
        }
        return Some(
            format!("{place} is a plain access, but the other one is atomic: make it atomic too")
                .into(),
        );
    }
    if differ_in_size(view) {
        let lines = match same_line {
            true => format!("let {}", a.place()),
            false => format!("let both {} and {}", a.place(), b.place()),
        };
        return Some(Advice::explained(
            NoChange::Layout,
            format!(
                "two accesses are atomic to each other only if they cover the same bytes: {lines} use the same type for this memory, or give each type its own memory"
            ),
        ));
    }
    let writes = [earlier, later].iter().all(|e| e.action == Action::Write);
    if let Some(advice) = half_strong(view, &pair) {
        return Some(advice);
    }
    if let Some(advice) = update::advice(view) {
        return Some(advice);
    }
    if let Some(advice) = fence_after_poll(view) {
        return Some(advice);
    }
    if earlier.block != later.block {
        let (write, read) = match earlier.action {
            Action::Write => (a, b),
            _ => (b, a),
        };
        if !writes && let Some(message) = message::complete(view, write, read, Word::DeviceFence) {
            return Some(Advice::with(
                format!(
                    "complete the message between the blocks: put {}",
                    message.words
                ),
                Some(message.edit),
            ));
        }
        let (why, text) = if same_line && writes {
            (
                NoChange::Meaning,
                format!(
                    "give each block its own element at {}, or let only one block write it",
                    a.place()
                ),
            )
        } else if same_line {
            (
                NoChange::Launches,
                format!(
                    "the blocks of a launch run in any order: let {} read one buffer and write another",
                    a.place()
                ),
            )
        } else {
            (
                NoChange::Launches,
                format!(
                    "the blocks of a launch run in any order: split the kernel into two launches {}; or pass the data with an atomic flag, calling `{}` before setting the flag and after seeing it set",
                    between(a, b),
                    view.word(Word::DeviceFence)
                ),
            )
        };
        return Some(Advice::explained(why, text));
    }
    if same_line && writes && !update::combines_places(view) {
        return Some(Advice::explained(
            NoChange::Meaning,
            format!(
                "let only one thread write it, or give each thread its own element at {}",
                a.place()
            ),
        ));
    }
    if place.space == Space::Global && view.kernel.is_some_and(|kernel| kernel.grid.count() > 1) {
        return Some(of_blocks(view, a, b));
    }
    let reason = match a.library && b.library && place.space == Space::Shared {
        true => {
            let storage = view.kernel.and_then(|kernel| kernel.memory.region(&place));
            let storage = storage.map_or("one temporary storage".to_owned(), |r| {
                format!("`{}`", r.name)
            });
            format!(
                ": both use {storage}, which a library's function may be given again only behind a barrier"
            )
        }
        false => String::new(),
    };
    if let Some(advice) = of_copy(view, a, b) {
        let roles = roles::advice(view).map(|text| Advice::explained(NoChange::Protocol, text));
        return Some(roles.unwrap_or_else(|| {
            // With the wait it is right whichever comes first.
            let (copy, other) = if is_copy(a) { (a, b) } else { (b, a) };
            let edit = copy_wait::before_barrier(view, copy, other, copy_wait::GROUPS);
            // Of a function that copies, it is not known for which call a change would be.
            let known = copy.frames.len() == 1 && !copy.instruction.contains("bulk");
            Advice {
                change: edit.filter(|_| known).ok_or(None),
                ..advice
            }
        }));
    }
    let unplaced = match barrier_advice(view, a, b, wanted(view, &pair), &reason) {
        Ok(advice) => return Some(advice),
        Err(unplaced) => unplaced,
    };
    if let Some(text) = roles::advice(view) {
        return Some(Advice::explained(NoChange::Protocol, text));
    }
    if let Unplaced::Apart(condition) = unplaced {
        return Some(apart(a, b, condition).into());
    }
    let word = match wanted(view, &pair) {
        Wanted::Either => Word::WarpBarrier,
        _ => Word::BlockBarrier,
    };
    let name = view.word(word);
    let or_of_warp = match wanted(view, &pair) {
        Wanted::BlockOrWarp => or_of_warp(view),
        _ => String::new(),
    };
    let barrier = format!("`{name}`{or_of_warp}");
    if reason.is_empty() && same_line && a.frames.len() == 1 && b.frames.len() == 1 {
        return Some(Advice::from(format!(
            "split {}: read into a register, put {barrier} after the read, then write, and put another barrier before the next read{}",
            a.place(),
            if_reached(a)
        )).missing(name));
    }
    Some(
        Advice::from(format!(
            "put {barrier} {}{}{reason}",
            between(a, b),
            if_reached(a)
        ))
        .missing(name),
    )
}

/// A flag that is written plainly, and read with an access that is not.
fn half_strong(view: &FindingView<'_>, pair: &Pair<'_>) -> Option<Advice> {
    let Pair {
        earlier,
        later,
        from: a,
        to: b,
    } = *pair;
    let strong = |end: &End| end.order.is_some_and(|(order, _)| order.is_strong());
    let (write, read) = match (earlier.action, later.action) {
        (Action::Write, Action::Read) => ((earlier, a), later),
        (Action::Read, Action::Write) => ((later, b), earlier),
        _ => return None,
    };
    let (end, one) = write;
    if strong(end) || !strong(read) || earlier.block == later.block {
        return None;
    }
    Some(Advice::with(
        format!(
            "{} is a plain write, but others wait for it: write it with `atomicExch(&…, …)`, or through a `volatile` pointer",
            one.place()
        ),
        edits::atomic_store(one, view.defines()),
    ))
}

/// What orders accesses of different blocks to the shared memory of one of them.
fn of_cluster(view: &FindingView<'_>, a: &Guilty, b: &Guilty) -> Advice {
    const BARRIER: &str = CLUSTER_BARRIER;
    let copies = |one: &Guilty| one.instruction.contains(".async");
    match a.same_line(b) {
        _ if copies(a) || copies(b) => {
            let (copy, other) = if copies(a) { (a, b) } else { (b, a) };
            Advice::explained(NoChange::Protocol, format!(
                "let the thread at {} wait for the phase of its mbarrier in which the copy at {} completes; or let that copy begin behind {BARRIER} if it is the one that comes later",
                other.place(),
                copy.place()
            ))
        }
        true => format!(
            "split {}: read into a register, let all threads of the cluster call {BARRIER}, then write",
            a.place()
        )
        .into(),
        false => {
            let placed = barrier::place(a, b, Wanted::Cluster, view.defines()).ok();
            let place = placed.as_ref().map_or_else(|| between(a, b), |p| p.place.clone());
            Advice::with(
                format!(
                    "let all threads of the cluster call {BARRIER} {place}; a barrier of the block does not wait for other blocks"
                ),
                placed.map(|p| p.edit),
            )
        }
    }
}

fn is_copy(one: &Guilty) -> bool {
    one.instruction.contains("cp.async")
}

/// What orders an access of other threads and an asynchronous copy: a barrier does it only behind the wait for the copy, or before it begins.
fn of_copy(view: &FindingView<'_>, a: &Guilty, b: &Guilty) -> Option<Advice> {
    // A copy that stands before the access, and in no loop, is meant to be first: another thread was ahead of it. Who calls a function is not looked at.
    let (copy, access) = (&b.frames[0], &a.frames[0]);
    let stands_first = b.frames.len() == 1
        && copy.file.path == access.file.path
        && copy.line < access.line
        && !in_loop(&copy.file, copy.line);
    let (a, b) = match is_copy(b) && !is_copy(a) && stands_first && b.in_source {
        true => (b, a),
        false => (a, b),
    };
    let (first, second) = outer(a, b);
    let barrier = view.word(Word::BlockBarrier);
    match (is_copy(a), is_copy(b)) {
        (true, false) => Some(
            Advice::from(format!(
                "let the threads that copy at {first} wait for their copies and then call `{barrier}` with the others, before {second}; or let {second} wait for the mbarrier at which the copies complete"
            ))
            .missing(barrier),
        ),
        (false, true) => Some(Advice::from(format!(
            "let the copy at {second} begin only behind a barrier that comes after {first}"
        ))),
        _ => None,
    }
}

/// Two places by the lines that a reader can change: of calls that were inlined, the outermost that differ.
fn outer(a: &Guilty, b: &Guilty) -> (String, String) {
    let mut pairs = a.frames.iter().rev().zip(b.frames.iter().rev());
    match pairs.find(|(a, b)| (&a.file.path, a.line) != (&b.file.path, b.line)) {
        Some((a, b)) if a.file.path == b.file.path => {
            (format!("line {}", a.line), format!("line {}", b.line))
        }
        _ => (a.place(), b.place()),
    }
}

/// What orders two accesses of one block to memory that other blocks may access as well: these no barrier of the block orders.
fn of_blocks(view: &FindingView<'_>, a: &Guilty, b: &Guilty) -> Advice {
    let (pair, copy) = match a.same_line(b) {
        true => (
            format!("one execution of {} before another", a.place()),
            format!("let {} read one buffer and write another", a.place()),
        ),
        false => (
            format!("{} before {}", a.place(), b.place()),
            format!(
                "split the kernel into two launches {}, or read one buffer and write another",
                between(a, b)
            ),
        ),
    };
    let barrier = view.word(Word::BlockBarrier);
    let text = format!(
        "order {pair}: if only the threads of one block access these elements, by a `{barrier}` that all of them reach; if other blocks do, too, {copy}"
    );
    Advice::explained(NoChange::Launches, text).missing(barrier)
}

/// The barrier that may order two accesses of one block.
fn wanted(view: &FindingView<'_>, pair: &Pair<'_>) -> Wanted {
    let of_one_warp = pair.earlier.thread.warp() == pair.later.thread.warp();
    match (of_one_warp, view.kernel) {
        (false, _) => Wanted::Block,
        (true, Some(kernel)) if !runs_in_one_warp(kernel, pair) => Wanted::BlockOrWarp,
        (true, _) => Wanted::Either,
    }
}

/// Whether nobody but one warp of a block runs two instructions.
fn runs_in_one_warp(kernel: &KernelView<'_>, pair: &Pair<'_>) -> bool {
    let ran = |end: &End| kernel.warps_at(end.site);
    let warps = ran(pair.earlier).zip(ran(pair.later));
    let warps = warps.map(|(a, b)| a | b);
    kernel.block.count() <= 32 || warps.is_some_and(|warps| warps.count_ones() == 1)
}

/// Whether an atomic operation takes or sets a flag or a lock, rather than adding to a sum.
fn sets(view: &KernelView<'_>, end: &End) -> bool {
    use ptx::semantics::AtomicOperation::{Cas, Exch};
    let site = view.sites.get(end.site.0 as usize);
    let operation = site.and_then(|s| s.instruction.memory.as_ref()?.operation);
    matches!(operation, Some(Cas | Exch))
}

/// The missing half of a message: the flag was seen, and nothing acquires what was written before it was set.
fn fence_after_poll(view: &FindingView<'_>) -> Option<Advice> {
    let pair = view.pair()?;
    let Detail::NotAcquired(poll) = view.finding.detail else {
        return None;
    };
    let sites = view.kernel?.sites;
    let poll = own_line(sites.get(poll.0 as usize)?, sites)?.line;
    let fence = pair.fence();
    Some(Advice::with(
        format!(
            "put `{}` between line {poll}, which sees the other thread's flag, and {}; or let line {poll} acquire: `cuda::atomic_ref` with `cuda::memory_order_acquire`",
            view.word(fence),
            pair.to.place()
        ),
        edits::fence_behind(pair.to, poll, Language::Cuda.word(fence), view.defines()),
    ))
}

/// Whether both racing accesses are strong. Two strong accesses race only if they overlap without covering the same bytes
/// (PTX ISA, "Morally strong operations").
fn differ_in_size(view: &FindingView<'_>) -> bool {
    let strong = |end: &End| end.order.is_some_and(|(order, _)| order.is_strong());
    match &view.finding.ends[..] {
        [later, earlier] => strong(later) && strong(earlier) && later.launch == earlier.launch,
        _ => false,
    }
}

/// `Some` if exactly one end is atomic; true if the later one is the plain one.
fn half_atomic(earlier: &End, later: &End) -> Option<bool> {
    let atomic = |end: &End| end.action == Action::Atomic;
    match (atomic(earlier), atomic(later)) {
        (true, false) => Some(true),
        (false, true) => Some(false),
        _ => None,
    }
}
