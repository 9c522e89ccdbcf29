//! Races: the barrier, the atomic operation or the fence that orders two accesses.

use super::barrier::{self, Unplaced, Wanted};
use super::between::{between, in_loop};
use super::{
    Advice, CLUSTER_BARRIER, Guilty, apart, async_copy, barrier_advice, defines, edits, if_reached,
    message, roles, same_line, update,
};
use crate::diagnose::own_line;
use crate::{KernelView, NoChange};
use detect::finding::{Action, Detail, End, Finding};
use detect::rules::Rule;
use simt::observer::Space;

pub(super) fn race(
    finding: &Finding,
    guilty: &[Guilty],
    view: Option<&KernelView<'_>>,
) -> Option<Advice> {
    let ([later, earlier, ..], [b, a, ..]) = (finding.ends.as_slice(), guilty) else {
        return None;
    };
    let place = finding.place?;
    let same_line = same_line(a, b);
    if place.space == Space::Shared && earlier.block != later.block {
        // An update of another block's memory wants an atomic operation, as one of its own does.
        let update = update::advice(finding, guilty, view);
        return update.or_else(|| Some(of_cluster(a, b, view)));
    }
    if let Some(mask) = edits::active_mask(a, b, defines(view))
        && (earlier.block, earlier.thread.warp()) == (later.block, later.thread.warp())
    {
        return Some(format!(
            "line {mask} takes the mask from `__activemask()`, which names the lanes that happen to run there together, not all that come: compute it before the branch with `__ballot_sync` over a known mask, or let `__match_any_sync` say which lanes hold the same element"
        ).into());
    }
    if let Some(plain) = half_atomic(earlier, later) {
        let end = if plain { b } else { a };
        let place = end.place();
        if crate::diagnose::seeds_swap(finding, view) {
            return Some(format!(
                "read it with an atomic operation at {place}: `cuda::atomic_ref(x).load(cuda::memory_order_relaxed)`, or through a `volatile` pointer"
            ).into());
        }
        if earlier.block == later.block
            && let Ok(mut advice) = barrier_advice((a, b), wanted(earlier, later, view), view, "")
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
            return Some(match view.is_some_and(|v| sets(v, atomic_end)) {
                true => Advice::with(
                    format!(
                        "{place} is a plain write, but the other access is atomic: write it with `atomicExch(&…, …)`"
                    ),
                    edits::atomic_store(one, defines(view)),
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
            });
        }
        return Some(
            format!("{place} is a plain access, but the other one is atomic: make it atomic too")
                .into(),
        );
    }
    if differ_in_size(finding) {
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
    if let Some(advice) = half_strong((earlier, later), (a, b), view) {
        return Some(advice);
    }
    if let Some(advice) = update::advice(finding, guilty, view) {
        return Some(advice);
    }
    if let Some(advice) = fence_after_poll(finding, guilty, view) {
        return Some(advice);
    }
    if earlier.block != later.block {
        let ends = match earlier.action {
            Action::Write => (a, b),
            _ => (b, a),
        };
        if !writes && let Some(message) = message::complete(ends, "__threadfence()", defines(view))
        {
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
                    "the blocks of a launch run in any order: split the kernel into two launches {}; or pass the data with an atomic flag, calling `__threadfence()` before setting the flag and after seeing it set",
                    between(a, b)
                ),
            )
        };
        return Some(Advice::explained(why, text));
    }
    if same_line && writes && !update::combines_places(finding, view) {
        return Some(Advice::explained(
            NoChange::Meaning,
            format!(
                "let only one thread write it, or give each thread its own element at {}",
                a.place()
            ),
        ));
    }
    if place.space == Space::Global && view.is_some_and(|v| v.grid.count() > 1) {
        return Some(Advice::explained(NoChange::Launches, of_blocks(a, b)));
    }
    let reason = match a.library && b.library && place.space == Space::Shared {
        true => {
            let storage = view.and_then(|v| v.memory.region(&place));
            let storage = storage.map_or("one temporary storage".to_owned(), |r| {
                format!("`{}`", r.name)
            });
            format!(
                ": both use {storage}, which a library's function may be given again only behind a barrier"
            )
        }
        false => String::new(),
    };
    if let Some(text) = of_copy(a, b) {
        let roles = roles::advice(finding, guilty, view);
        return Some(match roles {
            Some(roles) => Advice::explained(NoChange::Protocol, roles),
            None => {
                // With the wait it is right whichever comes first.
                let (copy, other) = if is_copy(a) { (a, b) } else { (b, a) };
                let both = [other.clone(), copy.clone()];
                let edit = async_copy::before_barrier(&both, async_copy::GROUPS, view);
                // Of a function that copies, it is not known for which call a change would be.
                let known = copy.frames.len() == 1 && !copy.instruction.contains("bulk");
                Advice::with(text, edit.filter(|_| known))
            }
        });
    }
    let unplaced = match barrier_advice((a, b), wanted(earlier, later, view), view, &reason) {
        Ok(advice) => return Some(advice),
        Err(unplaced) => unplaced,
    };
    if let Some(text) = roles::advice(finding, guilty, view) {
        return Some(Advice::explained(NoChange::Protocol, text));
    }
    if let Unplaced::Apart(condition) = unplaced {
        return Some(apart(a, b, condition).into());
    }
    let barrier = barrier(earlier, later, view);
    if reason.is_empty() && same_line && a.frames.len() == 1 && b.frames.len() == 1 {
        return Some(format!(
            "split {}: read into a register, put {barrier} after the read, then write, and put another barrier before the next read{}",
            a.place(),
            if_reached(a)
        ).into());
    }
    Some(format!("put {barrier} {}{}{reason}", between(a, b), if_reached(a)).into())
}

