//! The words of a finding: its title, its notes, what each end does, and where the address lies.

use super::place::of_toolkit;
use super::{KernelView, phases};
use crate::help::Guilty;
use crate::memory::MemoryNames;
use crate::terminal::counted;
use detect::finding::{Action, Detail, End, Finding, Place};
use detect::rules::{Level, Rule};
use simt::mbarrier::{Fault, MOST_BYTES};
use simt::observer::{BarrierFault, ImageFault, NoValue, Order, RegisterFault, Scope};
use std::collections::BTreeSet;

/// A function's name without its parameters.
pub(super) fn short(function: &str) -> &str {
    function.split('(').next().unwrap_or(function)
}

pub(super) fn triple([x, y, z]: [u32; 3]) -> String {
    format!("({x},{y},{z})")
}

pub(super) fn action(
    end: &End,
    place: Option<&Place>,
    names: &MemoryNames,
    plural: bool,
    reads: bool,
) -> String {
    let s = if plural { "" } else { "s" };
    let what = place.map_or_else(|| "here".to_string(), |p| names.describe(p));
    let how = match end.order {
        Some((Order::Weak, _)) | None => String::new(),
        Some((Order::Volatile, _)) => " (volatile)".to_string(),
        Some((_, scope)) => format!(" ({})", scope_name(scope)),
    };
    match end.action {
        Action::Read if place.is_none() => format!("read{s} a register of it"),
        Action::Write if place.is_none() => format!("write{s} a register of it"),
        Action::Read => format!("read{s} {what}{how}"),
        Action::Write => format!("write{s} {what}{how}"),
        Action::Atomic => format!("update{s} {what} atomically{how}"),
        Action::Copy => {
            let direction = if reads { "from" } else { "into" };
            format!("begin{s} to copy {direction} {what}")
        }
        Action::Multiply if place.is_none() => format!("begin{s} the product"),
        Action::Multiply => format!("begin{s} a product that reads {what}"),
        Action::Wait => format!("wait{s} here"),
        Action::Sync => format!("execute{s} this"),
        Action::Pass if plural => "pass without waiting".to_string(),
        Action::Pass => "passes without waiting".to_string(),
        Action::Exit => format!("exit{s} here"),
        Action::Run if plural => "are still running here".to_string(),
        Action::Run => "is still running here".to_string(),
        Action::Use => format!("use{s} the value here"),
        Action::Stop => format!("stop{s} the launch here"),
        Action::Free => format!("free{s} {what} here"),
        Action::Branch => format!("branch{} here", if plural { "" } else { "es" }),
    }
}

/// `block scope`
fn scope_name(scope: Scope) -> &'static str {
    match scope {
        Scope::Cta => "block scope",
        Scope::Cluster => "cluster scope",
        Scope::Gpu => "device scope",
        Scope::Sys => "system scope",
    }
}

pub(super) fn verb(action: Action) -> &'static str {
    match action {
        Action::Read => "read",
        Action::Write => "write",
        Action::Atomic => "atomic update",
        _ => "access",
    }
}

