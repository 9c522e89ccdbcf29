//! The `help:` line of each rule: which barrier, scope or mask to use, and at which lines.

mod advice;
mod async_copy;
mod barrier;
mod between;
mod divergent;
mod edits;
mod expression;
mod guilty;
mod mask;
mod message;
mod race;
mod roles;
mod scope;
mod text;
mod update;

use super::kernel_view::meets_grid;
use super::language::Language;
use super::memory::Region;
use super::source::SourceFile;
use super::{KernelView, NoChange, View};
pub(super) use advice::Advice;
use barrier::{Unplaced, Wanted};
use between::between;
pub(super) use between::in_loop;
use detect::finding::{Action, Detail, End, Finding};
use detect::rules::Rule;
use divergent::divergent;
pub(super) use guilty::{Frame, Guilty};
pub(super) use race::differ_in_size;
use race::{communication, race};
use scope::scope;
use simt::BadCall;
use simt::mbarrier::Fault;
use simt::observer::{BarrierFault, ImageFault, Space};
use std::sync::Arc;

/// Threads of a block, at most (CUDA C++ Programming Guide, "Features and Technical Specifications").
const MOST_THREADS: u32 = 1024;

/// Whether a warp operation takes no mask of lanes, so that all have to execute it (PTX ISA, "Warp Level Matrix Instructions").
fn has_no_mask(instruction: &str) -> bool {
    let name = match instruction.trim_start().strip_prefix('@') {
        Some(guarded) => guarded
            .split_once(char::is_whitespace)
            .map_or("", |(_, rest)| rest),
        None => instruction,
    };
    let family = name.trim_start().split('.').next().unwrap_or_default();
    ["wmma", "mma", "ldmatrix", "stmatrix", "movmatrix", "wgmma"].contains(&family)
}

/// Whether an instruction is the barrier of a whole block, `__syncthreads()`.
fn is_of_block(instruction: &str) -> bool {
    let code = instruction.trim().trim_end_matches(';');
    let words: Vec<&str> = code.split_whitespace().collect();
    matches!(words[..], [name, "0"] if name.contains("bar"))
}

/// Where to put a barrier that orders one line before another, by the text of the source: `between line 6 and line 8`.
pub fn barrier_between(
    (first, line): (&Arc<SourceFile>, u32),
    (second, later): (&Arc<SourceFile>, u32),
) -> String {
    let end = |file: &Arc<SourceFile>, line| Guilty {
        frames: vec![Frame {
            file: file.clone(),
            line,
            columns: 0..0,
            function: None,
        }],
        in_source: true,
        unread: None,
        toolkit: false,
        library: false,
        instruction: String::new(),
    };
    between(&end(first, line), &end(second, later))
}

/// What defines a kernel's source was compiled with.
fn defines<'v>(view: Option<&'v KernelView<'_>>) -> &'v [String] {
    view.map_or(&[], |view| &view.defines)
}

/// A barrier between two accesses: `put … between line 6 and line 8` with `more` behind it.
fn barrier_advice(
    (earlier, later): (&Guilty, &Guilty),
    wanted: Wanted,
    view: Option<&KernelView<'_>>,
    more: &str,
) -> Result<Advice, Unplaced> {
    let placed = barrier::place(earlier, later, wanted, defines(view))?;
    if let Some(line) = placed.moved {
        return Ok(Advice {
            text: format!(
                "move the barrier of line {line} out of the condition around it, to where all threads of the block come {}{more}",
                placed.place
            ),
            change: Ok(placed.edit),
        });
    }
    let also = match (wanted, placed.barrier) {
        (Wanted::Either | Wanted::BlockOrWarp, "__syncthreads()") => {
            " (or `__syncwarp()` if only lanes of one warp share the data)"
        }
        _ => "",
    };
    Ok(Advice {
        text: format!("put `{}`{also} {}{more}", placed.barrier, placed.place),
        change: Ok(placed.edit),
    })
}

/// What else is asked of a barrier whose place was not looked for in a source that is there.
fn if_reached(one: &Guilty) -> &'static str {
    let read = one.in_source && Language::of(&one.frames[0].file) == Language::Cuda;
    match read {
        true => ", at a place that all of its threads reach",
        false => "",
    }
}