/// A flag that is written plainly, and read with an access that is not.
fn half_strong(
    (earlier, later): (&End, &End),
    (a, b): (&Guilty, &Guilty),
    view: Option<&KernelView<'_>>,
) -> Option<Advice> {
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
        edits::atomic_store(one, defines(view)),
    ))
}

/// What orders accesses of different blocks to the shared memory of one of them.
fn of_cluster(a: &Guilty, b: &Guilty, view: Option<&KernelView<'_>>) -> Advice {
    const BARRIER: &str = CLUSTER_BARRIER;
    let copies = |one: &Guilty| one.instruction.contains(".async");
    match same_line(a, b) {
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
            let placed = barrier::place(a, b, Wanted::Cluster, defines(view)).ok();
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
fn of_copy(a: &Guilty, b: &Guilty) -> Option<String> {
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
    match (is_copy(a), is_copy(b)) {
        (true, false) => Some(format!(
            "let the threads that copy at {first} wait for their copies and then call `__syncthreads()` with the others, before {second}; or let {second} wait for the mbarrier at which the copies complete"
        )),
        (false, true) => Some(format!(
            "let the copy at {second} begin only behind a barrier that comes after {first}"
        )),
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
fn of_blocks(a: &Guilty, b: &Guilty) -> String {
    let (pair, copy) = match same_line(a, b) {
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
    format!(
        "order {pair}: if only the threads of one block access these elements, by a `__syncthreads()` that all of them reach; if other blocks do, too, {copy}"
    )
}

/// The barrier that may order two accesses of one block.
fn wanted(earlier: &End, later: &End, view: Option<&KernelView<'_>>) -> Wanted {
    match (earlier.thread.warp() == later.thread.warp(), view) {
        (false, _) => Wanted::Block,
        (true, Some(view)) if !runs_in_one_warp(earlier, later, view) => Wanted::BlockOrWarp,
        (true, _) => Wanted::Either,
    }
}

/// Whether nobody but one warp of a block runs two instructions.
fn runs_in_one_warp(earlier: &End, later: &End, view: &KernelView<'_>) -> bool {
    let ran = |end: &End| view.warps_at(end.site);
    let warps = ran(earlier).zip(ran(later)).map(|(a, b)| a | b);
    view.block.count() <= 32 || warps.is_some_and(|warps| warps.count_ones() == 1)
}

/// Whether an atomic operation takes or sets a flag or a lock, rather than adding to a sum.
fn sets(view: &KernelView<'_>, end: &End) -> bool {
    use ptx::semantics::AtomicOperation::{Cas, Exch};
    let site = view.sites.get(end.site.0 as usize);
    let operation = site.and_then(|s| s.instruction.memory.as_ref()?.operation);
    matches!(operation, Some(Cas | Exch))
}

/// The barrier that orders two accesses of one block, in words.
fn barrier(earlier: &End, later: &End, view: Option<&KernelView<'_>>) -> &'static str {
    if earlier.thread.warp() != later.thread.warp() {
        return "`__syncthreads()`";
    }
    match view.is_some_and(|view| runs_in_one_warp(earlier, later, view)) {
        true => "`__syncwarp()`",
        false => "`__syncthreads()` (or `__syncwarp()` if only lanes of one warp share the data)",
    }
}

/// The missing half of a message: the flag was seen, and nothing acquires what was written before it was set.
fn fence_after_poll(
    finding: &Finding,
    guilty: &[Guilty],
    view: Option<&KernelView<'_>>,
) -> Option<Advice> {
    let ([later, earlier, ..], [b, ..]) = (finding.ends.as_slice(), guilty) else {
        return None;
    };
    let Detail::NotAcquired(poll) = finding.detail else {
        return None;
    };
    let sites = view?.sites;
    let poll = own_line(sites.get(poll.0 as usize)?, sites)?.line;
    let fence = match earlier.block == later.block {
        true => "`__threadfence_block()`",
        false => "`__threadfence()`",
    };
    Some(Advice::with(
        format!(
            "put {fence} between line {poll}, which sees the other thread's flag, and {}; or let line {poll} acquire: `cuda::atomic_ref` with `cuda::memory_order_acquire`",
            b.place()
        ),
        edits::fence_behind(b, poll, fence.trim_matches('`'), defines(view)),
    ))
}

/// What orders data that passes between warps through strong accesses.
pub(super) fn communication(
    finding: &Finding,
    guilty: &[Guilty],
    view: Option<&KernelView<'_>>,
) -> Option<Advice> {
    let ([later, earlier, ..], [b, a, ..]) = (finding.ends.as_slice(), guilty) else {
        return None;
    };
    let fence = match earlier.block == later.block {
        true => "`__threadfence_block()`",
        false => "`__threadfence()`",
    };
    if later.action == Action::Write && earlier.action == Action::Write {
        return Some(Advice::explained(
            NoChange::Meaning,
            format!(
                "let one thread write it; or write under a lock: call {fence} after it is taken, before the write at {}, and after the write at {}, before it is released",
                b.place(),
                a.place()
            ),
        ));
    }
    let shared = finding.place?.space == Space::Shared;
    if shared || view.is_some_and(|v| v.grid.count() == 1) {
        let why = "; `volatile` and relaxed accesses order nothing";
        let unplaced = match barrier_advice((a, b), Wanted::Block, view, why) {
            Ok(advice) => return Some(advice),
            Err(unplaced) => unplaced,
        };
        if let Some(text) = roles::advice(finding, guilty, view) {
            return Some(Advice::explained(NoChange::Protocol, text));
        }
        if let Unplaced::Apart(condition) = unplaced {
            return Some((apart(a, b, condition) + why).into());
        }
        return Some(match same_line(a, b) {
            true => format!(
                "split {}: read into a register, call `__syncthreads()`, then write, and call `__syncthreads()` again before the next read{}{why}",
                a.place(),
                if_reached(a)
            ),
            false => format!("put `__syncthreads()` {}{}{why}", between(a, b), if_reached(a)),
        }
        .into());
    }
    let (write, read) = match later.action {
        Action::Read => (a, b),
        _ => (b, a),
    };
    if let Some(message) = message::complete((write, read), fence.trim_matches('`'), defines(view))
    {
        return Some(Advice::with(
            format!(
                "complete the message between the threads: put {}",
                message.words
            ),
            Some(message.edit),
        ));
    }
    Some(format!(
        "order the two with a flag or a lock: call {fence} after the write at {} before the flag is set, and after the flag is seen before the read at {}; or use `cuda::atomic_ref` with release and acquire",
        write.place(),
        read.place()
    ).into())
}

/// Whether both racing accesses are strong. Two strong accesses race only if they overlap without covering the same bytes
/// (PTX ISA, "Morally strong operations").
pub(crate) fn differ_in_size(finding: &Finding) -> bool {
    let strong = |end: &End| end.order.is_some_and(|(order, _)| order.is_strong());
    finding.rule == Rule::DataRace
        && finding.ends.len() == 2
        && finding.ends.iter().all(strong)
        && finding.ends[0].launch == finding.ends[1].launch
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