pub(super) fn title(finding: &Finding, names: Option<&MemoryNames>) -> String {
    let what = |space: bool| match (&finding.place, names) {
        (Some(place), Some(names)) => {
            let name = names.describe(place);
            match space && names.region(place).is_some() {
                true => format!("{name} in {}", names.kind(place)),
                false => name,
            }
        }
        _ => "memory".to_string(),
    };
    let threads = |at: usize| finding.ends.get(at).map_or(0, |e| e.threads);
    let access = finding.ends.first().map_or("access", |e| verb(e.action));
    let bytes = finding.place.map_or(0, |p| p.bytes);
    match finding.rule {
        Rule::DataRace => match finding.ends.as_slice() {
            [later, earlier, ..] => {
                let (a, b) = (verb(earlier.action), verb(later.action));
                if crate::help::differ_in_size(finding) {
                    return match a == b {
                        true => format!("two {a}s of different sizes overlap at {}", what(true)),
                        false => {
                            format!("{a} and {b} of different sizes overlap at {}", what(true))
                        }
                    };
                }
                match a == b {
                    true => format!("two unordered {a}s of {}", what(true)),
                    false => format!("unordered {a} and {b} of {}", what(true)),
                }
            }
            _ => format!("unordered accesses to {}", what(true)),
        },
        Rule::InsufficientScope => {
            format!(
                "{} is shared with a thread outside the scope of the access",
                what(true)
            )
        }
        Rule::MissingDependencyWait => format!(
            "a dependent launch accesses {} and has not waited for the launch before it",
            what(true)
        ),
        Rule::ClusterMemory => format!(
            "{} of another block of the cluster is accessed, and that block may {}",
            what(true),
            match finding.ends.len() {
                0 | 1 => "not have begun",
                _ => "have ended",
            }
        ),
        Rule::MissingProxyFence => format!(
            "a {} touches {} after ordinary writes to it, without a proxy fence",
            match finding.ends.first().map(|e| e.action) {
                Some(Action::Multiply) => "matrix product",
                _ => "bulk copy",
            },
            what(true)
        ),
        Rule::MbarrierMisuse => match finding.detail {
            Detail::Mbarrier(Fault::Arrivals { count, pending }) => format!(
                "{count} arrival{} at an mbarrier of which {pending} {} pending",
                if count == 1 { "" } else { "s" },
                if pending == 1 { "is" } else { "are" },
            ),
            Detail::Mbarrier(Fault::Bytes(bytes)) => {
                format!("an mbarrier is to count {bytes} bytes, which is out of its range")
            }
            _ => Rule::MbarrierMisuse.summary().to_string(),
        },
        Rule::AsyncCopyHazard if matches!(finding.detail, Detail::Registers(_)) => {
            match finding.detail {
                Detail::Registers(RegisterFault::InFlight { writes: false }) => {
                    "accumulators are read before the product is waited for".to_string()
                }
                Detail::Registers(RegisterFault::InFlight { writes: true }) => {
                    "a register is written while a product uses it".to_string()
                }
                Detail::Registers(RegisterFault::Unfenced { .. }) => {
                    "a product uses registers without a `wgmma.fence` behind their last use"
                        .to_string()
                }
                _ => "a product without a `wgmma.fence` before it".to_string(),
            }
        }
        Rule::AsyncCopyHazard => {
            let product = |at: usize| {
                let end = finding.ends.get(at);
                end.is_some_and(|e| e.action == Action::Multiply)
            };
            let reader = if product(1) { "a product" } else { "a copy" };
            let (out, into) = match finding.detail {
                Detail::CopyReads([here, there]) => (here, !there),
                _ => (false, true),
            };
            match (into, finding.ends.first().map(|e| e.action)) {
                (true, Some(Action::Multiply)) => format!(
                    "a product of {} before the copy into it is complete",
                    what(true)
                ),
                (true, Some(Action::Copy)) if out => {
                    format!(
                        "a copy out of {} before the copy into it is complete",
                        what(true)
                    )
                }
                (true, Some(Action::Copy)) => format!(
                    "a second copy into {} before the first is complete",
                    what(true)
                ),
                (true, _) => format!(
                    "{access} of {} before the copy into it is complete",
                    what(true)
                ),
                (false, Some(Action::Copy)) if !product(1) => {
                    format!("a copy into {} while another one reads it", what(true))
                }
                (false, Some(Action::Copy)) => {
                    format!("a copy into {} while a product reads it", what(true))
                }
                (false, Some(Action::Exit)) => {
                    format!("the block ends while {reader} reads {}", what(true))
                }
                (false, _) => format!("{access} of {} while {reader} reads it", what(true)),
            }
        }
        Rule::NonCoherentRead => format!(
            "{} is read through the read-only cache after this launch has written it",
            what(true)
        ),
        Rule::UndefinedShuffle => {
            let use_of = match finding.ends.get(1).map(|e| e.action) {
                Some(Action::Write | Action::Atomic) => format!("is stored to {}", what(true)),
                Some(Action::Branch) => "decides a branch".to_string(),
                _ => "is used".to_string(),
            };
            format!("a shuffle returns an undefined value, which {use_of}")
        }
        Rule::InvalidBarrier => match finding.detail {
            Detail::Barrier(BarrierFault::Number(number)) => {
                format!("barrier number {number} is out of range")
            }
            Detail::Barrier(BarrierFault::Fraction(count)) => {
                format!("barrier thread count {count} is not a multiple of the warp size (32)")
            }
            Detail::Barrier(BarrierFault::TooMany { count, threads }) => {
                format!("barrier thread count {count} is larger than the block ({threads} threads)")
            }
            Detail::Barrier(BarrierFault::ArrivesAgain) => {
                "a thread arrives twice at its cluster's barrier without waiting".to_string()
            }
            Detail::Barrier(BarrierFault::NoCount) => {
                "a barrier arrival without a thread count".to_string()
            }
            _ => Rule::InvalidBarrier.summary().to_string(),
        },
        Rule::LockstepAssumption => {
            format!(
                "lanes of a warp exchange data through {} without synchronising",
                what(true)
            )
        }
        Rule::UnorderedCommunication if finding.ends.iter().all(|e| e.action == Action::Write) => {
            format!("warps overwrite {} in no certain order", what(true))
        }
        Rule::UnorderedCommunication => {
            format!(
                "warps exchange data through {} in no certain order",
                what(true)
            )
        }
        Rule::SameValueWrite => format!("unordered writes of one value to {}", what(true)),
        Rule::DivergentBarrier => match threads(0) {
            0 => Rule::DivergentBarrier.summary().to_string(),
            n => format!(
                "{n} thread{} wait{} at a barrier that other threads of the block do not reach",
                if n == 1 { "" } else { "s" },
                if n == 1 { "s" } else { "" }
            ),
        },
        Rule::BarrierAfterExit => match threads(1) {
            0 => Rule::BarrierAfterExit.summary().to_string(),
            n => format!(
                "a barrier completed only because {n} thread{} had exited",
                if n == 1 { "" } else { "s" }
            ),
        },
        Rule::NoProgress => match finding.detail {
            Detail::Steps(steps) => format!(
                "the kernel has not ended after {} warp-instructions",
                crate::terminal::thousands(steps)
            ),
            Detail::Repeats => simt::NEVER_ENDS.to_string(),
            _ => Rule::NoProgress.summary().to_string(),
        },
        Rule::OutOfBounds => match finding.detail {
            Detail::Image { why, surface } => {
                let (access, kind) = match surface {
                    true => (access, "surface"),
                    false => ("fetch", "texture"),
                };
                match why {
                    ImageFault::Unbound => {
                        format!("{access} through a {kind} reference that nothing is bound to")
                    }
                    ImageFault::Absent => format!("{access} of a {kind} that does not exist"),
                    ImageFault::Outside => format!("{access} outside of a {kind}"),
                }
            }
            _ => format!("{access} of {bytes} bytes outside all allocations"),
        },
        Rule::MisalignedAccess => {
            format!("{access} of {bytes} bytes at an address that is not a multiple of {bytes}")
        }
        Rule::UninitializedRead => format!("{} is read but was never written", what(true)),
        Rule::UseAfterFree => match finding.ends.first().map(|e| e.action) {
            Some(Action::Free) => "memory is freed that was freed before".to_string(),
            _ => format!("{access} of memory that was freed"),
        },
        Rule::AssertionFailed => match &finding.detail {
            Detail::Assertion { message, .. } => format!("assertion `{message}` failed"),
            _ => Rule::AssertionFailed.summary().to_string(),
        },
        Rule::Trap => "the kernel executed `trap`".to_string(),
        Rule::InvalidCall => match &finding.detail {
            Detail::Call(why) => why.to_string(),
            _ => "`free` of an address that `malloc` did not return".to_string(),
        },
        Rule::BankConflict => match finding.detail {
            Detail::Banks { degree, .. } => format!("{degree}-way bank conflict"),
            _ => Rule::BankConflict.summary().to_string(),
        },
        Rule::Deadlock => match &finding.detail {
            Detail::Phases(phases) => phases::title(&phases[..], finding.ends.len()),
            _ => Rule::Deadlock.summary().to_string(),
        },
        Rule::WarpSyncMask
        | Rule::UncoalescedAccess
        | Rule::DivergentBranch
        | Rule::InvalidApiUse
        | Rule::UncheckedError
        | Rule::Leak
        | Rule::NondeterministicResult => finding.rule.summary().to_string(),
    }
}