/// What is wrong where a barrier would be between two accesses, and not all of its threads come there.
fn apart(earlier: &Guilty, later: &Guilty, condition: Option<u32>) -> String {
    let (a, b) = (earlier.place(), later.place());
    let pair = match same_line(earlier, later) {
        true => format!("one execution of {a} before another"),
        false => format!("{a} before {b}"),
    };
    let who = match condition {
        Some(line) => format!("line {line} lets only some threads come there"),
        None => "some threads may have left before".to_owned(),
    };
    format!(
        "order {pair}: a barrier between the two would have to be reached by all of its threads, but {who}; move it, and what needs it, to where all come"
    )
}

/// What all threads of a cluster meet at, in CUDA and in PTX.
const CLUSTER_BARRIER: &str =
    "`cluster.sync()` (`barrier.cluster.arrive` and `barrier.cluster.wait`)";

/// What advises a finding.
pub(super) fn help(
    finding: &Finding,
    guilty: &[Guilty],
    view: Option<&KernelView<'_>>,
    steps: &[View<'_>],
) -> Option<Advice> {
    if let [later, earlier, ..] = finding.ends.as_slice()
        && later.launch != earlier.launch
        && finding.rule != Rule::MissingDependencyWait
    {
        return unordered(earlier, later, guilty, steps)
            .map(|text| Advice::explained(NoChange::Host, text));
    }
    let at = |index: usize| {
        guilty
            .get(index)
            .map_or_else(|| "this line".to_string(), Guilty::place)
    };
    let text = match finding.rule {
        Rule::DataRace => return race(finding, guilty, view),
        Rule::InsufficientScope => return scope(finding, guilty, view),
        Rule::LockstepAssumption
            if finding.detail != Detail::OtherWarps
                && let Ok(advice) =
                    barrier_advice((guilty.get(1)?, guilty.first()?), Wanted::Warp, view, "") =>
        {
            return Some(advice);
        }
        Rule::LockstepAssumption
            if finding.detail == Detail::OtherWarps
                && let Ok(advice) = barrier_advice(
                    (guilty.get(1)?, guilty.first()?),
                    Wanted::Block,
                    view,
                    ": other warps take part, too",
                ) =>
        {
            return Some(advice);
        }
        Rule::LockstepAssumption if same_line(guilty.first()?, guilty.get(1)?) => format!(
            "split {}: read into a register, call `__syncwarp()`{}, then write; or use one atomic operation",
            at(0),
            if_reached(&guilty[0])
        ),
        Rule::LockstepAssumption if finding.detail == Detail::OtherWarps => format!(
            "put `__syncthreads()` {}{}: other warps take part, too",
            between(guilty.get(1)?, guilty.first()?),
            if_reached(&guilty[0])
        ),
        Rule::UnorderedCommunication => return communication(finding, guilty, view),
        Rule::SameValueWrite => {
            let bytes = finding.place.map_or(0, |place| place.bytes);
            let one = guilty
                .first()
                .filter(|one| guilty.iter().all(|g| same_line(one, g)));
            return Some(Advice {
                text: format!(
                    "let one thread write it at {}, or use an atomic operation such as `atomicOr` or `atomicExch`",
                    at(0)
                ),
                change: one
                    .and_then(|one| edits::atomic_exchange(one, bytes, defines(view)))
                    .ok_or(NoChange::Meaning),
            });
        }
        Rule::LockstepAssumption => {
            format!(
                "put `__syncwarp()` {}{}",
                between(guilty.get(1)?, guilty.first()?),
                if_reached(&guilty[0])
            )
        }
        Rule::DivergentBarrier => return Some(divergent(finding, guilty, view)),
        Rule::BarrierAfterExit if let Some(edit) = edits::joined_by_all(&guilty[0], defines(view)) => {
            return Some(Advice::with(
                format!(
                    "let all threads of the block reach {}: put the work in a condition instead of leaving before it",
                    at(0)
                ),
                Some(edit),
            ));
        }
        Rule::BarrierAfterExit => match guilty.get(1) {
            // Where a `return` stands early, the instruction that exits has the line of the kernel's end.
            Some(exit) if line_of(guilty.first()?) < line_of(exit) => format!(
                "let all threads of the block reach {}: where some return before it, put the work in a condition instead",
                at(0)
            ),
            Some(_) => format!(
                "let all threads of the block reach {}: put the work in a condition instead of leaving at {}",
                at(0),
                at(1)
            ),
            None => format!("let all threads of the block reach {}", at(0)),
        },
        Rule::WarpSyncMask if has_no_mask(&guilty.first()?.instruction) => format!(
            "let all 32 lanes of the warp execute {}: the instruction works for a whole warp and takes no mask",
            at(0)
        ),
        Rule::WarpSyncMask
            if let Some(mended) = mask::mend(guilty.first()?, defines(view)) =>
        {
            return Some(Advice::with(mended.words, Some(mended.edit)));
        }
        Rule::WarpSyncMask => match finding.ends.get(1).map(|e| e.action) {
            None => format!(
                "include every lane that executes {} in the mask: compute it before the branch with `mask = __ballot_sync(0xffffffff, condition)`",
                at(0)
            ),
            Some(Action::Exit) => format!(
                "let no lane exit before {}, or compute the mask of the remaining lanes before any lane exits: `mask = __ballot_sync(0xffffffff, condition)`",
                at(0)
            ),
            Some(_) => format!(
                "move the operation at {} out of the condition, or compute the mask before the branch: `mask = __ballot_sync(0xffffffff, condition)`",
                at(0)
            ),
        },
        Rule::AsyncCopyHazard => return async_copy::hazard(finding, guilty, view),
        Rule::MissingProxyFence => {
            const FENCE: &str = "asm volatile(\"fence.proxy.async.shared::cta;\" ::: \"memory\");";
            let shared = finding.place.is_some_and(|p| p.space == Space::Shared);
            let writer = guilty.get(1).filter(|_| shared);
            return Some(Advice::with(
                format!(
                    "let each thread that writes call `cuda::ptx::fence_proxy_async(space_shared)` (`fence.proxy.async.shared::cta`) after {}, before the barrier",
                    at(1)
                ),
                writer.and_then(|one| edits::behind(one, FENCE, defines(view))),
            ));
        }
        Rule::ClusterMemory => {
            let one = guilty.first()?;
            let edit = |before| barrier::of_cluster(one, before, defines(view));
            return Some(match guilty.len() {
                0 | 1 => Advice::with(
                    format!(
                        "let all threads of the cluster call {CLUSTER_BARRIER} before {}",
                        at(0)
                    ),
                    edit(true),
                ),
                _ if one.instruction.contains(".async") => Advice::explained(
                    NoChange::Protocol,
                    format!(
                        "let threads of the block that ends wait for the mbarrier at which {} completes: a barrier of the cluster does not wait for it",
                        at(0)
                    ),
                ),
                _ => Advice::with(
                    format!(
                        "let all threads of the cluster call {CLUSTER_BARRIER} after {}, before they exit",
                        at(0)
                    ),
                    edit(false),
                ),
            });
        }
        Rule::MbarrierMisuse => match finding.detail {
            Detail::Mbarrier(Fault::Arrivals { .. }) => format!(
                "initialise the mbarrier with the number of all arrivals of a phase, or arrive with a smaller count at {}",
                at(0)
            ),
            _ => format!("split what {} is for into smaller parts", at(0)),
        },
        Rule::MissingDependencyWait => format!(
            "call `cudaGridDependencySynchronize()` (`griddepcontrol.wait`) before {}",
            at(0)
        ),
        Rule::NonCoherentRead => {
            let read = guilty.first()?;
            if let Some(edit) = edits::without_ldg(read, defines(view)) {
                return Some(Advice::with(
                    format!(
                        "read it without `__ldg` at {}, or write it in an earlier launch; a barrier does not help",
                        at(0)
                    ),
                    Some(edit),
                ));
            }
            let frame = &read.frames[0];
            let line = frame.file.line(frame.line).unwrap_or_default();
            match read.in_source && line.contains("__ldg") {
                true => format!(
                    "read it without `__ldg` at {}, or write it in an earlier launch; a barrier does not help",
                    at(0)
                ),
                false => format!(
                    "remove `const` or `__restrict__` from the pointer that {} reads through, and any `__ldg`; or write the memory in an earlier launch; a barrier does not help",
                    at(0)
                ),
            }
        }
        Rule::UndefinedShuffle => format!(
            "include every source lane in the mask at {} and let all of them execute it; or use the result only in lanes whose source is in the mask",
            at(0)
        ),
        Rule::InvalidBarrier => match finding.detail {
            Detail::Barrier(BarrierFault::Number(_)) => {
                format!("use a barrier number from 0 to 15 at {}", at(0))
            }
            Detail::Barrier(BarrierFault::Fraction(count)) => format!(
                "use a thread count of {} at {}, and let whole warps arrive",
                count.div_ceil(32).saturating_mul(32).min(MOST_THREADS),
                at(0)
            ),
            Detail::Barrier(BarrierFault::ArrivesAgain) => format!(
                "call `barrier.cluster.wait` (`cluster.barrier_wait()`) between the two arrivals, before {}",
                at(0)
            ),
            _ => format!(
                "state the number of threads that reach the barrier at {}",
                at(0)
            ),
        },
        Rule::Deadlock if matches!(finding.detail, Detail::Phases(_)) => {
            return Some(Advice::explained(NoChange::Protocol, phase(finding, at(0))));
        }
        Rule::Deadlock => {
            let text = format!(
                "{} waits for threads that are themselves waiting: let all threads take part in the barrier, or move it out of the condition",
                at(0)
            );
            return Some(match is_of_block(&guilty.first()?.instruction) {
                true => text.into(),
                false => Advice::explained(NoChange::Protocol, text),
            });
        }
        Rule::AssertionFailed => format!(
            "find out which value breaks the condition at {}; if another finding is about it, mend that first",
            at(0)
        ),
        Rule::Trap if view.is_some_and(|v| meets_grid(v.program)) && guilty[0].toolkit_code() => {
            "launch it with `cudaLaunchCooperativeKernel` (`--cooperative`): `grid.sync()` stops any other launch".to_owned()
        }
        Rule::Trap => format!(
            "see what leads to {}: the code or a library stops the launch there on purpose",
            at(0)
        ),
        Rule::InvalidCall => match &finding.detail {
            Detail::Call(BadCall::Null | BadCall::NoFunction(_)) => format!(
                "make sure that the pointer that {} calls through is set on every path, to a function of this module",
                at(0)
            ),
            Detail::Call(BadCall::NoBody(name)) => format!(
                "compile the file that defines `{name}` together with this one (`racetrap check a.cu b.cu`, or `#include` it)"
            ),
            Detail::Call(BadCall::NoLabel(..)) => format!(
                "compare the index with the number of labels before {}: what a larger one does is undefined",
                at(0)
            ),
            Detail::Call(BadCall::StackOverflow(_)) => format!(
                "check that the recursion at {} ends for every input; or use a loop with a stack of its own",
                at(0)
            ),
            _ => format!("pass to `free` at {} exactly what `malloc` returned", at(0)),
        },
        Rule::NoProgress => {
            let look = format!(
                "check that the loop at {} changes its condition, and that it does not wait for a value from a thread that is waiting itself",
                at(0)
            );
            match finding.detail {
                Detail::Repeats => look,
                _ => look + "; `--max-steps` raises the budget",
            }
        }
        Rule::OutOfBounds => {
            if let Detail::Image { why, surface } = finding.detail {
                let kind = if surface { "surface" } else { "texture" };
                return Some(Advice::explained(NoChange::Host, match why {
                    ImageFault::Unbound => {
                        format!(
                            "bind something to the {kind} reference of {} before the launch",
                            at(0)
                        )
                    }
                    ImageFault::Absent => format!(
                        "check that the {kind} at {} was created, and is destroyed after the launch",
                        at(0)
                    ),
                    ImageFault::Outside => format!("guard {} with the {kind}'s size", at(0)),
                }));
            }
            let place = finding.place?;
            if view.is_some_and(|v| v.memory.far(&place).is_some()) {
                return Some(Advice::explained(NoChange::Meaning, format!(
                    "let {} name ranks below `cluster.num_blocks()`, which is 1 in a launch without clusters",
                    at(0)
                )));
            }
            if !place.mapped && finding.detail == Detail::None {
                return Some(format!(
                    "check the pointer at {}: it points to no memory of the device",
                    at(0)
                ))
                .map(|text| Advice::explained(NoChange::Meaning, text));
            }
            let meant = view.and_then(|v| v.memory.meant(finding));
            match meant.and_then(|r: &Region| r.before(&place)) {
                Some((_, None)) => format!("guard {} with `if (index >= 0)`", at(0)),
                Some((_, Some(_))) => format!(
                    "guard {} before the subtraction that leads below 0: the index is unsigned, so `index >= 0` always holds",
                    at(0)
                ),
                None => format!(
                    "guard {} with `if (index < n)`, or allocate more elements",
                    at(0)
                ),
            }
        }
        Rule::MisalignedAccess => format!(
            "align the address at {} to a multiple of the access size",
            at(0)
        ),
        Rule::UninitializedRead => match finding.place.map(|p| p.space) {
            Some(Space::Shared) => format!("write it and call `__syncthreads()` before {}", at(0)),
            _ => format!("write it before {}", at(0)),
        },
        Rule::UseAfterFree => match finding.ends.first()?.action {
            Action::Free => {
                return Some(Advice::explained(
                    NoChange::Meaning,
                    format!("let only one thread free it, once, at {}", at(0)),
                ));
            }
            _ => format!("free it after {}", at(0)),
        },
        Rule::BankConflict => format!(
            "pad the rows of the array by one element, or let neighbouring lanes access neighbouring words at {}",
            at(0)
        ),
        Rule::UncoalescedAccess => format!(
            "let neighbouring lanes access neighbouring addresses at {}",
            at(0)
        ),
        Rule::DivergentBranch => format!(
            "make the condition at {} the same for all lanes of a warp",
            at(0)
        ),
        // Of whole programs, whose findings say themselves what to do.
        Rule::InvalidApiUse | Rule::UncheckedError | Rule::Leak | Rule::NondeterministicResult => {
            return None;
        }
    };
    Some(Advice::explained(NoChange::of_rule(finding.rule), text))
}

/// Two operations of the host program that nothing orders.
fn unordered(earlier: &End, later: &End, guilty: &[Guilty], steps: &[View<'_>]) -> Option<String> {
    let ([b, a, ..], Some(first), Some(second)) = (
        guilty,
        steps.get(earlier.launch as usize),
        steps.get(later.launch as usize),
    ) else {
        return None;
    };
    let is_host = |view: &View<'_>| matches!(view, View::Host(view) if view.is_host_itself());
    let name = |view: &View<'_>, one: &Guilty| match view {
        View::Kernel(kernel) => format!(
            "the launch of `{}`",
            kernel.name.split('(').next().unwrap_or_default()
        ),
        View::Host(host) => match &host.named {
            Some(name) => name.clone(),
            None => format!("the step at {}", one.place()),
        },
    };
    let (first_name, second_name) = (name(first, a), name(second, b));
    Some(if is_host(second) {
        format!(
            "let the host wait for {first_name} before {second_name}: call `cudaStreamSynchronize` for its stream, or `cudaEventSynchronize` for an event recorded after it"
        )
    } else if is_host(first) {
        match first {
            View::Host(host) if host.named.is_some() => {
                format!("let the host touch the memory before it issues {second_name}")
            }
            _ => format!("let the host perform {first_name} before it issues {second_name}"),
        }
    } else {
        format!(
            "put both on one stream; or record an event after {first_name} (`cudaEventRecord`) and let the other stream wait for it (`cudaStreamWaitEvent`) before {second_name}"
        )
    })
}

/// What a phase of an mbarrier needs that can't complete.
fn phase(finding: &Finding, at: String) -> String {
    let Detail::Phases(phases) = &finding.detail else {
        return String::new();
    };
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

fn line_of(end: &Guilty) -> u32 {
    end.frames.first().map_or(0, |frame| frame.line)
}

fn same_line(a: &Guilty, b: &Guilty) -> bool {
    let (a, b) = (&a.frames[0], &b.frames[0]);
    a.line == b.line && a.file.path == b.file.path
}

#[cfg(test)]
mod tests {
    use super::{Frame, Guilty};
    use crate::source::SourceFile;
    use std::sync::Arc;

    /// An access at the code of a line.
    pub(super) fn end_of(file: &Arc<SourceFile>, line: u32) -> Guilty {
        let text = file.line(line).unwrap();
        let start = (text.len() - text.trim_start().len()) as u32;
        // A condition in front of it is not where the access is.
        let start = match text.trim_start().starts_with("if ") {
            true => text.find(") ").map_or(start, |at| at as u32 + 2),
            false => start,
        };
        Guilty {
            frames: vec![Frame {
                file: file.clone(),
                line,
                columns: start..start + 1,
                function: None,
            }],
            in_source: true,
            unread: None,
            toolkit: false,
            library: false,
            instruction: String::new(),
        }
    }
}