pub(super) fn notes(
    finding: &Finding,
    names: Option<&MemoryNames>,
    guilty: &[Guilty],
) -> Vec<String> {
    let mut notes = Vec::new();
    match &finding.detail {
        Detail::None | Detail::Steps(_) | Detail::Repeats | Detail::Exited | Detail::Call(_) | Detail::OtherWarps | Detail::CopyReads(_) | Detail::Registers(_) | Detail::Pointer { .. } | Detail::NotAcquired(_) | Detail::Image { .. } | Detail::Mbarrier(Fault::Arrivals { .. }) => {}
        Detail::Mbarrier(Fault::Bytes(_)) => notes.push(format!(
            "the bytes that are expected and have not come, or have come and are not expected, may be {MOST_BYTES} at most"
        )),
        Detail::Phases(phases) => notes.extend(phases.iter().map(|phase| phases::note(phase, finding.place.as_ref(), names))),
        Detail::Source { lane, from, members, why } => notes.push(match why {
            NoValue::LeftOut => format!("lane {} reads from lane {}, which is not in the mask {members:#010x}", lane.0, from.0),
            NoValue::NoThread => format!("lane {} reads from lane {}, which the block does not have", lane.0, from.0),
        }),
        Detail::Barrier(fault) => notes.push(match fault {
            BarrierFault::Number(_) => "a block has barriers 0 to 15".to_string(),
            BarrierFault::Fraction(_) => "the simulator rounds the count up to whole warps and continues".to_string(),
            BarrierFault::TooMany { .. } => "the barrier can never complete".to_string(),
            BarrierFault::ArrivesAgain => "the second arrival has no defined effect; the simulator ignores it".to_string(),
            BarrierFault::NoCount => "the simulator assumes all threads of the block and continues".to_string(),
        }),
        Detail::Masks { members, lanes } => notes.push(match finding.ends.get(1).map(|e| e.action) {
            None => format!("the mask is {members:#010x}; lanes {lanes:#010x} execute the operation but are not in the mask"),
            Some(Action::Sync) => format!("lanes {lanes:#010x} use the mask {members:#010x}; the other lanes use a different one"),
            Some(_) => format!("the mask is {members:#010x}; lanes {lanes:#010x} are in the mask but never execute the operation"),
        }),
        Detail::Banks { requests, wavefronts, .. } => notes.push(format!(
            "{requests} requests took {wavefronts} passes, {} more than without conflicts",
            wavefronts.saturating_sub(*requests)
        )),
        Detail::Sectors { requests, sectors, ideal } => notes.push(format!(
            "{requests} requests moved {sectors} sectors of 32 bytes; their data would fit in {ideal}"
        )),
        Detail::Branches { executed, divergent } => notes.push(format!(
            "{divergent} of {executed} executions split the warp"
        )),
        Detail::Assertion { file, line, function, .. } => notes.push(match function.is_empty() {
            true => format!("asserted at {file}:{line}"),
            false => format!("asserted at {file}:{line}, in `{function}`"),
        }),
        Detail::Text(text) => notes.push(text.clone()),
    }
    if let (Some(place), Some(names)) = (&finding.place, names) {
        notes.extend(about(finding, place, names));
    }
    for one in guilty {
        if let Some(unread) = &one.unread {
            notes.push(format!("compiled from {unread}, which cannot be read"));
        }
    }
    let hidden = || guilty.iter().filter(|g| !g.in_source && g.unread.is_none());
    if hidden().any(|g| g.toolkit) {
        notes.push(
            "the instruction is in a CUDA toolkit function that several lines call".to_string(),
        );
    }
    if hidden().any(|g| !g.toolkit) {
        notes.push(
            "the PTX has no source lines; compile it with `-lineinfo` to see them".to_string(),
        );
    }
    notes.dedup();
    notes
}

/// Said of a race of such a read.
pub(super) const SEEDED: &str = "the value read is only what a compare-and-swap begins with, and that finds out whether it is old; by the memory model the plain \
     read is a race all the same";

/// Whether the read of a race is one whose value is only what a compare-and-swap begins with.
pub(crate) fn seeds_swap(finding: &Finding, view: Option<&KernelView<'_>>) -> bool {
    let atomic = |end: &End| end.action == Action::Atomic;
    let seeds = |end: &End| {
        let site = view.and_then(|view| view.sites.get(end.site.0 as usize));
        end.action == Action::Read && site.is_some_and(|site| site.seeds_swap)
    };
    finding.rule == Rule::DataRace
        && finding.ends.iter().any(seeds)
        && finding.ends.iter().all(|end| atomic(end) || seeds(end))
}

/// How bad a finding is.
pub(super) fn level(finding: &Finding, view: Option<&KernelView<'_>>) -> Level {
    match seeds_swap(finding, view) {
        true => finding.rule.level().min(Level::Warning),
        false => finding.rule.level(),
    }
}

/// Names the loads that returned an overwritten value. The finding may depend on them.
pub(super) fn stale_loads(finding: &Finding, view: &KernelView<'_>) -> Option<String> {
    let lines = finding.stale_loads.iter().filter_map(|site| {
        let lines = &view.sites.get(site.0 as usize)?.lines;
        let own = lines
            .iter()
            .find(|l| !of_toolkit(&l.file))
            .or(lines.first())?;
        Some(own.line)
    });
    let lines: BTreeSet<u32> = lines.filter(|line| *line > 0).collect();
    let at = match &lines.iter().map(u32::to_string).collect::<Vec<_>>()[..] {
        _ if finding.stale_loads.is_empty() => return None,
        [] => "a strong load".to_owned(),
        [one] => format!("the load at line {one}"),
        [most @ .., last] => format!("a load at lines {} or {last}", most.join(", ")),
    };
    Some(format!(
        "in this run {at} returned a value that had already been overwritten; the memory model allows this. To exclude it, \
         put `__threadfence()` (`fence.sc`) on both sides between a thread's write and its read of the other thread's \
         location, or acquire what the other thread released after its write"
    ))
}

/// Addresses so near to 0 are told as a null pointer and an offset.
const NULL_PAGE: u64 = 64 << 10;

/// Describes where an out-of-bounds access lies, and how the memory is declared.
pub(super) fn about(finding: &Finding, place: &Place, names: &MemoryNames) -> Option<String> {
    if let Some(region) = names.region(place) {
        let declaration = region.declaration.as_ref()?;
        let name = region.whole.as_ref().unwrap_or(&region.name);
        return Some(format!("`{name}` is declared `{declaration}`"));
    }
    let outside = matches!(finding.rule, Rule::OutOfBounds | Rule::MisalignedAccess);
    if !outside {
        return None;
    }
    if let Some((rank, at)) = names.far(place) {
        return Some(format!(
            "the address leads to byte {at:#x} of the shared memory of rank {rank} in the block's cluster, and nothing is there"
        ));
    }
    let nearest = names.meant(finding);
    let Some((region, bytes)) = nearest.and_then(|r| Some((r, r.bytes?))) else {
        return Some(
            match (place.mapped, place.address, place.address.wrapping_neg()) {
                (false, 0, _) => "the address is a null pointer".to_owned(),
                (false, n @ ..NULL_PAGE, _) => {
                    format!("the address is a null pointer plus {}", counted(n, "byte"))
                }
                (false, _, n @ ..NULL_PAGE) => {
                    format!("the address is a null pointer minus {}", counted(n, "byte"))
                }
                _ => format!("the address is {:#x}", place.address),
            },
        );
    };
    if let Some((before, unsigned)) = region.before(place) {
        let element = region.element.unwrap_or(place.bytes).max(1);
        let index = before.div_ceil(u64::from(element));
        let whole = before.is_multiple_of(u64::from(element)) && region.dims.len() < 2;
        let to = match whole {
            true => format!("would be to `{}[-{index}]`", region.name),
            false => "starts".to_owned(),
        };
        let where_ = match unsigned {
            // Where it really leads says nothing.
            Some(index) => format!("whose index is {index} as an unsigned number"),
            None => format!("{} before `{}`", counted(before, "byte"), region.name),
        };
        return Some(format!(
            "`{}` has {}; the access {to}, {where_}",
            region.name,
            counted(bytes, "byte"),
        ));
    }
    let offset = place.address - region.start;
    let behind = |bytes: u64| match offset - bytes {
        0 => "directly past the end".to_string(),
        n => format!("{} past the end", counted(n, "byte")),
    };
    Some(match (offset >= bytes, region.element) {
        (true, Some(element)) => format!(
            "`{}` has {} of {}; the access would be to `{}`, {}",
            region.name,
            counted(bytes / u64::from(element.max(1)), "element"),
            counted(element.into(), "byte"),
            region.element_at(place.address, place.bytes),
            behind(bytes)
        ),
        (true, None) => format!(
            "`{}` has {}; the access starts {}",
            region.name,
            counted(bytes, "byte"),
            behind(bytes)
        ),
        (false, _) => format!("the address is byte {offset} of `{}`", region.name),
    })
}
